#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "stowage/offset_functions.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// Sizes of all buffers at some values of the symbols.
struct Scenario {
  std::vector<Bytes> sizes{};
  Bytes load = 0;  ///< Most live bytes.
};

/// Buffers from below to above: each lies above all that come before it and live at the same time.
using Stacking = std::vector<std::size_t>;

/// Lives of all buffers, and what is derived from them.
class StackedLives {
 public:
  explicit StackedLives(std::vector<Lifetime> lives);

  [[nodiscard]] std::size_t size() const { return lives_.size(); }
  [[nodiscard]] Scenario scenario_of(std::vector<Bytes> sizes) const;
  /// Offsets of the buffers. Cost: blocks of 32 times in all lives.
  [[nodiscard]] std::vector<Bytes> offsets_of(const Stacking& stacking, std::span<const Bytes> sizes) const;
  [[nodiscard]] bool overlap(std::size_t a, std::size_t b) const;
  /// What is right below each buffer at some time: at most three pairs for each buffer.
  [[nodiscard]] Relation relation_of(const Stacking& stacking) const;

 private:
  std::vector<Lifetime> lives_;
  std::vector<Lifetime> ranks_;  ///< The same lives, with positions counted only where one begins or ends.
  std::size_t times_ = 0;
};

/// The highest end of a buffer.
[[nodiscard]] Bytes peak_of(std::span<const Bytes> offsets, std::span<const Bytes> sizes);

/// A good stacking for one scenario.
using StackFor = std::function<Stacking(const Scenario& scenario)>;

/// At most three stackings, of which at each scenario the one with the lowest peak counts, so that the greatest peak
/// over live bytes is low. Of those that `stack` gives for scenarios, the best ones are improved.
[[nodiscard]] std::vector<Stacking> search_stackings(const StackedLives& lives,
                                                     std::span<const Scenario> scenarios,
                                                     const StackFor& stack, const base::Deadline& deadline);

}  // namespace stowage::plan
