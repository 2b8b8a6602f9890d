#include "base/deadline.h"

#include <algorithm>

namespace stowage::base {
namespace {

constexpr Deadline::Seconds year = std::chrono::hours(24 * 365);

Deadline::Clock::duration ticks(Deadline::Seconds time) {
  return std::chrono::duration_cast<Deadline::Clock::duration>(time);
}

}  // namespace

Deadline::Deadline(Seconds limit, std::stop_token stop) : stop_(std::move(stop)) {
  if (limit <= year) end_ = Clock::now() + ticks(std::max(limit, Seconds(0)));
}

Deadline Deadline::after_work(Seconds work, std::stop_token stop) {
  Deadline deadline(std::move(stop));
  deadline.spent_ = std::make_shared<std::atomic<std::int64_t>>(0);
  if (work <= year) deadline.end_ = deadline.now() + ticks(std::max(work, Seconds(0)));
  return deadline;
}

Deadline Deadline::cancelled_by(const volatile int* flag) const {
  Deadline other = *this;
  other.flag_ = flag;
  return other;
}

Deadline Deadline::apart() const {
  Deadline other = *this;
  if (spent_) other.spent_ = std::make_shared<std::atomic<std::int64_t>>(spent_->load());
  return other;
}

Deadline::Seconds Deadline::left() const {
  if (is_over()) return Seconds(0);
  return end_ ? std::max(Seconds(*end_ - now()), Seconds(0)) : year;
}

Deadline Deadline::within(Seconds limit) const {
  Deadline earlier = *this;
  if (!(limit <= year)) return earlier;
  const auto end = now() + ticks(std::max(limit, Seconds(0)));
  if (!end_ || end < *end_) earlier.end_ = end;
  return earlier;
}

Deadline Deadline::slice(Seconds time) const {
  Deadline slice = *this;
  if (end_) slice.cut_ = cut_ ? std::min(*end_, *cut_) : *end_;
  slice.end_ = now() + ticks(std::clamp(time, Seconds(0), year));
  return slice;
}

Deadline Deadline::later_by(Seconds time) const {
  Deadline later = *this;
  if (end_) later.end_ = *end_ + ticks(time);
  if (cut_) later.cut_ = *cut_ + ticks(time);
  return later;
}

Deadline Deadline::without_limit() const {
  Deadline unlimited = *this;
  unlimited.end_.reset();
  unlimited.cut_.reset();
  return unlimited;
}

Deadline Deadline::part(double share) const {
  Deadline part = *this;
  if (end_) part.end_ = now() + ticks(left() * share);
  return part;
}

}  // namespace stowage::base
