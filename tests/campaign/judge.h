#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "case.h"
#include "open_run.h"
#include "replay.h"
#include "stowage/planner.h"

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
  struct Open {
    OpenTally run{};
    std::int64_t answers = 0;  ///< How often sizes were asked for.
    std::int64_t useless = 0;  ///< Sizes that were asked for and then had no effect.
    std::int64_t streams = 0;  ///< Plans by rows, which do not run at other sizes.
  };
  Open open{};
};

void count_plan(const PlanResult& result, Tally::OfFamily& family);

/// Plans the case and looks at everything that the documents promise.
[[nodiscard]] Findings judge(const Case& drawn, Tally& tally);

}  // namespace stowage::campaign
