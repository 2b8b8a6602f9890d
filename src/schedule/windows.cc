// An order that is too high somewhere may be fine elsewhere. So only a window around a step that is too
// high is reordered, exactly (decide.cc); the operators before and after it stay.
//
//     load   |      _
//            |  _  | |_      capacity - - - - -
//            |_| |_|   |__
//            +---[-----]---> steps
//
// The window is a storage of its own: values from before that are read in it have no writer, values read
// after it are kept, and values that only pass through are always there. Windows grow until one can be
// ordered within the capacity; then the next step that is too high follows, until none is left.
//
// Cost: per window a decision with a limited number of sets.

#include "schedule/windows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "schedule/decide.h"
#include "schedule/heuristics.h"
#include "schedule/storage.h"
#include "schedule/symmetry.h"

namespace stowage::schedule {
namespace {

/// The places of an order's operators relative to a window.
class Window {
 public:
  Window(const Storage& storage, std::span<const std::size_t> order, std::size_t begin, std::size_t end)
      : storage_(storage), order_(order), begin_(begin), end_(end), positions_(order.size()) {
    for (std::size_t at = 0; at < order.size(); ++at) positions_[order[at]] = at;
  }

  Storage storage() {
    result_.always = storage_.always;
    if (begin_ == 0) result_.first = storage_.first;
    for (std::size_t at = begin_; at < end_; ++at) {
      result_.own.push_back(storage_.own[order_[at]]);
      auto& waits_for = result_.waits_for.emplace_back();
      for (const std::size_t earlier : storage_.waits_for[order_[at]]) {
        if (is_inside(earlier)) waits_for.push_back(positions_[earlier] - begin_);
      }
    }
    std::vector<std::optional<std::size_t>> places(storage_.values.size());
    for (std::size_t v = 0; v < places.size(); ++v) places[v] = place_of(storage_.values[v]);
    for (const Overwrite& overwrite : storage_.overwrites) {
      if (!is_inside(overwrite.op)) continue;
      Overwrite inside{.op = positions_[overwrite.op] - begin_};
      for (const std::size_t v : overwrite.values) {
        if (places[v]) inside.values.push_back(*places[v]);
      }
      result_.overwrites.push_back(std::move(inside));
    }
    return normalized(std::move(result_));
  }

 private:
  [[nodiscard]] bool is_inside(std::size_t op) const {
    return begin_ <= positions_[op] && positions_[op] < end_;
  }

  /// Adds the value if it is alive in the window and returns its place, unless it only passes through.
  std::optional<std::size_t> place_of(const Value& value) {
    Value inside{.size = value.size, .kept = value.kept};
    for (const std::size_t reader : value.readers) {
      if (is_inside(reader)) inside.readers.push_back(positions_[reader] - begin_);
      inside.kept = inside.kept || positions_[reader] >= end_;
    }
    if (value.writer && positions_[*value.writer] >= end_) return std::nullopt;
    if (value.writer && is_inside(*value.writer)) {
      inside.writer = positions_[*value.writer] - begin_;
    } else if (inside.readers.empty()) {
      if (inside.kept) result_.always += value.size;
      return std::nullopt;
    }
    result_.values.push_back(std::move(inside));
    return result_.values.size() - 1;
  }

  const Storage& storage_;
  std::span<const std::size_t> order_;
  std::size_t begin_;
  std::size_t end_;
  std::vector<std::size_t> positions_;
  Storage result_;
};

class Mender {
 public:
  Mender(const Storage& storage, Order order, Bytes capacity, std::int64_t most_states, Budget& budget)
      : storage_(storage),
        order_(std::move(order)),
        capacity_(capacity),
        most_states_(most_states),
        budget_(budget) {}

  std::optional<Order> run() {
    for (;;) {
      const std::vector<Bytes> loads = loads_of(storage_, order_);
      const auto high = std::ranges::find_if(loads, [&](Bytes load) { return load > capacity_; });
      if (high == loads.end()) return std::move(order_);
      if (!is_mended(static_cast<std::size_t>(high - loads.begin()))) return std::nullopt;
    }
  }

 private:
  static constexpr std::size_t first_size = 16;

  bool is_mended(std::size_t position) {
    for (std::size_t size = first_size;; size *= 2) {
      for (const std::size_t before : {size / 2, size / 4, size - size / 4}) {
        const std::size_t begin = position - std::min(position, before);
        const std::size_t end = std::min(begin + size, order_.size());
        if (budget_.is_over()) return false;
        if (is_ordered(begin, end)) return true;
      }
      if (size >= order_.size()) return false;
    }
  }

  bool is_ordered(std::size_t begin, std::size_t end) {
    const Storage window = window_of(storage_, order_, begin, end);
    Symmetry symmetry(window);
    std::vector<Direction> directions{Direction::forward};
    if (window.first == 0) directions.push_back(Direction::backward);
    for (const Direction direction : directions) {
      const Decision decision = decide(window, symmetry, direction, capacity_, most_states_, budget_);
      if (decision.bound) return false;
      if (!decision.order) continue;
      Order inside;
      for (const std::size_t op : *decision.order) inside.push_back(order_[begin + op]);
      std::ranges::copy(inside, order_.begin() + static_cast<std::ptrdiff_t>(begin));
      return true;
    }
    return false;
  }

  const Storage& storage_;
  Order order_;
  Bytes capacity_;
  std::int64_t most_states_;
  Budget& budget_;
};

}  // namespace

Storage window_of(const Storage& storage, std::span<const std::size_t> order, std::size_t begin,
                  std::size_t end) {
  return Window(storage, order, begin, end).storage();
}

std::optional<Order> mended(const Storage& storage, Order order, Bytes capacity, std::int64_t most_states,
                            Budget& budget) {
  return Mender(storage, std::move(order), capacity, most_states, budget).run();
}

}  // namespace stowage::schedule
