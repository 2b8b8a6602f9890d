#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/home.h"
#include "run/machine.h"
#include "run/program.h"
#include "run/rows.h"
#include "stowage/plan.h"
#include "stowage/run.h"

namespace stowage::run {

/// Runs the steps of one model, and the same operators in the reference.
class Interpreter {
 public:
  /// Keeps references to everything in `setting`.
  explicit Interpreter(const Setting& setting) : setting_(setting), machine_(setting) {}
  /// The same for a model that runs these steps by rows. Throws Error for steps that its kernels cannot run.
  Interpreter(const Setting& setting, std::span<const Step> steps)
      : setting_(setting), machine_(setting), rows_(std::make_unique<RowTasks>(machine_, steps)) {}

  /// The caller gives an input or a state, now or when it arrives.
  void give(TensorId tensor, std::span<const std::byte> value);
  /// The caller takes an output, or gets what has left.
  [[nodiscard]] std::vector<std::byte> read(TensorId tensor);
  /// Passes the output of a model that ran to an input of this one. In the plan both must have the same
  /// place.
  void take(TensorId input, Interpreter& from, TensorId output);
  /// The same for an output that was copied to the place of a state.
  void take(TensorId input, Interpreter& from, TensorId output, const PlacedPart& copied);
  /// Copies a new state to the place of the old one, which may be smaller. Returns that place.
  PlacedPart copy_state(TensorId output, TensorId input);

  /// Throw RunFault, Interrupted, and Error for data that an operator cannot process.
  void run(const std::vector<Call>& calls);
  void run(const Call& call);
  /// Rows of an operator, of an input that arrives, or of an output that leaves.
  void run_rows(const Step& step);
  /// A copy of the plan.
  void run(const Copy& copy);

  // Primitives of control flow.
  void move_to(Position at) { setting_.home.move_to(at); }
  /// Goes on with an operator after its body.
  void resume(const std::string& who) { machine_.resume(who); }
  /// Forgets earlier values of the tensors that the subgraph's operators write.
  void enter(std::size_t subgraph);
  /// Copies bytes of one tensor to a place in another.
  void copy(TensorId from, TensorId to, Bytes offset);
  /// Copies the bytes from `offset` on to another tensor, which is no larger than they are.
  void copy_part(TensorId from, Bytes offset, TensorId to);
  /// Copies several tensors at once: reads all before it writes any, and writes none that is in place.
  void copy_all(std::span<const TensorId> from, std::span<const TensorId> to);
  /// The value of a tensor of one element, of a boolean or integer type.
  [[nodiscard]] std::int64_t scalar(TensorId tensor);
  void set_scalar(TensorId tensor, std::int64_t value);

  [[nodiscard]] const Program& program() const { return setting_.program; }
  [[nodiscard]] const Graph& graph() const { return *setting_.program.graph; }

 private:
  [[nodiscard]] Interpreter* own() const;
  [[nodiscard]] std::string describe(const Call& call) const;
  void take_from(const PlacedPart& read, TensorId input, Interpreter& from, TensorId output);
  [[nodiscard]] Task task_of(const Call& call);

  Setting setting_;
  Machine machine_;
  std::unique_ptr<RowTasks> rows_{};  ///< Null: nothing runs by rows.
};

/// Runs an operator with bodies: If, Loop, Scan, IF, WHILE, CALL_ONCE. Time is already at its own position.
void run_control_flow(Interpreter& interpreter, const Call& call, const std::string& who);

/// The reason why an operator with bodies cannot run; empty if it can.
[[nodiscard]] std::string obstacle_to_control_flow(const Graph& graph, const Operator& op,
                                                   const Attributes& attributes);

/// How a Scan goes over its inputs and results, of which the first are carried from round to round.
struct Scanning {
  std::size_t carried = 0;
  std::int64_t rounds = 0;
  std::vector<bool> is_backward{};            ///< Per input.
  std::vector<bool> is_collected_backward{};  ///< Per result.
};

/// Requires that there is no obstacle.
[[nodiscard]] Scanning scanning_of(const Graph& graph, const Operator& op, const Attributes& attributes);

}  // namespace stowage::run
