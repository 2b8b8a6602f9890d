// Sweeps over the rows of a tensor, upwards: views begin and end, and at every row its views follow
// each other in time. The view of a live range is then the last one that begins early enough.
//
//   time ->      0 . . . . 5 . . . . 10
//   row 4        [  view a  ]
//   row 5        [  view a  ]
//   row 6              [  view b  ]
//   row 7              [  view b  ]
//
// A live range of rows 4 to 8 is cut where views begin or end (at row 6): it lies partly in one view, partly
// in another, each a run of its own. In a ring it is also cut where the ring wraps around.

#include "check/stream_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "base/checked.h"
#include "check/names.h"
#include "check/stream_rows.h"

namespace stowage::check {
namespace {

constexpr std::size_t most_runs = std::size_t{1} << 23;

Rows rows_in(const View& view, const TensorRows& rows) {
  return view.rows ? Rows{view.rows->begin, view.rows->end} : Rows{0, rows.count};
}

class RowPlacing {
 public:
  RowPlacing(const Streamed& it, TensorId tensor, const TensorRows& rows, std::vector<PlacedRows>& placed,
             Faults& faults)
      : it_(it), tensor_(tensor), rows_(rows), placed_(placed), faults_(faults) {}

  void run(std::span<const RowLife> lives) {
    const std::vector<const View*> views = views_by_row();
    std::vector<RowLife> cut = cut_at_views(views, lives);
    if (cut.size() > most_runs) {
      return fault(
          FaultKind::format, 0,
          fmt::format("is in more than {} runs of rows; this version understands no more", most_runs));
    }
    std::sort(cut.begin(), cut.end(), [](const RowLife& a, const RowLife& b) { return a.rows < b.rows; });
    auto next = views.begin();
    for (const RowLife& life : cut) {
      for (; next != views.end() && rows_in(**next, rows_).first <= life.rows.first; ++next) begin(**next);
      end_before(life.rows.first);
      place(life);
    }
    for (; next != views.end(); ++next) {
      end_before(rows_in(**next, rows_).first);
      begin(**next);
    }
  }

 private:
  [[nodiscard]] const std::vector<View>& views() const { return it_.matched[tensor_]->views; }

  void fault(FaultKind kind, std::int64_t row, const std::string& what) {
    if (std::exchange(has_fault_, true)) return;  // reported once
    const std::string name = describe(it_.graph, tensor_);
    faults_.push_back(
        {kind, rows_.axis ? fmt::format("row {} of {} {}", row, name, what) : name + " " + what});
  }

  [[nodiscard]] std::vector<const View*> views_by_row() const {
    std::vector<const View*> views;
    for (const View& view : this->views()) {
      if (view.life.lower < view.life.upper) views.push_back(&view);
    }
    std::sort(views.begin(), views.end(), [&](const View* a, const View* b) {
      return std::pair(rows_in(*a, rows_), a->life.lower) < std::pair(rows_in(*b, rows_), b->life.lower);
    });
    return views;
  }

  [[nodiscard]] std::vector<RowLife> cut_at_views(const std::vector<const View*>& views,
                                                  std::span<const RowLife> lives) const {
    std::vector<std::int64_t> cuts;
    for (const View* const view : views) {
      const Rows rows = rows_in(*view, rows_);
      cuts.insert(cuts.end(), {rows.first, rows.second});
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<RowLife> result;
    for (RowLife life : lives) {
      for (auto at = std::upper_bound(cuts.begin(), cuts.end(), life.rows.first);
           at != cuts.end() && *at < life.rows.second && result.size() <= most_runs; ++at) {
        result.push_back({{life.rows.first, *at}, life.life});
        life.rows.first = *at;
      }
      result.push_back(life);
    }
    return result;
  }

  /// From here on the view has the rows while it is live; no other view does.
  void begin(const View& view) {
    end_before(rows_in(view, rows_).first);
    const auto next = present_.lower_bound(view.life.lower);
    const bool meets_next = next != present_.end() && next->first < view.life.upper;
    const bool meets_previous =
        next != present_.begin() && std::prev(next)->second->life.upper > view.life.lower;
    if (meets_next || meets_previous) {
      const View& other = meets_next ? *next->second : *std::prev(next)->second;
      fault(FaultKind::accounting, rows_in(view, rows_).first,
            fmt::format("is in two views at position {}, in {} and in {}",
                        std::max(view.life.lower, other.life.lower), name_of_buffer(it_.plan, other.buffer),
                        name_of_buffer(it_.plan, view.buffer)));
      return;
    }
    present_.emplace(view.life.lower, &view);
    ends_.emplace(rows_in(view, rows_).second, view.life.lower);
  }

  void end_before(std::int64_t row) {
    while (!ends_.empty() && ends_.begin()->first <= row) {
      present_.erase(ends_.begin()->second);
      ends_.erase(ends_.begin());
    }
  }

  void place(const RowLife& life) {
    const Position from = std::max<Position>(life.life.lower, 0);
    const auto after = present_.upper_bound(from);
    const View* const view = after == present_.begin() ? nullptr : std::prev(after)->second;
    if (view != nullptr && life.life.upper <= view->life.upper) {
      add(life, *view);
    } else {
      fault(FaultKind::accounting, life.rows.first,
            fmt::format("is needed from position {} to {}, but no view has it all that time", from,
                        life.life.upper));
    }
  }

  void add(const RowLife& life, const View& view) {
    if (view.ring) return add_in_ring(life, view);
    if (view.rows)
      return add_run(life, view, view.offset + (life.rows.first - view.rows->begin) * rows_.bytes);
    const Bytes inner = rows_.bytes / rows_.outer;
    const Bytes stride = rows_.outer == 1 ? inner : inner * rows_.count;
    placed_.push_back({tensor_, life.rows, life.life, &view, view.offset + life.rows.first * inner, inner,
                       inner, stride, rows_.outer});
  }

  void add_run(const RowLife& life, const View& view, Bytes first) {
    placed_.push_back(
        {tensor_, life.rows, life.life, &view, first, rows_.bytes, rows_.bytes, rows_.bytes, 1});
  }

  void add_in_ring(RowLife life, const View& view) {
    const std::int64_t round =
        base::checked_multiply(view.ring->granule, view.ring->count).value_or(largest_value);
    if (life.rows.second - life.rows.first > round) {
      return fault(
          FaultKind::overlap, life.rows.first + round,
          fmt::format("is in a ring of {} rows in the place of row {}, and both are needed at position {}",
                      round, life.rows.first, std::max<Position>(life.life.lower, 0)));
    }
    while (life.rows.first < life.rows.second) {
      const std::int64_t in_round = life.rows.first % round;
      const std::int64_t end = std::min(life.rows.second, life.rows.first + (round - in_round));
      add_run({{life.rows.first, end}, life.life}, view, view.offset + in_round * rows_.bytes);
      life.rows.first = end;
    }
  }

  const Streamed& it_;
  TensorId tensor_;
  const TensorRows& rows_;
  std::vector<PlacedRows>& placed_;
  Faults& faults_;
  bool has_fault_ = false;
  std::map<Position, const View*> present_;     ///< Views that have the present row, by their first position.
  std::multimap<std::int64_t, Position> ends_;  ///< The end rows of these views.
};

}  // namespace

void place_rows(const Streamed& it, TensorId tensor, const TensorRows& rows, std::span<const RowLife> lives,
                std::vector<PlacedRows>& placed, Faults& faults) {
  RowPlacing(it, tensor, rows, placed, faults).run(lives);
}

}  // namespace stowage::check
