// Who lies above whom, for sizes that are open. A stacking is an order of all buffers; in this order, each is put on
// top of what is there during its life:
//
//     c |      ###### |        stacking a, b, c: a is below b, b below c, and a below c, whatever their sizes are.
//     b | #######     |        The peak is the longest way upwards.
//     a |    ######   |
//
// The peak over live bytes, at worst of some scenarios of sizes, is lowered by annealing: take a way to the top at the
// worst scenario, and move one of its buffers next to another one that lives at the same time. Scenarios are few at
// first; the worst of the others join them, until none is worse (counterexamples). It starts from stackings that are good
// at one scenario. Where one leaves more than half a percent, a second and a third one are looked for, beside the first:
// from the one for the scenario that is worst so far, too.
//
// Cost: buffers * log(buffers) * scenarios for each move.

#include "plan/relation_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <utility>

namespace stowage::plan {
namespace {

constexpr std::size_t most_stackings = 3;
constexpr std::size_t first_starts = 8;     // scenarios whose own stackings are tried first
constexpr std::size_t improved_starts = 3;  // of these
constexpr double good_enough = 1.005;       // more stackings are looked for above this
constexpr double nothing_left = 1.0001;     // of peak over live bytes
constexpr std::size_t most_scenarios = 24;
constexpr std::size_t first_scenarios = 6;
constexpr int moves_per_round = 1500;
constexpr int most_rounds = 10;
constexpr double warmest = 0.02;  // of the ratio
constexpr std::int64_t work_per_step = 8;

/// The greatest height over a range of times, which rises over a range.
class Skyline {
 public:
  explicit Skyline(std::size_t times) : leaves_(std::bit_ceil(std::max<std::size_t>(times, 1))) {
    highest_.resize(2 * leaves_);
    raised_.resize(2 * leaves_);
  }

  [[nodiscard]] Bytes highest(const Lifetime& life) const { return highest(1, 0, leaves_, life); }
  void raise(const Lifetime& life, Bytes height) { raise(1, 0, leaves_, life, height); }

 private:
  [[nodiscard]] Bytes highest(std::size_t node, std::size_t begin, std::size_t end,
                              const Lifetime& life) const {
    if (is_apart(begin, end, life)) return 0;
    if (is_within(begin, end, life)) return highest_[node];
    const std::size_t middle = (begin + end) / 2;
    return std::max(raised_[node], std::max(highest(2 * node, begin, middle, life),
                                            highest(2 * node + 1, middle, end, life)));
  }

  void raise(std::size_t node, std::size_t begin, std::size_t end, const Lifetime& life, Bytes height) {
    if (is_apart(begin, end, life)) return;
    highest_[node] = std::max(highest_[node], height);
    if (is_within(begin, end, life)) {
      raised_[node] = std::max(raised_[node], height);
      return;
    }
    const std::size_t middle = (begin + end) / 2;
    raise(2 * node, begin, middle, life, height);
    raise(2 * node + 1, middle, end, life, height);
  }

  static bool is_apart(std::size_t begin, std::size_t end, const Lifetime& life) {
    return static_cast<Position>(begin) >= life.upper || static_cast<Position>(end) <= life.lower;
  }
  static bool is_within(std::size_t begin, std::size_t end, const Lifetime& life) {
    return static_cast<Position>(begin) >= life.lower && static_cast<Position>(end) <= life.upper;
  }

  std::size_t leaves_;
  std::vector<Bytes> highest_;  ///< Anywhere below the node.
  std::vector<Bytes> raised_;   ///< Everywhere below the node.
};

double ratio_of(Bytes peak, const Scenario& scenario) {
  return scenario.load == 0 ? 1 : static_cast<double>(peak) / static_cast<double>(scenario.load);
}

/// Improves one stacking beside others that stay.
class Annealing {
 public:
  /// `beside` has the lowest ratio of the stackings so far at each of all scenarios.
  Annealing(const StackedLives& lives, std::span<const Scenario> all, std::vector<double> beside,
            Stacking start, const base::Deadline& deadline)
      : lives_(lives), all_(all), beside_(std::move(beside)), best_(std::move(start)), deadline_(deadline) {}

  Stacking run() {
    choose_scenarios();
    for (int round = 0; round < most_rounds && !deadline_.is_over(); ++round) {
      improve();
      if (!add_worst()) break;
    }
    return std::move(best_);
  }

 private:
  /// The worst ratio, and the scenario that has it; a little of the mean, so that equal ones differ.
  struct Value {
    double cost = 0;
    std::size_t worst = 0;
  };

  Value value_of(const Stacking& stacking) const {
    Value value;
    double worst = 0, sum = 0;
    for (const std::size_t s : chosen_) {
      const double ratio = ratio_at(stacking, s);
      if (ratio > worst) value.worst = s;
      worst = std::max(worst, ratio);
      sum += ratio;
    }
    constexpr double share_of_mean = 0.05;
    value.cost = worst + share_of_mean * sum / static_cast<double>(chosen_.size());
    return value;
  }

