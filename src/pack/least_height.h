#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pack/placing.h"
#include "pack/section_search.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Searches for the least height of a model, round by round: see least_height.cc. Keeps references.
class LeastHeight {
 public:
  /// Begins with a first fit, which is useless if cancelled, or with the placing that `control` knows, if that is
  /// lower. Tries nothing lower than `enough`.
  LeastHeight(const Tables& tables, Bytes enough, const Control& control);

  /// In units, by item.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  [[nodiscard]] Bytes height() const { return height_; }
  /// Nothing lower than this is possible or wanted.
  [[nodiscard]] Bytes low() const { return low_; }
  void ask_for_no_less_than(Bytes enough) { low_ = std::max(low_, enough); }

  /// Runs the next round, with more searches than the one before; false if none was left.
  bool advance();

 private:
  void keep(std::vector<Bytes> offsets);
  void halve(std::uint64_t searches);

  const Tables& tables_;
  const Control& control_;
  Bytes low_;
  Bytes height_ = 0;
  std::vector<Bytes> offsets_;
  std::uint64_t asked_ = 0;  ///< Numbers of searches already used.
  std::int64_t round_ = 0;
};

}  // namespace stowage::pack
