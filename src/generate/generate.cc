// Writes a network as C that runs its plan, step by step:
//
// 1. steps: which operators the plan runs, whole or by rows, and when;
// 2. functions: each operator becomes a C function; all that cannot are listed together;
// 3. schedule: the steps become calls, loops of an affine schedule, or a table;
// 4. cases: our own runner computes the outputs of the test program;
// 5. files.
//
// A pure function of network, plan and options. Cost: linear in the size of the files, and a run for each case.

#include "stowage/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <variant>

#include "base/text.h"
#include "generate/block_functions.h"
#include "generate/functions.h"
#include "generate/kernel_files.h"
#include "generate/loops.h"
#include "generate/open_rows.h"
#include "generate/package.h"
#include "generate/program.h"
#include "generate/refused.h"
#include "generate/schedule.h"
#include "generate/sources.h"
#include "generate/text.h"
#include "generate/working_memories.h"
#include "model/plan_blocks.h"
#include "run/blocks.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/parts.h"
#include "stowage/run.h"

namespace stowage {

using namespace std::string_view_literals;

namespace generate {
namespace {

void expect_identifier(const std::string& name) {
  const auto is_known = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const bool is_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  if (name.empty() || is_digit || !std::ranges::all_of(name, is_known))
    throw UsageError(fmt::format("name '{}' is not a C identifier in lower case", name));
}

void expect_plain_network(const Network& network, const Plan& plan) {
  if (plan.models.size() != 1) throw Error("plan", "is of several models, expected one");
  if (plan.tensors.size() != network.graph().tensors.size())
    throw Error("plan", fmt::format("has {} tensors, the network {}", plan.tensors.size(),
                                    network.graph().tensors.size()));
  const auto open = std::ranges::find_if(plan.tensors, [](const PlannedTensor& it) {
    return !is_constant(it.tensor.kind) && !it.views.empty() && is_open(it.tensor);
  });
  if (open == plan.tensors.end()) return;
  throw Error(describe(network.graph(), static_cast<TensorId>(open - plan.tensors.begin())),
              "has an open size, but generated code has one size; give exact sizes: N..N, or several, M,N");
}

/// Whether operands of an operator are in memory as one piece each, and its output is over none of the others.
bool is_apart(const Sources& sources, const Operator& op) {
  const auto place_of = [&](TensorId tensor) { return sources.storage(tensor).whole(); };
  const RowPlace output = place_of(op.outputs.at(0).value());
  return op.outputs.size() == 1 && std::ranges::all_of(op.inputs, [&](const auto& input) {
           if (!input || sources.is_constant(*input)) return true;
           const RowPlace place = place_of(*input);
           return place.memory != output.memory || place.offset + place.pitch <= output.offset ||
                  output.offset + output.pitch <= place.offset;
         });
}

/// All rows of an operator in steps that follow each other are one step for CMSIS-NN, which computes them faster than
/// one by one.
void note_whole_runs(const Sources& sources, Schedule& schedule) {
  if (sources.c_kernels() == CKernels::portable || !schedule.repeats.empty()) return;
  std::vector<std::size_t> runs(schedule.kinds(), 0);
  for (std::size_t s = 0; s < schedule.steps.size(); ++s)
    if (s == 0 || schedule.steps[s - 1] != schedule.steps[s]) ++runs[schedule.steps[s]];
  for (std::size_t o = 0; o < schedule.operators.size(); ++o) {
    StepKind& kind = schedule.operators[o];
    if (kind.copy || kind.sums || kind.carry || !kind.axis || runs[o] != 1) continue;
    try {
      const Operator& op = sources.network().graph().subgraphs[0].operators[kind.op];
      kind.is_one_step = kind.is_one_step || is_apart(sources, op);
    } catch (const kernels::Unsupported&) {  // rows that are apart stay rows
    }
  }
}

/// Rows of an image that is stored as a whole are apart, so the caller cannot have one: all of it comes with the first
/// row, or leaves with the last one.
void join_rows_of_ports(const Sources& sources, Schedule& schedule) {
  for (std::size_t p = 0; p < schedule.ports.size(); ++p) {
    Port& port = schedule.ports[p];
    if (!port.axis || sources.repeats_of(port.tensor) != nullptr) continue;
    const Shape& shape = *sources.network().graph().tensors[port.tensor].shape;
    if (sources.storage(port.tensor).axis() || kernels::count_of(shape, 0, *port.axis) == 1) continue;
    port.axis.reset();
    const std::size_t number = schedule.operators.size() + p;
    const auto last = std::find(schedule.steps.rbegin(), schedule.steps.rend(), number);
    const auto place = port.is_input ? std::ranges::find(schedule.steps, number) : last.base() - 1;
    std::vector<std::size_t> kept;
    for (auto step = schedule.steps.begin(); step != schedule.steps.end(); ++step)
      if (*step != number || step == place)
        kept.push_back(static_cast<std::size_t>(step - schedule.steps.begin()));
    if (schedule.has_pauses && kept.size() < schedule.steps.size())
      throw Error(
          "plan",
          fmt::format("pauses (^ in --run) between rows of {}, which are apart, so that C has them all at "
                      "once: no C is generated",
                      describe(sources.network().graph(), port.tensor)));
    schedule.keep_steps(kept);
  }
}

/// Leaves one step of each operator that runs as a whole, and no copies of constants that are read where they lie.
void join_steps(const std::vector<Function>& functions, Schedule& schedule) {
  std::vector<std::size_t> kept;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const std::size_t step = schedule.steps[s];
    const bool is_whole =
        step < schedule.operators.size() && !schedule.operators[step].axis && !schedule.operators[step].copy;
    if (step < functions.size() && functions[step].name.empty()) continue;
    if (!is_whole || s == 0 || schedule.steps[s - 1] != step) kept.push_back(s);
  }
  schedule.keep_steps(kept);
}

/// One function for all blocks of an operator, where their texts allow it.
void join_functions(Sources& sources, const run::BlockNetwork& blocks, Model& model) {
  std::map<std::size_t, std::map<std::int64_t, Function*>> all;  // by operator of the file, and first row
  for (std::size_t i = 0; i < model.functions.size(); ++i) {
    const StepKind& kind = model.schedule.operators[i];
    if (kind.copy) continue;
    const model::BlockOf& own = blocks.split_network().operators[kind.op];
    if (own.block) all[own.of].emplace(own.block->begin, &model.functions[i]);
  }
  const std::vector<Operator>& operators = model.graph().subgraphs[0].operators;
  for (const auto& [op, by_begin] : all) {
    std::vector<Function*> functions;
    for (const auto& [begin, function] : by_begin) functions.push_back(function);
    const auto first = std::ranges::find(blocks.split_network().operators, op, &model::BlockOf::of);
    const auto number = static_cast<std::size_t>(first - blocks.split_network().operators.begin());
    const std::string label = std::to_string(op);
    join_blocks(sources, functions, function_name(operators[number], label), label);
  }
}

/// Inputs that are there before a run, and outputs that are there after it, one element after the other.
std::map<TensorId, RowPlace> fixed_places_of(const Model& model, Sources& sources) {
  std::map<TensorId, RowPlace> places;
  for (const Outlet& outlet : outlets_of(model)) {
    if (outlet.port || model.plan->tensors[outlet.tensor].views.empty() || sources.is_constant(outlet.tensor))
      continue;
    const Storage storage = sources.storage_of_outlet(outlet.tensor, outlet.is_input);
    if (storage.is_contiguous() && sources.moving(outlet.tensor) == nullptr) {
      places.emplace(outlet.tensor, storage.whole());
    } else if (model.has_ports()) {
      throw Error("plan", fmt::format("hands over some tensors by rows, but not {}, whose rows are apart",
                                      describe(model.graph(), outlet.tensor)));
    }
  }
  return places;
}

Bytes size_of(const std::vector<ConstantArray>& arrays) {
  Bytes sum = 0;
  for (const ConstantArray& array : arrays)
    if (!array.is_elsewhere) sum += static_cast<Bytes>(array.data.size());
  return sum;
}

/// Names of the files that a file of C includes, of those in its folder.
std::vector<std::string_view> included_by(std::string_view content) {
  constexpr std::string_view word = "#include \"";
  std::vector<std::string_view> names;
  for (auto at = content.find(word); at != std::string_view::npos; at = content.find(word, at)) {
    at += word.size();
    names.push_back(content.substr(at, content.find('"', at) - at));
  }
  return names;
}

/// Files of kernels, and what they include.
void add_kernels(Package& package, const std::vector<std::string>& kernels) {
  std::vector<std::string> wanted{"stowage_kernels.h", "stowage_test.h"};
  for (const std::string& kernel : kernels) wanted.push_back(kernel + ".c");
  std::set<std::string> names;
  while (!wanted.empty()) {
    const std::string name = std::move(wanted.back());
    wanted.pop_back();
    const auto file = std::ranges::find(kernel_files(), name, &KernelFile::name);
    if (file == kernel_files().end() || !names.insert(name).second) continue;
    for (const std::string_view included : included_by(file->content)) wanted.emplace_back(included);
  }
  for (const KernelFile& file : kernel_files())
    if (names.contains(std::string(file.name)))
      package.files.push_back({std::string(file.name), std::string(file.content)});
}

std::vector<std::string> types_of(const Network& network) {
  std::vector<std::string> types;
  for (const Subgraph& subgraph : network.graph().subgraphs)
    for (const Operator& op : subgraph.operators) types.push_back(op.type);
  return types;
}

void expect_known_externs(const Network& network, const std::vector<std::string>& externs) {
  const std::vector<std::string> types = types_of(network);
  for (const std::string& type : externs) {
    if (std::ranges::find(types, type) == types.end())
      throw UsageError(
          fmt::format("extern operator {}: the model has none of this type", base::quoted(type)));
  }
}

/// Fills in what the files are written from.
void fill(Model& model, Sources& sources, const GenerateOptions& options, const run::BlockNetwork* blocks) {
  const Plan& plan = *model.plan;
  model.schedule = schedule_of(*model.network, plan);
  if (model.schedule.has_pauses && !model.has_ports())
    throw Error("plan",
                fmt::format("pauses (^ in --run) between steps of {}, which has C for its whole run: no C is "
                            "generated; with --stream --io rows it is called row by row",
                            plan.models[0].name));
  model.outside = sources.outside().size();
  sources.use(options.kernels);
  sources.set_repeats(model.schedule.repeats, model.schedule.counter());
  sources.set_granule(model.schedule.granule);
  join_rows_of_ports(sources, model.schedule);
  note_whole_runs(sources, model.schedule);
  model.functions = functions_for(sources, model.schedule, options.externs);
  join_steps(model.functions, model.schedule);
  sources.set_times(model.schedule.positions);
  if (blocks != nullptr) join_functions(sources, *blocks, model);
  sources.move_to(std::nullopt);
  for (const Port& port : model.schedule.ports) {
    if (sources.repeats_of(port.tensor) != nullptr)
      throw Error("plan", "hands over rows that it computes again");
    if (sources.moving(port.tensor) != nullptr) {
      const RowNow row = sources.row_now(port.tensor, port.axis, "state->memory", "state->now", "row");
      model.moving_ports.emplace(model.port_places.size(), row.bytes());
      model.port_places.emplace_back("NULL");
      continue;
    }
    const Storage storage = sources.storage(port.tensor);
    model.port_places.push_back(
        "&" + sources.place(port.axis ? storage.by_rows(*port.axis) : storage.whole(), port.tensor));
  }
  model.has_wishes = !sources.wishes().empty();
  model.calls_cmsis_nn = sources.kernels().contains("stowage_cmsis_nn");
  constexpr std::size_t most_steps = 65535;
  if (model.counts_steps() && model.schedule.steps.size() > most_steps)
    throw Error("plan", fmt::format("moves rows and has {} steps, expected at most {}",
                                    model.schedule.steps.size(), most_steps));
  model.fixed_places = fixed_places_of(model, sources);
  if (!model.schedule.has_pauses)
    model.loops = loops_of(*model.network, plan, model.schedule, model.functions, model.name);
  if (is_streamed(plan) && !model.loops) model.table = periodic(model.schedule.steps);
}

/// What all files are written from, once `model` is filled.
Package package_of(const Model& model, Sources& sources, const Network& network, const std::string& plan_json,
                   const std::string& test) {
  const std::string text = program_of(model, sources);
  sources.drop_unread(text);
  Package package{.uses = {use_of(model)},
                  .state = bytes_of_state(model) + bytes_kept(model),
                  .weights = size_of(sources.arrays()),
                  .control = bytes_of_tables(model) + sources.bytes_of_places(),
                  .layers = bytes_of_layers(text),
                  .steps = model.schedule.steps.size()};
  for (const PlannedMemory& memory : model.plan->memories) package.arena += memory.peak;
  for (const Operator& op : network.graph().subgraphs[0].operators)
    package.multiplies += op.multiplies.value_or(0);
  const std::string& name = model.name;
  package.files = {{name + ".h", interface_of(model, sources)},
                   {name + ".c", text},
                   {name + "_weights.h", weights_header_of(model, sources)},
                   {name + "_weights.c", weights_of(model, sources)},
                   {name + "_test.c", test},
                   {"plan.json", plan_json}};
  const std::vector<std::string> kernels(sources.kernels().begin(), sources.kernels().end());
  add_kernels(package, kernels);
  for (GeneratedFile& file : build_files_of(model, package, kernels))
    package.files.push_back(std::move(file));
  add_licences(package.files);
  return package;
}

void refuse_passed_blocks(const Plan& plan) {
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const arrive = std::get_if<Arrive>(&step);
      const auto* const leave = std::get_if<Leave>(&step);
      if ((arrive != nullptr && arrive->block) || (leave != nullptr && leave->block))
        throw Error(
            "plan",
            "has inputs arrive or outputs leave in blocks, for which no C is generated; --blocks none has "
            "none");
    }
  }
}

