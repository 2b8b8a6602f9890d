/// Problems and solutions in the JSON schema of dsa-solver, version 1, which compilers exchange.
///
/// Example: two buffers that cost 3 if they share bytes, in a memory with room for both.
///
///     const auto problem = stowage::parse_dsa_problem(R"({"schema_version": 1, "profile": "dsa_rp_v1",
///         "instance": "two", "problem": {
///         "pools": [{"id": 0, "name": "vec", "capacity": 64, "reserved_ranges": []}],
///         "buffers": [{"id": 0, "name": "a", "size": 32, "alignment": 1, "allowed_pools": [0],
///                      "live_intervals": [{"lower": 0, "upper": 1}]},
///                     {"id": 1, "name": "b", "size": 32, "alignment": 1, "allowed_pools": [0],
///                      "live_intervals": [{"lower": 1, "upper": 2}]}],
///         "constraints": {"colocations": [], "separations": [], "temporal_exclusions": [],
///                         "pinned_allocations": []},
///         "cost_model": {"reuse_penalties": [{"first": 0, "second": 1, "cost": 3, "reason": "generic"}]},
///         "objective": {"aggregation": "lexicographic", "terms": ["capacity_overflow", "reuse_cost"]}}})");
///     return stowage::solve(problem.problem).reuse_cost == 0 ? 0 : 1;
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/problem.h"

namespace stowage {

/// A problem of dsa-solver's schema, and what its solution repeats of it.
struct DsaProblem {
  Problem problem{};
  std::string instance{};
  std::string profile{};
  std::string fingerprint{};             ///< FNV-1a of the document, 16 hexadecimal digits.
  std::vector<std::uint32_t> buffers{};  ///< Their ids in the document.
  std::vector<std::uint32_t> pools{};    ///< The same of memories.
  Objective objective =
      Objective::cost;  ///< The terms `reuse_cost` and `peak` of its objective, in their order.
  std::vector<std::string> not_minimised{};  ///< Terms of its objective that are left out, in order.
};

/// Reads a problem. A capacity that is left open stays open. Throws Error, naming the place, if the document does not
/// follow the schema or contradicts itself.
[[nodiscard]] DsaProblem parse_dsa_problem(std::string_view json);

/// Whether a document says that it is such a problem; cheap.
[[nodiscard]] bool is_dsa_problem(std::string_view json);

/// Writes the offsets of a solution, and in its metadata the proof of its bound. Buffers in the proof are numbers from 0, in
/// the order of the problem.
void write_dsa_solution(const DsaProblem& problem, const Solution& solution, std::ostream& out);

/// Reads what `write_dsa_solution` wrote. Throws Error, naming the place, if it is not for the problem. `faults_of` says
/// whether it is right.
[[nodiscard]] Solution parse_dsa_solution(const DsaProblem& problem, std::string_view json);

}  // namespace stowage
