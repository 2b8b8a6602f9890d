#include "model/size_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "base/checked.h"
#include "base/text.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using Kind = SizeTerm::Kind;

constexpr std::array<std::string_view, 6> kinds{"symbol", "sum", "product", "quotient", "least", "greatest"};

std::optional<std::int64_t> sum_of(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? base::checked_add(*a, *b) : std::nullopt;
}

std::optional<std::int64_t> product_of(std::optional<std::int64_t> a, std::int64_t b) {
  return a ? base::checked_multiply(*a, b) : std::nullopt;
}

/// A range of numbers; none if it reaches beyond what sizes may be.
std::optional<model::TermRange> sound(std::int64_t least, std::int64_t most) {
  if (least < -largest_value || most > largest_value) return std::nullopt;
  return std::pair(least, most);
}

/// The range of a product of two ranges.
std::optional<model::TermRange> product_of(const model::TermRange& a, const model::TermRange& b) {
  const std::array corners{
      base::checked_multiply(a.first, b.first), base::checked_multiply(a.first, b.second),
      base::checked_multiply(a.second, b.first), base::checked_multiply(a.second, b.second)};
  if (!std::ranges::all_of(corners, [](const auto& it) { return it.has_value(); })) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(corners);
  return sound(**least, **most);
}

/// The range of a sum: `number` and all parts with their factors.
std::optional<model::TermRange> sum_range(const SizeTerm& term, std::span<const model::TermRange> earlier) {
  std::optional<model::TermRange> sum = sound(term.number, term.number);
  for (const SizeTerm::Part& part : term.parts) {
    const auto product = product_of(earlier[part.term], {part.factor, part.factor});
    if (!sum || !product) return std::nullopt;
    sum = sound(sum->first + product->first, sum->second + product->second);
  }
  return sum;
}

}  // namespace

std::string_view name_of(SizeTerm::Kind kind) { return kinds.at(static_cast<std::size_t>(kind)); }

std::optional<SizeTerm::Kind> size_term_kind_named(std::string_view name) {
  const auto* const found = std::ranges::find(kinds, name);
  if (found == kinds.end()) return std::nullopt;
  return static_cast<SizeTerm::Kind>(found - kinds.begin());
}

std::optional<std::int64_t> model::result_of(const SizeTerm& term, std::span<const std::int64_t> earlier,
                                             std::span<const std::int64_t> symbols) {
  std::optional<std::int64_t> result = term.number;
  switch (term.kind) {
    case Kind::symbol:
      return symbols[term.parts[0].term];
    case Kind::sum:
      for (const SizeTerm::Part& part : term.parts)
        result = sum_of(result, product_of(std::optional(earlier[part.term]), part.factor));
      return result;
    case Kind::product:
      for (const SizeTerm::Part& part : term.parts) result = product_of(result, earlier[part.term]);
      return result;
    case Kind::quotient:
      if (earlier[term.parts[0].term] < 0) return std::nullopt;
      return earlier[term.parts[0].term] / term.number;
    case Kind::least:
      for (const SizeTerm::Part& part : term.parts) result = std::min(*result, earlier[part.term]);
      return result;
    case Kind::greatest:
      for (const SizeTerm::Part& part : term.parts) result = std::max(*result, earlier[part.term]);
      return result;
  }
  return std::nullopt;
}

std::optional<model::TermRange> model::range_of(const SizeTerm& term, std::span<const TermRange> earlier,
                                                std::span<const SizeSymbol> symbols) {
  std::optional<TermRange> range = sound(term.number, term.number);
  switch (term.kind) {
    case Kind::symbol: {
      const SizeSymbol& symbol = symbols[term.parts[0].term];
      return sound(symbol.least, symbol.most);
    }
    case Kind::sum:
      return sum_range(term, earlier);
    case Kind::product:
      for (const SizeTerm::Part& part : term.parts)
        range = range ? product_of(*range, earlier[part.term]) : std::nullopt;
      return range;
    case Kind::quotient: {
      const TermRange& whole = earlier[term.parts[0].term];
      if (whole.first < 0) return std::nullopt;
      return std::pair(whole.first / term.number, whole.second / term.number);
    }
    case Kind::least:
      for (const SizeTerm::Part& part : term.parts) {
        range->first = std::min(range->first, earlier[part.term].first);
        range->second = std::min(range->second, earlier[part.term].second);
      }
      return range;
    case Kind::greatest:
      for (const SizeTerm::Part& part : term.parts) {
        range->first = std::max(range->first, earlier[part.term].first);
        range->second = std::max(range->second, earlier[part.term].second);
      }
      return range;
  }
  return std::nullopt;
}

