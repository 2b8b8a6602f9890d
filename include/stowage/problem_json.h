/// Problems and solutions as JSON: `stowage-problem` and `stowage-solution`, version 1. docs/problem.schema.json and
/// docs/solution.schema.json describe them, docs/problem-json.md explains them.
///
/// Example: two buffers that cost 3 if they share bytes, in a memory with room for both.
///
///     const auto document = stowage::parse_problem(R"({"format": "stowage-problem", "version": 1,
///         "memories": [{"name": "vec", "capacity": 64}],
///         "buffers": [{"id": "a", "size": 32, "lives": [[0, 1]]}, {"id": "b", "size": 32, "lives": [[1, 2]]}],
///         "reuse_costs": [{"buffers": ["a", "b"], "cost": 3}]})");
///     return stowage::solve(document).reuse_cost == 0 ? 0 : 1;
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "stowage/partial_lives.h"
#include "stowage/problem.h"

namespace stowage {

struct ProblemDocument {
  std::string name{};
  Problem problem{};
  Objective objective = Objective::cost_then_peak;
  /// Lives in a partial order; the pairs that they keep apart are the last of `problem.relations.apart`.
  std::optional<PartialLives> lives{};

  bool operator==(const ProblemDocument&) const = default;
};

[[nodiscard]] std::string_view name_of(Objective objective);
[[nodiscard]] std::optional<Objective> objective_named(std::string_view name);

/// Whether a document says that it is such a problem; cheap.
[[nodiscard]] bool is_problem_json(std::string_view json);

/// Reads a problem. Throws Error, naming the place, if the document does not follow the schema or contradicts itself.
[[nodiscard]] ProblemDocument parse_problem(std::string_view json);

/// Writes a problem whose buffers have lives or pairs, not pieces of their bytes. Throws Error for another.
void write_problem(const ProblemDocument& document, std::ostream& out);

/// With the objective of the document, whatever the options say.
[[nodiscard]] Solution solve(const ProblemDocument& document, SolveOptions options = {});

/// Writes places, costs, bounds and the proof of the cost.
void write_solution(const ProblemDocument& document, const Solution& solution, std::ostream& out);

/// Reads a solution that fits, from `write_solution` or another program. Throws Error, naming the place, if it is not for the
/// problem. `faults_of` says whether it is right.
[[nodiscard]] Solution parse_solution(const ProblemDocument& document, std::string_view json);

}  // namespace stowage
