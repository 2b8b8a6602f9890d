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
#include <variant>
#include <vector>

#include "stowage/tensor_kind.h"
#include "stowage/units.h"

namespace stowage {

/// Element type of a tensor. Types smaller than a byte are packed: two int4 in a byte.
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
/// The type with that name; none if the name is unknown.
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name);

/// Bits per element; none for strings and unknown types, which have no fixed size.
[[nodiscard]] std::optional<int> bits_of(DType dtype);

using Shape = std::vector<std::int64_t>;

/// Bytes of a dense tensor, rounded up to whole bytes. Throws Error for a negative dimension, a size above
/// `largest_value` bits, or an element type without a fixed size.
[[nodiscard]] Bytes bytes_of(DType dtype, const Shape& shape);

/// Index of a tensor in Graph::tensors.
using TensorId = std::size_t;

/// An axis whose extent each run decides; the tensor's shape has the largest one.
struct OpenExtent {
  std::size_t axis = 0;
  std::size_t symbol = 0;  ///< Open extents of one graph with the same symbol are equal in every run.

  bool operator==(const OpenExtent&) const = default;
};

/// An element of a tensor: whole for types of integers and booleans (0 or 1), real for others.
using Number = std::variant<std::int64_t, double>;

/// A value of the network. Weights and instructions are outside of the arena.
struct Tensor {
  std::string name{};  ///< As in the file; may be empty or not unique.
  TensorKind kind = TensorKind::temporary;
  DType dtype = DType::unknown;
  std::optional<Shape> shape{};  ///< None: depends on data; then `bytes` is a bound from the user.
  Bytes bytes = 0;               ///< Raw size, not rounded up to an alignment.
  /// The axes whose extents are open, in ascending order. In a run the tensor has its smaller extents in
  /// row-major order, without gaps, from its first byte on.
  std::vector<OpenExtent> open{};
  /// Only of an input: the elements that it has in every run, since sizes follow from them. Empty: any elements.
  std::vector<Number> value{};

  bool operator==(const Tensor&) const = default;
};

/// True if a run may decide the extents of the tensor.
[[nodiscard]] inline bool is_open(const Tensor& tensor) { return !tensor.open.empty(); }

/// True if the open axes are axes of the tensor in ascending order.
[[nodiscard]] bool has_open_axes_in_order(const Tensor& tensor);

/// True if both tensors have equal extents in every run, as far as open extents are concerned.
[[nodiscard]] bool are_open_alike(const Tensor& a, const Tensor& b);

/// True if nothing at this byte depends on where an open extent ends: all its indices are 0 up to the last open
/// axis. (An index other than 0 along such an axis may be counted from its end.)
[[nodiscard]] bool is_at_fixed_place(const Tensor& tensor, Bytes byte);

/// Bytes of one row of the tensor along this axis. None if the axis does not exist, an extent is zero, or a
/// row is not a whole number of bytes (an odd number of int4). A tensor without rows along any axis, such as
/// a single number, is read, written and handed over as a whole.
[[nodiscard]] std::optional<Bytes> bytes_of_row(const Tensor& tensor, std::size_t axis);

/// How an operator runs its bodies: an If runs one of them once, a Loop repeats them.
enum class BodyUse : std::uint8_t { once, repeated };

/// Bytes of an output that are unchanged bytes of an input, as in a reshape, concat, split or slice. If both
/// tensors have them at the same place, the operator need not copy them.
struct ByteCopy {
  std::size_t input = 0;   ///< Index in Operator::inputs.
  std::size_t output = 0;  ///< Index in Operator::outputs.
  Bytes from = 0;          ///< Offset in the input, at the largest open extents.
  Bytes to = 0;            ///< Offset in the output, at the largest open extents.
  Bytes size = 0;          ///< At least 1.

  bool operator==(const ByteCopy&) const = default;
};

/// The rows of one tensor from which row r of another tensor is computed:
///     floor((scale * r + offset) / divisor) + k * dilation,  0 <= k < taps,
/// Rows that do not exist are left out.
struct RowMap {
  std::int64_t scale = 1;
  std::int64_t divisor = 1;  ///< Positive.
  std::int64_t offset = 0;
  std::int64_t taps = 1;
  std::int64_t dilation = 1;  ///< Positive.

  bool operator==(const RowMap&) const = default;
};