/// Blocks of operators are written as operators of a network of their own.
Package write_package(const Network& network, const Plan& whole_plan, const GenerateOptions& options,
                      EqualArrays& known) {
  refuse_passed_blocks(whole_plan);
  const Plan plan = without_weights_memories(whole_plan);
  const run::Program program =
      run::make_program(network, {.kernels = KernelSet::plain}, types_of(network));  // kernels are not run
  std::optional<run::BlockNetwork> blocks;
  if (model::has_blocks(plan)) blocks.emplace(network, program, plan);
  Model model{.network = blocks ? &blocks->network() : &network,
              .plan = blocks ? &blocks->plan() : &plan,
              .name = options.name,
              .origin = origin_of(options)};
  const run::BlockNetwork* const of_blocks = blocks ? &*blocks : nullptr;
  Sources sources(*model.network, blocks ? blocks->program() : program, *model.plan, options.name, of_blocks,
                  &known);
  fill(model, sources, options, of_blocks);
  Package package = package_of(model, sources, network, plan_json_of(whole_plan),
                               test_program_of(model, cases_of(network, whole_plan, options)));
  known.add(sources.arrays());
  return package;
}

/// Everything of a package at one size of its open rows.
struct WritingAt {
  WritingAt(std::int64_t at, Network own, const Plan& plan_there, const GenerateOptions& options)
      : size(at),
        network(std::move(own)),
        plan(without_weights_memories(plan_there)),
        program(run::make_program(network, {.kernels = KernelSet::plain}, types_of(network))),
        model{.network = &network, .plan = &plan, .name = options.name, .origin = origin_of(options)},
        sources(network, program, plan, options.name, nullptr) {
    sources.set_open();
    fill(model, sources, options, nullptr);
  }

