// Sizes of a network are made of few operations on sizes of its inputs: strides divide, concatenations add, reshapes
// multiply, slices limit. Here the results are given at some values of the symbols, and the operations are looked
// for, from symbols to sizes that are made of other sizes:
//
//     n        1   2   3   4   5   8        symbol
//     a        1   1   2   2   3   4        floor((n + 1) / 2)
//     b       64  64 128 128 192 256        64*a
//     c        1   2   6   8  15  32        a*n
//
// For one size of another: a line; a quotient of a line with a small divisor, whose added number is bounded by every
// result (floor((E + c) / n) = v says n*v - E <= c < n*v - E + n), or with one near the slope; a limit. Of two: a product
// or a sum, whose other part is looked up by its results. Sums of three are tried last.
//
// Cost: for each size that is looked for, readings * used sizes * divisors, and * used sizes again for sums of three.

#include "plan/size_fitting.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

using Kind = SizeTerm::Kind;

constexpr std::int64_t most_divisor = 64;
constexpr std::int64_t most_factor = 8;
constexpr std::int64_t most_of_large_divisors = 1024;  // to try
constexpr std::size_t most_used_for_three = 120;
constexpr std::int64_t most_result = std::int64_t{1} << 50;  // so that nothing here overflows

/// The differences to the first number.
Results less_first(const Results& results) {
  Results differences = results;
  for (std::int64_t& it : differences) it -= results[0];
  return differences;
}

std::int64_t common_divisor(const Results& results) {
  std::int64_t divisor = 0;
  for (const std::int64_t it : results) divisor = std::gcd(divisor, it);
  return divisor;
}

bool are_small(const Results& results) {
  const auto [low, high] = std::ranges::minmax(results);
  return low > -most_result && high < most_result;
}

bool are_positive(const Results& results) { return std::ranges::min(results) > 0; }

Results over(const Results& results, std::int64_t divisor) {
  Results parts = results;
  for (std::int64_t& it : parts) it /= divisor;
  return parts;
}

Results less(const Results& from, const Results& what) {
  Results differences = from;
  for (std::size_t r = 0; r < from.size(); ++r) differences[r] -= what[r];
  return differences;
}

}  // namespace

SizeFitting::SizeFitting(std::vector<SizeSymbol> symbols, std::vector<std::vector<std::int64_t>> readings)
    : symbols_(std::move(symbols)), readings_(std::move(readings)) {
  for (std::size_t s = 0; s < symbols_.size(); ++s)
    if (const auto term = add({.kind = Kind::symbol, .parts = {{s}}})) use(*term);
}

void SizeFitting::fit(std::vector<Results> wanted) {
  for (bool is_progress = true; is_progress;) {
    is_progress = false;
    std::vector<Results> left;
    for (Results& results : wanted) {
      if (const auto term = fit_one(results)) {
        use(*term);
        is_progress = true;
      } else {
        left.push_back(std::move(results));
      }
    }
    wanted = std::move(left);
  }
}

