// A streamed plan is checked row by row, using only the plan and the network:
//
//   stream_rows     the axis of each tensor's rows, and the rows that a step runs and reads
//   stream_lives    the steps, played back: when each row is written and last read
//   stream_places   the view that holds a row all that time
//   stream_updates  the rows that operators write over
//
// This file checks that all bytes are there and not shared. Inputs that do not arrive exist before the first
// step; outputs that do not leave are read after the last step.

#include "check/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/overlap.h"
#include "check/block_network.h"
#include "check/constants.h"
#include "check/matching.h"
#include "check/names.h"
#include "check/stream_lives.h"
#include "check/stream_places.h"
#include "check/stream_rows.h"
#include "check/stream_updates.h"
#include "model/blocks.h"
#include "model/plan_blocks.h"
#include "stowage/error.h"

namespace stowage::check {
namespace {

// Bytes. Rows, sums and constants are boxes in a buffer, bytes by time; so are all bytes that no piece of the
// buffer reserves. One sweep over time finds the first overlap (base/overlap.h). Two holders that overlap
// clash; a holder that overlaps unreserved bytes lacks bytes:
//
//   bytes  12 |######| row 2  |######      #  not reserved
//           8 | row 0   |###| row 4 |
//           4 |   row 1         | row 3
//           0 +-----------------------> time
//
// A row scattered over a whole tensor makes many boxes; adjacent rows with one live range make one.

/// All holders of bytes while a streamed plan runs.
struct Holders {
  std::vector<PlacedRows> rows{};
  std::vector<SumsLife> sums{};
  const Constants* constants = nullptr;  ///< Null: they are unknown.
};

constexpr std::int64_t most_boxes = std::int64_t{1} << 23;

/// The bytes that pieces of a buffer leave free, as boxes without a holder. Pieces do not overlap.
class FreeBoxes {
 public:
  FreeBoxes(const Buffer& buffer, std::size_t holder) : holder_(holder) {
    if (buffer.size > 0) free_.emplace(0, Free{buffer.size, 0});
  }

  std::vector<base::Box> run(std::vector<Piece> pieces) {
    std::vector<std::pair<Position, const Piece*>> begins;
    std::vector<std::pair<Position, const Piece*>> ends;
    for (const Piece& piece : pieces) {
      if (!piece.is_ever_alive()) continue;
      begins.emplace_back(piece.life.lower, &piece);
      ends.emplace_back(piece.life.upper, &piece);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    auto end = ends.begin();
    for (const auto& [at, piece] : begins) {
      for (; end != ends.end() && end->first <= at; ++end)
        free_.emplace(end->second->offset, Free{end->second->offset + end->second->size, end->first});
      reserve(*piece, at);
    }
    for (; end != ends.end(); ++end)
      free_.emplace(end->second->offset, Free{end->second->offset + end->second->size, end->first});
    for (const auto& [begin, free] : free_) add(begin, free.end, free, std::numeric_limits<Position>::max());
    return std::move(boxes_);
  }

 private:
  struct Free {
    Bytes end = 0;
    Position since = 0;
  };

  void reserve(const Piece& piece, Position at) {
    const Bytes end = piece.offset + piece.size;
    auto it = free_.upper_bound(piece.offset);
    if (it != free_.begin()) --it;
    while (it != free_.end() && it->first < end) {
      const auto [begin, free] = *it;
      if (free.end <= piece.offset) {
        ++it;
        continue;
      }
      it = free_.erase(it);
      add(std::max(begin, piece.offset), std::min(free.end, end), free, at);
      if (begin < piece.offset) free_.emplace(begin, Free{piece.offset, free.since});
      if (free.end > end) free_.emplace(end, Free{free.end, free.since});
    }
  }

  void add(Bytes begin, Bytes end, const Free& free, Position until) {
    if (free.since < until) boxes_.push_back({{free.since, until}, begin, end, holder_});
  }

  std::size_t holder_;
  std::map<Bytes, Free> free_;  ///< By first byte.
  std::vector<base::Box> boxes_;
};

/// True if two pieces overlap; `check_places` reports that.
bool pieces_overlap(const Buffer& buffer) {
  std::vector<base::Box> boxes;
  for (const Piece& piece : buffer.pieces)
    boxes.push_back({piece.life, piece.offset, piece.offset + piece.size, boxes.size()});
  return base::find_overlap(boxes).has_value();
}

/// In every buffer, live pieces have the bytes of all holders, and no two holders have the same byte at the
/// same position, except constants with equal data. Cost: n log n in runs of bytes.
class RowBytes {
 public:
  RowBytes(const Streamed& it, const std::vector<TensorRows>& rows, const Holders& holders, Faults& faults)
      : it_(it), rows_(rows), holders_(holders), faults_(faults) {}

