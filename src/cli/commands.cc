#include "cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/shortage.h"
#include "cli/tflm.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

/// Whether standard output is a pipe that nobody reads any more, as in `stowage plan .. | head -5`.
bool has_reader_ended() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

std::vector<base::OutputFile> outputs_of(const std::vector<WantedFile>& files, const Plan& plan,
                                         PlanForm form) {
  std::vector<base::OutputFile> outputs;
  for (const WantedFile& it : files) {
    if (it.holds == Holds::json)
      outputs.push_back({it.file, [&plan, form](std::ostream& out) { write_json(plan, out, form); }});
    if (it.holds == Holds::csv)
      outputs.push_back({it.file, [&](std::ostream& out) { write_csv(plan, out); }});
    if (it.holds == Holds::svg)
      outputs.push_back({it.file, [&](std::ostream& out) { write_svg(plan, out); }});
  }
  return outputs;
}

Wanted wanted_for(const PlanOptions& options) {
  if (options.stream) return Wanted::rows;
  const bool plans_weights =
      std::any_of(options.memories.begin(), options.memories.end(),
                  [](const Memory& memory) { return memory.role == MemoryRole::weights; });
  return plans_weights ? Wanted::constants : Wanted::graph;
}

Wanted wanted_to_check(const Plan& plan) {
  if (is_streamed(plan)) return Wanted::rows;
  const bool has_weights = std::any_of(plan.memories.begin(), plan.memories.end(), [](const auto& memory) {
    return memory.memory.role == MemoryRole::weights;
  });
  return has_weights ? Wanted::constants : Wanted::graph;
}

void flush_output() {
  std::cout.flush();
  if (!std::cout && !has_reader_ended()) throw OutputError("standard output", "cannot be written");
}

void note_memories(const std::vector<Memory>& memories) {
  for (std::size_t m = 0; m < memories.size(); ++m) {
    const auto takes_all = [&](const Memory& it) {
      return !it.capacity && it.role == memories[m].role && it.cost <= memories[m].cost;
    };
    const auto end = memories.begin() + static_cast<std::ptrdiff_t>(m);
    const auto first = std::find_if(memories.begin(), end, takes_all);
    if (first == end) continue;
    base::print(std::cerr,
                "stowage: note: memory {} stays empty: {} comes before it, has no limit and costs no more; "
                "--memory NAME=SIZE gives a limit\n",
                base::quoted(memories[m].name), base::quoted(first->name));
  }
}

void note_nearness(const PlanResult& result) {
  if (result.nearness && result.nearness->buffers == 0)
    base::print(std::cerr,
                "stowage: note: --near changes nothing: no buffer has the name and the memory of one in the "
                "earlier plan\n");
}

void print_faults(const Faults& faults) {
  constexpr std::size_t most_shown = 20;
  for (std::size_t i = 0; i < std::min(faults.size(), most_shown); ++i)
    base::print(std::cout, "fault: {}\n", faults[i].what);
  if (faults.size() > most_shown) base::print(std::cout, "and {} more faults\n", faults.size() - most_shown);
}

void note_other_models(const Plan& plan, const std::vector<Input>& inputs) {
  std::set<std::string_view> names;
  bool has_open = false;
  for (const Input& input : inputs) {
    const auto* const graph = std::get_if<Graph>(&input.content);
    if (graph == nullptr) return;
    for (const Tensor& tensor : graph->tensors) {
      names.insert(tensor.name);
      has_open = has_open || is_open(tensor);
    }
  }
  const auto known = std::ranges::count_if(
      plan.tensors, [&](const PlannedTensor& it) { return names.contains(it.tensor.name); });
  if (2 * known < std::ssize(plan.tensors)) {
    std::vector<std::string> sources;
    for (const ModelInfo& model : plan.models) sources.push_back(base::quoted(model.source));
    base::print(std::cerr, "stowage: note: the plan is of {}, which has other tensors\n",
                fmt::format("{}", fmt::join(sources, ", ")));
  } else if (!has_open &&
             std::ranges::any_of(plan.tensors, [](const PlannedTensor& it) { return is_open(it.tensor); })) {
    base::print(
        std::cerr,
        "stowage: note: the plan is for a range of sizes, and the model is read at one: give that range "
        "(--dim NAME=A..B)\n");
  }
}

ExitStatus report_own_fault(const PlanResult& result) {
  const std::filesystem::path file = "stowage-rejected-plan.json";
  const std::array<base::OutputFile, 1> outputs{
      {{file, [&](std::ostream& out) { write_json(result.plan, out); }}}};
  base::write_files(outputs);
  base::print(std::cerr,
              "stowage: the checker rejects this plan; that is a bug in stowage. The plan is saved in {}\n",
              file.string());
  for (const Fault& fault : result.faults) base::print(std::cerr, "stowage: {}\n", fault.what);
  return ExitStatus::own_plan_rejected;
}

ExitStatus report_fit(const PlanResult& result) {
  if (result.outcome == Outcome::fits) return ExitStatus::done;
  for (const std::string& line : shortage_of(result)) base::print(std::cerr, "stowage: {}\n", line);
  return ExitStatus::not_met;
}

}  // namespace stowage::cli
