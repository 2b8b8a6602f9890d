#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

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

  [[nodiscard]] bool is_over() const { return stop_.stop_requested() || (end_ && Clock::now() >= *end_); }
  /// What is left of the time: 0 when it is over, a year without a limit.
  [[nodiscard]] Seconds left() const;
  /// An earlier deadline, after that share of the time that is left now.
  [[nodiscard]] Deadline part(double share) const;
  /// An earlier deadline, if less time than that is left now.
  [[nodiscard]] Deadline within(Seconds limit) const;

 private:
  std::optional<Clock::time_point> end_{};
  std::stop_token stop_{};
};

}  // namespace stowage::base
