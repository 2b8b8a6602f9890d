/// Example: how much of the traffic a fast memory of 64 or 128 bytes takes off a slow one.
///
///     const std::string graph = R"({"format":"stowage-graph","version":1,"name":"net",
///         "tensors":[{"name":"x","kind":"input","dtype":"int8","shape":[96],"bytes":96},
///                    {"name":"y","kind":"output","dtype":"int8","shape":[32],"bytes":32}],
///         "subgraphs":[{"name":"main","inputs":["x"],"outputs":["y"],
///                       "operators":[{"name":"pool","type":"Pool","inputs":["x"],"outputs":["y"]}]}]})";
///     const std::vector<stowage::Input> inputs{stowage::parse_input(graph, "net.json")};
///     stowage::SweepOptions options;
///     options.plan.memories = {{.name = "fast"}, {.name = "slow", .cost = 10}};
///     options.sizes = {64, 128};
///     const auto rows = stowage::sweep(inputs, options);
///     return rows[0].unavoidable == 96 && rows[1].unavoidable == 0 ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {

struct SweepOptions {
  /// All but the size of one memory. If moves are allowed, `auto` is tried with and without them, the other
  /// strategies without.
  PlanOptions plan{};
  std::size_t memory = 0;      ///< Index in PlanOptions::memories: whose size is swept.
  std::vector<Bytes> sizes{};  ///< To try, at least one.
};

/// How a strategy did with one size.
struct SweepEntry {
  std::string strategy{};
  Moves moves = Moves::none;
  std::string obstacle{};  ///< Why it cannot serve the input; then nothing else is set.
  Outcome outcome = Outcome::fits;
  Bytes slow_traffic = 0;  ///< Read from and written to the memories that come after the swept one.
  std::int64_t cost = 0;   ///< Of all traffic, as in Summary.
  Faults faults{};         ///< What the checker has against the plan: a bug of stowage.
};

struct SweepRow {
  Bytes size = 0;
  std::vector<SweepEntry> entries{};
  /// Traffic of the slower memories that no plan avoids, since operators' own operands do not fit the others
  /// together. Holds for every way of sharing bytes and for moves.
  Bytes unavoidable = 0;
};

/// Plans networks once for each size and strategy. Asked to stop, it leaves out the sizes it has not done.
/// Throws like `make_plan`, and UsageError where no slower memory follows.
[[nodiscard]] std::vector<SweepRow> sweep(std::span<const Input> inputs, const SweepOptions& options);

/// Sizes from one to the other, both among them, two for each doubling.
[[nodiscard]] std::vector<Bytes> sizes_between(Bytes from, Bytes to);

}  // namespace stowage
