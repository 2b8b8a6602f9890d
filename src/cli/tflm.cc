#include "cli/tflm.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>

#include "base/file.h"
#include "base/text.h"
#include "cli/models.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

/// The output file: the given one, or MODEL.tflite in the given directory.
std::filesystem::path file_for(const PlanCommand& command, const NamedFile& model, std::size_t models) {
  const std::filesystem::path given = command.tflite_file;
  std::error_code ignored;
  if (models == 1 && given.has_filename() && !std::filesystem::is_directory(given, ignored)) return given;
  return given / (model.name + ".tflite");
}

/// The model's file with a plan that the runtime can follow. Reads the result back and checks it.
PlannedFile planned_file(const Input& input, const Plan& plan, std::size_t model, KernelScratch scratch,
                         const std::string& source) {
  const base::InputFile file(source);
  PlannedFile planned;
  planned.plan = plan_for_tflm(std::get<Graph>(input.content), plan, model, scratch);
  try {
    planned.content = with_offline_plan(file.bytes(), planned.plan.plan);
  } catch (const Error& error) {
    throw error.in_file(source);
  }
  const Input written = parse_input(planned.content, source);
  const auto offsets = read_offline_offsets(planned.content);
  planned.faults = check_offline_offsets(std::get<Graph>(written.content), offsets.value());
  return planned;
}

}  // namespace

void prepare_for_tflm(const PlanCommand& command, PlanOptions& options) {
  const auto refuse = [](bool is_given, std::string_view flag, std::string_view why) {
    if (is_given) throw UsageError(fmt::format("{} cannot be combined with --tflite: {}", flag, why));
  };
  refuse(options.io != Io::arena, "--io", "TensorFlow Lite Micro keeps inputs and outputs in its arena");
  refuse(options.memories.size() > 1 || options.memories[0].role == MemoryRole::weights, "--memory",
         "TensorFlow Lite Micro has one arena and reads weights from the file");
  refuse(!command.model.shapes.empty() || !command.model.bounds.empty(), "--shape and --bound",
         "TensorFlow Lite Micro uses the shapes in the file");
  refuse(!command.model.states.empty(), "--state", "TensorFlow Lite Micro manages variables itself");
  if (options.alignment.value_or(tflm_alignment) % tflm_alignment != 0)
    throw UsageError(fmt::format("--align is {}, expected a multiple of {} for --tflite", *options.alignment,
                                 tflm_alignment));
  options.target = Target::tflm;
  if (command.model.scratch.empty()) options.order = Order::keep;  // see docs/tflm.md
}

std::vector<PlannedFile> planned_files(const PlanCommand& command, const std::vector<Input>& inputs,
                                       const Plan& plan) {
  std::vector<PlannedFile> files;
  if (command.tflite_file.empty()) return files;
  const std::vector<NamedFile> models = parse_models(command.inputs);
  const KernelScratch scratch =
      command.model.scratch.empty() ? KernelScratch::unknown : KernelScratch::in_graph;
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    if (inputs[m].info.format != ModelFormat::tflite)
      throw UsageError(fmt::format("--tflite: {} is not a TFLite model", inputs[m].info.source));
    files.push_back(planned_file(inputs[m], plan, m, scratch, models[m].file));
    files.back().file = file_for(command, models[m], models.size());
    if (std::any_of(models.begin(), models.end(),
                    [&](const NamedFile& it) { return base::is_same_file(it.file, files.back().file); }))
      throw UsageError(fmt::format("--tflite would overwrite the input {}", files.back().file.string()));
  }
  return files;
}

void make_directories_for(const std::vector<PlannedFile>& files) {
  std::error_code ignored;  // if it fails, writing the file reports it
  for (const PlannedFile& file : files) {
    if (file.file.has_parent_path()) std::filesystem::create_directories(file.file.parent_path(), ignored);
  }
}

std::optional<Bytes> peak_with_all_aliases(const PlanCommand& command, const std::vector<Input>& inputs,
                                           PlanOptions options, const Plan& plan) {
  if (command.tflite_file.empty()) return std::nullopt;
  options.target = Target::any;
  const Bytes peak = make_plan(inputs, options).plan.summary.peak;
  return peak < plan.summary.peak ? std::optional(peak) : std::nullopt;
}

void write_planned_files(const std::vector<PlannedFile>& files, const std::vector<Input>& inputs,
                         std::optional<Bytes> with_all_aliases, std::ostream& out) {
  for (std::size_t m = 0; m < files.size(); ++m) {
    fmt::print(out, "\n{:<13}{}\n", "written", files[m].file.string());
    write_tflm(files[m].plan, std::get<Graph>(inputs[m].content), out);
  }
  if (with_all_aliases) {
    fmt::print(
        out,
        "{:<13}aliases that would lower the peak to {} bytes: stock kernels support only reshapes in place\n",
        "not taken", *with_all_aliases);
  }
}

ExitStatus run_inspect(const InspectCommand& command) {
  const base::InputFile file(command.file);
  const Input input = parse_input(file.bytes(), command.file);
  if (input.info.format != ModelFormat::tflite)
    throw UsageError(fmt::format("{} is not a TFLite model", command.file));
  Inspection inspection{.graph = std::get<Graph>(input.content)};
  try {
    inspection.found = read_offline_offsets(file.bytes());
    if (inspection.found) inspection.faults = check_offline_offsets(inspection.graph, *inspection.found);
    const OfflineOffsets none(inspection.graph.tensors.size());
    inspection.own_head = tflm_head(inspection.graph, none);
    inspection.head = tflm_head(inspection.graph, inspection.found.value_or(none));
    PlanOptions options;
    options.order = Order::keep;
    options.target = Target::tflm;
    const PlanResult result = make_plan(input, options);
    inspection.ours = plan_for_tflm(inspection.graph, result.plan, 0, KernelScratch::unknown).head;
  } catch (const UsageError& error) {
    inspection.obstacle = error.what();
  } catch (const Error& error) {
    throw error.in_file(command.file);
  }
  if (command.json) {
    write_inspection_json(inspection, std::cout);
  } else {
    write_inspection(inspection, std::cout);
  }
  std::cout.flush();
  if (!std::cout) throw Error("", "cannot be written").in_file("standard output");
  return inspection.faults.empty() ? ExitStatus::done : ExitStatus::not_met;
}

}  // namespace stowage::cli
