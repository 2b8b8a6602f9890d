#include "check/form.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_set>

#include "base/checked.h"
#include "check/clocks.h"
#include "check/feeds.h"
#include "check/moves.h"
#include "check/names.h"
#include "check/slots.h"
#include "check/streamed.h"
#include "stowage/error.h"

namespace stowage::check {
namespace {

void check_memories_form(const Plan& plan, Faults& faults) {
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    const PlannedMemory& memory = plan.memories[m];
    if (memory.memory.cost < 0) {
      faults.push_back(
          {FaultKind::format, fmt::format("{} has cost {}", name_of_memory(plan, m), memory.memory.cost)});
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
    if (buffer.clock >= plan.clocks.size())
      fault(fmt::format(" is of clock {}, there are {}", buffer.clock, plan.clocks.size()));
    if (buffer.size < 0 || buffer.size > largest_value) fault(fmt::format(" has size {}", buffer.size));
    if (buffer.traffic < 0) fault(fmt::format(" has traffic {}", buffer.traffic));
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
      if (view.buffer >= plan.buffers.size()) {
        fault(" is in a buffer that does not exist");
      } else if (view.ring || view.rows) {
        check_rows_of_view(plan, tensor, view, faults);
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

}  // namespace

Faults check_form(const Plan& plan) {
  Faults faults;
  if (plan.places.size() != plan.buffers.size()) {
    faults.push_back({FaultKind::format,
                      fmt::format("{} buffers have {} places", plan.buffers.size(), plan.places.size())});
    return faults;
  }
  check_clocks_form(plan, faults);
  check_memories_form(plan, faults);
  check_buffers_form(plan, faults);
  check_slots_form(plan, faults);
  if (faults.empty()) check_tensors_form(plan, faults);
  if (faults.empty()) check_streamed_form(plan, faults);
  if (faults.empty()) check_feeds_form(plan, faults);
  if (faults.empty()) check_copies_form(plan, faults);
  if (faults.empty()) check_models_form(plan, faults);
  return faults;
}

}  // namespace stowage::check
