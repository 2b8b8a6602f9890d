// The checker looks at a plan with open rows size by size: the plan at the size, with the model as it is read there. If the
// range has at most 256 sizes, at all of them. Else at a spread: the smallest, so many next to the largest that all
// remainders of strides are there, and others at random; where the largest would have too many steps, a smaller one
// stands for it.
//
// Cost: a reading and a check for each size.

#include "plan/open_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "plan/open_instance.h"
#include "plan/size_samples.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

constexpr std::int64_t steps_of_checks = 6000;  // at most, of sizes that are checked

std::int64_t steps_in(const Plan& plan, const OpenRows& rows, std::int64_t size) {
  std::int64_t steps = 0;
  const std::vector<TimedSteps>& all = plan.streaming->affine->operators;
  for (std::size_t op = 0; op < all.size(); ++op)
    steps += rows.steps[op] ? steps_at(*rows.steps[op], size) : all[op].count;
  return steps;
}

}  // namespace

Faults check_sizes(const Plan& plan, const OpenRows& rows, const ReadAtSize& read,
                   std::vector<std::int64_t>& failed, OpenRowsReport& report) {
  constexpr std::size_t most_failed = 4;
  SizeSymbol range = rows.size;
  while (range.most > rows.at && steps_in(plan, rows, range.most) > steps_of_checks)
    range.most = range.least + (range.most - range.least) / range.step / 2 * range.step;
  const SizeSamples samples = size_samples({&range, 1});
  Faults first;
  std::set<std::int64_t> sizes{rows.at};
  for (const SizeValues& values : samples.values) sizes.insert(values[0]);
  constexpr std::int64_t most_remainders = 256;
  for (const auto& count : rows.steps) {
    for (std::int64_t i = 0; count && i < std::min(count->over, most_remainders); ++i)
      sizes.insert(std::max(range.least, range.most - i * range.step));
  }
  for (const std::int64_t size : sizes) {
    std::optional<Input> input;
    try {
      input = read(size);
    } catch (const UsageError&) {
      throw;
    } catch (const Error&) {
      continue;
    }
    Faults faults;
    try {
      const auto& graph = std::get<Graph>(input->content);
      const Plan there = size == rows.at ? plan : plan_at(plan, rows, size, graph);
      faults = check_plan(there, {&graph, 1});
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      faults.push_back({FaultKind::order, error.what()});
    }
    if (!faults.empty()) {
      failed.push_back(size);
      for (Fault& fault : faults) fault.what = fmt::format("at {}={}: {}", rows.size.name, size, fault.what);
      if (first.empty()) first = std::move(faults);
      if (failed.size() == most_failed) break;
      continue;
    }
    ++report.checked;
    report.largest = std::max(report.largest, size);
  }
  if (report.checked == 0 && first.empty())
    first.push_back({FaultKind::format, "the model rejects all sizes of the plan"});
  report.is_every_size = samples.is_every_size && range.most == rows.size.most && first.empty();
  return first;
}

}  // namespace stowage::plan

namespace stowage {

Faults check_open_rows(const Plan& plan, const OpenRows& rows, const ReadAtSize& read,
                       OpenRowsReport& report) {
  std::vector<std::int64_t> failed;
  report = {};
  if (Faults faults = check_plan(plan); !faults.empty()) return faults;
  (void)plan::schedule_in(plan, rows);
  return plan::check_sizes(plan, rows, read, failed, report);
}

}  // namespace stowage
