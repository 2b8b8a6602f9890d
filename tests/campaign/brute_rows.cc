#include "brute_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <vector>

#include "facts.h"

namespace stowage::campaign {
namespace {

constexpr std::size_t most_units = 15;
using Mask = std::uint32_t;
using RowId = std::size_t;

/// A row of a tensor, or a whole tensor that nobody writes by rows.
struct Row {
  Bytes bytes = 0;
  Mask readers = 0;                     ///< Units.
  std::optional<std::size_t> writer{};  ///< None: there from the start.
  bool is_kept_to_end = false;
};

/// What runs as one step: a row of an operator's outputs, a row that is summed up, or all of an operator.
struct Unit {
  std::vector<RowId> reads{};
  std::vector<RowId> writes{};
  std::vector<RowId> replaces{};  ///< Rows that may be written over, or that stay as part of what is written.
  std::vector<RowId> needed{};    ///< Rows that must not be written over meanwhile.
  std::optional<std::size_t> before{};  ///< Unit that must have run.
  Mask sums = 0;                        ///< All units of the operator that sums up; 0 where there is none.
  Bytes bytes_of_sums = 0;
};

class RowSearch {
 public:
  RowSearch(const Graph& graph, Io io, Alias alias, RowOrder row_order)
      : graph_(graph),
        main_(graph.subgraphs[0]),
        io_(io),
        may_share_(alias != Alias::none),
        row_order_(row_order) {}

  /// `sums_in_steps` says for each operator that sums up whether it does so row by row.
  std::optional<Bytes> run(std::uint32_t sums_in_steps) {
    sums_in_steps_ = sums_in_steps;
    find_axes();
    make_rows();
    for (const TensorId input : main_.inputs)
      if (io_ == Io::rows) add_arrivals(input);
    for (std::size_t o = 0; o < main_.operators.size(); ++o) add_operator(o);
    if (!is_known_ || units_.size() > most_units) return std::nullopt;
    link();
    return search();
  }

 private:
  /// Along which axis a tensor's rows are: the axis its writer or a reader has; one for all, or none.
  void find_axes() {
    std::vector<std::set<std::size_t>> wanted(graph_.tensors.size());
    for (const Operator& op : main_.operators) {
      if (op.row_axes.size() > 1 || !op.after.empty() || op.stateful || !op.scratch.empty())
        is_known_ = false;
      for (const RowAxis& axis : op.row_axes) {
        for (const auto& output : op.outputs)
          if (output) wanted[*output].insert(axis.axis);
        for (const RowRead& read : axis.reads) wanted[*op.inputs[read.input]].insert(read.axis);
      }
      for (const std::size_t axis : op.sums_over) wanted[*op.inputs[0]].insert(axis);
    }
    axes_.assign(graph_.tensors.size(), std::nullopt);
    for (TensorId t = 0; t < wanted.size(); ++t) {
      if (wanted[t].size() > 1) is_known_ = false;
      if (wanted[t].size() == 1 && RowLayout::of(graph_.tensors[t], *wanted[t].begin()))
        axes_[t] = *wanted[t].begin();
    }
  }

  void make_rows() {
    rows_of_.assign(graph_.tensors.size(), {});
    const auto make = [&](TensorId t) {
      const Tensor& tensor = graph_.tensors[t];
      const bool is_io = tensor.kind == TensorKind::input || tensor.kind == TensorKind::output;
      const std::int64_t count = axes_[t] ? (*tensor.shape)[*axes_[t]] : 1;
      if (tensor.bytes == 0) is_known_ = false;
      for (std::int64_t r = 0; r < count; ++r) {
        rows_of_[t].push_back(rows_.size());
        rows_.push_back(
            {.bytes = io_ == Io::external && is_io ? 0 : tensor.bytes / std::max<std::int64_t>(count, 1)});
      }
    };
    for (const TensorId input : main_.inputs) make(input);
    for (const Operator& op : main_.operators)
      for (const auto& output : op.outputs)
        if (output) make(*output);
    for (const TensorId output : main_.outputs) {
      if (std::find(main_.inputs.begin(), main_.inputs.end(), output) != main_.inputs.end())
        is_known_ = false;
      for (const RowId row : rows_of_[output]) rows_[row].is_kept_to_end = io_ != Io::rows;
    }
  }

