// Which buffers are in the fast memory when, and at which offsets, so that touches and copies cost least.
//
//     prices     of bytes at each position: what keeping a buffer there costs others          prices.cc
//     choose     stays within the capacity or some less, without offsets
//     pack       all of them, as if the memory were larger
//     evict      what sticks out above the capacity
//     ruin       take some needs that lie near a dear one out, and put them in again, at the offsets that are free
//
//     offset
//     C     - - - - - - - - -[b]- - - -      b sticks out: it is cut at its longest gap, or reads slow memory
//           [  a  ]   [  c  ]
//           [    d    ]  [  e   ]
//     0     -------------------------- position
//
// A need that is put in takes the cheapest stays that have room (needs.cc), prices included: so a long gap is kept
// only where few others want the bytes. A stay that finds no offset loses its longest gap, or its touch, and the need
// chooses again. A round that costs more is taken at times, the less likely the later it comes; the cheapest choice is
// kept. Capacities that leave room for fragmentation are tried in turn; the best goes on.
//
// Cost: rounds; each is about (needs taken out) * (touches + live buffers * log).
// Source: ours; ruin and recreate: Schrimpf et al. (2000); rounds that cost more: Kirkpatrick et al. (1983).

#include "pack/memories/spills.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "pack/memories/fast_memory.h"
#include "pack/memories/prices.h"
#include "pack/portfolio.h"

namespace stowage::memories {
namespace {

constexpr int steps_of_octave = 16;        // of a ladder of capacities
constexpr int most_rungs = 3;              // that are tried below the capacity
constexpr double time_of_prices = 0.2;     // of all
constexpr double time_of_trials = 0.4;     // of the rest
constexpr double time_of_choosing = 0.25;  // of a trial's
constexpr double time_of_packing = 0.9;    // of what is left of that
constexpr double fewest_rounds = 4000;
constexpr double rounds_for_each = 200;  // need
constexpr double first_slack = 0.05;     // of what a dear need costs above its least
constexpr double last_slack = 0.003;
constexpr std::int64_t rounds_of_a_slack = 16;
constexpr std::size_t most_out = 40;  ///< Needs taken out in a round.
constexpr int tries_to_put_in = 8;    ///< To put a need in.

class StaySearch {
 public:
  StaySearch(const Needs& needs, const Prices& prices, Bytes capacity, bool has_offsets, std::uint64_t seed)
      : needs_(needs),
        prices_(prices),
        memory_(needs, capacity, has_offsets),
        random_(seed),
        stays_(needs.all.size()),
        costs_(needs.all.size(), 0),
        least_(needs.all.size(), 0) {
    const Prices free(needs.end);
    const Prices& all = prices_;
    for (std::size_t n = 0; n < needs.all.size(); ++n) {
      costs_[n] = cost_of(needs, needs.all[n], {});
      least_[n] = least(needs, needs.all[n], free).cost / Prices::parts;
      cost_ += costs_[n];
      order_.push_back(n);
      gains_.push_back(costs_[n] - least(needs, needs.all[n], all).cost / Prices::parts);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const Need& one = needs.all[a];
      const Need& other = needs.all[b];
      if (one.may_be_slow != other.may_be_slow) return !one.may_be_slow;
      return gains_[a] > gains_[b];
    });
  }

  /// Puts all needs in that are out, those first that gain most. False if one has no place at all.
  bool fill(const base::Deadline& deadline) {
    for (const std::size_t n : order_) {
      if (!stays_[n].empty()) continue;
      if (needs_.all[n].may_be_slow && deadline.is_over()) return true;
      if (!put_in(n, prices_)) return false;
      deadline.spend(memory_.take_work() + std::exchange(work_, 0));
    }
    return true;
  }

  /// Puts a need in at given offsets; false if they are taken or too high.
  void put(std::size_t n, const FastStays& stays) {
    stays_[n] = stays;
    for (const FastStay& stay : stays) memory_.put(n, stay);
    note_cost(n);
  }

  /// True if it ended by itself. Rounds that cost more are taken, too, the fewer the more time is over.
  bool improve(const base::Deadline& deadline) {
    const double time = deadline.left().count();
    const double rounds = fewest_rounds + rounds_for_each * static_cast<double>(needs_.all.size());
    const double dear = cost_of_dear();
    if (dear == 0) return true;
    least_cost_ = cost_;
    bool is_cut = false;
    for (std::int64_t r = 0; static_cast<double>(r) < rounds && !is_cut; ++r) {
      if (r % rounds_of_a_slack == 0) {
        const double progress = std::max(1 - deadline.left().count() / time, static_cast<double>(r) / rounds);
        slack_ = dear * first_slack * std::pow(last_slack / first_slack, progress);
      }
      if (!round()) break;
      deadline.spend(memory_.take_work() + std::exchange(work_, 0));
      is_cut = deadline.is_over();
    }
    const auto changed = std::exchange(since_least_, {});
    for (const auto& [n, stays] : changed) take_out(n);
    for (const auto& [n, stays] : changed) put(n, stays);
    return !is_cut;
  }

