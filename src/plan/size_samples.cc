#include "plan/size_samples.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace stowage::plan {
namespace {

constexpr std::int64_t few = 256;
constexpr std::int64_t most_of_all = 65536;
constexpr std::int64_t next_to_largest = 48;
constexpr std::int64_t next_to_least = 8;
constexpr int at_random = 48;

/// Steps from the least to the largest size.
std::int64_t steps_of(const SizeSymbol& symbol) { return (symbol.most - symbol.least) / symbol.step; }

/// Whether there are at most so many sizes.
bool has_at_most(std::int64_t most, std::span<const SizeSymbol> symbols) {
  for (const SizeSymbol& symbol : symbols) most /= steps_of(symbol) + 1;
  return most > 0;
}

std::vector<SizeValues> every_size(std::span<const SizeSymbol> symbols) {
  std::vector<SizeValues> all{{}};
  for (const SizeSymbol& symbol : symbols) {
    std::vector<SizeValues> longer;
    for (const SizeValues& values : all) {
      for (std::int64_t step = steps_of(symbol); step >= 0; --step) {
        longer.push_back(values);
        longer.back().push_back(symbol.least + step * symbol.step);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// Draws sizes: every second one so that small ones are as likely as large ones.
class Drawing {
 public:
  explicit Drawing(std::span<const SizeSymbol> symbols, std::uint64_t seed)
      : symbols_(symbols), random_(seed) {}

  SizeValues draw() {
    is_even_ = !is_even_;
    SizeValues values;
    for (const SizeSymbol& symbol : symbols_) {
      const double steps = static_cast<double>(steps_of(symbol)) + 1;
      const double part = is_even_ ? chance() * steps : std::pow(steps + 1, chance()) - 1;
      values.push_back(symbol.least +
                       std::min(static_cast<std::int64_t>(part), steps_of(symbol)) * symbol.step);
    }
    return values;
  }

 private:
  double chance() {
    constexpr double all = 4294967296.0;
    return static_cast<double>(random_() >> 32U) / all;
  }

  std::span<const SizeSymbol> symbols_;
  std::mt19937_64 random_;
  bool is_even_ = false;
};

}  // namespace

SizeSamples size_samples(std::span<const SizeSymbol> symbols) {
  if (has_at_most(few, symbols)) return {every_size(symbols), true};
  SizeValues largest;
  for (const SizeSymbol& symbol : symbols) largest.push_back(symbol.most);
  SizeSamples samples{.values = {largest}};
  std::set<SizeValues> known{largest};
  const auto add = [&](SizeValues values) {
    if (known.insert(values).second) samples.values.push_back(std::move(values));
  };
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    const SizeSymbol& symbol = symbols[s];
    SizeValues values = largest;
    for (std::int64_t step = 1; step <= std::min(next_to_largest, steps_of(symbol)); ++step) {
      values[s] = symbol.most - step * symbol.step;
      add(values);
    }
    for (std::int64_t step = 0; step <= std::min(next_to_least, steps_of(symbol)); ++step) {
      values[s] = symbol.least + step * symbol.step;
      add(values);
    }
  }
  Drawing drawing(symbols, 0);
  for (int i = 0; i < at_random; ++i) add(drawing.draw());
  return samples;
}

bool may_try_each(std::span<const SizeSymbol> symbols) { return has_at_most(most_of_all, symbols); }

std::vector<SizeValues> all_others(std::span<const SizeSymbol> symbols, std::span<const SizeValues> samples) {
  const std::set<SizeValues> known(samples.begin(), samples.end());
  std::vector<SizeValues> all = every_size(symbols);
  std::erase_if(all, [&](const SizeValues& values) { return known.contains(values); });
  return all;
}

std::vector<SizeValues> other_samples(std::span<const SizeSymbol> symbols,
                                      std::span<const SizeValues> samples, std::size_t count) {
  std::set<SizeValues> known(samples.begin(), samples.end());
  std::vector<SizeValues> others;
  Drawing drawing(symbols, 1);
  constexpr std::size_t tries_for_one = 8;
  for (std::size_t i = 0; i < count * tries_for_one && others.size() < count; ++i) {
    SizeValues values = drawing.draw();
    if (known.insert(values).second) others.push_back(std::move(values));
  }
  return others;
}

}  // namespace stowage::plan
