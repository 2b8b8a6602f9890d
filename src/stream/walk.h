#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "stream/program.h"

namespace stowage::stream {

/// Operators [begin, end).
struct Region {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] bool has(std::size_t op) const { return begin <= op && op < end; }
  bool operator==(const Region&) const = default;
};

/// Runs an operator's next iteration, and before it what it needs, as late as possible. `needs_of(op)` are the needs
/// of its next iteration, `done(op)` says how many have run, `run(op)` runs the next one. Stops and returns false if
/// `run` does, or if a need is outside the region and has not run.
template <typename NeedsOf, typename Done, typename Run>
[[nodiscard]] bool pull(std::size_t target, const Region& region, std::vector<std::size_t>& wanted,
                        NeedsOf needs_of, Done done, Run run) {
  wanted.assign({target});  // operators whose next iteration is needed, each for the previous one
  while (!wanted.empty()) {
    const std::size_t op = wanted.back();
    const auto& needs = needs_of(op);
    const auto missing = std::find_if(needs.begin(), needs.end(),
                                      [&](const Dependence& it) { return done(it.op) < it.count; });
    if (missing != needs.end()) {
      if (!region.has(missing->op)) return false;
      wanted.push_back(missing->op);
      continue;
    }
    if (!run(op)) return false;
    wanted.pop_back();
  }
  return true;
}

/// Runs steps from a state and records them.
class Walk {
 public:
  Walk(const RowProgram& program, State start) : program_(program), state_(std::move(start)) {}

  /// Runs the operator's next iteration, and before it what it needs, as late as possible. Stops and returns
  /// false if a need is outside the region and has not run, or a step has more than `limit` bytes.
  [[nodiscard]] bool pull(std::size_t op, const Region& region, Bytes limit);

  /// Runs steps in the region that do not raise the live bytes, while any are ready.
  void settle(const Region& region, Bytes limit);

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const std::vector<IterationId>& steps() const { return steps_; }

 private:
  [[nodiscard]] bool run(std::size_t op, Bytes limit);

  const RowProgram& program_;
  State state_;
  std::vector<IterationId> steps_;
  std::vector<std::size_t> wanted_{};
};

}  // namespace stowage::stream
