// `exact` may place single items or groups of them, and which succeeds depends on the list: chains place D in
// every third dive, single items in one of 500; on E-jittered only single items succeed. So kinds have shares of the
// dives, and a success adds to the share of its kind:
//
//     at first             |  chains  |  items   |  stacks  |   like   |      --golden ratio--> dives
//     stacks succeeded     | ch. | it. |        stacks         | like |
//
// A success counts by one over the share of its kind. Otherwise the kind that had luck first would have more dives,
// so more successes, and keep them. Earlier successes fade. Multiples of the golden ratio pick the kinds, so that
// each comes evenly. After a success they begin elsewhere: where every dive succeeds, the first one does.
//
// Cost: a few operations for each dive. Source: ours; weights that count by one over the probability are those of
// EXP3 (Auer et al., 2002).

#include "pack/dive_kinds.h"

#include <algorithm>
#include <cmath>

namespace stowage::pack {
namespace {

constexpr double kept = 0.8;  ///< An earlier success counts so much less with each later one.
constexpr double gain = 5;    ///< A success in an equal share adds so many of the shares that all begin with.
constexpr double golden_ratio = 0.6180339887498949;

}  // namespace

DiveKinds::DiveKinds(bool has_stacks, bool has_chains)
    : is_possible_{static_cast<char>(has_chains), 1, static_cast<char>(has_stacks),
                   static_cast<char>(has_chains)} {}

std::size_t DiveKinds::count() const { return static_cast<std::size_t>(std::ranges::count(is_possible_, 1)); }

std::array<double, 4> DiveKinds::shares() const {
  std::array<double, 4> shares{};
  double sum = 0;
  for (std::size_t kind = 0; kind < shares.size(); ++kind)
    sum += shares[kind] = is_possible_[kind] != 0 ? 1 + gain * successes_[kind] : 0;
  for (double& share : shares) share /= sum;
  return shares;
}

DiveKind DiveKinds::kind_of(std::uint64_t number) const {
  const double at = std::fmod(golden_ratio * static_cast<double>(number + turn_), 1);
  const std::array<double, 4> all = shares();
  double end = 0;
  std::size_t kind = 0;
  for (std::size_t k = 0; k < all.size() && end <= at; ++k) {
    end += all[k];
    if (all[k] > 0) kind = k;
  }
  return static_cast<DiveKind>(kind);
}

void DiveKinds::add_success(DiveKind kind) {
  const double share = shares()[static_cast<std::size_t>(kind)];
  for (double& successes : successes_) successes *= kept;
  successes_[static_cast<std::size_t>(kind)] += 1 / (share * static_cast<double>(count()));
  ++turn_;
}

}  // namespace stowage::pack
