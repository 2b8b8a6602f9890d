// What works together: for each pair of features, and for some larger sets, small networks are planned, verified and run bit
// for bit with both, and the answer goes into docs/combinations.md. STOWAGE_LONG=1 STOWAGE_WRITE_TABLES=1 writes the
// page; otherwise the answers are compared with it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "c_packages.h"
#include "image_networks.h"
#include "long_tests.h"
#include "model/plan_blocks.h"
#include "rows_of_models.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/generate.h"
#include "stowage/join.h"
#include "stowage/planner.h"
#include "stowage/report.h"
#include "stowage/run.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::Random;

enum class Feature {
  rows,
  blocks,
  recompute,
  subset,
  sequence,
  same_time,
  paused,
  feeding,
  joining,
  memories,
  moves,
  weights,
  state,
  shared_state,
  bodies,
  open_sizes,
  external,
  near,
  banks,
  capacity,
  report,
  header,
  generate,
  run
};
using Features = std::set<Feature>;

struct Row {
  Feature feature;
  const char* name;  ///< In the table.
  const char* how;   ///< As the command says it.
};

constexpr Row all_features[] = {
    {Feature::rows, "rows", "--stream --io rows"},
    {Feature::blocks, "blocks", "--stream, with blocks of channels"},
    {Feature::recompute, "recomputing", "--stream --recompute 2"},
    {Feature::subset, "some operators", "--stream=Conv"},
    {Feature::sequence, "in sequence", "--run \"a; b\""},
    {Feature::same_time, "at the same time", "--run \"a | b\""},
    {Feature::paused, "between steps", "--run \"a ^4 b\""},
    {Feature::feeding, "feeding", "--feed a.y=b.x"},
    {Feature::joining, "joining", "--join a.y=j.x"},
    {Feature::memories, "memories", "--memory SRAM=1024 --memory PSRAM"},
    {Feature::moves, "moves", "--moves"},
    {Feature::weights, "weights memory", "--memory FLASH:weights"},
    {Feature::state, "state", "--state new=old"},
    {Feature::shared_state, "state of two models", "--state a.new=b.old"},
    {Feature::bodies, "bodies", "a network with an If"},
    {Feature::open_sizes, "open sizes", "a network whose height is open"},
    {Feature::external, "external io", "--io external"},
    {Feature::near, "near", "--near"},
    {Feature::banks, "banks", "--banks"},
    {Feature::capacity, "capacity", "--capacity, as much as is needed"},
    {Feature::report, "report", "-o plan.html"},
    {Feature::header, "header", "-o plan.h"},
    {Feature::generate, "generate", "stowage generate, built and run"},
    {Feature::run, "run", "stowage run --check=all"},
};

const char* name_of(Feature feature) { return std::ranges::find(all_features, feature, &Row::feature)->name; }

bool streams(const Features& wanted) {
  return wanted.contains(Feature::rows) || wanted.contains(Feature::blocks) ||
         wanted.contains(Feature::recompute) || wanted.contains(Feature::subset);
}

// Networks

/// Channels are widened, windows move over them, and they are narrowed again.
TensorId widened(ImageMaker& images, TensorId x) {
  const Shape narrow = images.shape(x);
  Shape wide = narrow;
  wide[1] = 12;
  TensorId made = images.apply("Conv", {x, images.weight({12, narrow[1], 1, 1})}, wide);
  made =
      images.apply("Conv", {made, images.weight({12, 1, 3, 3})}, wide,
                   {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}, {"group", std::int64_t{12}}});
  return images.apply("Conv", {made, images.weight({narrow[1], 12, 1, 1})}, narrow);
}

