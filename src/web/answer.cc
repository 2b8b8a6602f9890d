// What the page that plans does with a file: what `stowage plan` does, without files and without threads.

#include "web/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "cli/options.h"
#include "cli/shortage.h"
#include "cli/typed.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/report.h"
#include "stowage/version.h"

namespace stowage::web {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  constexpr std::string_view blanks = " \t\r\n";
  for (std::size_t begin = text.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(blanks, end);
  }
  return words;
}

cli::PlanTexts plan_texts(const Question& question) {
  cli::PlanTexts texts;
  texts.capacity = question.capacity;
  texts.time_limit = question.seconds;
  texts.threads = "1";
  if (question.by_rows) texts.stream = "all";
  return texts;
}

ImportOptions import_options(const Question& question) {
  cli::ModelTexts texts;
  texts.dims = words_of(question.sizes);
  texts.values = words_of(question.values);
  texts.states = words_of(question.states);
  return cli::parse_model_options(texts);
}

/// The command that makes the same plan.
std::string command_of(const Question& question) {
  std::string command = "stowage plan " + base::shell_word(question.name);
  if (!question.capacity.empty()) command += " --capacity " + base::shell_word(question.capacity);
  if (!question.seconds.empty()) command += " --time-limit " + base::shell_word(question.seconds);
  const auto add_all = [&](std::string_view flag, const std::string& words) {
    for (const std::string& it : words_of(words))
      command += fmt::format(" {} {}", flag, base::shell_word(it));
  };
  add_all("--dim", question.sizes);
  add_all("--value", question.values);
  add_all("--state", question.states);
  return question.by_rows ? command + " --stream" : command;
}

Input read(const Question& question, const ImportOptions& options) {
  Input input = parse_input(question.bytes, question.name, options);
  const ModelFormat format = input.info.format;
  if (!question.by_rows || (format != ModelFormat::onnx && format != ModelFormat::tflite)) return input;
  return parse_network(question.bytes, question.name, options).input;
}

std::string report_of(const Question& question, const Input& input, const PlanResult& result,
                      const SolveOptions& options) {
  const Plan& plan = result.plan;
  ReportedPlan reported{.plan = plan, .hashes = {model_details(question.bytes).hash}};
  if (result.outcome != Outcome::fits)
    reported.tried = spill_remedies(plan, plan.memories[0].memory.capacity.value_or(largest_value), options);
  if (const auto* const graph = std::get_if<Graph>(&input.content)) reported.graphs = {*graph};
  std::ostringstream page;
  write_report(std::array{reported}, {.command = command_of(question), .version = std::string(version)},
               page);
  return std::move(page).str();
}

std::string notes_of(const Input& input, const PlanResult& result) {
  std::string notes;
  if (!input.note.empty()) notes += fmt::format("{}: {}\n", base::quoted(input.info.source), input.note);
  for (const std::string& line : cli::shortage_of(result)) notes += line + "\n";
  return notes;
}

Answer planned(const Question& question, const Progress& progress) {
  PlanOptions options = cli::parse_plan_options(plan_texts(question));
  options.solve.progress = progress;
  const std::array inputs{read(question, import_options(question))};
  const PlanResult result = make_plan(inputs, options);
  if (!result.faults.empty())
    return {.error = "the checker rejects this plan; that is a bug in stowage: " + result.faults[0].what};
  std::ostringstream plan;
  write_json(result.plan, plan);
  return {.notes = notes_of(inputs[0], result),
          .report = report_of(question, inputs[0], result, options.solve),
          .plan = std::move(plan).str(),
          .peak = result.plan.summary.peak,
          .lower_bound = result.plan.summary.lower_bound};
}

}  // namespace

Answer answer(const Question& question, const Progress& progress) {
  try {
    return planned(question, progress);
  } catch (const std::bad_alloc&) {
    return {.error = "the input needs more memory than this page has"};
  } catch (const std::runtime_error& error) {
    return {.error = error.what()};
  }
}

}  // namespace stowage::web
