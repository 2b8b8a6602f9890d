// A kernel needs the whole shapes of its operator: scales, padding and places follow from them. A
// kernel that moves windows knows them, and takes its rows from a table. If the rules say that all rows are
// equal (operators/rows.h), and only then, a row counts as a tensor with one row, and one kernel for such
// tensors computes all rows. All other operators (padding, a slice along the rows, blocks of pixels) run as a
// whole for every requested row, on inputs in which only the rows that it reads are filled in: slow, but
// correct for every operator.

#include "run/row_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/rows.h"
#include "operators/rows.h"

namespace stowage::run {
namespace {

/// The rows that the operator's kernel takes from a table; none if it uses no table.
std::optional<RowAxis> windows_of(const Network& network, std::size_t index, const Kernel& kernel,
                                  RowAxis axis) {
  const Operator& op = network.graph().subgraphs[0].operators[index];
  if (!kernel.run_rows || op.outputs.size() != 1 || !op.inputs[0]) return std::nullopt;
  if (axis.axis != operators::window_axis(operators::Site(network, 0, index))) return std::nullopt;
  const Tensor& input = network.graph().tensors[*op.inputs[0]];
  if (input.shape->size() != 4 || !bytes_of_row(input, axis.axis)) return std::nullopt;
  if (axis.reads.empty())  // all rows
    axis.reads.push_back({.axis = axis.axis, .rows = {.scale = 0, .taps = (*input.shape)[axis.axis]}});
  const RowRead& read = axis.reads[0];
  if (axis.reads.size() != 1 || read.input != 0 || read.axis != axis.axis) return std::nullopt;
  return axis;
}

/// The same tensor with one row; false if its quantization differs between rows.
bool take_row(Argument& argument, std::size_t axis) {
  if (argument.quantization != nullptr && argument.quantization->scales.size() > 1 &&
      argument.quantization->axis == axis)
    return false;
  argument.shape[axis] = 1;
  argument.constant = {};
  argument.is_constant = false;
  return true;
}

/// A kernel for one row; none if there is no such kernel.
std::optional<Kernel> kernel_alone(const Network& network, const Program& program, std::size_t op,
                                   const RowAxis& axis) {
  if (!operators::has_rows_alike(operators::Site(network, 0, op), axis.axis)) return std::nullopt;
  Signature signature = signature_of(network, program, 0, op);
  for (const RowRead& read : axis.reads) {
    if (!take_row(*signature.inputs[read.input], read.axis)) return std::nullopt;
  }
  for (auto& output : signature.outputs) {
    if (output && !take_row(*output, axis.axis)) return std::nullopt;
  }
  try {
    return kernels::prepare(signature, KernelSet::plain);
  } catch (const kernels::Unsupported&) {
    return std::nullopt;
  }
}

}  // namespace

RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op, const RowAxis& axis) {
  if (auto windows = windows_of(network, op, program.kernels[0][op], axis))
    return {.axis = std::move(*windows), .way = RowWay::windows};
  auto alone = kernel_alone(network, program, op, axis);
  if (!alone) return {.axis = axis};
  return {.axis = axis, .way = RowWay::alone, .alone = std::move(alone)};
}

// Operands

namespace {

Bytes size_of(const PlacedPart& part) {
  Bytes size = 0;
  for (const PlacedBytes& bytes : part) size += bytes.size;
  return size;
}

Bytes bytes_of_element(DType dtype) {
  constexpr int bits_of_a_byte = 8;
  return std::max(bits_of(dtype).value_or(bits_of_a_byte) / bits_of_a_byte, 1);
}

std::vector<ByteRange> merged(const PlacedPart& part) {
  std::vector<ByteRange> ranges;
  for (const PlacedBytes& bytes : part) {
    if (!ranges.empty() && ranges.back().begin + ranges.back().size == bytes.at) {
      ranges.back().size += bytes.size;
    } else {
      ranges.push_back({bytes.at, bytes.size});
    }
  }
  return ranges;
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

bool overlap(const PlacedPart& a, const PlacedPart& b) {
  std::vector<ByteRange> first = merged(a);
  std::vector<ByteRange> second = merged(b);
  std::ranges::sort(first, {}, &ByteRange::begin);
  std::ranges::sort(second, {}, &ByteRange::begin);
  for (std::size_t i = 0, k = 0; i < first.size() && k < second.size();) {
    const std::byte* const end = first[i].begin + first[i].size;
    const std::byte* const other_end = second[k].begin + second[k].size;
    if (first[i].begin < other_end && second[k].begin < end) return true;
    if (end <= other_end) {
      ++i;
    } else {
      ++k;
    }
  }
  return false;
}

bool is_same_place(const PlacedPart& a, const PlacedPart& b) {
  const auto first = merged(a);
  const auto second = merged(b);
  return std::ranges::equal(first, second, [](const ByteRange& one, const ByteRange& other) {
    return one.begin == other.begin && one.size == other.size;
  });
}

bool is_dense(const PlacedPart& part) { return merged(part).size() <= 1; }

std::byte* RowOperands::memory(Bytes size) {
  return memory_.emplace_back(static_cast<std::size_t>(std::max<Bytes>(size, 1))).data();
}

bool RowOperands::is_aligned(TensorId tensor, const PlacedPart& part) const {
  const auto element = static_cast<std::uintptr_t>(bytes_of_element(graph_.tensors[tensor].dtype));
  return std::ranges::all_of(part, [&](const PlacedBytes& bytes) {
    return reinterpret_cast<std::uintptr_t>(bytes.at) % element == 0;
  });
}

const std::byte* RowOperands::dense(TensorId tensor, const PlacedPart& part) {
  return !part.empty() && is_dense(part) && is_aligned(tensor, part) ? part.front().at : copy(part);
}

const std::byte* RowOperands::copy(const PlacedPart& part) {
  std::byte* const copy = memory(size_of(part));
  gather(part, copy);
  return copy;
}

std::byte* RowOperands::room(TensorId tensor, const PlacedPart& part) {
  if (!part.empty() && is_dense(part) && is_aligned(tensor, part)) return part.front().at;
  std::byte* const beside = memory(size_of(part));
  written_.push_back({.place = part, .from = beside});
  return beside;
}

template <typename Byte, typename Beside>
Rows<Byte> RowOperands::table(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
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

Rows<const std::byte> RowOperands::rows(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at) {
  return table<const std::byte>(tensor, axis, at,
                                [&](const PlacedPart& part) { return dense(tensor, part); });
}

Rows<std::byte> RowOperands::rooms(TensorId tensor, std::size_t axis, const std::vector<PlacedRow>& at,
                                   bool adds) {
  return table<std::byte>(tensor, axis, at, [&](const PlacedPart& part) {
    std::byte* const to = room(tensor, part);
    if (adds && to != part.front().at) gather(part, to);
    return to;
  });
}

const std::byte* RowOperands::filled(TensorId tensor, const std::vector<PlacedPart>& parts) {
  std::byte* const whole = memory(graph_.tensors[tensor].bytes);
  for (const PlacedPart& part : parts) {
    for (const PlacedBytes& bytes : part)
      std::memcpy(whole + bytes.offset, bytes.at, static_cast<std::size_t>(bytes.size));
  }
  return whole;
}

std::byte* RowOperands::whole_room(TensorId tensor, const PlacedPart& part) {
  std::byte* const whole = memory(graph_.tensors[tensor].bytes);
  written_.push_back({.place = part, .from = whole, .is_whole = true});
  return whole;
}

void RowOperands::put_back() const {
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
