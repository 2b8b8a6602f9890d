#include "check/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "check/memories.h"
#include "check/names.h"

namespace stowage::check {
namespace {

/// The checker cannot prove this bound without searching; it only checks that the claim agrees with the
/// reported search.
void check_order_claim(const Plan& plan, const Claim& claim, Faults& faults) {
  const bool is_searched =
      plan.order_searches.size() == 1 && plan.order_searches[0].lower_bound == claim.lower_bound;
  if (is_searched && claim.lower_bound <= plan.summary.peak &&
      claim.proven_optimal == (claim.lower_bound == plan.summary.peak))
    return;
  faults.push_back(
      {FaultKind::claim,
       fmt::format("the claim for orders, bound {}, proven optimal: {}, does not hold for peak {} "
                   "and the search that was made",
                   claim.lower_bound, claim.proven_optimal, plan.summary.peak)});
}

/// The checker cannot prove this bound either. It holds for plans without rows, too, if rows were asked for, and not
/// for choices that were left out.
void check_stream_claim(const Plan& plan, const Claim& claim, Faults& faults) {
  const auto is_untried = [](const LeftOut& it) { return it.what == Wish::axes || it.what == Wish::blocks; };
  const bool covers_all = claim.scope == ClaimScope::stream;
  const bool has_scope =
      covers_all ? std::ranges::none_of(plan.left_out, is_untried) : plan.streaming.has_value();
  const bool asked_for_rows = plan.streaming || left_out(plan, Wish::rows) != nullptr;
  if (asked_for_rows && has_scope && claim.lower_bound <= plan.summary.peak &&
      claim.proven_optimal == (claim.lower_bound == plan.summary.peak))
    return;
  faults.push_back(
      {FaultKind::claim,
       fmt::format("the claim for {}, bound {}, proven optimal: {}, does not hold for peak {}{}{}",
                   covers_all ? "streams" : "rows", claim.lower_bound, claim.proven_optimal,
                   plan.summary.peak, plan.streaming ? "" : " of a plan that does not stream",
                   has_scope ? "" : " and the choices that were left out")});
}

void check_memories_claim(const Plan& plan, const Claim& claim, Faults& faults) {
  const Bytes bound = most_live_bytes(plan);
  if (claim.lower_bound <= bound && claim.proven_optimal == (claim.lower_bound == plan.summary.peak)) return;
  faults.push_back(
      {FaultKind::claim,
       fmt::format(
           "the claim for all choices of memories, bound {}, proven optimal: {}, does not hold for peak "
           "{} and {} live bytes",
           claim.lower_bound, claim.proven_optimal, plan.summary.peak, bound)});
}

void check_summary(const Plan& plan, Faults& faults) {
  Bytes peak = 0;
  Bytes bound = 0;
  for (const PlannedMemory& memory : plan.memories) {
    if (memory.memory.role == MemoryRole::weights) continue;
    const auto peaks = base::checked_add(peak, memory.peak);
    const auto bounds = base::checked_add(bound, memory.lower_bound);
    if (!peaks || !bounds) {
      faults.push_back({FaultKind::claim, "the peaks or lower bounds of the memories overflow"});
      return;
    }
    peak = *peaks;
    bound = *bounds;
  }
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  if (plan.summary.peak != peak)
    claim(fmt::format("the summary's peak is said to be {} but is {}", plan.summary.peak, peak));
  if (plan.summary.lower_bound > bound) {
    claim(fmt::format("the summary's lower bound is said to be {} but only {} can be proven",
                      plan.summary.lower_bound, bound));
  }
  for (const Claim& it : plan.claims) {
    if (it.scope == ClaimScope::order) {
      check_order_claim(plan, it, faults);
    } else if (it.scope == ClaimScope::stream || it.scope == ClaimScope::rows) {
      check_stream_claim(plan, it, faults);
    } else if (it.scope == ClaimScope::memories) {
      check_memories_claim(plan, it, faults);
    } else if (it.lower_bound > bound || (it.proven_optimal && it.lower_bound != peak)) {
      claim(
          fmt::format("the claim for offsets, bound {}, proven optimal: {}, does not hold for peak {} and "
                      "provable bound {}",
                      it.lower_bound, it.proven_optimal, peak, bound));
    }
  }
}

/// Traffic of each memory's buffers, at most `largest_value`.
std::vector<Bytes> traffic_of_memories(const Plan& plan) {
  std::vector<Bytes> traffic(plan.memories.size(), 0);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    Bytes& sum = traffic[plan.places[b].memory];
    sum = std::min(base::checked_add(sum, plan.buffers[b].traffic).value_or(largest_value), largest_value);
  }
  return traffic;
}

void check_traffic(const Plan& plan, Faults& faults) {
  const auto traffic = traffic_of_memories(plan);
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    if (traffic[m] == plan.memories[m].traffic) continue;
    faults.push_back(
        {FaultKind::claim, fmt::format("{}: its traffic is said to be {} but is {}", name_of_memory(plan, m),
                                       plan.memories[m].traffic, traffic[m])});
  }
}

