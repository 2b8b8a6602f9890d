// Which buffers are in the fast memory when, and at which offsets, so that touches and copies cost least.
//
//     prices     of bytes at each position: what keeping a buffer there costs others          prices.cc
//     choose     stays within a share of the capacity, without offsets
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
// chooses again. A round is taken back if it costs more. Shares of the capacity that leave room for fragmentation are
// tried in turn; the best goes on.
//
// Cost: rounds; each is about (needs taken out) * (touches + live buffers * log).
// Source: ours; ruin and recreate: Schrimpf et al. (2000).

#include "pack/memories/spills.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "pack/memories/prices.h"
#include "pack/portfolio.h"

namespace stowage::memories {
namespace {

constexpr std::array<double, 4> shares_of_capacity{1.0, 0.96, 0.92, 0.88};
constexpr double time_of_prices = 0.2;    // of all
constexpr double time_of_shares = 0.6;    // of the rest
constexpr double time_of_choosing = 0.3;  // of a share's
constexpr double time_of_packing = 0.3;   // of what is left of that
constexpr std::int64_t rounds_without_gain = 4000;
constexpr std::size_t most_out = 40;  ///< Needs taken out in a round.
constexpr int tries_to_put_in = 8;    ///< To put a need in.

/// Bytes of the fast memory at one position.
struct Taken {
  Bytes begin = 0;
  Bytes end = 0;
  std::size_t need = 0;

  bool operator==(const Taken&) const = default;
};

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

class FastMemory {
 public:
  FastMemory(const Needs& needs, Bytes capacity, bool has_offsets)
      : needs_(needs),
        capacity_(capacity),
        has_offsets_(has_offsets),
        load_(static_cast<std::size_t>(needs.end), 0),
        alive_(load_.size()),
        begins_(load_.size()) {
    for (const ByteRange& range : needs.reserved) {
      for (Bytes& load : load_) load += range.end - range.begin;
      if (!has_offsets || load_.empty()) continue;
      for (auto& alive : alive_) alive.push_back({range.begin, range.end, nobody});
      begins_[0].push_back({range.begin, range.end, nobody});
    }
  }

  /// Whether so many more bytes are there at these positions; else the number of looked-at positions tells the work.
  [[nodiscard]] bool has_room(Position lower, Position upper, Bytes size) const {
    for (auto p = static_cast<std::size_t>(lower); p < static_cast<std::size_t>(upper); ++p) {
      if (load_[p] + size > capacity_) return false;
    }
    return true;
  }

  [[nodiscard]] bool has_room(const Need& need, std::size_t touch) const {
    const Touch& it = need.touches[touch];
    if (need.pieces.empty()) return has_room(it.first, it.last + 1, need.size);
    return std::ranges::all_of(need.pieces, [&](const Piece& piece) {
      return has_room(piece.life.lower, piece.life.upper, piece.size);
    });
  }

  /// The offset in the tightest place, if there is one within the capacity.
  [[nodiscard]] std::optional<Bytes> fit(const Need& need, const FastStay& stay) {
    if (!has_offsets_) return 0;
    forbidden_.clear();
    for_each_piece(need, stay, [&](const Piece& piece) {
      const auto forbid = [&](const Taken& it) {
        forbidden_.emplace_back(it.begin - piece.offset - piece.size, it.end - piece.offset);
      };
      const auto lower = static_cast<std::size_t>(piece.life.lower);
      for (const Taken& it : alive_[lower]) forbid(it);
      for (std::size_t p = lower + 1; p < static_cast<std::size_t>(piece.life.upper); ++p) {
        for (const Taken& it : begins_[p]) forbid(it);
      }
    });
    std::sort(forbidden_.begin(), forbidden_.end());
    work_ += 8 * std::ssize(forbidden_);
    std::optional<Bytes> best;
    Bytes least_room = largest_value;
    Bytes offset = 0;
    const auto look = [&](Bytes highest) {
      if (offset > highest || highest - offset >= least_room) return;
      best = offset;
      least_room = highest - offset;
    };
    for (const auto& [lower, upper] : forbidden_) {
      look(std::min(lower, capacity_ - need.size));
      if (offset < upper) offset = (upper + need.alignment - 1) / need.alignment * need.alignment;
    }
    look(capacity_ - need.size);
    return best;
  }