  void check() {
    std::int64_t runs = 0;
    for (const PlacedRows& rows : holders_.rows) runs = std::min(runs + runs_of(rows), most_boxes + 1);
    if (runs > most_boxes) {
      faults_.push_back(
          {FaultKind::format,
           fmt::format("rows are scattered over more than {} runs of bytes; this version understands no more",
                       most_boxes)});
      return;
    }
    for (std::size_t h = 0; h < holders_.rows.size(); ++h) add_rows(h);
    for (std::size_t s = 0; s < holders_.sums.size(); ++s) add_sums(s);
    for (TensorId t = 0; t < it_.matched.size(); ++t) {
      if (it_.matched[t] != nullptr && is_constant(it_.graph.tensors[t].kind)) add_constant(t);
    }
    for (auto& [buffer, boxes] : boxes_) check_buffer(buffer, boxes);
  }

 private:
  void add(std::size_t buffer, const Lifetime& life, Bytes begin, Bytes end, std::size_t holder) {
    boxes_[buffer].push_back({life, begin, end, holder});
  }

  [[nodiscard]] bool are_all(const PlacedRows& rows) const {
    return rows.rows.second - rows.rows.first == rows_[rows.tensor].count;
  }

  /// Number of runs of consecutive bytes.
  [[nodiscard]] std::int64_t runs_of(const PlacedRows& rows) const {
    if (rows.rows.first >= rows.rows.second) return 0;
    return are_all(rows) ? 1 : rows.outer;
  }

  void add_rows(std::size_t h) {
    const PlacedRows& rows = holders_.rows[h];
    const Bytes size = (rows.rows.second - rows.rows.first) * rows.step * (are_all(rows) ? rows.outer : 1);
    for (std::int64_t i = 0; i < runs_of(rows); ++i) {
      const Bytes begin = rows.first + i * rows.stride;
      add(rows.view->buffer, rows.life, begin, begin + size, h);
    }
  }

  void add_sums(std::size_t s) {
    const SumsLife& sums = holders_.sums[s];
    const Buffer& buffer = it_.plan.buffers[sums.sums.buffer];
    if (sums.bytes > buffer.size - sums.sums.offset) {
      faults_.push_back(
          {FaultKind::format,
           fmt::format("{} take {} bytes at {}, outside the {} bytes of {}", name_of_sums(s), sums.bytes,
                       sums.sums.offset, buffer.size, name_of_buffer(it_.plan, sums.sums.buffer))});
      return;
    }
    add(sums.sums.buffer, sums.life, sums.sums.offset, sums.sums.offset + sums.bytes,
        holders_.rows.size() + s);
  }

  /// Constants are live at all positions. Those with equal data may share a place.
  void add_constant(TensorId t) {
    const Bytes bytes = it_.graph.tensors[t].bytes;
    for (const View& view : it_.matched[t]->views) {
      const auto [first, is_new] = constants_.try_emplace({view.buffer, view.offset}, t);
      if (!is_new && have_equal_data(first->second, t)) continue;
      const auto end = static_cast<Position>(it_.plan.clocks[0].steps.size());
      add(view.buffer, {-1, std::max<Position>(end, 1)}, view.offset, view.offset + bytes,
          first_constant() + t);
    }
  }

  [[nodiscard]] bool have_equal_data(TensorId a, TensorId b) {
    return equal_.are_equal({&it_.graph, holders_.constants, a}, {&it_.graph, holders_.constants, b});
  }

  [[nodiscard]] std::size_t first_constant() const { return holders_.rows.size() + holders_.sums.size(); }
  [[nodiscard]] std::size_t nobody() const { return first_constant() + it_.graph.tensors.size(); }

