#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "model/motions.h"
#include "model/ties.h"
#include "stowage/error.h"
#include "stowage/graph.h"

namespace stowage {
namespace {

/// Checks that every index in a graph is in range; all other code relies on it.
void check_references(const Graph& graph) {
  const auto tensor_in_range = [&](TensorId tensor,
                                   const auto& where) {  // its text is made only for an error
    if (tensor >= graph.tensors.size()) {
      throw Error(where(),
                  fmt::format("tensor {} does not exist, there are {}", tensor, graph.tensors.size()));
    }
  };
  if (graph.subgraphs.empty()) throw Error("", "there is no subgraph, expected at least one");
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    const Subgraph& subgraph = graph.subgraphs[s];
    for (const TensorId tensor : subgraph.inputs)
      tensor_in_range(tensor, [&] { return fmt::format("inputs of subgraph {}", s); });
    for (const TensorId tensor : subgraph.outputs)
      tensor_in_range(tensor, [&] { return fmt::format("outputs of subgraph {}", s); });
    for (std::size_t o = 0; o < subgraph.operators.size(); ++o) {
      const Operator& op = subgraph.operators[o];
      const auto place = [&] { return describe(graph, s, o); };
      for (const auto* operands : {&op.inputs, &op.outputs}) {
        for (const auto& tensor : *operands) {
          if (tensor) tensor_in_range(*tensor, place);
        }
      }
      for (const TensorId tensor : op.scratch) tensor_in_range(tensor, place);
      for (const std::size_t body : op.bodies) {
        if (body == 0 || body >= graph.subgraphs.size()) {
          throw Error(describe(graph, s, o),
                      fmt::format("body {} does not exist, expected a subgraph from 1 to {}", body,
                                  graph.subgraphs.size() - 1));
        }
        if (std::count(op.bodies.begin(), op.bodies.end(), body) > 1) {
          throw Error(describe(graph, s, o), fmt::format("has body {} twice, expected different ones", body));
        }
      }
      for (const std::size_t earlier : op.after) {
        if (earlier >= subgraph.operators.size()) {
          throw Error(describe(graph, s, o),
                      fmt::format("is to run after operator {}, which does not exist", earlier));
        }
      }
    }
  }
  for (const StateTie& tie : graph.ties) {
    for (const TensorId tensor : {tie.output, tie.input})
      tensor_in_range(tensor, [] { return std::string("state"); });
  }
}

void check_tensors(const Graph& graph) {
  Bytes total = 0;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const Bytes bytes = graph.tensors[t].bytes;
    if (bytes < 0)
      throw Error(describe(graph, t), fmt::format("size {} is negative, expected at least 0", bytes));
    const auto sum = base::checked_add(total, bytes);
    if (!sum || *sum > largest_value) {
      throw Error(describe(graph, t),
                  fmt::format("size {} overflows the sum of sizes, expected at most {} in all", bytes,
                              largest_value));
    }
    total = *sum;
    if (!has_open_axes_in_order(graph.tensors[t]))
      throw Error(describe(graph, t), "is open along axes that it does not have, or not in order");
  }
}

/// An operator that an error may name; its text is made only then.
struct NamedOperator {
  const Graph& graph;
  std::size_t subgraph = 0;
  std::size_t op = 0;

  [[nodiscard]] std::string text() const { return describe(graph, subgraph, op); }
};

/// Checks that every copy lies in both of its tensors, and that no byte of an output is copied twice.
void check_copies(const Graph& graph, const Operator& op, const NamedOperator& place) {
  std::vector<std::vector<std::pair<Bytes, Bytes>>> written(op.outputs.size());
  const auto expect_inside = [&](const std::vector<std::optional<TensorId>>& operands, std::size_t index,
                                 Bytes offset, Bytes size, std::string_view role) {
    if (index >= operands.size() || !operands[index])
      throw Error(place.text(), fmt::format("copies bytes of {} {}, which does not exist", role, index));
    const Bytes bytes = graph.tensors[*operands[index]].bytes;
    if (offset < 0 || size < 1 || offset > bytes || size > bytes - offset) {
      throw Error(place.text(),
                  fmt::format("copies {} bytes at {} of {} {}, expected them within its {} bytes", size,
                              offset, role, index, bytes));
    }
  };
  for (const ByteCopy& copy : op.copies) {
    expect_inside(op.inputs, copy.input, copy.from, copy.size, "input");
    expect_inside(op.outputs, copy.output, copy.to, copy.size, "output");
    written[copy.output].emplace_back(copy.to, copy.to + copy.size);
  }
  const std::vector<model::CopyMotion> motions = model::motions_of_copies(graph, op);
  const auto moved = std::ranges::find(motions, false, &model::CopyMotion::is_known);
  if (moved != motions.end()) {
    const ByteCopy& copy = op.copies[static_cast<std::size_t>(moved - motions.begin())];
    throw Error(place.text(), model::text_of_moved(copy));
  }
  for (auto& ranges : written) {
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].second)
        throw Error(place.text(), fmt::format("copies to byte {} of an output twice", ranges[i].first));
    }
  }
}

