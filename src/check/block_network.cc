// A plan of blocks is checked as a plan of a network in which each block is an operator or a tensor (model/blocks.cc),
// which the planner has used, too. So that network is not believed. Each of its operators is compared with the one
// that it stands for:
//
//   - all blocks of an operator together are its output, each row once, and so are all blocks of an input;
//   - what a block reads holds all rows that the row rules of the operator name for the block's rows, and somebody
//     writes it;
//   - what it says of rows along other axes, of sums, copies and updates in place is true of the whole operator, and
//     does not depend on bytes that a block lacks;
//   - it waits for whatever the operator waits for;
//   - bodies, and what they and the operators that run them read, are as they were.
//
// It may read more and permit less. Nothing of model/blocks.cc is called. Cost: operands times blocks, and the elements
// of a tensor for each operator that repeats bytes of it.

#include "check/block_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::check {
namespace {

using Cut = std::optional<RowRange>;  ///< None: all of a tensor.

/// A part of a tensor whose elements are counted in row-major order.
struct TensorPart {
  Shape shape{};
  Cut cut{};

  [[nodiscard]] std::int64_t begin(std::size_t axis) const {
    return cut && cut->axis == axis ? cut->begin : 0;
  }
  [[nodiscard]] std::int64_t end(std::size_t axis) const {
    return cut && cut->axis == axis ? cut->end : shape[axis];
  }
};

bool is_same_part(const TensorPart& a, const TensorPart& b) {
  if (a.shape != b.shape) return false;
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (a.begin(d) != b.begin(d) || a.end(d) != b.end(d)) return false;
  }
  return true;
}

/// The part with one row along that axis.
TensorPart row_of_part(TensorPart part, std::size_t axis) {
  part.shape[axis] = 1;
  return part;
}

/// Calls `visit` with the index in the whole tensor of each element of the part, in order, until it returns false.
template <typename Visit>
bool for_each_element(const TensorPart& part, const Visit& visit) {
  std::vector<std::int64_t> at;
  for (std::size_t d = 0; d < part.shape.size(); ++d) {
    if (part.begin(d) >= part.end(d)) return true;
    at.push_back(part.begin(d));
  }
  while (true) {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < at.size(); ++d) index = index * part.shape[d] + at[d];
    if (!visit(index)) return false;
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == part.end(d - 1)) {
      at[d - 1] = part.begin(d - 1);
      --d;
    }
    if (d == 0) return true;
  }
}

/// The index in the part of an element of the whole tensor; none if the part lacks it.
std::optional<std::int64_t> index_in(const TensorPart& part, std::int64_t index) {
  std::int64_t own = 0;
  std::int64_t stride = 1;
  for (std::size_t d = part.shape.size(); d-- > 0;) {
    const std::int64_t at = index % part.shape[d];
    index /= part.shape[d];
    if (at < part.begin(d) || at >= part.end(d)) return std::nullopt;
    own += (at - part.begin(d)) * stride;
    stride *= part.end(d) - part.begin(d);
  }
  return index == 0 ? std::optional(own) : std::nullopt;
}

/// True if a tensor whose elements are those of another one from element `at` on has, in a part of it, those of a part
/// of the other from `own` on.
bool repeats_part(const TensorPart& from, const TensorPart& to, std::int64_t at, std::int64_t own) {
  return for_each_element(from, [&](std::int64_t index) { return index_in(to, at + index) == own++; });
}

class BlockNetwork {
 public:
  BlockNetwork(const Graph& graph, const model::SplitNetwork& network, const Graph& stored)
      : graph_(graph), network_(network), stored_(stored) {}

