// Places. A part of a tensor is a list of runs of its bytes. Each run is cut where rows of the tensor's views
// end, and every piece is looked up in the view that has its row now. A whole tensor in one view is one run.
//
//   whole, NCHW       row 1 of 3, axis 2          the same row in a ring, or in a view of rows
//   c0 |r0|r1|r2|          |r1|                   |c0 c1|
//   c1 |r0|r1|r2|          |r1|
//
// Cost: pieces of a part, times views that have its row.

#include "run/home.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/text.h"
#include "stowage/run.h"

namespace stowage::run {

void AlignedBytes::Free::operator()(std::byte* bytes) const {
  ::operator delete(bytes, std::align_val_t(alignment));
}

AlignedBytes::AlignedBytes(std::size_t size)
    : bytes_(static_cast<std::byte*>(::operator new(size, std::align_val_t(alignment)))) {
  std::fill_n(bytes_.get(), size, std::byte{0});
}

Home::Home(Device& device, std::size_t model, std::size_t clock)
    : device_(&device),
      model_(model),
      clock_(clock),
      first_(device.first_tensor_of(model)),
      graph_(device.graph_of(model)),
      outside_(graph_.tensors.size()),
      last_(graph_.tensors.size(), nullptr) {
  for (TensorId t = 0; t < graph_.tensors.size(); ++t) layouts_.push_back(layout_of(t));
}

const PlannedTensor& Home::planned(TensorId tensor) const { return device_->plan().tensors[first_ + tensor]; }

Home::Layout Home::layout_of(TensorId tensor) const {
  const Tensor& own = graph_.tensors[tensor];
  Layout layout{.inner = own.bytes};
  const std::vector<View>& views = planned(tensor).views;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const View& view = views[v];
    if (!view.rows) layout.always.push_back(v);
    if (!view.ring && !view.rows) continue;
    const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
    layout.rows = (*own.shape)[axis];
    layout.inner = inner_bytes(own, axis);
    if (!view.rows) continue;
    layout.of_row.resize(static_cast<std::size_t>(layout.rows));
    for (std::int64_t row = view.rows->begin; row < view.rows->end; ++row)
      layout.of_row[static_cast<std::size_t>(row)].push_back(v);
  }
  return layout;
}

std::string Home::time() const {
  return device_->clocks().describe(clock_, device_->position_of(clock_).value_or(0));
}

void Home::move_to(Position at) {
  if (device_ != nullptr) device_->move_to(clock_, at);
}

/// A view may be on the model's own clock, or on one that forked it. The live range of a state may be empty:
/// then the state is overwritten at its first position.
bool Home::is_alive(const View& view) const {
  const std::size_t clock = device_->plan().buffers[view.buffer].clock;
  const auto at = device_->position_of(clock);
  return at && device_->clocks().is_within(clock_, clock) && view.life.lower <= *at &&
         *at < std::max(view.life.upper, view.life.lower + 1);
}

/// Visits the live views that have the row.
template <typename Look>
void Home::for_each_view(TensorId tensor, std::int64_t row, const Look& look) const {
  const Layout& layout = layouts_[tensor];
  const auto visit = [&](const std::vector<std::size_t>& views) {
    for (const std::size_t v : views) {
      const View& view = planned(tensor).views[v];
      if (is_alive(view)) look(view);
    }
  };
  visit(layout.always);
  if (!layout.of_row.empty()) visit(layout.of_row[static_cast<std::size_t>(row)]);
}

/// The view that steps read and write now; null if there is none.
const View* Home::view_now(TensorId tensor, std::int64_t row) {
  const Plan& plan = device_->plan();
  const auto rank = [&](const View& view) {
    return std::pair(plan.places[view.buffer].memory, -view.life.upper);
  };
  const View* best = nullptr;
  for_each_view(tensor, row, [&](const View& view) {
    if (awaited_ && awaited_->tensor == first_ + tensor && awaited_->to == view.buffer) return;
    if (best == nullptr || rank(view) < rank(*best)) best = &view;
  });
  if (layouts_[tensor].rows > 1) return best;
  if (best != nullptr) last_[tensor] = best;
  return last_[tensor];
}

