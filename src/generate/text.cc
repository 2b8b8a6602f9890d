#include "generate/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text.h"
#include "kernels/operands.h"
#include "model/elements.h"

namespace stowage::generate {
namespace {

constexpr std::size_t widest_line = 108;

/// Appends numbers with commas, and breaks lines.
class Lines {
 public:
  void add(std::string_view number) {
    if (width_ + number.size() + 2 > widest_line) {
      text_ += "\n";
      width_ = 0;
    }
    if (width_ == 0) {
      text_ += "   ";
      width_ = 3;
    }
    text_ += ' ';
    text_ += number;
    text_ += ',';
    width_ += number.size() + 2;
  }

  std::string take() {
    if (width_ > 0) text_ += "\n";
    return std::move(text_);
  }

 private:
  std::string text_;
  std::size_t width_ = 0;
};

/// All numbers of 8 bits as text: most of a network.
template <typename Byte>
const std::array<std::string, 256>& texts_of_bytes() {
  static const std::array<std::string, 256> texts = [] {
    std::array<std::string, 256> all;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = fmt::format("{}", static_cast<int>(static_cast<Byte>(i)));
    return all;
  }();
  return texts;
}

template <typename Element, typename Show>
std::string numbers(std::span<const std::byte> data, const Show& show) {
  Lines lines;
  for (std::size_t at = 0; at + sizeof(Element) <= data.size(); at += sizeof(Element)) {
    Element element{};
    std::memcpy(&element, data.data() + at, sizeof(Element));
    lines.add(show(element));
  }
  return lines.take();
}

template <typename Byte>
std::string bytes(std::span<const std::byte> data) {
  Lines lines;
  for (const std::byte byte : data) lines.add(texts_of_bytes<Byte>()[static_cast<std::size_t>(byte)]);
  return lines.take();
}

template <typename Integer>
std::string integers(std::span<const std::byte> data) {
  return numbers<Integer>(data, [](Integer number) { return literal(std::int64_t{number}); });
}

}  // namespace

std::string_view suffix_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "f32";
    case DType::float64:
      return "f64";
    case DType::int8:
      return "s8";
    case DType::uint8:
      return "u8";
    case DType::int16:
      return "s16";
    case DType::uint16:
      return "u16";
    case DType::int32:
      return "s32";
    case DType::int64:
      return "s64";
    default:
      kernels::refuse("it is of {}", name_of(dtype));
  }
}

std::string_view c_type(DType dtype) {
  const auto type = model::find_c_type(dtype);
  if (!type) kernels::refuse("element type {} is not supported", name_of(dtype));
  return *type;
}

std::string initialiser(DType dtype, std::span<const std::byte> data) {
  switch (dtype) {
    case DType::int8:
      return bytes<std::int8_t>(data);
    case DType::boolean:
    case DType::uint8:
      return bytes<std::uint8_t>(data);
    case DType::int16:
      return integers<std::int16_t>(data);
    case DType::uint16:
      return integers<std::uint16_t>(data);
    case DType::int32:
      return integers<std::int32_t>(data);
    case DType::uint32:
      return integers<std::uint32_t>(data);
    case DType::int64:
      return integers<std::int64_t>(data);
    case DType::uint64:
      return numbers<std::uint64_t>(data,
                                    [](std::uint64_t number) { return fmt::format("UINT64_C({})", number); });
    case DType::float32:
      return numbers<float>(data, [](float number) { return literal(number); });
    case DType::float64:
      return numbers<double>(data, [](double number) { return literal(number); });
    default:
      kernels::refuse("element type {} is not supported", name_of(dtype));
  }
}

std::string literal(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "F";
}

std::string literal(double value) {
  return std::isfinite(value) ? fmt::format("{:.17g}", value) : literal(static_cast<float>(value));
}

std::string literal(std::int64_t value) {
  if (value == std::numeric_limits<std::int32_t>::lowest()) return "INT32_MIN";
  if (value == std::numeric_limits<std::int64_t>::lowest()) return "INT64_MIN";
  const bool is_short = value > std::numeric_limits<std::int32_t>::lowest() &&
                        value <= std::numeric_limits<std::int32_t>::max();
  return is_short ? fmt::format("{}", value) : fmt::format("INT64_C({})", value);
}

bool has_special_literals(std::string_view text) {
  return text.find("INFINITY") != std::string_view::npos || text.find("NAN") != std::string_view::npos;
}

std::string in_comment(std::string_view text) {
  std::string shown = base::quoted(text);
  for (const std::string_view mark : {"*/", "/*"}) {
    for (std::size_t at = shown.find(mark); at != std::string::npos; at = shown.find(mark))
      shown.insert(at + 1, " ");
  }
  std::ranges::replace(shown, '\\', '/');
  return shown;
}

std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    if (is_letter || is_digit) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

std::vector<std::string> words_of(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    if (in_word && is_letter(c)) {
      words.back() += c;
    } else {
      words.emplace_back(1, c);
    }
    in_word = is_letter(c);
  }
  return words;
}

std::optional<std::string> as_double(std::string_view expression) {
  const std::string_view own_kernels = "stowage_";
  if (expression.find(own_kernels) != std::string_view::npos) return std::nullopt;
  std::string result;
  for (std::string& word : words_of(expression)) {
    const bool is_digit = word[0] >= '0' && word[0] <= '9';
    if (is_digit && word.ends_with('F')) {
      if (word.size() > 2) return std::nullopt;  // 0.5 and the like are the same in both
      word.pop_back();
    } else if (word == "float") {
      word = "double";
    } else if (!is_digit && word.size() > 3 && word.ends_with('f') && word != "isinf") {
      word.pop_back();  // expf
    }
    result += word;
  }
  return result;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

std::string wrapped(std::string_view text) {
  constexpr std::size_t widest = 110;
  constexpr std::size_t further = 4;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
    line.remove_prefix(indent.size());
    bool is_first = true;
    while (indent.size() + line.size() > widest && line.find("/*") == std::string_view::npos) {
      const std::size_t comma = line.rfind(", ", widest - indent.size() - 1);
      if (comma == std::string_view::npos) break;
      result += fmt::format("{}{},\n", indent, line.substr(0, comma));
      line.remove_prefix(comma + 2);
      if (std::exchange(is_first, false)) indent += std::string(further, ' ');
    }
    result += fmt::format("{}{}\n", indent, line);
    at = end + 1;
  }
  return result;
}

std::string show_shape(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace stowage::generate
