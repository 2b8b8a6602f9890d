#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/blocks.h"
#include "run/footprint.h"
#include "run/home.h"
#include "run/operands.h"
#include "run/parts.h"
#include "run/program.h"
#include "run/row_kernels.h"
#include "stowage/error.h"
#include "stowage/run.h"

namespace stowage::run {

class Reference;

/// Thrown when cancelled.
struct Interrupted {};

/// A part of an operand that a task reads or writes.
struct Operand {
  std::size_t index = 0;  ///< In the operator's inputs or outputs.
  std::optional<Row> row{};
  PlacedPart at{};
};

/// One call of a kernel: a whole operator, or a row of it.
struct Task {
  std::size_t subgraph = 0;
  std::size_t op = 0;
  const RowKernel* way = nullptr;  ///< How it computes one row; null: it runs as a whole.
  std::vector<Operand> inputs{};
  std::vector<Operand> outputs{};
  bool adds = false;  ///< Adds to the present values of the outputs.
};

/// What a model is run with.
struct Setting {
  const Network* network = nullptr;  ///< Null: nothing runs by rows.
  const Program& program;
  Home& home;
  const RunOptions& options;
  RunResult& result;
  const BlockNetwork* blocks = nullptr;  ///< Null: the network is not split.
  Reference* reference = nullptr;        ///< Null: nothing is compared.
};

/// Reads, computes and writes parts of one model's tensors where they are, and checks all three: what is read must
/// be there byte for byte, and no kernel may overwrite what it reads.
class Machine {
 public:
  /// Keeps references to everything in `setting`.
  explicit Machine(const Setting& setting);

  /// A step begins at the present time. Throws Interrupted.
  void begin(const std::string& what);
  /// The step is done: reports it.
  void end();
  /// With RunCheck::tensors: throws RunFault if the step wrote to a free byte.
  void expect_unspoilt() const;
  /// Writes and messages are those of this step again, which ran bodies.
  void resume(const std::string& what);
  [[nodiscard]] const std::string& who() const { return who_; }

  /// The part, which the present step reads. Throws RunFault unless it is complete, and with RunCheck::tensors
  /// unless it equals the reference.
  [[nodiscard]] PlacedPart read(const TensorPart& part);
  /// The same without comparing it.
  [[nodiscard]] PlacedPart find_written(const TensorPart& part);
  /// The place where the present step must write the part.
  [[nodiscard]] PlacedPart room(const TensorPart& part);
  /// The present step has written the part there; bytes in place keep what else they are.
  void wrote(const TensorPart& part, const PlacedPart& at);
  /// The same without comparing it.
  void note_written(const TensorPart& part, const PlacedPart& at);
  /// The bytes of a tensor, which the present step reads.
  [[nodiscard]] std::vector<std::byte> value_of(TensorId tensor);
  /// Copies a value to the part from the bytes of its tensor.
  void write(const TensorPart& part, const std::byte* value);
  /// Throws RunFault unless the part equals the reference, if there is one.
  void compare(const TensorPart& part, const PlacedPart& at, const std::string& how) const;
  /// Throws RunFault if no byte of the tensor was ever written.
  void expect_written(TensorId tensor) const;
  /// Forgets earlier values of the tensors that the subgraph's operators write.
  void forget(std::size_t subgraph);
  /// Counts the bytes as touched by the present step.
  void note_touched(const PlacedPart& part);

  /// Counts what these rows of an operator, or all, multiply if the plan runs rows.
  void count_multiplies(const Operator& op, const std::optional<RowRange>& rows) const;

  /// Computes the outputs, which are there from then on.
  void compute(const Task& task);
  /// Computes outputs that are not there yet: they are not complete, or `wrote_outputs_of` follows.
  void compute_only(const Task& task);
  void wrote_outputs_of(const Task& task);
  /// Calls a kernel that may touch only these bytes of the plan's memories.
  template <typename Body>
  void call(std::span<const PlacedPart> allowed, const Body& body);
  /// Provides as many bytes of scratch memory.
  void reserve(Bytes scratch);
  [[nodiscard]] std::byte* scratch();
  /// For the Operands of one call of a kernel after the other.
  [[nodiscard]] TemporaryMemory& temporary() { return temporary_; }

  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] const Program& program() const { return setting_.program; }
  [[nodiscard]] const Graph& graph() const { return *setting_.program.graph; }
  [[nodiscard]] Home& home() const { return setting_.home; }
  [[nodiscard]] RunResult& result() const { return setting_.result; }
  [[nodiscard]] const Operator& op(const Task& task) const {
    return graph().subgraphs[task.subgraph].operators[task.op];
  }
  /// Whether the tensor has a value: a constant has.
  [[nodiscard]] bool is_there(TensorId tensor) const { return is_written_[tensor] || is_constant(tensor); }
  [[nodiscard]] bool is_constant(TensorId tensor) const {
    return program().constants[tensor].data() != nullptr;
  }
  /// Whether operands are compared before and after each step.
  [[nodiscard]] bool compares_all() const {
    return setting_.reference != nullptr && setting_.options.check == RunCheck::tensors;
  }

 private:
  [[nodiscard]] PlacedPart constant(const TensorPart& part) const;
  [[nodiscard]] PlacedPart read_stored(const TensorPart& part);
  [[nodiscard]] PlacedPart changed_by(const Task& task, const Operand& output) const;
  [[nodiscard]] bool may_write_over(const Task& task, const Operand& input, const Operand& output) const;
  void overwrite(const Task& task);
  [[nodiscard]] bool is_kept(const Task& task, const Operand& input) const;
  /// The operands that a kernel gets: the parts that it reads and writes, aligned to their elements or as they lie
  /// in memory, or whole tensors in which only these parts are filled in and kept.
  enum class Seen : std::uint8_t { aligned, as_they_are, wholes };
  void call(const Task& task, Operands& beside);
  void call_windows(const Task& task, Operands& beside);
  void call_kernel(const Task& task, Operands& beside, const Kernel& kernel, Seen seen);
  [[nodiscard]] std::vector<const std::byte*> input_pointers(const Task& task, Operands& beside,
                                                             Seen seen) const;
  void count_copies(const Operator& op, std::span<const std::byte* const> inputs,
                    std::span<std::byte* const> outputs) const;

  using Time = std::chrono::steady_clock;

  Setting setting_;
  std::vector<bool> is_written_;  ///< Per tensor: at least a part of it.
  AlignedBytes scratch_{};        ///< Null until a kernel needs it.
  TemporaryMemory temporary_{};
  std::string who_ = "the caller";
  std::vector<Bytes> highest_{};
  std::size_t report_ = 0;  ///< Of the present step, in the result.
  double seconds_ = 0;      ///< Of its kernels.
};

template <typename Body>
void Machine::call(std::span<const PlacedPart> allowed, const Body& body) {
  std::vector<ByteRange> ranges;
  for (const PlacedPart& part : allowed) {
    for (const PlacedBytes& bytes : part) ranges.push_back({bytes.at, bytes.size});
  }
  const auto start = Time::now();
  try {
    const OnlyThese only(home().device(), ranges, who_);
    body();
  } catch (const Error& error) {
    throw Error(who_, error.what());
  }
  seconds_ += std::chrono::duration<double>(Time::now() - start).count();
}

}  // namespace stowage::run