  std::size_t add_unit(Unit unit) {
    units_.push_back(std::move(unit));
    return units_.size() - 1;
  }

  void add_arrivals(TensorId input) {
    std::optional<std::size_t> before;
    for (const RowId row : rows_of_[input]) {
      const std::size_t unit = add_unit({.writes = {row}, .before = before});
      if (row_order_ == RowOrder::ascending) before = unit;
    }
  }

  void read_all(Unit& unit, TensorId tensor) const {
    unit.reads.insert(unit.reads.end(), rows_of_[tensor].begin(), rows_of_[tensor].end());
  }

  void add_operator(std::size_t o) {
    const Operator& op = main_.operators[o];
    const bool sums_up = !op.sums_over.empty() && axes_[*op.inputs[0]] == op.sums_over[0];
    if (sums_up && (sums_in_steps_ >> o & 1U) != 0) return add_sums(op);
    const auto& output = op.outputs[0];
    if (op.row_axes.empty() || !output || axes_[*output] != op.row_axes[0].axis) return add_whole(op);
    const RowAxis& axis = op.row_axes[0];
    std::optional<std::size_t> before;
    for (std::size_t r = 0; r < rows_of_[*output].size(); ++r) {
      Unit unit{.before = before};
      for (std::size_t k = 0; k < op.inputs.size(); ++k)
        if (op.inputs[k]) read_rows(op, axis, k, r, unit);
      for (const auto& written : op.outputs)
        if (written) unit.writes.push_back(rows_of_[*written][r]);
      const std::size_t added = add_unit(std::move(unit));
      if (row_order_ == RowOrder::ascending) before = added;
    }
  }

  void read_rows(const Operator& op, const RowAxis& axis, std::size_t k, std::size_t r, Unit& unit) const {
    const TensorId input = *op.inputs[k];
    bool is_by_rows = false;
    for (const RowRead& read : axis.reads) {
      if (read.input != k) continue;
      is_by_rows = true;
      if (axes_[input] != read.axis) {
        read_all(unit, input);
        unit.needed.insert(unit.needed.end(), rows_of_[input].begin(), rows_of_[input].end());
        continue;
      }
      const auto count = static_cast<std::int64_t>(rows_of_[input].size());
      const auto row = static_cast<std::int64_t>(r);
      for (const std::int64_t of : rows_read(read.rows, count, row, row + 1)) {
        const RowId id = rows_of_[input][static_cast<std::size_t>(of)];
        unit.reads.push_back(id);
        const bool may_replace = may_share_ && (read.kept_at || (is_elementwise(graph_, op, k) && of == row));
        (may_replace ? unit.replaces : unit.needed).push_back(id);
      }
    }
    if (is_by_rows) return;
    read_all(unit, input);
    unit.needed.insert(unit.needed.end(), rows_of_[input].begin(), rows_of_[input].end());
  }

  void add_whole(const Operator& op) {
    Unit unit;
    for (const auto& input : op.inputs)
      if (input) read_all(unit, *input);
    for (const auto& output : op.outputs)
      if (output) unit.writes.insert(unit.writes.end(), rows_of_[*output].begin(), rows_of_[*output].end());
    add_unit(std::move(unit));
  }

  void add_sums(const Operator& op) {
    const std::vector<RowId>& rows = rows_of_[*op.inputs[0]];
    std::optional<std::size_t> before;
    Mask all = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      Unit unit{.reads = {rows[r]}, .before = before};
      for (std::size_t k = 1; k < op.inputs.size(); ++k)
        if (op.inputs[k]) read_all(unit, *op.inputs[k]);
      if (r + 1 == rows.size()) unit.writes = rows_of_[*op.outputs[0]];
      before = add_unit(std::move(unit));
      if (*before >= most_units) return;
      all |= Mask{1} << *before;
    }
    const Tensor& output = graph_.tensors[*op.outputs[0]];
    const Bytes size = output.bytes * 8 / *bits_of(output.dtype) * std::max(4, *bits_of(output.dtype) / 8);
    for (std::size_t u = *before + 1 - rows.size(); u <= *before; ++u) {
      units_[u].sums = rows.size() > 1 ? all : 0;
      units_[u].bytes_of_sums = size;
    }
  }

