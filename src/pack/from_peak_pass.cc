// One pass of `from-peak`: see from_peak.cc.

#include "pack/from_peak_pass.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "pack/bounds.h"
#include "pack/ejection_search.h"

namespace stowage::pack {
namespace {

constexpr std::size_t least_buffers =
    1000;  ///< Buffers. With fewer nothing is thrown out: `exact` does the rest.
constexpr std::size_t most_left_over = 10;  ///< With more, the pool would grow.
constexpr std::int64_t steps_of_ejection = 600;
constexpr double least_slack = 1e-4;
/// Work for each buffer, about, in the units of deadlines.
constexpr std::int64_t work_to_order = 200;
constexpr std::int64_t work_to_weigh = 300;
constexpr std::int64_t work_of_movable = 60;

double stack_key(StackOrder stack, double size, double lower, double upper) {
  switch (stack) {
    case StackOrder::by_begin:
      return lower;
    case StackOrder::by_end:
      return -upper;
    case StackOrder::by_size:
      return -size;
    case StackOrder::by_duration:
      return lower - upper;
    case StackOrder::by_area:
      return size * (lower - upper);
  }
  return 0;
}

/// Pinned buffers, those alive at the peak, those that begin after it, those that end before it.
std::vector<std::size_t> order_of(const PassInput& input, StackOrder stack) {
  using Key = std::tuple<int, double, double, std::size_t>;
  std::vector<Key> keys;
  keys.reserve(input.buffers().size());
  for (std::size_t b = 0; b < input.buffers().size(); ++b) {
    const Lifetime& life = input.lives()[b];
    const auto size = static_cast<double>(input.buffers()[b].size);
    const auto lower = static_cast<double>(life.lower);
    const auto upper = static_cast<double>(life.upper);
    if (input.buffers()[b].pinned) {
      keys.emplace_back(0, 0, 0, b);
    } else if (life.lower > input.peak()) {
      keys.emplace_back(2, lower, -size, b);
    } else if (life.upper <= input.peak()) {
      keys.emplace_back(3, -upper, -size, b);
    } else {
      keys.emplace_back(1, stack_key(stack, size, lower, upper), -size, b);
    }
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys) order.push_back(std::get<3>(key));
  return order;
}

class Pass {
 public:
  Pass(const PassInput& input, Bytes cap, const Control& control, const Stop& ends)
      : input_(input),
        buffers_(input.buffers()),
        cap_(cap),
        control_(control),
        ends_(ends),
        container_(buffers_, input.given_neighbours()),
        offsets_(buffers_.size()) {}

  PassFromPeak run(const PassManner& manner) {
    control_.spend(work_to_order * std::ssize(buffers_));
    PassFromPeak result;
    if (!place(manner)) return result;
    const bool is_promising = !left_over_.empty() && left_over_.size() <= most_left_over;
    result.has_ejected = is_promising && buffers_.size() >= least_buffers;
    if (result.has_ejected) eject();
    if (!put_on_top()) return result;
    result.offsets.reserve(offsets_.size());
    for (const std::optional<Bytes>& offset : offsets_) result.offsets.push_back(*offset);
    return result;
  }

 private:
  /// Places what finds room below the cap. False if it has to end.
  [[nodiscard]] bool place(const PassManner& manner) {
    const std::vector<std::size_t> order = order_of(input_, manner.stack);
    for (std::size_t done = 0; done < order.size(); ++done) {
      if (done % buffers_between_looks == 0 && has_to_end()) return false;
      const std::size_t b = order[done];
      const Buffer& buffer = buffers_[b];
      const bool is_alive = input_.lives()[b].lower < input_.lives()[b].upper;
      std::optional<Bytes> offset = buffer.pinned;
      if (!is_alive && !offset) offset = 0;
      if (!offset) offset = fit(b, manner.fit);
      if (*offset + buffer.size > cap_ && is_alive && !buffer.pinned) {
        left_over_.push_back(b);
        continue;
      }
      offsets_[b] = offset;
      container_.put(b, *offset);
    }
    control_.spend(container_.take_work());
    return true;
  }

