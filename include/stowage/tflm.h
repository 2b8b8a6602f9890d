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
///     const TflmPlan plan = plan_for_tflm(graph, planned.plan, 0, {});
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
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/units.h"

namespace stowage {

/// Offsets in bytes of the tensors of a TFLite file in the arena of TensorFlow Lite Micro: one for each
/// tensor of all subgraphs, in the order of the file. None: the runtime decides, or the tensor is elsewhere.
/// Source: memory_management.md of TensorFlow Lite Micro, "Offline planned tensor allocations".
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

/// The file without what the runtime never reads: names, descriptions, signatures, other metadata, data that
/// nothing refers to. Throws UsageError for operators that the runtime does not have.
[[nodiscard]] std::string without_unread_parts(std::string_view file);

/// The file with empty tensors in place of those that no operator, input or output names: the runtime reserves
/// bytes for all that are there. For `without_unread_parts` to follow: signatures may be gone, too, and a plan in the
/// file has to be made anew. Throws as above.
[[nodiscard]] std::string without_unused_tensors(std::string_view file);

/// Alignment in bytes of everything in the arena of TensorFlow Lite Micro.
inline constexpr Bytes tflm_alignment = 16;

/// The kernels that the runtime is built with. CMSIS-NN asks for scratch by the processor's instructions.
enum class TflmKernels : std::uint8_t { reference, cmsis_nn_scalar, cmsis_nn_dsp, cmsis_nn_mve };

/// How the runtime is built. Scratch and the tail of the arena depend on it.
struct TflmRuntime {
  TflmKernels kernels = TflmKernels::reference;
  Bytes pointer_bytes = 4;    ///< 4 or 8.
  bool decompresses = false;  ///< It is built to decompress weights (USE_TFLM_COMPRESSION).
  bool records = false;       ///< It records allocations (RecordingMicroAllocator).

  bool operator==(const TflmRuntime&) const = default;
};

/// The version of TensorFlow Lite Micro that sizes and requests are taken from.
inline constexpr std::string_view tflm_version = "0.dev20261023182759";

/// A processor of 32 bits; a host of 64 bits; the Python package tflite-micro, which records.
inline constexpr TflmRuntime tflm_32{};
inline constexpr TflmRuntime tflm_64{.pointer_bytes = 8};
inline constexpr TflmRuntime tflm_python{.pointer_bytes = 8, .decompresses = true, .records = true};

/// True if the bytes begin as a TFLite file does; they may still be invalid.
[[nodiscard]] bool is_tflite(std::string_view file);

/// The runtime for a file: if weights are compressed, one that decompresses. Throws Error for a file that is
/// not a TFLite model, UsageError for compressed weights with kernels that do not take them.
[[nodiscard]] TflmRuntime runtime_for(std::string_view file, TflmRuntime runtime);

/// An operator, by subgraph and index in the file.
struct OperatorAt {
  std::size_t subgraph = 0;
  std::size_t op = 0;