  std::int64_t size;
  Network network;
  Plan plan;
  run::Program program;
  Model model;
  Sources sources;
};

/// Whether the size tells more of what depends on it: some number of steps is another one than at all sizes before.
bool shows_more(const OpenRows& rows, std::int64_t size, std::set<std::size_t>& shown) {
  const std::size_t before = shown.size();
  for (std::size_t i = 0; i < rows.steps.size(); ++i)
    if (rows.steps[i] && steps_at(*rows.steps[i], size) != steps_at(*rows.steps[i], rows.at)) shown.insert(i);
  return shown.size() > before;
}

/// The network at the size of the plan, and at others that the model accepts, the nearest first: three, and those that it
/// takes for all numbers of rows to differ.
std::vector<std::unique_ptr<WritingAt>> written_at_some(const Plan& plan, const OpenRows& rows,
                                                        const ReadNetworkAt& read,
                                                        const GenerateOptions& options) {
  constexpr std::size_t wanted = 3;
  constexpr std::int64_t farthest = 2048;
  const auto open = static_cast<std::size_t>(
      std::ranges::count_if(rows.steps, [](const auto& it) { return it.has_value(); }));
  std::set<std::size_t> shown;
  std::vector<std::unique_ptr<WritingAt>> all;
  all.push_back(std::make_unique<WritingAt>(rows.at, read(rows.at), plan, options));
  for (std::int64_t distance = 1; distance <= farthest && (all.size() < wanted || shown.size() < open);
       ++distance) {
    for (const std::int64_t size :
         {rows.at - distance * rows.size.step, rows.at + distance * rows.size.step}) {
      if (size < rows.size.least || size > rows.size.most) continue;
      if (!shows_more(rows, size, shown) && all.size() >= wanted) continue;
      try {
        Network network = read(size);
        const Plan there = plan_at(plan, rows, size, network.graph());
        all.push_back(std::make_unique<WritingAt>(size, std::move(network), there, options));
      } catch (const UsageError&) {
        throw;
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the model rejects it
      }
    }
  }
  if (all.size() < 2) throw Error("plan", "has open rows, but the model accepts one size only");
  return all;
}