  [[nodiscard]] double ratio_at(const Stacking& stacking, std::size_t s) const {
    deadline_.spend(static_cast<std::int64_t>(lives_.size()) * work_per_step *
                    static_cast<std::int64_t>(std::bit_width(lives_.size())));
    const std::vector<Bytes> offsets = lives_.offsets_of(stacking, all_[s].sizes);
    return std::min(beside_[s], ratio_of(peak_of(offsets, all_[s].sizes), all_[s]));
  }

  void choose_scenarios() {
    const std::size_t step = std::max<std::size_t>(1, all_.size() / first_scenarios);
    for (std::size_t s = 0; s < all_.size(); s += step) chosen_.push_back(s);
  }

  /// The worst of the scenarios that are not chosen, if it is worse than what is reached.
  bool add_worst() {
    if (chosen_.size() >= std::min(most_scenarios, all_.size())) return false;
    double reached = 0;
    for (const std::size_t s : chosen_) reached = std::max(reached, ratio_at(best_, s));
    std::optional<std::size_t> worst;
    double of_worst = std::max(reached, nothing_left);
    for (std::size_t s = 0; s < all_.size(); ++s) {
      if (std::ranges::find(chosen_, s) != chosen_.end()) continue;
      const double ratio = ratio_at(best_, s);
      if (ratio <= of_worst) continue;
      of_worst = ratio;
      worst = s;
    }
    if (!worst) return false;
    chosen_.push_back(*worst);
    return true;
  }

  void improve() {
    Stacking current = best_;
    Value at = value_of(current);
    Value of_best = at;
    for (int move = 0; move < moves_per_round && !deadline_.is_over(); ++move) {
      if (of_best.cost <= nothing_left * (1 + share_when_done)) return;
      const double warmth = warmest * (1 - static_cast<double>(move) / moves_per_round);
      Stacking next = moved(current, at.worst);
      const Value value = value_of(next);
      const double worse = value.cost - at.cost;
      if (worse > 0 && (warmth <= 0 || chance() >= std::exp(-worse / (warmth / most_rounds)))) continue;
      current = std::move(next);
      at = value;
      if (at.cost >= of_best.cost) continue;
      best_ = current;
      of_best = at;
    }
  }

  /// A buffer on a way to the top moves next to another one of its time.
  Stacking moved(Stacking stacking, std::size_t scenario) {
    const std::vector<std::size_t> way = way_to_top(stacking, all_[scenario].sizes);
    const std::size_t buffer = way[random_() % way.size()];
    std::erase(stacking, buffer);
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < stacking.size(); ++i)
      if (lives_.overlap(stacking[i], buffer)) others.push_back(i);
    const std::size_t at = others.empty() ? random_() % (stacking.size() + 1)
                                          : others[random_() % others.size()] + random_() % 2;
    stacking.insert(stacking.begin() + static_cast<std::ptrdiff_t>(at), buffer);
    return stacking;
  }

  [[nodiscard]] std::vector<std::size_t> way_to_top(const Stacking& stacking,
                                                    std::span<const Bytes> sizes) const {
    const std::vector<Bytes> offsets = lives_.offsets_of(stacking, sizes);
    std::size_t at = stacking[0];
    for (const std::size_t b : stacking)
      if (offsets[b] + sizes[b] > offsets[at] + sizes[at]) at = b;
    std::vector<std::size_t> way{at};
    while (offsets[at] > 0) {
      const auto is_below = [&](std::size_t b) {
        return b != at && sizes[b] > 0 && offsets[b] + sizes[b] == offsets[at] && lives_.overlap(b, at);
      };
      const auto below = std::ranges::find_if(stacking, is_below);
      if (below == stacking.end()) break;
      at = *below;
      way.push_back(at);
    }
    return way;
  }

  double chance() {
    constexpr double all = 4294967296.0;
    return static_cast<double>(random_() >> 32U) / all;
  }

  static constexpr double share_when_done = 0.05;

  const StackedLives& lives_;
  std::span<const Scenario> all_;
  std::vector<double> beside_;
  Stacking best_;
  const base::Deadline& deadline_;
  std::vector<std::size_t> chosen_{};
  std::mt19937_64 random_{};  // the same numbers everywhere
};

/// The ratio of a stacking at each scenario.
std::vector<double> ratios_of(const StackedLives& lives, std::span<const Scenario> scenarios,
                              const Stacking& stacking) {
  std::vector<double> ratios;
  for (const Scenario& it : scenarios)
    ratios.push_back(ratio_of(peak_of(lives.offsets_of(stacking, it.sizes), it.sizes), it));
  return ratios;
}

}  // namespace

StackedLives::StackedLives(std::vector<Lifetime> lives) : lives_(std::move(lives)) {
  std::vector<Position> times;
  for (const Lifetime& life : lives_) {
    times.push_back(life.lower);
    times.push_back(life.upper);
  }
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  const auto rank = [&](Position at) {
    return static_cast<Position>(std::ranges::lower_bound(times, at) - times.begin());
  };
  for (const Lifetime& life : lives_) ranks_.push_back({rank(life.lower), rank(life.upper)});
  times_ = times.size();
}

