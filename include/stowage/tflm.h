/// Example: the part of a plan that TensorFlow Lite Micro can follow.
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

/// Offsets in bytes of the tensors of a TFLite file in the arena of TensorFlow Lite Micro: one for each
/// tensor of all subgraphs, in the order of the file. None: the runtime decides, or the tensor is elsewhere.
/// Source: TensorFlow Lite Micro, docs/memory_management.md, "Offline planned tensor allocations".
using OfflineOffsets = std::vector<std::optional<Bytes>>;

/// The plan in a file, for the runtime.
struct OfflinePlan {
  OfflineOffsets offsets{};
  /// Per subgraph, its operators in execution order, which is also the order in the file. Empty, or a
  /// subgraph without operators: the order of the old file.
  std::vector<std::vector<std::size_t>> orders{};
};

/// The offsets in the metadata of a TFLite file; none if it has no plan. Throws Error for a file that is not
/// a TFLite model, and for a plan that is truncated or has another number of tensors.
[[nodiscard]] std::optional<OfflineOffsets> read_offline_offsets(std::string_view file);

/// The file with this plan instead of its own. The old bytes end the file, new bytes precede them. Throws
/// Error for a file that is not a TFLite model, that would exceed 2 GiB, or that has parts that cannot be
/// moved. Throws UsageError for a plan of another file.
[[nodiscard]] std::string with_offline_plan(std::string_view file, const OfflinePlan& plan);

/// The file without any plan; errors as above. Operators keep their order.
[[nodiscard]] std::string without_offline_plan(std::string_view file);

/// Alignment in bytes of everything in the arena of TensorFlow Lite Micro.
inline constexpr Bytes tflm_alignment = 16;

/// Whether the scratch memory that kernels ask for is known.
enum class KernelScratch : std::uint8_t {
  unknown,  ///< Operators whose stock kernels are known to ask may ask for any number of bytes.
  in_graph  ///< Exactly what the operators of the graph have in `scratch`.
};

/// A tensor that the runtime places, and the reason.
struct LeftToRuntime {
  TensorId tensor = 0;
  std::string why{};
};

/// The part of a plan that TensorFlow Lite Micro can follow.
struct TflmPlan {
  OfflinePlan plan{};
  std::vector<LeftToRuntime> left{};
  /// Bytes of the planned part of the arena (the head), with this plan and without a plan, with the known
  /// scratch. Memory that the interpreter and kernels keep is extra.
  Bytes head = 0;
  Bytes own_head = 0;
  std::size_t may_ask = 0;  ///< Number of operators whose kernels may ask for unknown scratch.
};

/// Offsets for one model of a plan, such that the arena is never larger than without them; see
/// tflm/offsets.cc. The plan must be made for `Target::tflm`. Throws UsageError for a plan that the runtime
/// cannot follow.
[[nodiscard]] TflmPlan plan_for_tflm(const Graph& graph, const Plan& plan, std::size_t model,
                                     KernelScratch scratch);

/// The head in bytes that the runtime needs with these offsets and the operator order of the file.
[[nodiscard]] Bytes tflm_head(const Graph& graph, const OfflineOffsets& offsets);

/// The faults of a plan in a file: offsets that are not aligned, offsets for tensors that must have none, and
/// bytes that two tensors hold at the same time.
[[nodiscard]] Faults check_offline_offsets(const Graph& graph, const OfflineOffsets& offsets);

/// Writes for people: the heads, the tensors left to the runtime, and the reasons.
void write_tflm(const TflmPlan& plan, const Graph& graph, std::ostream& out);

/// A TFLite file and the plan found in it, compared with no plan and with ours.
struct Inspection {
  const Graph& graph;
  std::optional<OfflineOffsets> found{};
  Faults faults{};              ///< Faults of the plan that was found.
  Bytes head = 0;               ///< Head in bytes, with the plan found (or none).
  Bytes own_head = 0;           ///< Head without a plan.
  std::optional<Bytes> ours{};  ///< Head with our plan.
  std::string obstacle{};       ///< Why there is no plan of ours.
};

/// Writes the inspection: as a table for people, or as one JSON document.
void write_inspection(const Inspection& inspection, std::ostream& out);
void write_inspection_json(const Inspection& inspection, std::ostream& out);

}  // namespace stowage
