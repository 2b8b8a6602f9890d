#include "open_judge.h"

#include <algorithm>
#include <optional>
#include <set>

#include "layers.h"
#include "ledger.h"
#include "open_draft.h"
#include "open_mutate.h"
#include "open_run.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/offset_functions.h"

namespace stowage::campaign {
namespace {

GivenSize given(const OpenSymbol& symbol, Random& random) {
  if (symbol.is_range) return {symbol.least, symbol.most};
  return random.chance(80) ? GivenSize(symbol.most) : GivenSize(symbol.most, symbol.most);
}

/// The options that say what the file leaves open.
void give_sizes(const OpenNet& net, ImportOptions& imports, Random& random) {
  for (const OpenInput& input : net.main.inputs) {
    GivenShape shape;
    bool is_needed = false;
    for (const OpenDim& dim : input.dims) {
      shape.push_back(dim.symbol.empty() ? GivenSize(dim.size) : given(net.symbols.at(dim.symbol), random));
      if (dim.is_named) imports.dims.emplace(dim.symbol, shape.back());
      if (dim.is_named) shape.back() = imports.dims.at(dim.symbol);
      is_needed = is_needed || (!dim.symbol.empty() && !dim.is_named);
    }
    if (is_needed) imports.shapes.emplace(input.name, shape);
  }
}

void draw_open(Case& drawn, OpenFormat format) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  auto network = std::make_shared<OpenDrawn>(OpenDraft(random, format).draw());
  const bool is_onnx = format == OpenFormat::onnx;
  drawn.sources = {{.name = is_onnx ? "open.onnx" : "open.tflite",
                    .content = is_onnx ? onnx_of(network->net) : tflite_of(network->net)}};
  give_sizes(network->net, drawn.imports, random);
  drawn.network = std::move(network);
  draw_common_options(drawn, random);
  PlanOptions& options = drawn.options;
  if (options.alias == Alias::none && random.chance(60)) options.alias = Alias::all;
  if (random.chance(12)) {
    options.memories = {{.name = "fast", .capacity = random.between(16, 400), .cost = 1},
                        {.name = "slow", .cost = 10}};
    options.solve.strategy = "auto";
    if (random.chance(60)) options.moves = Moves::allowed;
  } else if (random.chance(8)) {
    options.stream = StreamOptions();
  }
}

/// The names behind the option in a message.
std::vector<std::string> asked_for(const std::string& message, const std::string& option) {
  std::vector<std::string> names;
  for (std::size_t begin = message.find(option + " "); begin != std::string::npos;
       begin = message.find(option + " ", begin + 1)) {
    const std::size_t name = begin + option.size() + 1;
    const std::size_t end = message.find_first_of("=, '\n", name);
    if (end != std::string::npos && message[end] == '=') names.push_back(message.substr(name, end - name));
  }
  return names;
}

/// Gives what the message asks for, as large as it ever is. False: it asks for nothing that is known.
bool answer(const std::string& message, const OpenDrawn& network, ImportOptions& imports,
            std::set<std::string>& useless) {
  // What was asked for with something else may follow from that.
  if (const std::size_t end = message.find("': has no effect"); end != std::string::npos) {
    const std::size_t begin = message.rfind('\'', end - 1) + 1;
    const std::string name = message.substr(begin, end - begin);
    return useless.insert(name).second && imports.shapes.erase(name) > 0;
  }
  bool is_answered = false;
  for (const std::string& name : asked_for(message, "--shape")) {
    if (imports.shapes.contains(name) || useless.contains(name)) continue;
    const auto found = network.worlds[0].largest.find(name);
    if (found == network.worlds[0].largest.end()) continue;
    Shape most = found->second;
    for (const World& world : network.worlds)
      if (const auto own = world.largest.find(name); own != world.largest.end())
        for (std::size_t a = 0; a < most.size(); ++a) most[a] = std::max(most[a], own->second[a]);
    imports.shapes[name] = GivenShape(most.begin(), most.end());
    is_answered = true;
  }
  return is_answered;
}

std::string words_for(const World& world) {
  std::string words = world.is_largest() ? "at the largest sizes" : "at";
  for (const auto& [symbol, extent] : world.extents)
    if (!world.is_largest()) words += " " + symbol + "=" + std::to_string(extent);
  return words + ": ";
}

struct Planned {
  Case drawn{};  ///< With all answers.
  Network network{};
  PlanResult result{};
};

/// None: refused, which is counted.
std::optional<Planned> plan_it(const Case& drawn, Tally& tally, Findings& findings) {
  Planned planned{.drawn = drawn};
  std::set<std::string> useless;
  for (int answers = 0;; ++answers) {
    const char* stage = "reading";
    try {
      planned.network = parse_network(drawn.sources[0].content, drawn.sources[0].name, planned.drawn.imports);
      // The player knows one offset of each view; tests/plan/moving_views_test.cc judges those that move.
      keep_in_place(std::get<Graph>(planned.network.input.content));
      stage = "planning";
      planned.result = make_plan(planned.network.input, drawn.options);
      tally.open.answers += answers;
      tally.open.useless += static_cast<std::int64_t>(useless.size());
      return planned;
    } catch (const std::exception& error) {
      const bool is_usage = dynamic_cast<const UsageError*>(&error) != nullptr;
      if (!is_usage && dynamic_cast<const Error*>(&error) == nullptr) {
        findings.push_back(
            {"exception while " + std::string(stage) + ": " + reason_of(error.what()), error.what()});
        return std::nullopt;
      }
      if (answers < 20 && answer(error.what(), *drawn.network, planned.drawn.imports, useless)) continue;
      ++tally.families[drawn.family].refused;
      const std::string reason =
          std::string(name_of(drawn.family)) + ", " + stage + ": " + reason_of(error.what());
      ++tally.refusals[reason];
      tally.remarks["refused: " + reason].push_back(drawn.number);
      return std::nullopt;
    }
  }
}

}  // namespace

void draw_sizes(Case& drawn) { draw_open(drawn, OpenFormat::onnx); }
void draw_lite(Case& drawn) { draw_open(drawn, OpenFormat::tflite); }

Findings judge_open(const Case& drawn, Tally& tally) {
  Findings findings;
  const auto planned = plan_it(drawn, tally, findings);
  if (!planned) return findings;
  const Plan& plan = planned->result.plan;
  Tally::OfFamily& family = tally.families[drawn.family];
  count_plan(planned->result, family);
  for (const Fault& fault : planned->result.faults)
    if (fault.kind != FaultKind::capacity || planned->result.outcome == Outcome::fits)
      findings.push_back({"own checker: " + reason_of(fault.what), fault.what});
  const Graph& graph = planned->network.graph();
  const Networks networks{.graphs = {graph}, .constants = {planned->network.input.constants}};
  for (Finding& finding : check_ledger(networks, planned->result, drawn.options))
    findings.push_back(std::move(finding));
  if (plan.streaming) {
    ++tally.open.streams;
    return findings;
  }
  bool is_run = false;
  for (const World& world : drawn.network->worlds) {
    try {
      for (Finding& finding : run_open(drawn.network->net, graph, plan, world, tally.open.run)) {
        finding.what = words_for(world) + finding.what + "\n  " + command_of(planned->drawn);
        findings.push_back(std::move(finding));
      }
      is_run = true;
    } catch (const Misfit& misfit) {
      ++tally.refusals[std::string("not run: ") + reason_of(misfit.what())];
    }
    if (!findings.empty()) return findings;
  }
  family.run += is_run ? 1 : 0;
  if (is_run) try_open_mutations(planned->drawn, graph, plan, tally);
  return findings;
}

}  // namespace stowage::campaign
