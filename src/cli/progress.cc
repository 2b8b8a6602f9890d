#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "base/text.h"
#include "cli/terminal.h"

namespace stowage::cli {
namespace {

using Clock = std::chrono::steady_clock;

class Line {
 public:
  explicit Line(const SolveOptions& options)
      : limit_(options.effort ? std::chrono::duration<double>() : options.time_limit) {
    drawer_ = std::jthread([this](const std::stop_token& stop) { draw(stop); });
  }

  void set(std::string_view what, double fraction) {
    const std::scoped_lock lock(mutex_);
    what_ = base::visible(what);
    fraction_ = fraction;
  }

  /// Ends with an empty line.
  void end() {
    if (!drawer_.joinable()) return;
    drawer_.request_stop();
    drawer_.join();
    if (is_drawn_) print("");
  }

 private:
  static void print(const std::string& text) {
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
  }

  [[nodiscard]] std::string text() const {
    constexpr double percent = 100;
    const std::chrono::duration<double> taken = Clock::now() - begin_;
    std::string text = what_.empty() ? "reading and ordering" : what_;
    if (percent * fraction_ >= 1) text += fmt::format(", {:.0f} %", percent * fraction_);
    text += fmt::format(", {:.1f} s", taken.count());
    if (limit_.count() > 0) {
      text += taken < limit_ ? fmt::format(", {:.1f} s left", (limit_ - taken).count())
                             : std::string(", finishing");
    }
    winsize size{};
    const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return text.substr(0, is_known ? size.ws_col - 1U : 79U);
  }

  void draw(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds interval{100};
    std::unique_lock lock(mutex_);
    auto next = Clock::now() + 3 * interval;
    for (;;) {
      wake_.wait_until(lock, stop, next, [] { return false; });
      if (stop.stop_requested()) return;
      print(text());
      is_drawn_ = true;
      next = Clock::now() + interval;
    }
  }

  std::chrono::duration<double> limit_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string what_{};
  double fraction_ = 0;
  bool is_drawn_ = false;
  std::jthread drawer_;
};

std::shared_ptr<Line>& current() {
  static std::shared_ptr<Line> line;
  return line;
}

}  // namespace

Progress progress_line(const SolveOptions& options) {
  clear_progress_line();
  if (isatty(STDERR_FILENO) == 0 || is_quiet()) return {};
  current() = std::make_shared<Line>(options);
  return [line = current()](std::string_view what, double fraction) { line->set(what, fraction); };
}

void clear_progress_line() {
  if (current()) current()->end();
  current().reset();
}

}  // namespace stowage::cli
