// An arena knows the positions of the run and, like an allocator, which buffer holds which of its
// bytes: pieces take their bytes when their live range begins and return them when it ends. So a byte that
// two buffers claim, or that an operator touches without its buffer holding it, is found by name, whatever
// its value. Returned bytes are filled with a pattern that no kernel mistakes for its data.
//
//   position      3          4          5
//   buffer a   |#######|
//   buffer b              |####################|        at 4: a's bytes are filled, b takes its own
//
// Every clock has its own position: while branches run, the pieces of the clock that forked them stay. One
// branch must not take bytes that another returned before the fork is done, because another run may
// interleave them otherwise. So an arena remembers the last holder of each byte.
//
// Cost: n log n in pieces for a straight run. A jump (a skipped branch of an If, the next round of a loop)
// visits all pieces of the clock.

#include "run/arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "base/text.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

constexpr std::byte pattern{0xFB};
constexpr std::align_val_t alignment{4096};  // more than any real buffer needs

bool is_alive(const Lifetime& life, Position at) { return life.lower <= at && at < life.upper; }

}  // namespace

void Arena::Free::operator()(std::byte* bytes) const { ::operator delete(bytes, alignment); }

Arena::Arena(const Plan& plan, const model::ClockTree& clocks, std::size_t memory)
    : plan_(plan),
      clocks_(clocks),
      memory_(memory),
      size_(plan.memories[memory].peak),
      spans_of_(clocks.size()),
      at_(clocks.size()) {
  if (size_ < 0 || size_ > largest_value)
    throw RunFault{fmt::format("memory {} has {} bytes", base::quoted(name()), size_)};
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.places[b].memory != memory) continue;
    for (const Piece& piece : plan.buffers[b].pieces) {
      const Bytes begin = plan.places[b].offset + piece.offset;
      if (begin > size_ || piece.size > size_ - begin) {
        throw RunFault{fmt::format("buffer {} has bytes {} to {} of memory {}, which has {}",
                                   base::quoted(plan.buffers[b].id), begin, begin + piece.size,
                                   base::quoted(name()), size_)};
      }
      if (piece.size > 0 && piece.life.lower < piece.life.upper)
        spans_.push_back({b, begin, begin + piece.size, piece.life});
    }
  }
  bytes_.reset(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(size_), alignment)));
  std::memset(bytes_.get(), std::to_integer<int>(pattern), static_cast<std::size_t>(size_));
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    spans_of_[clock_of(spans_[i])].push_back(i);
    starting_.push_back(i);
    ending_.push_back(i);
  }
  std::ranges::stable_sort(starting_, {}, [&](std::size_t i) { return start_of(i); });
  std::ranges::stable_sort(ending_, {}, [&](std::size_t i) { return end_of(i); });
}

std::pair<std::size_t, Position> Arena::start_of(std::size_t span) const {
  return {clock_of(spans_[span]), spans_[span].life.lower};
}

std::pair<std::size_t, Position> Arena::end_of(std::size_t span) const {
  return {clock_of(spans_[span]), spans_[span].life.upper};
}

std::vector<Arena::GivenBack> Arena::move_to(std::size_t clock, Position to) {
  std::optional<Position>& at = at_[clock];
  if (at == to) return {};
  Spans going;
  Spans coming;
  if (at && to == *at + 1) {
    const std::pair now(clock, to);
    const auto ending = std::ranges::equal_range(ending_, now, {}, [&](std::size_t i) { return end_of(i); });
    const auto starting =
        std::ranges::equal_range(starting_, now, {}, [&](std::size_t i) { return start_of(i); });
    going.assign(ending.begin(), ending.end());
    coming.assign(starting.begin(), starting.end());
  } else {
    for (const std::size_t i : spans_of_[clock]) {
      if (at && is_alive(spans_[i].life, *at)) going.push_back(i);
      if (is_alive(spans_[i].life, to)) coming.push_back(i);
    }
  }
  at = to;
  return change(going, coming);
}

std::vector<Arena::GivenBack> Arena::leave(std::size_t clock) {
  std::optional<Position>& at = at_[clock];
  if (!at) return {};
  Spans going;
  for (const std::size_t i : spans_of_[clock]) {
    if (is_alive(spans_[i].life, *at)) going.push_back(i);
  }
  at.reset();
  return change(going, {});
}

std::vector<Arena::GivenBack> Arena::change(const Spans& going, const Spans& coming) {
  for (const std::size_t i : going) let_go(spans_[i]);
  for (const std::size_t i : coming) hold(spans_[i]);
  std::vector<GivenBack> given_back;
  for (const std::size_t i : going) spoil(spans_[i], given_back);
  return given_back;
}

void Arena::refuse(std::size_t a, std::size_t b, Bytes byte, const std::string& when) const {
  throw RunFault{fmt::format("buffers {} and {} both hold byte {} of memory {} {}",
                             base::quoted(plan_.buffers[a].id), base::quoted(plan_.buffers[b].id), byte,
                             base::quoted(name()), when)};
}

