// Place the rectangles in sorted order. If some end above the threshold, only those at risk are worth
// tuning: find them, order them anew in groups, put the tuned ones first, and place everything again.
//
//     sorted --> placed --goal?--> done
//       ^          |
//       |          v
//       |       classify: high   medium   low   none          (rectangle_reorder.cc)
//       |                  |       |       |     |
//       |     groups:    1 2 3    4 5      |     |            (there, too)
//       |     each: sort, place on top of the groups before it, re-order, place again, until a goal is
//       |     met; then it stays in the container             (rectangle_reorder.cc)
//       |                  |       |       |     |
//       +---- merge:     high + medium + low + none
//
// The three goals (below) apply to the whole and to each group.
// Source: the document of docs/rectangle.md; paragraphs 92 to 95 and 119 to 131, figures 5 to 7, claims 5, 6
// and 8. Where it is open: the threshold is the best lower bound known, not max load alone; the highest group
// comes first; a group is sorted by the keys, but keeps its given order if that places lower (otherwise each
// round would forget the one before); a tuner without a limit of rounds ends after a few rounds without
// improvement. Cost: per round a placing of everything, and the re-orderer's budgets.

#include "pack/patents/rectangle_tuner.h"

#include <algorithm>
#include <utility>

#include "pack/bounds.h"
#include "pack/patents/rectangle_reorder.h"

namespace stowage::pack {

// The three goals at which tuning ends. Source: the document of docs/rectangle.md, claim 8 and paragraphs 94,
// 95 and 131: "no tail above the threshold, the same sorting result, the adjustments reach the preset
// number". The same result is one equal to any earlier one: in the example of paragraph 95 the third round
// meets the first. Where it is open: the adjustments are counted, so 0 rounds means the first order only.

std::optional<TuningEnd> Goals::reached(std::span<const std::size_t> order, Bytes top) {
  if (top <= threshold_) return TuningEnd::threshold;
  std::vector<std::uint32_t> compact;
  compact.reserve(order.size());
  for (const std::size_t b : order) compact.push_back(static_cast<std::uint32_t>(b));
  if (!seen_.insert(std::move(compact)).second) return TuningEnd::repeated;
  const auto adjustments = static_cast<std::int64_t>(seen_.size()) - 1;
  if (rounds_ && adjustments >= *rounds_) return TuningEnd::rounds;
  return std::nullopt;
}

namespace {

Order order_of(std::span<const Rectangle> rectangles) {
  Order order;
  for (const Rectangle& rectangle : rectangles) order.push_back(rectangle.buffer);
  return order;
}

/// About, in the units of deadlines: of a neighbour examined, and of a rectangle in a round, besides its places.
constexpr std::int64_t work_of_reordering = 30;
constexpr std::int64_t work_of_round = 300;

class Tuner {
 public:
  Tuner(const Rectangles& rectangles, const Start& start, const Stops& stops)
      : rectangles_(rectangles),
        start_(start),
        stops_(stops),
        by_buffer_(rectangles.buffers.size(), nullptr),
        reorderer_(rectangles.buffers, rectangles.neighbours, start.manner,
                   [this] { return ends_lowering(); }) {
    for (const Rectangle& rectangle : rectangles.all) by_buffer_[rectangle.buffer] = &rectangle;
  }

  Tuned run() {
    Tuned best;
    Goals goals(rectangles_.threshold, start_.rounds);
    Order order = sorted(rectangles_.all);
    int idle = 0;
    for (std::int64_t round = 0;; ++round) {
      Container container(rectangles_.buffers, &rectangles_.neighbours);
      const auto top = place(order, container);
      if (top && round == 0) best.tuning = tuning_of(rectangles_, start_, container.offsets());
      best.tuning.round = round;
      if (top && (round == 0 || *top < best.top)) {
        best.offsets = container.offsets();
        best.top = *top;
        best.tuning.lowest_round = round;
        idle = 0;
      } else {
        ++idle;
      }
      const auto end = top ? end_of(round, idle, goals.reached(order, *top)) : TuningEnd::stopped;
      if (end) {
        best.tuning.end = *end;
        best.was_stopped = *end == TuningEnd::stopped;
        return best;
      }
      order = adjusted(order, container.offsets(), idle > 0 || start_.tunes_all ? 0 : rectangles_.threshold);
    }
  }

  /// Tunes the rectangles at risk of being above `critical`, and merges.
  Order adjusted(const Order& order, const std::vector<Bytes>& offsets, Bytes critical) {
    stops_.spend(work_of_round * std::ssize(rectangles_.buffers));
    const std::vector<Risk> risks = classify(rectangles_.buffers, offsets, critical);
    Container container(rectangles_.buffers, &rectangles_.neighbours);
    const Order high = tuned(order, risks, Risk::high, offsets, container);
    const Order medium = tuned(order, risks, Risk::medium, offsets, container);
    return merged(high, medium, order, risks);
  }

