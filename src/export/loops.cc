// The loop nest of a streamed plan as C: what each statement computes, where rows lie, then the loops.

#include "stream/loops.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/print.h"
#include "base/text.h"
#include "model/blocks.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/graph.h"

namespace stowage {
namespace {

constexpr unsigned long most_effort = 2'000'000'000;

/// Names come from files: a comment must not end in them.
std::string in_comment(const std::string& name) {
  std::string text = base::quoted(name);
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/"))
    text.replace(at, 2, "* /");
  return text;
}

/// The statements of the schedule's entries. Blocks of an operator have the name of the first, and a number.
std::vector<stream::LoopStatement> statements_of(const AffineSchedule& affine) {
  std::map<std::size_t, std::set<std::int64_t>> begins;  // of the blocks of operators
  std::map<std::size_t, std::size_t> first;
  for (std::size_t s = 0; s < affine.operators.size(); ++s) {
    const TimedSteps& it = affine.operators[s];
    if (!it.op || !it.block) continue;
    begins[*it.op].insert(it.block->begin);
    first.try_emplace(*it.op, s);
  }
  std::vector<stream::LoopStatement> statements;
  for (std::size_t s = 0; s < affine.operators.size(); ++s) {
    const TimedSteps& it = affine.operators[s];
    const bool is_block = it.op && it.block;
    stream::LoopStatement own{fmt::format("S{}", is_block ? first.at(*it.op) : s), it.count, it.scale,
                              it.shift, it.position};
    if (is_block) {
      const auto& all = begins.at(*it.op);
      own.block = std::distance(all.begin(), all.find(it.block->begin));
    }
    statements.push_back(std::move(own));
  }
  return statements;
}

/// Operators that begin with their last rows.
std::set<std::size_t> operators_backward(const Plan& plan) {
  std::set<std::size_t> seen;
  std::set<std::size_t> backward;
  for (const Step& step : plan.clocks[0].steps) {
    const Run* const run = std::get_if<Run>(&step);
    if (run == nullptr || !run->rows || !seen.insert(run->path.back()).second) continue;
    if (run->rows->begin > 0) backward.insert(run->path.back());
  }
  return backward;
}

void write_statements(const Plan& plan, const AffineSchedule& affine,
                      const std::vector<stream::LoopStatement>& statements, std::ostream& out) {
  base::print(out, "/* Statements. S(i) computes rows [{0} * i, {0} * i + {0}) as far as there are any.\n",
              plan.streaming->granule);
  const std::set<std::size_t> backward = operators_backward(plan);
  for (std::size_t s = 0; s < affine.operators.size(); ++s) {
    const TimedSteps& it = affine.operators[s];
    std::string what = it.op ? fmt::format("operator {}{}{}", *it.op, it.sums ? ", added to its sums" : "",
                                           backward.contains(*it.op) ? ", last rows first" : "")
                             : "arrival of " + in_comment(plan.tensors[*it.tensor].tensor.name);
    if (it.block)
      what += fmt::format(", {} to {} along axis {}", it.block->begin, it.block->end, it.block->axis);
    const std::string call = statements[s].block
                                 ? fmt::format("{}({}, i)", statements[s].name, *statements[s].block)
                                 : statements[s].name + "(i)";
    base::print(out, "     {}, 0 <= i < {}, at time {} * i + {}, position {}: {}\n", call, it.count, it.scale,
                it.shift, it.position, what);
  }
  out << "*/\n";
}

/// Where operators keep sums, or what they carry from row to row.
std::map<std::size_t, Sums> carried_by_operators(const Plan& plan) {
  std::map<std::size_t, Sums> carried;
  for (const Step& step : plan.clocks[0].steps) {
    const Run* const run = std::get_if<Run>(&step);
    if (run != nullptr && (run->sums || run->carry))
      carried.emplace(run->path.back(), run->sums ? *run->sums : *run->carry);
  }
  return carried;
}

void write_storage(const Plan& plan, std::ostream& out) {
  out << "/* Storage. Row r of a tensor in a ring of n slots of g rows begins at\n"
         "     offset + (r / g % n) * slot + r % g * (slot / g)\n";
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) {
      const Bytes offset = plan.places[view.buffer].offset + view.offset;
      const std::string where =
          fmt::format("{} of {}", offset, plan.memories[plan.places[view.buffer].memory].memory.name);
      const std::string name = in_comment(tensor.tensor.name) +
                               (view.block ? fmt::format(", {} to {} along axis {}", view.block->begin,
                                                         view.block->end, view.block->axis)
                                           : "");
      if (!view.ring) {
        base::print(out, "     {}: at {}{}\n", name, where,
                    view.rows ? fmt::format(", rows [{}, {})", view.rows->begin, view.rows->end) : "");
        continue;
      }
      const Tensor held = view.block ? model::block_of(tensor.tensor, *view.block).value() : tensor.tensor;
      base::print(out, "     {}: ring at offset {}, n = {}, g = {}, slot = {} bytes\n", name, where,
                  view.ring->count, view.ring->granule,
                  view.ring->granule * bytes_of_row(held, view.ring->axis).value());
    }
  }
  for (const auto& [op, sums] : carried_by_operators(plan)) {
    const Place& place = plan.places[sums.buffer];
    base::print(out, "     carried by operator {}: at {} of {}\n", op, place.offset + sums.offset,
                plan.memories[place.memory].memory.name);
  }
  out << "*/\n";
}

}  // namespace

void write_loops(const Plan& plan, std::ostream& out) {
  if (const std::string_view missing = stream::missing_for_loops(); !missing.empty())
    throw UsageError(std::string(missing));
  if (!plan.streaming || !plan.streaming->affine || !plan.streaming->affine->is_followed)
    throw Error("plan",
                "follows no affine schedule, so no loops can run it; expected a plan of "
                "--stream --layout ring that is lower than the plan of whole operators");
  const AffineSchedule& affine = *plan.streaming->affine;
  const std::vector<stream::LoopStatement> statements = statements_of(affine);
  const auto loops = stream::loop_nest(statements, most_effort);
  if (!loops) throw Error("plan", "has a schedule whose loop nest takes too long to generate");
  write_statements(plan, affine, statements, out);
  write_storage(plan, out);
  out << *loops;
}

}  // namespace stowage