std::optional<std::size_t> SizeFitting::find(const Results& results) const {
  const auto found = found_.find(results);
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> SizeFitting::add(SizeTerm term) {
  const auto range = model::range_of(term, ranges_, symbols_);
  auto results = results_with(term);
  if (!range || !results) return std::nullopt;
  const auto [at, is_new] = found_.try_emplace(*results, terms_.size());
  if (!is_new) return at->second;
  terms_.push_back(std::move(term));
  results_.push_back(std::move(*results));
  ranges_.push_back(*range);
  return terms_.size() - 1;
}

std::size_t SizeFitting::append(SizeTerm term) {
  const auto range = model::range_of(term, ranges_, symbols_);
  auto results = results_with(term);
  if (!range || !results) throw Error("", "sizes overflow");
  terms_.push_back(std::move(term));
  results_.push_back(std::move(*results));
  ranges_.push_back(*range);
  return terms_.size() - 1;
}

/// What the term gives at the readings.
std::optional<Results> SizeFitting::results_with(const SizeTerm& term) const {
  Results results;
  std::vector<std::int64_t> earlier(terms_.size());
  for (std::size_t r = 0; r < readings_.size(); ++r) {
    for (const SizeTerm::Part& part : term.parts) {
      if (term.kind != Kind::symbol) earlier[part.term] = results_[part.term][r];
    }
    const auto result = model::result_of(term, earlier, readings_[r]);
    if (!result) return std::nullopt;
    results.push_back(*result);
  }
  return results;
}

/// Makes others of this term.
void SizeFitting::use(std::size_t term) {
  const Results& results = results_[term];
  if (std::ranges::find(used_, term) != used_.end() || !are_small(results)) return;
  used_.push_back(term);
  by_difference_.try_emplace(less_first(results), term);
  if (are_positive(results)) by_ratio_[over(results, common_divisor(results))].push_back(term);
}

std::optional<std::size_t> SizeFitting::fit_one(const Results& wanted) {
  if (const auto term = find(wanted)) return term;
  if (std::ranges::count(wanted, wanted[0]) == std::ssize(wanted)) return add({.number = wanted[0]});
  if (!are_small(wanted)) return std::nullopt;
  using Fit = std::optional<std::size_t> (SizeFitting::*)(const Results&, std::size_t);
  for (const Fit form : {&SizeFitting::fit_line, &SizeFitting::fit_quotient, &SizeFitting::fit_limit,
                         &SizeFitting::fit_product, &SizeFitting::fit_sum}) {
    for (std::size_t u = 0; u < used_.size(); ++u) {
      const auto term = (this->*form)(wanted, used_[u]);
      if (term && results_[*term] == wanted) return term;
    }
  }
  const auto term = fit_sum_of_three(wanted);
  return term && results_[*term] == wanted ? term : std::nullopt;
}

/// factor * term + added
std::optional<std::size_t> SizeFitting::add_line(std::size_t of, std::int64_t factor, std::int64_t added) {
  if (factor == 1 && added == 0) return of;
  if (added == 0) return add({.kind = Kind::product, .parts = {{of}}, .number = factor});
  return add({.kind = Kind::sum, .parts = {{of, factor}}, .number = added});
}

std::optional<std::size_t> SizeFitting::fit_line(const Results& wanted, std::size_t of) {
  const Results& base = results_[of];
  const auto other = std::ranges::find_if(base, [&](std::int64_t it) { return it != base[0]; });
  if (other == base.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(other - base.begin());
  const std::int64_t rise = wanted[at] - wanted[0], run = base[at] - base[0];
  if (rise % run != 0) return std::nullopt;
  const std::int64_t factor = rise / run;
  const auto product = base::checked_multiply(factor, base[0]);
  if (!product) return std::nullopt;
  const std::int64_t added = wanted[0] - *product;
  for (std::size_t r = 0; r < wanted.size(); ++r)
    if (static_cast<__int128>(factor) * base[r] + added != wanted[r]) return std::nullopt;
  return add_line(of, factor, added);
}

/// scale * floor((factor * term + added) / divisor) + rest
std::optional<std::size_t> SizeFitting::fit_quotient(const Results& wanted, std::size_t of) {
  const Results& base = results_[of];
  const std::int64_t scale = common_divisor(less_first(wanted));
  const std::int64_t rest = ((wanted[0] % scale) + scale) % scale;
  Results parts = wanted;
  for (std::int64_t& it : parts) it = (it - rest) / scale;
  const auto fit = [&](std::int64_t factor, std::int64_t divisor) -> std::optional<std::size_t> {
    std::int64_t least = -largest_value, most = largest_value;
    for (std::size_t r = 0; r < parts.size() && least <= most; ++r) {
      const std::int64_t bound = divisor * parts[r] - factor * base[r];
      least = std::max(least, bound);
      most = std::min(most, bound + divisor - 1);
    }
    if (least > most) return std::nullopt;
    const bool is_floor = least <= 0 && most >= 0;
    const bool is_ceiling = least <= divisor - 1 && most >= divisor - 1;
    const std::int64_t added = is_floor ? 0 : is_ceiling ? divisor - 1 : least;
    const auto whole = add_line(of, factor, added);
    if (!whole) return std::nullopt;
    const auto quotient = add({.kind = Kind::quotient, .parts = {{*whole}}, .number = divisor});
    return quotient ? add_line(*quotient, scale, rest) : std::nullopt;
  };
  for (std::int64_t divisor = 2; divisor <= most_divisor; ++divisor) {
    for (std::int64_t factor = 1; factor <= std::min(most_factor, divisor); ++factor) {
      if (std::gcd(divisor, factor) != 1) continue;
      if (const auto term = fit(factor, divisor)) return term;
    }
  }
  // A larger one is near the slope between the least and the greatest result.
  const auto [low, high] = std::ranges::minmax_element(parts);
  const std::int64_t rise = *high - *low, run = base[static_cast<std::size_t>(high - parts.begin())] -
                                                base[static_cast<std::size_t>(low - parts.begin())];
  if (rise < 2 || run <= most_divisor || rise >= most_result / run) return std::nullopt;
  const std::int64_t end = std::min((run - 1) / (rise - 1), run / (rise + 1) + most_of_large_divisors);
  for (std::int64_t divisor = std::max(most_divisor, run / (rise + 1)) + 1; divisor <= end; ++divisor)
    if (const auto term = fit(1, divisor)) return term;
  return std::nullopt;
}

/// min(limit, term + added) or max(limit, term + added)
std::optional<std::size_t> SizeFitting::fit_limit(const Results& wanted, std::size_t of) {
  const Results& base = results_[of];
  const auto [low, high] = std::ranges::minmax(wanted);
  for (const std::int64_t limit : {high, low}) {
    const auto free = std::ranges::find_if(wanted, [&](std::int64_t it) { return it != limit; });
    const auto at = static_cast<std::size_t>(free - wanted.begin());
    const std::int64_t added = wanted[at] - base[at];
    const auto limited = [&](std::int64_t it) {
      return limit == high ? std::min(limit, it + added) : std::max(limit, it + added);
    };
    bool fits = true;
    for (std::size_t r = 0; r < wanted.size() && fits; ++r) fits = wanted[r] == limited(base[r]);
    if (!fits) continue;
    if (const auto line = add_line(of, 1, added)) {
      return add({.kind = limit == high ? Kind::least : Kind::greatest, .parts = {{*line}}, .number = limit});
    }
  }
  return std::nullopt;
}

/// number * term * other / divisor
std::optional<std::size_t> SizeFitting::fit_product(const Results& wanted, std::size_t of) {
  const Results& base = results_[of];
  if (!are_positive(base) || !are_positive(wanted)) return std::nullopt;
  Results ratio = wanted;
  for (std::size_t r = 0; r < wanted.size(); ++r) {
    if (wanted[r] % base[r] != 0) return std::nullopt;
    ratio[r] /= base[r];
  }
  const std::int64_t divisor = common_divisor(ratio);
  const auto others = by_ratio_.find(over(ratio, divisor));
  if (others == by_ratio_.end()) return std::nullopt;
  const auto unit_of = [&](std::size_t term) { return common_divisor(results_[term]); };
  const std::size_t other = *std::ranges::min_element(others->second, {}, unit_of);
  const std::int64_t unit = unit_of(other), common = std::gcd(divisor, unit);
  const auto product = add({.kind = Kind::product, .parts = {{of}, {other}}, .number = divisor / common});
  if (!product || unit == common) return product;
  return add({.kind = Kind::quotient, .parts = {{*product}}, .number = unit / common});
}

/// other + term + number or other - term + number
std::optional<std::size_t> SizeFitting::fit_sum(const Results& wanted, std::size_t of) {
  for (const std::int64_t sign : {1, -1}) {
    Results rest = wanted;
    for (std::size_t r = 0; r < rest.size(); ++r) rest[r] -= sign * results_[of][r];
    const auto other = by_difference_.find(less_first(rest));
    if (other == by_difference_.end()) continue;
    return add({.kind = Kind::sum,
                .parts = {{other->second}, {of, sign}},
                .number = rest[0] - results_[other->second][0]});
  }
  return std::nullopt;
}

std::optional<std::size_t> SizeFitting::fit_sum_of_three(const Results& wanted) {
  if (used_.size() > most_used_for_three) return std::nullopt;
  for (std::size_t a = 0; a < used_.size(); ++a) {
    const Results without = less(wanted, results_[used_[a]]);
    for (std::size_t b = a; b < used_.size(); ++b) {
      const Results rest = less(without, results_[used_[b]]);
      const auto other = by_difference_.find(less_first(rest));
      if (other == by_difference_.end()) continue;
      return add({.kind = Kind::sum,
                  .parts = {{used_[a]}, {used_[b]}, {other->second}},
                  .number = rest[0] - results_[other->second][0]});
    }
  }
  return std::nullopt;
}

}  // namespace stowage::plan
