// Sweeps over the rows of a tensor, upwards: views begin and end, and at every row its views follow each other in
// time. The view of a need is then the last one that begins early enough.
//
//   time ->      0 . . . . 5 . . . . 10
//   row 4        [  view a  ]
//   row 5        [  view a  ]
//   row 6              [  view b  ]
//   row 7              [  view b  ]
//
// A need of rows 4 to 8 is cut where views begin or end (at row 6): it lies partly in one view, partly in another,
// each a run of its own. In a ring it is also cut where the ring wraps around. A view may be in a buffer of a clock
// that forks the network's; then it lives as long as the fork.
//
// In a plan of whole operators a tensor is one row, and its views are of all of it. If several are live at a time, the
// last one that lasts long enough is taken, unless the tensor is written over in another one (updates.cc).

#include "check/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "check/matching.h"
#include "check/names.h"

namespace stowage::check {
namespace {

constexpr std::size_t most_runs = std::size_t{1} << 23;

std::string text_of_lack(const NetworkSteps& part, const Played& played, const KeptBytes& need) {
  return fmt::format("{}{} needs its bytes from {} to {}{}{}, but no view has it all that time",
                     part.rows_of(need.tensor).axis ? fmt::format("row {} of ", need.rows.first) : "",
                     describe(*part.graph, need.tensor), need.life.lower, need.life.upper,
                     of_clock(part.span.clock),
                     played.beyond_of(need).empty() ? "" : ", and while other models run");
}

class Placing {
 public:
  Placing(const NetworkSteps& part, const model::ClockTree& tree, const Played& played, TensorId tensor,
          AllKeptBytes& placed, Faults& faults)
      : part_(part),
        tree_(tree),
        played_(played),
        tensor_(tensor),
        rows_(part.rows_of(tensor)),
        placed_(placed),
        faults_(faults) {}

  void run(std::vector<RowLife> lives) {
    const std::vector<const View*> views = views_by_row();
    if (part_.is_by_rows && !cut_at_views(views, lives)) return;
    auto next = views.begin();
    for (const RowLife& it : lives) {
      for (; next != views.end() && rows_in(**next, rows_).first <= it.rows.first; ++next) begin(**next);
      end_before(it.rows.first);
      place({.tensor = tensor_,
             .rows = it.rows,
             .life = it.life,
             .is_given = it.is_given,
             .handing = it.handing,
             .is_last = it.is_last,
             .may_end_early = it.written_over.has_value()});
    }
    for (; next != views.end(); ++next) begin(**next);
  }

 private:
  void fault(FaultKind kind, std::string what) {
    if (!std::exchange(has_fault_, true)) faults_.push_back({kind, std::move(what)});  // reported once
  }

  [[nodiscard]] std::size_t clock_of(const View& view) const {
    return part_.plan->buffers[view.buffer].clock;
  }

  [[nodiscard]] std::vector<const View*> views_by_row() const {
    std::vector<const View*> views;
    for (const View& view : part_.matched[tensor_]->views) {
      if (view.life.lower < view.life.upper || !part_.is_by_rows) views.push_back(&view);
    }
    std::sort(views.begin(), views.end(), [&](const View* a, const View* b) {
      return std::tuple(rows_in(*a, rows_), a->life.lower, a->life.upper) <
             std::tuple(rows_in(*b, rows_), b->life.lower, b->life.upper);
    });
    return views;
  }

