// How many rows a step computes. One row at a time needs the least memory, but a network of a thousand operators on
// images of a thousand rows has a million steps: too many to order and to place in seconds. So the steps of a plan
// have as few rows as there is time for.
//
// Cost: a row model for each power of two up to the largest extent.

#include "plan/granules.h"

#include <algorithm>

#include "plan/row_ways.h"

namespace stowage::plan {
namespace {

// In seconds of a processor, about, for a quick plan.
constexpr double time_of_iteration = 25e-6;
constexpr double time_of_read = 0.2e-6;

std::int64_t largest_extent(const Graph& graph) {
  std::int64_t most = 1;
  for (const Tensor& tensor : graph.tensors) {
    if (is_constant(tensor.kind)) continue;
    for (const std::int64_t extent : tensor.shape.value_or(Shape{})) most = std::max(most, extent);
  }
  return most;
}

}  // namespace

PlanOptions with_granule(const PlanOptions& options, std::int64_t granule) {
  PlanOptions own = options;
  own.stream->granule = granule;
  return own;
}

Granules::Granules(const Graph& graph, const PlanOptions& options, const stream::PassedIo& passed) {
  const Way way = ways_of(options).front();
  const auto model_of = [&](std::int64_t rows) {
    return stream::instances_of(graph,
                                {.granule = rows, .io = way.io, .passed = passed, .in_place = way.in_place});
  };
  const std::int64_t fixed = options.stream->granule.value_or(0);
  const std::int64_t most = fixed > 0 ? fixed : std::max<std::int64_t>(1, largest_extent(graph) / 2);
  for (std::int64_t rows = std::max<std::int64_t>(1, fixed); rows <= most; rows *= 2) {
    const stream::RowModel model = model_of(rows);
    if (model.has_too_many && fixed == 0) {
      leaves_out_finer_ = true;
      continue;
    }
    const Seconds quick(time_of_iteration * static_cast<double>(stream::iterations_of(model)) +
                        time_of_read * static_cast<double>(model.row_reads));
    choices_.push_back({rows, quick});
    if (rows > most / 2) break;
  }
  if (choices_.empty()) choices_.push_back({});  // all have too many, so some operators run as wholes
  quick_ = choices_.size();
}

std::optional<std::int64_t> Granules::next_within(Seconds time) {
  for (std::size_t c = 0; c < quick_; ++c) {
    if (choices_[c].quick > time) continue;
    quick_ = c;
    return choices_[c].rows;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Granules::finer_than(std::int64_t rows) const {
  std::optional<std::int64_t> finer;
  for (const Choice& it : choices_) {
    if (it.rows < rows) finer = it.rows;
  }
  return finer;
}

std::int64_t Granules::finest_within(Seconds time) const {
  const auto found = std::ranges::find_if(choices_, [&](const Choice& it) { return it.quick <= time; });
  return found == choices_.end() ? choices_.back().rows : found->rows;
}

}  // namespace stowage::plan