Network network_of(const std::string& name, const Features& wanted) {
  Random random(7);
  ImageMaker images(random);
  const TensorId input = images.add_tensor(TensorKind::input, {1, 2, 24, 4});
  const TensorId first = widened(images, input);
  const TensorId x = widened(images, first);
  TensorId y = images.apply("Sigmoid", {x}, images.shape(x));
  if (wanted.contains(Feature::moves)) {  // read before and behind wide tensors: worth a way out and back
    for (const char* const type : {"Add", "Mul", "Sub"}) y = images.apply(type, {y, first}, images.shape(x));
  }
  std::optional<StateTie> tie;
  if (wanted.contains(Feature::state) || wanted.contains(Feature::shared_state)) {
    const TensorId old_state = images.add_tensor(TensorKind::input, images.shape(x));
    const TensorId sum = images.apply("Add", {y, old_state}, images.shape(x));
    tie = StateTie{.output = images.apply("Relu", {sum}, images.shape(x)), .input = old_state};
    static_cast<void>(images.apply("Tanh", {y}, images.shape(x)));
  }
  TensorId of_bodies = y;  // small: bodies run as wholes, and the rest is what counts
  if (wanted.contains(Feature::bodies)) {
    static_cast<void>(images.apply("Neg", {y}, images.shape(x)));
    of_bodies =
        images.apply("MaxPool", {y}, {1, 2, 6, 1}, {{"kernel_shape", Shape{4, 4}}, {"strides", Shape{4, 4}}});
  }
  Network network = images.take(0);
  network.input.info.name = name;
  auto& graph = std::get<Graph>(network.input.content);
  if (tie) graph.ties.push_back(*tie);
  if (wanted.contains(Feature::bodies)) static_cast<void>(testing::add_if(of_bodies, network));
  if (wanted.contains(Feature::open_sizes)) {
    for (Tensor& tensor : graph.tensors) {
      const bool is_image = tensor.shape && tensor.shape->size() == 4 && !is_constant(tensor.kind);
      if (is_image) tensor.open.push_back({.axis = 2, .symbol = 0});
    }
  }
  validate(graph);
  return network;
}

/// Networks, and how they are planned.
struct Case {
  std::vector<Network> networks{};
  PlanOptions options{};
};

/// The last output of a network that is an image like its input, and no state.
std::string fed_output(const Network& network) {
  const Graph& graph = network.graph();
  for (const TensorId t : graph.subgraphs[0].outputs) {
    const bool is_tied =
        std::ranges::any_of(graph.ties, [&](const StateTie& tie) { return tie.output == t; });
    const bool is_image = graph.tensors[t].shape == graph.tensors[graph.subgraphs[0].inputs[0]].shape;
    if (!is_tied && is_image) return network.input.info.name + "." + graph.tensors[t].name;
  }
  return "";
}

/// The network and one that reads its output, as one of the same name.
Network joined_with_another(const Network& network, const Features& wanted) {
  const Network other = network_of("j", wanted);
  const std::vector<FeedNames> join{{fed_output(network), testing::name_of_input(other)}};
  Network joined = join_networks({network, other}, join).at(0);
  joined.input.info.name = network.input.info.name;
  return joined;
}

Case case_of(const Features& wanted) {
  const auto wants = [&](Feature feature) { return wanted.contains(feature); };
  Case it;
  const bool runs_beside = wants(Feature::same_time) || wants(Feature::paused);
  const bool are_three = (runs_beside && (wants(Feature::sequence) || wants(Feature::feeding) ||
                                          wants(Feature::shared_state))) ||
                         (wants(Feature::same_time) && wants(Feature::paused));
  const bool are_two =
      runs_beside || wants(Feature::sequence) || wants(Feature::feeding) || wants(Feature::shared_state);
  for (const char* const name : {"a", "b", "c"}) {
    if (it.networks.size() < (are_three ? 3U : are_two ? 2U : 1U))
      it.networks.push_back(network_of(name, wanted));
  }
  if (wants(Feature::joining)) it.networks[0] = joined_with_another(it.networks[0], wanted);
  PlanOptions& options = it.options;
  if (are_two) options.run = are_three ? "a; b | c" : wants(Feature::same_time) ? "a | b" : "a; b";
  if (wants(Feature::paused))
    options.run = wants(Feature::same_time) ? "a ^4 b | c" : are_three ? "a; b ^4 c" : "a ^4 b";
  if (wants(Feature::feeding))
    options.feeds = {{fed_output(it.networks[0]), testing::name_of_input(it.networks[1])}};
  if (wants(Feature::shared_state)) {
    const Graph& first = it.networks[0].graph();
    const Graph& second = it.networks[1].graph();
    options.states = {{"a." + first.tensors[first.ties.at(0).output].name,
                       "b." + second.tensors[second.ties.at(0).input].name}};
  }
  const std::int64_t effort_of_rows = wants(Feature::blocks) ? 4000 : 1000;
  options.solve.effort = streams(wanted) ? effort_of_rows * std::ssize(it.networks) : 200;
  options.alignment = 4;
  if (streams(wanted)) {
    options.stream.emplace();
    options.stream->granule = 2;
    options.stream->blocks = wants(Feature::blocks) ? StreamBlocks::searched : StreamBlocks::none;
    options.stream->axes = StreamAxes::natural;
    if (wants(Feature::recompute)) options.stream->recompute = 2;
    if (wants(Feature::subset)) options.stream->operators = {"Conv"};
    options.io = Io::rows;
  }
  if (wants(Feature::external)) options.io = Io::external;
  if (wants(Feature::memories) || wants(Feature::moves))
    options.memories = {{.name = "SRAM", .capacity = wants(Feature::moves) && !streams(wanted) ? 5300 : 1024},
                        {.name = "PSRAM", .cost = 10}};
  if (wants(Feature::moves)) options.moves = Moves::allowed;
  if (wants(Feature::weights)) options.memories.push_back({.name = "FLASH", .role = MemoryRole::weights});
  return it;
}

