#include <fmt/format.h>

#include <algorithm>
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
#include "stowage/problem_json.h"

namespace stowage::cli {
namespace {

/// Of what a summary takes the time to check.
constexpr std::int64_t steps_of_proof = 500'000;

/// A problem and what only its format has.
struct ProblemFile {
  ProblemDocument document{};
  std::optional<DsaProblem> dsa{};
};

ProblemFile read_problem(const std::string& name) {
  const base::InputFile file(name);
  try {
    if (is_problem_json(file.bytes())) return {parse_problem(file.bytes()), std::nullopt};
    if (is_dsa_problem(file.bytes())) {
      DsaProblem dsa = parse_dsa_problem(file.bytes());
      ProblemDocument document{.name = dsa.instance, .problem = dsa.problem, .objective = dsa.objective};
      return {std::move(document), std::move(dsa)};
    }
  } catch (const Error& error) {
    throw error.in_file(name);
  }
  throw Error(
      "",
      "is no problem in JSON, of stowage's schema or dsa-solver's; 'stowage plan' places buffer lists and "
      "models")
      .in_file(name);
}

Solution read_solution(const ProblemFile& problem, const std::string& name) {
  const base::InputFile file(name);
  try {
    return problem.dsa ? parse_dsa_solution(*problem.dsa, file.bytes())
                       : parse_solution(problem.document, file.bytes());
  } catch (const Error& error) {
    throw error.in_file(name);
  }
}

void write_solution(const ProblemFile& problem, const Solution& solution, std::ostream& out) {
  if (problem.dsa)
    write_dsa_solution(*problem.dsa, solution, out);
  else
    write_solution(problem.document, solution, out);
}

void print_counts(const ProblemFile& it, std::ostream& out) {
  const Problem& problem = it.document.problem;
  const Relations& relations = problem.relations;
  if (it.dsa)
    base::print(out, "problem      {} ({})\n", base::visible(it.document.name),
                base::visible(it.dsa->profile));
  else if (!it.document.name.empty())
    base::print(out, "problem      {}\n", base::visible(it.document.name));
  base::print(out, "buffers      {}; pairs together {}, apart {}, exclusive {}, with a cost {}\n",
              problem.buffers.size(), relations.together.size(), relations.apart.size(),
              relations.exclusive.size(), relations.reuse_costs.size());
}

void print_costs(const Problem& problem, const Solution& solution, std::ostream& out) {
  const Relations& relations = problem.relations;
  const std::int64_t cost = counted_cost(solution);
  const std::string bound = solution.reuse_cost_bound == cost
                                ? "proven least"
                                : fmt::format("at least {}", solution.reuse_cost_bound);
  const std::string memories =
      solution.memory_cost > 0
          ? fmt::format("; memories cost {} more than the cheapest", solution.memory_cost)
          : "";
  if (!relations.copies.empty() || solution.memory_cost > 0)
    base::print(out, "reuse cost   {}{}; copies gain {}; {}, {}\n", solution.reuse_cost, memories,
                solution.gain, cost, bound);
  else if (problem.is_related())
    base::print(out, "reuse cost   {}, {}\n", cost, bound);
  if (const auto shown = proven_cost(problem, solution.reuse_proof, steps_of_proof); shown && *shown > 0)
    base::print(out, "checked      a proof that it costs at least {}\n", *shown);
}

void print_summary(const ProblemFile& it, const Solution& solution, double seconds, std::ostream& out) {
  const Problem& problem = it.document.problem;
  print_counts(it, out);
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const Memory& memory = problem.memories[m];
    const std::string limit = memory.capacity ? fmt::format(" of {}", *memory.capacity) : "";
    base::print(out, "memory       {}: {}{} bytes\n", base::visible(memory.name),
                peak_of(problem, solution, m), limit);
  }
  if (solution.outcome == Outcome::fits) {
    print_costs(problem, solution, out);
    const bool peak_counts = it.document.objective != Objective::cost || !problem.is_related();
    if (peak_counts && solution.is_least_peak)
      base::print(out, "peaks        proven least\n");
    else if (peak_counts)
      base::print(out, "peaks        not proven least{}\n",
                  problem.memories.size() == 1 ? fmt::format(", at least {}", solution.lower_bound) : "");
  } else {
    base::print(out, "fits         no{}\n",
                solution.cannot_fit ? ", and it is proven that nothing does" : "");
  }
  if (const auto& overload = solution.overload)
    base::print(out, "too much     {} bytes are live at position {}, memory {} has room for {}\n",
                overload->needed, overload->position, base::quoted(problem.memories[overload->memory].name),
                overload->room);
  if (it.dsa) {
    for (const std::string& term : it.dsa->not_minimised)
      base::print(out, "left out     the objective's {} is not minimised\n", base::quoted(term));
  }
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
ExitStatus print_curve(const ProblemDocument& it, const PackCommand& command, SolveOptions options) {
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
        base::print(std::cout, ", \"reuse_cost\": {}, \"memory_cost\": {}, \"reuse_cost_bound\": {}",
                    solution.reuse_cost, solution.memory_cost, solution.reuse_cost_bound);
      base::print(std::cout, "}}");
    } else if (fits_at_last) {
      base::print(std::cout, "{:>7} % {:>6} {:>10}\n", percent, counted_cost(solution),
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

ExitStatus verify_solution(const ProblemFile& file, const std::string& name) {
  const Problem& problem = file.document.problem;
  const Solution solution = read_solution(file, name);
  const std::vector<std::string> faults = faults_of(problem, solution);
  for (const std::string& fault : faults) base::print(std::cout, "{}\n", fault);
  if (!faults.empty()) return ExitStatus::not_met;
  const Relations& relations = problem.relations;
  const bool has_copies = !relations.copies.empty();
  const bool has_costs = !relations.reuse_costs.empty() || solution.memory_cost > 0;
  base::print(std::cout, "right: all fits{}{}\n",
              has_costs ? fmt::format(", and costs {}", counted_cost(solution)) : "",
              has_copies ? fmt::format(", copies gain {}", solution.gain) : "");
  for (std::size_t m = 0; m < problem.memories.size(); ++m)
    base::print(std::cout, "memory {}: {} bytes\n", base::visible(problem.memories[m].name),
                peak_of(problem, solution, m));
  if (has_costs) {
    const auto shown = proven_cost(problem, solution.reuse_proof, 100 * steps_of_proof).value_or(0);
    base::print(std::cout, "proven: {}no placement costs less{}\n",
                has_copies ? "with one copy of each, " : "",
                shown >= solution.reuse_cost + solution.memory_cost ? "" : fmt::format(" than {}", shown));
  }
  flush_output();
  return ExitStatus::done;
}

}  // namespace

ExitStatus run_pack(const PackCommand& command) {
  const InterruptWatch watch;
  SolveOptions options = parse_plan_options(command.plan).solve;
  options.stop = watch.stop();
  options.progress = progress_line(options);
  const ProblemFile file = read_problem(command.problem);
  const ProblemDocument& document = file.document;
  if (!command.verify.empty()) return verify_solution(file, command.verify);
  options.objective = document.objective;
  if (!command.curve.empty()) return print_curve(document, command, options);
  const auto begin = std::chrono::steady_clock::now();
  const Solution solution = solve(document, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  clear_progress_line();
  const std::vector<std::string> faults = faults_of(document.problem, solution);
  if (!faults.empty()) {
    for (const std::string& fault : faults) base::print(std::cerr, "stowage: {}\n", fault);
    base::print(std::cerr, "stowage: the checker rejects this solution; that is a bug in stowage\n");
    return ExitStatus::own_plan_rejected;
  }
  print_summary(file, solution, seconds.count(), summary_stream(command.output == "-"));
  flush_output();
  if (solution.outcome != Outcome::fits) {
    base::print(std::cerr, "stowage: no solution fits, so none is written\n");
    return ExitStatus::not_met;
  }
  if (!command.output.empty()) {
    const base::OutputFile output{command.output,
                                  [&](std::ostream& out) { write_solution(file, solution, out); }};
    base::write_files(std::span(&output, 1));
  }
  return ExitStatus::done;
}

}  // namespace stowage::cli
