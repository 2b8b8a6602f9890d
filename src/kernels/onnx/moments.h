#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/onnx/elements.h"
#include "operators/norm.h"

/// Mean and variance, in one pass over the elements, all at once or row by row: both add the same numbers in the
/// same order. Sources: B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
/// 1962, for element after element; T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise
/// algorithm for computing sample variances", 1979, for lane after lane.
namespace stowage::kernels::onnx_ops {

struct Moments {
  double mean = 0;
  double squares = 0;  ///< Sum of squared distances from the mean.
};
static_assert(sizeof(Moments) == operators::bytes_of_moments);

/// Factor and mean that normalize a group.
struct Normalizer {
  double mean = 0;
  double factor = 0;
};

/// The sums of a norm: for each group of lanes one mean and one variance.
struct NormSums {
  operators::NormLanes lanes{};
  std::int64_t share = 1;  ///< Lanes in a group.
  double epsilon = 0;
  bool subtracts_mean = true;

  [[nodiscard]] Bytes size() const { return lanes.lanes * operators::bytes_of_moments; }
  /// Elements of a lane.
  [[nodiscard]] std::int64_t length() const { return lanes.rows * lanes.inner; }

  /// Adds consecutive elements of a lane, of which `done` came before.
  template <typename Element>
  void add(const Element* from, std::int64_t count, std::int64_t done, Moments& moments) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(value_of(from[i]));
      const double away = x - moments.mean;
      if (subtracts_mean) moments.mean += away / static_cast<double>(done + i + 1);
      moments.squares += away * (x - moments.mean);
    }
  }

  /// Adds a row: elements of all lanes.
  template <typename Element>
  void add_row(std::int64_t row, const Element* from, Moments* all) const {
    for (std::int64_t lane = 0; lane < lanes.lanes; ++lane) {
      if (row == 0) all[lane] = {};
      add(from + lane * lanes.inner, lanes.inner, row * lanes.inner, all[lane]);
    }
  }

  /// Of a group whose lanes are complete.
  [[nodiscard]] Normalizer normalizer(const Moments* group) const {
    Moments joined = group[0];
    const auto one = static_cast<double>(length());
    for (std::int64_t lane = 1; lane < share; ++lane) {
      const auto before = one * static_cast<double>(lane);
      const double away = group[lane].mean - joined.mean;
      joined.mean += away * (one / (before + one));
      joined.squares += group[lane].squares + away * away * (before * one / (before + one));
    }
    const double variance = joined.squares / (one * static_cast<double>(share));
    return {.mean = joined.mean, .factor = 1 / std::sqrt(variance + epsilon)};
  }

  /// Of a whole group.
  template <typename Element>
  [[nodiscard]] Normalizer normalizer_of(const Element* from) const {
    std::vector<Moments> group(static_cast<std::size_t>(share));
    for (std::int64_t lane = 0; lane < share; ++lane)
      add(from + lane * length(), length(), 0, group[static_cast<std::size_t>(lane)]);
    return normalizer(group.data());
  }
};

}  // namespace stowage::kernels::onnx_ops