// Whether a plan has what is wanted

template <typename Has>
bool any_step(const Plan& plan, const Has& has) {
  return std::ranges::any_of(plan.clocks,
                             [&](const Clock& clock) { return std::ranges::any_of(clock.steps, has); });
}

/// Why the plan has no such rows.
std::string why_not(const Plan& plan, std::initializer_list<Wish> wishes) {
  for (const Wish wish : wishes) {
    if (const LeftOut* const it = left_out(plan, wish)) return it->why;
  }
  return "none that lowers the peak or the cost was found";
}

bool all_by_rows(const Plan& plan) {
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    if (!is_streamed(plan, m)) return false;
  }
  return true;
}

bool has_views(const Plan& plan, const std::function<bool(const PlannedTensor&)>& is_it) {
  return std::ranges::any_of(plan.tensors,
                             [&](const PlannedTensor& it) { return is_it(it) && !it.views.empty(); });
}

/// Empty: the plan has it.
std::string lack_of(Feature feature, const Case& it, const PlanResult& result) {
  const Plan& plan = result.plan;
  const auto unless = [](bool has, std::string why) { return has ? std::string() : std::move(why); };
  switch (feature) {
    case Feature::rows:
      return unless(all_by_rows(plan), why_not(plan, {Wish::rows, Wish::some_rows, Wish::io_rows}));
    case Feature::blocks:
      return unless(model::has_blocks(plan), why_not(plan, {Wish::rows, Wish::some_rows, Wish::blocks}));
    case Feature::recompute:
      return unless(plan.streaming && plan.streaming->recomputed > 1,
                    why_not(plan, {Wish::rows, Wish::some_rows, Wish::recomputation}));
    case Feature::subset:
      return unless(is_streamed(plan) && any_step(plan,
                                                  [](const Step& step) {
                                                    const auto* const run = std::get_if<stowage::Run>(&step);
                                                    return run != nullptr && !run->rows;
                                                  }),
                    why_not(plan, {Wish::rows, Wish::some_rows}));
    case Feature::sequence:
    case Feature::same_time:
      return unless(plan.models.size() > 1, "there is one network");
    case Feature::paused:
      return unless(!plan.pauses.empty(), "nothing pauses");
    case Feature::feeding:
      return unless(!plan.feeds.empty(), "nothing is fed");
    case Feature::joining:
      return unless(
          has_views(plan, [](const PlannedTensor& tensor) { return tensor.tensor.name.starts_with("j."); }),
          "nothing is joined");
    case Feature::memories:
      return unless(plan.memories.size() > 1, "there is one memory");
    case Feature::moves:
      return unless(any_step(plan, [](const Step& step) { return std::holds_alternative<Copy>(step); }),
                    "nothing is moved");
    case Feature::weights:
      return unless(
          has_views(plan, [](const PlannedTensor& tensor) { return is_constant(tensor.tensor.kind); }),
          "weights have no place");
    case Feature::state:
      return unless(has_views(plan,
                              [&](const PlannedTensor& tensor) {
                                return plan.buffers[tensor.views.empty() ? 0 : tensor.views[0].buffer].kind ==
                                       TensorKind::state;
                              }),
                    "state has no place");
    case Feature::shared_state:
      return unless(!plan.states.empty(), "no state is shared");
    case Feature::bodies:
      return unless(any_step(plan,
                             [](const Step& step) {
                               const auto* const run = std::get_if<stowage::Run>(&step);
                               return run != nullptr && run->path.size() > 2;
                             }),
                    "no body runs");
    case Feature::open_sizes:
      return unless(has_views(plan, [](const PlannedTensor& tensor) { return is_open(tensor.tensor); }),
                    "no size is open");
    case Feature::external:
      return unless(!any_step(plan, [](const Step& step) { return std::holds_alternative<Arrive>(step); }),
                    "inputs arrive");
    case Feature::near:
      return unless(result.nearness.has_value(), "no earlier plan is followed");
    case Feature::banks:
      return unless(result.bank_use.has_value(), "it does not fit");
    case Feature::capacity:
      return unless(result.outcome == Outcome::fits && it.options.memories[0].capacity.has_value(),
                    "it does not fit");
    case Feature::report:
    case Feature::header:
    case Feature::generate:
    case Feature::run:
      break;
  }
  return "";
}

