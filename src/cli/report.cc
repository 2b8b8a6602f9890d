#include "stowage/report.h"

#include <fmt/format.h>

#include <array>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/given_plan.h"
#include "cli/output_files.h"
#include "cli/plan_sizes.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/version.h"

namespace stowage::cli {
namespace {

std::vector<Graph> graphs_of(const std::vector<Input>& inputs) {
  std::vector<Graph> graphs;
  for (const Input& input : inputs) {
    if (const auto* const graph = std::get_if<Graph>(&input.content)) graphs.push_back(*graph);
  }
  return graphs;
}

void expect_report(const ReportCommand& command) {
  std::vector<std::string> inputs = command.plans;
  inputs.insert(inputs.end(), command.models.begin(), command.models.end());
  expect_different_files(inputs, {{"-o", command.output}});
  if (command.models.empty() && command.model.is_any_given()) throw needs_model();
}

/// Checks the plan with its models, if there are any, and keeps their operators for the page. The plan becomes the one
/// for the sizes that --dim gives within its ranges.
Faults check_reported(GivenPlan& given, ReportedPlan& reported, const std::vector<std::string>& models,
                      const ModelTexts& texts) {
  reported.plan = given.plan;
  if (models.empty()) return check_plan(reported.plan);
  const auto read = [&](const ModelTexts& wanted) {
    return read_models(models, wanted, wanted_to_check(given.plan));
  };
  const WantedSizes sizes = wanted_sizes(given, models, texts);
  std::vector<Input> inputs = read(sizes.texts);
  PlanAtSizes there = plan_at_sizes(given, sizes, inputs, ReadInputs(read));
  reported.plan = std::move(there.plan);
  if (!there.faults.empty()) return std::move(there.faults);
  expect_states(reported.plan, parse_models(models), texts);
  Faults faults = check_plan(reported.plan, inputs);
  reported.graphs = graphs_of(inputs);
  return faults;
}

/// The models of each plan: those given are of all plans one after the other, or the same for each.
std::vector<std::vector<std::string>> models_by_plan(const ReportCommand& command,
                                                     const std::vector<ReportedPlan>& plans) {
  const std::vector<std::string>& given = command.models;
  std::size_t count = 0;
  for (const ReportedPlan& it : plans) count += it.plan.models.size();
  if (given.size() != count) return std::vector(plans.size(), given);
  std::vector<std::vector<std::string>> models;
  auto next = given.begin();
  for (const ReportedPlan& it : plans) {
    const auto end = next + static_cast<std::ptrdiff_t>(it.plan.models.size());
    models.emplace_back(next, end);
    next = end;
  }
  return models;
}

}  // namespace

void expect_what_if(const PlanCommand& command, const std::vector<Input>& inputs) {
  if (!command.what_if) return;
  if (files_of(command.files(), Holds::page).empty())
    throw UsageError("--what-if needs a page: -o FILE.html");
  if (graphs_of(inputs).empty()) throw UsageError("--what-if needs a model: nothing else is known of a list");
}

void expect_budget(const PlanCommand& command) {
  if (command.budget.empty()) return;
  if (!base::parse_size(command.budget))
    throw UsageError(
        fmt::format("--budget {}: expected a size, for instance 256KiB", base::quoted(command.budget)));
  if (command.json || command.print_loops) throw UsageError("--budget excludes --json and --print-loops");
}

ExitStatus print_budget(const PlanCommand& command, const Plan& plan, std::ostream& out, Bytes needed) {
  const Bytes budget = base::parse_size(command.budget).value_or(0);
  std::string names;
  for (const ModelInfo& model : plan.models) names += (names.empty() ? "" : "+") + model.name;
  std::string remarks = is_cut_short(plan) ? ", cut short" : "";
  for (const LeftOut& it : plan.left_out) remarks += fmt::format(", without {}", name_of(it.what));
  base::print(out, "{}: {} needs {} bytes of {}, {} bytes {}{}\n",
              needed > budget ? "over budget" : "within budget", names, needed, budget,
              needed > budget ? needed - budget : budget - needed, needed > budget ? "too many" : "left",
              remarks);
  return needed > budget ? ExitStatus::not_met : ExitStatus::done;
}

std::vector<base::OutputFile> report_of(const PlanCommand& command, const std::vector<Input>& inputs,
                                        const Plan& plan, const WhatIf& others) {
  const std::vector<std::string> files = files_of(command.files(), Holds::page);
  if (files.empty()) return {};
  ReportedPlan reported{
      .plan = plan, .graphs = graphs_of(inputs), .tried = others.tried, .curves = others.curves};
  if (command.model.joins.empty()) reported.hashes = hashes_of(command.inputs);
  std::vector<base::OutputFile> pages;
  for (const std::string& file : files)
    pages.push_back({file, [reported, typed = command.typed](std::ostream& out) {
                       write_report(std::array{reported}, {.command = typed, .version = std::string(version)},
                                    out);
                     }});
  return pages;
}

ExitStatus run_report(const ReportCommand& command) {
  expect_report(command);
  std::vector<GivenPlan> given;
  std::vector<ReportedPlan> plans;
  for (const std::string& file : command.plans) {
    given.push_back(read_given_plan(file));
    plans.push_back({.plan = given.back().plan});
  }
  const std::vector<std::vector<std::string>> models = models_by_plan(command, plans);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    if (plans.size() > 1) plans[p].title = command.plans[p];
    const Faults faults = check_reported(given[p], plans[p], models[p], command.model);
    if (!faults.empty()) {
      print_faults(faults);
      return ExitStatus::not_met;
    }
  }
  const std::array<base::OutputFile, 1> outputs{
      {{command.output,
        [&](std::ostream& out) { write_report(plans, {.version = std::string(version)}, out); }}}};
  base::write_files(outputs);
  return ExitStatus::done;
}

}  // namespace stowage::cli
