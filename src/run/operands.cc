#include "run/operands.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "kernels/rows.h"

namespace stowage::run {
namespace {

Bytes size_of(const PlacedPart& part) {
  Bytes size = 0;
  for (const PlacedBytes& bytes : part) size += bytes.size;
  return size;
}

/// True if the bytes have the same distances as in the whole tensor.
bool is_as_in_whole(const PlacedPart& part) {
  return std::ranges::all_of(part, [&](const PlacedBytes& bytes) {
    return bytes.at - part.front().at == bytes.offset - part.front().offset;
  });
}

/// Copies the bytes one after the other.
void gather(const PlacedPart& part, std::byte* to) {
  for (const PlacedBytes& bytes : part) {
    std::memcpy(to, bytes.at, static_cast<std::size_t>(bytes.size));
    to += bytes.size;
  }
}

}  // namespace

Bytes bytes_of_element(DType dtype) {
  constexpr int bits_of_a_byte = 8;
  return std::max(bits_of(dtype).value_or(bits_of_a_byte) / bits_of_a_byte, 1);
}

std::byte* TemporaryMemory::take(Bytes size) {
  constexpr Bytes least = 64 * 1024;  // of a block
  size = base::align_up(std::max<Bytes>(size, 1), static_cast<Bytes>(AlignedBytes::alignment));
  if (blocks_.empty() || blocks_.back().size - used_ < size) {
    if (taken_ == 0) blocks_.clear();  // too small, and nobody has them
    const Bytes block = std::max(size, least);
    blocks_.push_back({AlignedBytes(static_cast<std::size_t>(block)), block});
    used_ = 0;
  }
  std::byte* const taken = blocks_.back().bytes.data() + used_;
  used_ += size;
  taken_ += size;
  return taken;
}

/// The next task gets as much as one block.
void TemporaryMemory::clear() {
  const Bytes all = std::exchange(taken_, 0);
  used_ = 0;
  if (blocks_.size() < 2) return;
  blocks_.clear();
  blocks_.push_back({AlignedBytes(static_cast<std::size_t>(all)), all});
}

Bytes TemporaryMemory::held() const {
  Bytes held = 0;
  for (const Block& block : blocks_) held += block.size;
  return held;
}

/// Zeros: kernels compute all rows, of which only some count.
std::byte* Operands::whole(TensorId tensor) {
  const Bytes bytes = graph_.tensors[tensor].bytes;
  std::byte* const whole = memory_.take(bytes);
  std::fill_n(whole, bytes, std::byte{0});
  return whole;
}

bool Operands::is_aligned(TensorId tensor, const PlacedPart& part) const {
  const auto element = static_cast<std::uintptr_t>(bytes_of_element(graph_.tensors[tensor].dtype));
  return std::ranges::all_of(part, [&](const PlacedBytes& bytes) {
    return reinterpret_cast<std::uintptr_t>(bytes.at) % element == 0;
  });
}

const std::byte* Operands::dense(TensorId tensor, const PlacedPart& part) {
  return !part.empty() && is_dense(part) && is_aligned(tensor, part) ? part.front().at : copy(part);
}

const std::byte* Operands::copy(const PlacedPart& part) {
  std::byte* const copy = memory_.take(size_of(part));
  gather(part, copy);
  return copy;
}

std::byte* Operands::room(TensorId tensor, const PlacedPart& part) {
  if (!part.empty() && is_dense(part) && is_aligned(tensor, part)) return part.front().at;
  std::byte* const beside = memory_.take(size_of(part));
  written_.push_back({.place = part, .from = beside});
  return beside;
}

template <typename Byte, typename Beside>
Rows<Byte> Operands::table(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
                           const Beside& beside) {
  const Tensor& own = graph_.tensors[tensor];
  const Shape& shape = *own.shape;
  const Bytes element = bytes_of_element(own.dtype);
  kernels::Image image{
      .batches = shape[0], .channels = axis == 2 ? shape[1] : 1, .rows = 1, .element = element};
  image.row = own.bytes / (element * image.batches * image.channels * shape[axis]);
  const auto all = [&](const auto& is_so) {
    return std::ranges::all_of(at, [&](const PlacedRow& row) { return is_so(row.part); });
  };
  const bool are_aligned = all([&](const PlacedPart& part) { return is_aligned(tensor, part); });
  const bool are_dense = all(is_dense);
  const bool are_in_whole = !are_dense && all(is_as_in_whole);
  if (are_in_whole && are_aligned) image.rows = shape[axis];
  Rows<Byte> rows{.batch = image.channels * image.rows * image.row, .channel = image.rows * image.row};
  rows.first.resize(static_cast<std::size_t>(shape[axis]), nullptr);
  for (const PlacedRow& row : at) {
    const bool is_there = are_aligned && (are_dense || are_in_whole);
    rows.first[static_cast<std::size_t>(row.row)] = is_there ? row.part.front().at : beside(row.part);
  }
  return rows;
}

Rows<const std::byte> Operands::rows(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at) {
  return table<const std::byte>(tensor, axis, at,
                                [&](const PlacedPart& part) { return dense(tensor, part); });
}

Rows<std::byte> Operands::rooms(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
                                bool adds) {
  return table<std::byte>(tensor, axis, at, [&](const PlacedPart& part) {
    std::byte* const to = room(tensor, part);
    if (adds && to != part.front().at) gather(part, to);
    return to;
  });
}

const std::byte* Operands::filled(TensorId tensor, const std::vector<PlacedPart>& parts) {
  std::byte* const whole = this->whole(tensor);
  for (const PlacedPart& part : parts) {
    for (const PlacedBytes& bytes : part)
      std::memcpy(whole + bytes.offset, bytes.at, static_cast<std::size_t>(bytes.size));
  }
  return whole;
}

std::byte* Operands::whole_room(TensorId tensor, const PlacedPart& part) {
  std::byte* const whole = this->whole(tensor);
  written_.push_back({.place = part, .from = whole, .is_whole = true});
  return whole;
}

void Operands::put_back() const {
  for (const Written& written : written_) {
    const std::byte* from = written.from;
    for (const PlacedBytes& bytes : written.place) {
      std::memcpy(bytes.at, written.is_whole ? from + bytes.offset : from,
                  static_cast<std::size_t>(bytes.size));
      if (!written.is_whole) from += bytes.size;
    }
  }
}

}  // namespace stowage::run
