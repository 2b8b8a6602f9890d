#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/print.h"
#include "base/text.h"
#include "cli/buckets.h"
#include "cli/commands.h"
#include "cli/given_plan.h"
#include "cli/models.h"
#include "cli/open_rows.h"
#include "cli/plan_sizes.h"
#include "cli/terminal.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage::cli {

namespace {

/// What --json says of plans of all kinds.
nlohmann::json verdict_of(const Faults& faults, const VerifyCommand& command) {
  std::vector<std::string> words;
  for (const Fault& fault : faults) words.push_back(base::as_utf8(fault.what));
  return {{"valid", faults.empty()}, {"checked_with_model", !command.models.empty()}, {"faults", words}};
}

/// The plan becomes the one for the sizes that --dim gives within its ranges. One with open rows is checked at all, or at
/// a spread of them, unless --dim gives one.
Faults check_with_models(const VerifyCommand& command, GivenPlan& given,
                         std::optional<OpenRowsReport>& report) {
  const WantedSizes sizes = wanted_sizes(given, command.models, command.model);
  if (given.rows && !size_of_rows(command.model, *given.rows).size) {
    const auto read_at = [&](std::int64_t size) {
      return std::move(
          read_models(command.models, with_size(sizes.texts, *given.rows, size), Wanted::rows)[0]);
    };
    return check_open_rows(given.plan, *given.rows, read_at, report.emplace());
  }
  const auto read = [&](const ModelTexts& texts) {
    return read_models(command.models, texts, wanted_to_check(given.plan));
  };
  std::vector<Input> inputs = read(sizes.texts);
  if (command.model.every_size) print_notes(inputs);
  PlanAtSizes there = plan_at_sizes(given, sizes, inputs, ReadInputs(read));
  given.plan = std::move(there.plan);
  if (!there.faults.empty()) return std::move(there.faults);
  Faults faults = check_plan(given.plan, inputs);
  if (faults.empty()) expect_states(given.plan, parse_models(command.models), command.model);
  if (!faults.empty()) note_other_models(given.plan, inputs);
  return faults;
}

/// What else than the sizes of the buckets the models need, also from the plans.
ModelTexts texts_of_buckets(const Buckets& buckets, const VerifyCommand& command) {
  ModelTexts texts = command.model;
  if (buckets.all.empty()) return texts;
  const Bucket& first = buckets.all.front();
  std::vector<std::string> own;
  for (const auto& [name, size] : first.sizes) own.push_back(fmt::format("{}={}", name, size));
  texts.dims.insert(texts.dims.end(), own.begin(), own.end());
  texts = sizes_in(first.plan, command.models, texts).texts;
  for (const std::string& it : own) std::erase(texts.dims, it);
  return texts;
}

/// The models are read at the sizes that the file names.
ExitStatus verify_buckets(const Buckets& buckets, const VerifyCommand& command) {
  Faults faults;
  if (command.models.empty()) {
    faults = check_buckets(buckets);
  } else {
    const Wanted wanted = buckets.all.empty() ? Wanted::graph : wanted_to_check(buckets.all.front().plan);
    faults = check_buckets(buckets, reader_of(command.models, texts_of_buckets(buckets, command), wanted));
    for (const Bucket& it : buckets.all)
      if (faults.empty()) expect_states(it.plan, parse_models(command.models), command.model);
  }
  Bytes peak = 0;
  for (const Bucket& it : buckets.all) peak = std::max(peak, it.plan.summary.peak);
  if (command.json) {
    nlohmann::json document = verdict_of(faults, command);
    document["buckets"] = buckets.all.size();
    document["peak"] = peak;
    std::cout << document.dump(1) << '\n';
  } else {
    print_faults(faults);
    if (faults.empty())
      base::print(summary_stream(), "valid: {} buckets, {} shared places, peak {} bytes{}\n",
                  buckets.all.size(), buckets.shared.size(), peak,
                  command.models.empty() ? " (checked without the model)" : "");
  }
  flush_output();
  return faults.empty() ? ExitStatus::done : ExitStatus::not_met;
}

}  // namespace

ExitStatus run_verify(const VerifyCommand& command) {
  if (command.models.empty() && command.model.is_any_given()) {
    throw needs_model();
  }
  if (const std::optional<Buckets> buckets = read_buckets(command.plan_file))
    return verify_buckets(*buckets, command);
  GivenPlan given = read_given_plan(command.plan_file);
  const Plan& plan = given.plan;
  Faults faults = faults_of_functions(given);
  std::optional<OpenRowsReport> rows;
  if (!faults.empty()) {
    // Nothing else is checked: functions that are wrong have no sizes.
  } else if (command.models.empty()) {
    faults = check_plan(plan);
  } else {
    faults = check_with_models(command, given, rows);
  }
  if (command.json) {
    nlohmann::json document = verdict_of(faults, command);
    document["buffers"] = plan.buffers.size();
    document["tensors"] = plan.tensors.size();
    document["peak"] = plan.summary.peak;
    std::cout << document.dump(1) << '\n';
    flush_output();
    return faults.empty() ? ExitStatus::done : ExitStatus::not_met;
  }
  print_faults(faults);
  if (faults.empty()) {
    base::print(summary_stream(), "valid: {} buffers, {} tensors, peak {} bytes{}{}\n", plan.buffers.size(),
                plan.tensors.size(), plan.summary.peak,
                command.models.empty() ? " (checked without the model)" : "",
                rows ? fmt::format(", at {}{} sizes{}", rows->is_every_size ? "all " : "", rows->checked,
                                   rows->is_every_size ? "" : fmt::format(" up to {}", rows->largest))
                     : "");
  }
  flush_output();
  return faults.empty() ? ExitStatus::done : ExitStatus::not_met;
}

ExitStatus run_strategies(bool as_json) {
  const std::vector<StrategyInfo> all = strategies();
  if (as_json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const StrategyInfo& it : all)
      rows.push_back(
          {{"name", it.name}, {"summary", it.summary}, {"source", it.source}, {"in_auto", it.is_in_auto}});
    std::cout << rows.dump(1) << '\n';
    flush_output();
    return ExitStatus::done;
  }
  const auto print = [&](bool is_in_auto) {
    for (const StrategyInfo& strategy : all) {
      if (strategy.is_in_auto == is_in_auto)
        base::print(std::cout, "{:<20}{} ({})\n", strategy.name, strategy.summary, strategy.source);
    }
  };
  print(true);
  base::print(std::cout, "\nby name alone, not by auto:\n");
  print(false);
  flush_output();
  return ExitStatus::done;
}

}  // namespace stowage::cli
