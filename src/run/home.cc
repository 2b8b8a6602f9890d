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

void OwnHome::settle(TensorId tensor) {
  if (bytes_[tensor].data() == nullptr)
    bytes_[tensor] = AlignedBytes(static_cast<std::size_t>(graph_.tensors[tensor].bytes));
}

std::byte* OwnHome::bytes_of(TensorId tensor, const std::string& /*who*/) { return bytes_[tensor].data(); }

PlannedHome::PlannedHome(Device& device, std::size_t model, std::size_t clock)
    : device_(device),
      model_(model),
      clock_(clock),
      first_(device.first_tensor_of(model)),
      graph_(device.graph_of(model)),
      outside_(graph_) {}

std::string PlannedHome::time() const {
  return device_.clocks().describe(clock_, device_.position_of(clock_).value_or(0));
}

const std::vector<View>& PlannedHome::views_of(TensorId tensor) const {
  return device_.plan().tensors[first_ + tensor].views;
}

/// A view may be on the model's own clock, or on one that forked it. The live range of a state may be empty:
/// then the state is overwritten at its first position.
bool PlannedHome::is_alive(const View& view) const {
  const std::size_t clock = device_.plan().buffers[view.buffer].clock;
  const auto at = device_.position_of(clock);
  return at && device_.clocks().is_within(clock_, clock) && view.life.lower <= *at &&
         *at < std::max(view.life.upper, view.life.lower + 1);
}

/// The view that steps read and write now; null if none is live.
const View* PlannedHome::view_now(TensorId tensor) const {
  const auto rank = [&](const View& view) {
    return std::pair(device_.plan().places[view.buffer].memory, -view.life.upper);
  };
  const View* best = nullptr;
  for (const View& view : views_of(tensor)) {
    if (awaited_ && awaited_->tensor == first_ + tensor && awaited_->to == view.buffer) continue;
    if (is_alive(view) && (best == nullptr || rank(view) < rank(*best))) best = &view;
  }
  return best;
}

void PlannedHome::settle(TensorId tensor) {
  device_.forget(first_ + tensor);
  if (views_of(tensor).empty() || graph_.tensors[tensor].bytes == 0) {
    outside_.settle(tensor);
    return;
  }
  const View* const view = view_now(tensor);
  if (view == nullptr) {
    throw RunFault{
        fmt::format("{} is written at {}, but the plan has no place for it then", describe(tensor), time())};
  }
  static_cast<void>(device_.spot_at(first_ + tensor, *view));
}

/// The tensor's present place: its first place, or that of the view that is live now.
Spot* PlannedHome::find(TensorId tensor) {
  std::vector<Spot>& spots = device_.spots_of(first_ + tensor);
  if (spots.empty()) return nullptr;
  const View* const view = view_now(tensor);
  return view == nullptr ? &spots.front() : &device_.spot_at(first_ + tensor, *view);
}

std::optional<Spot> PlannedHome::spot_of(TensorId tensor) {
  const Spot* const spot = find(tensor);
  return spot == nullptr ? std::nullopt : std::optional(*spot);
}

std::byte* PlannedHome::hold(const Spot& spot, TensorId tensor, const std::string& who) const {
  const Arena& arena = device_.arenas()[spot.memory];
  arena.expect_held(spot.buffer, spot.begin, graph_.tensors[tensor].bytes,
                    fmt::format("{} of {}", describe(tensor), who));
  return arena.bytes() + spot.begin;
}

std::byte* PlannedHome::bytes_of(TensorId tensor, const std::string& who) {
  const Spot* const spot = find(tensor);
  return spot == nullptr ? outside_.bytes_of(tensor, who) : hold(*spot, tensor, who);
}

void PlannedHome::mark_written(TensorId tensor) {
  Spot* const spot = find(tensor);
  if (spot == nullptr) return;
  spot->has_value = true;
  spot->lost_to.clear();
}

void PlannedHome::expect_value(TensorId tensor, const std::string& who) {
  const Spot* const spot = find(tensor);
  if (spot == nullptr || spot->has_value) return;
  if (!spot->lost_to.empty()) {
    throw RunFault{
        fmt::format("{} is read by {}, but {} wrote over it", describe(tensor), who, spot->lost_to)};
  }
  static_cast<void>(hold(*spot, tensor, who));  // a missing holder is the better message
  throw RunFault{fmt::format("{} is read by {} from buffer {}, where it was neither written nor copied",
                             describe(tensor), who, base::quoted(device_.plan().buffers[spot->buffer].id))};
}

void PlannedHome::overwrite(const std::byte* begin, Bytes size, std::span<const TensorId> written,
                            const std::string& who) {
  std::vector<std::size_t> own;
  for (const TensorId tensor : written) own.push_back(first_ + tensor);
  device_.overwrite(begin, size, own, who);
}

/// The tensor's present place in that buffer.
Spot& PlannedHome::spot_in(std::size_t buffer, TensorId tensor, const std::string& who) {
  for (const View& view : views_of(tensor)) {
    if (view.buffer == buffer && is_alive(view)) return device_.spot_at(first_ + tensor, view);
  }
  throw RunFault{fmt::format("{} has no place in buffer {} at {}, which the {} needs", describe(tensor),
                             base::quoted(device_.plan().buffers[buffer].id), time(), who)};
}

void PlannedHome::copy(const Copy& copy, const std::string& who, std::vector<Bytes>& highest) {
  awaited_.reset();
  const TensorId tensor = copy.tensor - first_;
  const Bytes size = graph_.tensors[tensor].bytes;
  const Spot from = spot_in(copy.from, tensor, who);
  if (!from.has_value) {
    throw RunFault{fmt::format(
        "the {} finds no value in buffer {}: {}", who, base::quoted(device_.plan().buffers[copy.from].id),
        from.lost_to.empty() ? "it was neither written nor copied there" : from.lost_to + " wrote over it")};
  }
  const Spot to = spot_in(copy.to, tensor, who);
  const std::byte* const source = hold(from, tensor, "the " + who);
  std::byte* const target = hold(to, tensor, "the " + who);
  const std::size_t own = copy.tensor;
  device_.overwrite(target, size, {&own, 1}, "the " + who);
  std::memmove(target, source, static_cast<std::size_t>(size));
  spot_in(copy.to, tensor, who).has_value = true;
  for (const Spot& spot : {from, to})
    highest[spot.memory] = std::max(highest[spot.memory], spot.begin + size);
}

}  // namespace stowage::run
