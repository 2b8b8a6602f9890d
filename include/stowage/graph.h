/// Example: a network of one operator, built by hand.
///
///     using namespace stowage;
///     Graph graph;
///     graph.tensors = {{.name = "x", .kind = TensorKind::input, .dtype = DType::float32,
///                       .shape = Shape{1, 8}, .bytes = 32},
///                      {.name = "y", .kind = TensorKind::output, .dtype = DType::float32,
///                       .shape = Shape{1, 8}, .bytes = 32}};
///     graph.subgraphs = {{.name = "main", .inputs = {0}, .outputs = {1}, .operators = {
///                          {.name = "relu", .type = "Relu", .inputs = {0}, .outputs = {1}}}}};
///     validate(graph);   // throws stowage::Error where something is wrong
///     return topological_orders(graph)[0].size() == 1 ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/units.h"

namespace stowage {

/// Element type of a tensor. Types below one byte are packed: two int4 in a byte.
enum class DType : std::uint8_t {
  boolean,
  int2,
  uint2,
  int4,
  uint4,
  float4e2m1,
  int8,
  uint8,
  float8e4m3fn,
  float8e4m3fnuz,
  float8e5m2,
  float8e5m2fnuz,
  float8e8m0,
  int16,
  uint16,
  float16,
  bfloat16,
  int32,
  uint32,
  float32,
  int64,
  uint64,
  float64,
  complex64,
  complex128,
  resource,
  string,
  unknown,
};

/// The type's name in plans, messages and graph JSON, for example "float32".
[[nodiscard]] std::string_view name_of(DType dtype);
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name);

/// Bits per element; nothing for strings and unknown types, which have no fixed size.
[[nodiscard]] std::optional<int> bits_of(DType dtype);

using Shape = std::vector<std::int64_t>;

/// Bytes of a dense tensor, the last byte filled up. Throws Error for a negative dimension, a size
/// beyond `largest_value` bits or an element type without a fixed size.
[[nodiscard]] Bytes bytes_of(DType dtype, const Shape& shape);

enum class TensorKind : std::uint8_t { input, output, weight, instruction, temporary, state, scratch };

[[nodiscard]] std::string_view name_of(TensorKind kind);
/// Weights and instructions: no step writes them.
[[nodiscard]] bool is_constant(TensorKind kind);
[[nodiscard]] std::optional<TensorKind> tensor_kind_named(std::string_view name);

/// Index of a tensor in Graph::tensors.
using TensorId = std::size_t;

/// A value of the network. Weights and instructions live outside the planned arena.
struct Tensor {
  std::string name{};  ///< As in the file; may be empty or repeated there.
  TensorKind kind = TensorKind::temporary;
  DType dtype = DType::unknown;
  std::optional<Shape> shape{};  ///< None: depends on data, and `bytes` is a bound the user gave.
  Bytes bytes = 0;               ///< Raw size, not rounded to any alignment.

  bool operator==(const Tensor&) const = default;
};

/// Bytes of a row of the tensor along that axis. None where it has no rows along it: no such axis, nothing in
/// it (an extent of zero), or rows that do not begin and end with a byte (int4 of an odd number). What has no
/// rows along any axis, as a single number, is read, written and handed over as a whole.
[[nodiscard]] std::optional<Bytes> bytes_of_row(const Tensor& tensor, std::size_t axis);

/// How an operator runs its bodies: an If runs one of them once, a Loop runs them again and again.
enum class BodyUse : std::uint8_t { once, repeated };

/// Bytes of an output that are bytes of an input, unchanged: what a reshape, concat, split or slice does.
/// Where both tensors have them at one place, the operator has nothing to do for them.
struct ByteCopy {
  std::size_t input = 0;   ///< Index in Operator::inputs.
  std::size_t output = 0;  ///< Index in Operator::outputs.
  Bytes from = 0;          ///< Offset in the input.
  Bytes to = 0;            ///< Offset in the output.
  Bytes size = 0;          ///< At least 1.

  bool operator==(const ByteCopy&) const = default;
};

/// Which rows of a tensor row r of another one is made of:
///     floor((scale * r + offset) / divisor) + k * dilation,  0 <= k < taps,
/// those of them that exist.
struct RowMap {
  std::int64_t scale = 1;
  std::int64_t divisor = 1;  ///< Positive.
  std::int64_t offset = 0;
  std::int64_t taps = 1;
  std::int64_t dilation = 1;  ///< Positive.

  bool operator==(const RowMap&) const = default;
};

/// Calls `visit(row)` for every row that row r is made of, of a tensor of `rows` rows, in the order of taps.
template <typename Visit>
void for_each_row(const RowMap& map, std::int64_t rows, std::int64_t r, Visit visit) {
  const std::int64_t dividend = map.scale * r + map.offset;
  const std::int64_t first = dividend / map.divisor - (dividend % map.divisor < 0 ? 1 : 0);
  for (std::int64_t k = 0; k < map.taps; ++k) {
    const std::int64_t row = first + k * map.dilation;
    if (row >= 0 && row < rows) visit(row);
  }
}

/// An input of which a row of an operator's outputs reads some rows only.
struct RowRead {
  std::size_t input = 0;  ///< Index in Operator::inputs.
  std::size_t axis = 0;   ///< Of the input: what its rows are along.
  RowMap rows{};
  /// The one row that is read comes back unchanged in the output's row, from this byte of it on, where both
  /// are stored row by row.
  std::optional<Bytes> kept_at{};

