// Reads npy files: a magic number, two version bytes, the header length, the header, the elements. The header
// is a Python dict of three entries (element type, true if the first index runs fastest, shape), padded with
// blanks. Format: the documentation of numpy.lib.format. Cost: linear in the file.

#include "import/arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "import/onnx_values.h"
#include "stowage/error.h"
#include "stowage/network.h"

namespace stowage::import {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "\x93NUMPY"sv;

/// NumPy's own limit.
constexpr std::size_t most_npy_dimensions = 64;

/// Layout of the elements in the file.
struct Layout {
  DType dtype = DType::unknown;
  bool is_big_endian = false;
  bool is_fortran = false;
  Shape shape{};
};

struct TypeCode {
  std::string_view code;
  DType dtype;
};

constexpr std::array<TypeCode, 14> type_codes{{{"b1", DType::boolean},
                                               {"i1", DType::int8},
                                               {"i2", DType::int16},
                                               {"i4", DType::int32},
                                               {"i8", DType::int64},
                                               {"u1", DType::uint8},
                                               {"u2", DType::uint16},
                                               {"u4", DType::uint32},
                                               {"u8", DType::uint64},
                                               {"f2", DType::float16},
                                               {"f4", DType::float32},
                                               {"f8", DType::float64},
                                               {"c8", DType::complex64},
                                               {"c16", DType::complex128}}};

/// Reads the Python literals that a header may contain.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

