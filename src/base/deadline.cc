#include "base/deadline.h"

#include <algorithm>

namespace stowage::base {
namespace {

constexpr Deadline::Seconds year = std::chrono::hours(24 * 365);

}  // namespace

Deadline::Deadline(Seconds limit, std::stop_token stop) : stop_(std::move(stop)) {
  if (limit <= year)
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::max(limit, Seconds(0)));
}

Deadline::Seconds Deadline::left() const {
  if (is_stop_requested()) return Seconds(0);
  return end_ ? std::max(Seconds(*end_ - Clock::now()), Seconds(0)) : year;
}

Deadline Deadline::within(Seconds limit) const {
  Deadline earlier(limit, stop_);
  if (end_ && (!earlier.end_ || *end_ < *earlier.end_)) earlier.end_ = end_;
  return earlier;
}

Deadline Deadline::later_by(Seconds time) const {
  Deadline later = *this;
  if (end_) later.end_ = *end_ + std::chrono::duration_cast<Clock::duration>(time);
  return later;
}

Deadline Deadline::part(double share) const {
  Deadline part = *this;
  if (end_) part.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(left() * share);
  return part;
}

}  // namespace stowage::base