  Faults check() {
    if (!has_same_bodies() || stored_.ties != graph_.ties ||
        network_.operators.size() != operators().size() ||
        network_.tensors.size() != stored_.tensors.size() || stored_.tensors.size() < graph_.tensors.size() ||
        !are_passed(graph_.subgraphs[0].inputs, stored_.subgraphs[0].inputs) ||
        !are_passed(graph_.subgraphs[0].outputs, stored_.subgraphs[0].outputs)) {
      fault("it has other inputs, outputs or states, or operators and tensors of no name");
      return std::move(faults_);
    }
    given_.insert(stored_.subgraphs[0].inputs.begin(), stored_.subgraphs[0].inputs.end());
    for (const TensorId input : graph_.subgraphs[0].inputs) {
      if (!given_.contains(input)) in_blocks_.insert(input);
    }
    for (TensorId t = 0; t < stored_.tensors.size() && faults_.empty(); ++t) check_tensor(t);
    if (faults_.empty()) note_operators();
    for (std::size_t o = 0; o < operators().size() && faults_.empty(); ++o) check_operator(o);
    for (const TensorId output : stored_.subgraphs[0].outputs) {
      if (!has_data(output)) fault("nothing writes output " + describe(stored_, output));
    }
    for (std::size_t body = 1; body < graph_.subgraphs.size(); ++body) check_body(graph_.subgraphs[body]);
    return std::move(faults_);
  }

 private:
  [[nodiscard]] bool has_same_bodies() const {
    return graph_.subgraphs.size() == stored_.subgraphs.size() &&
           std::equal(graph_.subgraphs.begin() + 1, graph_.subgraphs.end(), stored_.subgraphs.begin() + 1);
  }

  /// Whether the network of blocks is given, or gives, the same: each tensor, or all of its rows in blocks that follow
  /// each other.
  [[nodiscard]] bool are_passed(const std::vector<TensorId>& whole,
                                const std::vector<TensorId>& stored) const {
    std::size_t at = 0;
    for (const TensorId t : whole) {
      if (at < stored.size() && stored[at] == t) {
        ++at;
        continue;
      }
      if (at == stored.size() || !is_block_of(t, stored[at])) return false;
      const std::size_t axis = cut_of(stored[at])->axis;
      if (!graph_.tensors[t].shape || axis >= graph_.tensors[t].shape->size()) return false;
      const std::int64_t rows = (*graph_.tensors[t].shape)[axis];
      for (std::int64_t next = 0; next < rows; ++at) {
        if (at == stored.size() || !is_block_of(t, stored[at]) || cut_of(stored[at])->axis != axis ||
            cut_of(stored[at])->begin != next || cut_of(stored[at])->end <= next)
          return false;
        next = cut_of(stored[at])->end;
      }
    }
    return at == stored.size();
  }

  [[nodiscard]] bool is_block_of(TensorId whole, TensorId t) const {
    return t < network_.tensors.size() && network_.tensors[t].of == whole && cut_of(t);
  }

  /// What a block of a tensor is: blocks of inputs and outputs are passed in their place.
  [[nodiscard]] TensorKind kind_of_block(TensorId t, const Tensor& whole) const {
    const Subgraph& main = stored_.subgraphs[0];
    if (is_constant(whole.kind)) return whole.kind;
    if (std::ranges::find(main.inputs, t) != main.inputs.end()) return TensorKind::input;
    const bool is_output = std::ranges::find(main.outputs, t) != main.outputs.end();
    return is_output ? TensorKind::output : TensorKind::temporary;
  }

  /// Bodies know nothing of blocks: what they read is whole.
  void check_body(const Subgraph& body) {
    const auto expect_whole = [&](TensorId t) {
      if (!has_data(t)) fault("a body reads " + describe(graph_, t) + ", which is in blocks");
    };
    for (const Operator& op : body.operators) {
      for (const auto& input : op.inputs) {
        if (input) expect_whole(*input);
      }
    }
    std::ranges::for_each(body.outputs, expect_whole);
  }