/// The extent of an operand along an axis.
std::int64_t extent_of(const Graph& graph, const std::vector<std::optional<TensorId>>& operands,
                       std::size_t index, std::size_t axis, const NamedOperator& place) {
  if (index >= operands.size() || !operands[index])
    throw Error(place.text(), fmt::format("has rows of operand {}, which does not exist", index));
  const auto& shape = graph.tensors[*operands[index]].shape;
  if (!shape || axis >= shape->size()) {
    throw Error(place.text(), fmt::format("has rows along axis {} of {}, expected an axis of a known shape",
                                          axis, describe(graph, *operands[index])));
  }
  if (!bytes_of_row(graph.tensors[*operands[index]], axis)) {
    throw Error(place.text(), fmt::format("has rows along axis {} of {}, expected rows of whole bytes", axis,
                                          describe(graph, *operands[index])));
  }
  return (*shape)[axis];
}

/// Checks that all rows of the map, and all intermediate numbers, are in range.
void check_row_map(const RowMap& map, std::int64_t rows, const NamedOperator& place) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const auto expect = [&](const char* what, std::int64_t value, std::int64_t least, std::int64_t greatest) {
    if (value < least || value > greatest)
      throw Error(place.text(),
                  fmt::format("reads rows by {} {}, expected {} to {}", what, value, least, greatest));
  };
  expect("scale", map.scale, -most, most);
  expect("divisor", map.divisor, 1, most);
  expect("offset", map.offset, -most * most / 4, most * most / 4);
  expect("taps", map.taps, 0, std::int64_t{1} << 24);
  expect("dilation", map.dilation, 1, most);
  if (rows > largest_value / most)
    throw Error(place.text(), fmt::format("has {} rows, expected at most {}", rows, largest_value / most));
}

/// Checks that a row of the input lies in one of the output.
void check_kept(const Graph& graph, const Operator& op, const RowRead& read, std::int64_t rows,
                std::int64_t rows_of_input, const NamedOperator& place) {
  const bool is_one = read.rows.taps == 1 && read.rows.scale == 1 && read.rows.divisor == 1;
  if (!is_one || op.outputs.size() != 1)
    throw Error(place.text(), "keeps rows unchanged, expected one output and one row read for each of it");
  const Bytes input = graph.tensors[*op.inputs[read.input]].bytes / std::max<std::int64_t>(rows_of_input, 1);
  const Bytes output = graph.tensors[*op.outputs[0]].bytes / std::max<std::int64_t>(rows, 1);
  if (*read.kept_at < 0 || input > output || *read.kept_at > output - input) {
    throw Error(place.text(), fmt::format("keeps rows of {} bytes at byte {}, expected them within {} bytes",
                                          input, *read.kept_at, output));
  }
}

void check_row_axis(const Graph& graph, const Operator& op, const RowAxis& along,
                    const NamedOperator& place) {
  std::optional<std::int64_t> rows;
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (!op.outputs[o]) continue;
    const std::int64_t extent = extent_of(graph, op.outputs, o, along.axis, place);
    if (rows && *rows != extent)
      throw Error(place.text(), fmt::format("has {} and {} rows along axis {}", *rows, extent, along.axis));
    rows = extent;
  }
  if (!rows) throw Error(place.text(), "has rows but no output");
  std::set<std::size_t> read_inputs;
  for (const RowRead& read : along.reads) {
    const std::int64_t rows_of_input = extent_of(graph, op.inputs, read.input, read.axis, place);
    if (!read_inputs.insert(read.input).second)
      throw Error(place.text(), fmt::format("reads rows of input {} twice", read.input));
    check_row_map(read.rows, *rows, place);
    if (read.kept_at) check_kept(graph, op, read, *rows, rows_of_input, place);
  }
  const auto has_first = [](const auto& operands) { return !operands.empty() && operands[0]; };
  if (along.is_windows && (!has_first(op.outputs) || (along.reads.empty() && !has_first(op.inputs))))
    throw Error(place.text(),
                fmt::format("moves windows along axis {}, but lacks its first input or output", along.axis));
  if (along.adds_rows && (along.reads.size() != 1 || op.outputs.size() != 1 || !op.outputs[0]))
    throw Error(place.text(), fmt::format("adds up rows of {} inputs for {} outputs, expected one of each",
                                          along.reads.size(), op.outputs.size()));
}

