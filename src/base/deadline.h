#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

namespace stowage::base {

/// When work must end: at a point in time, or as soon as somebody asks for it.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  /// No deadline.
  Deadline() = default;
  /// The limit starts now. NaN and more than a year mean no limit.
  explicit Deadline(Seconds limit, std::stop_token stop = {});

  /// Only somebody's asking is a reason to stop.
  explicit Deadline(std::stop_token stop) : stop_(std::move(stop)) {}

  [[nodiscard]] bool is_over() const { return is_stop_requested() || (end_ && Clock::now() >= *end_); }
  /// Somebody asked for it, whatever the time.
  [[nodiscard]] bool is_stop_requested() const { return stop_.stop_requested(); }
  /// What is left of the time: 0 when it is over, a year without a limit.
  [[nodiscard]] Seconds left() const;
  /// An earlier deadline, after that share of the time that is left now.
  [[nodiscard]] Deadline part(double share) const;
  /// A deadline so much later, or earlier if that is negative; none stays none.
  [[nodiscard]] Deadline later_by(Seconds time) const;
  /// An earlier deadline, if less time than that is left now.
  [[nodiscard]] Deadline within(Seconds limit) const;

 private:
  std::optional<Clock::time_point> end_{};
  std::stop_token stop_{};
};

}  // namespace stowage::base