void Home::release(TensorId tensor) {
  if (outside_[tensor].data() == nullptr) return;
  outside_[tensor] = AlignedBytes();
  in_outside_ -= graph_.tensors[tensor].bytes;
}

PlacedPart Home::find_outside(const TensorPart& part) {
  AlignedBytes& own = outside_[part.tensor];
  if (own.data() == nullptr) {
    const Bytes size = graph_.tensors[part.tensor].bytes;
    own = AlignedBytes(static_cast<std::size_t>(size));
    in_outside_ += size;
    most_outside_ = std::max(most_outside_, in_outside_);
  }
  PlacedPart found = runs_of(graph_, part);
  for (PlacedBytes& bytes : found) bytes.at = own.data() + bytes.offset;
  return found;
}

PlacedPart Home::find(const TensorPart& part, const std::string& who) {
  if (is_outside(part.tensor)) return find_outside(part);
  try {
    return find_in_plan(part, who);
  } catch (const RunFault& fault) {
    throw RunFault{fmt::format("{} of {}", describe(part), fault.what)};
  }
}

PlacedPart Home::find_in_plan(const TensorPart& part, const std::string& who,
                              std::optional<std::size_t> buffer) {
  const Layout& layout = layouts_[part.tensor];
  PlacedPart found;
  for (const PlacedBytes& run : runs_of(graph_, part)) {
    for (Bytes at = run.offset; at < run.offset + run.size;) {
      const std::int64_t row = at / layout.inner % layout.rows;
      const View* const view = buffer ? &view_in(*buffer, part.tensor, row, who) : view_now(part.tensor, row);
      if (view == nullptr) throw RunFault{fmt::format("{} has no place in the plan at {}", who, time())};
      const Bytes end = std::min(run.offset + run.size, at - at % layout.inner + layout.inner);
      Bytes offset = at;  // in the view
      if (view->ring || view->rows) {
        const Bytes row_bytes = graph_.tensors[part.tensor].bytes / layout.rows;
        const std::int64_t place = view->rows
                                       ? row - view->rows->begin
                                       : row / view->ring->granule % view->ring->count * view->ring->granule +
                                             row % view->ring->granule;
        offset = place * row_bytes + at / (layout.inner * layout.rows) * layout.inner + at % layout.inner;
      }
      append(found, {bytes_in(view->buffer, view->offset + offset, end - at, who), at, end - at});
      at = end;
    }
  }
  return found;
}

std::byte* Home::bytes_in(std::size_t buffer, Bytes offset, Bytes size, const std::string& who) const {
  const Place& place = device_->plan().places[buffer];
  const Arena& arena = device_->arenas()[place.memory];
  arena.expect_held(buffer, place.offset + offset, size, who);
  return arena.bytes() + place.offset + offset;
}

void Home::expect_value(std::size_t value, const PlacedPart& at, const std::string& name,
                        const std::string& who) const {
  for (const PlacedBytes& bytes : at) {
    const auto other = device_->contents().first_other(bytes.at, bytes.size, value, bytes.offset);
    if (!other) continue;
    const std::string byte = device_->describe_byte(other->at);
    throw RunFault{other->name ? fmt::format("{} reads {}, but {}, is of {}, where it should be", who, name,
                                             byte, device_->describe(*other->name))
                               : fmt::format("{} reads {}, but nothing was written to {}, where it should be",
                                             who, name, byte)};
  }
}

void Home::expect_there(const TensorPart& part, const PlacedPart& at, const std::string& who) const {
  if (device_ != nullptr) expect_value(first_ + part.tensor, at, describe(part), who);
}

void Home::overwrite(const PlacedPart& at) {
  if (device_ == nullptr) return;
  for (const PlacedBytes& bytes : at) device_->contents().remove(bytes.at, bytes.size);
}

void Home::wrote(const TensorPart& part, const PlacedPart& at) { note(first_ + part.tensor, at); }

void Home::note(std::size_t value, const PlacedPart& at) {
  if (device_ == nullptr) return;
  for (const PlacedBytes& bytes : at)
    device_->contents().add(bytes.at, bytes.size, {value, bytes.offset, device_->step()});
}