void check_carried_axis(const Graph& graph, const Operator& op, const CarriedAxis& along,
                        const NamedOperator& place) {
  const std::int64_t rows = extent_of(graph, op.outputs, 0, along.axis, place);
  const std::int64_t rows_of_input = extent_of(graph, op.inputs, 0, along.input_axis, place);
  if (rows != rows_of_input)
    throw Error(place.text(), fmt::format("carries a buffer over {} rows and reads {}, expected as many",
                                          rows, rows_of_input));
  if (along.carried < (along.reads_twice ? 1 : 0) || along.carried > largest_value)
    throw Error(place.text(),
                fmt::format("carries a buffer of {} bytes, expected at least 1", along.carried));
  if (along.backward && along.reads_twice)
    throw Error(place.text(), "reads its rows twice and runs them backward, expected one of both");
  if (row_axis(op, along.axis) != nullptr || (along.reads_twice && can_sum_up(op, along.input_axis)))
    throw Error(place.text(), fmt::format("runs by rows along axis {} in two ways", along.axis));
}

/// Checks that axes belong to tensors with known shapes, and that each occurs once.
void check_rows(const Graph& graph, const Operator& op, const NamedOperator& place) {
  std::set<std::size_t> axes;
  for (const RowAxis& along : op.row_axes) {
    if (!axes.insert(along.axis).second)
      throw Error(place.text(), fmt::format("has rows along axis {} twice", along.axis));
    check_row_axis(graph, op, along, place);
  }
  std::set<std::size_t> carried;
  for (const CarriedAxis& along : op.carries) {
    if (!carried.insert(along.axis).second)
      throw Error(place.text(), fmt::format("carries a buffer along axis {} twice", along.axis));
    check_carried_axis(graph, op, along, place);
  }
  std::set<std::size_t> sums;
  for (const std::size_t axis : op.sums_over) {
    if (!sums.insert(axis).second) throw Error(place.text(), fmt::format("sums up over axis {} twice", axis));
    (void)extent_of(graph, op.inputs, 0, axis, place);
    if (op.outputs.size() != 1 || !op.outputs[0])
      throw Error(place.text(), "sums up and has another number of outputs than one");
  }
}

bool has_value_of_its_own(const Tensor& tensor) {
  return is_constant(tensor.kind) || tensor.kind == TensorKind::state || tensor.bytes == 0;
}

/// Checks that every tensor has at most one producer, and that a tensor that is read has one or a value.
void check_producers(const Graph& graph) {
  constexpr std::size_t nobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> producer(graph.tensors.size(), nobody);  // operators counted through all subgraphs
  std::vector<bool> is_given(graph.tensors.size(), false);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const TensorId tensor : std::set<TensorId>(subgraph.inputs.begin(), subgraph.inputs.end())) {
      if (is_given[tensor])
        throw Error(describe(graph, tensor), "is an input of two subgraphs, expected one");
      is_given[tensor] = true;
    }
  }
  std::size_t count = 0;
  std::vector<std::pair<std::size_t, std::size_t>> operators;
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o, ++count) {
      operators.emplace_back(s, o);
      for (const auto& output : graph.subgraphs[s].operators[o].outputs) {
        if (!output) continue;
        if (producer[*output] != nobody) {
          const auto& [other_subgraph, other] = operators[producer[*output]];
          throw Error(describe(graph, *output),
                      fmt::format("has two producers, {} and {}", describe(graph, other_subgraph, other),
                                  describe(graph, s, o)));
        }
        if (is_given[*output]) {
          throw Error(describe(graph, *output),
                      fmt::format("is an input and yet written by {}", describe(graph, s, o)));
        }
        producer[*output] = count;
      }
    }
  }
  const auto check_read = [&](TensorId tensor, const auto& reader) {
    if (producer[tensor] == nobody && !is_given[tensor] && !has_value_of_its_own(graph.tensors[tensor])) {
      throw Error(describe(graph, tensor), fmt::format("is read by {} but nothing produces it", reader()));
    }
  };
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
      for (const auto& input : graph.subgraphs[s].operators[o].inputs) {
        if (input) check_read(*input, [&] { return describe(graph, s, o); });
      }
    }
    for (const TensorId output : graph.subgraphs[s].outputs) {
      check_read(output, [&] {
        return s == 0 ? "the caller, as an output," : fmt::format("the operator that runs subgraph {}", s);
      });
    }
  }
}

