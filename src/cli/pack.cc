#include <fmt/format.h>

#include <chrono>
#include <iostream>

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
