#pragma once

#include <deque>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "cli/commands.h"
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/tflm.h"

namespace stowage::cli {

/// A model's file with its plan, ready to write.
struct PlannedFile {
  std::vector<std::filesystem::path> files{};  ///< To write; none if none is asked for.
  std::string content{};
  TflmPlan plan{};
  Faults faults{};                      ///< Faults of the plan: a bug in stowage.
  std::optional<Bytes> bytes_before{};  ///< Of the model's file, if it was stripped.
  /// Tensors that nothing in the file names, if they make the head larger, and the head without them.
  std::vector<TensorId> unused{};
  Bytes head_of_used = 0;
};

/// What planning for TensorFlow Lite Micro makes of a command.
struct TflmOutput {
  std::vector<PlannedFile> files{};
  TflmArena arena{};        ///< Of all models together, on the runtime that the command names.
  TflmArena other_arena{};  ///< The same with pointers of the other width.
  Bytes bound_of_plan = 0;  ///< As other runtimes follow it.
  std::optional<Bytes> capacity{};
  std::optional<Bytes> with_all_aliases{};  ///< The peak, if it is lower.
  std::string without_gain{};               ///< If the plan gains nothing: what would.
  std::vector<Bytes> buffer_plan{};         ///< Offsets for a BufferPlan, if it is asked for.
};

/// How plans for TensorFlow Lite Micro are made: for which runtime, and what its kernels ask for.
class TflmPlanning {
 public:
  /// Restricts planning to what the runtime can follow, and reads what kernels ask for. Throws UsageError for
  /// options that it cannot follow.
  TflmPlanning(const PlanCommand& command, PlanOptions& options);

  /// The models to plan, with the scratch that their kernels ask for.
  [[nodiscard]] std::vector<Input> inputs() const;

  /// The files with their plans. Throws UsageError for plans that the runtime cannot follow, and Error
  /// for files that cannot be rewritten.
  [[nodiscard]] TflmOutput output(const std::vector<Input>& inputs, const PlanOptions& options,
                                  const PlanResult& result) const;

 private:
  void strip(TflmOutput& output) const;
  void use_buffer_plan(TflmOutput& output) const;
  [[nodiscard]] std::string what_would_gain(const PlanOptions& options, const Plan& plan) const;
  /// What the kernels of a planned file ask for.
  [[nodiscard]] std::vector<ScratchRequest> scratch_in(const PlannedFile& file, std::size_t model,
                                                       const TflmRuntime& runtime) const;
  void note_unused(std::size_t model, PlannedFile& file) const;
  [[nodiscard]] TflmArena arena_on(const TflmRuntime& runtime, const std::vector<PlannedFile>& files) const;

  const PlanCommand& command_;
  TflmRuntime runtime_;
  std::vector<std::string> sources_;
  std::deque<base::InputFile> files_;   // which cannot be moved
  std::deque<std::string> used_parts_;  // of files, with --strip
  std::vector<std::string_view> contents_;
  std::vector<KernelRequests> requests_;
  std::vector<ScratchRequest> list_;
  std::optional<Bytes> capacity_;
};

/// The runtime of --runtime and --kernels. Throws UsageError for unknown names.
[[nodiscard]] TflmRuntime parse_runtime(const std::string& runtime, const std::string& kernels);

/// The tensor_arena that the runtime needs for a file: with `options` by a plan of ours that it can follow, otherwise by
/// its own. Throws Error and UsageError for what it cannot run.
[[nodiscard]] Bytes arena_for(std::string_view file, const std::string& name, const TflmRuntime& runtime,
                              std::optional<PlanOptions> options);

/// What TensorFlow Lite Micro with pointers of 32 bits needs for a file.
struct RuntimeArenas {
  Bytes own = 0;      ///< By its own plan.
  Bytes planned = 0;  ///< By one of ours.
};

/// None if the file has what it cannot run. Planning takes at most a second, or a quarter of the effort.
[[nodiscard]] std::optional<RuntimeArenas> arenas_of(const std::string& file, SolveOptions solve);

/// Creates the missing directories of these files.
void make_directories_for(const std::vector<PlannedFile>& files);

void write_tflm_output(const TflmOutput& output, const PlanCommand& command, const std::vector<Input>& inputs,
                       std::ostream& out);

}  // namespace stowage::cli
