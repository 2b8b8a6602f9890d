#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/rows.h"
#include "model/clock_tree.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Bytes that must be kept, and their place: rows of a tensor from their write to after their last read, or the sums of
/// an operator from its first step to its last. A tensor without rows is one row.
struct KeptBytes {
  TensorId tensor = 0;
  Rows rows{0, 1};
  Lifetime life{};
  bool is_given = false;  ///< Handed over before the operator at `life.lower` runs, not written by it.
  Handing handing = Handing::none;
  bool is_last = false;  ///< The value when the steps end, which other models may need (Played::beyond).
  bool may_end_early = false;    ///< At `life.upper - 1` only an operator reads it that may write over it.
  bool is_written_over = false;  ///< By the operator at `life.upper`, which reads it first.
  bool has_other_views = false;  ///< The tensor has views of one clock that are live together.
  /// A row is NetworkSteps::outer_of runs of bytes, as in the whole tensor in row-major order; otherwise one run.
  bool is_in_whole_view = false;
  std::optional<std::uint32_t> sums_of{};  ///< The operator whose sums these are; none: a tensor.
  const View* view = nullptr;              ///< None for sums.
  std::size_t buffer = 0;                  ///< Of the view, or of the sums.
  Bytes first = 0;                         ///< In the buffer: where the first row begins.
  Bytes step = 0;                          ///< From a row to the next; the bytes of each run.

  [[nodiscard]] Bytes at_row(std::int64_t row) const { return first + (row - rows.first) * step; }
  [[nodiscard]] std::int64_t count() const { return rows.second - rows.first; }
};

/// A deque, because it grows without a second copy of them.
using AllKeptBytes = std::deque<KeptBytes>;

/// Bytes of tensors, by tensor. Behind them: sums, tensors that move, and parts of others.
struct Needs {
  AllKeptBytes all{};
  std::vector<std::size_t> first{};  ///< Of each tensor, and the end.
};

/// A step or the caller gives, writes, reads or copies rows of a tensor that moves.
struct Use {
  TensorId tensor = 0;
  Rows rows{0, 1};
  std::size_t clock = 0;
  Lifetime life{};  ///< From the start of its step to the end.
  bool is_given = false;
  bool is_written = false;
  bool may_write_over = false;  ///< An operator reads them that may write over them.
  const Copy* copy = nullptr;   ///< If it is a copy.
  std::string by{};
};

/// An operator computes outputs, or rows of them, from its inputs.
struct Task {
  const Operator* op = nullptr;
  Position at = 0;
};

/// A body has run and hands over the value of a tensor.
struct HandedOver {
  TensorId from = 0;
  TensorId to = 0;
  Position at = 0;   ///< The body's last step, or the operator's own if the body has none.
  Position end = 0;  ///< Behind the operator's bodies.
};

struct Played {
  std::vector<std::vector<RowLife>> lives{};  ///< Of each tensor, in time order.
  /// When other models need the last value of a tensor, too: until fed models have read it, until the plan ends, or, for
  /// state, since the plan began.
  std::map<TensorId, std::vector<model::Stretch>> beyond{};
  std::vector<KeptBytes> sums{};
  std::vector<HandedOver> handed{};
  std::vector<Task> tasks{};                    ///< Those that may write over an input, or copy bytes.
  std::map<TensorId, std::vector<Use>> uses{};  ///< Of tensors that move, in time order.
  std::map<TensorId, std::vector<KeptBytes>> followed{};  ///< What tensors that move need: see check/moves.h.
  bool has_run_again = false;                             ///< Rows were computed more than once.

  /// The value of the tensor when the steps end; null if it has none. Only whole values outlive the steps.
  [[nodiscard]] const RowLife* last_of(TensorId t) const;
  [[nodiscard]] std::span<const model::Stretch> beyond_of(const KeptBytes& need) const;
};

/// For each tensor of the plan, its tensor in its network.
using Ids = std::vector<std::optional<TensorId>>;

/// The steps of one network within a plan.
struct NetworkSteps {
  const Plan* plan = nullptr;
  const Graph* graph = nullptr;
  std::size_t model = 0;
  const Ids* ids = nullptr;
  std::vector<const PlannedTensor*> matched{};  ///< For each tensor of the graph.
  model::Stretch span{};                        ///< All steps of the network; at least one position.
  Position steps_end = 0;                       ///< Where the steps end; the start if there are none.
  std::vector<bool> is_fed{};                   ///< By another network.
  std::vector<bool> is_moved{};                 ///< By copies.
  std::vector<TensorRows> rows{};               ///< Of each tensor, if `is_by_rows`.
  bool is_by_rows = false;                      ///< Some steps or views are of rows.
  std::map<TensorId, TensorId> old_states{};    ///< By the new ones.

  [[nodiscard]] std::span<const Step> steps() const {
    return std::span(plan->clocks[span.clock].steps)
        .subspan(static_cast<std::size_t>(span.life.lower),
                 static_cast<std::size_t>(steps_end - span.life.lower));
  }
  [[nodiscard]] const Step& step(Position at) const {
    return plan->clocks[span.clock].steps[static_cast<std::size_t>(at)];
  }
  /// None for tensors of other networks.
  [[nodiscard]] std::optional<TensorId> id_of(std::size_t planned) const {
    return plan->tensors[planned].model == model ? (*ids)[planned] : std::nullopt;
  }
  [[nodiscard]] TensorRows rows_of(TensorId t) const {
    return is_by_rows ? rows[t] : TensorRows{.bytes = graph->tensors[t].bytes};
  }
  /// Number of runs of bytes of which each of its rows consists.
  [[nodiscard]] std::int64_t outer_of(const KeptBytes& need) const {
    return need.is_in_whole_view ? rows_of(need.tensor).outer : 1;
  }
  [[nodiscard]] Rows all_rows(TensorId t) const { return {0, is_by_rows ? rows[t].count : 1}; }
};

/// Replays the steps of one network. Steps that the network does not have and reads of absent bytes are faults.
[[nodiscard]] Played replay(const NetworkSteps& part, Faults& faults);

/// The output that the operator may write over this input while reading it, or the new state if the input
/// is the old one. None if other models may read the input too.
[[nodiscard]] std::optional<TensorId> written_over(const NetworkSteps& part, const Operator& op,
                                                   std::size_t input);

}  // namespace stowage::check
