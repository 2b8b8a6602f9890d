#include "cli/typed.h"

namespace stowage::cli {

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

std::string typed(int argc, char** argv) {
  std::string line = "stowage";
  for (int i = 1; i < argc; ++i) line += " " + shell_word(argv[i]);
  return line;
}

}  // namespace stowage::cli
