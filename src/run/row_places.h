#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "run/device.h"
#include "run/home.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// One row of a tensor.
struct Row {
  std::size_t axis = 0;
  std::int64_t index = 0;
};

/// All of a tensor, or one of its rows.
struct Part {
  TensorId tensor = 0;
  std::optional<Row> row{};
};

/// Bytes of a tensor that are in memory.
struct PlacedBytes {
  std::byte* at = nullptr;
  Bytes offset = 0;  ///< In the tensor.
  Bytes size = 0;
};

/// The bytes of a part in its order: that of the tensor's elements, of those of the row.
using PlacedPart = std::vector<PlacedBytes>;

/// The size of a part.
[[nodiscard]] Bytes bytes_of(const Graph& graph, const Part& part);

/// The runs of bytes of a tensor that a part is made of; `at` is not theirs.
[[nodiscard]] PlacedPart runs_of(const Graph& graph, const Part& part);

/// Where the tensors of a streamed plan of one network are. Those that are nowhere in it have memory of their
/// own.
class RowPlaces {
 public:
  /// The plan is as `expect_sound` wants it. Throws RunFault for views of rows that the tensors do not have.
  explicit RowPlaces(const Device& device);

  /// Where the part is now. Throws RunFault where it has no place, or bytes that its buffer does not hold.
  [[nodiscard]] PlacedPart find(const Part& part, const std::string& who);
  /// In a buffer, if that holds them now.
  [[nodiscard]] std::byte* find(std::size_t buffer, Bytes offset, Bytes size, const std::string& who) const;

  /// "row 3 of tensor 'x'"
  [[nodiscard]] std::string describe(const Part& part) const;
  /// The same of the row that has a byte of the tensor.
  [[nodiscard]] std::string describe_at(TensorId tensor, Bytes offset) const;
  /// "byte 17 of memory 'arena'"
  [[nodiscard]] std::string describe_byte(const std::byte* at) const;
  [[nodiscard]] Position now() const { return device_.position_of(0).value_or(0); }
  /// The end of the part's highest byte in every memory; both as many as there are memories.
  void note_touched(const PlacedPart& part, std::vector<Bytes>& highest) const;

 private:
  /// How a tensor's views cut it into rows.
  struct Layout {
    std::optional<std::size_t> axis{};  ///< None: all views are of the whole tensor.
    std::int64_t rows = 1;
    Bytes inner = 0;                    ///< Bytes of a row that lie together in the whole tensor.
    std::vector<std::size_t> always{};  ///< Views that are of all rows.
    std::vector<std::vector<std::size_t>> of_row{};  ///< Views that are of some.
  };

  [[nodiscard]] Layout layout_of(TensorId tensor) const;
  void add_view(TensorId tensor, std::size_t view, Layout& layout) const;
  [[nodiscard]] const View* view_now(TensorId tensor, std::int64_t row) const;
  [[nodiscard]] PlacedPart find_pieces(const Part& part, const std::string& who);
  [[nodiscard]] PlacedPart find_outside(const Part& part);

  const Device& device_;
  const Graph& graph_;
  OwnHome outside_;
  std::vector<Layout> layouts_{};  ///< Per tensor.
};

}  // namespace stowage::run
