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
  alone,    ///< A kernel for a single row, where the rules say that all rows are alike.
  whole     ///< Its kernel runs as a whole on what it reads of its inputs, and a row of that is kept.
};

struct RowKernel {
  /// The operator's own. A kernel that takes a table is given one of all rows where it reads all of them.
  RowAxis axis{};
  RowWay way = RowWay::whole;
  std::optional<Kernel> alone{};
};

/// Of an operator of the main subgraph, which has plain kernels.
[[nodiscard]] RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op,
                                      const RowAxis& axis);

using kernels::Rows;

/// Whether two parts have a byte in common.
[[nodiscard]] bool overlap(const PlacedPart& a, const PlacedPart& b);
/// Whether two parts have the same bytes in the same order.
[[nodiscard]] bool is_same_place(const PlacedPart& a, const PlacedPart& b);
/// Whether the bytes of a part lie one after the other.
[[nodiscard]] bool is_dense(const PlacedPart& part);

/// A row of an image, and where it is.
struct PlacedRow {
  std::int64_t row = 0;
  PlacedPart part{};
};

/// Parts of tensors in the form that kernels want them in: as they lie in memory if they lie like that, else
/// copied to memory beside it, and back. What it gives may be used until it ends.
class RowOperands {
 public:
  explicit RowOperands(const Graph& graph) : graph_(graph) {}

  /// The part as a tensor of its own.
  [[nodiscard]] const std::byte* dense(TensorId tensor, const PlacedPart& part);
  /// The same, in memory beside it in any case.
  [[nodiscard]] const std::byte* copy(const PlacedPart& part);
  /// The same, to be written.
  [[nodiscard]] std::byte* room(TensorId tensor, const PlacedPart& part);

  /// Rows along an axis of an image: 1 if its channels come last, else 2.
  [[nodiscard]] Rows<const std::byte> rows(TensorId tensor, std::size_t axis,
                                           const std::vector<PlacedRow>& at);
  /// The same, to be written; or to be added to what is there.
  [[nodiscard]] Rows<std::byte> rooms(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
                                      bool adds);

  /// A whole tensor in which nothing but these parts is filled in.
  [[nodiscard]] const std::byte* filled(TensorId tensor, const std::vector<PlacedPart>& parts);
  /// A whole tensor, of which only that part will be kept.
  [[nodiscard]] std::byte* whole_room(TensorId tensor, const PlacedPart& part);

  /// Brings to its place what was written elsewhere.
  void put_back() const;

 private:
  /// Bytes that were written beside their place: densely, or where they are in the whole tensor.
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
