#include "export/proof.h"

#include <algorithm>

#include "export/readable.h"

namespace stowage::exporting {

const Claim* claim_of_rows(const Plan& plan) {
  const auto found = std::ranges::find_if(plan.claims, [](const Claim& it) {
    return it.scope == ClaimScope::stream || it.scope == ClaimScope::rows;
  });
  return found == plan.claims.end() ? nullptr : &*found;
}

Proof proof_of(const Plan& plan) {
  if (plan.summary.peak > plan.summary.lower_bound) return Proof::nothing;
  const Proof of_offsets = is_of_chosen_memories(plan) ? Proof::memories : Proof::offsets;
  if (plan.tensors.empty()) return of_offsets == Proof::memories ? of_offsets : Proof::plan;
  const auto is_proven = [&](ClaimScope scope) {
    return std::ranges::any_of(
        plan.claims, [&](const Claim& claim) { return claim.proven_optimal && claim.scope == scope; });
  };
  if (left_out(plan, Wish::rows) != nullptr) {
    if (is_proven(ClaimScope::stream)) return Proof::plan;
    return is_proven(ClaimScope::order) ? Proof::operators : of_offsets;
  }
  if (is_proven(ClaimScope::order)) return Proof::plan;
  // If rows may be computed again, the claim is about the choice of these rows alone.
  const bool is_once = plan.streaming && plan.streaming->recompute_limit <= 1;
  return is_once && (is_proven(ClaimScope::stream) || is_proven(ClaimScope::rows)) ? Proof::rows : of_offsets;
}

}  // namespace stowage::exporting
