#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "stowage/dsa.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

/// Of what a summary takes the time to check.
constexpr std::int64_t steps_of_proof = 500'000;

void print_summary(const DsaProblem& it, const Solution& solution, double seconds, std::ostream& out) {
  const Problem& problem = it.problem;
  const Relations& relations = problem.relations;
  base::print(out, "problem      {} ({})\n", base::visible(it.instance), base::visible(it.profile));
  base::print(out, "buffers      {}; pairs together {}, apart {}, exclusive {}, with a cost {}\n",
              problem.buffers.size(), relations.together.size(), relations.apart.size(),
              relations.exclusive.size(), relations.reuse_costs.size());
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const Memory& memory = problem.memories[m];
    const std::string limit = memory.capacity ? fmt::format(" of {}", *memory.capacity) : "";
    base::print(out, "memory       {}: {}{} bytes\n", base::visible(memory.name),
                peak_of(problem, solution, m), limit);
  }
  const bool fits = solution.outcome == Outcome::fits;
  if (fits) {
    const bool is_least = solution.reuse_cost_bound == solution.reuse_cost;
    base::print(out, "reuse cost   {}, {}\n", solution.reuse_cost,
                is_least ? "proven least" : fmt::format("at least {}", solution.reuse_cost_bound));
    if (const auto shown = proven_cost(problem, solution.reuse_proof, steps_of_proof); shown && *shown > 0)
      base::print(out, "checked      a proof that it costs at least {}\n", *shown);
    if (it.objective != Objective::cost)
      base::print(out, "peaks        {}\n", solution.is_least_peak ? "proven least" : "not proven least");
  } else {
    base::print(out, "fits         no{}\n",
                solution.cannot_fit ? ", and it is proven that nothing does" : "");
  }
  if (const auto& overload = solution.overload)
    base::print(out, "too much     {} bytes are live at position {}, memory {} has room for {}\n",
                overload->needed, overload->position, base::quoted(problem.memories[overload->memory].name),
                overload->room);
  for (const std::string& term : it.not_minimised)
    base::print(out, "left out     the objective's {} is not minimised\n", base::quoted(term));
  base::print(out, "seconds      {:.3f}\n", seconds);
}

/// Percentages from one to another, both included.
std::pair<std::int64_t, std::int64_t> parse_curve(const std::string& text) {
  const auto dots = text.find("..");
  const auto percentage = [&](std::string_view part) -> std::optional<std::int64_t> {
    if (part.empty() || part.back() != '%') return std::nullopt;
    return base::parse_integer(part.substr(0, part.size() - 1));
  };
  if (dots != std::string::npos) {
    const auto from = percentage(std::string_view(text).substr(0, dots));
    const auto to = percentage(std::string_view(text).substr(dots + 2));
    if (from && to && *from >= 1 && *from <= *to && *to <= 1000) return {*from, *to};
  }
  throw UsageError(
      base::concat("--curve is ", base::quoted(text), ", expected A%..B% with 1 <= A <= B <= 1000"));
}

