#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "run/machine.h"
#include "run/row_kernels.h"
#include "stowage/plan.h"

namespace stowage::run {

/// The steps of a model that are rows: of operators, of inputs that arrive, of outputs that leave.
class RowTasks {
 public:
  /// Throws Error for steps that the kernels cannot run. The kernels must be plain.
  RowTasks(Machine& machine, std::span<const Step> steps);

  /// Whether steps have the input arrive, and its value then.
  [[nodiscard]] bool arrives(TensorId tensor) const { return arriving_.contains(tensor); }
  void expect(TensorId tensor, std::span<const std::byte> value);
  /// Whether steps have the output leave, and its value afterwards. Throws RunFault if not all of it has left.
  [[nodiscard]] bool leaves(TensorId tensor) const { return leaving_.contains(tensor); }
  [[nodiscard]] std::vector<std::byte> what_left(TensorId tensor) const;

  /// Throws RunFault, Interrupted, and Error for data that an operator cannot process.
  void run(const Step& step);

 private:
  /// Rows that are being accumulated.
  struct Adding {
    RowRange rows{};
    std::int64_t next = 0;  ///< Lower rows of the input have been added.
  };
  /// The rows of an output that have left.
  struct Leaving {
    std::vector<std::byte> bytes{};
    std::vector<bool> has_left{};  ///< Byte by byte.
  };

  void prepare(const Run& run);
  void begin(std::string what, const std::optional<RowRange>& rows);
  void run(const Run& run);
  void arrive(const Arrive& arrive);
  void leave(const Leave& leave);
  void run_rows(std::size_t op, const RowRange& rows);
  void run_part(const Run& run);
  [[nodiscard]] std::vector<Operand> inputs_read_whole(std::size_t op, const RowAxis& axis);
  [[nodiscard]] std::vector<Operand> inputs_of(std::size_t op, const RowAxis& axis, std::int64_t row);
  [[nodiscard]] std::vector<Operand> outputs_of(std::size_t op, const Row& row);

  // Sums, and buffers that go from row to row.
  void run_sums(const Run& run);
  void run_first_pass(const Run& run);
  void run_carried(const Run& run);
  void make_carried_row(const Run& run, std::int64_t row, const kernels::RowCarry& kernel, std::byte* carried,
                        const PlacedPart& place);
  [[nodiscard]] PlacedPart place_of(const Run& run, const Sums& at, Bytes size, bool is_first);
  [[nodiscard]] PlacedPart read_apart(const TensorPart& part, const PlacedPart& sums);
  void expect_turn(const Run& run, const CarriedAxis& along);
  [[nodiscard]] std::int64_t rows_carried(std::size_t op, const CarriedAxis& along) const;
  void finish_sums(std::size_t op, const kernels::RowSums& kernel, const std::byte* sums,
                   const PlacedPart& place);

  [[nodiscard]] const Graph& graph() const { return machine_.graph(); }
  [[nodiscard]] const Operator& op(std::size_t index) const { return graph().subgraphs[0].operators[index]; }
  [[nodiscard]] const Kernel& kernel(std::size_t index) const { return machine_.program().kernels[0][index]; }
  [[nodiscard]] std::int64_t extent_of(const std::optional<TensorId>& tensor, std::size_t axis) const {
    return (*graph().tensors[*tensor].shape)[axis];
  }
  /// The tensor of this model with that index in Plan::tensors.
  [[nodiscard]] TensorId own(std::size_t tensor) const;
  /// The tensor of the unsplit network.
  [[nodiscard]] TensorId whole_of(TensorId tensor) const;

  Machine& machine_;
  std::map<std::pair<std::size_t, std::size_t>, RowKernel> rows_{};  ///< By operator and axis.
  std::map<std::size_t, std::int64_t> summed_{};                     ///< By operator: rows so far.
  std::map<std::size_t, std::int64_t> carried_{};          ///< The same of rows that carry a buffer.
  std::map<std::size_t, Adding> adding_{};                 ///< By operator, until complete.
  std::map<TensorId, std::vector<std::byte>> arriving_{};  ///< Of tensors, and of blocks that arrive.
  std::map<TensorId, Leaving> leaving_{};                  ///< Of whole tensors.
};

}  // namespace stowage::run
