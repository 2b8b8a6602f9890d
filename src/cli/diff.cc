#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/percent.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "stowage/difference.h"
#include "stowage/error.h"
#include "stowage/report.h"
#include "stowage/version.h"

namespace stowage::cli {
namespace {

/// A percentage as a share: "1%" or "1.5%".
double parse_growth(std::string_view text) {
  double percent = 0;
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : "";
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (error != std::errc() || end != number.data() + number.size() || !(percent >= 0))
    throw UsageError(
        fmt::format("--max-growth {}: expected a percentage, for instance 1%", base::quoted(text)));
  return percent / 100;
}

/// The plan in the file, or one of the model in it.
PlanResult plan_of(const DiffCommand& command, const std::string& file, const PlanOptions& options) {
  if (is_plan(file)) {
    PlanResult result{.plan = read_plan(file)};
    result.faults = check_plan(result.plan);
    // A plan that needs more than its memory has can be compared all the same.
    std::erase_if(result.faults, [](const Fault& fault) { return fault.kind == FaultKind::capacity; });
    return result;
  }
  const std::vector<Input> inputs = read_models({file}, command.model, wanted_for(options));
  print_notes(inputs);
  return make_plan(inputs, options);
}

/// "The peak grew by 64 bytes (33.33 %), over --max-growth 1%."
std::string verdict_of(const PlanDifference& difference, std::optional<double> most,
                       const std::string& max_growth) {
  const ChangedNumber& peak = difference.numbers.at(0);
  const std::int64_t before = peak.before.value_or(0), after = peak.after.value_or(0);
  std::string text = fmt::format("The peak is the same, {} bytes", after);
  if (before != after) {
    const std::int64_t change = std::abs(after - before);
    text = fmt::format("The peak {} by {} bytes", after > before ? "grew" : "shrank", change);
    if (before > 0)
      text +=
          fmt::format(" ({} %)", base::in_percent(static_cast<double>(change) / static_cast<double>(before)));
  }
  if (most)
    text += fmt::format(", {} --max-growth {}", difference.growth() > *most ? "over" : "within", max_growth);
  return text + ".";
}

/// A name in Markdown, as code: it may have any letters but backquotes.
std::string code(const std::string& name) {
  std::string text = base::visible(name);
  std::ranges::replace(text, '`', '\'');
  return "`" + text + "`";
}

/// The page, if one is wanted.
void write_page(const DiffCommand& command, const std::vector<Plan>& plans) {
  if (command.output.empty()) return;
  const std::vector<ReportedPlan> both{{.plan = plans[0], .title = command.before},
                                       {.plan = plans[1], .title = command.after}};
  const std::array<base::OutputFile, 1> files{{{command.output, [&](std::ostream& out) {
                                                  write_report(both, {.version = std::string(version)}, out);
                                                }}}};
  base::write_files(files);
}

}  // namespace

ExitStatus run_diff(const DiffCommand& command) {
  if (command.json && command.markdown) throw UsageError("--json and --markdown cannot be combined");
  expect_different_files({command.before, command.after}, {{"-o", command.output}});
  std::optional<double> most;
  if (!command.max_growth.empty()) most = parse_growth(command.max_growth);
  const InterruptWatch watch;
  PlanOptions options = parse_plan_options(command.plan);
  options.solve.stop = watch.stop();
  std::vector<Plan> plans;
  for (const std::string& file : {command.before, command.after}) {
    const bool is_given = is_plan(file);
    options.solve.progress = progress_line(options.solve);
    PlanResult result = plan_of(command, file, options);
    clear_progress_line();
    if (!result.faults.empty() && !is_given) return report_own_fault(result);
    if (!result.faults.empty()) {
      base::print(std::cout, "{} has faults:\n", file);
      print_faults(result.faults);
      return ExitStatus::not_met;
    }
    plans.push_back(std::move(result.plan));
  }
  write_page(command, plans);
  const PlanDifference difference = difference_of(plans[0], plans[1]);
  const DifferenceForm form = command.json       ? DifferenceForm::json
                              : command.markdown ? DifferenceForm::markdown
                                                 : DifferenceForm::text;
  std::ostream& out = command.output == "-" ? std::cerr : std::cout;
  if (command.markdown)
    base::print(out, "Memory of {}, then {}\n\n**{}**\n\n", code(command.before), code(command.after),
                verdict_of(difference, most, command.max_growth));
  write_difference(difference, form, out);
  flush_output();
  if (!most || difference.growth() <= *most) return ExitStatus::done;
  base::print(std::cerr, "stowage: the peak grows by {} %, more than {}\n",
              base::in_percent(difference.growth()), command.max_growth);
  return ExitStatus::not_met;
}

}  // namespace stowage::cli
