// Idea. A plan gives views of tensors: a whole, a ring, some rows. First they all become the address of each row.
// Then the addresses become the shortest form that C can compute them from: one after the other, a ring, or a list
// of slots that are multiples of the greatest distance that divides all of them.
//
//     96 144 192 96 144 192        ->  offset 96, pitch 48, ring of 3
//     96 432 144 96                ->  offset 96, pitch 48, slots 0 7 1 0
//
// Cost: linear in rows.

#include "generate/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/operands.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

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
  if (at.size() > most_rows) refuse("a tensor has {} rows, expected at most {}", at.size(), most_rows);
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
      refuse("its rows are up to {} units of {} bytes apart, expected at most 65535: plan with --layout ring",
             slot, place.pitch);
    place.slots.push_back(static_cast<std::uint16_t>(slot));
  }
  return place;
}

}  // namespace

Storage::Storage(const Plan& plan, std::size_t tensor, std::size_t outside)
    : tensor_(&plan.tensors[tensor].tensor) {
  const std::vector<View>& views = plan.tensors[tensor].views;
  if (!tensor_->shape) refuse("the shape of {} depends on data", tensor_->name);
  if (views.empty()) {
    memory_ = outside;
    at_ = {0};
    return;
  }
  memory_ = plan.places[views[0].buffer].memory;
  take_views(plan, views);
}

void Storage::take_views(const Plan& plan, const std::vector<View>& views) {
  const auto address = [&](const View& view) { return plan.places[view.buffer].offset + view.offset; };
  for (const View& view : views) {
    if (plan.places[view.buffer].memory != memory_) refuse("{} moves between memories", tensor_->name);
    if (!view.ring && !view.rows) {
      if (std::ranges::any_of(at_, [&](Bytes at) { return at != address(view); }) || axis_)
        refuse("{} has several places", tensor_->name);
      at_ = {address(view)};
      continue;
    }
    const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
    const Bytes row = bytes_of_row(*tensor_, axis).value();
    const std::int64_t extent = rows_along(axis);
    if (axis_ && axis_ != axis) refuse("{} has rows along two axes", tensor_->name);
    if (!axis_ && !at_.empty()) refuse("{} has several places", tensor_->name);
    constexpr Bytes nowhere = -1;
    at_.resize(static_cast<std::size_t>(extent), nowhere);
    axis_ = axis;
    const std::int64_t first = view.rows ? view.rows->begin : 0;
    const std::int64_t last = view.rows ? view.rows->end : extent;
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t slot = view.ring ? r % (view.ring->count * view.ring->granule) : r - first;
      Bytes& at = at_[static_cast<std::size_t>(r)];
      const Bytes here = address(view) + slot * row;
      if (at != nowhere && at != here) refuse("row {} of {} is computed at several places", r, tensor_->name);
      at = here;
    }
  }
  if (std::ranges::any_of(at_, [](Bytes at) { return at < 0; })) refuse("{} lacks rows", tensor_->name);
}

bool Storage::is_outermost(std::size_t axis) const {
  return std::all_of(tensor_->shape->begin(), tensor_->shape->begin() + static_cast<std::ptrdiff_t>(axis),
                     [](std::int64_t extent) { return extent == 1; });
}

bool Storage::is_contiguous() const {
  if (!axis_ || at_.size() == 1) return true;
  const Bytes row = bytes_of_row(*tensor_, *axis_).value();
  for (std::size_t r = 0; r < at_.size(); ++r)
    if (at_[r] != at_[0] + static_cast<Bytes>(r) * row) return false;
  return is_outermost(*axis_);
}

RowPlace Storage::whole() const {
  if (!is_contiguous()) refuse("it reads or writes {} as a whole, whose rows are apart", tensor_->name);
  return place_of(memory_, {at_[0]}, tensor_->bytes);
}

RowPlace Storage::by_rows(std::size_t axis) const {
  const auto row = bytes_of_row(*tensor_, axis);
  if (!row) refuse("{} has no rows along axis {}", tensor_->name, axis);
  if (axis_ && axis_ != axis && !is_contiguous())
    refuse("{} is stored by rows along axis {}, but used along axis {}", tensor_->name, *axis_, axis);
  if (axis_ == axis) return place_of(memory_, at_, *row);
  if (!is_outermost(axis) && rows_along(axis) != 1)
    refuse("rows of {} along axis {} are not contiguous", tensor_->name, axis);
  std::vector<Bytes> at;
  for (std::int64_t r = 0; r < rows_along(axis); ++r) at.push_back(at_[0] + r * *row);
  return place_of(memory_, at, *row);
}

}  // namespace stowage::generate
