#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace stowage::cli {

Progress progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds interval{100};
  return [next = Clock::now() + 3 * interval](std::string_view what, double fraction) mutable {
    if (Clock::now() < next) return;
    next = Clock::now() + interval;
    constexpr double percent = 100;
    fmt::print(stderr, "\r\033[K{} {:.0f} %", what, percent * fraction);
    std::fflush(stderr);
  };
}

void clear_progress_line() {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace stowage::cli
