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
// at one scenario. Where one leaves more than half a percent, the best two or three of all stackings so far are chosen,
// and each of them is improved beside the others.
//
// Most moves are given up at the scenario that was worst before. Cost: buffers for each of these, buffers * scenarios for
// the others.

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
constexpr std::size_t starts = 24;            // scenarios whose own stackings are tried first
constexpr std::size_t improved_starts = 3;    // of these, alone
constexpr std::size_t starts_at_worst = 8;    // then those of scenarios that are worst so far
constexpr std::size_t most_improvements = 6;  // of one beside the others
constexpr double good_enough = 1.005;         // more stackings are looked for above this
constexpr double nothing_left = 1.0001;       // of peak over live bytes
constexpr std::size_t most_scenarios = 24;
constexpr std::size_t first_scenarios = 6;
constexpr int moves_per_round = 5000;
constexpr int most_rounds = 10;
constexpr double cold = 0.0005;  // of the ratio, at the beginning
constexpr double warm = 0.01;
constexpr std::int64_t work_per_step = 2;

/// The greatest height over a range of times, which rises over a range. Most lives are short, and blocks of times make
/// long ones quick.
class Skyline {
 public:
  explicit Skyline(std::size_t times)
      : heights_(times), highest_(times / block + 1), everywhere_(times / block + 1) {}

  [[nodiscard]] Bytes highest(const Lifetime& life) const {
    Bytes highest = 0;
    for_each_part(life, [&](std::size_t b, std::size_t begin, std::size_t end) {
      if (end - begin == block) {
        highest = std::max(highest, highest_[b]);
        return;
      }
      highest = std::max(highest, everywhere_[b]);
      for (std::size_t time = begin; time < end; ++time) highest = std::max(highest, heights_[time]);
    });
    return highest;
  }

  /// To a height that is at least the greatest of the range.
  void raise(const Lifetime& life, Bytes height) {
    for_each_part(life, [&](std::size_t b, std::size_t begin, std::size_t end) {
      highest_[b] = std::max(highest_[b], height);
      if (end - begin == block) {
        everywhere_[b] = height;
      } else {
        for (std::size_t time = begin; time < end; ++time) heights_[time] = height;
      }
    });
  }

 private:
  static constexpr std::size_t block = 32;

  /// Visits the times of a life, block by block.
  template <typename Visit>
  static void for_each_part(const Lifetime& life, Visit visit) {
    const auto last = static_cast<std::size_t>(life.upper);
    for (auto begin = static_cast<std::size_t>(life.lower); begin < last;) {
      const std::size_t b = begin / block;
      const std::size_t end = std::min(last, (b + 1) * block);
      visit(b, begin, end);
      begin = end;
    }
  }

  std::vector<Bytes> heights_;     ///< At each time, but for what holds everywhere in its block.
  std::vector<Bytes> highest_;     ///< Anywhere in the block.
  std::vector<Bytes> everywhere_;  ///< In the block, at least.
};

double ratio_of(Bytes peak, const Scenario& scenario) {
  return scenario.load == 0 ? 1 : static_cast<double>(peak) / static_cast<double>(scenario.load);
}

/// Improves one stacking beside others that stay.
class Annealing {
 public:
  /// `beside` has the lowest ratio of the others at each of all scenarios. Attempts differ.
  Annealing(const StackedLives& lives, std::span<const Scenario> all, std::vector<double> beside,
            Stacking start, std::size_t attempt, double warmest, const base::Deadline& deadline)
      : lives_(lives),
        all_(all),
        beside_(std::move(beside)),
        best_(std::move(start)),
        warmest_(warmest),
        deadline_(deadline),
        random_(attempt) {}

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

  /// None if it costs more than the limit. The scenario that was worst is asked first.
  [[nodiscard]] std::optional<Value> value_of(const Stacking& stacking, std::size_t first,
                                              double limit) const {
    Value value;
    double worst = 0, sum = 0;
    const auto add = [&](std::size_t s) {
      const double ratio = ratio_at(stacking, s);
      if (ratio > worst) value.worst = s;
      worst = std::max(worst, ratio);
      sum += ratio;
      return worst + share_of_mean <= limit;  // the mean is at least 1
    };
    if (!add(first)) return std::nullopt;
    for (const std::size_t s : chosen_)
      if (s != first && !add(s)) return std::nullopt;
    value.cost = worst + share_of_mean * sum / static_cast<double>(chosen_.size());
    return value.cost <= limit ? std::optional(value) : std::nullopt;
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
    constexpr double any = std::numeric_limits<double>::infinity();
    Value at = *value_of(current, chosen_[0], any);
    double lowest = at.cost;
    std::vector<std::size_t> way = way_to_top(current, all_[at.worst].sizes);
    for (int move = 0; move < moves_per_round && !deadline_.is_over(); ++move) {
      if (lowest <= nothing_left * (1 + share_of_mean)) return;
      const double warmth = warmest_ * (1 - static_cast<double>(move) / moves_per_round);
      Stacking next = moved(current, way[random_() % way.size()]);
      const auto value = value_of(next, at.worst, at.cost - warmth * std::log(1 - chance()));
      if (!value) continue;
      current = std::move(next);
      at = *value;
      way = way_to_top(current, all_[at.worst].sizes);
      if (at.cost >= lowest) continue;
      best_ = current;
      lowest = at.cost;
    }
  }