void Arena::hold(const Span& span) {
  const auto next = holders_.lower_bound(span.begin);
  const std::size_t clock = clock_of(span);
  const std::string when = fmt::format("at {}", clocks_.describe(clock, at_[clock].value_or(0)));
  if (next != holders_.end() && next->first < span.end)
    refuse(next->second.buffer, span.buffer, next->first, when);
  if (next != holders_.begin() && std::prev(next)->second.end > span.begin)
    refuse(std::prev(next)->second.buffer, span.buffer, span.begin, when);
  if (clocks_.size() > 1) expect_no_branch_had(span);
  holders_.emplace_hint(next, span.begin, Holder{span.end, span.buffer});
  live_ += span.end - span.begin;
}

/// Throws RunFault if a concurrent branch held some of these bytes, and notes their new holder.
void Arena::expect_no_branch_had(const Span& span) {
  auto last = last_holders_.lower_bound(span.begin);
  if (last != last_holders_.begin() && std::prev(last)->second.end > span.begin) --last;
  while (last != last_holders_.end() && last->first < span.end) {
    const auto [begin, holder] = *last;
    const std::size_t clock = plan_.buffers[holder.buffer].clock;
    if (clocks_.run_at_one_time(clock, clock_of(span))) {
      refuse(holder.buffer, span.buffer, std::max(begin, span.begin),
             fmt::format("on clocks {} and {}, which run at the same time", clock, clock_of(span)));
    }
    last = last_holders_.erase(last);
    if (begin < span.begin) last_holders_.emplace(begin, Holder{span.begin, holder.buffer});
    if (holder.end > span.end) last_holders_.emplace(span.end, holder);
  }
  last_holders_.emplace(span.begin, Holder{span.end, span.buffer});
}

void Arena::let_go(const Span& span) {
  holders_.erase(span.begin);
  live_ -= span.end - span.begin;
}

/// Fills the bytes that the buffer has returned.
void Arena::spoil(const Span& span, std::vector<GivenBack>& given_back) {
  const auto fill = [&](Bytes begin, Bytes end) {
    if (begin >= end) return;
    std::memset(bytes_.get() + begin, std::to_integer<int>(pattern), static_cast<std::size_t>(end - begin));
    given_back.push_back({span.buffer, begin, end});
  };
  Bytes begin = span.begin;
  auto holder = holders_.upper_bound(span.begin);
  if (holder != holders_.begin()) --holder;
  for (; holder != holders_.end() && holder->first < span.end; ++holder) {
    if (holder->second.buffer != span.buffer || holder->second.end <= begin) continue;
    fill(begin, holder->first);
    begin = std::max(begin, holder->second.end);
  }
  fill(begin, span.end);
}

void Arena::expect_held(std::size_t buffer, Bytes begin, Bytes size, const std::string& who) const {
  const Bytes end = begin + size;
  Bytes at = begin;
  auto holder = holders_.upper_bound(begin);
  if (holder != holders_.begin()) --holder;
  for (; holder != holders_.end() && at < end; ++holder) {
    if (holder->second.buffer != buffer || holder->second.end <= at) continue;
    if (holder->first > at) break;
    at = holder->second.end;
  }
  if (at >= end) return;
  const std::size_t clock = plan_.buffers[buffer].clock;
  throw RunFault{fmt::format("{} needs byte {} of memory {}, which {} holds at {}, not buffer {}", who, at,
                             base::quoted(name()), holder_of(at),
                             clocks_.describe(clock, at_[clock].value_or(0)),
                             base::quoted(plan_.buffers[buffer].id))};
}

std::optional<Bytes> Arena::first_spoilt() const {
  Bytes at = 0;
  const auto spoilt_before = [&](Bytes end) -> std::optional<Bytes> {
    const std::byte* const first = bytes_.get() + at;
    const std::byte* const last = bytes_.get() + std::max(at, end);
    // All bytes are equal if each equals the next: by far the fastest test.
    if (first == last ||
        (*first == pattern && std::memcmp(first, first + 1, static_cast<std::size_t>(last - first - 1)) == 0))
      return std::nullopt;
    const std::byte* const found = std::find_if(first, last, [](std::byte byte) { return byte != pattern; });
    return found == last ? std::nullopt : std::optional<Bytes>(found - bytes_.get());
  };
  for (const auto& [begin, holder] : holders_) {
    if (const auto spoilt = spoilt_before(begin)) return spoilt;
    at = holder.end;
  }
  return spoilt_before(size_);
}

std::optional<std::size_t> Arena::buffer_at(Bytes offset) const {
  const auto next = holders_.upper_bound(offset);
  if (next == holders_.begin() || std::prev(next)->second.end <= offset) return std::nullopt;
  return std::prev(next)->second.buffer;
}

std::string Arena::holder_of(Bytes offset) const {
  const auto buffer = buffer_at(offset);
  return buffer ? fmt::format("buffer {}", base::quoted(plan_.buffers[*buffer].id)) : "nobody";
}

}  // namespace stowage::run
