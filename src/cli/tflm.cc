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

/// One file, or of several models one for each, in a directory.
std::filesystem::path file_for(const PlanCommand& command, const NamedFile& model, std::size_t models) {
  const std::filesystem::path given = command.tflite_file;
  std::error_code ignored;
  if (models == 1 && given.has_filename() && !std::filesystem::is_directory(given, ignored)) return given;
  std::filesystem::create_directories(given, ignored);  // writing there will tell
  return given / (model.name + ".tflite");
}

/// A model's file with a plan that the runtime can follow. What was written is read again and checked.
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

/// What a model passes on is safe from the others as long as all of them are where the plan says.
void expect_all_placed(const std::vector<PlannedFile>& files, const std::vector<Input>& inputs) {
  for (std::size_t m = 0; m < files.size(); ++m) {
    if (files[m].plan.left.empty()) continue;
    throw UsageError(fmt::format(
        "--feed: the runtime would place {} of {} by itself, perhaps over what is passed between models: {}",
        describe(std::get<Graph>(inputs[m].content), files[m].plan.left.front().tensor), inputs[m].info.name,
        files[m].plan.left.front().why));
  }
}

}  // namespace

void prepare_for_tflm(const PlanCommand& command, PlanOptions& options) {
  const auto refuse = [](bool is_given, std::string_view flag, std::string_view why) {
    if (is_given) throw UsageError(fmt::format("{} has no meaning for --tflite: {}", flag, why));
  };
  refuse(options.io != Io::arena, "--io", "TensorFlow Lite Micro has inputs and outputs in its arena");
  refuse(options.memories.size() > 1 || options.memories[0].role == MemoryRole::weights, "--memory",
         "TensorFlow Lite Micro has one arena, and weights in the file");
  refuse(!command.model.shapes.empty() || !command.model.bounds.empty(), "--shape and --bound",
         "TensorFlow Lite Micro goes by the shapes in the file");
  refuse(!command.model.states.empty(), "--state", "TensorFlow Lite Micro keeps variables by itself");
  constexpr Bytes arena_alignment = 16;
  if (options.alignment.value_or(arena_alignment) % arena_alignment != 0)
    throw UsageError(fmt::format("--align is {}, expected a multiple of {} for --tflite", *options.alignment,
                                 arena_alignment));
  options.target = Target::tflm;
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
      throw UsageError(fmt::format("--tflite: {} is no TFLite model", inputs[m].info.source));
    files.push_back(planned_file(inputs[m], plan, m, scratch, models[m].file));
    files.back().file = file_for(command, models[m], models.size());
    if (std::any_of(models.begin(), models.end(),
                    [&](const NamedFile& it) { return base::is_same_file(it.file, files.back().file); }))
      throw UsageError(fmt::format("--tflite would write over the input {}", files.back().file.string()));
  }
  if (!plan.feeds.empty()) expect_all_placed(files, inputs);
  return files;
}

void write_planned_files(const std::vector<PlannedFile>& files, const std::vector<Input>& inputs,
                         std::ostream& out) {
  for (std::size_t m = 0; m < files.size(); ++m) {
    fmt::print(out, "\n{:<13}{}\n", "written", files[m].file.string());
    write_tflm(files[m].plan, std::get<Graph>(inputs[m].content), out);
  }
}

ExitStatus run_inspect(const InspectCommand& command) {
  const base::InputFile file(command.file);
  const Input input = parse_input(file.bytes(), command.file);
  if (input.info.format != ModelFormat::tflite)
    throw UsageError(fmt::format("{} is no TFLite model", command.file));
  Inspection inspection{.graph = std::get<Graph>(input.content)};
  try {
    inspection.found = read_offline_offsets(file.bytes());
    if (inspection.found) inspection.faults = check_offline_offsets(inspection.graph, *inspection.found);
    const OfflineOffsets none(inspection.graph.tensors.size());
    inspection.own_head = tflm_head(inspection.graph, none);
    inspection.head = tflm_head(inspection.graph, inspection.found.value_or(none));
    PlanOptions options;
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