PlacedPart Home::find_state(TensorId input, Bytes size, const std::string& who) const {
  if (size == 0) return {};
  const View& view = planned(input).views.front();
  return {{.at = bytes_in(view.buffer, view.offset, size, who), .size = size}};
}

PlacedPart Home::find_sums(const Sums& sums, Bytes size, const std::string& who) const {
  return {{.at = bytes_in(sums.buffer, sums.offset, size, "the sums of " + who), .size = size}};
}

void Home::expect_sums(std::size_t op, const PlacedPart& sums, const std::string& who) const {
  expect_value(device_->value_of_sums(model_, op), sums, "its sums", who);
}

void Home::added(std::size_t op, const PlacedPart& sums) {
  overwrite(sums);
  note(device_->value_of_sums(model_, op), sums);
}

/// The view of the row in that buffer.
const View& Home::view_in(std::size_t buffer, TensorId tensor, std::int64_t row,
                          const std::string& who) const {
  const View* found = nullptr;
  for_each_view(tensor, row, [&](const View& view) {
    if (view.buffer == buffer) found = &view;
  });
  if (found != nullptr) return *found;
  throw RunFault{fmt::format("{} has no place in buffer {} at {}, which {} needs",
                             describe({.tensor = tensor}), base::quoted(device_->plan().buffers[buffer].id),
                             time(), who)};
}

std::vector<PlacedPart> Home::copy(const Copy& copy, const std::string& who) {
  awaited_.reset();
  std::vector<PlacedPart> places;
  for (const TensorPart& part : parts_of(copy.tensor - first_, copy.rows)) {
    const PlacedPart from = find_in_plan(part, who, copy.from);
    expect_there(part, from, who);
    const PlacedPart to = find_in_plan(part, who, copy.to);
    const std::vector<std::byte> value = bytes_of(from);
    const std::byte* next = value.data();
    overwrite(to);
    for (const PlacedBytes& bytes : to) {
      std::memcpy(bytes.at, next, static_cast<std::size_t>(bytes.size));
      next += bytes.size;
    }
    wrote(part, to);
    places.insert(places.end(), {from, to});
  }
  return places;
}

std::vector<PlacedPart> Home::stage(const Copy& copy, std::span<const std::byte> value,
                                    const std::string& who) {
  awaited_.reset();
  std::vector<PlacedPart> places;
  for (const TensorPart& part : parts_of(copy.tensor - first_, copy.rows)) {
    PlacedPart to = find_in_plan(part, who, copy.to);
    overwrite(to);
    for (const PlacedBytes& bytes : to)
      std::memcpy(bytes.at, value.data() + bytes.offset, static_cast<std::size_t>(bytes.size));
    wrote(part, to);
    places.push_back(std::move(to));
  }
  return places;
}

std::vector<PlacedPart> Home::find_staged(TensorId constant, const std::string& who) {
  std::vector<PlacedPart> places;
  if (is_outside(constant)) return places;
  const Plan& plan = device_->plan();
  for (const View& view : planned(constant).views) {
    const MemoryRole role = plan.memories[plan.places[view.buffer].memory].memory.role;
    if (role != MemoryRole::working || !is_alive(view)) continue;
    for (const TensorPart& part : parts_of(constant, view.rows)) {
      places.push_back(find_in_plan(part, who, view.buffer));
      expect_there(part, places.back(), who);
    }
  }
  return places;
}

void Home::note_touched(const PlacedPart& part, std::vector<Bytes>& highest) const {
  if (device_ == nullptr) return;
  const std::vector<Arena>& arenas = device_->arenas();
  highest.resize(arenas.size(), 0);
  for (const PlacedBytes& bytes : part) {
    for (std::size_t m = 0; m < arenas.size(); ++m) {
      const Bytes byte = bytes.at - arenas[m].bytes();
      if (byte >= 0 && byte < arenas[m].size()) highest[m] = std::max(highest[m], byte + bytes.size);
    }
  }
}

std::string Home::describe(const TensorPart& part) const {
  const std::string tensor =
      device_ != nullptr ? device_->describe(first_ + part.tensor) : stowage::describe(graph_, part.tensor);
  return part.row ? fmt::format("row {} of {}", part.row->index, tensor) : tensor;
}

}  // namespace stowage::run