  bool operator==(const RowRead&) const = default;
};

/// Rows along an axis of an operator's outputs (of equal extent in all of them) can be computed one by one.
/// Inputs that are not in `reads` are read whole. All tensors have rows along the axes that are named here.
struct RowAxis {
  std::size_t axis = 0;
  std::vector<RowRead> reads{};
  bool is_windows = false;  ///< The operator moves a window along it: the height of an image.
  /// A row is a sum of what each row of the one input in `reads` gives, in elements that are as wide as the
  /// sum: rows of that input can be added to it one by one, where it lies.
  bool adds_rows = false;

  bool operator==(const RowAxis&) const = default;
};

struct Operator {
  std::string name{};
  std::string type{};                              ///< "Conv", "CONV_2D", "com.microsoft.Gelu".
  std::vector<std::optional<TensorId>> inputs{};   ///< None: an optional input that is left out.
  std::vector<std::optional<TensorId>> outputs{};  ///< None: an optional output nobody wants.
  std::vector<TensorId> scratch{};                 ///< Memory the kernel wants while it runs.
  std::vector<std::size_t> bodies{};               ///< Subgraphs it runs, in this order on the clock.
  BodyUse body_use = BodyUse::once;
  std::vector<std::size_t> after{};  ///< Operators of the same subgraph that must run before it.
  bool folded = false;               ///< All inputs constant: computed once, outputs are weights.
  bool stateful = false;             ///< Has side effects: keeps its order among stateful operators.
  /// Every run of bytes that it only passes on. No byte of an output is in two of them; bytes in none are
  /// computed.
  std::vector<ByteCopy> copies{};
  /// Why a reshape, concat, split or slice has no `copies`, in words ("concat on axis 1 behind
  /// dimension 0 of 2"). Empty for all other operators.
  std::string must_copy{};
  /// How it can run row by row; `add_rows` says so for networks. Empty: as a whole only.
  std::vector<RowAxis> row_axes{};
  /// Axes of its first input over whose rows it can sum up: it reads them one by one, and has its outputs
  /// with the last.
  std::vector<std::size_t> sums_over{};
  /// Multiplies of a whole run, of convolutions and products; `add_rows` says so, too.
  std::int64_t multiplies = 0;

  bool operator==(const Operator&) const = default;
};

/// A sequence of operators in the file's order. The first subgraph of a graph is the network
/// itself, the others are bodies of operators.
struct Subgraph {
  std::string name{};
  std::vector<TensorId> inputs{};
  std::vector<TensorId> outputs{};
  std::vector<Operator> operators{};

  bool operator==(const Subgraph&) const = default;
};

/// An output that is the named input of the next run: both are one buffer that is never shared.
struct StateTie {
  TensorId output = 0;
  TensorId input = 0;

  bool operator==(const StateTie&) const = default;
};

/// A network: tensors of all its subgraphs, and the operators that read and write them. A body may
/// read the tensors of the subgraphs around it (a capture).
struct Graph {
  std::string name{};
  std::vector<Tensor> tensors{};
  std::vector<Subgraph> subgraphs{};
  std::vector<StateTie> ties{};

  bool operator==(const Graph&) const = default;
};

/// A short name for messages: "tensor 'x'" or "tensor 12" where it has none.
[[nodiscard]] std::string describe(const Graph& graph, TensorId tensor);

/// "operator 'conv1' (Conv, 3 of subgraph 0)", or "operator 3 of subgraph 0 (CONV_2D)" without a name.
[[nodiscard]] std::string describe(const Graph& graph, std::size_t subgraph, std::size_t op);

/// Throws Error unless every reference is in range, every tensor has at most one producer, every
/// tensor that is read has a producer or a value, sizes are in range, bodies do not call
/// themselves, copies lie in their tensors, state ties join tensors of one size, and operators can be
/// ordered.
void validate(const Graph& graph);

/// For each subgraph, its operators so that each runs after those it depends on: through tensors (also those
/// its bodies read), through `after`, through the order of stateful operators, and, where that is possible,
/// as a new state is written over the old one. Among those that are ready the first in the file goes first,
/// so a file in a valid order keeps it. Throws Error for a cycle, naming a tensor on it. Cost: (operators +
/// operands) * log(operators).
[[nodiscard]] std::vector<std::vector<std::size_t>> topological_orders(const Graph& graph);

/// For each subgraph, the tensors of other subgraphs that its operators, or the bodies of those, read.
[[nodiscard]] std::vector<std::vector<TensorId>> captures_of(const Graph& graph);

/// For each tensor, the subgraph it belongs to: the one that has it as an input or produces it.
/// None for tensors that no subgraph writes (weights, orphans).
[[nodiscard]] std::vector<std::optional<std::size_t>> owners_of(const Graph& graph);

/// Whether the operator may write its first output over that input while it reads it, if both have as
/// many elements of one size: element by element, or scattering updates into a copy of it. Goes by
/// the operator's type alone.
[[nodiscard]] bool updates_in_place(const Operator& op, std::size_t input);

/// The output that the operator may write over that input while it reads it, taking everything into
/// account that the graph says; none if there is no such output.
[[nodiscard]] std::optional<TensorId> in_place_output(const Graph& graph, const Operator& op,
                                                      std::size_t input);

/// Bytes that an operator with that output keeps its sums in until they are there: one number of at least 32
/// bits for every element.
[[nodiscard]] Bytes bytes_of_sums(const Tensor& output);

}  // namespace stowage
