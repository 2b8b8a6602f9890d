// Plans that somebody has made, at the sizes that options give within their ranges.

#include "cli/given_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "base/file.h"
#include "cli/open_rows.h"
#include "cli/size_search.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/size_differences.h"

namespace stowage::cli {
namespace {

/// The range of the functions, and the value of each of their sizes; nothing unless all are given as numbers.
void take_values(const OffsetFunctions& functions, WantedSizes& sizes) {
  const ImportOptions given = parse_model_options(sizes.texts);
  ModelTexts range = sizes.texts;
  std::vector<std::int64_t> values;
  for (const SizeSymbol& symbol : functions.symbols) {
    const auto size = given.dims.find(symbol.name);
    if (size == given.dims.end() || is_range(size->second)) return;
    values.push_back(size->second.most);
    std::erase_if(range.dims,
                  [&](const std::string& it) { return it.substr(0, it.rfind('=')) == symbol.name; });
    range.dims.push_back(fmt::format("{}={}..{}:{}", symbol.name, symbol.least, symbol.most, symbol.step));
  }
  sizes.range = std::move(range);
  sizes.values = std::move(values);
}

Plan plan_of_range(const GivenPlan& given, const WantedSizes& sizes, const Graph& graph) {
  return sizes.values.empty() ? plan_at(given.plan, graph)
                              : plan_at(given.plan, *given.functions, sizes.values, graph);
}

/// The sizes that are smaller than the largest of the plan, in words, and options to read the model for these and the
/// largest alone: "n=777", and --dim n=777..2000:1223. None: all sizes are the largest.
struct SmallerSizes {
  ModelTexts two{};
  std::string words{};
};

std::optional<SmallerSizes> smaller_sizes(const WantedSizes& sizes) {
  SmallerSizes smaller{.two = sizes.texts};
  for (const std::string& text : sizes.range->dims) {
    const auto [name, value] = parse_assignment("--dim", text);
    const auto is_same = [&name = name](const std::string& it) {
      return parse_assignment("--dim", it).first == name;
    };
    const auto given = std::ranges::find_if(smaller.two.dims, is_same);
    if (given == smaller.two.dims.end() || *given == text) continue;
    ModelTexts alone;
    alone.dims = {text};
    const std::int64_t most = parse_model_options(alone).dims.begin()->second.most;
    alone.dims = {*given};
    const std::int64_t size = parse_model_options(alone).dims.begin()->second.most;
    if (size == most) continue;
    smaller.words += (smaller.words.empty() ? "" : " ") + *given;
    *given = fmt::format("{}={}..{}:{}", name, size, most, most - size);
  }
  return smaller.words.empty() ? std::nullopt : std::optional(std::move(smaller));
}

/// What the plan has otherwise than its models: for the ranges, and at these sizes.
Faults faults_at(const Plan& plan, const WantedSizes& sizes, std::span<const Input> range,
                 const std::function<Graph(const ModelTexts&)>& read_two) {
  Faults faults = check_plan(plan, range);
  if (!faults.empty() || range.size() != 1) return faults;
  const std::optional<SmallerSizes> smaller = smaller_sizes(sizes);
  if (!smaller) return faults;
  try {
    return size_differences(std::get<Graph>(range[0].content), read_two(smaller->two), smaller->words);
  } catch (const Error& error) {
    faults.push_back(
        {FaultKind::accounting, fmt::format("at {} and the largest size the model is not as in the plan: {}",
                                            smaller->words, error.what())});
    return faults;
  }
}

/// Shapes that depend on data follow from the sizes of the run, not from the largest ones.
void take_shape_rules(const Network& exact, Network& range) {
  for (std::size_t s = 0; s < range.details.size(); ++s) {
    for (std::size_t op = 0; op < range.details[s].size(); ++op)
      range.details[s][op].shapes_of_data = exact.details.at(s).at(op).shapes_of_data;
  }
}

}  // namespace

GivenPlan parse_given_plan(std::string_view text) {
  return {.plan = parse_plan(text), .functions = parse_offset_functions(text), .rows = parse_open_rows(text)};
}

GivenPlan read_given_plan(const std::string& file) {
  const base::InputFile text(file);
  return {.plan = read_plan(file),
          .functions = parse_offset_functions(text.bytes()),
          .rows = parse_open_rows(text.bytes())};
}

Faults faults_of_functions(const GivenPlan& given) {
  return given.functions ? check_offset_functions(given.plan, *given.functions) : Faults();
}

WantedSizes wanted_sizes(const GivenPlan& given, const std::vector<NamedFile>& models, const ReadModel& read,
                         const ModelTexts& texts) {
  if (given.rows) {
    const SizeOfRows own = size_of_rows(texts, *given.rows);
    const std::int64_t size = own.size.value_or(given.rows->at);
    const PlannedSizes others = sizes_in(given.plan, models, read, own.others);
    const Faults faults = check_plan(given.plan);
    if (!faults.empty()) throw Error("", "the plan is wrong by itself: " + faults[0].what);
    return {.texts = with_size(others.texts, *given.rows, size), .rows = size};
  }
  PlannedSizes planned = sizes_in(given.plan, models, read, texts);
  WantedSizes sizes{.texts = std::move(planned.texts)};
  if (planned.is_within) sizes.range = std::move(planned.range);
  if (given.functions) take_values(*given.functions, sizes);
  if (sizes.values.empty()) return sizes;
  const Faults faults = faults_of_functions(given);
  if (!faults.empty()) throw Error("", "the plan has wrong functions of offsets: " + faults[0].what);
  return sizes;
}

WantedSizes wanted_sizes(const GivenPlan& given, const std::vector<std::string>& models,
                         const ModelTexts& texts) {
  const std::vector<NamedFile> files = parse_models(models);
  const auto read = [&](std::size_t m, const ImportOptions& options) {
    (void)read_input(files[m].file, options);
  };
  return wanted_sizes(given, files, read, texts);
}

PlanAtSizes plan_at_sizes(const GivenPlan& given, const WantedSizes& sizes, std::vector<Input>& models,
                          const ReadInputs& read) {
  if (sizes.rows && *sizes.rows != given.rows->at)
    return {plan_at(given.plan, *given.rows, *sizes.rows, std::get<Graph>(models[0].content))};
  if (!sizes.range) return {given.plan};
  std::vector<Input> range = read(*sizes.range);
  const auto graph_of_two = [&](const ModelTexts& texts) {
    return std::get<Graph>(std::move(read(texts)[0].content));
  };
  Faults faults = faults_at(given.plan, sizes, range, graph_of_two);
  if (!faults.empty()) return {given.plan, std::move(faults)};
  Graph graph = graph_at(std::get<Graph>(std::move(range[0].content)), std::get<Graph>(models[0].content));
  PlanAtSizes there{plan_of_range(given, sizes, graph)};
  models[0].content = std::move(graph);
  return there;
}

PlanAtSizes plan_at_sizes(const GivenPlan& given, const WantedSizes& sizes, std::vector<Network>& models,
                          const ReadNetworks& read) {
  if (sizes.rows && *sizes.rows != given.rows->at)
    return {plan_at(given.plan, *given.rows, *sizes.rows, models[0].graph())};
  if (!sizes.range) return {given.plan};
  std::vector<Network> range = read(*sizes.range);
  const auto graph_of_two = [&](const ModelTexts& texts) {
    return std::get<Graph>(std::move(read(texts)[0].input.content));
  };
  Faults faults = faults_at(given.plan, sizes, inputs_of(range), graph_of_two);
  if (!faults.empty()) return {given.plan, std::move(faults)};
  range[0].input.content = graph_at(range[0].graph(), models[0].graph());
  take_shape_rules(models[0], range[0]);
  std::swap(models, range);
  return {plan_of_range(given, sizes, models[0].graph()), {}, std::move(range)};
}

}  // namespace stowage::cli
