/// Runs a graph the way a machine would, without values, and notes who touches which tensor when.
/// Slow and plain: it knows nothing of intervals. Example:
///
///     const Execution execution = execute(graph, clock);
///     const auto needs = needs_of(graph, execution);
///     // needs[tensor]: for each of its lives the positions at which its bytes must be there
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::oracle {

enum class Use : std::uint8_t { write, read };

/// Something happens to a tensor's bytes.
struct Event {
  TensorId tensor = 0;
  std::size_t moment = 0;  ///< Index in Execution::moments.
  Use use = Use::write;
  const Operator* reader = nullptr;  ///< Null: handed over, held, or read by the caller.
};

/// An operator that is to run at a position, and what its bodies run.
struct Call {
  const Operator* op = nullptr;
  Position at = 0;
  std::vector<std::vector<Call>> bodies{};
};

/// Of which tensor of a body each output is the value when that body is done; none if that is not known. For an If, a
/// result of each body; for a Loop, an input of its first body behind the round and the condition.
[[nodiscard]] std::vector<std::optional<TensorId>> sources_of_outputs(const Graph& graph, const Operator& op,
                                                                      std::size_t body);

/// Makes a program of the clock's steps: every run of a subgraph has one step for each of its operators,
/// and the steps of an operator's bodies follow it. Throws std::invalid_argument for other steps.
[[nodiscard]] std::vector<Call> program_of(const Graph& graph, const Clock& clock);

/// A run of the network. Loops run two rounds, which show all that more rounds would show.
struct Execution {
  std::vector<Position> moments;  ///< The clock's position at each moment of the run.
  std::vector<Event> events;      ///< In the order of the run.
};

/// When outputs of operators with bodies have their memory, if it is known which tensors they come from.
enum class Outputs : std::uint8_t {
  from_the_start,  ///< From the operator's own position on.
  when_handed_over
};

/// Runs the steps. Throws std::invalid_argument for steps that the graph does not have, and for a
/// tensor that is read before it is written.
[[nodiscard]] Execution execute(const Graph& graph, const Clock& clock,
                                Outputs outputs = Outputs::from_the_start);

using Positions = std::set<Position>;

/// For each tensor the positions the run passes from each writing of it to the last reading of what
/// was written. Writings that need a common position (rounds of a loop) are one life. Nothing for
/// weights, instructions and what nobody touches. An old state needs nothing from where the new one
/// is written.
[[nodiscard]] std::vector<std::vector<Positions>> needs_of(const Graph& graph, const Execution& execution);

/// Where the new state is first written; the clock's end if never.
[[nodiscard]] Position new_state_at(const Execution& execution, const StateTie& tie);

/// Whether the old state is still wanted when the new one takes its place, other than by the
/// operator that updates it in place.
[[nodiscard]] bool is_old_state_lost(const Execution& execution, const StateTie& tie);

}  // namespace stowage::oracle