/// Checks that captured tensors belong to a subgraph around their reader.
void check_captures(const Graph& graph) {
  const auto captures = captures_of(graph);
  const auto owners = owners_of(graph);
  if (captures[0].empty()) return;
  const TensorId tensor = captures[0].front();
  throw Error(describe(graph, tensor),
              fmt::format("is read outside subgraph {}, to which it belongs", owners[tensor].value_or(0)));
}

/// Checks that scratch memory is private to a running operator: no operand, and listed once. Other operators
/// may use the same scratch at other times.
void check_scratch(const Graph& graph) {
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
      const Operator& op = graph.subgraphs[s].operators[o];
      const auto reject = [&](TensorId tensor, const std::string& problem) {
        throw Error(describe(graph, tensor),
                    fmt::format("is scratch of {} {}", describe(graph, s, o), problem));
      };
      for (const TensorId tensor : op.scratch) {
        const TensorKind kind = graph.tensors[tensor].kind;
        if (kind != TensorKind::scratch) reject(tensor, fmt::format("but of kind {}", name_of(kind)));
        if (std::count(op.scratch.begin(), op.scratch.end(), tensor) > 1) reject(tensor, "twice");
        for (const auto* operands : {&op.inputs, &op.outputs}) {
          if (std::count(operands->begin(), operands->end(), std::optional(tensor)) > 0)
            reject(tensor, "and an operand of it");
        }
      }
    }
  }
}

/// Checks that folded results are weights when the network runs.
void check_folded(const Graph& graph) {
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
      const Operator& op = graph.subgraphs[s].operators[o];
      for (const auto& output : op.outputs) {
        if (op.folded && output && graph.tensors[*output].kind != TensorKind::weight) {
          throw Error(describe(graph, *output),
                      fmt::format("is a result of {}, which is folded, but of kind {}", describe(graph, s, o),
                                  name_of(graph.tensors[*output].kind)));
        }
      }
    }
  }
}

void check_ties(const Graph& graph) {
  const auto contains = [](const std::vector<TensorId>& tensors, TensorId tensor) {
    return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
  };
  std::vector<bool> is_tied(graph.tensors.size(), false);
  for (const StateTie& tie : graph.ties) {
    const Tensor& output = graph.tensors[tie.output];
    const Tensor& input = graph.tensors[tie.input];
    if (!contains(graph.subgraphs[0].outputs, tie.output)) {
      throw Error(describe(graph, tie.output), "is the new state but not an output of the model");
    }
    if (!contains(graph.subgraphs[0].inputs, tie.input)) {
      throw Error(describe(graph, tie.input), "is the old state but not an input of the model");
    }
    for (const TensorId tensor : {tie.output, tie.input}) {
      const TensorKind kind = graph.tensors[tensor].kind;
      const bool is_variable = kind == TensorKind::state && tensor == tie.output;
      if (is_constant(kind) || is_variable || kind == TensorKind::scratch) {
        throw Error(describe(graph, tensor), fmt::format("is tied to a state but of kind {}", name_of(kind)));
      }
    }
    if (tie.input == tie.output) throw Error(describe(graph, tie.input), "is tied to itself");
    if (!model::may_be_one_state(output, input) || output.bytes < input.bytes) {
      throw Error(
          describe(graph, tie.output),
          fmt::format("is {} bytes but the state it becomes, {}, is {}; expected as many, or more along one "
                      "axis",
                      output.bytes, describe(graph, tie.input), input.bytes));
    }
    for (const TensorId tensor : {tie.output, tie.input}) {
      if (is_tied[tensor]) throw Error(describe(graph, tensor), "is tied to more than one state");
      is_tied[tensor] = true;
    }
  }
}

}  // namespace

void validate(const Graph& graph) {
  check_references(graph);
  check_tensors(graph);
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    const auto& operators = graph.subgraphs[s].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      const Operator& op = operators[o];
      const NamedOperator place{graph, s, o};
      if (!op.copies.empty()) check_copies(graph, op, place);
      if (!op.row_axes.empty() || !op.sums_over.empty() || !op.carries.empty()) check_rows(graph, op, place);
    }
  }
  check_producers(graph);
  check_captures(graph);
  check_scratch(graph);
  check_folded(graph);
  check_ties(graph);
  (void)topological_orders(graph);
}

}  // namespace stowage
