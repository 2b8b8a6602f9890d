#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

namespace stowage::base {

/// When work must end: at a point in time, or as soon as it is cancelled.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  /// No deadline.
  Deadline() = default;
  /// The limit starts now. NaN and more than a year mean no limit.
  explicit Deadline(Seconds limit, std::stop_token stop = {});

  /// No time limit: only cancellation ends the work.
  explicit Deadline(std::stop_token stop) : stop_(std::move(stop)) {}

  [[nodiscard]] bool is_over() const { return is_stop_requested() || (end_ && Clock::now() >= *end_); }
  /// Whether the work is cancelled, whatever the time.
  [[nodiscard]] bool is_stop_requested() const { return stop_.stop_requested(); }
  /// The remaining time: 0 when it is over, a year without a limit.
  [[nodiscard]] Seconds left() const;
  /// An earlier deadline, after that share of the remaining time.
  [[nodiscard]] Deadline part(double share) const;
  /// A deadline later by that time, or earlier if it is negative; none stays none.
  [[nodiscard]] Deadline later_by(Seconds time) const;
  /// An earlier deadline, if more time than `limit` remains.
  [[nodiscard]] Deadline within(Seconds limit) const;

 private:
  std::optional<Clock::time_point> end_{};
  std::stop_token stop_{};
};

}  // namespace stowage::base