  [[nodiscard]] const std::vector<Operator>& operators() const { return stored_.subgraphs[0].operators; }
  [[nodiscard]] const Operator& own_of(std::size_t o) const {
    return graph_.subgraphs[0].operators[network_.operators[o].of];
  }
  [[nodiscard]] const Cut& cut_of(TensorId t) const { return network_.tensors[t].block; }
  [[nodiscard]] const Tensor& whole_of(TensorId t) const { return graph_.tensors[network_.tensors[t].of]; }
  [[nodiscard]] TensorPart part_of(TensorId t) const {
    return {whole_of(t).shape.value_or(Shape()), cut_of(t)};
  }

  void fault(const std::string& what) {
    faults_.push_back({FaultKind::format,
                       "the network of blocks that the plan is for is wrong, a bug in stowage: " + what});
  }
  void fault(std::size_t o, const std::string& what) { fault(describe(stored_, 0, o) + " " + what); }

  void check_tensor(TensorId t) {
    const Tensor& tensor = stored_.tensors[t];
    const auto& [of, cut] = network_.tensors[t];
    if (t < graph_.tensors.size()) {
      if (of != t || cut || tensor != graph_.tensors[t]) fault(describe(graph_, t) + " is changed");
      return;
    }
    if (of >= graph_.tensors.size() || !cut) return fault(describe(stored_, t) + " is a block of nothing");
    const Tensor& whole = graph_.tensors[of];
    const std::size_t rank = whole.shape ? whole.shape->size() : 0;
    if (cut->axis >= rank || cut->begin < 0 || cut->begin >= cut->end || cut->end > (*whole.shape)[cut->axis])
      return fault(describe(stored_, t) + " is a block of rows that do not exist");
    Shape shape = *whole.shape;
    shape[cut->axis] = cut->end - cut->begin;
    const TensorKind kind = kind_of_block(t, whole);
    if (tensor.dtype != whole.dtype || tensor.shape != shape || tensor.kind != kind ||
        tensor.open != whole.open ||
        base::checked_multiply(tensor.bytes, (*whole.shape)[cut->axis]) !=
            base::checked_multiply(whole.bytes, shape[cut->axis]))
      fault(describe(stored_, t) + " is of another type, kind or size than a block of " +
            describe(graph_, of));
  }

  /// Which operators stand for one, and what they write.
  void note_operators() {
    parts_.resize(graph_.subgraphs[0].operators.size());
    for (std::size_t o = 0; o < operators().size(); ++o) {
      const std::size_t of = network_.operators[o].of;
      if (of >= parts_.size()) return fault(o, "stands for no operator");
      parts_[of].push_back(o);
      for (const auto& output : operators()[o].outputs) {
        if (output && !written_.insert(*output).second) fault(o, "writes what another one writes");
      }
    }
    for (const Operator& op : graph_.subgraphs[0].operators) {
      for (const auto& output : op.outputs) {
        if (output && !op.folded) computed_.insert(*output);
      }
    }
    for (std::size_t of = 0; of < parts_.size(); ++of) check_parts(of);
  }

  /// All of its output, each row once.
  void check_parts(std::size_t of) {
    const Operator& own = graph_.subgraphs[0].operators[of];
    const std::vector<std::size_t>& parts = parts_[of];
    const auto refuse = [&](const char* why) { fault(describe(graph_, 0, of) + why); };
    if (own.folded || parts.empty()) {
      if (own.folded != parts.empty()) refuse(" is folded and runs, or is missing");
      return;
    }
    if (!network_.operators[parts[0]].block) {
      if (parts.size() != 1) refuse(" runs more than once");
      return;
    }
    std::set<std::tuple<std::size_t, std::int64_t, std::int64_t>> ranges;
    std::int64_t multiplies = 0;
    for (const std::size_t o : parts) {
      const Cut& block = network_.operators[o].block;
      if (block) ranges.emplace(block->axis, block->begin, block->end);
      multiplies += operators()[o].multiplies.value_or(0);
    }
    const std::size_t axis = std::get<0>(*ranges.begin());
    const RowAxis* const along = row_axis(own, axis);
    if (ranges.size() != parts.size() || along == nullptr || !along->splits || own.outputs.size() != 1 ||
        !own.outputs[0] || own.stateful || !own.scratch.empty() || !own.bodies.empty())
      return refuse(" cannot be split like this");
    std::int64_t next = 0;
    for (const auto& [other, begin, end] : ranges) {
      if (other != axis || begin != next) return refuse(" is in blocks that overlap or leave rows out");
      next = end;
    }
    if (next != graph_.tensors[*own.outputs[0]].shape.value_or(Shape(axis + 1, -1)).at(axis))
      return refuse(" is in blocks that leave rows out");
    if (multiplies != own.multiplies) refuse(" is in blocks of more or fewer multiplies");
  }

