/// Example: plan a buffer list, and look at what came out.
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

/// Who provides the memory of the network's inputs and outputs.
enum class Io : std::uint8_t {
  arena,     ///< The plan: they are buffers like the others.
  external,  ///< The caller: they cost nothing here.
  rows       ///< Only when streaming: inputs arrive row by row, and rows of outputs leave as soon as they are
             ///< there.
};

/// Which tensors may share bytes because one repeats or replaces the other.
enum class Alias : std::uint8_t {
  none,       ///< No two tensors that live at the same time.
  automatic,  ///< As many as do not raise the peak.
  all         ///< All that may: most copies are removed, the peak may rise.
};

/// Whether tensors may be copied from memory to memory in the course of a run.
enum class Moves : std::uint8_t { none, allowed };

/// Whose kernels run the plan: what they make of an output that lies in an input.
enum class Target : std::uint8_t {
  any,  ///< Kernels that know where their tensors are.
  tflm  ///< Stock kernels of TensorFlow Lite Micro: of all that pass bytes on only a reshape sees that it has
        ///< nothing to do.
};

/// In which order operators run.
enum class Order : std::uint8_t {
  keep,   ///< That of the file, or the nearest to it that respects all dependences.
  search  ///< One of the least peak that could be found; that of the file unless another plans better.
};

/// An output of a model that is an input of another, each as MODEL.TENSOR.
struct FeedNames {
  std::string output{};
  std::string input{};
};

/// How a network is run row by row instead of operator by operator.
struct StreamOptions {
  /// Rows that a step computes, at least 1: what the hardware stores or computes at a time.
  std::int64_t granule = 1;
  /// Multiplies that may be run, as a multiple of those of the network, at least 1.
  double recompute = 1;
};

struct PlanOptions {
  SolveOptions solve{};
  /// The memories to plan in, fastest first: name, capacity (none: unbounded), cost. At least one.
  std::vector<Memory> memories{{.name = "arena"}};
  /// Every buffer's alignment in bytes where its list gives none; default 64 for ONNX and graph
  /// JSON, 16 for TFLite, 1 for lists.
  std::optional<Bytes> alignment{};
  Io io = Io::arena;
  Order order = Order::search;
  Alias alias = Alias::automatic;
  /// Of several memories: to have what is used often in the fast ones, though not all fits there at once.
  Moves moves = Moves::none;
  Target target = Target::any;
  /// To run a network row by row: one network, by itself, without bodies. Throws UsageError for others.
  std::optional<StreamOptions> stream{};
  /// Which models run after each other and which at the same time: "A; B | C", docs/several-models.md. Empty:
  /// one after the other, as given.
  std::string run{};
  std::vector<FeedNames> feeds{};
  /// Outputs, each as MODEL.TENSOR, that the caller takes when their model has run, so that models that run
  /// later may have their bytes; what they feed is kept for its readers. All others are there until
  /// everything has run.
  std::vector<std::string> released{};
};

struct PlanResult {
  Plan plan{};
  Outcome outcome = Outcome::fits;
  /// What the checker has against the plan. Anything in here is a bug of stowage.
  Faults faults{};
  /// If the plan does not fit: a size of one of the memories with which it would, all others as given; no
  /// smaller one was found within the time limit.
  std::optional<Memory> enough{};
};

/// Decides order, lifetimes and offsets, and has the checker look at the result. Throws Error when
/// the input is impossible, UsageError when options do not fit it.
[[nodiscard]] PlanResult make_plan(const Input& input, const PlanOptions& options = PlanOptions());

/// The same for several networks on one device. What they are called in the options is their ModelInfo::name,
/// which is unique.
[[nodiscard]] PlanResult make_plan(std::span<const Input> inputs, const PlanOptions& options = PlanOptions());

/// Checks a plan by itself and against the inputs it is for, in the plan's order: networks, or one list.
/// Where weights share bytes their data must be equal, which takes inputs with constants.
[[nodiscard]] Faults check_plan(const Plan& plan, std::span<const Input> inputs);

/// How a strategy did.
struct Comparison {
  std::string strategy{};  ///< As `strategies()` calls it.
  std::string obstacle{};  ///< Why it cannot serve the input; then nothing else is set.
  Summary summary{};
  CopiesRemoved copies_removed{};
  std::vector<PlannedMemory> memories{};
  bool interrupted = false;
  Outcome outcome = Outcome::fits;
  Faults faults{};  ///< As in PlanResult.
};

/// Plans the input with every strategy, one after the other, each with the options' whole time limit.
/// Asked to stop, it leaves out those it has not come to. Throws like `make_plan`.
[[nodiscard]] std::vector<Comparison> compare(const Input& input, const PlanOptions& options = PlanOptions());
[[nodiscard]] std::vector<Comparison> compare(std::span<const Input> inputs,
                                              const PlanOptions& options = PlanOptions());

}  // namespace stowage