  [[nodiscard]] const std::vector<FastStays>& stays() const { return stays_; }
  [[nodiscard]] std::int64_t cost() const { return cost_; }

 private:
  /// The same with every standard library.
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  void shuffle(std::vector<std::size_t>& all) {
    for (std::size_t i = all.size(); i > 1; --i)
      std::swap(all[i - 1], all[static_cast<std::size_t>(below(i))]);
  }

  /// A positive number, 1 in the mean, the same with every standard library up to rounding.
  double exponential() {
    constexpr double unit = 0x1.0p-53;
    return -std::log((static_cast<double>(random_() >> 11U) + 1) * unit);
  }

  /// What needs cost above the least, in the mean of those that do.
  [[nodiscard]] double cost_of_dear() const {
    std::int64_t above = 0;
    std::int64_t count = 0;
    for (std::size_t n = 0; n < costs_.size(); ++n) {
      if (costs_[n] <= least_[n]) continue;
      above += costs_[n] - least_[n];
      ++count;
    }
    return count == 0 ? 0 : static_cast<double>(above) / static_cast<double>(count);
  }

  void note_cost(std::size_t n) {
    const std::int64_t cost = cost_of(needs_, needs_.all[n], stays_[n]);
    cost_ += cost - costs_[n];
    costs_[n] = cost;
  }

  void take_out(std::size_t n) {
    for (const FastStay& stay : stays_[n]) memory_.take(n, stay);
    stays_[n].clear();
    note_cost(n);
  }

  /// Chooses the stays of a need that is out. False if it must be in the fast memory and has no place.
  bool put_in(std::size_t n, const Prices& prices) {
    const Need& need = needs_.all[n];
    if (!need.may_be_fast) return true;
    find_allowed(need);
    for (int tries = 0; tries < tries_to_put_in; ++tries) {
      work_ += 60 * std::ssize(need.touches);
      Least chosen = least(needs_, need, prices, &allowed_);
      if (chosen.cost == largest_value) return false;
      std::size_t placed = 0;
      for (; placed < chosen.stays.size(); ++placed) {
        const auto offset = memory_.fit(need, chosen.stays[placed]);
        if (!offset) break;
        chosen.stays[placed].offset = *offset;
      }
      if (placed == chosen.stays.size()) {
        put(n, chosen.stays);
        return true;
      }
      forbid_some_of(need, chosen.stays[placed]);
    }
    return need.may_be_slow;
  }

  /// What has room, whatever the offsets.
  void find_allowed(const Need& need) {
    const std::size_t count = need.touches.size();
    work_ += 100 + (need.touches.back().last - need.touches.front().first) / 8;
    allowed_.touches.assign(count, false);
    allowed_.gaps.assign(count, false);
    for (std::size_t i = 0; i < count; ++i) allowed_.touches[i] = memory_.has_room(need, i);
    for (std::size_t i = 0; i + 1 < count; ++i) {
      allowed_.gaps[i] = allowed_.touches[i] && allowed_.touches[i + 1] &&
                         memory_.has_room(need.touches[i].last + 1, need.touches[i + 1].first, need.size);
    }
  }

  /// Forbids the longest gap of a stay, or its only touch.
  void forbid_some_of(const Need& need, const FastStay& stay) {
    std::optional<std::size_t> gap;
    Position longest = -1;
    for (std::size_t i = stay.first; i < stay.last; ++i) {
      const Position length = need.touches[i + 1].first - need.touches[i].last;
      if (length <= longest) continue;
      longest = length;
      gap = i;
    }
    if (gap) {
      allowed_.gaps[*gap] = false;
    } else {
      allowed_.touches[stay.first] = false;
    }
  }

