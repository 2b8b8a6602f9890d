#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "run/home.h"
#include "run/parts.h"
#include "stowage/graph.h"

namespace stowage::run {

using kernels::Rows;

/// The bytes of an element; 1 for types of less than a byte.
[[nodiscard]] Bytes bytes_of_element(DType dtype);

/// A row of an image, and its place.
struct PlacedRow {
  std::int64_t row = 0;
  PlacedPart part{};
};

/// Memory for one task after the other: as much as the largest of them takes, and no more. Allocating large blocks for
/// each row of a plan would scatter the heap: a plan of 2 MB took 500 MB.
class TemporaryMemory {
 public:
  /// Valid until the next `clear`; aligned as AlignedBytes.
  [[nodiscard]] std::byte* take(Bytes size);
  void clear();
  /// Bytes of all blocks.
  [[nodiscard]] Bytes held() const;

 private:
  struct Block {
    AlignedBytes bytes{};
    Bytes size = 0;
  };

  std::vector<Block> blocks_{};
  Bytes used_ = 0;   ///< Of the last block.
  Bytes taken_ = 0;  ///< Since the last `clear`.
};

/// Gives kernels parts of tensors in the layout that they need, aligned to their elements: in place if memory has
/// that layout, otherwise as copies in temporary memory. The pointers are valid until the next Operands in that
/// memory.
class Operands {
 public:
  Operands(const Graph& graph, TemporaryMemory& memory) : graph_(graph), memory_(memory) { memory_.clear(); }

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

  [[nodiscard]] std::byte* whole(TensorId tensor);
  [[nodiscard]] bool is_aligned(TensorId tensor, const PlacedPart& part) const;
  template <typename Byte, typename Beside>
  [[nodiscard]] Rows<Byte> table(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
                                 const Beside& beside);

  const Graph& graph_;
  TemporaryMemory& memory_;
  std::vector<Written> written_{};
};

}  // namespace stowage::run
