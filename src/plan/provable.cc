#include "plan/provable.h"

#include "check/exhaust.h"
#include "pack/load.h"

namespace stowage::plan {

Solution solve_provably(const Problem& problem, const SolveOptions& options) {
  Solution solution = solve(problem, options);
  if (solution.certificate.empty()) return solution;
  const check::Verdict verdict =
      check::exhaust(problem.buffers, solution.certificate, solution.lower_bound - 1);
  if (verdict != check::Verdict::takes_too_long) return solution;
  solution.certificate.clear();
  solution.lower_bound = pack::lower_bound_of(problem.buffers);
  return solution;
}

}  // namespace stowage::plan
