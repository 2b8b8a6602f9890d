#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/footprint.h"
#include "run/home.h"
#include "run/program.h"
#include "stowage/run.h"

namespace stowage::run {

/// Runs the calls of a program in one or two places, which must agree.
class Interpreter {
 public:
  /// Either home may be missing, not both.
  struct Places {
    PlannedHome* planned = nullptr;
    OwnHome* own = nullptr;
  };

  /// Reports steps and copies to `result`.
  Interpreter(const Program& program, Places places, const RunOptions& options, RunResult& result);

  /// The caller writes a tensor.
  void give(TensorId tensor, std::span<const std::byte> bytes);
  /// Reads a tensor for `who`; both places must agree on it.
  [[nodiscard]] std::span<const std::byte> read(TensorId tensor, const std::string& who);

  /// Passes the output of a model that ran to an input of this one. In the plan both must have the same
  /// place.
  void take(TensorId input, Interpreter& from, TensorId output);

  /// Throws RunFault, Interrupted, and Error for data that an operator cannot process.
  void run(const std::vector<Call>& calls);
  void run(const Call& call);
  /// Makes a copy of the plan.
  void run(const Copy& copy, Position at);

  // Primitives of control flow.
  void move_to(Position at);
  /// Forgets earlier values of the tensors that the subgraph's operators write.
  void enter(std::size_t subgraph);
  void settle(TensorId tensor);
  void mark_written(TensorId tensor);
  /// Copies bytes of one tensor to a place in another, in every home.
  void copy(TensorId from, TensorId to, Bytes offset, const std::string& who);
  /// Copies several tensors at once: reads all before it writes any.
  void copy_all(std::span<const TensorId> from, std::span<const TensorId> to, const std::string& who);
  /// The value of a tensor of one element, of a boolean or integer type.
  [[nodiscard]] std::int64_t scalar(TensorId tensor, const std::string& who);
  void set_scalar(TensorId tensor, std::int64_t value, const std::string& who);

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Graph& graph() const { return *program_.graph; }

 private:
  void run_kernel(const Call& call, const std::string& who, StepReport& report);
  void execute(const Call& call, Home& home, const std::string& who);
  void count_copies(const Operator& op, const OperandPlaces& operands);
  void make_copies(const Operator& op, const OperandPlaces& operands);
  void call_kernel(const Call& call, OperandPlaces& operands, Home& home, const std::string& who);
  [[nodiscard]] OperandPlaces operands_of(const Operator& op, Home& home, const std::string& who);
  [[nodiscard]] std::byte* bytes_of(TensorId tensor, Home& home, const std::string& who) const;
  void expect_readable(const Operator& op, const std::string& who);
  void expect_written(TensorId tensor, const std::string& who);
  [[nodiscard]] std::string describe(TensorId tensor) const;
  [[nodiscard]] StepReport report_of(Position at, const std::string& what) const;
  void report_progress() const;
  void hand_over(TensorId tensor, const std::string& who);
  /// Tensors in these bytes lose their values.
  void overwrite(std::span<const ByteRange> written, std::span<const std::optional<TensorId>> outputs,
                 const std::string& who);
  void compare(TensorId tensor, const std::string& who);
  void note_touched(const Operator& op, StepReport& report);
  void note_touched(const StepReport& report);
  void touch(TensorId tensor, std::vector<Bytes>& highest);

  const Program& program_;
  PlannedHome* planned_;
  OwnHome* own_;
  std::vector<Home*> homes_;
  const RunOptions& options_;
  RunResult& result_;
  std::vector<bool> is_written_;
  AlignedBytes scratch_;
};

/// Thrown when cancelled.
struct Interrupted {};

/// Runs an operator with bodies: If, Loop, IF, WHILE, CALL_ONCE. Time is already at its own position.
void run_control_flow(Interpreter& interpreter, const Call& call, const std::string& who);

/// The reason why an operator with bodies cannot run; empty if it can.
[[nodiscard]] std::string obstacle_to_control_flow(const Graph& graph, const Operator& op);

}  // namespace stowage::run
