// A quick plan by rows, before axes, blocks, repeats and orders are searched for:
//
//     operators in the network's own order, rows along the axes that follow by themselves, in place
//     where possible, region by region, each row anywhere in memory, offsets by the first passes
//
// Cost: one order by regions with little work, and one packing.

#include "plan/first_rows.h"

#include <memory>
#include <utility>

#include "plan/row_ways.h"
#include "stream/repeat.h"
#include "stream/steps.h"

namespace stowage::plan {
namespace {

constexpr std::int64_t work_on_regions = 2'000'000;  // steps that are tried
constexpr double share_of_offsets = 0.15;            // of the time that is left

}  // namespace

std::optional<Attempt> first_order(const Graph& graph, const PlanOptions& options, const Around& around,
                                   const base::Deadline& deadline) {
  if (options.stream->layout == StreamLayout::ring) return std::nullopt;
  const Way way = ways_of(options).front();
  const auto streamed = std::make_shared<RowNetwork>(RowNetwork{.network = stream::once(graph)});
  streamed->once = stream::instances_of(graph, {.granule = granule_of(*options.stream),
                                                .granules = around.granules,
                                                .io = way.io,
                                                .passed = around.passed,
                                                .in_place = way.in_place});
  streamed->model = streamed->once;
  streamed->program = stream::unroll(streamed->model, {.deadline = deadline});
  if (deadline.is_over()) return std::nullopt;
  stream::RegionOptions regions{.work = work_on_regions, .deadline = deadline};
  if (around.fast)
    regions.fast = stream::FastMemory{*around.fast, stream::weights_of_operators(graph, streamed->model)};
  streamed->regions = stream::order_by_regions(streamed->program, regions);
  if (deadline.is_over()) return std::nullopt;
  const auto order = std::make_shared<const RowOrder>(RowOrder{.steps = streamed->regions.steps,
                                                               .forms = {stream::Form::granules},
                                                               .regions = streamed->regions.regions});
  return Attempt{streamed, order, stream::Form::granules};
}

std::optional<FirstRows> first_rows(const Graph& graph, const PlanOptions& options, const Around& around,
                                    const base::Deadline& deadline) {
  auto from = first_order(graph, options, around, deadline);
  if (!from) return std::nullopt;
  auto placed = place_rows(*from->streamed, *from->order, from->form,
                           {options, options.solve.strategy, around, deadline.part(share_of_offsets)});
  if (!placed) return std::nullopt;
  placed->streaming = streaming_of(*from->streamed, *from->order, *options.stream, around.alignment);
  return FirstRows{std::move(*from), std::move(*placed)};
}

}  // namespace stowage::plan