  void check_buffer(std::size_t b, std::vector<base::Box>& boxes) {
    const Buffer& buffer = it_.plan.buffers[b];
    if (pieces_overlap(buffer)) return;
    const std::vector<base::Box> free = FreeBoxes(buffer, nobody()).run(buffer.pieces);
    boxes.insert(boxes.end(), free.begin(), free.end());
    const auto overlap = base::find_overlap(boxes);
    if (!overlap) return;
    std::size_t first = boxes[overlap->first].holder;
    std::size_t second = boxes[overlap->second].holder;
    if (first > second) std::swap(first, second);
    const Position at = std::max<Position>(overlap->at, 0);
    const std::string where = fmt::format("{} at position {}", name_of_buffer(it_.plan, b), at);
    if (second == nobody()) {
      faults_.push_back(
          {FaultKind::accounting,
           fmt::format("{} in {}, but not all of the bytes are reserved then", name_of(first), where)});
    } else {
      faults_.push_back({FaultKind::overlap, fmt::format("{} and {} hold a byte of {} at the same time",
                                                         name_of(first), name_of(second), where)});
    }
  }

  [[nodiscard]] std::string name_of_sums(std::size_t s) const {
    return "the sums of " + describe(it_.graph, 0, holders_.sums[s].op);
  }

  [[nodiscard]] std::string name_of(std::size_t holder) const {
    if (holder >= first_constant()) return describe(it_.graph, holder - first_constant()) + " is";
    if (holder >= holders_.rows.size()) return name_of_sums(holder - holders_.rows.size()) + " are";
    const PlacedRows& rows = holders_.rows[holder];
    const std::string name = describe(it_.graph, rows.tensor);
    const std::string since =
        rows.life.lower < 0 ? "given at the start" : fmt::format("of step {}", rows.life.lower);
    if (!rows_[rows.tensor].axis) return fmt::format("{}, {},", name, since);
    return fmt::format("rows {} to {} of {}, {},", rows.rows.first, rows.rows.second, name, since);
  }