  void link() {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (const RowId row : units_[u].reads) rows_[row].readers |= Mask{1} << u;
      for (const RowId row : units_[u].writes) rows_[row].writer = u;
    }
  }

  [[nodiscard]] bool is_alive(RowId row, Mask done) const {
    const Row& of = rows_[row];
    if (of.writer && (done >> *of.writer & 1U) == 0) return false;
    if (!of.writer && done == 0) return true;  // An input of the arena.
    return of.is_kept_to_end || (of.readers & ~done) != 0;
  }

  [[nodiscard]] bool is_ready(std::size_t u, Mask done) const {
    const Unit& unit = units_[u];
    if (unit.before && (done >> *unit.before & 1U) == 0) return false;
    return std::all_of(unit.reads.begin(), unit.reads.end(), [&](RowId row) {
      return !rows_[row].writer || (done >> *rows_[row].writer & 1U) != 0;
    });
  }

  [[nodiscard]] Bytes cost(std::size_t u, Mask done) const {
    const Unit& unit = units_[u];
    const Mask after = done | Mask{1} << u;
    Bytes live = 0;
    for (RowId row = 0; row < rows_.size(); ++row)
      if (is_alive(row, done)) live += rows_[row].bytes;
    for (const RowId row : unit.writes) live += rows_[row].bytes;
    // One row that nobody wants any more may lie where the output does.
    Bytes saved = 0;
    for (const RowId row : unit.replaces)
      if (std::find(unit.needed.begin(), unit.needed.end(), row) == unit.needed.end() &&
          (rows_[row].readers & ~after) == 0 && !rows_[row].is_kept_to_end && unit.writes.size() == 1)
        saved = std::max(saved, std::min(rows_[row].bytes, rows_[unit.writes[0]].bytes));
    std::set<Mask> sums;
    for (const Unit& other : units_) {
      const bool is_begun = (other.sums & after) != 0 && (other.sums & ~done) != 0;
      if (other.sums != 0 && is_begun && sums.insert(other.sums).second) live += other.bytes_of_sums;
    }
    return live - saved;
  }

  [[nodiscard]] Bytes search() const {
    const Mask all = (Mask{1} << units_.size()) - 1;
    constexpr Bytes never = std::numeric_limits<Bytes>::max();
    std::vector<Bytes> best(std::size_t{all} + 1, never);
    best[0] = 0;
    for (Mask done = 0; done < all; ++done) {
      if (best[done] == never) continue;
      for (std::size_t u = 0; u < units_.size(); ++u) {
        if ((done >> u & 1U) != 0 || !is_ready(u, done)) continue;
        Bytes& reached = best[done | Mask{1} << u];
        reached = std::min(reached, std::max(best[done], cost(u, done)));
      }
    }
    return best[all];
  }

  const Graph& graph_;
  const Subgraph& main_;
  Io io_;
  bool may_share_;
  RowOrder row_order_;
  std::uint32_t sums_in_steps_ = 0;
  bool is_known_ = true;
  std::vector<std::optional<std::size_t>> axes_;
  std::vector<Row> rows_;
  std::vector<std::vector<RowId>> rows_of_;
  std::vector<Unit> units_;
};

}  // namespace

std::optional<Bytes> least_load_by_rows(const Graph& graph, Io io, Alias alias, RowOrder row_order) {
  if (graph.subgraphs.size() > 1 || !graph.ties.empty() || graph.subgraphs[0].operators.size() > 4)
    return std::nullopt;
  std::optional<Bytes> least;
  for (std::uint32_t sums = 0; sums < (1U << graph.subgraphs[0].operators.size()); ++sums) {
    bool is_needed = true;  // Only operators that sum up have a choice.
    for (std::size_t o = 0; o < graph.subgraphs[0].operators.size(); ++o)
      if ((sums >> o & 1U) != 0 && graph.subgraphs[0].operators[o].sums_over.empty()) is_needed = false;
    if (!is_needed) continue;
    const std::optional<Bytes> load = RowSearch(graph, io, alias, row_order).run(sums);
    if (load && (!least || *load < *least)) least = load;
  }
  return least;
}

}  // namespace stowage::campaign
