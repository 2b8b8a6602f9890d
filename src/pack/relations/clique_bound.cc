// A bound from items that are related each with each, a clique. The memory has room for so many cells, so what a clique
// has above it is shared, and a pair shares at most the smaller item:
//
//     sum over pairs of the clique that may share of  min(size a, size b, excess) * y  >=  excess
//
// where y says whether a pair shares cells. The least cost of such y, for any set of cliques and y from 0 to 1, is a bound:
// a linear program. Its dual gives each clique a number of at least 0, and any such numbers prove
//
//     sum of excess * number  -  sum over pairs of what the numbers charge a pair above its cost
//
// So the program need not be solved exactly: a first-order method comes near, cliques that y breaks most are added, and
// the numbers are rounded and counted in integers at the end.
//
// Sources: Padberg, "On the facial structure of set packing polyhedra", 1973, for cliques as cuts; Chambolle & Pock, "A
// first-order primal-dual algorithm for convex problems with applications to imaging", 2011, and Pock & Chambolle,
// "Diagonal preconditioning for first order primal-dual algorithms in convex optimization", 2011.
//
// Cost: a round looks for a clique from each item, items * clique each, and steps through all pairs of the cliques 100
// times. It ends with the deadline or when no clique is broken.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "pack/relations/search.h"

namespace stowage::pack::relations {
namespace {

constexpr std::size_t most_in_table = 2000;  // there is a table of all pairs
constexpr std::size_t most_cliques = 4000;
constexpr double most_cost = 1 << 30;  // so that charges are counted exactly
constexpr int steps_of_round = 100;
constexpr int rounds_without_gain = 8;
constexpr double least_break = 0.02;  // of the excess

struct CostPair {
  std::size_t first = 0;
  std::size_t second = 0;
  double cost = 0;
};

/// Items that cannot all be apart.
struct Clique {
  std::vector<std::size_t> members{};
  std::vector<std::size_t> pairs{};
  std::vector<double> shares{};  ///< Of the excess that a pair shares at most.
  std::vector<Cell> cells{};     ///< The same in cells.
  Cell excess = 0;
  double number = 0;  ///< The dual of `shares`, in units of cost.
};

/// Cells that some item of the part may have.
Cell room_of(const Part& part) {
  std::vector<Range> ranges;
  for (const Item& item : part.items)
    for (const Range& range : item.ranges) ranges.push_back({range.first, range.last + item.size - 1});
  std::ranges::sort(ranges, {}, &Range::first);
  Cell room = 0;
  Cell end = 0;
  for (const Range& range : ranges) {
    const Cell from = std::max(end, range.first);
    if (range.last + 1 <= from) continue;
    room += range.last + 1 - from;
    end = range.last + 1;
  }
  return room;
}

class CliqueBound {
 public:
  explicit CliqueBound(const Part& part) : part_(part), room_(room_of(part)), n_(part.items.size()) {
    table_.assign(n_ * n_, unrelated);
    for (std::size_t i = 0; i < n_; ++i) {
      for (const Neighbour& it : part.items[i].neighbours) {
        if (it.is_hard) {
          table_[i * n_ + it.item] = hard;
        } else if (i < it.item) {
          table_[i * n_ + it.item] = table_[it.item * n_ + i] = static_cast<std::int32_t>(pairs_.size());
          pairs_.push_back({i, it.item, static_cast<double>(it.cost)});
        }
      }
    }
    y_.assign(pairs_.size(), 0);
  }

  CliqueProof find(const base::Deadline& deadline) {
    CliqueProof best;
    int without_gain = 0;
    while (!deadline.is_over() && cliques_.size() < most_cliques) {
      const bool has_more = add_cliques(deadline);
      if (cliques_.empty()) return best;
      improve(deadline);
      CliqueProof proof = proven();
      without_gain = proof.bound > best.bound ? 0 : without_gain + 1;
      if (proof.bound > best.bound) best = std::move(proof);
      if (!has_more && without_gain >= rounds_without_gain) break;
    }
    return best;
  }

 private:
  static constexpr std::int32_t unrelated = -1;
  static constexpr std::int32_t hard = -2;

  /// From each item, always the item that adds most above what its pairs share already.
  bool add_cliques(const base::Deadline& deadline) {
    bool has_more = false;
    std::vector<double> gains(n_);
    std::vector<std::size_t> candidates;
    for (std::size_t seed = 0; seed < n_ && !deadline.is_over(); ++seed) {
      candidates.clear();
      std::vector<std::size_t> members;
      double broken = -static_cast<double>(room_);
      Cell excess = -room_;
      for (std::size_t i = 0; i < n_; ++i) {
        gains[i] = static_cast<double>(part_.items[i].size);
        candidates.push_back(i);
      }
      std::int64_t work = 0;
      for (std::size_t next = seed; gains[next] > 0;) {
        const Cell size = part_.items[next].size;
        members.push_back(next);
        broken += gains[next];
        excess += size;
        work += static_cast<std::int64_t>(candidates.size()) * 3;
        std::erase_if(candidates, [&](std::size_t i) { return table_[next * n_ + i] == unrelated; });
        for (const std::size_t i : candidates) {
          const std::int32_t pair = table_[next * n_ + i];
          if (pair >= 0)
            gains[i] -=
                static_cast<double>(std::min(size, part_.items[i].size)) * y_[static_cast<std::size_t>(pair)];
        }
        if (candidates.empty()) break;
        next = *std::ranges::max_element(candidates, {}, [&](std::size_t i) { return gains[i]; });
      }
      deadline.spend(work);
      if (excess <= 0 || broken <= least_break * static_cast<double>(excess)) continue;
      std::ranges::sort(members);
      if (!known_.insert(members).second) continue;
      add(members, excess);
      has_more = true;
    }
    return has_more;
  }

