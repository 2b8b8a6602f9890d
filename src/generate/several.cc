// Several models that share the memories of one plan. Each becomes files of its own, as if it were alone with its part
// of the plan: its tensors and its steps. Kernels are shared. A header says in which order the models run, and which
// inputs are outputs of another model.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "check/states.h"
#include "generate/package.h"
#include "generate/parts.h"
#include "generate/text.h"
#include "generate/working_memories.h"
#include "model/clock_tree.h"
#include "run/inputs.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/generate.h"

namespace stowage {
namespace generate {
namespace {

/// Where a model runs, from its first step there to its last.
struct Turn {
  std::size_t model = 0;
  std::size_t clock = 0;
};

/// The models that a clock and those that it forks run. Models that run at the same time stand one after the other, and
/// so do those that run at pauses, which are noted.
void add_turns(const Plan& plan, std::size_t clock, std::set<std::size_t>& pauses, std::vector<Turn>& turns) {
  std::optional<std::size_t> running;
  for (const Step& step : plan.clocks[clock].steps) {
    const auto* const copy = std::get_if<Copy>(&step);
    if (copy != nullptr && running != plan.tensors[copy->tensor].model)
      throw Error("plan", "moves a tensor of a model while another one runs, for which no C is generated");
    const auto* const pause = std::get_if<Pause>(&step);
    if (pause != nullptr && pauses.insert(pause->clock).second) add_turns(plan, pause->clock, pauses, turns);
    if (const auto* const fork = std::get_if<Fork>(&step)) {
      for (const std::size_t branch : fork->clocks) add_turns(plan, branch, pauses, turns);
    }
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr || running == run->model) continue;
    running = run->model;
    if (std::ranges::find(turns, run->model, &Turn::model) != turns.end())
      throw Error("plan", fmt::format("runs model {} in several parts, for which no C is generated",
                                      plan.models[run->model].name));
    turns.push_back({run->model, clock});
  }
}

bool is_of_model(const Plan& plan, const Step& step, std::size_t model) {
  const auto* const run = std::get_if<Run>(&step);
  const auto* const arrive = std::get_if<Arrive>(&step);
  const auto* const leave = std::get_if<Leave>(&step);
  const auto* const copy = std::get_if<Copy>(&step);
  const auto is_own = [&](std::size_t tensor) { return plan.tensors[tensor].model == model; };
  return (run != nullptr && run->model == model) || (arrive != nullptr && is_own(arrive->tensor)) ||
         (leave != nullptr && is_own(leave->tensor)) || (copy != nullptr && is_own(copy->tensor));
}

/// Each model pauses for one clock, which pauses nowhere else: so its C can say when.
void expect_pauses_of_one(const Plan& plan) {
  std::set<std::pair<std::size_t, std::size_t>> known;  // clocks, and models
  for (const Pausing& it : plan.pauses) {
    const std::size_t clock = model::ClockTree(plan.clocks).fork_of(it.clock)->clock;
    std::set<std::size_t> models;
    for (Position at = it.life.lower; at < it.life.upper; ++at) {
      for (std::size_t m = 0; m < plan.models.size(); ++m)
        if (is_of_model(plan, plan.clocks[clock].steps[static_cast<std::size_t>(at)], m)) models.insert(m);
    }
    if (models.size() != 1)
      throw Error("plan", "pauses between steps of several models (^ in --run), for which no C is generated");
    if (!known.emplace(clock, *models.begin()).second)
      throw Error("plan",
                  fmt::format("pauses twice between steps of {} (^ in --run), for which no C is generated",
                              plan.models[*models.begin()].name));
  }
}

/// The plan of one model: its tensors and steps, in the memories of all. Times begin with its first step. What runs at its
/// pauses is a clock without steps.
Plan part_of(const Plan& plan, const Turn& turn) {
  const std::size_t model = turn.model;
  Plan part = plan;
  part.models = {plan.models[model]};
  part.feeds.clear();
  part.states.clear();
  part.released.clear();
  std::erase_if(part.tensors, [model](const PlannedTensor& it) { return it.model != model; });
  const auto first = static_cast<std::size_t>(std::ranges::find(plan.tensors, model, &PlannedTensor::model) -
                                              plan.tensors.begin());
  const auto is_own_step = [&](const Step& step) { return is_of_model(plan, step, model); };
  std::vector<Step> steps = plan.clocks[turn.clock].steps;
  const auto first_step = std::ranges::find_if(steps, is_own_step);
  const Position begin = first_step - steps.begin();
  steps.erase(std::ranges::find_if(steps.rbegin(), steps.rend(), is_own_step).base(), steps.end());
  steps.erase(steps.begin(), steps.begin() + begin);
  std::erase_if(steps,
                [&](const Step& step) { return !is_own_step(step) && !std::holds_alternative<Pause>(step); });
  part.pauses.clear();
  for (Step& step : steps) {
    auto* const pause = std::get_if<Pause>(&step);
    if (pause == nullptr) continue;
    const auto stated = std::ranges::find(plan.pauses, pause->clock, &Pausing::clock);
    if (part.pauses.empty()) part.pauses = {{1, stated->every, {0, std::ssize(steps)}}};
    pause->clock = 1;
  }
  for (PlannedTensor& tensor : part.tensors) {
    tensor.model = 0;
    for (View& view : tensor.views) {
      // What a clock around this one holds is there all the time.
      const bool is_own = plan.buffers[view.buffer].clock == turn.clock;
      view.life = is_own ? Lifetime{std::max<Position>(0, view.life.lower - begin), view.life.upper - begin}
                         : Lifetime{0, std::ssize(steps)};
    }
  }
  for (Step& step : steps) {
    if (auto* const run = std::get_if<Run>(&step)) run->model = 0;
    if (auto* const arrive = std::get_if<Arrive>(&step)) arrive->tensor -= first;
    if (auto* const leave = std::get_if<Leave>(&step)) leave->tensor -= first;
    if (auto* const copy = std::get_if<Copy>(&step)) copy->tensor -= first;
  }
  part.clocks = {Clock{std::move(steps)}};
  if (!part.pauses.empty()) part.clocks.emplace_back();
  return part;
}

std::string name_of_model(const Plan& plan, const std::string& name, std::size_t model) {
  std::string own = identifier(plan.models[model].name);
  for (char& c : own)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name + "_" + (own.empty() ? std::to_string(model) : own);
}

std::string feeds_text(const Plan& plan) {
  std::string text;
  for (const Feed& feed : plan.feeds) {
    const PlannedTensor& from = plan.tensors[feed.output];
    const PlannedTensor& to = plan.tensors[feed.input];
    text += fmt::format(" * Output {} of {} is input {} of {}: give NULL for it.\n",
                        in_comment(from.tensor.name), in_comment(plan.models[from.model].name),
                        in_comment(to.tensor.name), in_comment(plan.models[to.model].name));
  }
  return text;
}

std::string states_text(const Plan& plan) {
  std::string text;
  for (const check::SharedState& state : check::shared_states(plan)) {
    std::vector<std::string> parts;
    for (const check::StateUser& user : state) {
      for (const auto& [tensor, what] : {std::pair(user.input, "input"), std::pair(user.output, "output")}) {
        if (!tensor) continue;
        const PlannedTensor& it = plan.tensors[*tensor];
        parts.push_back(fmt::format("{} {} of {}", what, in_comment(it.tensor.name),
                                    in_comment(plan.models[it.model].name)));
      }
    }
    text += fmt::format(
        " * State, kept between rounds: {}. Give NULL for them{}. An output of it is there until the next "
        "one is written.\n",
        fmt::join(parts, ", "),
        state.front().input ? "; in the first round, give its first value as input" : "");
  }
  return text;
}

/// Which models run when, as `--run` says it.
std::string order_text(const Plan& plan, const std::string& name, std::size_t clock) {
  std::vector<std::string> parts;
  std::optional<std::size_t> running;
  Position at = -1;
  for (const Step& step : plan.clocks[clock].steps) {
    ++at;
    if (const auto* const fork = std::get_if<Fork>(&step)) {
      std::vector<std::string> branches;
      for (const std::size_t branch : fork->clocks) branches.push_back(order_text(plan, name, branch));
      parts.push_back(fmt::format("{}", fmt::join(branches, " | ")));
    }
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr || running == run->model) continue;
    running = run->model;
    parts.push_back(name_of_model(plan, name, run->model));
    for (const Pausing& it : plan.pauses) {
      if (model::ClockTree(plan.clocks).fork_of(it.clock)->clock != clock || at < it.life.lower ||
          it.life.upper <= at)
        continue;
      const std::string others = order_text(plan, name, it.clock);
      const bool is_one = others.starts_with('(') || others.find(' ') == std::string::npos;
      parts.back() += fmt::format(" ^{} {}", it.every, is_one ? others : "(" + others + ")");
    }
  }
  const std::string text = fmt::format("{}", fmt::join(parts, "; "));
  return clock > 0 && parts.size() > 1 ? "(" + text + ")" : text;
}

std::string header_of(const Plan& plan, const std::string& name, const std::vector<std::string>& names) {
  std::string any_order =
      plan.clocks.size() == 1 + plan.pauses.size()
          ? ""
          : " * Those around a | may run at the same time, take turns row by row, or run one "
            "after the other.\n";
  if (!plan.pauses.empty())
    any_order +=
        " * What stands behind ^N may run whenever the model before it says that it ..._PAUSES: from begin "
        "to end, once,\n"
        " * more often or not at all, so that at most N steps of that model run without it. Its outputs are "
        "to be read "
        "then.\n";
  std::string text = fmt::format(
      "/* Several models in the same memory, made by stowage; README.md says more. In a round each runs "
      "once:\n"
      " *\n *   {}\n *\n{} * Outputs stay until all have run, unless --release freed them.\n{}{} */\n"
      "#ifndef {}_H\n#define {}_H\n\n",
      order_text(plan, name, 0), any_order, feeds_text(plan), states_text(plan), upper(name), upper(name));
  for (const std::string& own : names) text += fmt::format("#include \"{}.h\"\n", own);
  return text + memory_macros(plan, name) + "\n#endif\n";
}

/// How models that may run at the same time take turns, if all of them take or give rows: one row of each in turn.
std::string turns_text(const Plan& plan, const std::vector<std::string>& names,
                       const std::vector<Package>& packages) {
  if (plan.clocks.size() == 1 || !plan.pauses.empty()) return "";
  std::string begins;
  std::string turns;
  std::string is_running;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& it = names[i];
    const std::string& calls = packages[i].uses.front().calls;
    constexpr std::string_view begin = "_begin(&state, ";
    const std::size_t from = calls.find(begin);
    if (from == std::string::npos) return "";  // it runs as a whole
    const std::size_t memories = from + begin.size();
    begins += fmt::format("  {0}_state state_{0};\n  {0}_status {0} = {0}_begin(&state_{0}, {1};\n", it,
                          calls.substr(memories, calls.find(';', memories) - memories));
    is_running += fmt::format("{}{} != {}_DONE", is_running.empty() ? "" : " || ", it, upper(it));
    turns += fmt::format(
        "    if ({0} == {1}_WANTS_ROW) read_{0}({0}_row(&state_{0}));\n"
        "    if ({0} == {1}_HAS_ROW) use_{0}({0}_row(&state_{0}));\n"
        "    if ({0} != {1}_DONE) {0} = {0}_advance(&state_{0});\n",
        it, upper(it));
  }
  return fmt::format(
      "Models around a `|` may take turns, here row by row; `read_NAME` and `use_NAME` are yours:\n\n"
      "```c\nvoid infer_in_turns(void) {{\n{}  while ({}) {{\n{}  }}\n}}\n```\n\n",
      begins, is_running, turns);
}