  bool operator==(const OperatorAt&) const = default;
};

/// What the kernels of a file's operators ask for.
struct KernelRequests {
  std::vector<ScratchRequest> scratch{};  ///< In the order in which they ask.
  std::vector<OperatorAt> unknown{};      ///< Operators whose kernels are not known: they may ask for any.
  /// Tensors that must not have offsets: the runtime takes them for those of variables in bodies, since it
  /// begins at the first tensor of the file for each body.
  std::vector<TensorId> without_offset{};
};

/// The scratch requests of stock kernels, from the model alone. Throws Error for a file that is not a TFLite
/// model or has operators that no kernel takes.
[[nodiscard]] KernelRequests kernel_requests(std::string_view file, const TflmRuntime& runtime);

/// The requests with those of a list, which replace all of an operator that they name. Throws UsageError if
/// an operator remains whose kernel is not known.
[[nodiscard]] std::vector<ScratchRequest> completed(const KernelRequests& requests,
                                                    const std::vector<ScratchRequest>& list,
                                                    const Graph& graph);

/// A part of the arena with its owner.
struct ArenaPart {
  std::string_view what{};
  Bytes bytes = 0;
};

/// The whole arena of an interpreter, or of several in one arena.
struct TflmArena {
  Bytes head = 0;  ///< The planned part.
  Bytes tail = 0;  ///< What the interpreter and kernels keep.
  /// What the arena needs to have, a multiple of 16: head and tail, or more if starting needs more.
  Bytes size = 0;
  std::vector<ArenaPart> parts{};     ///< Of the tail.
  std::vector<Bytes> own_tails{};     ///< Of each model.
  std::vector<OperatorAt> unknown{};  ///< Operators whose kernels may keep more.
};

/// A model for an arena: its file, the head that its plan reaches, and its number of scratch requests.
struct ArenaModel {
  std::string_view file{};
  Bytes head = 0;
  std::size_t requests = 0;
};

/// The arena of these models, whose interpreters share it in this order; see tflm/tail.cc. Throws Error for
/// files that are not TFLite models.
[[nodiscard]] TflmArena tflm_arena(const std::vector<ArenaModel>& models, const TflmRuntime& runtime);

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
/// tflm/offsets.cc. The graph has all known scratch; operators in `requests.unknown` may ask for more. The plan must be made for `Target::tflm`. Throws UsageError for a plan that the runtime
/// cannot follow.
[[nodiscard]] TflmPlan plan_for_tflm(const Graph& graph, const Plan& plan, std::size_t model,
                                     const KernelRequests& requests);

/// The plan for this file, or none (no offsets, the order of the file) if the whole arena would be larger with
/// it: another order of operators can cost bytes of alignment in the tail. Not for models that pass tensors on.
[[nodiscard]] TflmPlan no_larger(std::string_view file, const Graph& graph, const TflmPlan& plan,
                                 const TflmRuntime& runtime);

/// The head in bytes that the runtime needs with these offsets and the operator order of the file.
[[nodiscard]] Bytes tflm_head(const Graph& graph, const OfflineOffsets& offsets);

/// The most bytes that the runtime keeps at one time in the plan's order, with the graph's scratch: no offsets have
/// a lower head.
[[nodiscard]] Bytes tflm_head_bound(const Graph& graph, const OfflinePlan& plan);

/// The offset that each buffer has with these offsets and the operator order of the file, in the order in which
/// the runtime adds buffers to its planner: tensors that it plans, then scratch.
[[nodiscard]] std::vector<Bytes> tflm_buffers(const Graph& graph, const OfflineOffsets& offsets);

/// Writes offsets of buffers as a `BufferPlan` in C99: the runtime's NonPersistentMemoryPlannerShim takes it
/// instead of planning. Throws UsageError if the prefix is not a C identifier.
void write_buffer_plan(const std::vector<Bytes>& buffers, const std::string& prefix, std::ostream& out);

/// The faults of a plan in a file: offsets that are not aligned or too large, offsets for tensors that must
/// have none, and bytes that two tensors hold at the same time. `most`, if given, is what an arena may have.
[[nodiscard]] Faults check_offline_offsets(const Graph& graph, const OfflineOffsets& offsets,
                                           std::optional<Bytes> most = std::nullopt);

/// Bytes of all tensors and scratch that the runtime plans, one after the other.
[[nodiscard]] Bytes tflm_all_tensors(const Graph& graph);

/// The faults of the entry that holds the plan: a wrong version or number of subgraphs. The runtime reads
/// neither, other programs do. Throws Error as `read_offline_offsets` does.
[[nodiscard]] Faults check_offline_entry(std::string_view file);

/// Writes for people: the heads, the tensors left to the runtime, and the reasons.
void write_tflm(const TflmPlan& plan, const Graph& graph, std::ostream& out);

/// Writes for people: the number for the array of the arena, and what it consists of.
void write_arena(const TflmArena& arena, const TflmRuntime& runtime, std::ostream& out);

/// A TFLite file and the plan found in it, compared with no plan and with ours.
struct Inspection {
  std::string name{};
  Graph graph{};  ///< With the scratch of stock kernels.
  std::optional<OfflineOffsets> found{};
  Faults faults{};              ///< Faults of the plan that was found.
  Bytes head = 0;               ///< Head in bytes, with the plan found (or none).
  Bytes own_head = 0;           ///< Head without a plan.
  std::optional<Bytes> ours{};  ///< Head with our plan.
  std::string obstacle{};       ///< Why there is no plan of ours.
  TflmRuntime runtime{};
  TflmArena arena{};  ///< With the plan found (or none).
};

/// Writes the inspection: as a table for people, or as one JSON document.
void write_inspection(const Inspection& inspection, std::ostream& out);
void write_inspection_json(const Inspection& inspection, std::ostream& out);

/// Writes a line for each of several files: heads, arena, faults; `rejected` files with the reason.
struct RejectedFile {
  std::string name{};
  std::string why{};
};
void write_inspections(const std::vector<Inspection>& inspections, const std::vector<RejectedFile>& rejected,
                       std::ostream& out);
void write_inspections_json(const std::vector<Inspection>& inspections,
                            const std::vector<RejectedFile>& rejected, std::ostream& out);

}  // namespace stowage
