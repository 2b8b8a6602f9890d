// A sequence that repeats itself is written once. What is written may itself repeat.
//
//     a0 b0 b1 a1 b2 b3 a2 b4 b5 c0      a and b are kinds, behind them is the number of the item
//     a0 2(b0 +1) a1 2(b2 +1) a2 2(b4 +1) c0          a pass with periods of at most 2
//     3(a0 +1, 2(b0 +1) +2) c0                        the next one, with periods of at most 4
//
// Several passes look for longer and longer periods, each in what the pass before wrote. So inner loops are found
// first, and outer ones repeat them. From the first element on, a pass takes the period that saves most. Elements
// repeat if they are of one kind and their numbers move on by the same amount each time. Two repetitions are of one
// kind if their counts, bodies and advances are equal.
//
// Cost: a pass is linear in items, times its longest period.

#include "export/repetition.h"

#include <iterator>
#include <map>
#include <span>
#include <utility>

namespace stowage::exporting {
namespace {

constexpr std::size_t longest_period = 64;

/// Equal kinds of items get equal numbers, and so do equal kinds of repetitions.
class Kinds {
 public:
  std::size_t of_item(std::vector<std::int64_t> kind) { return number_of({false, std::move(kind)}); }
  std::size_t of_repetition(std::vector<std::int64_t> kind) { return number_of({true, std::move(kind)}); }

 private:
  using Kind = std::pair<bool, std::vector<std::int64_t>>;

  std::size_t number_of(Kind kind) {
    return numbers_.emplace(std::move(kind), numbers_.size()).first->second;
  }

  std::map<Kind, std::size_t> numbers_;
};

struct Element {
  std::size_t kind = 0;
  std::vector<std::int64_t> numbers{};  ///< Of all items that it writes.
  std::size_t written = 1;              ///< Items and repetitions.
  Repetition content{};
};

/// Whether numbers move on from b to c as from a to b.
bool moves_on(const Element& a, const Element& b, const Element& c) {
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    if (c.numbers[i] - b.numbers[i] != b.numbers[i] - a.numbers[i]) return false;
  }
  return true;
}

/// How often the elements from `first` on come with that period.
std::size_t times_of(std::span<const Element> all, std::size_t first, std::size_t period) {
  std::size_t i = first;
  for (; i + period < all.size() && all[i].kind == all[i + period].kind; ++i) {
    if (i >= first + period && !moves_on(all[i - period], all[i], all[i + period])) break;
  }
  return (i - first) / period + 1;
}

/// The elements [0, period) of `all`, which come so many times, as one.
Element repeated(std::span<Element> all, std::size_t period, std::size_t times, Kinds& kinds) {
  Element made{.content = {.first = all[0].content.first, .count = times}};
  std::vector<std::int64_t> kind{static_cast<std::int64_t>(times), static_cast<std::int64_t>(period)};
  for (std::size_t i = 0; i < period; ++i) {
    kind.push_back(static_cast<std::int64_t>(all[i].kind));
    for (std::size_t n = 0; n < all[i].numbers.size(); ++n)
      made.content.advance.push_back(all[i + period].numbers[n] - all[i].numbers[n]);
    made.numbers.insert(made.numbers.end(), all[i].numbers.begin(), all[i].numbers.end());
    made.written += all[i].written;
    made.content.body.push_back(std::move(all[i].content));
  }
  kind.insert(kind.end(), made.content.advance.begin(), made.content.advance.end());
  made.kind = kinds.of_repetition(std::move(kind));
  return made;
}

std::vector<Element> pass(std::vector<Element> all, std::size_t longest, Kinds& kinds) {
  std::vector<Element> result;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t best_period = 1;
    std::size_t best_times = 1;
    std::size_t saved = 1;  // a repetition takes as much as one item more
    std::size_t written = 0;
    for (std::size_t period = 1; period <= longest && first + 2 * period <= all.size(); ++period) {
      written += all[first + period - 1].written;
      const std::size_t times = times_of(all, first, period);
      if (written * (times - 1) <= saved) continue;
      saved = written * (times - 1);
      best_period = period;
      best_times = times;
    }
    result.push_back(best_times == 1
                         ? std::move(all[first])
                         : repeated(std::span(all).subspan(first), best_period, best_times, kinds));
    first += best_period * best_times;
  }
  return result;
}

}  // namespace

std::vector<Repetition> repetitions_of(std::vector<Item> items) {
  Kinds kinds;
  std::vector<Element> all;
  all.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    all.push_back({.kind = kinds.of_item(std::move(items[i].kind)),
                   .numbers = std::move(items[i].numbers),
                   .content = {.first = i}});
  }
  for (std::size_t longest = 2; longest <= longest_period; longest *= 2)
    all = pass(std::move(all), longest, kinds);
  std::vector<Repetition> result;
  result.reserve(all.size());
  for (Element& it : all) result.push_back(std::move(it.content));
  return result;
}

}  // namespace stowage::exporting
