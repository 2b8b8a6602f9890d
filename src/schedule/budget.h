#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "base/deadline.h"

namespace stowage::schedule {

/// The budget of a search. It counts examined effects as work, so the result does not depend on the machine
/// unless the time runs out first.
class Budget {
 public:
  explicit Budget(base::Deadline deadline, std::int64_t most_work = std::numeric_limits<std::int64_t>::max())
      : deadline_(std::move(deadline)), most_work_(most_work) {}

  /// Counts work and reads the clock periodically.
  void spend(std::int64_t work) {
    deadline_.spend(work * cost_of_work);
    spent_ += work;
    since_look_ += work;
    is_over_ = is_over_ || spent_ >= most_work_;
    if (since_look_ < work_between_looks) return;
    look();
  }

  /// Reads the clock.
  void look() {
    since_look_ = 0;
    is_over_ = is_over_ || deadline_.is_over();
  }

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] std::int64_t spent() const { return spent_; }

 private:
  static constexpr std::int64_t cost_of_work = 30;  ///< In the units of deadlines, about.
  static constexpr std::int64_t work_between_looks = 20'000;

  base::Deadline deadline_;
  std::int64_t most_work_;
  std::int64_t spent_ = 0;
  std::int64_t since_look_ = 0;
  bool is_over_ = false;
};

}  // namespace stowage::schedule