 private:
  /// Why tuning ends in this round; none: it continues. An order that repeats because a stop cut its round
  /// short meets no goal.
  [[nodiscard]] std::optional<TuningEnd> end_of(std::int64_t round, int idle,
                                                std::optional<TuningEnd> goal) const {
    if (goal && (round == 0 || goal == TuningEnd::threshold)) return goal;
    if (stops_.ends_search()) return TuningEnd::stopped;
    return idle > start_.patience ? goal.value_or(TuningEnd::no_gain) : goal;
  }

  [[nodiscard]] Order sorted(std::vector<Rectangle> rectangles) const {
    sort_rectangles(rectangles, start_.sort);
    return order_of(rectangles);
  }

  bool ends_lowering() {
    stops_.spend(work_of_reordering * (reorderer_.work() - told_));
    told_ = reorderer_.work();
    return stops_.ends_search();
  }

  /// The placer: adds the rectangles in this order and returns the highest top; none if stopped.
  [[nodiscard]] std::optional<Bytes> place(std::span<const std::size_t> order, Container& container) const {
    Bytes top = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % buffers_between_looks == 0) {
        stops_.spend(container.take_work());
        if (stops_.ends_placing()) return std::nullopt;
      }
      top = std::max(top, container.put_lowest(order[i]));
    }
    stops_.spend(container.take_work());
    return top;
  }

  /// The tuner for one class: group after group, each on top of the container's content.
  Order tuned(const Order& order, std::span<const Risk> risks, Risk risk, const std::vector<Bytes>& offsets,
              Container& container) {
    std::vector<Rectangle> members;
    for (const std::size_t b : order) {
      if (risks[b] == risk) members.push_back(*by_buffer_[b]);
    }
    auto groups = groups_by_overlap(members, start_.group_percent);
    const auto top = [&](const std::vector<Rectangle>& group) {
      Bytes highest = 0;
      for (const Rectangle& it : group) highest = std::max(highest, offsets[it.buffer] + it.size);
      return highest;
    };
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const auto& a, const auto& b) { return top(a) > top(b); });
    Order result;
    for (const auto& group : groups) {
      const Order part = tuned_group(group, container);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }

  /// An order of the group, placed on top of the container's content.
  struct Attempt {
    Order order;
    Container container;
    std::optional<Bytes> top{};  ///< None: stopped.
  };

  [[nodiscard]] Attempt attempt(Order order, const Container& below) const {
    stops_.spend(below.work_of_copy());
    Attempt attempt{std::move(order), below};
    attempt.top = place(attempt.order, attempt.container);
    return attempt;
  }

  Order tuned_group(const std::vector<Rectangle>& group, Container& container) {
    Order given = order_of(group);
    if (stops_.ends_search()) {
      static_cast<void>(place(given, container));
      return given;
    }
    Attempt current = attempt(sorted(group), container);
    if (current.order != given) {
      Attempt as_given = attempt(given, container);
      if (as_given.top && current.top && *as_given.top < *current.top) current = std::move(as_given);
    }
    if (!current.top) return given;
    Attempt best = current;
    Goals goals(rectangles_.threshold, start_.rounds);
    // This ends: placing by offset raises nothing, so an order that lowers nothing repeats.
    while (!goals.reached(current.order, *current.top) && !stops_.ends_search()) {
      current =
          attempt(reorderer_.lowered(current.order, current.container, rectangles_.threshold), container);
      if (!current.top) break;
      if (*current.top < *best.top) best = current;
    }
    container = std::move(best.container);
    return best.order;
  }

  const Rectangles& rectangles_;
  const Start& start_;
  const Stops& stops_;
  std::vector<const Rectangle*> by_buffer_;
  Reorderer reorderer_;
  std::int64_t told_ = 0;  ///< Work of the re-orderer that `stops_` know of.
};

}  // namespace

std::optional<Rectangles> prepare(std::span<const Buffer> buffers, const Stop& stop) {
  if (stop()) return std::nullopt;
  std::vector<Rectangle> all = rectangles_of(buffers);
  if (stop()) return std::nullopt;
  Neighbours neighbours(buffers);
  if (stop()) return std::nullopt;
  return Rectangles{buffers, std::move(all), std::move(neighbours), lower_bound_of(buffers)};
}

Tuning tuning_of(const Rectangles& rectangles, const Start& start, std::span<const Bytes> offsets) {
  Tuning tuning{.sort = text_of(start.sort), .all_high = start.tunes_all};
  const std::vector<Risk> risks = classify(rectangles.buffers, offsets, rectangles.threshold);
  for (const Rectangle& it : rectangles.all) {
    const Risk risk = risks[it.buffer];
    ++(risk == Risk::high     ? tuning.high
       : risk == Risk::medium ? tuning.medium
       : risk == Risk::low    ? tuning.low
                              : tuning.none);
  }
  return tuning;
}

Tuned tune(const Rectangles& rectangles, const Start& start, const Stops& stops) {
  return Tuner(rectangles, start, stops).run();
}

Order adjusted(const Rectangles& rectangles, const Start& start, const Stops& stops, const Order& order,
               const std::vector<Bytes>& offsets, Bytes critical) {
  return Tuner(rectangles, start, stops).adjusted(order, offsets, critical);
}

}  // namespace stowage::pack