/// Each point begins with the places of the one before, so the cost never rises with the capacity.
ExitStatus print_curve(const DsaProblem& it, const PackCommand& command, SolveOptions options) {
  const auto [from, to] = parse_curve(command.curve);
  constexpr std::int64_t step = 5;
  if (command.json)
    base::print(std::cout, "{{\"curve\": [");
  else
    base::print(std::cout, "capacity   cost   at least\n");
  bool fits_at_last = false;
  for (std::int64_t percent = from; percent <= to; percent += step) {
    Problem problem = it.problem;
    for (Memory& memory : problem.memories) {
      if (!memory.capacity) continue;
      // Bytes that are reserved stay within it.
      Bytes least = 0;
      for (const ByteRange& range : memory.reserved) least = std::max(least, range.end);
      memory.capacity =
          std::max(least, *memory.capacity / 100 * percent + *memory.capacity % 100 * percent / 100);
    }
    const Solution solution = solve(problem, options);
    clear_progress_line();
    fits_at_last = solution.outcome == Outcome::fits;
    if (!faults_of(problem, solution).empty()) return ExitStatus::own_plan_rejected;
    if (fits_at_last) options.start.assign(solution.places.begin(), solution.places.end());
    if (command.json) {
      base::print(std::cout, "{}\n  {{\"percent\": {}, \"fits\": {}", percent == from ? "" : ",", percent,
                  fits_at_last);
      if (fits_at_last)
        base::print(std::cout, ", \"reuse_cost\": {}, \"reuse_cost_bound\": {}", solution.reuse_cost,
                    solution.reuse_cost_bound);
      base::print(std::cout, "}}");
    } else if (fits_at_last) {
      base::print(std::cout, "{:>7} % {:>6} {:>10}\n", percent, solution.reuse_cost,
                  solution.reuse_cost_bound);
    } else {
      base::print(std::cout, "{:>7} %   {}\n", percent,
                  solution.cannot_fit ? "nothing fits, proven" : "nothing found that fits");
    }
    flush_output();
    if (options.stop.stop_requested()) break;
  }
  if (command.json) base::print(std::cout, "\n]}}\n");
  flush_output();
  return fits_at_last ? ExitStatus::done : ExitStatus::not_met;
}

ExitStatus verify_solution(const DsaProblem& problem, const std::string& name) {
  const base::InputFile file(name);
  Solution solution;
  try {
    solution = parse_dsa_solution(problem, file.bytes());
  } catch (const Error& error) {
    throw error.in_file(name);
  }
  const std::vector<std::string> faults = faults_of(problem.problem, solution);
  for (const std::string& fault : faults) base::print(std::cout, "{}\n", fault);
  if (!faults.empty()) return ExitStatus::not_met;
  base::print(std::cout, "right: all fits, and costs {}\n", solution.reuse_cost);
  const auto shown = proven_cost(problem.problem, solution.reuse_proof, 100 * steps_of_proof);
  if (shown && *shown >= solution.reuse_cost)
    base::print(std::cout, "proven: no placement costs less\n");
  else
    base::print(std::cout, "proven: no placement costs less than {}\n", shown.value_or(0));
  flush_output();
  return ExitStatus::done;
}

}  // namespace

ExitStatus run_pack(const PackCommand& command) {
  const InterruptWatch watch;
  SolveOptions options = parse_plan_options(command.plan).solve;
  options.stop = watch.stop();
  options.progress = progress_line(options);
  const base::InputFile file(command.problem);
  if (!is_dsa_problem(file.bytes()))
    throw Error("", "is no problem of dsa-solver's schema; 'stowage plan' places buffer lists and models")
        .in_file(command.problem);
  DsaProblem problem;
  try {
    problem = parse_dsa_problem(file.bytes());
  } catch (const Error& error) {
    throw error.in_file(command.problem);
  }
  if (!command.verify.empty()) return verify_solution(problem, command.verify);
  options.objective = problem.objective;
  if (!command.curve.empty()) return print_curve(problem, command, options);
  const auto begin = std::chrono::steady_clock::now();
  const Solution solution = solve(problem.problem, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  clear_progress_line();
  const std::vector<std::string> faults = faults_of(problem.problem, solution);
  if (!faults.empty()) {
    for (const std::string& fault : faults) base::print(std::cerr, "stowage: {}\n", fault);
    base::print(std::cerr, "stowage: the checker rejects this solution; that is a bug in stowage\n");
    return ExitStatus::own_plan_rejected;
  }
  print_summary(problem, solution, seconds.count(), summary_stream(command.output == "-"));
  flush_output();
  if (solution.outcome != Outcome::fits) {
    base::print(std::cerr, "stowage: no solution fits, so none is written\n");
    return ExitStatus::not_met;
  }
  if (!command.output.empty()) {
    const base::OutputFile output{command.output,
                                  [&](std::ostream& out) { write_dsa_solution(problem, solution, out); }};
    base::write_files(std::span(&output, 1));
  }
  return ExitStatus::done;
}

}  // namespace stowage::cli
