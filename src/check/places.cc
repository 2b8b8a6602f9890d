#include "check/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "model/overlap.h"
#include "stowage/error.h"

namespace stowage::check {
namespace {

std::string name_of_buffer(const Plan& plan, std::size_t buffer) {
  return "buffer " + base::quoted(plan.buffers[buffer].id);
}

std::string name_of_tensor(const PlannedTensor& tensor) {
  return "tensor " + base::quoted(tensor.tensor.name);
}

void check_steps_form(const Plan& plan, Faults& faults) {
  if (plan.clocks.size() != 1) {
    faults.push_back(
        {FaultKind::format,
         fmt::format("the plan has {} clocks; this version understands plans of one", plan.clocks.size())});
    return;
  }
  for (std::size_t at = 0; at < plan.clocks[0].steps.size(); ++at) {
    const auto* const run = std::get_if<Run>(&plan.clocks[0].steps[at]);
    if (run == nullptr || run->rows) {
      faults.push_back(
          {FaultKind::format,
           fmt::format("step {} is not a whole operator; this version understands only those", at)});
    } else if (run->model >= plan.models.size()) {
      faults.push_back({FaultKind::format, fmt::format("step {} is of model {}, there are {}", at, run->model,
                                                       plan.models.size())});
    }
  }
}

void check_buffers_form(const Plan& plan, Faults& faults) {
  std::unordered_set<std::string_view> ids;
  Bytes total = 0;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const Place& place = plan.places[b];
    const auto fault = [&](const std::string& what) {
      faults.push_back({FaultKind::format, name_of_buffer(plan, b) + what});
    };
    if (!ids.insert(buffer.id).second) fault(" comes twice");
    if (buffer.clock != 0) fault(fmt::format(" is of clock {}, there is only clock 0", buffer.clock));
    if (buffer.size < 0 || buffer.size > largest_value) fault(fmt::format(" has size {}", buffer.size));
    if (buffer.alignment < 1) fault(fmt::format(" has alignment {}, expected at least 1", buffer.alignment));
    if (buffer.pinned && (*buffer.pinned < 0 || *buffer.pinned > largest_value)) {
      fault(fmt::format(" is pinned at {}", *buffer.pinned));
    }
    if (place.memory >= plan.memories.size())
      fault(fmt::format(" is in memory {}, which does not exist", place.memory));
    if (place.offset < 0 || place.offset > largest_value)
      fault(fmt::format(" is at offset {}", place.offset));
    const auto sum = base::checked_add(total, buffer.size);
    if (!sum || *sum > largest_value) {
      fault(" overflows the sum of sizes");
      return;
    }
    total = *sum;
    for (const Piece& piece : buffer.pieces) {
      if (piece.life.lower < 0 || piece.life.lower > piece.life.upper) {
        fault(fmt::format(" has a piece alive from {} to {}", piece.life.lower, piece.life.upper));
      }
      if (piece.offset < 0 || piece.size < 0 || piece.offset > buffer.size ||
          piece.size > buffer.size - piece.offset) {
        fault(fmt::format(" has a piece of {} bytes at {}, outside its {} bytes", piece.size, piece.offset,
                          buffer.size));
      }
    }
  }
}

/// A tensor's bytes are those of its shape and element type.
template <typename AddFault>
void check_size(const Tensor& tensor, const AddFault& fault) {
  if (!tensor.shape || !bits_of(tensor.dtype)) return;
  try {
    const Bytes bytes = bytes_of(tensor.dtype, *tensor.shape);
    if (bytes != tensor.bytes)
      fault(fmt::format(" is said to have {} bytes but has {}", tensor.bytes, bytes));
  } catch (const Error& error) {
    fault(fmt::format(": {}", error.what()));
  }
}

void check_tensors_form(const Plan& plan, Faults& faults) {
  for (const PlannedTensor& tensor : plan.tensors) {
    const auto fault = [&](const std::string& what) {
      faults.push_back({FaultKind::format, name_of_tensor(tensor) + what});
    };
    if (tensor.model >= plan.models.size())
      fault(fmt::format(" is of model {}, there are {}", tensor.model, plan.models.size()));
    if (tensor.tensor.bytes < 0) fault(fmt::format(" has {} bytes", tensor.tensor.bytes));
    check_size(tensor.tensor, fault);
    for (const View& view : tensor.views) {
      if (view.ring) fault(" is in a ring; this version understands only whole tensors");
      if (view.buffer >= plan.buffers.size()) {
        fault(" is in a buffer that does not exist");
      } else if (view.offset < 0 || view.offset > plan.buffers[view.buffer].size ||
                 tensor.tensor.bytes > plan.buffers[view.buffer].size - view.offset) {
        fault(fmt::format(" takes {} bytes at {}, outside the {} bytes of {}", tensor.tensor.bytes,
                          view.offset, plan.buffers[view.buffer].size, name_of_buffer(plan, view.buffer)));
      }
      if (view.life.lower < 0 || view.life.lower > view.life.upper) {
        fault(fmt::format(" has a view from {} to {}", view.life.lower, view.life.upper));
      }
    }
  }
}

void check_place(const Plan& plan, std::size_t b, Faults& faults) {
  const Buffer& buffer = plan.buffers[b];
  const Place& place = plan.places[b];
  if (place.offset % buffer.alignment != 0) {
    faults.push_back(
        {FaultKind::alignment, fmt::format("{} is at {}, which is not a multiple of its alignment {}",
                                           name_of_buffer(plan, b), place.offset, buffer.alignment)});
  }
  if (buffer.pinned && *buffer.pinned != place.offset) {
    faults.push_back({FaultKind::pin, fmt::format("{} is at {} but pinned at {}", name_of_buffer(plan, b),
                                                  place.offset, *buffer.pinned)});
  }
  if (!buffer.memories.empty() &&
      std::find(buffer.memories.begin(), buffer.memories.end(), place.memory) == buffer.memories.end()) {
    faults.push_back(
        {FaultKind::pin, fmt::format("{} is in memory {}, where it must not be", name_of_buffer(plan, b),
                                     base::quoted(plan.memories[place.memory].memory.name))});
  }
  const Memory& memory = plan.memories[place.memory].memory;
  if (memory.capacity && place.offset + buffer.size > *memory.capacity) {
    faults.push_back({FaultKind::capacity,
                      fmt::format("{} ends at {}, beyond the {} bytes of memory {}", name_of_buffer(plan, b),
                                  place.offset + buffer.size, *memory.capacity, base::quoted(memory.name))});
  }
}

/// The most bytes alive at once among boxes. Boxes that overlap may add up to more than 64 bits hold.
Bytes most_alive(const std::vector<model::Box>& boxes) {
  __extension__ using Sum = __int128;
  std::vector<std::pair<Position, Bytes>> changes;
  for (const model::Box& box : boxes) {
    changes.emplace_back(box.life.lower, box.end - box.begin);
    changes.emplace_back(box.life.upper, box.begin - box.end);
  }
  std::sort(changes.begin(), changes.end());  // at one position what ends comes first
  Sum alive = 0;
  Sum most = 0;
  for (const auto& [at, change] : changes) {
    alive += change;
    most = std::max(most, alive);
  }
  return static_cast<Bytes>(std::min<Sum>(most, largest_value));
}

void check_memory(const Plan& plan, std::size_t m, const std::vector<std::size_t>& buffers, Faults& faults) {
  std::vector<model::Box> boxes;
  Bytes peak = 0;
  Bytes provable = 0;
  for (const std::size_t b : buffers) {
    const Buffer& buffer = plan.buffers[b];
    const Bytes offset = plan.places[b].offset;
    peak = std::max(peak, offset + buffer.size);
    provable = std::max(provable, buffer.pinned.value_or(0) + buffer.size);
    for (const Piece& piece : buffer.pieces) {
      boxes.push_back({piece.life, offset + piece.offset, offset + piece.offset + piece.size, b});
    }
  }
  if (const auto overlap = model::find_overlap(boxes)) {
    const model::Box& first = boxes[overlap->first];
    const model::Box& second = boxes[overlap->second];
    faults.push_back(
        {FaultKind::overlap,
         fmt::format("{} (bytes {} to {}) and {} (bytes {} to {}) overlap at position {}",
                     name_of_buffer(plan, first.holder), first.begin, first.end,
                     name_of_buffer(plan, second.holder), second.begin, second.end, overlap->at)});
  }
  const PlannedMemory& memory = plan.memories[m];
  const auto claim = [&](const std::string& what) {
    faults.push_back(
        {FaultKind::claim, fmt::format("memory {}: {}", base::quoted(memory.memory.name), what)});
  };
  if (memory.peak != peak) claim(fmt::format("its peak is said to be {} but is {}", memory.peak, peak));
  provable = std::max(provable, most_alive(boxes));
  if (memory.lower_bound > provable) {
    claim(fmt::format("its lower bound is said to be {} but only {} can be proven", memory.lower_bound,
                      provable));
  }
}

void check_summary(const Plan& plan, Faults& faults) {
  Bytes peak = 0;
  Bytes bound = 0;
  for (const PlannedMemory& memory : plan.memories) {
    if (memory.memory.role == MemoryRole::weights) continue;
    const auto peaks = base::checked_add(peak, memory.peak);
    const auto bounds = base::checked_add(bound, memory.lower_bound);
    if (!peaks || !bounds) {
      faults.push_back({FaultKind::claim, "the peaks or lower bounds of the memories overflow"});
      return;
    }
    peak = *peaks;
    bound = *bounds;
  }
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  if (plan.summary.peak != peak)
    claim(fmt::format("the summary's peak is said to be {} but is {}", plan.summary.peak, peak));
  if (plan.summary.lower_bound > bound) {
    claim(fmt::format("the summary's lower bound is said to be {} but only {} can be proven",
                      plan.summary.lower_bound, bound));
  }
  for (const Claim& it : plan.claims) {
    if (it.scope != ClaimScope::offsets) {
      claim(fmt::format("a claim of scope {} is made, which this version cannot prove", name_of(it.scope)));
    } else if (it.lower_bound > bound || (it.proven_optimal && it.lower_bound != peak)) {
      claim(
          fmt::format("the claim for offsets, bound {}, proven optimal: {}, does not hold for peak {} and "
                      "provable bound {}",
                      it.lower_bound, it.proven_optimal, peak, bound));
    }
  }
}

/// The pieces of a buffer in order of time, to ask which bytes they hold when. A buffer of a body
/// that runs many times has as many pieces; a question looks only at those near it in time.
class PiecesInTime {
 public:
  explicit PiecesInTime(const Buffer& buffer) : pieces_(buffer.pieces) {
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.life.lower < b.life.lower; });
    Position latest = 0;
    for (const Piece& piece : pieces_) latest_upper_.push_back(latest = std::max(latest, piece.life.upper));
  }

  /// Whether live pieces hold bytes [begin, end) during all of `life`. Pieces of one buffer do not
  /// overlap (check_memory), so they do when together they cover as much of that rectangle as it has.
  [[nodiscard]] bool hold(Bytes begin, Bytes end, const Lifetime& life) const {
    __extension__ using Area = unsigned __int128;
    const auto area = [](Bytes bytes, Position time) {
      return bytes > 0 && time > 0 ? static_cast<Area>(bytes) * static_cast<Area>(time) : Area{0};
    };
    Area covered = 0;
    const auto first = std::upper_bound(latest_upper_.begin(), latest_upper_.end(), life.lower);
    for (auto at = pieces_.begin() + (first - latest_upper_.begin());
         at != pieces_.end() && at->life.lower < life.upper; ++at) {
      covered += area(std::min(end, at->offset + at->size) - std::max(begin, at->offset),
                      std::min(life.upper, at->life.upper) - std::max(life.lower, at->life.lower));
    }
    return covered >= area(end - begin, life.upper - life.lower);
  }

 private:
  std::vector<Piece> pieces_;
  std::vector<Position> latest_upper_;  ///< Of the pieces up to each one.
};

}  // namespace

