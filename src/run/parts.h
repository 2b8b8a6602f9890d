#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/units.h"

namespace stowage::run {

/// One row of a tensor.
struct Row {
  std::size_t axis = 0;
  std::int64_t index = 0;
};

/// A whole tensor, or one of its rows.
struct TensorPart {
  TensorId tensor = 0;
  std::optional<Row> row{};
};

/// Bytes of a tensor that are in memory.
struct PlacedBytes {
  std::byte* at = nullptr;
  Bytes offset = 0;  ///< In the tensor.
  Bytes size = 0;
};

/// The bytes of a part in order: elements of the tensor, or of the row.
using PlacedPart = std::vector<PlacedBytes>;

/// "row 3", "rows 3..4"
[[nodiscard]] std::string text_of(const RowRange& rows);

/// The rows, or the whole tensor.
[[nodiscard]] std::vector<TensorPart> parts_of(TensorId tensor, const std::optional<RowRange>& rows);

/// Bytes of a row that are consecutive in a whole tensor with rows along that axis.
[[nodiscard]] Bytes inner_bytes(const Tensor& tensor, std::size_t axis);

/// Bytes that a view holds of its tensor.
[[nodiscard]] Bytes bytes_in(const View& view, const Tensor& tensor);

/// The runs of a tensor's bytes that form a part; `at` is not set.
[[nodiscard]] PlacedPart runs_of(const Graph& graph, const TensorPart& part);

/// A copy of the bytes of a part, in order.
[[nodiscard]] std::vector<std::byte> bytes_of(const PlacedPart& part);

/// Joins bytes to the part; they follow it in the tensor.
void append(PlacedPart& part, const PlacedBytes& bytes);

/// True if two parts have a byte in common.
[[nodiscard]] bool overlap(const PlacedPart& a, const PlacedPart& b);
/// True if two parts have the same bytes in the same order.
[[nodiscard]] bool is_same_place(const PlacedPart& a, const PlacedPart& b);
/// True if the bytes of a part are consecutive.
[[nodiscard]] bool is_dense(const PlacedPart& part);

}  // namespace stowage::run
