#include "run/home.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

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

PlannedHome::PlannedHome(const Graph& graph, const Plan& plan)
    : graph_(graph),
      plan_(plan),
      outside_(graph),
      spots_(graph.tensors.size()),
      tensors_of_(plan.buffers.size()) {
  if (plan.tensors.size() != graph.tensors.size()) {
    throw RunFault{fmt::format("the plan has {} tensors, the network has {}", plan.tensors.size(),
                               graph.tensors.size())};
  }
  for (std::size_t m = 0; m < plan.memories.size(); ++m) arenas_.emplace_back(plan, m);
}

void PlannedHome::move_to(Position at) {
  at_ = at;
  for (Arena& arena : arenas_) arena.move_to(at);
}

void PlannedHome::settle(TensorId tensor) {
  spots_[tensor].reset();
  const PlannedTensor& planned = plan_.tensors[tensor];
  if (planned.views.empty() || graph_.tensors[tensor].bytes == 0) {
    outside_.settle(tensor);
    return;
  }
  const View* best = nullptr;
  for (const View& view : planned.views) {
    const bool is_there = view.life.lower <= at_ && at_ < std::max(view.life.upper, view.life.lower + 1);
    if (is_there && (best == nullptr || view.life.upper > best->life.upper)) best = &view;
  }
  if (best == nullptr) {
    throw RunFault{fmt::format("{} is written at position {}, but the plan has no place for it then",
                               stowage::describe(graph_, tensor), at_)};
  }
  const Place& place = plan_.places[best->buffer];
  spots_[tensor] = Spot{place.memory, best->buffer, place.offset + best->offset};
  std::vector<TensorId>& neighbours = tensors_of_[best->buffer];
  if (std::find(neighbours.begin(), neighbours.end(), tensor) == neighbours.end())
    neighbours.push_back(tensor);
}

std::byte* PlannedHome::bytes_of(TensorId tensor, const std::string& who) {
  const auto& spot = spots_[tensor];
  if (!spot) return outside_.bytes_of(tensor, who);
  const Arena& arena = arenas_[spot->memory];
  arena.expect_held(spot->buffer, spot->begin, graph_.tensors[tensor].bytes,
                    fmt::format("{} of {}", stowage::describe(graph_, tensor), who));
  return arena.bytes() + spot->begin;
}

std::optional<Place> PlannedHome::end_of(TensorId tensor) const {
  const auto& spot = spots_[tensor];
  if (!spot) return std::nullopt;
  return Place{spot->memory, spot->begin + graph_.tensors[tensor].bytes};
}

std::vector<TensorId> PlannedHome::tensors_at(const std::byte* begin, Bytes size) const {
  std::vector<TensorId> tensors;
  for (std::size_t m = 0; m < arenas_.size(); ++m) {
    const Bytes first = begin - arenas_[m].bytes();
    if (first < 0 || first >= arenas_[m].size()) continue;
    // Buffers that hold bytes now do not overlap, so that only tensors of one buffer can be there.
    const auto buffer = arenas_[m].buffer_at(first);
    if (!buffer) continue;
    for (const TensorId tensor : tensors_of_[*buffer]) {
      const auto& spot = spots_[tensor];
      if (spot && spot->buffer == *buffer && spot->begin < first + size &&
          first < spot->begin + graph_.tensors[tensor].bytes)
        tensors.push_back(tensor);
    }
  }
  return tensors;
}

Bytes PlannedHome::live() const {
  Bytes live = 0;
  for (const Arena& arena : arenas_) live += arena.live();
  return live;
}

void PlannedHome::expect_unspoilt(const std::string& who) const {
  for (const Arena& arena : arenas_) {
    if (const auto byte = arena.first_spoilt())
      throw RunFault{fmt::format("{} wrote to byte {} of memory {}, which nobody holds at position {}", who,
                                 *byte, base::quoted(arena.name()), at_)};
  }
}

std::string PlannedHome::describe(const std::byte* address) const {
  for (std::size_t m = 0; m < arenas_.size(); ++m) {
    const Bytes byte = address - arenas_[m].bytes();
    if (byte < 0 || byte >= arenas_[m].size()) continue;
    std::string text = fmt::format("byte {} of memory {}, held by {}", byte, base::quoted(arenas_[m].name()),
                                   arenas_[m].holder_of(byte));
    for (TensorId t = 0; t < spots_.size(); ++t) {
      if (spots_[t] && spots_[t]->memory == m && spots_[t]->begin <= byte &&
          byte < spots_[t]->begin + graph_.tensors[t].bytes)
        text += ", where " + stowage::describe(graph_, t) + " is or was";
    }
    return text;
  }
  return "a byte outside all memories of the plan";
}

}  // namespace stowage::run
