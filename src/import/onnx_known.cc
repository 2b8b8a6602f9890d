#include "import/onnx_known.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace stowage::import {
namespace {

class Mixer {
 public:
  void add(std::uint64_t number) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
    constexpr int half = 32;
    mixed_ = (mixed_ ^ number) * odd;
    mixed_ ^= mixed_ >> half;
  }
  void add(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
  [[nodiscard]] std::size_t result() const { return mixed_; }

 private:
  std::uint64_t mixed_ = 0;
};

}  // namespace

std::size_t HashOfType::operator()(const Type& type) const {
  Mixer mixer;
  mixer.add(static_cast<std::uint64_t>(type.kind));
  mixer.add(std::int64_t{type.elem_type});
  if (!type.dims) return mixer.result();
  mixer.add(std::uint64_t{type.dims->size()});
  for (const Dim& dim : *type.dims) mixer.add(dim.value_or(-1));
  return mixer.result();
}

bool EqualTypes::operator()(const Type& a, const Type& b) const {
  return a.kind == b.kind && a.elem_type == b.elem_type && a.dims == b.dims && a.element == b.element;
}

std::size_t HashOfValue::operator()(const std::optional<Value>& value) const {
  Mixer mixer;
  if (!value) return mixer.result();
  mixer.add(std::int64_t{value->elem_type});
  for (const std::int64_t extent : value->shape) mixer.add(extent);
  for (const std::int64_t element : value->integers) mixer.add(element);
  for (const double element : value->reals) mixer.add(std::bit_cast<std::uint64_t>(element));
  return mixer.result();
}

bool EqualValues::operator()(const std::optional<Value>& a, const std::optional<Value>& b) const {
  if (!a || !b) return !a && !b;
  const auto are_same_bits = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return a->elem_type == b->elem_type && a->shape == b->shape && a->integers == b->integers &&
         std::ranges::equal(a->reals, b->reals, are_same_bits);
}

}  // namespace stowage::import