/// The first row from which row r is computed (tap 0); it may lie outside of the tensor.
[[nodiscard]] inline std::int64_t first_row(const RowMap& map, std::int64_t r) {
  const std::int64_t dividend = map.scale * r + map.offset;
  return dividend / map.divisor - (dividend % map.divisor < 0 ? 1 : 0);
}

/// Calls `visit(row)` for each of the tensor's `rows` from which row r is computed, in tap order.
template <typename Visit>
void for_each_row(const RowMap& map, std::int64_t rows, std::int64_t r, Visit visit) {
  const std::int64_t first = first_row(map, r);
  for (std::int64_t k = 0; k < map.taps; ++k) {
    const std::int64_t row = first + k * map.dilation;
    if (row >= 0 && row < rows) visit(row);
  }
}

/// An input from which each output row reads only some rows.
struct RowRead {
  std::size_t input = 0;  ///< Index in Operator::inputs.
  std::size_t axis = 0;   ///< Of the input; its rows are along this axis.
  RowMap rows{};
  /// If set, the output row repeats the one row that it reads, unchanged, from this byte on. Both tensors are
  /// stored row by row.
  std::optional<Bytes> kept_at{};

  bool operator==(const RowRead&) const = default;
};

/// An axis of an operator's outputs along which rows can be computed one by one. Its extent is equal in all
/// outputs. Inputs that are not in `reads` are read whole. All tensors have rows along the axes named here.
struct RowAxis {
  std::size_t axis = 0;
  std::vector<RowRead> reads{};
  bool is_windows = false;  ///< The operator moves a window along it, as along the height of an image.
  /// An output row is the sum of one contribution for each row of the one input in `reads`. Elements are as
  /// wide as the sum, so the contributions can be added one by one, in place.
  bool adds_rows = false;
  /// The operator makes any consecutive rows of its only output from these rows of the inputs in `reads` just as
  /// it makes all of them. So it can be split into operators of its own type, one for each block of rows.
  bool splits = false;

  bool operator==(const RowAxis&) const = default;
};

/// An axis of an operator's first output along which it computes rows one by one with a buffer that it carries
/// from row to row. Row r is made of row r of the first input, of the buffer, and of all other inputs as
/// wholes. All other outputs are complete after the last row.
struct CarriedAxis {
  std::size_t axis = 0;        ///< Of the first output.
  std::size_t input_axis = 0;  ///< Of the first input, which has as many rows along it.
  /// It reads the rows of the first input twice: first all of them are added to sums in the buffer, then the
  /// rows of the output are made with the sums. If not, the buffer is a state that every row changes.
  bool reads_twice = false;
  Bytes carried = 0;  ///< Size of the buffer; 0: the state is in variables of the network.
  /// Rows run from the last to the first, and all other outputs are complete after row 0. Not if it reads twice.
  bool backward = false;

  bool operator==(const CarriedAxis&) const = default;
};

struct Operator {
  std::string name{};
  std::string type{};                              ///< "Conv", "CONV_2D", "com.microsoft.Gelu".
  std::vector<std::optional<TensorId>> inputs{};   ///< None: an omitted optional input.
  std::vector<std::optional<TensorId>> outputs{};  ///< None: an omitted optional output.
  std::vector<TensorId> scratch{};                 ///< Memory that the kernel needs while it runs.
  std::vector<std::size_t> bodies{};               ///< Subgraphs it runs, in this order on the clock.
  BodyUse body_use = BodyUse::once;
  std::vector<std::size_t> after{};  ///< Operators of the same subgraph that must run before it.
  bool folded = false;               ///< All inputs constant: computed once, outputs are weights.
  bool stateful = false;             ///< Has side effects: keeps its order among stateful operators.
  /// All runs of bytes that it copies unchanged. No output byte is in two of them. Output bytes outside of
  /// them are computed.
  std::vector<ByteCopy> copies{};
  /// The reason, in words, why a reshape, concat, split or slice has no `copies` ("concat on axis 1 behind
  /// dimension 0 of 2"). Empty for all other operators.
  std::string must_copy{};
  /// How it can run row by row; `add_rows` fills this in. Empty: it runs only as a whole.
  std::vector<RowAxis> row_axes{};
  /// Axes of its first input along which it can accumulate row by row. Its outputs are complete after the
  /// last row.
  std::vector<std::size_t> sums_over{};
  /// Axes along which it can run row by row if it carries a buffer; `add_rows` fills this in. No such axis is
  /// among `row_axes`.
  std::vector<CarriedAxis> carries{};
  /// Number of multiplies of a whole run, for convolutions and products; `add_rows` fills this in. None: unknown, so
  /// no row of it is ever computed twice.
  std::optional<std::int64_t> multiplies{};