/// What the runner computes at some sizes: at the least ones, and at others up to that of the plan.
std::vector<CasesAt> cases_at_some(const Plan& plan, const OpenRows& rows, const ReadNetworkAt& read,
                                   const GenerateOptions& options, std::vector<Network>& networks) {
  constexpr std::size_t wanted = 6;
  std::set<std::int64_t> tried;
  std::vector<CasesAt> all;
  networks.reserve(wanted);
  const std::int64_t last = (rows.at - rows.size.least) / rows.size.step;
  for (const std::int64_t index :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{7}, std::int64_t{12},
        std::int64_t{20}, std::int64_t{33}, std::int64_t{54}, last}) {
    const std::int64_t size = rows.size.least + std::min(index, last) * rows.size.step;
    if (networks.size() == wanted || !tried.insert(size).second) continue;
    try {
      Network network = read(size);
      const Plan there = size == rows.at ? plan : plan_at(plan, rows, size, network.graph());
      std::vector<TestCase> cases = cases_of(network, there, options);
      networks.push_back(std::move(network));
      all.push_back({size, &networks.back(), std::move(cases)});
    } catch (const UsageError&) {
      throw;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the model rejects it
    }
  }
  if (all.empty()) throw Error("plan", "the test of the package has no size that can be run");
  return all;
}