std::vector<std::int64_t> model::divisors_of(std::span<const SizeTerm> terms,
                                             std::span<const SizeSymbol> symbols) {
  std::vector<std::int64_t> divisors;
  for (const SizeTerm& term : terms) {
    std::int64_t divisor = std::abs(term.number);
    for (const SizeTerm::Part& part : term.parts) {
      const std::int64_t of_part = term.kind == Kind::symbol ? 0 : divisors[part.term];
      switch (term.kind) {
        case Kind::symbol:
          divisor = std::gcd(symbols[part.term].least, symbols[part.term].step);
          break;
        case Kind::product:  // what overflows divides nothing more
          divisor = base::checked_multiply(divisor, of_part).value_or(divisor);
          break;
        case Kind::quotient:
          divisor = of_part % term.number == 0 ? of_part / term.number : 1;
          break;
        case Kind::sum:
          divisor = std::gcd(divisor, base::checked_multiply(std::abs(part.factor), of_part).value_or(1));
          break;
        case Kind::least:
        case Kind::greatest:
          divisor = std::gcd(divisor, of_part);
          break;
      }
    }
    divisors.push_back(divisor);
  }
  return divisors;
}

std::vector<std::int64_t> model::results_of(std::span<const SizeTerm> terms,
                                            std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> results;
  results.reserve(terms.size());
  for (const SizeTerm& term : terms) {
    const auto result = result_of(term, results, symbols);
    if (!result) throw Error("", fmt::format("sizes {} overflow", fmt::join(symbols, ",")));
    results.push_back(*result);
  }
  return results;
}

void model::expect_in_range(std::span<const SizeSymbol> symbols, std::span<const std::int64_t> values) {
  if (symbols.size() != values.size())
    throw UsageError(fmt::format("{} values are given, expected {}, one for each open size", values.size(),
                                 symbols.size()));
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    const SizeSymbol& symbol = symbols[s];
    const bool is_within = values[s] >= symbol.least && values[s] <= symbol.most;
    if (is_within && (values[s] - symbol.least) % symbol.step == 0) continue;
    throw UsageError(fmt::format(
        "{} is {}, expected a size from {} to {}{}", base::quoted(symbol.name), values[s], symbol.least,
        symbol.most, symbol.step > 1 ? fmt::format(" in steps of {}", symbol.step) : std::string()));
  }
}

std::string model::text_of(const SizeTerm& term, std::span<const std::string> earlier,
                           std::span<const SizeSymbol> symbols) {
  const auto bracketed = [&](std::size_t of) {
    const std::string& text = earlier[of];
    const bool is_call = text.back() == ')' && text.find('(') != std::string::npos && text[0] != '(';
    return is_call || text.find(' ') == std::string::npos ? text : "(" + text + ")";
  };
  std::string text;
  const auto add = [&](bool is_negative, const std::string& more) {
    text += text.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
    text += more;
  };
  const auto listed = [&](std::string_view name) {
    std::vector<std::string> all{std::to_string(term.number)};
    for (const SizeTerm::Part& part : term.parts) all.push_back(earlier[part.term]);
    return fmt::format("{}({})", name, fmt::join(all, ", "));
  };
  switch (term.kind) {
    case Kind::symbol:
      return symbols[term.parts[0].term].name;
    case Kind::sum:
      for (const SizeTerm::Part& part : term.parts) {
        const std::int64_t factor = std::abs(part.factor);
        add(part.factor < 0,
            factor == 1 ? bracketed(part.term) : fmt::format("{}*{}", factor, bracketed(part.term)));
      }
      if (term.number != 0 || text.empty()) add(term.number < 0, std::to_string(std::abs(term.number)));
      return text;
    case Kind::product: {
      std::vector<std::string> all;
      if (term.number != 1 || term.parts.empty()) all.push_back(std::to_string(term.number));
      for (const SizeTerm::Part& part : term.parts) all.push_back(bracketed(part.term));
      return fmt::format("{}", fmt::join(all, "*"));
    }
    case Kind::quotient:
      return fmt::format("floor({} / {})", bracketed(term.parts[0].term), term.number);
    case Kind::least:
      return listed("min");
    case Kind::greatest:
      return listed("max");
  }
  return text;
}

}  // namespace stowage