  [[nodiscard]] bool has_to_end() {
    control_.spend(container_.take_work());
    return ends_();
  }

  [[nodiscard]] Bytes fit(std::size_t b, Fit fit) {
    if (fit == Fit::tightest) {
      const Bytes offset = container_.tightest_fit(b);
      if (offset + buffers_[b].size <= cap_) return offset;
    }
    return container_.lowest_fit(b);
  }

  /// Tries to find room for the buffers left over.
  void eject() {
    const std::vector<Bytes>& loads = input_.loads();
    const Neighbours& neighbours = input_.neighbours();
    if (control_.is_time_up()) return;
    std::vector<Movable> movables;
    movables.reserve(buffers_.size());
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const Buffer& buffer = buffers_[b];
      const Lifetime& life = input_.lives()[b];
      const double area = static_cast<double>(buffer.size) * static_cast<double>(life.upper - life.lower);
      const double slack = static_cast<double>(cap_ - loads[b]) / static_cast<double>(cap_);
      movables.push_back({buffer.size, buffer.alignment, buffer.pinned,
                          std::sqrt(area) / (slack + least_slack), offsets_[b]});
    }
    EjectionSearch search(movables, clashes_among(neighbours), input_.meetings(), control_.options.seed);
    search.begin(cap_);
    const bool has_found = search.run(steps_of_ejection, [&] { return control_.is_time_up() || ends_(); });
    control_.spend(search.work() + work_of_movable * std::ssize(buffers_));
    if (!has_found) return;
    for (std::size_t b = 0; b < buffers_.size(); ++b) offsets_[b] = search.offsets()[b];
    left_over_.clear();
  }

  /// Puts the buffers left over at their lowest fit. False if it has to end.
  [[nodiscard]] bool put_on_top() {
    for (std::size_t done = 0; done < left_over_.size(); ++done) {
      if (done % buffers_between_looks == 0 && has_to_end()) return false;
      const std::size_t b = left_over_[done];
      offsets_[b] = container_.put_lowest(b) - buffers_[b].size;
    }
    control_.spend(container_.take_work());
    return true;
  }

  const PassInput& input_;
  const std::span<const Buffer> buffers_;
  const Bytes cap_;
  const Control& control_;
  const Stop& ends_;
  Container container_;  ///< Of all that has an offset, until something is thrown out.
  std::vector<std::optional<Bytes>> offsets_;
  std::vector<std::size_t> left_over_;
};

}  // namespace

PassInput::PassInput(std::span<const Buffer> buffers, const Neighbours* neighbours)
    : buffers_(buffers), peak_(fullest(buffers).at), given_neighbours_(neighbours) {
  lives_.reserve(buffers_.size());
  for (const Buffer& buffer : buffers_) lives_.push_back(life_of(buffer));
}

const Neighbours& PassInput::neighbours() const {
  if (given_neighbours_ != nullptr) return *given_neighbours_;
  std::call_once(looked_around_, [&] { own_neighbours_ = std::make_unique<Neighbours>(buffers_); });
  return *own_neighbours_;
}

const Meetings* PassInput::meetings() const {
  std::call_once(listed_meetings_, [&] { meetings_ = Meetings::among(buffers_, neighbours(), 0); });
  return meetings_ ? &*meetings_ : nullptr;
}

const std::vector<Bytes>& PassInput::loads() const {
  std::call_once(weighed_, [&] { loads_ = loads_during(buffers_, {}).value(); });
  return loads_;
}

std::int64_t PassInput::work_of_ejection() const {
  const std::int64_t looking_around = given_neighbours_ != nullptr ? 0 : neighbours().work();
  return looking_around + work_to_weigh * std::ssize(buffers_);
}

PassFromPeak pass_from_peak(const PassInput& input, const PassManner& manner, Bytes cap,
                            const Control& control, const Stop& ends) {
  if (ends()) return {};
  return Pass(input, cap, control, ends).run(manner);
}

}  // namespace stowage::pack