  void put(std::size_t n, const FastStay& stay) {
    for_each_piece(needs_.all[n], stay, [&](const Piece& piece) {
      const Taken taken{stay.offset + piece.offset, stay.offset + piece.offset + piece.size, n};
      for (Position p = piece.life.lower; p < piece.life.upper; ++p) {
        load_[static_cast<std::size_t>(p)] += piece.size;
        alive_[static_cast<std::size_t>(p)].push_back(taken);
      }
      if (has_offsets_) begins_[static_cast<std::size_t>(piece.life.lower)].push_back(taken);
      work_ += 2 * (piece.life.upper - piece.life.lower);
    });
  }

  void take(std::size_t n, const FastStay& stay) {
    for_each_piece(needs_.all[n], stay, [&](const Piece& piece) {
      const Taken taken{stay.offset + piece.offset, stay.offset + piece.offset + piece.size, n};
      for (Position p = piece.life.lower; p < piece.life.upper; ++p) {
        load_[static_cast<std::size_t>(p)] -= piece.size;
        erase(taken, alive_[static_cast<std::size_t>(p)]);
      }
      if (has_offsets_) erase(taken, begins_[static_cast<std::size_t>(piece.life.lower)]);
      work_ += 10 * (piece.life.upper - piece.life.lower);
    });
  }

  /// Needs that have bytes there.
  template <typename Visit>
  void for_each_at(Position at, Visit visit) const {
    for (const Taken& it : alive_[static_cast<std::size_t>(at)]) {
      if (it.need != nobody) visit(it.need);
    }
  }

  [[nodiscard]] std::int64_t take_work() { return std::exchange(work_, 0); }
  [[nodiscard]] Bytes capacity() const { return capacity_; }

  /// What a stay takes, at offset 0.
  template <typename Visit>
  static void for_each_piece(const Need& need, const FastStay& stay, Visit visit) {
    if (need.pieces.empty()) {
      visit(Piece{0, need.size, {need.touches[stay.first].first, need.touches[stay.last].last + 1}});
    } else {
      for (const Piece& piece : need.pieces) visit(piece);
    }
  }

 private:
  static void erase(const Taken& taken, std::vector<Taken>& all) {
    const auto it = std::find(all.begin(), all.end(), taken);
    *it = all.back();
    all.pop_back();
  }

  const Needs& needs_;
  Bytes capacity_;
  bool has_offsets_;
  std::vector<Bytes> load_;                 ///< At each position.
  std::vector<std::vector<Taken>> alive_;   ///< At each position.
  std::vector<std::vector<Taken>> begins_;  ///< Those that begin there.
  std::vector<std::pair<Bytes, Bytes>> forbidden_;
  std::int64_t work_ = 0;
};

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

  /// True if it ended by itself.
  bool improve(const base::Deadline& deadline) {
    std::int64_t without_gain = 0;
    while (without_gain < rounds_without_gain) {
      if (deadline.is_over()) return false;
      const std::int64_t before = cost_;
      if (!round()) return true;
      deadline.spend(memory_.take_work() + std::exchange(work_, 0));
      without_gain = cost_ < before ? 0 : without_gain + 1;
    }
    return true;
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
    work_ += need.touches.back().last - need.touches.front().first + 1;
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
    if (is_in && cost_ <= before) return true;
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
    const base::Deadline trying = control_.deadline.part(time_of_shares);
    for (std::size_t s = 0; s < shares_of_capacity.size(); ++s) {
      const base::Deadline deadline = trying.part(1 / static_cast<double>(shares_of_capacity.size() - s));
      try_share(shares_of_capacity[s], priced.prices, deadline);
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

  void try_share(double share, const Prices& prices, const base::Deadline& deadline) {
    std::vector<FastStays> stays(needs_.all.size());
    if (needs_.reserved.empty()) {  // packers know no reserved bytes
      const auto capacity = static_cast<Bytes>(static_cast<double>(needs_.capacity) * share);
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
    if (!search.fill(deadline)) return;
    (void)search.improve(deadline);
    keep(search);
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