/// Bytes read and written in each memory, times its cost.
std::optional<std::int64_t> cost_of(const Plan& plan) {
  std::int64_t cost = 0;
  for (const PlannedMemory& memory : plan.memories) {
    const auto product = base::checked_multiply(memory.traffic, memory.memory.cost);
    const auto sum = product ? base::checked_add(cost, *product) : std::nullopt;
    if (!sum) return std::nullopt;
    cost = *sum;
  }
  return cost;
}

void check_cost(const Plan& plan, Faults& faults) {
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  const Summary& summary = plan.summary;
  if (summary.cost_bound > summary.cost) {
    claim(fmt::format("the summary's bound of the cost is said to be {}, above its cost {}",
                      summary.cost_bound, summary.cost));
  }
  if (summary.cost == 0) return;
  const auto cost = cost_of(plan);
  if (!cost) {
    claim("the cost of the memories' traffic overflows");
  } else if (summary.cost != *cost) {
    claim(fmt::format("the summary's cost is said to be {} but is {}", summary.cost, *cost));
  }
}

/// Bytes of a plan's tensors of one kind: of all, of those with views, and of the largest in each buffer.
/// None: the sum overflows.
struct Shown {
  std::optional<Bytes> all = 0;
  std::optional<Bytes> placed = 0;
  std::optional<Bytes> shared = 0;
};

Shown shown_of(const Plan& plan, TensorKind kind) {
  Shown shown;
  std::unordered_map<std::size_t, Bytes> largest;  // bytes of the largest tensor in each buffer
  for (const PlannedTensor& tensor : plan.tensors) {
    const bool is_placed = !tensor.views.empty();
    if (tensor.tensor.kind == kind && shown.all)
      shown.all = base::checked_add(*shown.all, tensor.tensor.bytes);
    if (tensor.tensor.kind == kind && is_placed && shown.placed)
      shown.placed = base::checked_add(*shown.placed, tensor.tensor.bytes);
    for (const View& view : tensor.views) {
      const MemoryRole role = plan.memories[plan.places[view.buffer].memory].memory.role;
      const bool is_staged = role == MemoryRole::working && is_constant(kind);
      if (plan.buffers[view.buffer].kind != kind || is_staged) continue;
      Bytes& bytes = largest[view.buffer];
      bytes = std::max(bytes, tensor.tensor.bytes);
    }
  }
  for (const auto& [buffer, bytes] : largest) {
    if (shown.shared) shown.shared = base::checked_add(*shown.shared, bytes);
  }
  return shown;
}

void check_savings(const Plan& plan, Faults& faults) {
  if (!plan.savings) return;
  const bool has_memory = std::any_of(plan.memories.begin(), plan.memories.end(), [](const auto& memory) {
    return memory.memory.role == MemoryRole::weights;
  });
  const auto check_kind = [&](std::string_view name, const Saving& saving, TensorKind kind) {
    const auto claim = [&](const std::string& what) {
      faults.push_back({FaultKind::claim, fmt::format("savings of {}: {}", name, what)});
    };
    const Shown shown = shown_of(plan, kind);
    if (saving.shared < 0 || saving.shared > saving.separate)
      claim(fmt::format("{} bytes shared are said to be of {} separate", saving.shared, saving.separate));
    // Without a memory for them, only the networks and their data show which are stored and which are equal.
    const auto separate = has_memory ? shown.placed : shown.all;
    if (!separate || saving.separate > *separate || (has_memory && saving.separate < *separate))
      claim(fmt::format("{} bytes are said to be separate, but the tensors have {}", saving.separate,
                        separate.value_or(0)));
    if (has_memory && shown.shared != saving.shared)
      claim(fmt::format("{} bytes are said to be shared, but it is {}", saving.shared,
                        shown.shared.value_or(0)));
  };
  check_kind("weights", plan.savings->weights, TensorKind::weight);
  check_kind("instructions", plan.savings->instructions, TensorKind::instruction);
  // Together, models may need more than the sum of their own peaks because of padding.
  if (plan.savings->working.shared != plan.summary.peak) {
    faults.push_back(
        {FaultKind::claim, fmt::format("savings of working memory: {} bytes are said to be shared, but "
                                       "it is {}",
                                       plan.savings->working.shared, plan.summary.peak)});
  }
}

