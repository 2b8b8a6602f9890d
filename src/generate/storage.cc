// A plan gives views of tensors: a whole, a ring, some rows. First they all become the address of each row.
// Then the addresses become the shortest form that C can compute them from: one after the other, a ring, or a list
// of slots that are multiples of the greatest distance that divides all of them.
//
//     96 144 192 96 144 192        ->  offset 96, pitch 48, ring of 3
//     96 432 144 96                ->  offset 96, pitch 48, slots 0 7 1 0
//
// Rows that are computed again have a place for each time: then the list is one of versions, not of rows.
//
// Cost: linear in rows.

#include "generate/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace stowage::generate {
namespace {

/// The ring after which addresses repeat, if they are at equal distances until then.
std::optional<std::int64_t> ring_of(const std::vector<Bytes>& at, Bytes pitch) {
  std::size_t ring = 1;
  while (ring < at.size() && at[ring] == at[0] + static_cast<Bytes>(ring) * pitch) ++ring;
  for (std::size_t r = 0; r < at.size(); ++r) {
    if (at[r] != at[0] + static_cast<Bytes>(r % ring) * pitch) return std::nullopt;
  }
  return static_cast<std::int64_t>(ring);
}

RowPlace place_of(std::size_t memory, const std::vector<Bytes>& at, Bytes row) {
  constexpr std::size_t most_rows = std::numeric_limits<std::uint16_t>::max();
  if (at.size() > most_rows) misplace("a tensor has {} rows, expected at most {}", at.size(), most_rows);
  RowPlace place{
      .memory = memory, .offset = at[0], .pitch = row, .rows = static_cast<std::int64_t>(at.size())};
  if (at.size() > 1 && at[1] > at[0]) place.pitch = at[1] - at[0];
  if (const auto ring = ring_of(at, place.pitch)) {
    place.ring = *ring;
    return place;
  }
  place.offset = *std::ranges::min_element(at);
  place.pitch = 0;
  for (const Bytes address : at) place.pitch = std::gcd(place.pitch, address - place.offset);
  for (const Bytes address : at) {
    const Bytes slot = (address - place.offset) / place.pitch;
    if (slot > std::numeric_limits<std::uint16_t>::max())
      misplace(
          "its rows are up to {} units of {} bytes apart, expected at most 65535: plan with --layout ring",
          slot, place.pitch);
    place.slots.push_back(static_cast<std::uint16_t>(slot));
  }
  return place;
}

/// All views, or, if they are in several memories, those that operators use at a position: in the fastest one.
std::vector<View> views_at(const Plan& plan, const std::vector<View>& all, std::optional<Position> at) {
  const auto memory_of = [&](const View& view) { return plan.places[view.buffer].memory; };
  if (!at || std::ranges::all_of(all, [&](const View& view) { return memory_of(view) == memory_of(all[0]); }))
    return all;
  std::vector<View> live;
  for (const View& view : all) {
    if (view.life.lower > *at || view.life.upper <= *at) continue;
    if (!live.empty() && memory_of(live[0]) > memory_of(view)) live.clear();
    if (live.empty() || memory_of(live[0]) == memory_of(view)) live.push_back(view);
  }
  return live;
}

}  // namespace

std::optional<Bytes> address_in(const Plan& plan, const View& view, std::int64_t row, Bytes bytes) {
  const std::int64_t first = view.rows ? view.rows->begin : 0;
  if (view.rows && (row < first || row >= view.rows->end)) return std::nullopt;
  const std::int64_t slot = view.ring ? row % (view.ring->count * view.ring->granule) : row - first;
  return plan.places[view.buffer].offset + view.offset + slot * bytes;
}

bool is_outermost(const Tensor& tensor, std::size_t axis) {
  return std::all_of(tensor.shape->begin(), tensor.shape->begin() + static_cast<std::ptrdiff_t>(axis),
                     [](std::int64_t extent) { return extent == 1; });
}

RowPlace place_in_buffer(const Plan& plan, std::size_t tensor, std::size_t buffer, Position at) {
  const PlannedTensor& own = plan.tensors[tensor];
  for (const View& view : own.views) {
    if (view.buffer != buffer || view.life.lower > at || view.life.upper <= at) continue;
    const Place& place = plan.places[buffer];
    return {.memory = place.memory, .offset = place.offset + view.offset, .pitch = own.tensor.bytes};
  }
  misplace("{} is not in its buffer at {}", own.tensor.name, at);
}

Storage::Storage(const Plan& plan, std::size_t tensor, std::size_t outside, std::optional<Position> at)
    : tensor_(&plan.tensors[tensor].tensor) {
  const std::vector<View> views = views_at(plan, plan.tensors[tensor].views, at);
  if (!tensor_->shape) misplace("the shape of {} depends on data", tensor_->name);
  if (plan.tensors[tensor].views.empty()) {
    memory_ = outside;
    at_ = {0};
    return;
  }
  if (views.empty()) misplace("{} has no place at {}", tensor_->name, at.value_or(0));
  memory_ = plan.places[views[0].buffer].memory;
  take_views(plan, views);
}

Storage::Storage(const Plan& plan, std::size_t tensor, const Repeats& repeats)
    : tensor_(&plan.tensors[tensor].tensor), has_versions_(true) {
  const std::vector<View>& views = plan.tensors[tensor].views;
  if (views.empty() || !tensor_->shape) misplace("{} is computed again, but has no places", tensor_->name);
  memory_ = plan.places[views[0].buffer].memory;
  take_versions(plan, views, repeats);
}

