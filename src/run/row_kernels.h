#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "run/footprint.h"
#include "run/home.h"
#include "run/program.h"
#include "run/row_memory.h"
#include "stowage/graph.h"
#include "stowage/network.h"

namespace stowage::run {

/// How an operator computes a row of its outputs.
enum class RowWay : std::uint8_t {
  windows,  ///< Its kernel knows the whole shapes, and finds the rows of its first input in a table.
  alone,    ///< A kernel for a single row, if the rules say that all rows are equal.
  whole     ///< Its kernel runs as a whole on the inputs that it reads; one row of the result is kept.
};

struct RowKernel {
  /// The axis of the operator. A kernel with a table gets a table of all rows if it reads all.
  RowAxis axis{};
  RowWay way = RowWay::whole;
  std::optional<Kernel> alone{};
};

/// Requires an operator of the main subgraph with plain kernels.
[[nodiscard]] RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op,
                                      const RowAxis& axis);

using kernels::Rows;

/// True if two parts have a byte in common.
[[nodiscard]] bool overlap(const PlacedPart& a, const PlacedPart& b);
/// True if two parts have the same bytes in the same order.
[[nodiscard]] bool is_same_place(const PlacedPart& a, const PlacedPart& b);
/// True if the bytes of a part are consecutive.
[[nodiscard]] bool is_dense(const PlacedPart& part);

/// A row of an image, and its place.
struct PlacedRow {
  std::int64_t row = 0;
  PlacedPart part{};
};

/// Gives kernels parts of tensors in the layout that they need: in place if memory has that layout, otherwise
/// as copies in temporary memory. The pointers are valid until it is destroyed.
class RowOperands {
 public:
  explicit RowOperands(const Graph& graph) : graph_(graph) {}

  /// The part as a dense tensor.
  [[nodiscard]] const std::byte* dense(TensorId tensor, const PlacedPart& part);
  /// The same, always as a copy.
  [[nodiscard]] const std::byte* copy(const PlacedPart& part);
  /// The same, for writing.
  [[nodiscard]] std::byte* room(TensorId tensor, const PlacedPart& part);

  /// Rows along an axis of an image: axis 1 if its channels come last, else 2.
  [[nodiscard]] Rows<const std::byte> rows(TensorId tensor, std::size_t axis,
                                           const std::vector<PlacedRow>& at);
  /// The same, for writing or for adding to the present values.
  [[nodiscard]] Rows<std::byte> rooms(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
                                      bool adds);

  /// A whole tensor in which only these parts are filled in.
  [[nodiscard]] const std::byte* filled(TensorId tensor, const std::vector<PlacedPart>& parts);
  /// A whole tensor, of which only that part will be kept.
  [[nodiscard]] std::byte* whole_room(TensorId tensor, const PlacedPart& part);

  /// Copies results from temporary memory to their places.
  void put_back() const;

 private:
  /// Bytes written to temporary memory: densely, or at their places in a whole tensor.
  struct Written {
    PlacedPart place{};
    const std::byte* from = nullptr;
    bool is_whole = false;
  };

  [[nodiscard]] std::byte* memory(Bytes size);
  [[nodiscard]] bool is_aligned(TensorId tensor, const PlacedPart& part) const;
  template <typename Byte, typename Beside>
  [[nodiscard]] Rows<Byte> table(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
                                 const Beside& beside);

  const Graph& graph_;
  std::vector<AlignedBytes> memory_{};
  std::vector<Written> written_{};
};

}  // namespace stowage::run
