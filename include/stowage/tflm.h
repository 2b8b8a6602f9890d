/// Example: what is left of a plan when TensorFlow Lite Micro runs it.
///
///     using namespace stowage;
///     Input input;
///     input.info = {.name = "m", .source = "m.tflite", .format = ModelFormat::tflite};
///     Graph graph;
///     graph.tensors = {{.name = "x", .kind = TensorKind::input, .dtype = DType::int8, .shape = Shape{32},
///                       .bytes = 32},
///                      {.name = "y", .kind = TensorKind::output, .dtype = DType::int8, .shape = Shape{32},
///                       .bytes = 32}};
///     graph.subgraphs = {{.inputs = {0}, .outputs = {1}, .operators = {
///                          {.type = "RELU", .inputs = {0}, .outputs = {1}}}}};
///     input.content = graph;
///     PlanOptions options;
///     options.target = Target::tflm;
///     const PlanResult planned = make_plan(input, options);
///     const TflmPlan plan = plan_for_tflm(graph, planned.plan, 0, KernelScratch::unknown);
///     return plan.head == 64 && plan.left.empty() ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/units.h"

namespace stowage {

/// Where tensors of a TFLite file lie in the arena of TensorFlow Lite Micro: for each tensor of all
/// subgraphs, in the file's order. None: the runtime decides, or it lies elsewhere. Source: TensorFlow Lite
/// Micro, docs/memory_management.md, "Offline planned tensor allocations".
using OfflineOffsets = std::vector<std::optional<Bytes>>;

/// What a file tells the runtime.
struct OfflinePlan {
  OfflineOffsets offsets{};
  /// Per subgraph, its operators in the order they run in, which is that of the file it is written to. No
  /// subgraphs, or none of an operator: as in the file.
  std::vector<std::vector<std::size_t>> orders{};
};

/// The offsets that a TFLite file has in its metadata; none if it has no plan. Throws Error for a file that
/// is no TFLite model, and for a plan that is cut short or for another number of tensors.
[[nodiscard]] std::optional<OfflineOffsets> read_offline_offsets(std::string_view file);

/// The file with this plan instead of the one it has: the bytes of the old file stand at the end, what is new
/// before them. Throws Error for a file that is no TFLite model, that would become larger than 2 GiB, or that
/// has what cannot be moved; UsageError for a plan that is not for it.
[[nodiscard]] std::string with_offline_plan(std::string_view file, const OfflinePlan& plan);

/// The file without any plan, likewise. Operators stay in their order.
[[nodiscard]] std::string without_offline_plan(std::string_view file);

/// Whether it is known what scratch memory kernels ask for.
enum class KernelScratch : std::uint8_t {
  unknown,  ///< Operators whose stock kernels are known to ask for some may ask for any number of bytes.
  in_graph  ///< Just what the graph's operators have in `scratch`.
};

/// A tensor that the runtime places.
struct LeftToRuntime {
  TensorId tensor = 0;
  std::string why{};
};

/// What TensorFlow Lite Micro can take of a plan.
struct TflmPlan {
  OfflinePlan plan{};
  std::vector<LeftToRuntime> left{};
  /// Bytes of the planned part of the arena (its head) with this plan, and with none: with the scratch that
  /// is known. The arena has what the interpreter and the kernels keep besides.
  Bytes head = 0;
  Bytes own_head = 0;
  std::size_t may_ask = 0;  ///< Operators whose kernels may ask for scratch that is not known.
};

/// Offsets for a model of a plan, so that its arena is never larger than without; see tflm/offsets.cc. The
/// plan was made for `Target::tflm`. Throws UsageError for one that the runtime cannot follow.
[[nodiscard]] TflmPlan plan_for_tflm(const Graph& graph, const Plan& plan, std::size_t model,
                                     KernelScratch scratch);

/// The head that the runtime needs with these offsets, and operators in the file's order.
[[nodiscard]] Bytes tflm_head(const Graph& graph, const OfflineOffsets& offsets);

/// What is wrong with a plan in a file: offsets that are not aligned or for tensors that have none, and bytes
/// that two tensors hold at one time.
[[nodiscard]] Faults check_offline_offsets(const Graph& graph, const OfflineOffsets& offsets);

/// The heads, and what is left to the runtime and why, as rows for people.
void write_tflm(const TflmPlan& plan, const Graph& graph, std::ostream& out);

/// A TFLite file, the plan found in it, and what would become of it.
struct Inspection {
  const Graph& graph;
  std::optional<OfflineOffsets> found{};
  Faults faults{};              ///< Of the plan that was found.
  Bytes head = 0;               ///< With the plan that was found, or none.
  Bytes own_head = 0;           ///< With none.
  std::optional<Bytes> ours{};  ///< With ours.
  std::string obstacle{};       ///< Why there is none of ours.
};

/// The inspection as a table for people, and as one JSON document.
void write_inspection(const Inspection& inspection, std::ostream& out);
void write_inspection_json(const Inspection& inspection, std::ostream& out);

}  // namespace stowage