Faults check_form(const Plan& plan) {
  Faults faults;
  if (plan.places.size() != plan.buffers.size()) {
    faults.push_back({FaultKind::format,
                      fmt::format("{} buffers have {} places", plan.buffers.size(), plan.places.size())});
    return faults;
  }
  check_steps_form(plan, faults);
  check_buffers_form(plan, faults);
  if (faults.empty()) check_tensors_form(plan, faults);
  return faults;
}

Faults check_places(const Plan& plan) {
  Faults faults;
  std::vector<std::vector<std::size_t>> buffers_in(plan.memories.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    check_place(plan, b, faults);
    buffers_in[plan.places[b].memory].push_back(b);
  }
  for (std::size_t m = 0; m < plan.memories.size(); ++m) check_memory(plan, m, buffers_in[m], faults);
  check_summary(plan, faults);
  return faults;
}

Faults check_views(const Plan& plan) {
  Faults faults;
  std::unordered_map<std::size_t, PiecesInTime> pieces_of;
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) {
      const PiecesInTime& pieces =
          pieces_of.try_emplace(view.buffer, plan.buffers[view.buffer]).first->second;
      if (!pieces.hold(view.offset, view.offset + tensor.tensor.bytes, view.life)) {
        faults.push_back(
            {FaultKind::accounting,
             fmt::format("{} is in {} from {} to {}, but not all of its bytes are reserved there then",
                         name_of_tensor(tensor), name_of_buffer(plan, view.buffer), view.life.lower,
                         view.life.upper)});
      }
    }
  }
  return faults;
}

}  // namespace stowage::check