  void check_operator(std::size_t o) {
    const Operator& own = own_of(o);
    const Operator& op = operators()[o];
    const Cut& block = network_.operators[o].block;
    const bool writes_its_own = block ? op.outputs.size() == 1 && op.outputs[0] &&
                                            cut_of(*op.outputs[0]) == block &&
                                            network_.tensors[*op.outputs[0]].of == own.outputs[0]
                                      : op.outputs == own.outputs;
    if (!writes_its_own) return fault(o, "does not write what it stands for");
    if (op.folded || op.stateful != own.stateful || op.scratch != own.scratch || op.bodies != own.bodies ||
        op.body_use != own.body_use)
      return fault(o, "is not of the kind that it stands for");
    if (!own.bodies.empty() && op.inputs != own.inputs)
      return fault(o, "has bodies, and does not read what they are given");
    for (const std::size_t before : own.after) {
      for (const std::size_t part : parts_[before]) {
        if (std::ranges::find(op.after, part) == op.after.end()) fault(o, "does not wait for all it must");
      }
    }
    if (op.inputs.size() < own.inputs.size()) return fault(o, "lacks inputs");
    const RowAxis* const along = block ? row_axis(own, block->axis) : nullptr;
    for (std::size_t i = 0; i < own.inputs.size(); ++i) {
      const Cut needed = along != nullptr ? rows_needed(own, *along, i, *block) : std::nullopt;
      check_input(o, i, needed, nullptr, nullptr);
    }
    for (const RowAxis& rows : op.row_axes) check_rows(o, rows);
    check_bytes(o);
  }

  /// The rows of an input that a block reads; none: all of it.
  [[nodiscard]] Cut rows_needed(const Operator& own, const RowAxis& along, std::size_t i,
                                const RowRange& block) const {
    const RowRead* const read = row_read(along, i);
    if (read == nullptr || !own.inputs[i]) return std::nullopt;
    const std::int64_t extent = graph_.tensors[*own.inputs[i]].shape->at(read->axis);
    RowRange rows{read->axis, extent, 0};
    for (std::int64_t r = block.begin; r < block.end; ++r) {
      const std::int64_t first = first_row(read->rows, r);
      rows.begin = std::min(rows.begin, std::clamp<std::int64_t>(first, 0, extent));
      rows.end = std::max(rows.end, std::clamp<std::int64_t>(
                                        first + (read->rows.taps - 1) * read->rows.dilation + 1, 0, extent));
    }
    return rows;
  }

  /// True for constants, for what the caller gives, and for what an operator writes.
  [[nodiscard]] bool has_data(TensorId t) const {
    if (is_constant(stored_.tensors[t].kind) || written_.contains(t) || given_.contains(t)) return true;
    return !cut_of(t) && !computed_.contains(t) && !in_blocks_.contains(t);
  }

