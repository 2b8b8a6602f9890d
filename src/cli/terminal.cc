#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <ostream>
#include <sstream>
#include <string_view>

namespace stowage::cli {
namespace {

bool& quiet() {
  static bool is_given = false;
  return is_given;
}

}  // namespace

bool is_quiet() { return quiet(); }
void set_quiet(bool given) { quiet() = given; }

std::ostream& summary_stream(bool is_output_taken) {
  static std::ostream nowhere(nullptr);
  if (is_quiet()) return nowhere;
  return is_output_taken ? std::cerr : std::cout;
}

bool has_colours(int descriptor) {
  const char* const no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const char* const terminal = std::getenv("TERM");       // NOLINT(concurrency-mt-unsafe): nothing sets it
  if (no_colour != nullptr && *no_colour != '\0') return false;
  return ::isatty(descriptor) != 0 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

Messages::Messages()
    : old_(std::cerr.rdbuf(this)),
      // Python takes what the program prints as a text.
      has_colours_(cli::has_colours(STDERR_FILENO) && dynamic_cast<std::stringbuf*>(old_) == nullptr) {}

Messages::~Messages() {
  if (!line_.empty()) end_line();
  std::cerr.rdbuf(old_);
}

Messages::int_type Messages::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
  line_ += traits_type::to_char_type(letter);
  if (line_.back() == '\n') end_line();
  return letter;
}

void Messages::end_line() {
  constexpr std::string_view name = "stowage: ";
  constexpr std::string_view note = "stowage: note: ";
  constexpr std::string_view red = "\033[1;31m";
  constexpr std::string_view yellow = "\033[33m";
  constexpr std::string_view plain = "\033[0m";
  const bool is_note = line_.starts_with(note);
  if (!(is_note && is_quiet())) {
    const std::string_view begin = is_note ? note : line_.starts_with(name) ? name : std::string_view();
    if (has_colours_ && !begin.empty()) {
      line_.insert(begin.size() - 1, plain);
      line_.insert(0, is_note ? yellow : red);
    }
    old_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    old_->pubsync();
  }
  line_.clear();
}

}  // namespace stowage::cli