/// Does not check the lower bounds, which would take the search again; checks that the plan does not
/// contradict them.
void check_order_searches(const Plan& plan, Faults& faults) {
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  if (plan.order_searches.empty()) return;
  if (plan.order_searches.size() != plan.models.size()) {
    claim(fmt::format("{} models have {} searches for an order", plan.models.size(),
                      plan.order_searches.size()));
    return;
  }
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    const OrderSearch& search = plan.order_searches[m];
    if (search.model != m)
      claim(fmt::format("the search for an order of model {} is said to be of model {}", m, search.model));
    if (search.lower_bound > search.load || search.load > search.own_load) {
      claim(fmt::format("{}: the load of the order is said to be {}, of its own {}, and none below {}",
                        name_of_model(plan, m), search.load, search.own_load, search.lower_bound));
    }
    if (search.states < 0)
      claim(fmt::format("{}: {} states were searched", name_of_model(plan, m), search.states));
  }
  const Bytes load = plan.order_searches[0].load;
  if (plan.models.size() == 1 && load > plan.summary.peak)
    claim(fmt::format("the load of the order is said to be {}, above the peak {}", load, plan.summary.peak));
}

/// The loads of both orders match those of the search, and moved operators have positions in both.
void check_order_profile(const Plan& plan, Faults& faults) {
  if (!plan.order_profile) return;
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  if (plan.order_searches.size() != 1) {
    claim("two orders of operators are compared, but no search for one is named");
    return;
  }
  const OrderProfile& profile = *plan.order_profile;
  const auto check_loads = [&](std::string_view what, const std::vector<Bytes>& loads, Bytes most) {
    const auto peak = std::max_element(loads.begin(), loads.end());
    if (peak == loads.end() || *peak != most)
      claim(fmt::format("{} order is said to need {} bytes, expected {}", what,
                        peak == loads.end() ? 0 : *peak, most));
  };
  check_loads("the model's own", profile.own.loads, plan.order_searches[0].own_load);
  check_loads("the plan's", profile.planned.loads, plan.order_searches[0].load);
  if (profile.own.loads.size() != profile.planned.loads.size())
    claim(fmt::format("two orders of operators are compared, one with {} steps, one with {}",
                      profile.own.loads.size(), profile.planned.loads.size()));
  for (const MovedOperator& it : profile.moved) {
    if (it.from >= profile.own.loads.size() || it.to >= profile.planned.loads.size())
      claim(fmt::format("an operator is said to move from position {} to {} of {}", it.from, it.to,
                        profile.own.loads.size()));
  }
}

/// What a step computes, in the words of an affine schedule: an operator or a block of it, or the tensor that
/// arrives.
struct Timed {
  std::optional<std::size_t> op{};
  std::optional<std::size_t> tensor{};
  std::optional<RowRange> block{};
  bool sums = false;  ///< It adds rows to sums.

  bool operator==(const Timed&) const = default;
};

/// The steps of an affine schedule in the order of their times. None if a time overflows or there are more
/// than `most` steps.
std::optional<std::vector<Timed>> steps_by_time(const AffineSchedule& affine, std::size_t most) {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>> times;
  for (std::size_t o = 0; o < affine.operators.size(); ++o) {
    const TimedSteps& it = affine.operators[o];
    if (it.count > static_cast<std::int64_t>(most - times.size())) return std::nullopt;
    for (std::int64_t i = 0; i < it.count; ++i) {
      const auto product = base::checked_multiply(it.scale, i);
      const auto time = product ? base::checked_add(*product, it.shift) : std::nullopt;
      if (!time) return std::nullopt;
      times.emplace_back(*time, it.position, o);
    }
  }
  std::sort(times.begin(), times.end());
  std::vector<Timed> steps;
  steps.reserve(times.size());
  for (const auto& it : times) {
    const TimedSteps& of = affine.operators[std::get<2>(it)];
    steps.push_back({of.op, of.tensor, of.block, of.sums});
  }
  return steps;
}

