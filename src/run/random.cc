// Every number is splitmix64 of a counter that starts at the seed mixed with FNV-1a of the tensor's name.
// Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014; the FNV hash by Fowler,
// Noll, Vo.

#include "run/random.h"

#include <cmath>
#include <cstring>

namespace stowage::run {
namespace {

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

class Numbers {
 public:
  Numbers(std::string_view name, std::uint64_t seed) : state_(hash_of(name) ^ seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 40U) * 0x1p-24; }

 private:
  std::uint64_t state_;
};

template <typename Element, typename Draw>
void fill(std::span<std::byte> bytes, Numbers& numbers, const Draw& draw) {
  for (std::size_t at = 0; at + sizeof(Element) <= bytes.size(); at += sizeof(Element)) {
    const Element element = draw(numbers);
    std::memcpy(bytes.data() + at, &element, sizeof(Element));
  }
}

/// The upper half of a float is a bfloat16; of a value in [-1, 1) that is a multiple of 1/1024 a float16 is
/// easy to make: sign, and the exponent and fraction of an 11-bit number.
std::uint16_t half_of(double value) {
  const auto units = static_cast<int>(std::lround(std::abs(value) * 1024));
  const std::uint16_t sign = value < 0 ? 0x8000U : 0U;
  if (units == 0) return sign;
  const int exponent = static_cast<int>(std::log2(units));
  const int fraction = (units - (1 << exponent)) << (10 - exponent);
  return static_cast<std::uint16_t>(sign | ((exponent + 5) << 10) | fraction);
}

std::uint16_t bfloat_of(double value) {
  const auto real = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &real, sizeof(bits));
  return static_cast<std::uint16_t>(bits >> 16U);
}

}  // namespace

void fill_random_weight(std::span<std::byte> bytes, const Shape& shape, std::string_view name,
                        std::uint64_t seed) {
  double inputs = 1;  // that are summed up for an element of the output
  for (std::size_t d = 1; d < shape.size(); ++d) inputs *= static_cast<double>(shape[d]);
  const bool is_vector = shape.size() < 2;
  const double reach = std::sqrt(3.0 / inputs);
  Numbers numbers(name, seed);
  fill<float>(bytes, numbers, [&](Numbers& from) {
    const double draw = from.uniform();
    return static_cast<float>(is_vector ? 0.5 + draw : (2 * draw - 1) * reach);
  });
}

bool is_constant_filled(const Tensor& tensor, std::span<const std::byte> bytes) {
  if (tensor.dtype != DType::float32 || bytes.size() <= sizeof(float)) return false;
  return std::memcmp(bytes.data(), bytes.data() + sizeof(float), bytes.size() - sizeof(float)) == 0;
}

void fill_random_input(std::span<std::byte> bytes, DType dtype, std::string_view name, std::uint64_t seed) {
  Numbers numbers(name, seed);
  const auto real = [](Numbers& from) { return 2 * from.uniform() - 1; };
  const auto index = [](Numbers& from) { return from.next() >> 62U; };
  switch (dtype) {
    case DType::float32:
      return fill<float>(bytes, numbers, [&](Numbers& from) { return static_cast<float>(real(from)); });
    case DType::float64:
      return fill<double>(bytes, numbers, real);
    case DType::float16:
      return fill<std::uint16_t>(bytes, numbers, [&](Numbers& from) { return half_of(real(from)); });
    case DType::bfloat16:
      return fill<std::uint16_t>(bytes, numbers, [&](Numbers& from) { return bfloat_of(real(from)); });
    case DType::boolean:
      return fill<std::uint8_t>(bytes, numbers,
                                [](Numbers& from) { return static_cast<std::uint8_t>(from.next() >> 63U); });
    case DType::int32:
    case DType::uint32:
      return fill<std::uint32_t>(bytes, numbers,
                                 [&](Numbers& from) { return static_cast<std::uint32_t>(index(from)); });
    case DType::int64:
    case DType::uint64:
      return fill<std::uint64_t>(bytes, numbers, index);
    default:
      return fill<std::uint8_t>(bytes, numbers,
                                [](Numbers& from) { return static_cast<std::uint8_t>(from.next() >> 56U); });
  }
}

}  // namespace stowage::run
