#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace stowage::base {

/// When work must end: at a point in time, after an amount of work, or as soon as it is cancelled.
///
/// A deadline for an amount of work has a clock of its own, which only `spend` moves on. So it is over at the
/// same point of the work on every machine. Its durations are of this clock; a second is about what one
/// processor does in a second. Copies share the clock. Threads that work side by side need clocks apart, or
/// one of them would end sooner because of what the others do.
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

  /// After so much work. More than a year means no limit.
  [[nodiscard]] static Deadline after_work(Seconds work, std::stop_token stop = {});
  /// The same, and cancelled as soon as the flag is not 0. It must live as long as the deadline.
  [[nodiscard]] Deadline cancelled_by(const volatile int* flag) const;

  /// Counts work, in units of about a nanosecond. Nothing happens if time is the limit.
  void spend(std::int64_t work) const {
    if (spent_) spent_->fetch_add(work, std::memory_order_relaxed);
  }
  [[nodiscard]] bool counts_work() const { return spent_ != nullptr; }

  /// The same, but what is spent there does not count here, and the other way round.
  [[nodiscard]] Deadline apart() const;

  /// On the clock of this deadline.
  [[nodiscard]] Clock::time_point now() const {
    return spent_ ? Clock::time_point(std::chrono::nanoseconds(spent_->load(std::memory_order_relaxed)))
                  : Clock::now();
  }

  [[nodiscard]] bool is_over() const {
    return is_stop_requested() || (end_ && now() >= *end_) || (cut_ && now() >= *cut_);
  }
  /// Whether the work is cancelled, whatever the time.
  [[nodiscard]] bool is_stop_requested() const {
    return stop_.stop_requested() || (flag_ != nullptr && *flag_ != 0);
  }
  /// The remaining time: 0 when it is over, a year without a limit.
  [[nodiscard]] Seconds left() const;
  /// An earlier deadline, after that share of the remaining time.
  [[nodiscard]] Deadline part(double share) const;
  /// A deadline later by that time, or earlier if it is negative; none stays none.
  [[nodiscard]] Deadline later_by(Seconds time) const;
  /// Without a limit, on the same clock: only cancellation ends the work.
  [[nodiscard]] Deadline without_limit() const;
  /// An earlier deadline, if more time than `limit` remains.
  [[nodiscard]] Deadline within(Seconds limit) const;
  /// The next so many seconds. Over when this deadline is, too; but what is done in it divides the whole time of the
  /// slice, even if this deadline ends sooner. So work in slices begins in the same way under all deadlines.
  [[nodiscard]] Deadline slice(Seconds time) const;

 private:
  std::optional<Clock::time_point> end_{};
  std::optional<Clock::time_point> cut_{};  ///< If this is a slice: when the deadline ends that it is from.
  std::stop_token stop_{};
  const volatile int* flag_ = nullptr;
  std::shared_ptr<std::atomic<std::int64_t>> spent_{};  ///< If work is counted.
};

}  // namespace stowage::base