std::vector<Input> inputs_of(const std::vector<Network>& networks) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  return inputs;
}

/// Options that need an earlier plan.
void complete(const Features& wanted, Case& it) {
  const auto wants = [&](Feature feature) { return wanted.contains(feature); };
  if (!wants(Feature::near) && !wants(Feature::banks) && !wants(Feature::capacity)) return;
  const Plan earlier = make_plan(inputs_of(it.networks), it.options).plan;
  for (std::size_t b = 0; b < earlier.buffers.size() && wants(Feature::near); ++b)
    it.options.near.push_back({earlier.memories[earlier.places[b].memory].memory.name, earlier.buffers[b].id,
                               earlier.places[b].offset});
  if (wants(Feature::capacity)) it.options.memories[0].capacity = earlier.memories[0].peak + 64;
  if (!wants(Feature::banks)) return;
  constexpr std::int64_t count = 4;
  Memory& memory = it.options.memories[0];
  it.options.banks =
      Banks{.count = count, .size = memory.capacity.value_or(earlier.summary.peak + 256) / count};
  memory.capacity = count * it.options.banks->size;
}

/// Packages that are built and run together.
struct Generated {
  testing::TemporaryDirectory folder{};
  testing::Packages packages{folder.path()};
};

std::string generate(const Features& wanted, const Case& it, Generated& all) {
  const std::string name = "m" + std::to_string(all.packages.count());
  std::string refused;  // what was planned first
  const auto note = [&](std::string_view why, std::string_view) {
    if (refused.empty()) refused = why;
  };
  const PlannedPackage made = plan_package(it.networks, it.options, {.name = name}, note);
  if (made.package.files.empty()) return made.no_rows.empty() ? "the plan has faults" : made.no_rows;
  for (const Feature feature : wanted) {
    if (const std::string lack = lack_of(feature, it, made.planned); !lack.empty())
      return refused.empty() ? lack : refused;
  }
  for (const Network& network : it.networks)
    all.packages.add(it.networks.size() == 1 ? name : name + "_" + network.input.info.name, made.package);
  return "";
}

/// Empty if all of it works together.
std::string obstacle_to(const Features& wanted, Generated& generated) {
  try {
    Case it = case_of(wanted);
    complete(wanted, it);
    if (wanted.contains(Feature::generate)) return generate(wanted, it, generated);
    const PlanResult result = make_plan(inputs_of(it.networks), it.options);
    for (const Fault& fault : result.faults) return "fault: " + fault.what;
    for (const Feature feature : wanted) {
      if (const std::string lack = lack_of(feature, it, result); !lack.empty()) return lack;
    }
    std::vector<Graph> graphs;
    for (const Network& network : it.networks) graphs.push_back(network.graph());
    std::ostringstream out;
    if (wanted.contains(Feature::report)) write_report({{{.plan = result.plan, .graphs = graphs}}}, {}, out);
    if (wanted.contains(Feature::header)) write_header(result.plan, graphs, {.prefix = "plan"}, out);
    const RunResult run = run_plan(it.networks, result.plan, {.check = RunCheck::tensors});
    return run.fault ? "run: " + run.fault->what : "";
  } catch (const std::exception& error) {  // Error, UsageError, NotApplicable
    return error.what();
  }
}