  [[nodiscard]] Layout read() {
    std::optional<std::string_view> descr;
    std::optional<bool> order;
    std::optional<Shape> shape;
    expect('{');
    while (!skip('}')) {
      const std::string_view key = string("a key or '}'");
      expect(':');
      if (key == "descr" && !descr) {
        descr = string("an element type as one string, such as '<f4'");
      } else if (key == "fortran_order" && !order) {
        order = boolean();
      } else if (key == "shape" && !shape) {
        shape = dimensions();
      } else {
        fail(fmt::format("key {} is repeated or unknown, expected descr, fortran_order and shape once each",
                         base::quoted(key)));
      }
      if (!skip(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) fail("does not end after the dict, expected blanks and a newline");
    if (!descr || !order || !shape) fail("has not all of descr, fortran_order and shape");
    Layout layout{.is_fortran = *order, .shape = std::move(*shape)};
    set_type(layout, *descr);
    return layout;
  }

 private:
  [[noreturn]] void fail(std::string problem) const {
    throw Error(fmt::format("npy header, byte {}", offset_ + at_), std::move(problem));
  }

  [[noreturn]] void fail_expecting(std::string_view what) const {
    if (at_ >= text_.size()) fail(fmt::format("ends here, expected {}", what));
    fail(fmt::format("has {}, expected {}", base::quoted(text_.substr(at_, 1)), what));
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  [[nodiscard]] bool skip(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!skip(c)) fail_expecting(fmt::format("'{}'", c));
  }

  [[nodiscard]] std::string_view string(std::string_view what) {
    skip_blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail_expecting(what);
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("has a string that does not end");
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return content;
  }

  [[nodiscard]] bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{"True"sv, true}, std::pair{"False"sv, false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail_expecting("True or False");
  }

  [[nodiscard]] Shape dimensions() {
    Shape shape;
    expect('(');
    while (!skip(')')) {
      shape.push_back(dimension());
      if (shape.size() > most_npy_dimensions)
        fail(fmt::format("has a shape of more than {} dimensions", most_npy_dimensions));
      if (skip(',')) continue;
      expect(')');
      if (shape.size() == 1) fail("has a number in brackets for a shape, expected a tuple such as (3,)");
      break;
    }
    return shape;
  }

  [[nodiscard]] std::int64_t dimension() {
    skip_blanks();
    const std::size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    const std::string_view digits = text_.substr(at_, end - at_);
    if (digits.empty()) fail_expecting("a dimension or ')'");
    const std::optional<std::int64_t> value = base::parse_integer(digits);
    if (!value)
      fail(fmt::format("has dimension {}, expected at most {}", base::quoted(digits), largest_value));
    at_ = end;
    return *value;
  }

  void set_type(Layout& layout, std::string_view descr) const {
    const char order = descr.empty() ? ' ' : descr.front();
    const std::string_view code = descr.substr(descr.empty() ? 0 : 1);
    const auto* const known = std::find_if(type_codes.begin(), type_codes.end(),
                                           [&](const TypeCode& type) { return type.code == code; });
    const bool is_ordered =
        order == '<' || order == '>' || order == '=' || (order == '|' && code.ends_with('1'));
    if (known == type_codes.end() || !is_ordered)
      fail(
          fmt::format("element type is {}, expected a byte order ('<', '>', '|') and one of b1, i1 .. i8, "
                      "u1 .. u8, f2, f4, f8, c8, c16",
                      base::quoted(descr)));
    layout.dtype = known->dtype;
    layout.is_big_endian = order == '>';
  }

  std::string_view text_;
  std::size_t offset_;  ///< Of the text in the file.
  std::size_t at_ = 0;
};

[[nodiscard]] std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// The text of the header, and its end in the file.
struct Header {
  std::string_view text{};
  std::size_t begin = 0;
};

[[nodiscard]] Header header_of(std::string_view bytes) {
  if (!looks_like_npy(bytes)) throw Error("npy file, byte 0", "has another magic, expected \\x93NUMPY");
  constexpr std::size_t version_end = magic.size() + 2;
  if (bytes.size() < version_end) throw Error("npy file", "ends in its version");
  const int major = static_cast<unsigned char>(bytes[magic.size()]);
  const int minor = static_cast<unsigned char>(bytes[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    throw Error(fmt::format("npy file, byte {}", magic.size()),
                fmt::format("version is {}.{}, expected 1.0, 2.0 or 3.0", major, minor));
  const std::size_t begin = version_end + (major == 1 ? 2 : 4);
  if (bytes.size() < begin) throw Error("npy file", "ends in the length of its header");
  const std::size_t length = little_endian(bytes.substr(version_end, begin - version_end));
  if (length > bytes.size() - begin)
    throw Error(fmt::format("npy file, byte {}", version_end),
                fmt::format("header has {} bytes, but the file only {} more", length, bytes.size() - begin));
  return {bytes.substr(begin, length), begin};
}

/// Converts elements from column-major to row-major order.
[[nodiscard]] std::vector<std::byte> row_major(std::vector<std::byte> data, const Shape& shape,
                                               std::size_t width) {
  if (data.empty() || shape.size() < 2) return data;
  const std::size_t rank = shape.size();
  std::vector<std::size_t> strides(rank, width);
  for (std::size_t d = 1; d < rank; ++d) strides[d] = strides[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  std::vector<std::byte> ordered(data.size());
  std::vector<std::int64_t> index(rank, 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < data.size(); to += width) {
    std::memcpy(&ordered[to], &data[from], width);
    for (std::size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape[d]) break;
      from -= strides[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return ordered;
}

void swap_bytes(std::vector<std::byte>& data, std::size_t width) {
  for (auto at = data.begin(); at != data.end(); at += static_cast<std::ptrdiff_t>(width))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(width));
}

/// Bytes of one number in byte order: a complex number is two of them.
[[nodiscard]] std::size_t width_of_number(DType dtype) {
  const auto width = static_cast<std::size_t>(bits_of(dtype).value_or(8) / 8);
  return dtype == DType::complex64 || dtype == DType::complex128 ? width / 2 : width;
}

void check_booleans(const std::vector<std::byte>& data, std::size_t begin) {
  const auto wrong = std::find_if(data.begin(), data.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong == data.end()) return;
  throw Error(fmt::format("npy file, byte {}", begin + static_cast<std::size_t>(wrong - data.begin())),
              fmt::format("boolean is {}, expected 0 or 1", static_cast<int>(*wrong)));
}

}  // namespace

bool looks_like_npy(std::string_view bytes) { return bytes.starts_with(magic); }

Array parse_npy(std::string_view bytes) {
  const Header header = header_of(bytes);
  Layout layout = HeaderReader(header.text, header.begin).read();
  const std::size_t begin = header.begin + header.text.size();
  const std::string_view elements = bytes.substr(begin);
  const auto expected = static_cast<std::size_t>(bytes_of(layout.dtype, layout.shape));
  if (elements.size() != expected)
    throw Error(fmt::format("npy file, byte {}", begin),
                fmt::format("{} bytes of data, expected {} for {}[{}]", elements.size(), expected,
                            name_of(layout.dtype), fmt::join(layout.shape, ",")));
  Array array{.dtype = layout.dtype, .shape = std::move(layout.shape), .data{}};
  array.data.resize(expected);
  std::transform(elements.begin(), elements.end(), array.data.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  if (array.dtype == DType::boolean) check_booleans(array.data, begin);
  const auto width = static_cast<std::size_t>(bits_of(array.dtype).value_or(8) / 8);
  if (layout.is_big_endian) swap_bytes(array.data, width_of_number(array.dtype));
  if (layout.is_fortran) array.data = row_major(std::move(array.data), array.shape, width);
  return array;
}

}  // namespace stowage::import

namespace stowage {
namespace {

[[nodiscard]] Array parse_tensor(std::string_view bytes, const std::filesystem::path& folder) {
  import::NearbyFiles files(folder);
  return import::array_of(import::wire::parse_tensor(bytes), files, "tensor");
}

[[nodiscard]] Array parse_array(std::string_view bytes, const std::filesystem::path& file) {
  if (file.extension() == ".npy" || import::looks_like_npy(bytes)) return import::parse_npy(bytes);
  if (file.extension() == ".pb") return parse_tensor(bytes, file.parent_path());
  throw Error("", "is of no known format, expected an array as .npy or .pb");
}

}  // namespace

Array read_array(const std::filesystem::path& file) {
  const base::InputFile input(file);
  try {
    return parse_array(input.bytes(), file);
  } catch (const Error& error) {
    throw error.in_file(file.string());
  }
}

}  // namespace stowage