/// Outputs leave in steps of their own, which belong to the step before. So do steps of bodies.
std::vector<Timed> timed_steps_of(const Plan& plan) {
  std::vector<Timed> steps;
  for (const Step& step : plan.clocks.at(0).steps) {
    if (const auto* const run = std::get_if<Run>(&step); run != nullptr && run->path.size() == 2)
      steps.push_back({run->path.back(), std::nullopt, run->block, run->sums.has_value()});
    if (const auto* const arrive = std::get_if<Arrive>(&step)) steps.push_back({.tensor = arrive->tensor});
  }
  return steps;
}

template <typename Claiming>
void check_affine(const Plan& plan, const AffineSchedule& affine, const Claiming& claim) {
  if (affine.load < 0) claim(fmt::format("the load of the affine schedule is said to be {}", affine.load));
  for (const TimedSteps& it : affine.operators) {
    if (it.count < 0 || it.scale < 1 || it.op.has_value() == it.tensor.has_value() ||
        it.tensor.value_or(0) >= plan.tensors.size())
      return claim("an affine time is not one of an operator or an arrival, with a scale of at least 1");
  }
  if (!affine.is_followed) return;
  const std::vector<Timed> steps = timed_steps_of(plan);
  if (steps_by_time(affine, steps.size()) != steps)
    claim("the steps are said to follow an affine schedule, and are in another order");
}

constexpr double rounding = 1 + 1e-9;

/// More multiplies never need more bytes, and the plan is the lowest point. The other plans are not there to
/// be checked.
template <typename ClaimFault>
void check_curve(const Plan& plan, const ClaimFault& claim) {
  const auto& curve = plan.streaming->curve;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const bool is_sound = curve[i].recomputed >= 1 && curve[i].recomputed <= curve[i].limit * rounding;
    const bool goes_on =
        i == 0 || (curve[i - 1].limit < curve[i].limit && curve[i - 1].peak >= curve[i].peak);
    if (!is_sound || !goes_on)
      claim(
          fmt::format("{} times the multiplies are said to need {} bytes, with a limit of {}, expected more "
                      "limit and no more bytes than in front of it",
                      curve[i].recomputed, curve[i].peak, curve[i].limit));
  }
  if (!curve.empty() && curve.back().peak != plan.summary.peak)
    claim(fmt::format("{} bytes are said to be the least of several plans, but this plan has {}",
                      curve.back().peak, plan.summary.peak));
}

/// The planner's loads are not proven, but no region has more load than the whole plan.
void check_streaming(const Plan& plan, Faults& faults) {
  if (left_out(plan, Wish::rows) != nullptr && is_streamed(plan))
    faults.push_back({FaultKind::claim, "rows are said to be left out, but the plan has rows"});
  if (!plan.streaming) return;
  const Streaming& streaming = *plan.streaming;
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  if (streaming.granule < 1)
    claim(fmt::format("steps are said to have {} rows, expected at least 1", streaming.granule));
  if (!(streaming.recomputed >= 1) || std::isinf(streaming.recomputed))
    claim(
        fmt::format("{} times the multiplies are said to be run, expected at least 1", streaming.recomputed));
  if (!(streaming.recompute_limit * rounding >= streaming.recomputed))
    claim(fmt::format("{} times the multiplies are said to be run, expected at most the limit of {}",
                      streaming.recomputed, streaming.recompute_limit));
  if (streaming.load < 0 || streaming.load_of_layers < 0)
    claim(fmt::format("the load is said to be {}, of layers {}", streaming.load, streaming.load_of_layers));
  if (streaming.affine) check_affine(plan, *streaming.affine, claim);
  check_curve(plan, claim);
  for (std::size_t r = 0; r < streaming.regions.size(); ++r) {
    const StreamRegion& region = streaming.regions[r];
    if (region.load < 0 || region.load > streaming.load || region.load_of_layers < 0 ||
        region.load_of_layers > streaming.load_of_layers) {
      claim(fmt::format("the load of region {} is said to be {}, of its layers {}, of all {} and {}", r,
                        region.load, region.load_of_layers, streaming.load, streaming.load_of_layers));
    }
  }
}

}  // namespace

Faults check_claims(const Plan& plan) {
  Faults faults;
  check_summary(plan, faults);
  check_traffic(plan, faults);
  check_cost(plan, faults);
  check_savings(plan, faults);
  check_order_searches(plan, faults);
  check_order_profile(plan, faults);
  check_streaming(plan, faults);
  return faults;
}

}  // namespace stowage::check