Package write_open_package(const Plan& plan, const OpenRows& rows, const ReadNetworkAt& read,
                           const GenerateOptions& options) {
  constexpr std::int64_t most_counted = std::int64_t{1} << 29;  // times and sizes are int32_t
  if (plan.streaming && plan.streaming->granule != 1)
    throw Error("plan", "has open rows in steps of several, expected --granule 1");
  if (!options.inputs.empty())
    throw UsageError("--input: the test of a network with open rows makes inputs of several sizes itself");
  std::vector<std::unique_ptr<WritingAt>> all = written_at_some(plan, rows, read, options);
  const std::vector<TimedSteps>& timed = plan.streaming->affine->operators;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const std::int64_t steps = rows.steps[i] ? steps_at(*rows.steps[i], rows.size.most) : timed[i].count;
    const std::int64_t over = rows.steps[i] ? rows.steps[i]->over : 1;
    if (steps > most_counted / (timed[i].scale * over) || rows.size.most > most_counted)
      throw Error("plan", fmt::format("has {} steps of one operator at {}={}, more than the C counts; give a "
                                      "smaller range",
                                      steps, rows.size.name, rows.size.most));
  }
  std::vector<WrittenAt> written;
  for (const auto& it : all) written.push_back({it->size, &it->model, &it->sources});
  open_rows(written, all[0]->plan, rows);
  Model& model = all[0]->model;
  model.loops = loops_of(all[0]->network, all[0]->plan, model.schedule, model.functions, model.name, &rows);
  if (!model.loops)
    throw Error("plan", has_isl() ? "has open rows, and its order has no loops"
                                  : "has open rows, whose loops need isl, which this build lacks");
  std::vector<Network> networks;
  const std::vector<CasesAt> cases = cases_at_some(plan, rows, read, options, networks);
  return package_of(model, all[0]->sources, all[0]->network, plan_json_of(plan, &rows),
                    test_program_of(model, cases));
}

}  // namespace
}  // namespace generate