/// Larger sets that people ask for, and some that are easily forgotten.
const std::vector<Features>& larger_sets() {
  using enum Feature;
  static const std::vector<Features> all{
      {rows, sequence, memories},  {rows, sequence, weights},      {rows, sequence, state},
      {rows, sequence, feeding},   {rows, sequence, recompute},    {rows, sequence, subset},
      {rows, sequence, same_time}, {rows, same_time, feeding},     {rows, same_time, memories},
      {rows, same_time, weights},  {rows, same_time, state},       {rows, same_time, header},
      {rows, same_time, report},   {rows, same_time, external},    {rows, same_time, capacity},
      {rows, feeding, memories},   {rows, feeding, weights},       {rows, feeding, state},
      {rows, joining, memories},   {rows, joining, generate},      {rows, joining, same_time},
      {rows, feeding, recompute},  {rows, feeding, subset},        {rows, feeding, header},
      {rows, feeding, external},   {rows, feeding, generate},      {rows, memories, weights},
      {rows, memories, state},     {rows, memories, recompute},    {rows, memories, external},
      {rows, state, generate},     {rows, state, header},          {rows, state, recompute},
      {rows, weights, generate},   {rows, blocks, memories},       {rows, blocks, weights},
      {rows, blocks, recompute},   {rows, sequence, generate},     {sequence, feeding, moves},
      {sequence, state, moves},    {same_time, feeding, memories}, {same_time, state, weights},
      {bodies, state, memories},   {bodies, sequence, feeding},    {open_sizes, sequence, memories},
      {bodies, open_sizes, state}, {rows, shared_state, generate}, {rows, shared_state, weights},
      {rows, moves, generate},     {rows, state, moves, generate}, {rows, weights, moves, generate},
      {rows, recompute, generate}, {rows, paused, generate},       {rows, paused, state, generate},
      {rows, paused, memories},    {rows, paused, blocks},         {rows, paused, state}};
  return all;
}

/// Numbers the reasons why something does not work.
class Notes {
 public:
  /// "+", or the number of what is said.
  std::string cell(const std::string& obstacle) {
    if (obstacle.empty()) return "+";
    const auto [it, is_new] = numbers_.emplace(obstacle, texts_.size() + 1);
    if (is_new) texts_.push_back(obstacle);
    return std::to_string(it->second);
  }

  /// A numbered list.
  [[nodiscard]] std::string list() const {
    std::string text;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::string line = std::to_string(i + 1) + ".";
      std::istringstream words(texts_[i]);
      for (std::string word; words >> word;) {
        if (line.size() + word.size() + 1 > columns) {
          text += line + "\n";
          line = "  ";
        }
        line += " " + word;
      }
      text += line + "\n";
    }
    return text;
  }

 private:
  static constexpr std::size_t columns = 106;
  std::map<std::string, std::size_t> numbers_{};
  std::vector<std::string> texts_{};
};

std::string tables(Generated& generated) {
  Notes notes;
  std::string text = "| no | feature | what was asked for |\n|---|---|---|\n";
  for (std::size_t a = 0; a < std::size(all_features); ++a) {
    std::string how;
    for (const char* c = all_features[a].how; *c != 0; ++c) how += *c == '|' ? "\\|" : std::string(1, *c);
    text += "| " + std::to_string(a + 1) + " | " + all_features[a].name + " | `" + how + "` |\n";
  }
  text += "\n## Two at once\n\n| |";
  for (std::size_t b = 1; b < std::size(all_features); ++b) text += std::to_string(b + 1) + "|";
  text += "\n|";
  for (std::size_t c = 0; c < std::size(all_features); ++c) text += "---|";
  text += "\n";
  for (std::size_t a = 0; a + 1 < std::size(all_features); ++a) {
    text += "|" + std::to_string(a + 1) + " " + all_features[a].name + "|";
    for (std::size_t b = 1; b < std::size(all_features); ++b)
      text +=
          (b <= a ? std::string()
                  : notes.cell(obstacle_to({all_features[a].feature, all_features[b].feature}, generated))) +
          "|";
    text += "\n";
  }
  text += "\n## Three or four at once\n\n| features | together |\n|---|---|\n";
  for (const Features& set : larger_sets()) {
    std::string names;
    for (const Feature feature : set) names += (names.empty() ? "" : ", ") + std::string(name_of(feature));
    text += "| " + names + " | " + notes.cell(obstacle_to(set, generated)) + " |\n";
  }
  return text + "\n## What is said\n\n" + notes.list();
}

TEST(Combinations, ThePageIsWhatTheProductDoes) {
  if (!testing::has_time()) GTEST_SKIP() << "it takes minutes: STOWAGE_LONG=1";
  const std::string file = std::string(STOWAGE_DOCS) + "/combinations.md";
  std::ifstream in(file);
  const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t begin = page.find("| no | feature |");
  ASSERT_NE(begin, std::string::npos) << file;
  Generated generated;
  const std::string expected = page.substr(0, begin) + tables(generated);
  const bool writes = std::getenv("STOWAGE_WRITE_TABLES") != nullptr;
  if (writes) std::ofstream(file) << expected;
  for (const std::string& fault : generated.packages.run()) ADD_FAILURE() << fault;
  if (writes) GTEST_SKIP() << file << " is written";
  EXPECT_TRUE(page == expected) << file
                                << " is old: run this test with STOWAGE_LONG=1 STOWAGE_WRITE_TABLES=1";
}

}  // namespace
}  // namespace stowage
