#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generate/loops.h"
#include "generate/schedule.h"
#include "generate/sources.h"
#include "stowage/open_rows.h"

namespace stowage::generate {

/// What the C knows of a number of rows that each run gives.
struct OpenModel {
  const OpenRows* rows = nullptr;
  std::vector<StepCount> numbers{};            ///< That functions read: `open[0]`, ...
  std::map<TensorId, StepCount> of_tensors{};  ///< Rows of tensors, where they depend on the size.
};

/// All that the files of a package are written from.
struct Model {
  const Network* network = nullptr;
  const Plan* plan = nullptr;
  std::string name{};
  std::string origin{};  ///< Lines of a comment: what made the package of what.
  Schedule schedule{};
  std::vector<Function> functions{};  ///< In the order of Schedule::operators.
  std::optional<Loops> loops{};       ///< Of a plan that follows an affine schedule.
  PeriodicTable table{};              ///< Of other plans that stream.
  std::vector<std::string>
      port_places{};  ///< C expressions: pointers to the places of ports, NULL if they move.
  std::map<std::size_t, std::string> moving_ports{};  ///< C expressions: row `row` of ports that move.
  std::size_t outside = 0;  ///< Tensors outside of the arena; those that are kept from run to run come last.
  bool calls_cmsis_nn = false;
  bool has_wishes = false;  ///< Kernels can say how much scratch memory they want.
  /// Of planned inputs and outputs that are no ports, if their elements follow each other.
  std::map<TensorId, RowPlace> fixed_places{};
  std::optional<OpenModel> open{};

  [[nodiscard]] const Graph& graph() const { return network->graph(); }
  [[nodiscard]] const Tensor& tensor(TensorId t) const { return graph().tensors[t]; }
  /// The name of the model's file, without its folder.
  [[nodiscard]] std::string source() const {
    return std::filesystem::path(network->input.info.source).filename().string();
  }
  /// Inputs arrive and outputs leave by rows.
  [[nodiscard]] bool has_ports() const { return !schedule.ports.empty(); }
  [[nodiscard]] bool is_stepped() const { return !loops && !table.numbers.empty(); }
  /// Some rows move between memories, so the steps that have run are counted.
  [[nodiscard]] bool counts_steps() const {
    return !moving_ports.empty() || std::ranges::any_of(functions, &Function::reads_now);
  }
  /// Some rows are computed again.
  [[nodiscard]] bool has_repeats() const { return !schedule.repeats.empty(); }
};

/// An input or output of the network in the interface: "input", or "input_2" if there are several.
struct Outlet {
  TensorId tensor = 0;
  bool is_input = true;
  std::string name{};
  std::optional<std::size_t> port{};  ///< In Schedule::ports.
};

[[nodiscard]] std::vector<Outlet> outlets_of(const Model& model);

/// Elements of the tensor in the order in which it is handed over: by rows along the axis of its port.
[[nodiscard]] std::vector<std::byte> in_order_of_port(const Tensor& tensor,
                                                      const std::vector<std::byte>& data,
                                                      std::optional<std::size_t> axis);

/// NAME.h
[[nodiscard]] std::string interface_of(const Model& model, const Sources& sources);
/// The parameters of NAME_run, and the memories: "void *arena, const int8_t *input, int8_t *output".
[[nodiscard]] std::string run_parameters(const Model& model);
/// Names of the plan's memories in C: parameters, and in upper case parts of macros.
[[nodiscard]] std::vector<std::string> memory_names(const Plan& plan);

/// NAME.c
[[nodiscard]] std::string program_of(const Model& model, Sources& sources);
/// Bytes of tables that say what runs when.
[[nodiscard]] Bytes bytes_of_tables(const Model& model);
/// The same of what kernels are told of layers, in the text of NAME.c; see layer_bytes.cc.
[[nodiscard]] Bytes bytes_of_layers(std::string_view program);
/// Bytes of tensors that are kept from run to run, outside of the arena.
[[nodiscard]] Bytes bytes_kept(const Model& model);
/// Bytes of NAME_state on a machine with pointers of 32 bits.
[[nodiscard]] Bytes bytes_of_state(const Model& model);

/// Inputs of a run and its outputs, in the order of `outlets_of`.
using TestCase = std::vector<std::vector<std::byte>>;

/// NAME_test.c
/// As many cases as wanted, and at least one; outputs are left out if nobody knows what an extern operator computes.
[[nodiscard]] std::vector<TestCase> cases_of(const Network& network, const Plan& plan,
                                             const GenerateOptions& options);

[[nodiscard]] std::string test_program_of(const Model& model, const std::vector<TestCase>& cases);

/// Cases of a model whose rows are open, at one size.
struct CasesAt {
  std::int64_t size = 1;
  const Network* network = nullptr;
  std::vector<TestCase> cases{};
};
[[nodiscard]] std::string test_program_of(const Model& model, const std::vector<CasesAt>& all);

/// C: a number of rows at the size `n`.
[[nodiscard]] std::string text_of(const StepCount& count);

}  // namespace stowage::generate