  /// Takes some needs out and puts them in again. False if all cost as little as they can.
  bool round() {
    const auto dear = dear_need();
    if (!dear) return false;
    const std::int64_t before = cost_;
    std::vector<std::size_t> out = neighbours_of(*dear);
    std::vector<FastStays> old;
    for (const std::size_t n : out) {
      old.push_back(stays_[n]);
      take_out(n);
    }
    std::vector<std::size_t> again(out);
    shuffle(again);
    const std::uint64_t way = below(4);
    if (way == 0) {
      std::stable_sort(again.begin(), again.end(),
                       [&](std::size_t a, std::size_t b) { return gains_[a] > gains_[b]; });
    } else if (way == 1) {
      std::stable_sort(again.begin(), again.end(),
                       [&](std::size_t a, std::size_t b) { return needs_.all[a].size > needs_.all[b].size; });
    } else if (way == 2) {
      const auto it = std::find(again.begin(), again.end(), *dear);
      std::iter_swap(again.begin(), it);
    }
    const bool is_priced = below(2) == 0;
    bool is_in = true;
    for (const std::size_t n : again) is_in = is_in && put_in(n, is_priced ? prices_ : free_);
    if (is_in && static_cast<double>(cost_ - before) <= slack_ * exponential()) {
      if (cost_ < least_cost_) {
        least_cost_ = cost_;
        since_least_.clear();
      } else {
        for (std::size_t i = 0; i < out.size(); ++i) since_least_.emplace(out[i], std::move(old[i]));
      }
      return true;
    }
    for (const std::size_t n : out) take_out(n);
    for (std::size_t i = 0; i < out.size(); ++i) put(out[i], old[i]);
    return true;
  }

  /// A need that costs more than it must, at random.
  std::optional<std::size_t> dear_need() {
    constexpr int tries = 64;
    if (needs_.all.empty()) return std::nullopt;
    for (int i = 0; i < tries; ++i) {
      const auto n = static_cast<std::size_t>(below(needs_.all.size()));
      if (costs_[n] > least_[n]) return n;
    }
    const auto begin = static_cast<std::size_t>(below(needs_.all.size()));
    for (std::size_t i = 0; i < needs_.all.size(); ++i) {
      const std::size_t n = (begin + i) % needs_.all.size();
      if (costs_[n] > least_[n]) return n;
    }
    return std::nullopt;
  }

  /// It and needs that are in the fast memory at about a time when it is not.
  std::vector<std::size_t> neighbours_of(std::size_t dear) {
    const Need& need = needs_.all[dear];
    const Touch& touch = need.touches[static_cast<std::size_t>(below(need.touches.size()))];
    const Position length = Position{1} << below(7);
    const std::size_t most = 2 + static_cast<std::size_t>(below(most_out));
    std::vector<std::size_t> found{dear};
    const auto add = [&](std::size_t n) {
      if (std::find(found.begin(), found.end(), n) == found.end()) found.push_back(n);
    };
    for (Position away = 0; away < length && found.size() < 4 * most; ++away) {
      if (touch.first + away < needs_.end) add_at(touch.first + away, add);
      if (away > 0 && touch.first >= away) add_at(touch.first - away, add);
    }
    work_ += 100 * std::ssize(found);
    std::vector<std::size_t> others(found.begin() + 1, found.end());
    shuffle(others);
    if (others.size() > most) others.resize(most);
    others.push_back(dear);
    return others;
  }

  template <typename Add>
  void add_at(Position at, const Add& add) {
    if (touched_.empty()) note_touched();
    memory_.for_each_at(at, add);
    for (const std::size_t n : touched_[static_cast<std::size_t>(at)]) add(n);
  }

  /// The needs with touches at each position, for those that are not in the fast memory.
  void note_touched() {
    touched_.resize(static_cast<std::size_t>(needs_.end));
    for (std::size_t n = 0; n < needs_.all.size(); ++n) {
      for (const Touch& touch : needs_.all[n].touches) {
        touched_[static_cast<std::size_t>(touch.first)].push_back(n);
        if (touch.last != touch.first) touched_[static_cast<std::size_t>(touch.last)].push_back(n);
      }
    }
  }

