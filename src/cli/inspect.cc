#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/tflm.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/model_facts.h"
#include "stowage/planner.h"
#include "stowage/tflm.h"

namespace stowage::cli {
namespace {

/// Our plan, for comparison.
Bytes head_of_ours(const Input& input, const KernelRequests& requests) {
  PlanOptions options;
  options.target = Target::tflm;
  if (!requests.unknown.empty()) options.order = Order::keep;
  const PlanResult result = make_plan(input, options);
  return plan_for_tflm(std::get<Graph>(input.content), result.plan, 0, requests).head;
}

Graph graph_of(const std::string& name, const TflmRuntime& runtime) {
  const base::InputFile file(name);
  ImportOptions options{.file_shapes = true};
  options.scratch = kernel_requests(file.bytes(), runtime_for(file.bytes(), runtime)).scratch;
  return std::get<Graph>(parse_input(file.bytes(), name, options).content);
}

/// All tensors of models that may share an arena; the rejected ones have none.
Bytes all_tensors(const std::vector<std::string>& models, const TflmRuntime& runtime) {
  Bytes all = 0;
  for (const std::string& name : models) {
    try {
      all = std::min(largest_value, all + tflm_all_tensors(graph_of(name, runtime)));
    } catch (const Error&) {
      continue;  // reported when it is inspected
    }
  }
  return all;
}

Inspection inspect(const std::string& name, const TflmRuntime& wanted, std::optional<Bytes> most) {
  const base::InputFile file(name);
  if (!is_tflite(file.bytes())) throw UsageError(fmt::format("{} is no TFLite or ONNX model", name));
  Inspection inspection{.name = name, .runtime = wanted};
  try {
    const TflmRuntime runtime = runtime_for(file.bytes(), wanted);
    inspection.runtime = runtime;
    const KernelRequests requests = kernel_requests(file.bytes(), runtime);
    ImportOptions import_options{.file_shapes = true};
    import_options.scratch = requests.scratch;
    const Input input = parse_input(file.bytes(), name, import_options);
    inspection.graph = std::get<Graph>(input.content);
    inspection.found = read_offline_offsets(file.bytes());
    if (inspection.found) {
      inspection.faults = check_offline_entry(file.bytes());
      const Faults more = check_offline_offsets(inspection.graph, *inspection.found,
                                                most.value_or(tflm_all_tensors(inspection.graph)));
      inspection.faults.insert(inspection.faults.end(), more.begin(), more.end());
    }
    const OfflineOffsets none(inspection.graph.tensors.size() - requests.scratch.size());
    inspection.own_head = tflm_head(inspection.graph, none);
    inspection.head = tflm_head(inspection.graph, inspection.found.value_or(none));
    inspection.arena = tflm_arena({{file.bytes(), inspection.head, requests.scratch.size()}}, runtime);
    inspection.ours = head_of_ours(input, requests);
  } catch (const UsageError& error) {
    inspection.obstacle = error.what();
  } catch (const Error& error) {
    throw error.in_file(name);
  }
  return inspection;
}

std::vector<std::string> models_in(const std::filesystem::path& folder) {
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".tflite") models.push_back(entry.path().string());
  }
  std::sort(models.begin(), models.end());
  if (models.empty()) throw UsageError(fmt::format("{} has no .tflite file", folder.string()));
  return models;
}

ExitStatus inspect_folder(const InspectCommand& command, const TflmRuntime& runtime) {
  std::vector<Inspection> inspections;
  std::vector<RejectedFile> rejected;
  const std::vector<std::string> models = models_in(command.file);
  const Bytes most = all_tensors(models, runtime);
  for (const std::string& name : models) {
    try {
      inspections.push_back(inspect(name, runtime, most));
    } catch (const Error& error) {
      rejected.push_back({name, error.what()});
    }
  }
  if (command.json) {
    write_inspections_json(inspections, rejected, std::cout);
  } else {
    write_inspections(inspections, rejected, std::cout);
  }
  const bool is_good = rejected.empty() && std::all_of(inspections.begin(), inspections.end(),
                                                       [](const auto& it) { return it.faults.empty(); });
  return is_good ? ExitStatus::done : ExitStatus::not_met;
}

ExitStatus inspect_file(const InspectCommand& command, const TflmRuntime& runtime) {
  if (is_onnx(base::InputFile(command.file).bytes(), command.file)) {
    const ModelFacts facts = facts_of_model(command.file);
    if (command.json) {
      write_facts_json(facts, command.file, std::cout);
    } else {
      write_facts(facts, command.file, std::cout);
    }
    return ExitStatus::done;
  }
  const Inspection inspection = inspect(command.file, runtime, std::nullopt);
  if (command.json) {
    write_inspection_json(inspection, std::cout);
  } else {
    write_inspection(inspection, std::cout);
  }
  return inspection.faults.empty() ? ExitStatus::done : ExitStatus::not_met;
}

}  // namespace

ExitStatus run_inspect(const InspectCommand& command) {
  const TflmRuntime runtime = parse_runtime(command.runtime, command.kernels);
  std::error_code ignored;
  const ExitStatus status = std::filesystem::is_directory(command.file, ignored)
                                ? inspect_folder(command, runtime)
                                : inspect_file(command, runtime);
  flush_output();
  return status;
}

}  // namespace stowage::cli