  const Streamed& it_;
  const std::vector<TensorRows>& rows_;
  const Holders& holders_;
  Faults& faults_;
  std::map<std::size_t, std::vector<base::Box>> boxes_;  ///< By buffer.
  std::map<std::pair<std::size_t, Bytes>, TensorId> constants_;
  EqualConstants equal_;
};

// The network, the plan's numbers, and the whole check

/// Features of streamed networks that this version does not support.
void check_network(const Streamed& it, Faults& faults) {
  const auto fault = [&](const std::string& what) {
    faults.push_back(
        {FaultKind::format, "the plan is streamed; this version understands that only of " + what});
  };
  if (!it.graph.ties.empty()) fault("networks without state");
  for (const Operator& op : it.graph.subgraphs[0].operators) {
    if (!op.bodies.empty()) return fault("networks without bodies");
  }
  for (TensorId t = 0; t < it.graph.tensors.size(); ++t) {
    if (it.graph.tensors[t].kind == TensorKind::state && !it.matched[t]->views.empty())
      fault("networks whose state is elsewhere, but " + describe(it.graph, t) + " has a view");
  }
}

/// Tensors whose rows must have a place: all that steps read and write, except those that the caller owns.
std::vector<bool> planned_tensors(const Streamed& it) {
  const std::vector<bool> elsewhere = may_be_elsewhere(it.graph);
  std::vector<bool> planned(it.graph.tensors.size(), false);
  for (TensorId t = 0; t < planned.size(); ++t)
    planned[t] = is_variable(it.graph.tensors[t]) && !(elsewhere[t] && it.matched[t]->views.empty());
  for (const Step& step : it.plan.clocks[0].steps) {
    const auto* const arrive = std::get_if<Arrive>(&step);
    const auto* const leave = std::get_if<Leave>(&step);
    if (arrive == nullptr && leave == nullptr) continue;
    const TensorId t = *it.ids[arrive != nullptr ? arrive->tensor : leave->tensor];
    planned[t] = is_variable(it.graph.tensors[t]);
  }
  return planned;
}

void check_numbers(const Streamed& it, bool has_run_again, Faults& faults) {
  if (it.plan.copies_removed != CopiesRemoved{}) {
    faults.push_back(
        {FaultKind::accounting, fmt::format("{} copies are said to be removed; this version counts none "
                                            "in streamed plans",
                                            it.plan.copies_removed.count)});
  }
  if (!it.plan.streaming) return;
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  if (!has_run_again && it.plan.streaming->recomputed > 1) {
    claim(fmt::format("{} times the multiplies are said to be run, but no row is run again",
                      it.plan.streaming->recomputed));
  }
  std::set<std::size_t> seen;
  for (const StreamRegion& region : it.plan.streaming->regions) {
    for (const std::size_t op : region.operators) {
      if (op >= it.graph.subgraphs[0].operators.size()) {
        claim(fmt::format("operator {} is said to be in a region, there are {}", op,
                          it.graph.subgraphs[0].operators.size()));
      } else if (!seen.insert(op).second) {
        claim(describe(it.graph, 0, op) + " is said to be in two regions, or twice in one");
      }
    }
  }
}

Streamed matched(const Plan& plan, const Graph& graph, Faults& faults) {
  Streamed it{plan, graph, match_tensors(plan, graph, 0, faults), {}};
  it.ids.resize(plan.tensors.size());
  for (TensorId t = 0; t < it.matched.size(); ++t) {
    if (it.matched[t] == nullptr) continue;
    it.ids[static_cast<std::size_t>(it.matched[t] - plan.tensors.data())] = t;
    check_tensor(graph, t, it.matched[t]->tensor, faults);
  }
  return it;
}

/// A plan of blocks is checked as a plan of the network in which each block is an operator or a tensor of its own.
/// `check` gets both.
template <typename Check>
Faults check_blocks(const Plan& plan, const Graph& graph, const Check& check) {
  Faults faults;
  const auto matched = match_tensors(plan, graph, 0, faults);
  if (!faults.empty()) return faults;
  std::vector<std::size_t> places;
  for (const PlannedTensor* const it : matched)
    places.push_back(static_cast<std::size_t>(it - plan.tensors.data()));
  try {
    const model::SplitNetwork network = model::split(graph, model::splits_of(plan, graph));
    const Graph stored = model::stored(network);
    faults = check_block_network(graph, network, stored);
    if (!faults.empty()) return faults;
    return check(model::plan_of_blocks(plan, network, places), stored);
  } catch (const Error& error) {
    return {{FaultKind::format, error.what()}};
  }
}

}  // namespace

Faults check_stream(const Plan& plan, const Given& given) {
  if (model::has_blocks(plan)) {
    return check_blocks(plan, *given.graph, [&](const Plan& of_blocks, const Graph& graph) {
      return check_stream(of_blocks, {&graph, given.constants});
    });
  }
  Faults faults;
  const Streamed it = matched(plan, *given.graph, faults);
  if (!faults.empty()) return faults;
  check_network(it, faults);
  const std::vector<TensorRows> rows = rows_of_tensors(it, faults);
  if (!faults.empty()) return faults;
  PlayedRows played = play_rows(it, rows, faults);
  const std::vector<bool> planned = planned_tensors(it);
  Holders holders{{}, std::move(played.sums), given.constants};
  for (TensorId t = 0; t < rows.size(); ++t) {
    if (planned[t]) place_rows(it, t, rows[t], played.lives[t], holders.rows, faults);
  }
  end_rows_written_over(it, rows, played.steps, holders.rows);
  RowBytes(it, rows, holders, faults).check();
  check_numbers(it, played.has_run_again, faults);
  StoredConstants stored(plan);
  stored.check(it.graph, it.matched, faults);
  stored.check_savings(faults);
  return faults;
}

Faults check_stream_form(const Plan& plan, const Graph& graph) {
  if (model::has_blocks(plan)) {
    return check_blocks(
        plan, graph, [](const Plan& of_blocks, const Graph& of) { return check_stream_form(of_blocks, of); });
  }
  Faults faults;
  const Streamed it = matched(plan, graph, faults);
  if (!faults.empty()) return faults;
  check_network(it, faults);
  static_cast<void>(rows_of_tensors(it, faults));
  for (std::size_t at = 0; at < plan.clocks[0].steps.size() && faults.empty(); ++at) {
    if (const auto fault = fault_in_step(it, static_cast<Position>(at))) faults.push_back(*fault);
  }
  return faults;
}

}  // namespace stowage::check
