// Low placings of items that only must be apart, as those of lives in a partial order: the height is all that counts.
//
// Items that are related each with each are a clique, and need the sum of their sizes. From each item on, others that are
// related to all so far join, the larger ones first; then one comes in if it is larger than those that it makes leave. The
// heaviest clique is a bound. How close an item's own clique is to it says how little room the item has, which is its
// weight in searches for a lower placing (descents.cc):
//
//     sqrt(size * related items) / (slack + a little)     slack: the share of the height that the clique leaves
//
// Cost: items * (items + members of a clique * items / 64) for cliques; what the deadline leaves for searches.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "pack/descents.h"
#include "pack/relations/search.h"

namespace stowage::pack::relations {
namespace {

constexpr std::size_t most_in_table = 8192;  // a bit for each pair: 8 MiB
constexpr double slack_of_all = 0.02;        ///< Added, so that items without slack have a weight.
constexpr int most_exchanges = 64;           ///< In a clique.

class Cliques {
 public:
  explicit Cliques(const Part& part)
      : part_(part), words_((part.items.size() + 63) / 64), by_size_(part.items.size()) {
    bits_.assign(part.items.size() * words_, 0);
    for (std::size_t i = 0; i < part.items.size(); ++i)
      for (const Neighbour& it : part.items[i].neighbours)
        row(i)[it.item / 64] |= std::uint64_t{1} << it.item % 64;
    std::iota(by_size_.begin(), by_size_.end(), std::size_t{0});
    std::ranges::stable_sort(by_size_, std::ranges::greater{},
                             [&](std::size_t i) { return part.items[i].size; });
  }

  /// A heavy clique with this item. Its members are those of `members` afterwards.
  Cell grow(std::size_t seed) {
    members_.assign(1, seed);
    in_.assign(words_, 0);
    set(in_, seed);
    join();
    for (int i = 0; i < most_exchanges && exchange(seed); ++i) join();
    return weight_of(members_);
  }

  [[nodiscard]] const std::vector<std::size_t>& members() const { return members_; }

 private:
  [[nodiscard]] std::uint64_t* row(std::size_t i) { return bits_.data() + i * words_; }
  static void set(std::vector<std::uint64_t>& bits, std::size_t i) {
    bits[i / 64] |= std::uint64_t{1} << i % 64;
  }

  [[nodiscard]] Cell weight_of(std::span<const std::size_t> items) const {
    Cell weight = 0;
    for (const std::size_t i : items) weight += part_.items[i].size;
    return weight;
  }

  /// All that are related to each member, the larger ones first.
  void join() {
    free_.assign(words_, ~std::uint64_t{0});
    for (const std::size_t member : members_) keep_related(member);
    for (const std::size_t i : by_size_) {
      if ((free_[i / 64] >> i % 64 & 1U) == 0) continue;
      members_.push_back(i);
      set(in_, i);
      keep_related(i);
    }
  }

  void keep_related(std::size_t i) {
    for (std::size_t w = 0; w < words_; ++w) free_[w] &= row(i)[w];
  }

  /// Takes in an item that is larger than all that leave for it; false if there is none.
  bool exchange(std::size_t seed) {
    for (const std::size_t i : by_size_) {
      if ((in_[i / 64] >> i % 64 & 1U) != 0 || (row(seed)[i / 64] >> i % 64 & 1U) == 0) continue;
      Cell leaving = 0;
      for (std::size_t w = 0; w < words_ && leaving < part_.items[i].size; ++w) {
        for (std::uint64_t word = in_[w] & ~row(i)[w]; word != 0; word &= word - 1)
          leaving += part_.items[w * 64 + static_cast<std::size_t>(std::countr_zero(word))].size;
      }
      if (leaving >= part_.items[i].size) continue;
      std::erase_if(members_, [&](std::size_t it) { return (row(i)[it / 64] >> it % 64 & 1U) == 0; });
      members_.push_back(i);
      in_.assign(words_, 0);
      for (const std::size_t it : members_) set(in_, it);
      return true;
    }
    return false;
  }

  const Part& part_;
  std::size_t words_;
  std::vector<std::size_t> by_size_;
  std::vector<std::uint64_t> bits_{};
  std::vector<std::uint64_t> in_{};    ///< The members.
  std::vector<std::uint64_t> free_{};  ///< Related to all members.
  std::vector<std::size_t> members_{};
};

/// The heaviest clique that was found with each item.
std::vector<Cell> loads_of(const Part& part) {
  std::vector<Cell> loads;
  for (const Item& item : part.items) loads.push_back(item.size);
  if (part.items.size() > most_in_table) return loads;
  Cliques cliques(part);
  for (std::size_t i = 0; i < part.items.size(); ++i) {
    const Cell weight = cliques.grow(i);
    for (const std::size_t member : cliques.members()) loads[member] = std::max(loads[member], weight);
  }
  return loads;
}

bool is_pinned(const Item& item) {
  return item.ranges.size() == 1 && item.ranges[0].first == item.ranges[0].last;
}

}  // namespace

bool is_only_apart(const Part& part) {
  return std::ranges::all_of(part.items, [](const Item& item) {
    return item.phase == 0 && item.ranges.size() == 1 &&
           std::ranges::all_of(item.neighbours, &Neighbour::is_hard);
  });
}

Cell lower_height(const Part& part, Cells& cells, const Control& control) {
  const std::vector<Cell> loads = loads_of(part);
  control.spend(static_cast<std::int64_t>(part.items.size() * part.items.size()));
  Cell bound = *std::ranges::max_element(loads);
  Cell height = 0;
  for (std::size_t i = 0; i < part.items.size(); ++i) {
    const Item& item = part.items[i];
    height = std::max(height, cells[i] + item.size);
    if (is_pinned(item)) bound = std::max(bound, item.ranges[0].first + item.size);
  }
  if (height <= bound) return bound;
  std::vector<Movable> movables;
  std::vector<std::vector<std::uint32_t>> met;
  std::int64_t pairs = 0;
  bool has_pins = false;
  for (std::size_t i = 0; i < part.items.size(); ++i) {
    const Item& item = part.items[i];
    auto& own = met.emplace_back();
    for (const Neighbour& it : item.neighbours) own.push_back(it.item);
    pairs += std::ssize(own);
    const double slack = static_cast<double>(bound - loads[i]) / static_cast<double>(bound);
    const double area = std::sqrt(static_cast<double>(item.size) * static_cast<double>(own.size()));
    movables.push_back({.size = item.size, .alignment = item.step, .weight = area / (slack + slack_of_all)});
    if (is_pinned(item)) movables.back().pin = item.ranges[0].first;
    has_pins = has_pins || is_pinned(item);
  }
  const auto meetings = has_pins ? std::nullopt : Meetings::listed(met);
  const auto clashes = [&]() -> ClashesOf {
    return [&, found = std::vector<ForbiddenOffsets>()](std::uint32_t i) mutable {
      found.clear();
      for (const std::uint32_t other : met[i])
        found.push_back({other, -movables[i].size, movables[other].size});
      return std::span<const ForbiddenOffsets>(found);
    };
  };
  Descents descents({movables, clashes, meetings ? &*meetings : nullptr, pairs / 2}, cells, bound, control,
                    "relations");
  descents.run();
  cells = descents.offsets();
  return bound;
}

}  // namespace stowage::pack::relations
