/// Example: plan a network, run it inside its plan, and compare with a run outside of any plan.
///
///     stowage::Network network;
///     stowage::Graph graph;
///     graph.tensors = {{.name = "x", .kind = stowage::TensorKind::input, .dtype = stowage::DType::float32,
///                       .shape = stowage::Shape{1, 8}, .bytes = 32},
///                      {.name = "y", .kind = stowage::TensorKind::output, .dtype = stowage::DType::float32,
///                       .shape = stowage::Shape{1, 8}, .bytes = 32}};
///     graph.subgraphs = {{.name = "main", .inputs = {0}, .outputs = {1}, .operators = {
///                          {.name = "relu", .type = "Relu", .inputs = {0}, .outputs = {1}}}}};
///     network.input.content = graph;
///     network.details = {{{}}};
///     network.quantizations.resize(2);
///     const stowage::PlanResult planned = stowage::make_plan(network.input);
///     const stowage::RunResult result =
///         stowage::run_plan(network, planned.plan, {.check = stowage::RunCheck::tensors});
///     return !result.fault && result.outputs.at(0).array.data.size() == 32 ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {

enum class KernelSet : std::uint8_t {
  fast,  ///< oneDNN where it has the operator, otherwise plain.
  plain  ///< Plain loops.
};

/// What a run compares with a second run, in which every tensor has its own memory.
enum class RunCheck : std::uint8_t {
  none,
  outputs,  ///< The outputs of the network, at the end.
  tensors   ///< The inputs of every operator before it runs, and its outputs after.
};

struct RunOptions {
  KernelSet kernels = KernelSet::fast;
  RunCheck check = RunCheck::none;
  /// Seed of inputs that are not given, and of the interleaving of concurrent models. Default 0.
  std::uint64_t seed = 0;
  /// Seed of random weights that replace weights whose elements are all equal. None: keep them.
  std::optional<std::uint64_t> random_weights{};
  /// Values of inputs and state, by tensor name, or by MODEL.TENSOR if several models have it.
  std::map<std::string, Array> inputs{};
  Progress progress{};
  /// Stops the run before the next operator.
  std::stop_token stop{};
};

struct NamedArray {
  std::string name{};
  Array array{};
  std::size_t model = 0;  ///< Index in Plan::models.
};

/// Report of one step.
struct StepReport {
  std::size_t clock = 0;
  Position position = 0;
  std::string what{};            ///< The operator in words.
  Bytes live = 0;                ///< Live bytes in all memories together.
  std::vector<Bytes> highest{};  ///< Per memory: end of the highest byte given to the kernel.
  double seconds = 0;
};

/// An output mismatch, or a byte owned by the wrong buffer.
struct RunFault {
  std::string what{};
};

struct RunResult {
  std::vector<NamedArray> outputs{};  ///< Model by model; empty if a fault ended the run.
  std::optional<RunFault> fault{};
  bool interrupted = false;
  std::vector<StepReport> steps{};  ///< In the order of execution.
  /// Per memory: end of the highest byte of any tensor that was read or written.
  std::vector<Bytes> touched{};
  /// Copies (ByteCopy) that were made, and copies that needed no work. Each run of an operator counts.
  CopiesRemoved copies_made{};
  CopiesRemoved copies_skipped{};
  /// Multiplies of convolutions and products: those that a streamed plan ran, and those of the network.
  std::int64_t multiplies = 0;
  std::int64_t multiplies_of_network = 0;
  /// The most by which real numbers differ that the check compared, infinite if one is NaN; none: all bytes are equal.
  std::optional<double> largest_difference{};
  /// Bytes outside of planned memory: held by kernels, and the most that one kernel needs while it runs.
  Bytes kernels_hold = 0;
  Bytes kernels_scratch = 0;
};

/// Networks that are ready to run: kernels are prepared and constants are computed.
class Runner {
 public:
  /// Uses only `kernels` and `random_weights` of the options. Keeps references to the networks, which must be
  /// in the order of the plan's models. Throws Error listing all operators of a network that cannot run.
  explicit Runner(std::span<const Network> networks, const RunOptions& options = {});
  explicit Runner(const Network& network, const RunOptions& options = {});
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  /// Like `run_plan`, with the prepared networks. Not thread-safe.
  [[nodiscard]] RunResult run(const Plan& plan, const RunOptions& options = {}) const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> prepared_;
};

/// Runs the steps of a plan in memories of exactly the planned size. Between steps, fills bytes that no live
/// piece holds with a pattern. In a build with AddressSanitizer, an operator that touches foreign bytes
/// aborts the program, and the report names it. The plan is not trusted: a wrong plan gives a fault. Before
/// anything runs, throws Error listing all operators that cannot run, and UsageError for inputs that do not
/// fit the network.
[[nodiscard]] RunResult run_plan(const Network& network, const Plan& plan, const RunOptions& options = {});
[[nodiscard]] RunResult run_plan(std::span<const Network> networks, const Plan& plan,
                                 const RunOptions& options = {});

/// Throws UsageError for a name that no input or state of the networks has, or that several networks have. A name is
/// that of the tensor, or MODEL.TENSOR.
void expect_inputs(std::span<const Network> networks, std::span<const std::string> names);

/// The one value of all elements of all outputs; none: they differ, or there is a single element.
[[nodiscard]] std::optional<double> only_value_of(std::span<const NamedArray> outputs);

/// Writes the results as a table for people; `write_steps` writes one line per step.
void write_run(const RunResult& result, const Plan& plan, std::ostream& out);
void write_steps(const RunResult& result, const Plan& plan, std::ostream& out);

/// Writes everything as one JSON document, except the values of outputs.
void write_run_json(const RunResult& result, const Plan& plan, std::ostream& out);

}  // namespace stowage
