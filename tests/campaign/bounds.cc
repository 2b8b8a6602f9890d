#include "bounds.h"

#include <string>

#include "brute_order.h"
#include "brute_pack.h"
#include "brute_rows.h"

namespace stowage::campaign {
namespace {

/// Offsets: nothing packs these very buffers lower than the bound, and an uncut search finds the lowest.
void check_packing(const Case& drawn, const Plan& plan, Findings& findings, Tally& tally) {
  if (plan.memories.size() != 1 || plan.clocks.size() != 1) return;
  std::vector<PackItem> items;
  for (const Buffer& buffer : plan.buffers) {
    PackItem item{.size = buffer.size, .alignment = buffer.alignment};
    for (const Piece& piece : buffer.pieces)
      if (piece.is_ever_alive()) item.pieces.push_back(piece);
    if (buffer.pinned) return;
    items.push_back(item);
  }
  const std::optional<Bytes> least = least_peak(items);
  if (!least) return;
  ++tally.compared["packings with all packings"];
  const std::string words = "bound " + std::to_string(plan.summary.lower_bound) + ", peak " +
                            std::to_string(plan.summary.peak) + ", least " + std::to_string(*least);
  if (plan.summary.lower_bound > *least) findings.push_back({"bound: packing below the bound", words});
  for (const Claim& claim : plan.claims)
    if (claim.scope == ClaimScope::offsets && claim.lower_bound > *least)
      findings.push_back({"bound: packing below a claim", words});
  const bool has_ended =
      plan.memories[0].memory.capacity && plan.summary.peak <= *plan.memories[0].memory.capacity;
  if (plan.interrupted || has_ended || drawn.options.solve.strategy != "auto")
    return;  // it fits: that was asked for
  if (plan.summary.peak > *least) findings.push_back({"packing: not the least", words});
  if (plan.summary.lower_bound < *least)
    tally.remarks["optimal packing without proof"].push_back(drawn.number);
}

void check_order(const Case& drawn, const Graph& graph, const Plan& plan, Findings& findings, Tally& tally) {
  const PlanOptions& options = drawn.options;
  if (plan.memories.size() != 1 || plan.streaming) return;
  const auto best = best_order(graph, options.alignment.value_or(64), options.io, options.alias);
  if (!best) return;
  ++tally.compared["orders with all orders and choices of sharing"];
  for (const OrderSearch& search : plan.order_searches)
    if (search.lower_bound > best->load)
      findings.push_back({"bound: an order below the order's bound",
                          "bound " + std::to_string(search.lower_bound) + ", but load " +
                              std::to_string(best->load) + " of " + best->load_witness});
  for (const Claim& claim : plan.claims)
    if (claim.scope == ClaimScope::order && best->peak && claim.lower_bound > *best->peak)
      findings.push_back({"bound: an order below an order claim",
                          "claim " + std::to_string(claim.lower_bound) + ", but peak " +
                              std::to_string(*best->peak) + " of " + best->peak_witness});
  const bool is_free = options.alias == Alias::automatic && options.order == Order::search &&
                       options.solve.strategy == "auto" && !plan.interrupted && !options.memories[0].capacity;
  if (!is_free || !best->peak) return;
  ++tally.compared["default plans with the optimum of everything"];
  if (plan.summary.peak > *best->peak) {
    tally.remarks["brute force reaches less than the default plan"].push_back(drawn.number);
    if (plan.summary.peak == plan.summary.lower_bound && !plan.order_searches.empty() &&
        plan.order_searches[0].lower_bound == plan.summary.peak)
      findings.push_back({"bound: proven optimal, but brute force is lower",
                          "peak " + std::to_string(plan.summary.peak) + ", reached " +
                              std::to_string(*best->peak) + " by " + best->peak_witness});
  }
}

/// "No order of rows has less": neither rows one by one in any order, nor whole operators that share.
void check_rows(const Case& drawn, const Graph& graph, const Plan& plan, Findings& findings, Tally& tally) {
  const PlanOptions& options = drawn.options;
  for (const Claim& claim : plan.claims) {
    if (claim.scope != ClaimScope::stream || options.stream->recompute > 1) continue;
    const std::string words = "claim " + std::to_string(claim.lower_bound);
    if (options.io != Io::rows)
      if (const auto best = best_order(graph, options.alignment.value_or(64), options.io, options.alias)) {
        ++tally.compared["stream claims with all orders of whole operators"];
        if (best->peak && claim.lower_bound > *best->peak)
          findings.push_back(
              {"bound: whole operators below a stream claim",
               words + ", but peak " + std::to_string(*best->peak) + " of " + best->peak_witness});
      }
    if (options.alignment != 1 || options.stream->granule.value_or(1) != 1) continue;
    const auto ascending = least_load_by_rows(graph, options.io, options.alias, RowOrder::ascending);
    const auto any = least_load_by_rows(graph, options.io, options.alias, RowOrder::any);
    if (!ascending || !any) continue;
    ++tally.compared["stream claims with all orders of rows"];
    if (claim.lower_bound > *ascending)
      findings.push_back({"bound: an order of rows below a stream claim",
                          words + ", but an order of rows has a load of " + std::to_string(*ascending)});
    // The claim is about orders in which each operator's rows ascend.
    if (claim.lower_bound > *any)
      tally.remarks["an order of rows, not all ascending, below a stream claim"].push_back(drawn.number);
    if (plan.streaming && plan.streaming->load > *ascending)
      tally.remarks["brute force has an order of rows of less load"].push_back(drawn.number);
  }
}

}  // namespace

Findings check_bounds(const Case& drawn, std::span<const Graph> graphs, const PlanResult& result,
                      Tally& tally) {
  Findings findings;
  check_packing(drawn, result.plan, findings, tally);
  if (graphs.size() == 1) check_order(drawn, graphs[0], result.plan, findings, tally);
  if (graphs.size() == 1 && result.plan.streaming) check_rows(drawn, graphs[0], result.plan, findings, tally);
  return findings;
}

}  // namespace stowage::campaign