  void add(const std::vector<std::size_t>& members, Cell excess) {
    Clique clique{.members = members, .excess = excess};
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t j = i + 1; j < members.size(); ++j) {
        const std::int32_t pair = table_[members[i] * n_ + members[j]];
        if (pair < 0) continue;
        const Cell cells = std::min({part_.items[members[i]].size, part_.items[members[j]].size, excess});
        clique.pairs.push_back(static_cast<std::size_t>(pair));
        clique.cells.push_back(cells);
        clique.shares.push_back(static_cast<double>(cells) / static_cast<double>(excess));
      }
    }
    cliques_.push_back(std::move(clique));
  }

  /// Steps of the primal-dual method.
  void improve(const base::Deadline& deadline) {
    std::vector<double> sums(pairs_.size());  // of shares
    for (const Clique& clique : cliques_)
      for (std::size_t k = 0; k < clique.pairs.size(); ++k) sums[clique.pairs[k]] += clique.shares[k];
    std::vector<double> widths;
    std::int64_t work = static_cast<std::int64_t>(pairs_.size());
    for (const Clique& clique : cliques_) {
      widths.push_back(std::accumulate(clique.shares.begin(), clique.shares.end(), 0.0));
      work += static_cast<std::int64_t>(clique.pairs.size()) * 3;
    }
    std::vector<double> charged(pairs_.size());
    std::vector<double> ahead(pairs_.size());
    for (int step = 0; step < steps_of_round && !deadline.is_over(); ++step) {
      std::ranges::fill(charged, 0.0);
      for (const Clique& clique : cliques_)
        for (std::size_t k = 0; k < clique.pairs.size(); ++k)
          charged[clique.pairs[k]] += clique.shares[k] * clique.number;
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        if (sums[p] == 0) continue;
        const double before = y_[p];
        y_[p] = std::clamp(before - balance * (pairs_[p].cost - charged[p]) / sums[p], 0.0, 1.0);
        ahead[p] = 2 * y_[p] - before;
      }
      for (std::size_t c = 0; c < cliques_.size(); ++c) {
        Clique& clique = cliques_[c];
        if (widths[c] == 0) continue;
        double met = 0;
        for (std::size_t k = 0; k < clique.pairs.size(); ++k)
          met += clique.shares[k] * ahead[clique.pairs[k]];
        clique.number = std::max(0.0, clique.number + (1 - met) / (widths[c] * balance));
      }
      deadline.spend(work);
    }
  }

  /// What the numbers prove, counted in integers: in units of cost / `parts`.
  [[nodiscard]] CliqueProof proven() const {
    constexpr auto parts = static_cast<double>(ReuseProof::parts);
    CliqueProof proof;
    std::vector<std::int64_t> charged(pairs_.size());
    std::int64_t sum = 0;
    for (const Clique& clique : cliques_) {
      const double number = std::min(clique.number, most_cost) * parts;
      const auto per_cell = static_cast<std::int64_t>(number / static_cast<double>(clique.excess));
      if (per_cell == 0) continue;
      proof.charges.push_back({clique.members, per_cell});
      sum += per_cell * clique.excess;
      for (std::size_t k = 0; k < clique.pairs.size(); ++k)
        charged[clique.pairs[k]] += per_cell * clique.cells[k];
    }
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const auto cost = static_cast<std::int64_t>(pairs_[p].cost * parts);
      sum -= std::max<std::int64_t>(charged[p] - cost, 0);
    }
    proof.bound = sum <= 0 ? 0 : (sum + ReuseProof::parts - 1) / ReuseProof::parts;
    return proof;
  }

  /// How far a step of y goes beside one of the numbers.
  static constexpr double balance = 0.3;

  const Part& part_;
  Cell room_ = 0;
  std::size_t n_ = 0;
  std::vector<std::int32_t> table_;  ///< The pair of two items.
  std::vector<CostPair> pairs_;
  std::vector<double> y_;
  std::vector<Clique> cliques_;
  std::set<std::vector<std::size_t>> known_;
};

}  // namespace

CliqueProof clique_bound(const Part& part, const base::Deadline& deadline) {
  if (part.items.size() > most_in_table) return {};
  double cost = 0;
  for (const Item& item : part.items)
    for (const Neighbour& it : item.neighbours) cost += static_cast<double>(it.cost);
  return cost > most_cost ? CliqueProof{} : CliqueBound(part).find(deadline);
}

}  // namespace stowage::pack::relations
