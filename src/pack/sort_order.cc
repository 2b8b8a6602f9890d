// The converter and the sorter of the strategy `rectangle`.
//
// The order in which rectangles are placed decides how high they end. A rectangle is hard to place if
// it is long in time, large, or overlaps others for long. These keys, or combinations of them, sort the
// rectangles, the hardest first.
//
//     alive ^     +--+            count(t): rectangles alive at t, a step function; area(t) is its integral
//           |  +--+  +---+        from the start. Rectangle [l, u) overlaps all others, in sum,
//           +--+---------+--> t   for area(u) - area(l) - (u - l).
//
// So the overlap sums need no pairs: two sweeps compute the area at every end and at every start. Cost:
// n log n. All numbers are exact, so that the order is equal on all machines: sums have 128 bits, products of
// three keys and the cross products that compare ratios have 256.
// Source: the document of docs/rectangle.md, paragraphs 84 and 103 to 118. Where it is open: "descending or
// ascending" is a choice per term; equal ones stay in the given order; a rectangle with gaps is as long as
// from its first to its last need.

#include "pack/sort_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "pack/placing.h"
#include "stowage/error.h"

namespace stowage::pack {
namespace {

/// A natural number of 256 bits, least significant limb first. This is enough for a product of three keys
/// (61 + 61 + 125 bits at the very worst) and for a cross product of two of them.
class Wide {
 public:
  Wide() = default;
  explicit Wide(Large value)
      : limbs_{static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64U), 0, 0} {}

  [[nodiscard]] Wide times(Large factor) const {
    Wide product;
    const std::array<std::uint64_t, 2> factors{static_cast<std::uint64_t>(factor),
                                               static_cast<std::uint64_t>(factor >> 64U)};
    for (std::size_t f = 0; f < factors.size(); ++f) {
      Large carry = 0;
      for (std::size_t i = 0; i + f < limbs_.size(); ++i) {
        carry += Large{limbs_[i]} * factors[f] + product.limbs_[i + f];
        product.limbs_[i + f] = static_cast<std::uint64_t>(carry);
        carry >>= 64U;
      }
    }
    return product;
  }

  /// The number of its bits, and the first of them. Sorts as the numbers do, except where both agree.
  [[nodiscard]] std::uint64_t lead() const {
    constexpr unsigned first = 55;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      if (limbs_[i] == 0) continue;
      const Large two = Large{limbs_[i]} << 64U | (i > 0 ? limbs_[i - 1] : 0);
      const auto width = static_cast<unsigned>(std::bit_width(limbs_[i]));
      const auto bits = static_cast<std::uint64_t>(two << (64U - width) >> (128U - first));
      return static_cast<std::uint64_t>(64U * i + width) << first | bits;
    }
    return 0;
  }

  [[nodiscard]] std::strong_ordering operator<=>(const Wide& other) const {
    return std::lexicographical_compare_three_way(limbs_.rbegin(), limbs_.rend(), other.limbs_.rbegin(),
                                                  other.limbs_.rend());
  }

 private:
  std::array<std::uint64_t, 4> limbs_{};
};

/// The value of a term for a rectangle; the denominator is 1 except for ratios.
struct Value {
  Wide numerator;
  Large denominator = 1;
};

std::strong_ordering compare(const Value& a, const Value& b) {
  if (a.denominator == b.denominator) return a.numerator <=> b.numerator;
  return a.numerator.times(b.denominator) <=> b.numerator.times(a.denominator);
}

Large key_of(const Rectangle& rectangle, SortKey key) {
  switch (key) {
    case SortKey::duration:
      return static_cast<Large>(rectangle.life.upper - rectangle.life.lower);
    case SortKey::size:
      return static_cast<Large>(rectangle.size);
    case SortKey::overlap:
      break;
  }
  return rectangle.overlap;
}

Value value_of(const Rectangle& rectangle, const SortTerm& term) {
  const Large first = key_of(rectangle, term.keys.front());
  if (term.combination == Combination::ratio) return {Wide(first), key_of(rectangle, term.keys.back())};
  Large sum = first;
  Wide product(first);
  for (std::size_t k = 1; k < term.keys.size(); ++k) {
    const Large key = key_of(rectangle, term.keys[k]);
    sum += key;
    product = product.times(key);
  }
  return {term.combination == Combination::sum ? Wide(sum) : product};
}

using StartOrEnd = std::pair<Position, std::size_t>;  ///< When a buffer starts or ends, and its index.

/// The integral of the number alive, from the start of time; positions must not fall from call to call.
class Area {
 public:
  Area(std::span<const StartOrEnd> starts, std::span<const StartOrEnd> ends) : starts_(starts), ends_(ends) {}

  Large at(Position t) { return starts_.passed(t) - ends_.passed(t); }

 private:
  class Side {
   public:
    explicit Side(std::span<const StartOrEnd> events) : events_(events) {}

    /// The sum of t - event over the events before t.
    Large passed(Position t) {
      for (; count_ < events_.size() && events_[count_].first < t; ++count_)
        sum_ += static_cast<Large>(events_[count_].first);
      return static_cast<Large>(t) * count_ - sum_;
    }

   private:
    std::span<const StartOrEnd> events_;
    std::size_t count_ = 0;
    Large sum_ = 0;
  };

  Side starts_;
  Side ends_;
};

