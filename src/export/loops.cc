// The loop nest of a streamed plan as C: what each statement computes, where rows lie, then the loops.

#include "stream/loops.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <map>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "base/text.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/graph.h"

namespace stowage {
namespace {

constexpr unsigned long most_effort = 2'000'000'000;

std::string name_of(std::size_t statement) { return fmt::format("S{}", statement); }

/// Names come from files: a comment must not end in them.
std::string in_comment(const std::string& name) {
  std::string text = base::quoted(name);
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/"))
    text.replace(at, 2, "* /");
  return text;
}

void write_statements(const Plan& plan, const AffineSchedule& affine, std::ostream& out) {
  fmt::print(out, "/* Statements. S(i) computes rows [{0} * i, {0} * i + {0}) as far as there are any.\n",
             plan.streaming->granule);
  for (std::size_t s = 0; s < affine.operators.size(); ++s) {
    const TimedSteps& it = affine.operators[s];
    const std::string what = it.op
                                 ? fmt::format("operator {}{}", *it.op, it.sums ? ", added to its sums" : "")
                                 : "arrival of " + in_comment(plan.tensors[*it.tensor].tensor.name);
    fmt::print(out, "     {}(i), 0 <= i < {}, at time {} * i + {}, position {}: {}\n", name_of(s), it.count,
               it.scale, it.shift, it.position, what);
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
      if (!view.ring) {
        fmt::print(out, "     {}: at {}{}\n", in_comment(tensor.tensor.name), where,
                   view.rows ? fmt::format(", rows [{}, {})", view.rows->begin, view.rows->end) : "");
        continue;
      }
      fmt::print(out, "     {}: ring at offset {}, n = {}, g = {}, slot = {} bytes\n",
                 in_comment(tensor.tensor.name), where, view.ring->count, view.ring->granule,
                 view.ring->granule * bytes_of_row(tensor.tensor, view.ring->axis).value());
    }
  }
  for (const auto& [op, sums] : carried_by_operators(plan)) {
    const Place& place = plan.places[sums.buffer];
    fmt::print(out, "     carried by operator {}: at {} of {}\n", op, place.offset + sums.offset,
               plan.memories[place.memory].memory.name);
  }
  out << "*/\n";
}

}  // namespace

void write_loops(const Plan& plan, std::ostream& out) {
  if (!plan.streaming || !plan.streaming->affine || !plan.streaming->affine->is_followed)
    throw Error("plan",
                "follows no affine schedule, so no loops can run it; expected a plan of "
                "--stream --layout ring that is lower than the plan of whole operators");
  const AffineSchedule& affine = *plan.streaming->affine;
  std::vector<stream::LoopStatement> statements;
  for (const TimedSteps& it : affine.operators)
    statements.push_back({name_of(statements.size()), it.count, it.scale, it.shift, it.position});
  const auto loops = stream::loop_nest(statements, most_effort);
  if (!loops) throw Error("plan", "has a schedule whose loop nest takes too long to generate");
  write_statements(plan, affine, out);
  write_storage(plan, out);
  out << *loops;
}

}  // namespace stowage
