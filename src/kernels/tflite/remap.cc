#include "kernels/tflite/remap.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {
namespace {

/// True if the terms increase by one, so that elements are adjacent in the input, too.
bool is_run(const std::vector<std::int64_t>& terms) {
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (terms[i] < 0 || terms[i] != terms[0] + static_cast<std::int64_t>(i)) return false;
  return true;
}

template <typename Element>
Element* move_row(const std::vector<std::int64_t>& terms, bool is_contiguous, const Element* input,
                  Element filling, Element* output) {
  if (is_contiguous) {
    std::memcpy(output, input + terms.front(), terms.size() * sizeof(Element));
    return output + terms.size();
  }
  for (const std::int64_t term : terms) *output++ = term < 0 ? filling : input[term];
  return output;
}

template <typename Element>
void move_typed(const Remap& remap, const Element* input, Element filling, Element* output) {
  for (const auto& terms : remap.terms)
    if (terms.empty()) return;
  if (remap.terms.empty()) {
    *output = input[remap.begin];
    return;
  }
  const auto& row = remap.terms.back();
  const bool is_contiguous = is_run(row);
  const std::size_t outer = remap.terms.size() - 1;
  std::vector<std::size_t> index(outer, 0);
  for (bool is_done = false; !is_done;) {
    std::int64_t at = remap.begin;
    bool is_filled = false;
    for (std::size_t d = 0; d < outer; ++d) {
      const std::int64_t term = remap.terms[d][index[d]];
      is_filled = is_filled || term < 0;
      at += term;
    }
    output = is_filled ? std::fill_n(output, row.size(), filling)
                       : move_row(row, is_contiguous, input + at, filling, output);
    is_done = true;
    for (std::size_t d = outer; d-- > 0;) {
      if (++index[d] < remap.terms[d].size()) {
        is_done = false;
        break;
      }
      index[d] = 0;
    }
  }
}

}  // namespace

void Remap::add(std::int64_t extent, std::int64_t stride) {
  auto& list = terms.emplace_back(static_cast<std::size_t>(extent));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<std::int64_t>(i) * stride;
}

void move_elements(const Remap& remap, std::size_t element_bytes, const std::byte* input,
                   const std::byte* filling, std::byte* output) {
  for_size(element_bytes, [&]<typename Element>(TypeTag<Element>) {
    Element value = 0;
    if (filling != nullptr) std::memcpy(&value, filling, sizeof(Element));
    move_typed(remap, reinterpret_cast<const Element*>(input), value, reinterpret_cast<Element*>(output));
  });
}

Kernel remap_kernel(Remap remap, const Operands& operands, std::vector<std::byte> filling) {
  const std::size_t bytes = element_size(operands.output().dtype);
  for_size(bytes, [](auto) {});
  return {.run = [remap = std::move(remap), filling = std::move(filling), bytes](const Pointers& at) {
    move_elements(remap, bytes, at.inputs[0], filling.empty() ? nullptr : filling.data(), at.outputs[0]);
  }};
}

std::vector<std::byte> zero_of(const Argument& argument) {
  std::vector<std::byte> zero(element_size(argument.dtype));
  if (argument.quantization == nullptr) return zero;
  const std::int64_t value = affine_of(argument).zero_point;
  std::memcpy(zero.data(), &value, std::min(zero.size(), sizeof(value)));
  return zero;
}

}  // namespace stowage::kernels