  /// Cuts live ranges where views begin or end, and sorts them by row. False: there are too many.
  bool cut_at_views(const std::vector<const View*>& views, std::vector<RowLife>& lives) {
    std::vector<std::int64_t> cuts;
    for (const View* const view : views) {
      const Rows rows = rows_in(*view, rows_);
      cuts.insert(cuts.end(), {rows.first, rows.second});
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<RowLife> cut;
    for (RowLife it : lives) {
      for (auto at = std::upper_bound(cuts.begin(), cuts.end(), it.rows.first);
           at != cuts.end() && *at < it.rows.second && cut.size() <= most_runs; ++at) {
        cut.push_back(it);
        cut.back().rows.second = it.rows.first = *at;
      }
      cut.push_back(it);
    }
    if (cut.size() > most_runs) {
      fault(FaultKind::format,
            fmt::format("{} is in more than {} runs of rows; this version understands no more",
                        describe(*part_.graph, tensor_), most_runs));
      return false;
    }
    lives = std::move(cut);
    std::stable_sort(lives.begin(), lives.end(),
                     [](const RowLife& a, const RowLife& b) { return a.rows < b.rows; });
    return true;
  }

  using Begin = std::pair<std::size_t, Position>;  // the clock of a view, and its first position
  using Present = std::multimap<Begin, const View*>;

  /// From here on the view has the rows while it is live.
  void begin(const View& view) {
    end_before(rows_in(view, rows_).first);
    const Begin key{clock_of(view), view.life.lower};
    const auto next = present_.upper_bound(key);
    const bool meets_next =
        next != present_.end() && next->first.first == key.first && next->first.second < view.life.upper;
    const auto previous = next != present_.begin() ? std::prev(next) : present_.end();
    const bool meets_previous = previous != present_.end() && previous->first.first == key.first &&
                                (previous->second->life.upper > view.life.lower || previous->first == key);
    if (meets_next || meets_previous) {
      if (part_.is_by_rows) return refuse_two(view, meets_next ? *next->second : *previous->second);
      views_overlap_ = true;
    }
    ends_.emplace(rows_in(view, rows_).second, present_.emplace(key, &view));
  }

  void refuse_two(const View& view, const View& other) {
    fault(FaultKind::accounting,
          fmt::format("{}{} is in two views at position {}, in {} and in {}",
                      rows_.axis ? fmt::format("row {} of ", rows_in(view, rows_).first) : "",
                      describe(*part_.graph, tensor_), std::max(view.life.lower, other.life.lower),
                      name_of_buffer(*part_.plan, other.buffer), name_of_buffer(*part_.plan, view.buffer)));
  }

  void end_before(std::int64_t row) {
    while (!ends_.empty() && ends_.begin()->first <= row) {
      present_.erase(ends_.begin()->second);
      ends_.erase(ends_.begin());
    }
  }

  void place(KeptBytes need) {
    const View* const view = view_of(need);
    if (view == nullptr) return fault(FaultKind::accounting, text_of_lack(part_, played_, need));
    need.has_other_views = views_overlap_;
    if (!view->ring && !view->rows) {
      put_in_whole(*view, rows_, need);
      return placed_.push_back(need);
    }
    need.view = view;
    need.buffer = view->buffer;
    if (view->ring) return add_in_ring(need);
    add_run(need, view->offset + (need.rows.first - view->rows->begin) * rows_.bytes);
  }

  [[nodiscard]] const View* view_of(const KeptBytes& need) const {
    const View* const view = view_until(need, need.life.upper);
    // A plan of whole operators lets a view end where its tensor is written over.
    const bool may_be_shorter = need.may_end_early && !part_.is_by_rows;
    return view == nullptr && may_be_shorter ? view_until(need, need.life.upper - 1) : view;
  }

  /// The last view that begins early enough and does not end before `upper`.
  [[nodiscard]] const View* view_until(const KeptBytes& need, Position upper) const {
    for (auto first = present_.begin(); first != present_.end();) {
      const std::size_t clock = first->first.first;
      const auto next = present_.lower_bound({clock + 1, std::numeric_limits<Position>::min()});
      const auto life = life_on(clock, part_, played_, need, upper, tree_);
      for (auto it = life ? present_.upper_bound({clock, life->lower}) : first; it != first;) {
        --it;
        if (life->upper <= it->second->life.upper) return it->second;
        if (!views_overlap_) break;  // the views before it end even earlier
      }
      first = next;
    }
    return nullptr;
  }

  void add_run(KeptBytes need, Bytes first) {
    need.first = first;
    need.step = rows_.bytes;
    placed_.push_back(need);
  }

  void add_in_ring(KeptBytes need) {
    const Ring& ring = *need.view->ring;
    const std::int64_t round = base::checked_multiply(ring.granule, ring.count).value_or(largest_value);
    const Rows rows = need.rows;
    if (rows.second - rows.first > round) {
      return fault(
          FaultKind::overlap,
          fmt::format("row {} of {} is in a ring of {} rows in the place of row {}, and both are needed at "
                      "position {}",
                      rows.first + round, describe(*part_.graph, tensor_), round, rows.first,
                      need.life.lower));
    }
    for (std::int64_t row = rows.first; row < rows.second; row = need.rows.second) {
      const std::int64_t in_round = row % round;
      need.rows = {row, std::min(rows.second, row + (round - in_round))};
      add_run(need, need.view->offset + in_round * rows_.bytes);
    }
  }

  const NetworkSteps& part_;
  const model::ClockTree& tree_;
  const Played& played_;
  TensorId tensor_;
  TensorRows rows_;
  AllKeptBytes& placed_;
  Faults& faults_;
  bool has_fault_ = false;
  bool views_overlap_ = false;                           ///< Two views of one clock are live at a time.
  Present present_;                                      ///< Views that have the present row.
  std::multimap<std::int64_t, Present::iterator> ends_;  ///< Their end rows.
};

/// Tensors that must have a place: all that steps read and write, except those that the caller may own.
std::vector<bool> planned_tensors(const NetworkSteps& part) {
  std::vector<bool> planned = may_be_elsewhere(*part.graph);
  planned.flip();
  for (TensorId t = 0; t < planned.size(); ++t) {
    const Tensor& tensor = part.graph->tensors[t];
    planned[t] = part.matched[t] != nullptr && !is_constant(tensor.kind) && tensor.bytes > 0 &&
                 !part.is_moved[t] && (planned[t] || !part.matched[t]->views.empty());
  }
  if (!part.is_by_rows) return planned;
  for (const Step& step : part.steps()) {
    const auto* const arrive = std::get_if<Arrive>(&step);
    const auto* const leave = std::get_if<Leave>(&step);
    if (arrive == nullptr && leave == nullptr) continue;
    const auto t = part.id_of(arrive != nullptr ? arrive->tensor : leave->tensor);
    if (t && part.matched[*t] != nullptr)
      planned[*t] = is_variable(part.graph->tensors[*t]) && !part.is_moved[*t];
  }
  return planned;
}

}  // namespace

std::optional<Lifetime> life_on(std::size_t clock, const NetworkSteps& part, const Played& played,
                                const KeptBytes& need, Position upper, const model::ClockTree& tree) {
  auto life = tree.seen_from(clock, {part.span.clock, {need.life.lower, upper}});
  for (const model::Stretch& stretch : played.beyond_of(need)) {
    const auto more = tree.seen_from(clock, stretch);
    if (!life || !more) return std::nullopt;
    life = {std::min(life->lower, more->lower), std::max(life->upper, more->upper)};
  }
  return life;
}

Rows rows_in(const View& view, const TensorRows& rows) {
  return view.rows ? Rows{view.rows->begin, view.rows->end} : Rows{0, rows.count};
}

void put_in_whole(const View& view, const TensorRows& rows, KeptBytes& need) {
  need.view = &view;
  need.buffer = view.buffer;
  need.is_in_whole_view = true;
  need.step = rows.bytes / rows.outer;
  need.first = view.offset + need.rows.first * need.step;
}

Needs place(const NetworkSteps& part, const model::ClockTree& tree, Played& played, Faults& faults) {
  const std::vector<bool> planned = planned_tensors(part);
  Needs needs;
  for (TensorId t = 0; t < planned.size(); ++t) {
    needs.first.push_back(needs.all.size());
    std::vector<RowLife> lives;
    std::swap(lives, played.lives[t]);
    if (planned[t]) Placing(part, tree, played, t, needs.all, faults).run(std::move(lives));
    const auto followed = played.followed.find(t);
    if (followed == played.followed.end()) continue;
    needs.all.insert(needs.all.end(), followed->second.begin(), followed->second.end());
  }
  needs.first.push_back(needs.all.size());
  return needs;
}

void check_ends(const NetworkSteps& part, const model::ClockTree& tree, const Played& played,
                const Needs& needs, Faults& faults) {
  for (const KeptBytes& need : needs.all) {
    if (need.view == nullptr) continue;
    const std::size_t clock = part.plan->buffers[need.buffer].clock;
    const auto life = life_on(clock, part, played, need, need.life.upper, tree);
    if (life && life->upper > need.view->life.upper)
      faults.push_back({FaultKind::accounting, text_of_lack(part, played, need)});
  }
}

}  // namespace stowage::check
