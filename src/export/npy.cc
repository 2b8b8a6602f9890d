// Writes npy files (documentation of numpy.lib.format), version 1.0. Element types that NumPy lacks become
// integers with the same bits; packed elements first get a byte each.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using namespace std::string_view_literals;

/// NumPy's name for elements of the type, or for the integers that replace them.
[[nodiscard]] std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "|b1";
    case DType::int2:
    case DType::int4:
    case DType::int8:
      return "|i1";
    case DType::uint2:
    case DType::uint4:
    case DType::float4e2m1:
    case DType::uint8:
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz:
    case DType::float8e5m2:
    case DType::float8e5m2fnuz:
    case DType::float8e8m0:
      return "|u1";
    case DType::int16:
      return "<i2";
    case DType::uint16:
    case DType::bfloat16:
      return "<u2";
    case DType::float16:
      return "<f2";
    case DType::int32:
      return "<i4";
    case DType::uint32:
    case DType::resource:
      return "<u4";
    case DType::float32:
      return "<f4";
    case DType::int64:
      return "<i8";
    case DType::uint64:
      return "<u8";
    case DType::float64:
      return "<f8";
    case DType::complex64:
      return "<c8";
    case DType::complex128:
      return "<c16";
    case DType::string:
    case DType::unknown:
      break;
  }
  throw Error("", fmt::format("an array of {} cannot be written as npy", name_of(dtype)));
}

/// Gives each element a byte; elements are packed from the low bits of a byte up.
[[nodiscard]] std::string unpacked(const Array& array, unsigned bits) {
  const bool is_signed = array.dtype == DType::int2 || array.dtype == DType::int4;
  const unsigned sign = is_signed ? 1U << (bits - 1) : 0U;
  std::int64_t count = 1;
  for (const std::int64_t dimension : array.shape) count *= dimension;
  std::string bytes(static_cast<std::size_t>(count), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto packed = static_cast<unsigned>(array.data[i * bits / 8]);
    const unsigned value = packed >> (i * bits % 8) & ((1U << bits) - 1);
    bytes[i] = static_cast<char>(static_cast<unsigned char>((value ^ sign) - sign));
  }
  return bytes;
}

[[nodiscard]] std::string header_of(const Array& array) {
  std::string shape;
  for (const std::int64_t dimension : array.shape) shape += fmt::format("{}, ", dimension);
  // (3,) keeps its comma, (3, 4) has none at the end.
  if (!shape.empty()) shape.resize(shape.size() - (array.shape.size() == 1 ? 1 : 2));
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(array.dtype),
                     shape);
}

}  // namespace

void write_npy(const Array& array, std::ostream& out) {
  std::string header = header_of(array);
  const Bytes expected = bytes_of(array.dtype, array.shape);
  if (static_cast<Bytes>(array.data.size()) != expected)
    throw Error("", fmt::format("an array of {} bytes has {}", expected, array.data.size()));
  // Elements begin at a multiple of 64, after magic, version, length, header and a newline.
  constexpr std::string_view start = "\x93NUMPY\x01\x00"sv;
  constexpr std::size_t before = start.size() + 2;
  constexpr Bytes alignment = 64;
  const auto used = static_cast<Bytes>(before + header.size() + 1);
  header.append(static_cast<std::size_t>(base::align_up(used, alignment) - used), ' ');
  header += '\n';
  if (header.size() > std::numeric_limits<std::uint16_t>::max())
    throw Error("", fmt::format("a shape of {} dimensions is too long for npy", array.shape.size()));
  out << start << static_cast<char>(header.size() & 0xff) << static_cast<char>(header.size() >> 8) << header;
  const auto bits = static_cast<unsigned>(bits_of(array.dtype).value_or(8));
  if (bits < 8) {
    out << unpacked(array, bits);
  } else {
    out.write(reinterpret_cast<const char*>(array.data.data()),
              static_cast<std::streamsize>(array.data.size()));
  }
}

}  // namespace stowage
