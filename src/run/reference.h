#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/blocks.h"
#include "run/home.h"
#include "run/interpreter.h"
#include "run/program.h"
#include "stowage/run.h"

namespace stowage::run {

/// A network that runs beside the planned one, or after it, each tensor in memory of its own. Beside it, an operator
/// runs when it, or a row or block of it, first runs in the plan.
class Reference {
 public:
  /// How numbers may differ: not at all, or, where a plan adds up rows, as far as other orders of terms explain.
  enum class Rule : std::uint8_t { exact, by_rows };

  /// With `blocks`, tensors and operators are those of the network of blocks; the program is that of the unsplit
  /// network. Notes in the result how far numbers differ. Keeps references to all three.
  Reference(const Program& program, const RunOptions& options, const BlockNetwork* blocks, Rule rule,
            RunResult& result);

  /// Gives an input or a state its value.
  void give(TensorId tensor, std::span<const std::byte> value);
  /// The plan runs this operator, or a part of it. Throws Interrupted, and Error for data that an operator cannot
  /// process.
  void run(const Call& call);
  /// Runs all that has not run. Throws the same.
  void finish();
  /// The first wrong element of the tensor among these bytes of it. Integers must be equal. Real numbers may
  /// differ by the size of what was summed, if the rule says so. Throws Interrupted.
  [[nodiscard]] std::optional<std::int64_t> first_difference(TensorId tensor, const PlacedPart& part);

  /// Most bytes that its tensors had at one time.
  [[nodiscard]] Bytes most_bytes() const { return home_.most_outside(); }

  /// The network itself, for what bodies pass on.
  [[nodiscard]] Interpreter& own() { return own_; }

 private:
  /// What numbers of a tensor may differ by.
  struct Tolerance {
    double own = -1;       ///< By the largest of them; negative: not known yet.
    double passed_on = 0;  ///< By what was summed for them and before them.
  };

  [[nodiscard]] std::byte* bytes_of(Home& home, TensorId tensor) const;
  /// Runs an operator of the main subgraph if it has not run, after those that it reads.
  void catch_up(std::size_t op);
  void catch_up_to(TensorId tensor);
  /// For each tensor, how many operators of the main subgraph read it; none for those that are read in other ways.
  [[nodiscard]] std::vector<std::optional<std::size_t>> readers() const;
  /// The operator has run: frees what it was the last to read.
  void release_inputs_of(std::size_t op, std::vector<std::optional<std::size_t>>& readers,
                         std::initializer_list<Home*> homes) const;
  /// Notes how far a tensor moves if all real numbers before it change by their tolerances.
  void run_changed();
  /// Calls `visit(at, number)` for each real number of a tensor, at that byte of it.
  template <typename Visit>
  void for_each_number(Home& home, TensorId tensor, const Visit& visit) const;
  [[nodiscard]] double own_tolerance_of(TensorId tensor);
  [[nodiscard]] double tolerance_of(TensorId tensor);
  [[nodiscard]] std::optional<std::int64_t> first_difference_in_whole(TensorId tensor,
                                                                      const PlacedPart& part);

  const Program& program_;
  RunOptions options_;
  const BlockNetwork* blocks_;
  Rule rule_;
  RunResult& result_;
  Home home_;
  RunResult ignored_{};
  Interpreter own_;
  std::vector<std::optional<std::size_t>> producers_;  ///< Per tensor: an operator of the main subgraph.
  std::vector<Call> calls_;                            ///< Of the main subgraph, in a possible order.
  std::vector<std::optional<std::size_t>>
      call_of_;                ///< Per operator of the main subgraph; none if it is folded.
  std::vector<bool> is_done_;  ///< Per operator of the main subgraph.
  std::map<TensorId, std::vector<std::byte>> given_{};  ///< Only for a rule with tolerances.
  /// What `readers` counts, without operators that have run. Empty: all tensors are compared, none is freed.
  std::vector<std::optional<std::size_t>> waiting_{};
  std::vector<Tolerance> tolerances_;  ///< Per tensor.
  int changed_runs_ = 0;
};

/// What a check says of a wrong element: of which part of a tensor, and who reads or wrote it.
[[nodiscard]] RunFault difference(const std::string& part, std::int64_t element, const std::string& how);

}  // namespace stowage::run
