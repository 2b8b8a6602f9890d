/// Example: plan a buffer list and look at the result.
///
///     const std::string list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";
///     const stowage::Input input = stowage::parse_input(list, "list.csv");
///     const stowage::PlanResult result = stowage::make_plan(input);
///     return result.faults.empty() && result.plan.summary.peak == 96 ? 0 : 1;
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage {

/// Who provides the memory of inputs and outputs of the network.
enum class Io : std::uint8_t {
  arena,     ///< The plan: they are buffers like all others.
  external,  ///< The caller: they cost nothing here.
  rows       ///< Only with streaming: inputs arrive row by row; rows of outputs leave as soon as they are
             ///< computed.
};

/// Which tensors may share bytes because one repeats or replaces the other.
enum class Alias : std::uint8_t {
  none,       ///< No two tensors that are live at the same time.
  automatic,  ///< As many as possible without raising the peak.
  all         ///< All that may: removes most copies; the peak may rise.
};

/// Whether tensors may be copied between memories during a run.
enum class Moves : std::uint8_t { none, allowed };

/// Whose kernels run the plan. This decides which aliases they support.
enum class Target : std::uint8_t {
  any,  ///< Kernels that know the places of their tensors: all aliases.
  tflm  ///< Stock kernels of TensorFlow Lite Micro: only reshapes (docs/tflm.md).
};

/// The order of operators.
enum class Order : std::uint8_t {
  keep,   ///< That of the file, or the nearest one that respects all dependences.
  search  ///< The order with the lowest peak found; that of the file if no other plans better.
};

/// An output of a model that is an input of another one, each as MODEL.TENSOR.
struct FeedNames {
  std::string output{};
  std::string input{};
};

/// How a network runs row by row instead of operator by operator.
struct StreamOptions {
  /// Rows that one step computes (a row block), at least 1. Default 1.
  std::int64_t granule = 1;
  /// Multiplies that may run, as a multiple of those of the network, at least 1. Default 1.
  double recompute = 1;
};

struct PlanOptions {
  SolveOptions solve{};
  /// The memories to plan in, fastest first; at least one. Default: one unlimited memory.
  std::vector<Memory> memories{{.name = "arena"}};
  /// Alignment in bytes of every buffer for which the list gives none. Default: 64 for ONNX and graph JSON,
  /// 16 for TFLite, 1 for lists.
  std::optional<Bytes> alignment{};
  Io io = Io::arena;
  Order order = Order::search;
  Alias alias = Alias::automatic;
  /// With several memories: whether tensors move between them during a run.
  Moves moves = Moves::none;
  Target target = Target::any;
  /// Run the network row by row: one network without bodies. `make_plan` throws UsageError for others.
  std::optional<StreamOptions> stream{};
  /// Which models run one after the other and which at the same time: "A; B | C", docs/several-models.md.
  /// Empty: one after the other, as given.
  std::string run{};
  std::vector<FeedNames> feeds{};
  /// Outputs, each as MODEL.TENSOR, that the caller takes when their model has run. Later models may use
  /// their bytes; a fed output is kept for its readers. All other outputs stay until all models have run.
  std::vector<std::string> released{};
};

struct PlanResult {
  Plan plan{};
  Outcome outcome = Outcome::fits;
  /// Faults that the checker found in the plan. Any fault is a bug in stowage.
  Faults faults{};
  /// If the plan does not fit: one memory with a capacity (bytes) that would be enough, all others unchanged.
  /// It is the smallest one found within the time limit.
  std::optional<Memory> enough{};
};

/// Decides order, live ranges and offsets, and checks the result. Throws Error if the input is impossible,
/// and UsageError if options do not fit it.
[[nodiscard]] PlanResult make_plan(const Input& input, const PlanOptions& options = PlanOptions());

/// The same for several networks on one device. Options name them by their ModelInfo::name, which must be
/// unique.
[[nodiscard]] PlanResult make_plan(std::span<const Input> inputs, const PlanOptions& options = PlanOptions());

/// Checks a plan by itself and against its inputs, in the order of the plan: networks, or one list. Weights
/// that share bytes must have equal data; checking that needs inputs with constants.
[[nodiscard]] Faults check_plan(const Plan& plan, std::span<const Input> inputs);

/// The result of one strategy.
struct Comparison {
  std::string strategy{};  ///< A name from `strategies()`.
  std::string obstacle{};  ///< Why it does not apply to the input; then nothing else is set.
  Summary summary{};
  CopiesRemoved copies_removed{};
  std::vector<PlannedMemory> memories{};
  bool interrupted = false;
  Outcome outcome = Outcome::fits;
  Faults faults{};  ///< As in PlanResult.
};

/// Plans the input with every strategy, one after the other, each with the whole time limit. After a request
/// to stop, the remaining strategies are left out. Throws like `make_plan`.
[[nodiscard]] std::vector<Comparison> compare(const Input& input, const PlanOptions& options = PlanOptions());
[[nodiscard]] std::vector<Comparison> compare(std::span<const Input> inputs,
                                              const PlanOptions& options = PlanOptions());

}  // namespace stowage
