#include "cli/typed.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace stowage::cli {

std::string typed(int argc, char** argv) {
  std::string line = "stowage";
  for (int i = 1; i < argc; ++i) line += " " + base::shell_word(argv[i]);
  return line;
}

std::string typed_without_folders(int argc, char** argv) {
  const auto last_part = [](std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return path.substr(path.rfind('/') + 1);
  };
  const auto is_file = [](std::string_view path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
  };
  std::string line = "stowage";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t value = word.find('=') + 1;  // 0 without '='
    const std::string_view before = argv[i - 1];
    const bool is_output = before == "-o" || before == "--output" || word.starts_with("--output=");
    std::string shown(word);
    if (is_file(word) || (is_output && value == 0)) {
      shown = last_part(word);
    } else if (is_output || is_file(word.substr(value))) {
      shown = fmt::format("{}{}", word.substr(0, value), last_part(word.substr(value)));
    }
    line += " " + base::shell_word(shown);
  }
  return line;
}

}  // namespace stowage::cli