Scenario StackedLives::scenario_of(std::vector<Bytes> sizes) const {
  std::vector<Bytes> change(times_ + 1);
  for (std::size_t b = 0; b < size(); ++b) {
    change[static_cast<std::size_t>(ranks_[b].lower)] += sizes[b];
    change[static_cast<std::size_t>(ranks_[b].upper)] -= sizes[b];
  }
  Bytes live = 0, load = 0;
  for (const Bytes it : change) {
    live += it;
    load = std::max(load, live);
  }
  return {std::move(sizes), load};
}

std::vector<Bytes> StackedLives::offsets_of(const Stacking& stacking, std::span<const Bytes> sizes) const {
  Skyline skyline(times_);
  std::vector<Bytes> offsets(size());
  for (const std::size_t b : stacking) {
    if (ranks_[b].lower == ranks_[b].upper) continue;
    offsets[b] = skyline.highest(ranks_[b]);
    skyline.raise(ranks_[b], offsets[b] + sizes[b]);
  }
  return offsets;
}

bool StackedLives::overlap(std::size_t a, std::size_t b) const {
  return lives_[a].lower < lives_[b].upper && lives_[b].lower < lives_[a].upper;
}

Relation StackedLives::relation_of(const Stacking& stacking) const {
  std::vector<std::size_t> height(size());
  for (std::size_t i = 0; i < stacking.size(); ++i) height[stacking[i]] = i;
  std::vector<std::vector<std::size_t>> begins(times_), ends(times_);
  for (std::size_t b = 0; b < size(); ++b) {
    if (ranks_[b].lower >= ranks_[b].upper) continue;
    begins[static_cast<std::size_t>(ranks_[b].lower)].push_back(height[b]);
    ends[static_cast<std::size_t>(ranks_[b].upper)].push_back(height[b]);
  }
  std::vector<std::set<std::size_t>> below(size());
  std::set<std::size_t> live;
  const auto link_around = [&](std::size_t at_height) {
    const auto at = live.lower_bound(at_height);
    if (at == live.end()) return;
    if (at != live.begin()) below[stacking[*at]].insert(stacking[*std::prev(at)]);
    const auto above = std::next(at);
    if (above != live.end()) below[stacking[*above]].insert(stacking[*at]);
  };
  for (std::size_t time = 0; time < times_; ++time) {
    for (const std::size_t it : ends[time]) live.erase(it);
    for (const std::size_t it : begins[time]) live.insert(it);
    for (const auto* changed : {&ends[time], &begins[time]}) {
      for (const std::size_t it : *changed) link_around(it);
    }
  }
  Relation relation;
  for (const auto& it : below) relation.emplace_back(it.begin(), it.end());
  return relation;
}

Bytes peak_of(std::span<const Bytes> offsets, std::span<const Bytes> sizes) {
  Bytes peak = 0;
  for (std::size_t b = 0; b < offsets.size(); ++b) peak = std::max(peak, offsets[b] + sizes[b]);
  return peak;
}

std::vector<Stacking> search_stackings(const StackedLives& lives, std::span<const Scenario> scenarios,
                                       const StackFor& stack, const base::Deadline& deadline) {
  std::vector<Stacking> starts;
  const std::size_t distance = std::max<std::size_t>(1, scenarios.size() / first_starts);
  for (std::size_t s = 0; s < scenarios.size(); s += distance) starts.push_back(stack(scenarios[s]));
  std::vector<Stacking> found;
  std::vector<double> reached(scenarios.size(), std::numeric_limits<double>::infinity());
  for (std::size_t count = 0; count < most_stackings; ++count) {
    const auto with = [&](const Stacking& stacking) {
      std::vector<double> ratios = ratios_of(lives, scenarios, stacking);
      for (std::size_t s = 0; s < ratios.size(); ++s) ratios[s] = std::min(ratios[s], reached[s]);
      return ratios;
    };
    const auto worst_with = [&](const Stacking& it) { return std::ranges::max(with(it)); };
    if (!found.empty()) {
      const auto worst = std::ranges::max_element(reached) - reached.begin();
      starts.push_back(stack(scenarios[static_cast<std::size_t>(worst)]));
    }
    std::ranges::stable_sort(starts, {}, worst_with);
    Stacking best = starts[0];
    const std::size_t tries = std::min(improved_starts, starts.size());
    for (std::size_t i = 0; i < tries && worst_with(best) > nothing_left; ++i) {
      const base::Deadline own = deadline.part(1 / static_cast<double>(tries * (most_stackings - count) - i));
      Stacking next = Annealing(lives, scenarios, reached, starts[i], own).run();
      if (worst_with(next) < worst_with(best)) best = std::move(next);
    }
    if (!found.empty() && worst_with(best) >= std::ranges::max(reached)) break;
    reached = with(best);
    found.push_back(std::move(best));
    if (std::ranges::max(reached) <= good_enough) break;
  }
  return found;
}

}  // namespace stowage::plan
