/// Example: traffic of a slow memory next to a fast memory of 64 or 128 bytes.
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
  /// Everything except the size of one memory. If moves are allowed, `auto` runs with and without them, and
  /// the other strategies without.
  PlanOptions plan{};
  std::size_t memory = 0;      ///< Index in PlanOptions::memories of the swept memory.
  std::vector<Bytes> sizes{};  ///< In bytes; at least one.
  std::size_t jobs = 1;        ///< Sizes that are planned at once; they share the threads.
};

/// The result of one strategy with one size.
struct SweepEntry {
  std::string strategy{};
  Moves moves = Moves::none;
  std::string obstacle{};  ///< Why it does not apply to the input; then nothing else is set.
  Outcome outcome = Outcome::fits;
  bool interrupted = false;  ///< The search was cut short.
  Bytes slow_traffic = 0;    ///< Bytes read from and written to memories slower than the swept one.
  std::int64_t cost = 0;     ///< Of all traffic, as in Summary.
  Faults faults{};           ///< Faults that the checker found: a bug in stowage.
};

struct SweepRow {
  Bytes size = 0;
  std::vector<SweepEntry> entries{};
  /// Lower bound of the slower memories' traffic in bytes, for every plan, with or without sharing and moves:
  /// the operands of one operator do not fit into the other memories together.
  Bytes unavoidable = 0;
};

/// Plans networks once for each size and strategy. If cancelled, it leaves out the sizes that are not done. Throws like
/// `make_plan`, and UsageError if no slower memory follows the swept one.
[[nodiscard]] std::vector<SweepRow> sweep(std::span<const Input> inputs, const SweepOptions& options);

/// Sizes in bytes from `from` to `to`, both included, two for each doubling.
[[nodiscard]] std::vector<Bytes> sizes_between(Bytes from, Bytes to);

}  // namespace stowage
