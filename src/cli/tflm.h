#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/tflm.h"

namespace stowage::cli {

/// A model's file with its plan, ready to write.
struct PlannedFile {
  std::filesystem::path file{};
  std::string content{};
  TflmPlan plan{};
  Faults faults{};  ///< Faults of the plan: a bug in stowage.
};

/// Restricts planning to what TensorFlow Lite Micro can follow. Throws UsageError for options that it cannot.
void prepare_for_tflm(const PlanCommand& command, PlanOptions& options);

/// The files that --tflite requests, if given. Throws UsageError for models and plans that the runtime cannot
/// follow, and Error for files that cannot be rewritten.
[[nodiscard]] std::vector<PlannedFile> planned_files(const PlanCommand& command,
                                                     const std::vector<Input>& inputs, const Plan& plan);

/// Creates the missing directories of these files.
void make_directories_for(const std::vector<PlannedFile>& files);

/// For --tflite: the peak with aliases that the runtime's kernels do not support, if it is lower.
[[nodiscard]] std::optional<Bytes> peak_with_all_aliases(const PlanCommand& command,
                                                         const std::vector<Input>& inputs,
                                                         PlanOptions options, const Plan& plan);

void write_planned_files(const std::vector<PlannedFile>& files, const std::vector<Input>& inputs,
                         std::optional<Bytes> with_all_aliases, std::ostream& out);

}  // namespace stowage::cli
