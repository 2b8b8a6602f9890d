#include "cli/tflm.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iostream>

#include "base/checked.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/models.h"
#include "stowage/error.h"
#include "stowage/network.h"

namespace stowage::cli {
namespace {

/// TensorFlow Lite Micro knows no other sizes than those in the file.
const ImportOptions sizes_of_file{.file_shapes = true};

/// The output file: the given one, or MODEL.tflite in the given directory.
std::filesystem::path file_for(const std::filesystem::path& given, const NamedFile& model,
                               std::size_t models) {
  std::error_code ignored;
  if (models == 1 && given.has_filename() && !std::filesystem::is_directory(given, ignored)) return given;
  return given / (model.name + ".tflite");
}

/// The model's file with a plan that the runtime can follow. Reads the result back and checks it.
PlannedFile planned_file(const Input& input, const Plan& plan, std::size_t model,
                         const KernelRequests& requests, std::string_view content, const std::string& source,
                         const TflmRuntime& runtime) {
  PlannedFile planned;
  planned.plan = plan_for_tflm(std::get<Graph>(input.content), plan, model, requests);
  try {
    if (plan.models.size() == 1)
      planned.plan = no_larger(content, std::get<Graph>(input.content), planned.plan, runtime);
    planned.content = with_offline_plan(content, planned.plan.plan);
  } catch (const Error& error) {
    throw error.in_file(source);
  }
  const Input written = parse_input(planned.content, source, sizes_of_file);
  const auto offsets = read_offline_offsets(planned.content);
  planned.faults = check_offline_offsets(std::get<Graph>(written.content), offsets.value());
  return planned;
}

/// The head of a planned file with the scratch of a runtime.
Bytes head_of(const std::string& content, const std::vector<ScratchRequest>& scratch) {
  ImportOptions options = sizes_of_file;
  options.scratch = scratch;
  const Input input = parse_input(content, "planned.tflite", options);
  return tflm_head(std::get<Graph>(input.content), read_offline_offsets(content).value());
}

void write_unused(const PlannedFile& file, const Graph& graph, std::ostream& out) {
  if (file.unused.empty()) return;
  const auto largest =
      std::ranges::max_element(file.unused, {}, [&](TensorId t) { return graph.tensors[t].bytes; });
  base::print(
      out,
      "{:<13}{} bytes for {}{}: nothing reads or writes that, but the runtime reserves it; --strip leaves it "
      "out, for a head of {} bytes\n",
      "  unused", graph.tensors[*largest].bytes, describe(graph, *largest),
      file.unused.size() == 1 ? "" : fmt::format(" and more for {} others", file.unused.size() - 1),
      file.head_of_used);
}

/// For a plan that only a remark is about: a second at most, so that what was asked for does not wait for it.
SolveOptions for_remark(SolveOptions solve) {
  solve.time_limit = std::min<std::chrono::duration<double>>(solve.time_limit, std::chrono::seconds(1));
  if (solve.effort) solve.effort = *solve.effort / 4;
  solve.progress = {};
  return solve;
}

/// Requests of a list, in the order of operators that a planned file has.
std::vector<ScratchRequest> reordered(std::vector<ScratchRequest> list, const OfflinePlan& plan) {
  for (ScratchRequest& request : list) {
    if (request.subgraph >= plan.orders.size() || plan.orders[request.subgraph].empty()) continue;
    const auto& order = plan.orders[request.subgraph];
    request.op = static_cast<std::size_t>(std::find(order.begin(), order.end(), request.op) - order.begin());
  }
  return list;
}

}  // namespace

TflmRuntime parse_runtime(const std::string& runtime, const std::string& kernels) {
  TflmRuntime result;
  if (runtime == "64") {
    result = tflm_64;
  } else if (runtime == "python") {
    result = tflm_python;
  } else if (!runtime.empty() && runtime != "32") {
    throw UsageError(fmt::format("--runtime is {}, expected 32, 64 or python", base::quoted(runtime)));
  }
  if (kernels == "cmsis-nn" || kernels == "cmsis-nn:dsp") {
    result.kernels = TflmKernels::cmsis_nn_dsp;
  } else if (kernels == "cmsis-nn:scalar") {
    result.kernels = TflmKernels::cmsis_nn_scalar;
  } else if (kernels == "cmsis-nn:mve") {
    result.kernels = TflmKernels::cmsis_nn_mve;
  } else if (!kernels.empty() && kernels != "reference") {
    throw UsageError(
        fmt::format("--kernels is {}, expected reference or cmsis-nn, which may have :scalar, :dsp or :mve",
                    base::quoted(kernels)));
  }
  return result;
}

Bytes arena_for(std::string_view file, const std::string& name, const TflmRuntime& wanted,
                std::optional<PlanOptions> options) {
  const TflmRuntime runtime = runtime_for(file, wanted);
  const KernelRequests requests = kernel_requests(file, runtime);
  ImportOptions import = sizes_of_file;
  import.scratch = requests.scratch;
  const Input input = parse_input(file, name, import);
  const auto& graph = std::get<Graph>(input.content);
  Bytes head = tflm_head(graph, OfflineOffsets(graph.tensors.size() - requests.scratch.size()));
  if (options) {
    options->target = Target::tflm;
    if (!requests.unknown.empty()) options->order = Order::keep;
    const PlanResult result = make_plan(input, *options);
    head = std::min(head, plan_for_tflm(graph, result.plan, 0, requests).head);
  }
  return tflm_arena({{file, head, requests.scratch.size()}}, runtime).size;
}

std::optional<RuntimeArenas> arenas_of(const std::string& name, SolveOptions solve) {
  PlanOptions options;
  options.solve = for_remark(std::move(solve));
  try {
    const base::InputFile file(name);
    return RuntimeArenas{.own = arena_for(file.bytes(), name, tflm_32, std::nullopt),
                         .planned = arena_for(file.bytes(), name, tflm_32, std::move(options))};
  } catch (const UsageError&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

TflmPlanning::TflmPlanning(const PlanCommand& command, PlanOptions& options)
    : command_(command), runtime_(parse_runtime(command.runtime, command.kernels)) {
  const auto refuse = [](bool is_given, std::string_view flag, std::string_view why) {
    if (is_given)
      throw UsageError(fmt::format("{} cannot be given for TensorFlow Lite Micro: {}", flag, why));
  };
  refuse(options.io != Io::arena, "--io", "it keeps inputs and outputs in its arena");
  refuse(options.memories.size() > 1 || options.memories[0].role == MemoryRole::weights, "--memory",
         "it has one arena and reads weights from the file");
  refuse(!command.model.shapes.empty() || !command.model.bounds.empty(), "--shape and --bound",
         "it uses the shapes in the file");
  refuse(!command.model.values.empty(), "--value", "it uses the shapes in the file");
  refuse(!command.model.states.empty(), "--state", "it manages variables itself");
  refuse(!command.model.joins.empty(), "--join", "it runs each file by itself");
  if (options.alignment.value_or(tflm_alignment) % tflm_alignment != 0)
    throw UsageError(fmt::format("--align is {}, expected a multiple of {} for TensorFlow Lite Micro",
                                 *options.alignment, tflm_alignment));
  options.target = Target::tflm;
  const std::vector<NamedFile> models = parse_models(command.inputs);
  const std::vector<ImportOptions> import_options = parse_options_of(models, command.model);
  list_ = import_options[0].scratch;
  std::vector<ArenaModel> without_heads;
  for (const NamedFile& model : models) {
    sources_.push_back(model.file);
    files_.emplace_back(model.file);
    contents_.push_back(files_.back().bytes());
    if (!is_tflite(contents_.back())) throw UsageError(fmt::format("{} is not a TFLite model", model.file));
    try {
      runtime_ = runtime_for(contents_.back(), runtime_);
      requests_.push_back(kernel_requests(contents_.back(), runtime_));
      if (command.strip)
        contents_.back() = used_parts_.emplace_back(without_unused_tensors(contents_.back()));
      if (!command.model.scratch.empty()) {
        const Input input = parse_input(contents_.back(), model.file, sizes_of_file);
        requests_.back().scratch = completed(requests_.back(), list_, std::get<Graph>(input.content));
        requests_.back().unknown.clear();
      }
    } catch (const Error& error) {
      throw error.in_file(model.file);
    }
    without_heads.push_back({contents_.back(), 0, requests_.back().scratch.size()});
  }
  const bool may_ask = std::any_of(requests_.begin(), requests_.end(),
                                   [](const KernelRequests& it) { return !it.unknown.empty(); });
  if (may_ask && command.plan.order == "search")
    throw UsageError(
        "--order search: the model has operators that are not stock ones, and nobody knows what scratch they "
        "ask for; expected --scratch with a line for each (of 0 bytes if it asks for nothing)");
  if (may_ask) options.order = Order::keep;
  capacity_ = options.memories[0].capacity;
  if (capacity_) {
    const Bytes tail = tflm_arena(without_heads, runtime_).tail;
    options.memories[0].capacity = std::max<Bytes>(0, *capacity_ - base::align_up(tail, tflm_alignment));
  }
}

std::vector<Input> TflmPlanning::inputs() const {
  const std::vector<NamedFile> models = parse_models(command_.inputs);
  std::vector<ImportOptions> options = parse_options_of(models, command_.model);
  std::vector<Input> inputs;
  for (std::size_t m = 0; m < models.size(); ++m) {
    options[m].scratch = requests_[m].scratch;
    options[m].file_shapes = true;
    options[m].constants = models.size() > 1;
    inputs.push_back(parse_input(contents_[m], models[m].file, options[m]));
    inputs.back().info.name = models[m].name;
  }
  return inputs;
}

TflmOutput TflmPlanning::output(const std::vector<Input>& inputs, const PlanOptions& options,
                                const PlanResult& result) const {
  TflmOutput output{.bound_of_plan = result.plan.summary.lower_bound, .capacity = capacity_};
  const std::vector<NamedFile> models = parse_models(command_.inputs);
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    output.files.push_back(
        planned_file(inputs[m], result.plan, m, requests_[m], contents_[m], models[m].file, runtime_));
    PlannedFile& file = output.files.back();
    for (const std::string& given : files_of(command_.files(), Holds::tflite)) {
      file.files.push_back(file_for(given, models[m], models.size()));
      const std::filesystem::path& path = file.files.back();
      if (std::any_of(models.begin(), models.end(),
                      [&](const NamedFile& it) { return base::is_same_file(it.file, path); }))
        throw UsageError(fmt::format("-o {} would overwrite the input {}", given, path.string()));
    }
  }
  output.arena = arena_on(runtime_, output.files);
  TflmRuntime other = runtime_.pointer_bytes == 8 ? tflm_32 : tflm_64;
  other.kernels = runtime_.kernels;
  other.decompresses = runtime_.decompresses && !runtime_.records;
  for (const PlannedFile& file : output.files) other = runtime_for(file.content, other);
  output.other_arena = arena_on(other, output.files);
  if (!files_of(command_.files(), Holds::buffer_plan).empty()) use_buffer_plan(output);
  if (command_.strip) strip(output);
  if (command_.json) return output;
  for (std::size_t m = 0; m < output.files.size(); ++m) note_unused(m, output.files[m]);
  PlanOptions any = options;
  any.target = Target::any;
  any.solve = for_remark(options.solve);
  const Bytes peak = make_plan(inputs, any).plan.summary.peak;
  if (peak < result.plan.summary.peak) output.with_all_aliases = peak;
  const bool gains = std::any_of(output.files.begin(), output.files.end(),
                                 [](const PlannedFile& it) { return it.plan.head < it.plan.own_head; });
  if (!gains && inputs.size() == 1) output.without_gain = what_would_gain(options, result.plan);
  return output;
}

void TflmPlanning::strip(TflmOutput& output) const {
  for (std::size_t m = 0; m < output.files.size(); ++m) {
    PlannedFile& file = output.files[m];
    file.content = without_unread_parts(file.content);
    file.bytes_before = static_cast<Bytes>(base::InputFile(sources_[m]).bytes().size());
  }
}

/// The offsets go into a BufferPlan instead of the file, for the runtime takes one of both.
void TflmPlanning::use_buffer_plan(TflmOutput& output) const {
  PlannedFile& file = output.files.at(0);
  ImportOptions options = sizes_of_file;
  options.scratch = kernel_requests(file.content, runtime_).scratch;
  if (!command_.model.scratch.empty()) options.scratch = reordered(requests_[0].scratch, file.plan.plan);
  const Input input = parse_input(file.content, sources_[0], options);
  output.buffer_plan =
      tflm_buffers(std::get<Graph>(input.content), read_offline_offsets(file.content).value());
  file.content = without_offline_plan(file.content);
}

/// What rows would need, in words.
std::string TflmPlanning::what_would_gain(const PlanOptions& options, const Plan& plan) const {
  PlanOptions rows = options;
  rows.target = Target::any;
  rows.solve = for_remark(options.solve);
  rows.stream = StreamOptions{.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
  try {
    const Plan streamed = make_plan({read_network(sources_[0], sizes_of_file).input}, rows).plan;
    if (streamed.summary.peak >= plan.summary.peak)
      return "rows (--stream) would need as much, with inputs and outputs as wholes";
    return fmt::format(
        "rows would need {} bytes for tensors, less if inputs arrive by rows, with kernels such as `stowage "
        "generate --stream` writes",
        streamed.summary.peak);
  } catch (const UsageError&) {
    return "it cannot run by rows (--stream) either";
  } catch (const Error&) {
    return "it cannot run by rows (--stream) either";
  }
}

std::vector<ScratchRequest> TflmPlanning::scratch_in(const PlannedFile& file, std::size_t model,
                                                     const TflmRuntime& runtime) const {
  const KernelRequests requests = kernel_requests(file.content, runtime);
  if (command_.model.scratch.empty()) return requests.scratch;
  return completed(requests, reordered(list_, file.plan.plan),
                   std::get<Graph>(parse_input(file.content, sources_[model], sizes_of_file).content));
}

TflmArena TflmPlanning::arena_on(const TflmRuntime& runtime, const std::vector<PlannedFile>& files) const {
  std::vector<ArenaModel> models;
  for (std::size_t m = 0; m < files.size(); ++m) {
    const std::vector<ScratchRequest> scratch = scratch_in(files[m], m, runtime);
    models.push_back({files[m].content, head_of(files[m].content, scratch), scratch.size()});
  }
  return tflm_arena(models, runtime);
}

void TflmPlanning::note_unused(std::size_t model, PlannedFile& file) const {
  std::string used;
  try {
    used = without_unused_tensors(contents_[model]);
  } catch (const UsageError&) {
    return;  // a file that cannot be written anew
  }
  if (used == contents_[model]) return;
  const Graph before = std::get<Graph>(parse_input(contents_[model], sources_[model], sizes_of_file).content);
  const Graph after = std::get<Graph>(parse_input(used, sources_[model], sizes_of_file).content);
  OfflinePlan plan = file.plan.plan;
  for (TensorId t = 0; t < plan.offsets.size(); ++t) {
    if (after.tensors[t].bytes >= before.tensors[t].bytes) continue;
    plan.offsets[t].reset();
    file.unused.push_back(t);
  }
  const std::vector<ScratchRequest> scratch = scratch_in(file, model, runtime_);
  file.head_of_used = head_of(with_offline_plan(used, plan), scratch);
  if (file.head_of_used >= file.plan.head) file.unused.clear();
}

void make_directories_for(const std::vector<PlannedFile>& files) {
  std::error_code ignored;  // if it fails, writing the file reports it
  for (const PlannedFile& file : files)
    for (const std::filesystem::path& path : file.files)
      if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
}

void write_tflm_output(const TflmOutput& output, const PlanCommand& command, const std::vector<Input>& inputs,
                       std::ostream& out) {
  if (output.files.empty()) return;
  for (std::size_t m = 0; m < output.files.size(); ++m) {
    base::print(out, "\n");
    for (const std::filesystem::path& path : output.files[m].files)
      base::print(out, "{:<13}{}\n", "written", path.string());
    if (const auto before = output.files[m].bytes_before) {
      base::print(out, "{:<13}{} bytes, {} before\n", "file", output.files[m].content.size(), *before);
    }
    write_tflm(output.files[m].plan, std::get<Graph>(inputs[m].content), out);
    if (output.files.size() == 1 && output.files[m].plan.head < output.bound_of_plan)
      base::print(out,
                  "{:<13}the plan's bound is higher: it counts variables, which are in the tail, and tensors "
                  "of bodies for longer\n",
                  "");
    write_unused(output.files[m], std::get<Graph>(inputs[m].content), out);
  }
  const TflmRuntime runtime = parse_runtime(command.runtime, command.kernels);
  TflmRuntime other = runtime.pointer_bytes == 8 ? tflm_32 : tflm_64;
  write_arena(output.arena, runtime, out);
  base::print(out, "{:<13}{} bytes with pointers of {} bits\n", "", output.other_arena.size,
              8 * other.pointer_bytes);
  if (output.capacity)
    base::print(out,
                "{:<13}of {} bytes that --capacity gives it; what the tail leaves is the capacity above\n",
                "", *output.capacity);
  if (!output.without_gain.empty())
    base::print(out, "{:<13}nothing: TensorFlow Lite Micro plans this as well; {}\n", "gained",
                output.without_gain);
  if (output.with_all_aliases) {
    base::print(
        out,
        "{:<13}aliases that would lower the peak to {} bytes: stock kernels support only reshapes in place\n",
        "not taken", *output.with_all_aliases);
  }
}

}  // namespace stowage::cli