  /// A buffer moves next to another one of its time.
  Stacking moved(Stacking stacking, std::size_t buffer) {
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

  static constexpr double share_of_mean = 0.05;

  const StackedLives& lives_;
  std::span<const Scenario> all_;
  std::vector<double> beside_;
  Stacking best_;
  double warmest_;
  const base::Deadline& deadline_;
  std::vector<std::size_t> chosen_{};
  std::mt19937_64 random_;  // the same numbers everywhere
};

/// Stackings, of which a few are chosen: the worst of all scenarios is lowest if each has the best of these.
class Choice {
 public:
  Choice(const StackedLives& lives, std::span<const Scenario> scenarios)
      : lives_(lives), scenarios_(scenarios) {}

  void add(Stacking stacking) {
    std::vector<double> ratios;
    for (const Scenario& it : scenarios_)
      ratios.push_back(ratio_of(peak_of(lives_.offsets_of(stacking, it.sizes), it.sizes), it));
    stackings_.push_back(std::move(stacking));
    ratios_.push_back(std::move(ratios));
  }

  [[nodiscard]] const std::vector<Stacking>& stackings() const { return stackings_; }

  /// At each scenario.
  [[nodiscard]] std::vector<double> lowest(const std::vector<std::size_t>& chosen) const {
    std::vector<double> lowest(scenarios_.size(), std::numeric_limits<double>::infinity());
    for (const std::size_t it : chosen) lower(lowest, it);
    return lowest;
  }
  [[nodiscard]] double worst_of(const std::vector<std::size_t>& chosen) const {
    return std::ranges::max(lowest(chosen));
  }
  [[nodiscard]] std::size_t worst_scenario(const std::vector<std::size_t>& chosen) const {
    const std::vector<double> ratios = lowest(chosen);
    return static_cast<std::size_t>(std::ranges::max_element(ratios) - ratios.begin());
  }

  /// So many that are best alone, or all.
  [[nodiscard]] std::vector<std::size_t> best_alone(std::size_t count) const {
    std::vector<std::size_t> all(stackings_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::ranges::stable_sort(all, {}, [&](std::size_t it) { return std::ranges::max(ratios_[it]); });
    all.resize(std::min(all.size(), count));
    return all;
  }

  /// At most so many; fewer if one more makes nothing better, or what they reach is good enough.
  [[nodiscard]] std::vector<std::size_t> best(std::size_t most) const {
    std::vector<std::size_t> best = best_alone(1);
    for (std::size_t count = 2; count <= most && worst_of(best) > good_enough; ++count) {
      double reached = worst_of(best);
      try_more({}, lowest({}), count, reached, best);
    }
    return best;
  }

 private:
  void lower(std::vector<double>& ratios, std::size_t stacking) const {
    for (std::size_t s = 0; s < ratios.size(); ++s) ratios[s] = std::min(ratios[s], ratios_[stacking][s]);
  }

  /// Tries all that `chosen` becomes with more of the later ones.
  void try_more(std::vector<std::size_t> chosen, const std::vector<double>& ratios, std::size_t more,
                double& reached, std::vector<std::size_t>& best) const {
    for (std::size_t next = chosen.empty() ? 0 : chosen.back() + 1; next < stackings_.size(); ++next) {
      std::vector<double> lowered = ratios;
      lower(lowered, next);
      chosen.push_back(next);
      if (more > 1) {
        try_more(chosen, lowered, more - 1, reached, best);
      } else if (const double worst = std::ranges::max(lowered); worst < reached) {
        reached = worst;
        best = chosen;
      }
      chosen.pop_back();
    }
  }

  const StackedLives& lives_;
  std::span<const Scenario> scenarios_;
  std::vector<Stacking> stackings_{};
  std::vector<std::vector<double>> ratios_{};  ///< Of each stacking at each scenario.
};

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
  Choice choice(lives, scenarios);
  const std::size_t distance = std::max<std::size_t>(1, scenarios.size() / starts);
  for (std::size_t s = 0; s < scenarios.size(); s += distance) choice.add(stack(scenarios[s]));
  std::size_t attempt = 0;
  bool is_cut =
      false;  // many buffers go down sooner if it is cold, few get out of where they are if it is warm
  const auto improve = [&](const std::vector<std::size_t>& beside, std::size_t from, double part) {
    const base::Deadline own = deadline.part(part);
    const double warmest = is_cut || attempt % 2 == 0 ? cold : warm;
    choice.add(
        Annealing(lives, scenarios, choice.lowest(beside), choice.stackings()[from], attempt++, warmest, own)
            .run());
    is_cut = own.is_over();
  };
  constexpr double part_of_one = 0.1;
  for (const std::size_t it : choice.best_alone(improved_starts)) {
    if (choice.worst_of(choice.best(1)) <= nothing_left) break;
    improve({}, it, part_of_one);
  }
  std::vector<std::size_t> chosen = choice.best(1);
  for (std::size_t i = 0; i < starts_at_worst && choice.worst_of(chosen) > good_enough; ++i) {
    const std::size_t worst = choice.worst_scenario(chosen);
    choice.add(stack(scenarios[worst]));
    chosen = choice.best(most_stackings);
  }
  for (std::size_t i = 0; i < most_improvements && choice.worst_of(chosen) > good_enough; ++i) {
    std::vector<std::size_t> beside = chosen;
    const std::size_t from = beside[i % beside.size()];
    if (beside.size() == most_stackings || i % 2 == 0) std::erase(beside, from);  // else one more
    improve(beside, from, 1 / static_cast<double>(most_improvements - i + 1));
    chosen = choice.best(most_stackings);
  }
  std::vector<Stacking> found;
  for (const std::size_t it : chosen) found.push_back(choice.stackings()[it]);
  return found;
}

}  // namespace stowage::plan
