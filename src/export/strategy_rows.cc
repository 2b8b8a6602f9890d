#include "export/strategy_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "export/readable.h"

namespace stowage::exporting {
namespace {

constexpr std::size_t pools_shown = 5;
constexpr std::size_t tunings_shown = 5;

std::string end_of(const Tuning& tuning) {
  switch (tuning.end) {
    case TuningEnd::threshold:
      return fmt::format("nothing lies above the threshold in round {}", tuning.round);
    case TuningEnd::repeated:
      return fmt::format("an order appears for the second time in round {}", tuning.round);
    case TuningEnd::rounds:
      return fmt::format("the set number of rounds, {}", tuning.round);
    case TuningEnd::no_gain:
      return fmt::format("no goal; two rounds without gain, the last is round {}", tuning.round);
    case TuningEnd::stopped:
      break;
  }
  return fmt::format("no goal; stopped in round {}", tuning.round);
}

}  // namespace

Rows rows_of_pools(const Plan& plan) {
  Rows rows;
  for (const SlotPool& pool : std::span(plan.slots).first(std::min(plan.slots.size(), pools_shown)))
    rows.emplace_back("slots", fmt::format("{} of {} at {}, together {}", pool.count, readable(pool.size),
                                           pool.place.offset, readable(pool.end() - pool.place.offset)));
  if (plan.slots.size() > pools_shown)
    rows.emplace_back("", fmt::format("and {} more pools", plan.slots.size() - pools_shown));
  return rows;
}

Rows rows_of_tunings(const Plan& plan) {
  Rows rows;
  for (const Tuning& it : std::span(plan.tunings).first(std::min(plan.tunings.size(), tunings_shown))) {
    const std::string lowest =
        it.lowest_round < it.round ? fmt::format("; lowest in round {}", it.lowest_round) : "";
    rows.emplace_back("tuning", fmt::format("by {}: {}{}", it.sort, end_of(it), lowest));
    rows.emplace_back(
        "  risks", fmt::format("{} high, {} medium, {} low, {} none in round 0{}", it.high, it.medium, it.low,
                               it.none, it.all_high ? "; then all count as high" : ""));
  }
  if (plan.tunings.size() > tunings_shown)
    rows.emplace_back("", fmt::format("and {} more tunings", plan.tunings.size() - tunings_shown));
  return rows;
}

}  // namespace stowage::exporting
