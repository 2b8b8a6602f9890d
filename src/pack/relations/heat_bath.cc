// Annealing by heat bath: all items have a place, and hard neighbours may share cells, which costs, too. One item after
// the other gets a place drawn from all its places, of which one that costs f has the weight exp(-f / T), while T falls:
//
//     cost    3  |  0  |  1  |  9        weight at T = 1    0.05  |  1  |  0.4  |  0
//
// A hard pair that shares cells costs more and more, so most end apart. A state in which all are apart is a placing.
//
// Sources: Geman & Geman, "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images", 1984, for
// the heat bath; Wah & Wu, "The theory of discrete Lagrange multipliers", 1999, for the growing costs.
//
// Cost: an update scans one item, as `Scan` says. It ends with the deadline.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "pack/relations/search.h"

namespace stowage::pack::relations {
namespace {

constexpr double scale = 256;  // units of cost, of a pair of mean cost
constexpr double hard = 1.5;   // cost of a hard pair that shares cells, at first
constexpr double growth = 0.1;
constexpr double decay = 0.98;
constexpr int sweeps_between_growth = 4;
constexpr int sweeps_between_decay = 16;
constexpr double hot = 0.5;
constexpr double cold = 0.15;

/// exp(x) for x up to 0, within 4 %: x * 2^23 / ln 2 read as the bits of a float (Schraudolph, 1999).
float soft_exp(float x) {
  constexpr float least = -80;
  constexpr float per_unit = 12102203;
  constexpr std::int32_t one = 1064866805;
  if (x < least) return 0;
  return std::bit_cast<float>(static_cast<std::int32_t>(per_unit * x) + one);
}

class HeatBath {
 public:
  HeatBath(const Part& part, Scan& scan, Random& random, Arrangement best)
      : part_(part),
        scan_(scan),
        random_(random),
        unit_(scale / mean_cost(part)),
        best_(std::move(best)),
        cells_(best_.cells) {
    for (std::size_t i = 0; i < part.items.size(); ++i) {
      auto& own = weights_.emplace_back();
      for (const Neighbour& it : part.items[i].neighbours)
        own.push_back(it.is_hard ? hard * scale : static_cast<double>(it.cost) * unit_);
      if (cells_[i] == nowhere) cells_[i] = part.items[i].ranges.at(0).first;
    }
    for (std::size_t i = 0; i < part.items.size(); ++i) count(i);
    soft_ /= 2;
    overlaps_ /= 2;
    for (std::size_t i = 0; i < part.items.size(); ++i) soft_ += part.items[i].cost_at(cells_[i]);
  }

  [[nodiscard]] const Arrangement& best() const { return best_; }
  [[nodiscard]] bool has_reached(std::int64_t goal) const { return best_.fits() && best_.cost <= goal; }

  /// Every item once, in a random order.
  void sweep(double temperature, std::int64_t goal, const base::Deadline& deadline) {
    std::vector<std::size_t> order(part_.items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    std::int64_t work = 0;
    for (const std::size_t item : order) {
      update(item, static_cast<float>(1 / (temperature * scale)));
      work += 300 + 20 * static_cast<std::int64_t>(part_.items[item].neighbours.size());
      if (has_reached(goal)) break;
    }
    deadline.spend(work);
    ++sweeps_;
    if (overlaps_ > 0 && sweeps_ % sweeps_between_growth == 0) reweigh(true);
    if (overlaps_ == 0 && sweeps_ % sweeps_between_decay == 0) reweigh(false);
  }

 private:
  /// Adds what an item shares with its neighbours.
  void count(std::size_t item) {
    for (const Neighbour& it : part_.items[item].neighbours) {
      if (!touches(part_, item, cells_[item], it.item, cells_)) continue;
      if (it.is_hard)
        ++overlaps_;
      else
        soft_ += it.cost;
    }
  }

  /// Of the item that was scanned last.
  void move(std::size_t item, Cell to) {
    const Cell from = std::exchange(cells_[item], to);
    const Cell size = part_.items[item].size;
    soft_ += part_.items[item].cost_at(to) - part_.items[item].cost_at(from);
    const auto& neighbours = part_.items[item].neighbours;
    const auto others = scan_.others();
    for (std::size_t k = 0; k < others.size(); ++k) {
      const auto [begin, end] = others[k];
      const int before = static_cast<int>(begin < from + size && from < end);
      const int after = static_cast<int>(begin < to + size && to < end);
      if (before == after) continue;
      if (neighbours[k].is_hard)
        overlaps_ += after - before;
      else
        soft_ += (after - before) * neighbours[k].cost;
    }
  }

  void update(std::size_t item, float per_cost) {
    const Neighbour* const first = part_.items[item].neighbours.data();
    const double* const own = weights_[item].data();
    const auto weigh = [&](const Neighbour& it) { return static_cast<std::int64_t>(own[&it - first]); };
    const auto segments = scan_.segments(item, cells_, weigh, unit_);
    if (segments.empty()) return;
    std::int64_t least = segments[0].cost;
    for (const Segment& it : segments) least = std::min(least, it.cost);
    chances_.clear();
    float sum = 0;
    for (const Segment& it : segments) {
      sum += soft_exp(static_cast<float>(least - it.cost) * per_cost);
      chances_.push_back(sum);
    }
    const float drawn = static_cast<float>(random_.fraction()) * sum;
    const auto at = std::min<std::ptrdiff_t>(std::ranges::upper_bound(chances_, drawn) - chances_.begin(),
                                             static_cast<std::ptrdiff_t>(segments.size()) - 1);
    const Segment& taken = segments[static_cast<std::size_t>(at)];
    const Cell cell = random_.below(2) == 0 ? taken.first : taken.last;
    if (cell == cells_[item]) return;
    move(item, cell);
    if (overlaps_ == 0 && (!best_.fits() || soft_ < best_.cost)) best_ = {cells_, soft_, 0};
  }

  void reweigh(bool grows) {
    for (std::size_t i = 0; i < part_.items.size(); ++i) {
      const auto& neighbours = part_.items[i].neighbours;
      for (std::size_t k = 0; k < neighbours.size(); ++k) {
        if (!neighbours[k].is_hard) continue;
        double& weight = weights_[i][k];
        if (!grows)
          weight = std::max(weight * decay, hard * scale);
        else if (touches(part_, i, cells_[i], neighbours[k].item, cells_))
          weight += growth * hard * scale;
      }
    }
  }

  const Part& part_;
  Scan& scan_;
  Random& random_;
  const double unit_;  ///< What a cost of 1 weighs.
  Arrangement best_;
  Cells cells_;
  std::vector<std::vector<double>> weights_;  ///< By item, as its neighbours.
  std::vector<float> chances_;                ///< Of segments, each with those before.
  std::int64_t soft_ = 0;
  std::int64_t overlaps_ = 0;  ///< Hard pairs that share cells.
  std::int64_t sweeps_ = 0;
};

}  // namespace

Arrangement heat_bath(const Part& part, Scan& scan, Arrangement best, std::int64_t goal, Random& random,
                      const base::Deadline& deadline) {
  const double total = std::max(deadline.left().count(), 1e-6);
  HeatBath bath(part, scan, random, std::move(best));
  while (!deadline.is_over() && !bath.has_reached(goal)) {
    const double used = std::clamp(1 - deadline.left().count() / total, 0.0, 1.0);
    bath.sweep(hot * std::pow(cold / hot, used), goal, deadline);
  }
  return bath.best();
}

}  // namespace stowage::pack::relations