constexpr std::size_t most_keys = 3;
constexpr std::string_view expected =
    "one to three of duration, size and overlap, combined by +, * or / (two keys) into terms, terms "
    "separated "
    "by commas, a leading - for ascending";

[[noreturn]] void reject(std::string_view text, std::string_view why) {
  throw UsageError(base::concat("--sort ", base::quoted(text), ": ", why, "; expected ", expected));
}

constexpr std::array<std::string_view, 3> key_names{"duration", "size",
                                                    "overlap"};  // in the order of SortKey
constexpr std::string_view signs = "+*/";                        // of Combination

std::optional<SortKey> key_named(std::string_view name) {
  const auto found = std::find(key_names.begin(), key_names.end(), name);
  if (found == key_names.end()) return std::nullopt;
  return static_cast<SortKey>(found - key_names.begin());
}

SortTerm parse_term(std::string_view term, std::string_view text) {
  SortTerm parsed;
  term = base::trim(term);
  if (term.starts_with('-')) {
    parsed.ascending = true;
    term.remove_prefix(1);
  }
  const std::size_t at = term.find_first_of(signs);
  const char sign = at == std::string_view::npos ? '+' : term[at];
  parsed.combination = static_cast<Combination>(signs.find(sign));
  for (const std::string_view name : base::split(term, sign)) {
    const auto key = key_named(base::trim(name));
    if (!key) reject(text, base::concat(base::quoted(base::trim(name)), " is no key"));
    parsed.keys.push_back(*key);
  }
  if (parsed.combination == Combination::ratio && parsed.keys.size() > 2) {
    reject(text, "a ratio has two keys");
  }
  return parsed;
}

}  // namespace

std::vector<Rectangle> rectangles_of(std::span<const Buffer> buffers) {
  std::vector<Lifetime> lives;
  std::vector<StartOrEnd> starts;
  std::vector<StartOrEnd> ends;
  lives.reserve(buffers.size());
  starts.reserve(buffers.size());
  ends.reserve(buffers.size());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    lives.push_back(life_of(buffers[b]));
    if (lives.back().lower == lives.back().upper) continue;
    starts.emplace_back(lives.back().lower, b);
    ends.emplace_back(lives.back().upper, b);
  }
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  std::vector<Large> overlaps(buffers.size(), 0);  // intermediate values may be below 0: modulo 2^128
  Area until_end(starts, ends);
  for (const auto& [end, b] : ends) overlaps[b] += until_end.at(end);
  Area until_start(starts, ends);
  for (const auto& [start, b] : starts) overlaps[b] -= until_start.at(start);
  std::vector<Rectangle> rectangles;
  rectangles.reserve(starts.size());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const auto& [lower, upper] = lives[b];
    if (lower == upper || buffers[b].pinned) continue;
    rectangles.push_back({b, lives[b], buffers[b].size, overlaps[b] - static_cast<Large>(upper - lower)});
  }
  return rectangles;
}

SortOrder parse_sort_order(std::string_view text) {
  SortOrder order;
  std::size_t keys = 0;
  for (const std::string_view term : base::split(text, ',')) {
    order.push_back(parse_term(term, text));
    keys += order.back().keys.size();
  }
  if (keys > most_keys) reject(text, base::concat(keys, " keys"));
  return order;
}

std::string text_of(const SortOrder& order) {
  std::string text;
  for (const SortTerm& term : order) {
    if (!text.empty()) text += ',';
    if (term.ascending) text += '-';
    for (std::size_t k = 0; k < term.keys.size(); ++k) {
      if (k > 0) text += signs[static_cast<std::size_t>(term.combination)];
      text += key_names[static_cast<std::size_t>(term.keys[k])];
    }
  }
  return text;
}

void sort_rectangles(std::vector<Rectangle>& rectangles, const SortOrder& order) {
  std::vector<Value> values;  // of rectangle r and term t at r * terms + t
  values.reserve(rectangles.size() * order.size());
  for (const Rectangle& rectangle : rectangles) {
    for (const SortTerm& term : order) values.push_back(value_of(rectangle, term));
  }
  struct Sorted {
    std::uint64_t lead = 0;  ///< Decides most comparisons, except of ratios.
    std::size_t rectangle = 0;
  };
  const bool has_ratios = order[0].combination == Combination::ratio;
  std::vector<Sorted> sorted;
  sorted.reserve(rectangles.size());
  for (std::size_t r = 0; r < rectangles.size(); ++r) {
    const std::uint64_t lead = has_ratios ? 0 : values[r * order.size()].numerator.lead();
    sorted.push_back({order[0].ascending ? lead : ~lead, r});
  }
  std::sort(sorted.begin(), sorted.end(), [&](const Sorted& a, const Sorted& b) {
    if (a.lead != b.lead) return a.lead < b.lead;
    for (std::size_t t = 0; t < order.size(); ++t) {
      const auto decided =
          compare(values[a.rectangle * order.size() + t], values[b.rectangle * order.size() + t]);
      if (decided != 0) return order[t].ascending ? decided < 0 : decided > 0;
    }
    return a.rectangle < b.rectangle;
  });
  std::vector<Rectangle> result;
  result.reserve(rectangles.size());
  for (const Sorted& it : sorted) result.push_back(rectangles[it.rectangle]);
  rectangles = std::move(result);
}

}  // namespace stowage::pack
