// Plans networks for their C. Plans that no C can be generated for are made again: first without moves of rows, then with
// rows in rings if there are several memories, then without blocks, then with rows along the natural axes, then with operators as wholes that have C
// only so, and at last a network with bodies without rows. Cost: up to five plans, one for each time that there are such
// operators, and one with rings in a quarter of the time.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "generate/refused.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

bool runs_blocks(const Plan& plan) {
  return std::ranges::any_of(plan.clocks.at(0).steps, [](const Step& step) {
    const auto* const run = std::get_if<Run>(&step);
    return run != nullptr && run->block;
  });
}

/// Whether the rows of a tensor may be in several memories.
bool may_split_tensors(const Plan& plan, const StreamOptions& options) {
  return options.layout != StreamLayout::ring && plan.memories.size() > 1;
}

/// Takes away what kernels may not be able to follow: moves of rows, tensors of which rows are in several memories, then
/// blocks if the plan has some, then axes that the search has chosen.
/// Gives what the next plan is made without, in words; none if there is nothing left to take away.
std::optional<std::string_view> simplify(const Plan& plan, PlanOptions& options) {
  if (!plan.streaming || !options.stream) return std::nullopt;
  if (options.moves == Moves::allowed) {
    options.moves = Moves::none;
    return "without moves of rows";
  }
  if (may_split_tensors(plan, *options.stream)) {
    options.stream->layout = StreamLayout::ring;
    return "with rows in rings, each in one memory";
  }
  if (runs_blocks(plan)) {
    options.stream->blocks = StreamBlocks::none;
    return "without blocks";
  }
  if (options.stream->axes != StreamAxes::searched) return std::nullopt;
  options.stream->axes = StreamAxes::natural;
  return "with rows along the natural axes";
}

/// Operators that a plan cannot run by rows if it is to be C run as wholes. Returns whether there are some.
bool run_whole(Network& network, const std::vector<std::size_t>& operators) {
  bool is_changed = false;
  for (const std::size_t op : operators) {
    Operator& it = std::get<Graph>(network.input.content).subgraphs[0].operators[op];
    is_changed = is_changed || !it.row_axes.empty() || !it.sums_over.empty() || !it.carries.empty();
    it.row_axes.clear();
    it.sums_over.clear();
    it.carries.clear();
  }
  return is_changed;
}

bool has_bodies(const std::vector<Network>& networks) {
  return std::ranges::any_of(networks, [](const Network& it) { return it.graph().subgraphs.size() > 1; });
}

PlannedPackage planned_as_asked(std::vector<Network> networks, PlanOptions options,
                                const GenerateOptions& wanted, const NoteOfPlanning& note) {
  for (;;) {
    std::vector<Input> inputs;
    for (const Network& network : networks) inputs.push_back(network.input);
    PlannedPackage made{.planned =
                            inputs.size() == 1 ? make_plan(inputs[0], options) : make_plan(inputs, options)};
    const Plan& plan = made.planned.plan;
    if (const LeftOut* const it = left_out(plan, Wish::io_rows))
      made.no_rows = it->why + (it->help.empty() ? "" : "; may help: " + it->help);
    if (!made.no_rows.empty() || !made.planned.faults.empty()) return made;
    try {
      made.package = generate_package(networks, plan, wanted);
      return made;
    } catch (const Error& error) {
      const auto* const refused = dynamic_cast<const generate::RowsRefused*>(&error);
      std::optional<std::string_view> less;
      const auto run_refused_whole = [&] {
        if (!less && refused != nullptr && networks.size() == 1 &&
            run_whole(networks[0], refused->operators()))
          less = "with these operators as wholes";
      };
      if (options.moves == Moves::allowed) run_refused_whole();  // what moves save is worth more
      if (!less) less = simplify(plan, options);
      run_refused_whole();
      if (!less && options.stream && options.io != Io::rows && has_bodies(networks)) {
        options.stream.reset();
        less = "without rows";
      }
      if (!less) throw;
      if (note) note(error.what(), *less);
    }
  }
}

bool fits(const Plan& plan) {
  return std::ranges::all_of(plan.memories, [](const PlannedMemory& it) {
    return !it.memory.capacity || it.peak <= *it.memory.capacity;
  });
}

/// RAM and flash that depend on the layout.
Bytes cost_of(const Package& package) { return package.arena + package.state + package.control; }

void add_to_readme(Package& package, const std::string& text) {
  const auto readme = std::ranges::find(package.files, "README.md", &GeneratedFile::path);
  readme->content += text;
}

/// Row blocks that lie anywhere save RAM, but need lists of where they are; rings need none. If these lists take more
/// flash than they save RAM, and rings cost no more reads and writes of slow memories, the package gets rings. Its README says what the other layout costs.
void weigh_rings(const std::vector<Network>& networks, PlanOptions options, const GenerateOptions& wanted,
                 const NoteOfPlanning& note, PlannedPackage& made) {
  constexpr double share_of_time = 0.25;
  options.stream->layout = StreamLayout::ring;
  options.solve.time_limit *= share_of_time;
  if (options.solve.effort)
    options.solve.effort =
        static_cast<std::int64_t>(share_of_time * static_cast<double>(*options.solve.effort));
  PlannedPackage other;
  try {
    other = planned_as_asked(networks, options, wanted, note);
  } catch (const Error&) {  // its rows are where no kernel reads them
    return;
  }
  if (!other.planned.faults.empty() || !other.no_rows.empty() || !is_streamed(other.planned.plan)) return;
  const bool takes_rings = cost_of(other.package) < cost_of(made.package) &&
                           other.planned.plan.summary.cost <= made.planned.plan.summary.cost &&
                           (fits(other.planned.plan) || !fits(made.planned.plan));
  if (takes_rings) std::swap(made, other);
  add_to_readme(made.package,
                fmt::format("\n{} would take an arena of {} bytes, a state of {} and control of {}.\n",
                            takes_rings ? "Row blocks that lie anywhere (`--layout granules`)"
                                        : "Rings instead of row blocks that lie anywhere (`--layout ring`)",
                            other.package.arena, other.package.state, other.package.control));
}

}  // namespace

PlannedPackage plan_package(std::vector<Network> networks, const PlanOptions& options,
                            const GenerateOptions& wanted, const NoteOfPlanning& note) {
  for (Network& network : networks) {
    add_scratch_of_kernels(network, wanted.kernels, options.stream.has_value(), wanted.externs);
    run_carriers_whole(network, wanted.externs);
  }
  PlannedPackage made = planned_as_asked(networks, options, wanted, note);
  const bool is_free = options.stream && options.stream->layout == StreamLayout::automatic;
  if (is_free && networks.size() == 1 && !made.package.files.empty() && is_streamed(made.planned.plan))
    weigh_rings(networks, options, wanted, note, made);
  return made;
}

StreamOptions streaming_for(CKernels kernels) {
  if (kernels == CKernels::portable) return {};
  return {.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
}

std::string c_name_of(std::string_view model) {
  std::string name;
  for (const char c : model) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    if (is_letter || (is_digit && !name.empty())) {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "model" : name;
}

}  // namespace stowage
