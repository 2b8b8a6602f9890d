// The checker trusts nobody: it shares no code with any planner, reads only what a plan file says,
// and derives again, by replaying the steps, when every tensor needs its bytes.

#include <iterator>

#include "check/against.h"
#include "check/list.h"
#include "check/places.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

void append(Faults& faults, Faults more) {
  faults.insert(faults.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// The plan by itself, then what else it is to be checked against; that relies on a sound form.
template <typename More>
Faults check_by_itself_and(const Plan& plan, const More& more) {
  Faults faults = check::check_form(plan);
  if (!faults.empty()) return faults;
  append(faults, check::check_places(plan));
  append(faults, check::check_views(plan));
  append(faults, more());
  return faults;
}

}  // namespace

Faults check_plan(const Plan& plan) {
  return check_by_itself_and(plan, [] { return Faults(); });
}

Faults check_plan(const Plan& plan, std::span<const Graph> graphs) {
  return check_by_itself_and(plan, [&] { return check::check_against(plan, graphs); });
}

Faults check_plan(const Plan& plan, const Problem& list) {
  return check_by_itself_and(plan, [&] { return check::check_list(plan, list); });
}

}  // namespace stowage