Storage::Storage(const Plan& plan, std::size_t tensor, const MovingRows& moving)
    : tensor_(&plan.tensors[tensor].tensor), axis_(moving.axis), moves_(true) {}

/// A step writes the only place that a row has then, so whoever reads the row finds its last version.
void Storage::take_versions(const Plan& plan, const std::vector<View>& views, const Repeats& repeats) {
  axis_ = repeats.axis;
  for (const View& view : views) {
    const std::size_t axis = view.ring ? view.ring->axis : view.rows ? view.rows->axis : *axis_;
    if (!view.ring && !view.rows && !is_outermost(*tensor_, axis))
      misplace("rows of {} along axis {} are computed again, but are apart", tensor_->name, axis);
    if (*axis_ != axis) misplace("{} has rows along two axes", tensor_->name);
    if (plan.places[view.buffer].memory != memory_) misplace("{} moves between memories", tensor_->name);
  }
  const Bytes bytes = bytes_of_row(*tensor_, *axis_).value();
  for (std::size_t k = 0; k < repeats.blocks.size(); ++k) {
    const std::int64_t begin = repeats.blocks[k] * repeats.granule;
    for (std::int64_t row = begin; row < begin + repeats.granule; ++row) {
      if (row >= rows_along(*axis_)) {  // the last block may have fewer rows
        at_.push_back(at_.back() + bytes);
        continue;
      }
      std::optional<Bytes> at;
      for (const View& view : views) {
        if (view.life.lower > repeats.positions[k] || view.life.upper <= repeats.positions[k]) continue;
        const auto here = address_in(plan, view, row, bytes);
        if (at && here && *at != *here) misplace("row {} of {} has two places at a time", row, tensor_->name);
        if (here) at = here;
      }
      if (!at) misplace("row {} of {} has no place", row, tensor_->name);
      at_.push_back(*at);
    }
  }
}

void Storage::take_views(const Plan& plan, const std::vector<View>& views) {
  const auto address = [&](const View& view) { return plan.places[view.buffer].offset + view.offset; };
  for (const View& view : views) {
    if (plan.places[view.buffer].memory != memory_) misplace("{} moves between memories", tensor_->name);
    if (!view.ring && !view.rows) {
      if (std::ranges::any_of(at_, [&](Bytes at) { return at != address(view); }) || axis_)
        misplace("{} has several places", tensor_->name);
      at_ = {address(view)};
      continue;
    }
    const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
    const Bytes row = bytes_of_row(*tensor_, axis).value();
    const std::int64_t extent = rows_along(axis);
    if (axis_ && axis_ != axis) misplace("{} has rows along two axes", tensor_->name);
    if (!axis_ && !at_.empty()) misplace("{} has several places", tensor_->name);
    constexpr Bytes nowhere = -1;
    at_.resize(static_cast<std::size_t>(extent), nowhere);
    axis_ = axis;
    const std::int64_t first = view.rows ? view.rows->begin : 0;
    const std::int64_t last = view.rows ? view.rows->end : extent;
    for (std::int64_t r = first; r < last; ++r) {
      Bytes& at = at_[static_cast<std::size_t>(r)];
      const Bytes here = address_in(plan, view, r, row).value();
      if (at != nowhere && at != here)
        misplace("row {} of {} is computed at several places", r, tensor_->name);
      at = here;
    }
  }
  if (std::ranges::any_of(at_, [](Bytes at) { return at < 0; })) misplace("{} lacks rows", tensor_->name);
}

bool Storage::is_contiguous() const {
  if (has_versions_) return false;
  if (moves_) return !axis_;
  if (!axis_ || at_.size() == 1) return true;
  const Bytes row = bytes_of_row(*tensor_, *axis_).value();
  for (std::size_t r = 0; r < at_.size(); ++r)
    if (at_[r] != at_[0] + static_cast<Bytes>(r) * row) return false;
  return is_outermost(*tensor_, *axis_);
}

void Storage::expect_to_stay() const {
  if (moves_) misplace("its kernel needs {} in one place, but it moves between memories", tensor_->name);
}

RowPlace Storage::whole() const {
  expect_to_stay();
  if (!is_contiguous()) misplace("it reads or writes {} as a whole, whose rows are apart", tensor_->name);
  return place_of(memory_, {at_[0]}, tensor_->bytes);
}

RowPlace Storage::by_rows(std::size_t axis) const {
  expect_to_stay();
  const auto row = bytes_of_row(*tensor_, axis);
  if (!row) misplace("{} has no rows along axis {}", tensor_->name, axis);
  if (axis_ && axis_ != axis && !is_contiguous())
    misplace("{} is stored by rows along axis {}, but used along axis {}", tensor_->name, *axis_, axis);
  if (axis_ == axis) return place_of(memory_, at_, *row);
  if (!is_outermost(*tensor_, axis) && rows_along(axis) != 1)
    misplace("rows of {} along axis {} are not contiguous", tensor_->name, axis);
  std::vector<Bytes> at;
  for (std::int64_t r = 0; r < rows_along(axis); ++r) at.push_back(at_[0] + r * *row);
  return place_of(memory_, at, *row);
}

}  // namespace stowage::generate
