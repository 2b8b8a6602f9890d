#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "stowage/dsa.h"
#include "stowage/error.h"
#include "stowage/problem_json.h"

namespace {

/// What is solved can be checked; what is written can be read again, and is the same.
void solve_and_read_again(const stowage::ProblemDocument& document) {
  const stowage::Solution solution = solve(document, {.effort = 5});
  if (!faults_of(document.problem, solution).empty()) std::abort();
  std::ostringstream problem;
  write_problem(document, problem);
  if (stowage::parse_problem(problem.view()).problem != document.problem) std::abort();
  if (solution.outcome != stowage::Outcome::fits) return;
  std::ostringstream out;
  write_solution(document, solution, out);
  if (parse_solution(document, out.view()).places != solution.places) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (stowage::is_problem_json(text)) {
      solve_and_read_again(stowage::parse_problem(text));
    } else {
      const auto it = stowage::parse_dsa_problem(text);
      const stowage::Solution solution = stowage::solve(it.problem, {.effort = 5});
      if (!stowage::faults_of(it.problem, solution).empty()) std::abort();
    }
  } catch (const stowage::Error&) {
    return 0;
  }
  return 0;
}
