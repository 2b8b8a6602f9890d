// Rows whose steps are larger where that reads weights less often (stream/steps.cc). How much memory is best spent on
// that, and how much on rows and staged weights, only the plan in all memories shows. So some limits are tried:
//
//     capacity    64 kB
//     limits      48 kB    steps of 1, 1, 4, all rows       room to stage weights
//                 64 kB    steps of 1, 2, 7, all rows
//                 80 kB    steps of 1, 2, all, all rows     some rows in slow memory
//
// Cost: a search for rows for each limit.

#include "plan/row_steps.h"

#include <array>
#include <memory>
#include <utility>

#include "plan/first_rows.h"
#include "plan/granules.h"
#include "plan/row_blocks.h"
#include "plan/row_search.h"
#include "plan/row_ways.h"
#include "stream/repeat.h"
#include "stream/steps.h"

namespace stowage::plan {
namespace {

using base::Deadline;

constexpr std::int64_t work_on_steps = 2'000'000;                  // steps that are tried for one order
constexpr std::array<double, 3> limits_of_steps{0.75, 1.0, 1.25};  // of the capacity
constexpr double share_of_steps = 0.4;                             // of the time, to choose them
constexpr double share_of_quick_rows = 0.4;                        // of the time for a choice

NetworkRows rows_with(const Graph& graph, const PlanOptions& options, const Around& around,
                      const Deadline& deadline) {
  NetworkRows result;
  auto first = first_rows(graph, options, around, deadline.part(share_of_quick_rows));
  std::optional<Attempt> from;
  Bytes peak = largest_value;
  if (first) {
    peak = first->placed.peak;
    from = first->from;
    result.rows = std::make_shared<const PlacedRows>(std::move(first->placed));
  }
  if (!deadline.is_over()) {
    const WholeOperators unknown{.peak = largest_value, .order = stream::once(graph).operators};
    FoundRows better = lowest_rows(graph, options, around, deadline, unknown, peak, from);
    result.is_cut = better.is_cut;
    if (better.best) {
      result.rows = std::make_shared<const PlacedRows>(std::move(*better.best));
      from = std::move(better.from);
    }
  }
  result.from = std::move(from);
  return result;
}

}  // namespace

std::vector<NetworkRows> rows_in_larger_steps(const Input& input, const PlanOptions& options,
                                              const stream::PassedIo& passed, const NetworkRows& found,
                                              Bytes capacity, const Deadline& deadline) {
  std::vector<NetworkRows> all;
  if (!found.rows) return all;
  const Graph graph = found.blocks ? model::stored(*found.blocks)
                                   : chosen_by_rows(std::get<Graph>(input.content), *options.stream);
  const PlanOptions own = with_granule(options, found.rows->streaming.granule);
  const Way way = ways_of(own).front();
  std::vector<Bytes> bytes;
  for (const double limit : limits_of_steps)
    bytes.push_back(static_cast<Bytes>(limit * static_cast<double>(capacity)));
  const std::vector<stream::LargerSteps> steps = stream::steps_within(
      graph, {.granule = *own.stream->granule, .io = way.io, .passed = passed, .in_place = way.in_place},
      bytes, {work_on_steps, deadline.part(share_of_steps)});
  for (std::size_t s = 0; s < steps.size() && !deadline.is_over(); ++s) {
    const Around around{passed, *options.alignment, keeps_state(input), steps[s].granules};
    NetworkRows rows =
        rows_with(graph, own, around, deadline.part(1 / static_cast<double>(steps.size() - s)));
    rows.left_out = found.left_out;
    if (rows.rows && found.blocks)
      rows.rows = std::make_shared<const PlacedRows>(in_network(*rows.rows, *found.blocks));
    if (rows.rows) all.push_back(std::move(rows));
  }
  return all;
}

}  // namespace stowage::plan
