/// Solutions of searches that end by themselves, soon.
#pragma once

#include <cstdint>
#include <vector>

#include "pack/placing.h"
#include "pack/portfolio.h"
#include "stowage/problem.h"

namespace stowage::testing {

/// As `solve` in one memory, but with so many rounds of each search.
inline Solution solve_in_rounds(const Problem& problem, const SolveOptions& options, std::int64_t rounds) {
  validate(problem);
  static_cast<void>(obstacle_to(options.strategy, problem));
  std::vector<const pack::Strategy*> chosen;
  for (const pack::Strategy& strategy : pack::packers()) {
    if (options.strategy == "auto" ? strategy.info.is_in_auto : options.strategy == strategy.info.name)
      chosen.push_back(&strategy);
  }
  return pack::best_of(problem, chosen,
                       {.options = options, .deadline = pack::deadline_of(options), .rounds = rounds});
}

}  // namespace stowage::testing