void run_carriers_whole(Network& network, const std::vector<std::string>& externs) {
  constexpr std::array norms{"InstanceNormalization"sv, "GroupNormalization"sv};
  constexpr std::array sequences{"RNN"sv, "GRU"sv, "LSTM"sv, "UNIDIRECTIONAL_SEQUENCE_LSTM"sv};
  constexpr std::size_t rank_of_images = 4;
  Graph& graph = std::get<Graph>(network.input.content);
  const auto is_extern = [&](const Operator& op) {
    return std::ranges::find(externs, op.type) != externs.end();
  };
  const auto is_generated = [&](const Operator& op) {
    if (is_extern(op) || op.carries[0].backward) return false;
    if (std::ranges::find(sequences, op.type) != sequences.end()) return true;
    const bool is_norm = std::ranges::find(norms, op.type) != norms.end();
    return is_norm && graph.tensors[op.inputs.at(0).value()].shape->size() == rank_of_images;
  };
  for (Subgraph& subgraph : graph.subgraphs) {
    for (Operator& op : subgraph.operators) {
      if (!op.carries.empty() && !is_generated(op)) op.carries.clear();
      if (is_extern(op)) op.sums_over.clear();
    }
  }
}

namespace {

/// Errors of the C, with the file of the network.
template <typename Write>
Package in_file_of_network(const Network& network, const Write& write) {
  try {
    return write();
  } catch (const kernels::Unsupported& unsupported) {
    throw Error("", "cannot be generated: " + unsupported.reason).in_file(network.input.info.source);
  } catch (const RunFault& fault) {
    throw Error("plan", fault.what).in_file(network.input.info.source);
  } catch (const generate::RowsRefused& refused) {
    throw generate::RowsRefused(refused.in_file(network.input.info.source), refused.operators());
  } catch (const Error& error) {
    throw network.input.info.source.empty() ? error : error.in_file(network.input.info.source);
  }
}

}  // namespace

Package generate_package(const Plan& plan, const OpenRows& rows, const ReadNetworkAt& read,
                         const GenerateOptions& options) {
  generate::expect_identifier(options.name);
  const Network network = read(rows.at);
  generate::expect_plain_network(network, plan);
  generate::expect_known_externs(network, options.externs);
  return in_file_of_network(network, [&] { return generate::write_open_package(plan, rows, read, options); });
}

Package generate_package(const Network& network, const Plan& plan, const GenerateOptions& options) {
  generate::EqualArrays none;
  return generate::package_with(network, plan, options, none);
}

Package generate::package_with(const Network& network, const Plan& plan, const GenerateOptions& options,
                               EqualArrays& known) {
  expect_identifier(options.name);
  expect_plain_network(network, plan);
  expect_known_externs(network, options.externs);
  return in_file_of_network(network, [&] { return write_package(network, plan, options, known); });
}

}  // namespace stowage
