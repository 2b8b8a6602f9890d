// Plans for several sizes of what a model leaves open, in one file: `stowage plan` makes them, `verify` checks them, and
// `run` takes the one that the inputs need.

#include "cli/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "stowage/error.h"
#include "stowage/model_facts.h"
#include "stowage/open_sizes.h"

namespace stowage::cli {
namespace {

constexpr std::size_t most_buckets = 64;

bool is_list(const std::string& text) {
  return parse_assignment("--dim", text).second.find(',') != std::string::npos;
}

void expect_options(const PlanCommand& command) {
  const auto refuse = [](bool is_given, std::string_view what) {
    if (is_given) throw UsageError(fmt::format("{} is for one plan, and --dim gives several sizes", what));
  };
  refuse(command.is_for_tflm, "`stowage tflm`");
  refuse(command.what_if, "--what-if");
  refuse(!command.overlay.empty(), "--overlay");
  refuse(!command.budget.empty(), "--budget");
  refuse(command.print_loops, "--print-loops");
  refuse(!command.plan.near.empty(), "--near");
  refuse(!command.offsets.empty() && command.offsets != "constant", "--offsets");
  for (const WantedFile& file : command.files()) {
    if (file.holds != Holds::json && file.holds != Holds::header)
      throw UsageError(fmt::format(
          "{}: several sizes are written as JSON, -o FILE.json, or as a C header, -o FILE.h; one of "
          "them alone with --dim NAME=SIZE as any file",
          base::quoted(file.file)));
  }
  if (command.json && std::ranges::find(command.output.outputs, "-") != command.output.outputs.end())
    throw UsageError("-o - excludes --json: both write to standard output");
}

void print_buckets(const BucketsResult& result, std::ostream& out) {
  const Buckets& buckets = result.buckets;
  std::size_t width = 0;
  for (const Bucket& it : buckets.all) width = std::max(width, stowage::in_words(it.sizes).size());
  for (const Bucket& it : buckets.all) {
    const Summary& summary = it.plan.summary;
    base::print(out, "{:<13}{:<{}}  {:>12} bytes, {}\n", &it == buckets.all.data() ? "buckets" : "",
                base::visible(stowage::in_words(it.sizes)), width, summary.peak,
                summary.peak == summary.lower_bound ? proof_in_words(it.plan)
                                                    : fmt::format("bound {}{}", summary.lower_bound,
                                                                  it.plan.interrupted ? ", cut short" : ""));
  }
  bool is_first = true;
  for (const PlannedMemory& it : memories_of(buckets)) {
    base::print(out, "{:<13}{}: {} bytes\n", is_first ? "memories" : "", base::visible(it.memory.name),
                it.peak);
    is_first = false;
  }
  Bytes shared = 0;
  for (const SharedPlace& it : buckets.shared) shared += it.size;
  if (!buckets.shared.empty())
    base::print(out, "shared       {} of state and constants, {} bytes, at one place in all\n",
                buckets.shared.size(), shared);
}

ExitStatus report_outcomes(const BucketsResult& result) {
  ExitStatus status = ExitStatus::done;
  for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
    if (result.outcomes[i] == Outcome::fits) continue;
    status = ExitStatus::not_met;
    for (const PlannedMemory& it : result.buckets.all[i].plan.memories) {
      if (it.peak > it.memory.capacity.value_or(largest_value))
        base::print(std::cerr, "stowage: {} does not fit: {} needs {} bytes, {} more than its capacity\n",
                    stowage::in_words(result.buckets.all[i].sizes), base::quoted(it.memory.name), it.peak,
                    it.peak - *it.memory.capacity);
    }
  }
  return status;
}

/// The sizes of the buckets that inputs of a run have.
BucketSizes sizes_of_inputs(const Buckets& buckets, const std::string& model, const RunOptions& run) {
  BucketSizes sizes;
  const auto take = [&](const std::string& name, const OpenSize::Place& place) {
    const auto input = run.inputs.find(place.tensor);
    if (input == run.inputs.end() || place.axis >= input->second.shape.size()) return;
    std::int64_t& size = sizes[name];
    size = std::max(size, input->second.shape[place.axis]);
  };
  std::vector<OpenSize> named;
  if (buckets.all[0].plan.models[0].format == ModelFormat::onnx) named = facts_of_model(model).open;
  for (const auto& [name, size] : buckets.all[0].sizes) {
    for (const OpenSize& it : named) {
      if (it.name != name) continue;
      for (const OpenSize::Place& place : it.places) take(name, place);
    }
    for (const auto& [input, array] : run.inputs) {
      for (std::size_t axis = 0; axis < array.shape.size(); ++axis)
        if (name_of_axis(input, axis) == name) take(name, {input, axis});
    }
  }
  return sizes;
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& name, const std::string& value) {
  std::vector<std::int64_t> sizes;
  for (const std::string_view text : base::split(value, ',')) {
    const auto size = base::parse_integer(base::trim(text));
    if (!size || *size < 0)
      throw UsageError(fmt::format("--dim {}: {} is no size, expected whole numbers with commas",
                                   base::quoted(name), base::quoted(text)));
    sizes.push_back(*size);
  }
  std::ranges::sort(sizes);
  if (std::ranges::adjacent_find(sizes) != sizes.end())
    throw UsageError(fmt::format("--dim {}: has a size twice", base::quoted(name)));
  return sizes;
}

bool gives_several_sizes(const ModelTexts& texts) { return std::ranges::any_of(texts.dims, is_list); }

std::vector<BucketSizes> sizes_of_buckets(const ModelTexts& texts) {
  std::vector<BucketSizes> all{{}};
  for (const std::string& text : texts.dims) {
    if (!is_list(text)) continue;
    const auto [name, value] = parse_assignment("--dim", text);
    std::vector<BucketSizes> longer;
    for (const BucketSizes& some : all) {
      for (const std::int64_t size : parse_sizes(name, value)) {
        longer.push_back(some);
        if (!longer.back().emplace(name, size).second)
          throw UsageError(fmt::format("--dim is given twice for {}", base::quoted(name)));
      }
    }
    all = std::move(longer);
    if (all.size() > most_buckets)
      throw UsageError(
          fmt::format("--dim: {} combinations of sizes, expected at most {}", all.size(), most_buckets));
  }
  return all;
}

ModelTexts with_sizes(const ModelTexts& texts, const BucketSizes& sizes) {
  ModelTexts own = texts;
  std::erase_if(own.dims, is_list);
  for (const auto& [name, size] : sizes) own.dims.push_back(fmt::format("{}={}", name, size));
  return own;
}

ReadBucket reader_of(const std::vector<std::string>& models, const ModelTexts& texts, Wanted wanted) {
  return [=](const BucketSizes& sizes) { return read_models(models, with_sizes(texts, sizes), wanted); };
}

ExitStatus plan_buckets(const PlanCommand& command) {
  expect_options(command);
  expect_different_files(files_of_models(command.inputs), command.output.named());
  PlanOptions options = parse_plan_options(command.plan);
  options.states = shared_states(parse_models(command.inputs), command.model);
  note_memories(options.memories);
  const std::vector<BucketSizes> sizes = sizes_of_buckets(command.model);
  const InterruptWatch watch;
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line(options.solve);
  const ReadBucket read = reader_of(command.inputs, command.model, wanted_for(options));
  const BucketsResult result = make_buckets(read, sizes, options);
  clear_progress_line();
  if (!result.faults.empty()) {
    print_faults(result.faults);
    base::print(std::cerr, "stowage: the checker rejects the plans; that is a bug in stowage\n");
    return ExitStatus::own_plan_rejected;
  }
  std::vector<base::OutputFile> outputs;
  bool is_taken = false;
  for (const WantedFile& file : command.files()) {
    is_taken = is_taken || file.file == "-";
    const auto write = [&, holds = file.holds](std::ostream& out) {
      if (holds == Holds::json)
        write_json(result.buckets, out, command.form());
      else
        write_header(result.buckets, read, header_options(command), out);
    };
    outputs.push_back({file.file, write});
  }
  base::write_files(outputs);
  if (command.json) {
    write_json(result.buckets, std::cout, command.form());
  } else {
    print_buckets(result, summary_stream(is_taken));
  }
  flush_output();
  return report_outcomes(result);
}

std::optional<Buckets> read_buckets(const std::string& name) {
  const base::InputFile file(name);
  if (!has_buckets(file.bytes())) return std::nullopt;
  try {
    return parse_buckets(file.bytes());
  } catch (const Error& error) {
    throw error.in_file(name);
  }
}

const Bucket& chosen_bucket(const Buckets& buckets, const std::vector<std::string>& models,
                            const RunOptions& run, ModelTexts& texts) {
  if (buckets.all.empty()) throw UsageError("--plan has no bucket");
  BucketSizes sizes;
  for (const auto& [name, largest] : buckets.all[0].sizes) {
    const auto given = std::ranges::find_if(texts.dims, [&, &key = name](const std::string& text) {
      return parse_assignment("--dim", text).first == key;
    });
    if (given == texts.dims.end()) continue;
    sizes[name] = parse_sizes(name, parse_assignment("--dim", *given).second).back();
    texts.dims.erase(given);
  }
  if (sizes.empty() && models.size() == 1)
    sizes = sizes_of_inputs(buckets, parse_models(models)[0].file, run);
  for (const auto& [name, largest] : buckets.all[0].sizes)
    if (!sizes.contains(name))
      throw UsageError(fmt::format("--plan has plans for several sizes: give --dim {}=N, or the inputs",
                                   base::shell_word(name)));
  const Bucket* const bucket = bucket_for(buckets, sizes);
  if (bucket == nullptr)
    throw UsageError(fmt::format("{} is beyond the largest bucket, {}", stowage::in_words(sizes),
                                 stowage::in_words(buckets.all.back().sizes)));
  for (const auto& [name, size] : bucket->sizes) texts.dims.push_back(fmt::format("{}={}", name, size));
  if (bucket->sizes != sizes)
    base::print(std::cerr, "stowage: note: {} runs in the bucket for {}\n", stowage::in_words(sizes),
                stowage::in_words(bucket->sizes));
  return *bucket;
}

}  // namespace stowage::cli
