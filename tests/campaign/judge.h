#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "case.h"
#include "replay.h"

namespace stowage::campaign {

/// What a campaign has seen, so that one sees that it was not empty.
struct Tally {
  struct OfFamily {
    std::int64_t cases = 0;
    std::int64_t planned = 0;
    std::int64_t refused = 0;
    std::int64_t too_large = 0;  ///< Beyond the capacity.
    std::int64_t cut_short = 0;
    std::int64_t proven = 0;  ///< Peak equals the bound.
    std::int64_t aliased = 0;
    std::int64_t in_place = 0;
    std::int64_t streamed = 0;
    std::int64_t recomputed = 0;
    std::int64_t moved = 0;
    std::int64_t forked = 0;
    std::int64_t run = 0;
  };
  std::map<Family, OfFamily> families{};
  ReplayTally replayed{};
  std::map<std::string, std::int64_t> refusals{};
  std::map<std::string, std::int64_t> compared{};  ///< Brute forces and comparisons, by their name.
  std::map<std::string, std::vector<std::uint64_t>> remarks{};  ///< What is not promised: cases by what.
  struct Mutations {
    std::int64_t made = 0;
    std::int64_t noticed = 0;
  };
  std::map<std::string, Mutations> mutations{};
};

/// Plans the case and looks at everything that the documents promise.
[[nodiscard]] Findings judge(const Case& drawn, Tally& tally);

}  // namespace stowage::campaign