  /// Input i is read where the operator reads it, or in its place behind all others in several blocks. With `rows`,
  /// which stands for `own_rows`: by each of these rows.
  void check_input(std::size_t o, std::size_t i, const Cut& needed, const RowAxis* rows,
                   const RowAxis* own_rows) {
    const Operator& own = own_of(o);
    const Operator& op = operators()[o];
    if (!own.inputs[i]) {
      if (op.inputs[i]) fault(o, fmt::format("has an input {} that does not exist", i));
      return;
    }
    std::vector<RowRange> there;
    const std::size_t rank = graph_.tensors[*own.inputs[i]].shape.value_or(Shape()).size();
    for (std::size_t j = 0; j < op.inputs.size(); ++j) {
      const bool may_hold = op.inputs[i] ? j == i : j >= own.inputs.size();
      if (!may_hold || !op.inputs[j] || network_.tensors[*op.inputs[j]].of != own.inputs[i] ||
          !has_data(*op.inputs[j]) || (rows != nullptr && !reads_enough(o, j, i, *rows, *own_rows)))
        continue;
      const Cut& cut = cut_of(*op.inputs[j]);
      if (!cut) return;  // all of it
      there.push_back(*cut);
    }
    std::ranges::sort(there, {}, [](const RowRange& it) { return std::pair(it.axis, it.begin); });
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const bool is_along = needed && needed->axis == axis;
      std::int64_t next = is_along ? needed->begin : 0;
      for (const RowRange& it : there) {
        if (it.axis == axis && it.begin <= next) next = std::max(next, it.end);
      }
      if (next >= (is_along ? needed->end : graph_.tensors[*own.inputs[i]].shape->at(axis))) return;
    }
    fault(o, fmt::format("does not read all that input {} needs{}", i,
                         rows == nullptr ? "" : fmt::format(" for rows along axis {}", rows->axis)));
  }

  /// Whether input j, read by rows, has for each row what the operator reads of input i.
  [[nodiscard]] bool reads_enough(std::size_t o, std::size_t j, std::size_t i, const RowAxis& rows,
                                  const RowAxis& own_rows) const {
    const RowRead* const read = row_read(rows, j);
    if (read == nullptr) return true;
    const RowRead* const own = row_read(own_rows, i);
    const TensorId t = *operators()[o].inputs[j];
    if (own == nullptr || own->axis != read->axis || own->rows != read->rows ||
        (cut_of(t) && cut_of(t)->axis == read->axis))
      return false;
    if (!read->kept_at) return true;
    if (!network_.operators[o].block) return !cut_of(t) && read->kept_at == own->kept_at;
    const TensorId output = *operators()[o].outputs.at(0);
    const auto at = own->kept_at ? elements_in(*own->kept_at, output) : std::nullopt;
    const auto own_at = elements_in(*read->kept_at, output);
    return at && own_at &&
           repeats_part(row_of_part(part_of(t), own->axis), row_of_part(part_of(output), rows.axis), *at,
                        *own_at);
  }

  [[nodiscard]] std::optional<std::int64_t> elements_in(Bytes bytes, TensorId t) const {
    constexpr std::int64_t bits_of_a_byte = 8;
    const auto bits = bits_of(stored_.tensors[t].dtype);
    const auto all = base::checked_multiply(bytes, bits_of_a_byte);
    return bits && all && *all % *bits == 0 ? std::optional(*all / *bits) : std::nullopt;
  }

  void check_rows(std::size_t o, const RowAxis& rows) {
    const Operator& op = operators()[o];
    const Cut& block = network_.operators[o].block;
    const RowAxis* const own = row_axis(own_of(o), rows.axis);
    if (own == nullptr || (block && block->axis == rows.axis))
      return fault(o, fmt::format("has rows along axis {}, along which it cannot run", rows.axis));
    if (rows.adds_rows &&
        (!own->adds_rows || block || rows.reads != own->reads || op.inputs != own_of(o).inputs))
      fault(o, fmt::format("adds rows along axis {}, which it cannot", rows.axis));
    const RowAxis* const along = block ? row_axis(own_of(o), block->axis) : nullptr;
    for (std::size_t i = 0; i < own_of(o).inputs.size(); ++i) {
      const Cut needed = along != nullptr ? rows_needed(own_of(o), *along, i, *block) : std::nullopt;
      check_input(o, i, needed, &rows, own);
    }
    for (const RowRead& read : rows.reads) {
      if (read.kept_at && !keeps_row_of_any(o, read, rows, *own))
        fault(o, fmt::format("keeps rows of input {} where they are not", read.input));
    }
  }

  /// Whether the row of an input is where the operator has a row of one of its inputs.
  [[nodiscard]] bool keeps_row_of_any(std::size_t o, const RowRead& read, const RowAxis& rows,
                                      const RowAxis& own_rows) const {
    const auto& input = operators()[o].inputs.at(read.input);
    return input && std::ranges::any_of(own_rows.reads, [&](const RowRead& own) {
             return own_of(o).inputs[own.input] == network_.tensors[*input].of &&
                    reads_enough(o, read.input, own.input, rows, own_rows);
           });
  }

  /// Sums, copies and updates in place: true of whole operators, and of blocks at the same places.
  void check_bytes(std::size_t o) {
    const Operator& own = own_of(o);
    const Operator& op = operators()[o];
    const bool is_block = network_.operators[o].block.has_value();
    const bool is_own = !is_block && op.inputs == own.inputs;
    const bool has_own_first = !is_block && !op.inputs.empty() && op.inputs[0] == own.inputs[0];
    const auto are_among = [](const auto& those, const auto& all) {
      return std::ranges::all_of(those,
                                 [&](const auto& it) { return std::ranges::find(all, it) != all.end(); });
    };
    if ((!op.sums_over.empty() || !op.carries.empty()) &&
        !(has_own_first && are_among(op.sums_over, own.sums_over) && are_among(op.carries, own.carries)))
      fault(o, "sums up or carries rows, which it cannot");
    if (!op.copies.empty() && !(is_own ? op.copies == own.copies : is_block && copies_block(own, op)))
      fault(o, "copies bytes that are elsewhere");
    for (std::size_t i = 0; i < op.inputs.size() && !is_own; ++i) {
      if (!op.inputs[i] || is_constant(stored_.tensors[*op.inputs[i]].kind) ||
          !in_place_output(stored_, op, i))
        continue;
      if (i >= own.inputs.size() || !is_same_part(part_of(*op.inputs[i]), part_of(*op.outputs[0])))
        fault(o, fmt::format("may write over input {}, which is another part", i));
    }
  }

  /// Whether the only copy, of all bytes from an input to the output, is also one of these blocks.
  [[nodiscard]] bool copies_block(const Operator& own, const Operator& op) const {
    if (op.copies.size() != 1 || own.copies.size() != 1) return false;
    const auto [input, output, from, to, size] = op.copies[0];
    if (output != 0 || own.copies[0].output != 0 || input != own.copies[0].input ||
        input >= own.inputs.size() || !op.inputs[input] || from != 0 || to != 0)
      return false;
    const TensorId t = *op.inputs[input];
    const TensorId result = *op.outputs.at(0);
    return own.copies[0] == ByteCopy{input, 0, 0, 0, whole_of(result).bytes} &&
           size == stored_.tensors[t].bytes && size == stored_.tensors[result].bytes &&
           repeats_part(part_of(t), part_of(result), 0, 0);
  }

  const Graph& graph_;
  const model::SplitNetwork& network_;
  const Graph& stored_;
  std::vector<std::vector<std::size_t>> parts_;  ///< By operator of the graph.
  std::set<TensorId> written_;                   ///< By operators of the network of blocks.
  std::set<TensorId> given_;                     ///< To the network of blocks.
  std::set<TensorId> in_blocks_;                 ///< Inputs of the graph that are given in blocks.
  std::set<TensorId> computed_;                  ///< By operators of the graph.
  Faults faults_;
};

}  // namespace

Faults check_block_network(const Graph& graph, const model::SplitNetwork& network, const Graph& stored) {
  return BlockNetwork(graph, network, stored).check();
}

}  // namespace stowage::check
