// What the options have asked for and a plan by rows, or instead of one, does not have: why, and what would bring it.

#include "plan/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace stowage::plan {
namespace {

std::string limit_of(const PlanOptions& options) {
  return options.solve.effort ? "the effort" : "the time limit";
}

std::string more_time(const PlanOptions& options) {
  return options.solve.effort ? "a higher --effort" : "a longer --time-limit";
}

/// More rows to a step, and about a thousand steps at most for each operator.
std::int64_t larger_granule(const PlanOptions& options, const Plan& plan) {
  constexpr std::int64_t most_steps = 1000;
  std::int64_t most = 1;
  for (const PlannedTensor& it : plan.tensors) {
    if (is_constant(it.tensor.kind)) continue;
    for (const std::int64_t extent : it.tensor.shape.value_or(Shape{})) most = std::max(most, extent);
  }
  std::int64_t granule = 8;
  while (granule <= options.stream->granule.value_or(1) || granule * most_steps < most) granule *= 2;
  return granule;
}

/// What makes a search for rows shorter, or gives it more time.
std::string what_helps(const PlanOptions& options, const Plan& plan) {
  const StreamOptions& stream = *options.stream;
  std::string help = more_time(options) + fmt::format(", --granule {}", larger_granule(options, plan));
  if (stream.axes == StreamAxes::searched) help += ", --axes natural";
  if (stream.blocks == StreamBlocks::searched) help += ", --blocks none";
  return help;
}

/// Operators that may run row by row, and those of them whose multiplies nobody has said.
std::pair<std::size_t, std::size_t> operators_and_unknown(std::span<const Graph> networks) {
  std::size_t all = 0;
  std::size_t unknown = 0;
  for (const Graph& graph : networks) {
    for (const Operator& op : graph.subgraphs[0].operators) {
      if (op.folded || op.row_axes.empty()) continue;
      ++all;
      unknown += op.multiplies ? 0 : 1;
    }
  }
  return {all, unknown};
}

bool has_rows_of_io(const Plan& plan) {
  return std::ranges::any_of(plan.clocks, [](const Clock& clock) {
    return std::ranges::any_of(clock.steps, [](const Step& step) {
      return std::holds_alternative<Arrive>(step) || std::holds_alternative<Leave>(step);
    });
  });
}

bool has_open_sizes(const Plan& plan) {
  return std::ranges::any_of(plan.tensors, [](const PlannedTensor& it) { return is_open(it.tensor); });
}

}  // namespace

void leave_rows_out(const PlanOptions& options, WithoutRows reason, Plan& plan) {
  switch (reason) {
    case WithoutRows::fits:
      return leave_rows_out(options, "whole operators fit the capacity", "a smaller --capacity", plan);
    case WithoutRows::cut:
      return leave_rows_out(options, limit_of(options) + " ended before rows with a lower peak were found",
                            what_helps(options, plan), plan);
    case WithoutRows::stopped:
      return leave_rows_out(options, "an interrupt ended the search before rows with a lower peak were found",
                            "", plan);
    case WithoutRows::not_lower:
      if (has_open_sizes(plan))
        return leave_rows_out(options,
                              "operators with open sizes run as wholes, and no rows of others with a lower "
                              "peak were found",
                              options.io == Io::rows ? "a plan for one size, as --dim NAME=N"
                                                     : "--io rows, or a plan for one size, as --dim NAME=N",
                              plan);
      const bool are_rings = options.stream->layout == StreamLayout::ring;
      return leave_rows_out(options,
                            are_rings ? "no rows in rings, in an order of loops, with a lower peak were found"
                                      : "no rows with a lower peak were found",
                            are_rings ? "--layout auto" : "", plan);
  }
}

void leave_rows_out(const PlanOptions& options, std::string why, std::string help, Plan& plan) {
  plan.left_out.push_back({Wish::rows, why, help});
  if (options.io == Io::rows) plan.left_out.push_back({Wish::io_rows, why, help});
  if (options.stream->layout == StreamLayout::ring) plan.left_out.push_back({Wish::rings, why, help});
}

LeftOut untried(const PlanOptions& options, Wish wish) {
  const std::string instead = wish == Wish::granule ? ", --granule 1" : "";
  return {wish, limit_of(options) + " ended before all were tried", more_time(options) + instead};
}

LeftOut too_many_reads() {
  return {Wish::granule, "they read too many rows to order, so operators would run as wholes", "--granule 1"};
}

LeftOut too_many_blocks(std::int64_t iterations) {
  return {Wish::blocks, fmt::format("they make {} steps and more, too many to place", iterations),
          "a larger --granule"};
}

void note_left_out(const PlanOptions& options, std::span<const Graph> networks, Plan& plan) {
  if (options.io == Io::rows && left_out(plan, Wish::rows) == nullptr && !has_rows_of_io(plan))
    plan.left_out.push_back({Wish::io_rows, "inputs and outputs take less memory as wholes",
                             "--io arena, which is what the plan has"});
  const auto [all, unknown] = operators_and_unknown(networks);
  if (options.stream->recompute > 1 && unknown > 0) {
    plan.left_out.push_back(
        {Wish::recomputation,
         fmt::format("{} of {} operators do not say their multiplies, so their rows are computed once",
                     unknown, all),
         "`multiplies` in graph JSON"});
  }
}

}  // namespace stowage::plan