  bool operator==(const Operator&) const = default;
};

/// Operators in the order of the file. The first subgraph of a graph is the network itself; the others are
/// bodies of operators.
struct Subgraph {
  std::string name{};
  std::vector<TensorId> inputs{};
  std::vector<TensorId> outputs{};
  std::vector<Operator> operators{};

  bool operator==(const Subgraph&) const = default;
};

/// The output becomes this input in the next run. Both use one buffer, which is never shared.
struct StateTie {
  TensorId output = 0;
  TensorId input = 0;

  bool operator==(const StateTie&) const = default;
};

/// A network: the tensors of all subgraphs, and the operators that read and write them. A body may read
/// tensors of the subgraphs around it (captures).
struct Graph {
  std::string name{};
  std::vector<Tensor> tensors{};
  std::vector<Subgraph> subgraphs{};
  std::vector<StateTie> ties{};

  bool operator==(const Graph&) const = default;
};

/// For each of the operator's copies, whether it copies from and to the same places in every run. Cost: copies *
/// log(copies).
[[nodiscard]] std::vector<bool> fixed_copies(const Graph& graph, const Operator& op);

/// A short name for messages: "tensor 'x'", or "tensor 12" if it has no name.
[[nodiscard]] std::string describe(const Graph& graph, TensorId tensor);

/// "operator 'conv1' (Conv, 3 of subgraph 0)", or "operator 3 of subgraph 0 (CONV_2D)" without a name.
[[nodiscard]] std::string describe(const Graph& graph, std::size_t subgraph, std::size_t op);

/// Throws Error unless all of these hold: references are in range; every tensor has at most one producer;
/// every tensor that is read has a producer or a value; sizes are in range; open extents are of axes that exist;
/// no body calls itself; copies lie within tensors, at places that stay or follow from sizes; state ties join
/// tensors of equal size; the operators can be ordered.
void validate(const Graph& graph);

/// For each subgraph, its operators in an order where each runs after its dependences. Dependences are:
/// tensors (also those that bodies read), `after`, the order of stateful operators and, where possible, the
/// last read of an old state before the new one is written. Of several ready operators, the first in the file
/// runs first, so a valid file order is kept. Throws Error for a cycle and names a tensor on it. Cost:
/// (operators + operands) * log(operators).
[[nodiscard]] std::vector<std::vector<std::size_t>> topological_orders(const Graph& graph);

/// For each subgraph, the tensors of other subgraphs that its operators or their bodies read.
[[nodiscard]] std::vector<std::vector<TensorId>> captures_of(const Graph& graph);

/// For each tensor, the subgraph that has it as an input or produces it. None for tensors that no subgraph
/// writes (weights, orphans).
[[nodiscard]] std::vector<std::optional<std::size_t>> owners_of(const Graph& graph);

/// True if the operator may write its first output over this input while it reads it, provided both have
/// equally many elements of equal size in every run. This holds for elementwise operators and for those that scatter
/// updates into a copy of the input. Depends only on the type of the operator.
[[nodiscard]] bool updates_in_place(const Operator& op, std::size_t input);

/// The output that the operator may write over this input while it reads it, given the whole graph; none if
/// there is no such output.
[[nodiscard]] std::optional<TensorId> in_place_output(const Graph& graph, const Operator& op,
                                                      std::size_t input);

/// How the operator computes rows of its outputs along that axis; null if it cannot.
[[nodiscard]] const RowAxis* row_axis(const Operator& op, std::size_t axis);

/// How an operator that runs along this axis reads rows of an input; null: it reads the input whole.
[[nodiscard]] const RowRead* row_read(const RowAxis& along, std::size_t input);

/// True if the operator can accumulate rows of its first input along that axis.
[[nodiscard]] bool can_sum_up(const Operator& op, std::size_t axis);

/// How the operator computes rows of its first output along that axis with a carried buffer; null if it does
/// not.
[[nodiscard]] const CarriedAxis* carried_axis(const Operator& op, std::size_t axis);

/// The same for an operator that first sums up rows of its first input along that axis.
[[nodiscard]] const CarriedAxis* summed_first(const Operator& op, std::size_t input_axis);

/// Size of the accumulator for this output, in bytes: at least 32 bits per element.
[[nodiscard]] Bytes bytes_of_sums(const Tensor& output);

}  // namespace stowage
