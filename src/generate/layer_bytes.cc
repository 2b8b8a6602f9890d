// The bytes of layer descriptors in flash: constants of the structs that kernels take. Their sizes follow from the
// structs in the kernels' own headers, as compilers for 32-bit processors lay them out: numbers are aligned to their
// size, pointers have 4 bytes.
//
//     typedef struct { const void *slots; uint16_t rows; uint8_t memory; } x;      4 + 2 + 1, to a multiple of 4: 8
//
// Cost: linear in the headers and the program.

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "generate/kernel_files.h"
#include "generate/program.h"
#include "generate/text.h"

namespace stowage::generate {
namespace {

struct Layout {
  Bytes size = 0;
  Bytes alignment = 1;
};

using Layouts = std::map<std::string, Layout, std::less<>>;
using Words = std::vector<std::string>;

Bytes rounded_up(Bytes size, Bytes alignment) { return (size + alignment - 1) / alignment * alignment; }

std::string without_comments(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find("/*", at), text.size());
    result += text.substr(at, begin - at);
    const std::size_t end = begin == text.size() ? begin : text.find("*/", begin);
    at = end >= text.size() ? text.size() : end + 2;
  }
  return result;
}

/// Words and signs, without spaces.
Words signs_of(std::string_view text) {
  Words words = words_of(without_comments(text));
  std::erase_if(words, [](const std::string& it) { return it == " " || it == "\n"; });
  return words;
}

class HeaderReader {
 public:
  Layouts read() {
    for (const auto& [name, size] : {std::pair{"int8_t", 1},
                                     {"uint8_t", 1},
                                     {"int16_t", 2},
                                     {"uint16_t", 2},
                                     {"int32_t", 4},
                                     {"uint32_t", 4},
                                     {"float", 4},
                                     {"double", 8},
                                     {"int64_t", 8},
                                     {"uint64_t", 8},
                                     {"size_t", 4}})
      known_[name] = {size, size};
    // A struct may be made of one that another header has.
    for (std::size_t found = 0, before = 1; found != before;) {
      before = std::exchange(found, 0);
      for (const KernelFile& file : kernel_files())
        if (file.name.ends_with(".h")) read_header(signs_of(file.content));
      found = known_.size();
    }
    return std::move(known_);
  }

 private:
  void read_header(const Words& words) {
    for (std::size_t i = 0; i + 4 < words.size(); ++i) {
      if (words[i] == "enum" && words[i + 1] == "{" && words[i + 3] == "=")
        enums_[words[i + 2]] = words[i + 4];
      if (words[i] == "typedef" && words[i + 1] == "struct" && words[i + 2] == "{")
        i = read_struct(words, i + 3);
    }
  }

  /// Returns where it ends.
  std::size_t read_struct(const Words& words, std::size_t i) {
    Layout layout;
    bool is_known = true;
    for (; words[i] != "}"; ++i) {
      const auto end = static_cast<std::size_t>(
          std::find(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(), ";") - words.begin());
      const auto field = field_of(
          {words.begin() + static_cast<std::ptrdiff_t>(i), words.begin() + static_cast<std::ptrdiff_t>(end)});
      is_known = is_known && field.has_value();
      if (field) {
        layout.size = rounded_up(layout.size, field->alignment) + field->size;
        layout.alignment = std::max(layout.alignment, field->alignment);
      }
      i = end;
    }
    if (is_known) known_[words[i + 1]] = {rounded_up(layout.size, layout.alignment), layout.alignment};
    return i + 1;
  }

  /// "int32_t stride[6]"; none of a type that is not known yet.
  [[nodiscard]] std::optional<Layout> field_of(const Words& words) const {
    std::size_t i = words[0] == "const" ? 1 : 0;
    const auto type = known_.find(words[i]);
    const bool is_pointer = std::ranges::find(words, "*") != words.end();
    if (!is_pointer && type == known_.end()) return std::nullopt;
    Layout layout = is_pointer ? Layout{4, 4} : type->second;
    for (; i + 2 < words.size(); ++i)
      if (words[i] == "[") layout.size *= number_of(words[i + 1]);
    return layout;
  }

  [[nodiscard]] Bytes number_of(const std::string& word) const {
    const auto named = enums_.find(word);
    const std::string& text = named == enums_.end() ? word : named->second;
    Bytes number = 1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  Layouts known_{};
  std::map<std::string, std::string, std::less<>> enums_{};
};

}  // namespace

Bytes bytes_of_layers(std::string_view program) {
  static const Layouts layouts = HeaderReader().read();
  constexpr std::string_view begin = "static const ";
  Bytes bytes = 0;
  for (std::size_t at = program.find(begin); at != std::string_view::npos; at = program.find(begin, at)) {
    at += begin.size();
    const Words words = signs_of(program.substr(at, program.find('\n', at) - at));
    // Places are not counted here.
    const bool is_place = words[0] == "stowage_place" || words[0] == "stowage_again" ||
                          words[0] == "stowage_moving" || words[0] == "stowage_part";
    const auto layout = is_place ? layouts.end() : layouts.find(words[0]);
    if (layout == layouts.end() || words.size() < 4 || !words[0].starts_with("stowage_")) continue;
    Bytes count = 1;
    if (words[2] == "[") std::from_chars(words[3].data(), words[3].data() + words[3].size(), count);
    bytes += count * layout->second.size;
  }
  return bytes;
}

}  // namespace stowage::generate