std::string readme_of(const Plan& plan, const std::string& name, const Parts& parts) {
  std::string memories;
  for (const PlannedMemory& memory : plan.memories)
    memories += fmt::format("| {} | {} |\n", in_comment(memory.memory.name), memory.peak);
  return fmt::format(
      "# {0}\n\nC99 that runs {1} models in the same memory. Made by stowage.\n\n"
      "| memory | bytes |\n|---|---|\n{2}\n"
      "| model | state | weights | control tables | layers | steps |\n|---|---|---|---|---|---|\n{3}{5}\n"
      "Weights, control tables and layers are in flash: {9} bytes in all, beside code. The stack stays below "
      "1 kB.\n\n"
      "```c\n#include \"{0}.h\"\n\n{6}{7}```\n\n{8}"
      "`{0}.h` says in which order they run. `make test` runs each on known inputs on this machine. Add all "
      "`.c` "
      "files\nbut those that end in `_test.c` to your project.\n{4}",
      name, parts.names().size(), memories, parts.table(), licence_text, parts.outlets(),
      declarations_of_memories(plan, name), parts.calls(), turns_text(plan, parts.names(), parts.packages()),
      parts.flash());
}

Package package_of_several(std::span<const Network> networks, const Plan& plan,
                           const GenerateOptions& options) {
  if (plan.models.size() != networks.size())
    throw Error("plan", fmt::format("is of {} models, expected {}", plan.models.size(), networks.size()));
  Parts parts;
  std::vector<const Network*> pointers;
  for (const Network& network : networks) pointers.push_back(&network);
  const RunOptions values{.inputs = options.inputs};  // that `given` points into
  const auto given = run::given_inputs(pointers, plan, values);
  std::vector<Turn> turns;
  std::set<std::size_t> pauses;
  add_turns(plan, 0, pauses, turns);
  expect_pauses_of_one(plan);
  for (const Turn& turn : turns) {
    const std::size_t model = turn.model;
    GenerateOptions own = options;
    own.name = name_of_model(plan, options.name, model);
    own.inputs.clear();
    for (const auto& [where, array] : given)
      if (where.first == model) own.inputs[networks[model].graph().tensors[where.second].name] = *array;
    own.hashes.clear();
    if (model < options.hashes.size()) own.hashes.push_back(options.hashes[model]);
    std::erase_if(own.externs, [&](const std::string& type) {
      const auto& operators = networks[model].graph().subgraphs[0].operators;
      return std::ranges::find(operators, type, &Operator::type) == operators.end();
    });
    parts.add(networks[model], part_of(plan, turn), own);
  }
  const Plan own_plan = without_weights_memories(plan);
  std::vector<GeneratedFile> files{{options.name + ".h", header_of(own_plan, options.name, parts.names())},
                                   {"plan.json", plan_json_of(plan)},
                                   {"README.md", readme_of(own_plan, options.name, parts)}};
  return std::move(parts).package(options.name, std::move(files));
}

}  // namespace
}  // namespace generate

Package generate_package(std::span<const Network> networks, const Plan& plan,
                         const GenerateOptions& options) {
  if (networks.size() == 1) return generate_package(networks[0], plan, options);
  return generate::package_of_several(networks, plan, options);
}

}  // namespace stowage
