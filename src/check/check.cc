// The checker does not trust the planner. It reads the plan and, if given, its networks or its list, and replays the
// steps to derive anew when every tensor needs its bytes. What it shares with planners is facts about operators; the
// network of blocks of model/blocks.cc, which block_network.cc compares with these facts; and exhaust.cc, which
// planners ask how long a certificate takes to check.

#include <fmt/format.h>

#include <iterator>
#include <variant>
#include <vector>

#include "base/text.h"
#include "check/against.h"
#include "check/claims.h"
#include "check/constants.h"
#include "check/feeds.h"
#include "check/form.h"
#include "check/imprint.h"
#include "check/pauses.h"
#include "check/places.h"
#include "check/states.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

void append(Faults& faults, Faults more) {
  faults.insert(faults.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Checks the plan by itself, then `more`, which relies on a correct form.
template <typename More>
Faults check_by_itself_and(const Plan& plan, const More& more) {
  Faults faults = check::check_form(plan);
  if (!faults.empty()) return faults;
  append(faults, check::check_places(plan));
  append(faults, check::check_claims(plan));
  append(faults, check::check_pauses(plan));
  append(faults, check::check_views(plan));
  append(faults, check::check_weights(plan));
  append(faults, check::check_feeds(plan));
  append(faults, check::check_states(plan));
  append(faults, more());
  return faults;
}

Faults check_networks(const Plan& plan, std::span<const check::Given> given) {
  return check_by_itself_and(plan, [&] { return check::check_against(plan, given); });
}

}  // namespace

Faults check::check_plan_of_list(const Plan& plan, std::uint64_t imprint) {
  return check_by_itself_and(plan, [&] {
    if (imprint_of(plan.buffers) == imprint) return Faults();
    return Faults{{FaultKind::accounting, "the buffers of the plan are not those of the list"}};
  });
}

Faults check_plan(const Plan& plan) {
  return check_by_itself_and(plan, [] { return Faults(); });
}

Faults check_plan(const Plan& plan, std::span<const Graph> graphs) {
  std::vector<check::Given> given;
  for (const Graph& graph : graphs) given.push_back({&graph, nullptr});
  return check_networks(plan, given);
}

Faults check_plan(const Plan& plan, const Problem& list) {
  return check_by_itself_and(plan, [&] { return check::check_list(plan, list); });
}

Faults check_plan(const Plan& plan, std::span<const Input> inputs) {
  std::vector<check::Given> given;
  for (const Input& input : inputs) {
    const auto* const graph = std::get_if<Graph>(&input.content);
    if (graph == nullptr && inputs.size() == 1) return check_plan(plan, std::get<Problem>(input.content));
    if (graph == nullptr) {
      return {{FaultKind::format,
               fmt::format("{} is a list, and a plan for it is for nothing else; {} inputs are given",
                           base::quoted(input.info.name), inputs.size())}};
    }
    given.push_back({graph, &input.constants});
  }
  return check_networks(plan, given);
}

}  // namespace stowage