  const Needs& needs_;
  const Prices& prices_;
  Prices free_{needs_.end};
  FastMemory memory_;
  std::mt19937_64 random_;
  std::vector<FastStays> stays_;     ///< Of each need; of one that is out: none.
  std::vector<std::int64_t> costs_;  ///< Of each need.
  std::vector<std::int64_t> least_;  ///< Of each need, if it were alone.
  std::vector<std::int64_t> gains_;  ///< Of each need, prices paid.
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::size_t>> touched_;
  Allowed allowed_;
  std::int64_t cost_ = 0;
  std::int64_t work_ = 0;
  double slack_ = 0;  ///< About what a round may cost more.
  std::int64_t least_cost_ = 0;
  std::map<std::size_t, FastStays> since_least_;  ///< The stays then of needs that have others now.
};

/// Offsets for all stays, as low as packers find them.
void pack_all(const Needs& needs, std::vector<FastStays>& all, const pack::Control& control) {
  Problem one{.memories = {{.name = "one"}}};
  std::vector<FastStay*> stays;
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (FastStay& stay : all[n]) {
      const Need& need = needs.all[n];
      Buffer buffer{.id = std::to_string(stays.size()), .size = need.size, .alignment = need.alignment};
      FastMemory::for_each_piece(need, stay, [&](const Piece& piece) { buffer.pieces.push_back(piece); });
      one.buffers.push_back(std::move(buffer));
      stays.push_back(&stay);
    }
  }
  if (stays.empty()) return;
  std::vector<const pack::Strategy*> packers;
  for (const pack::Strategy& packer : pack::packers()) {
    if (packer.info.is_in_auto && !packer.obstacle(one)) packers.push_back(&packer);
  }
  pack::Control quiet = control;
  quiet.options.progress = nullptr;
  quiet.options.threads = 1;
  const Solution found = pack::best_of(one, packers, quiet);
  for (std::size_t i = 0; i < stays.size(); ++i) stays[i]->offset = found.places[i].offset;
}

class Spiller {
 public:
  Spiller(const Needs& needs, const pack::Control& control) : needs_(needs), control_(control) {}

  Spilling run() {
    std::int64_t upper = 0;
    for (const Need& need : needs_.all) upper += cost_of(needs_, need, {});
    const Priced priced = find_prices(needs_, upper, control_.deadline.part(time_of_prices));
    best_.cost_bound = priced.bound;
    const base::Deadline trying = control_.deadline.part(time_of_trials);
    const std::vector<Bytes> capacities = capacities_to_try();
    for (std::size_t c = 0; c < capacities.size(); ++c) {
      const base::Deadline deadline = trying.part(1 / static_cast<double>(capacities.size() - c));
      choose_within(capacities[c], priced.prices, deadline);
      if (is_least()) return std::move(best_);
    }
    if (best_.stays.empty()) return std::move(best_);
    StaySearch search(needs_, priced.prices, needs_.capacity, true, control_.options.seed);
    for (std::size_t n = 0; n < best_.stays.size(); ++n) search.put(n, best_.stays[n]);
    best_.is_cut = !search.improve(control_.deadline);
    keep(search);
    best_.is_cut = best_.is_cut && !is_least();
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool is_least() const { return !best_.stays.empty() && best_.cost <= best_.cost_bound; }

  /// The capacity, and rungs of a ladder below it: 2^(k/16). So capacities that are near try the same ones.
  [[nodiscard]] std::vector<Bytes> capacities_to_try() const {
    std::vector<Bytes> all{needs_.capacity};
    if (!needs_.reserved.empty() || needs_.capacity < 2) return all;
    const double rung = steps_of_octave * std::log2(static_cast<double>(needs_.capacity - 1));
    for (int below = 0; below < most_rungs; ++below) {
      const auto bytes = static_cast<Bytes>(std::exp2((std::floor(rung) - below) / steps_of_octave));
      if (bytes > 0 && bytes < all.back()) all.push_back(bytes);
    }
    return all;
  }

  /// Stays for that capacity, without offsets, packed, and what fits of them into all of the memory.
  void choose_within(Bytes capacity, const Prices& prices, const base::Deadline& deadline) {
    std::vector<FastStays> stays(needs_.all.size());
    if (needs_.reserved.empty()) {  // packers know no reserved bytes
      StaySearch choice(needs_, prices, capacity, false, control_.options.seed);
      if (choice.fill(deadline)) {
        (void)choice.improve(deadline.part(time_of_choosing));
        stays = choice.stays();
        pack::Control packing = control_;
        packing.deadline = deadline.part(time_of_packing);
        pack_all(needs_, stays, packing);
      }
    }
    StaySearch search(needs_, prices, needs_.capacity, true, control_.options.seed);
    for (std::size_t n = 0; n < stays.size(); ++n) {
      const bool fits = std::ranges::all_of(stays[n], [&](const FastStay& stay) {
        return stay.offset + needs_.all[n].size <= needs_.capacity;
      });
      if (fits && !stays[n].empty()) search.put(n, stays[n]);
    }
    if (search.fill(deadline)) keep(search);
  }

  void keep(const StaySearch& search) {
    if (!best_.stays.empty() && search.cost() >= best_.cost) return;
    best_.stays = search.stays();
    best_.cost = search.cost();
  }

  const Needs& needs_;
  const pack::Control& control_;
  Spilling best_;
};

}  // namespace

Spilling choose_stays(const Needs& needs, const pack::Control& control) {
  return Spiller(needs, control).run();
}

}  // namespace stowage::memories
