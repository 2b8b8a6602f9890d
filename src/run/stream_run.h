#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/clock_tree.h"
#include "run/blocks.h"
#include "run/device.h"
#include "run/plan_run.h"
#include "run/reference.h"
#include "run/row_kernels.h"
#include "run/row_memory.h"
#include "stowage/network.h"
#include "stowage/run.h"

namespace stowage::run {

/// Runs a streamed plan row by row, in its memories.
class StreamRun {
 public:
  /// The model's kernels must be plain. Keeps references to all but the model. Throws RunFault for a plan of
  /// another network, and Interrupted.
  StreamRun(const Network& network, ModelToRun model, const Plan& plan, const RunOptions& options,
            RunResult& result);
  /// The same for a plan of blocks. The model's kernels are those of the unsplit network, which checks compare
  /// with.
  StreamRun(const BlockNetwork& blocks, ModelToRun model, const RunOptions& options, RunResult& result);

  /// Throws RunFault, Interrupted, and Error for data that an operator cannot process. Sets the outputs if it
  /// succeeds.
  void run();

 private:
  /// A row, or the whole, of an operand that a step reads or writes.
  struct Operand {
    std::size_t index = 0;  ///< In the operator's inputs or outputs.
    std::optional<Row> row{};
    PlacedPart at{};
  };
  /// The operands of one kernel call.
  struct Operands {
    std::size_t op = 0;
    const RowKernel* way = nullptr;  ///< How it computes one row; null: it runs as a whole.
    std::vector<Operand> inputs{};
    std::vector<Operand> outputs{};
    bool adds = false;  ///< Adds to the present values of the outputs.
  };
  /// Rows that are being accumulated.
  struct Adding {
    RowRange rows{};
    std::int64_t next = 0;  ///< Lower rows of the input have been added.
  };

  /// The operands that a kernel gets: only the parts that it reads and writes, or whole tensors in which only
  /// these parts are filled in and kept.
  enum class Seen : std::uint8_t { parts, wholes };
  /// The rows of an output that have left.
  struct Leaving {
    std::vector<std::byte> bytes{};
    std::vector<bool> has_left{};  ///< Byte by byte.
  };

  StreamRun(const Network& network, const Program& unsplit, ModelToRun model, const BlockNetwork* blocks,
            const Plan& plan, const RunOptions& options, RunResult& result);

  void prepare_rows();
  void give();
  void take_step(const Step& step);
  void run_step(const Run& run);
  void run_whole(std::size_t op);
  void run_rows(std::size_t op, const RowRange& rows);
  void run_part(const Run& run);
  void run_sums(const Run& run);
  void run_first_pass(const Run& run);
  void run_carried(const Run& run);
  void make_carried_row(const Run& run, std::int64_t row, const kernels::RowCarry& kernel, std::byte* carried,
                        const PlacedPart& place);
  [[nodiscard]] PlacedPart carried_place(const Run& run, const Sums& at, Bytes size, bool is_first);
  [[nodiscard]] PlacedPart read_whole(TensorId tensor);
  void expect_turn(const Run& run, const CarriedAxis& along);
  [[nodiscard]] std::int64_t rows_carried(std::size_t index, const CarriedAxis& along) const;
  void add_rows(const Run& run, const kernels::RowSums& kernel, std::byte* sums, const PlacedPart& place);
  void finish_sums(std::size_t op, const kernels::RowSums& kernel, const std::byte* sums,
                   const PlacedPart& place);
  void arrive(const Arrive& arrive);
  void leave(const Leave& leave);
  void take_output(TensorId output);

  [[nodiscard]] std::vector<Operand> inputs_of(std::size_t op, const RowAxis* axis,
                                               std::optional<std::int64_t> row);
  [[nodiscard]] std::vector<Operand> outputs_of(std::size_t op, const std::optional<Row>& row);
  [[nodiscard]] PlacedPart read(const TensorPart& part);
  void compute(const Operands& operands);
  void compute_only(const Operands& operands);
  void expect_apart(const Operands& operands) const;
  [[nodiscard]] bool may_write_over(const Operands& operands, const Operand& input,
                                    const Operand& output) const;
  [[nodiscard]] bool is_kept(const Operands& operands, const Operand& input) const;
  void call(const Operands& operands, RowOperands& beside);
  void call_windows(const Operands& operands, RowOperands& beside);
  [[nodiscard]] std::vector<const std::byte*> input_pointers(const Operands& operands, RowOperands& beside,
                                                             Seen seen) const;
  void call_kernel(const Operands& operands, RowOperands& beside, const Kernel& kernel, Seen seen);
  void make_copies(const Operator& op, std::span<const std::byte* const> inputs,
                   std::span<std::byte* const> outputs);
  void wrote(const TensorPart& part, const PlacedPart& at);
  [[nodiscard]] std::int64_t multiplies_of_rows(std::size_t index, const RowRange& rows) const;

  [[nodiscard]] const Operator& op(std::size_t index) const { return graph_.subgraphs[0].operators[index]; }
  [[nodiscard]] std::span<const std::byte> constant(TensorId tensor) const {
    return model_.program->constants[tensor];
  }
  [[nodiscard]] bool is_constant(TensorId tensor) const { return constant(tensor).data() != nullptr; }

  const Network& network_;
  const BlockNetwork* blocks_;  ///< Null: the network is not split.
  ModelToRun model_;
  const Graph& graph_;
  const Plan& plan_;
  const RunOptions& options_;
  RunResult& result_;
  model::ClockTree clocks_;
  Device device_;
  std::unique_ptr<Reference> reference_{};  ///< Null: no check.
  RowMemory memory_;
  std::map<std::pair<std::size_t, std::size_t>, RowKernel> rows_{};  ///< By operator and axis.
  std::map<std::size_t, std::int64_t> summed_{};                     ///< By operator: rows so far.
  std::map<std::size_t, std::int64_t> carried_{};       ///< The same of rows that carry a buffer.
  std::map<std::size_t, Adding> adding_{};              ///< By operator, until complete.
  std::map<TensorId, std::vector<std::byte>> given_{};  ///< Inputs that arrive by rows.
  std::map<TensorId, Leaving> leaving_{};               ///< Outputs that leave by rows.
  AlignedBytes scratch_{};
  std::string who_{};  ///< The present step.
  StepReport report_{};
};

}  // namespace stowage::run
