#include "check/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "check/clocks.h"
#include "check/feeds.h"
#include "check/moves.h"
#include "check/moving.h"
#include "check/names.h"
#include "check/slots.h"
#include "check/states.h"
#include "model/blocks.h"
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
    if (memory.memory.granule < 1) {
      faults.push_back({FaultKind::format, fmt::format("{} has granules of {} bytes, expected at least 1",
                                                       name_of_memory(plan, m), memory.memory.granule)});
    }
  }
}

/// The buffers, in their order, whose id an earlier one has. Ids are sorted by their hashes, so that of a
/// million only a few are compared in full.
std::vector<std::size_t> buffers_of_known_ids(const Plan& plan) {
  const auto id_of = [&](std::size_t b) { return std::string_view(plan.buffers[b].id); };
  std::vector<std::pair<std::size_t, std::size_t>> ids;  // hash and buffer
  ids.reserve(plan.buffers.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    ids.emplace_back(std::hash<std::string_view>()(id_of(b)), b);
  std::sort(ids.begin(), ids.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const int order = id_of(a.second).compare(id_of(b.second));
    return order != 0 ? order < 0 : a.second < b.second;
  });
  std::vector<std::size_t> known;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i].first == ids[i - 1].first && id_of(ids[i].second) == id_of(ids[i - 1].second))
      known.push_back(ids[i].second);
  }
  std::sort(known.begin(), known.end());
  return known;
}

void check_buffers_form(const Plan& plan, Faults& faults) {
  const std::vector<std::size_t> known = buffers_of_known_ids(plan);
  Bytes total = 0;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const Place& place = plan.places[b];
    const auto fault = [&](const std::string& what) {
      faults.push_back({FaultKind::format, name_of_buffer(plan, b) + what});
    };
    if (std::binary_search(known.begin(), known.end(), b)) fault(" comes twice");
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

/// A tensor has the bytes of its shape and element type.
template <typename AddFault>
void check_size(const Tensor& tensor, const AddFault& fault) {
  if (!has_open_axes_in_order(tensor)) fault(" is open along axes that it does not have, or not in order");
  if (!tensor.shape || !bits_of(tensor.dtype)) return;
  try {
    const Bytes bytes = bytes_of(tensor.dtype, *tensor.shape);
    if (bytes != tensor.bytes)
      fault(fmt::format(" is said to have {} bytes but has {}", tensor.bytes, bytes));
  } catch (const Error& error) {
    fault(fmt::format(": {}", error.what()));
  }
}

std::string text_of(const RowRange& rows) {
  return fmt::format("rows {} to {} along axis {}", rows.begin, rows.end, rows.axis);
}

/// The fault in rows of a tensor; none if they are correct.
std::optional<std::string> fault_in(const RowRange& rows, const Tensor& tensor) {
  if (!tensor.shape || rows.axis >= tensor.shape->size())
    return text_of(rows) + ", an axis that it does not have";
  if (rows.begin < 0 || rows.begin >= rows.end || rows.end > (*tensor.shape)[rows.axis])
    return fmt::format("{} of {}", text_of(rows), (*tensor.shape)[rows.axis]);
  return std::nullopt;
}

/// A view of rows, or a ring, has rows of its tensor and lies in its buffer.
void check_rows_of_view(const Plan& plan, const PlannedTensor& tensor, const View& view, Faults& faults) {
  const auto fault = [&](const std::string& what) {
    faults.push_back({FaultKind::format, name_of_tensor(tensor) + what});
  };
  if (view.ring && view.rows) return fault(" has a view that is of rows and a ring");
  const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
  const auto& shape = tensor.tensor.shape;
  if (!shape || axis >= shape->size())
    return fault(fmt::format(" is in rows along axis {}, which it does not have", axis));
  const std::int64_t extent = (*shape)[axis];
  const auto row_bytes = bytes_of_row(tensor.tensor, axis);
  if (!row_bytes)
    return fault(fmt::format(" has {} rows along axis {}, which are no whole bytes", extent, axis));
  if (view.rows) {
    if (const auto wrong = fault_in(*view.rows, tensor.tensor))
      return fault(fmt::format(" has a view of {}", *wrong));
  } else if (view.ring->granule < 1 || view.ring->count < 1) {
    return fault(fmt::format(" is in a ring of {} granules of {} rows, expected at least one of each",
                             view.ring->count, view.ring->granule));
  }
  const std::int64_t rows =
      view.rows
          ? view.rows->end - view.rows->begin
          : std::min(base::checked_multiply(view.ring->granule, view.ring->count).value_or(extent), extent);
  const Bytes bytes = *row_bytes * rows;
  const Bytes size = plan.buffers[view.buffer].size;
  if (view.offset < 0 || view.offset > size || bytes > size - view.offset) {
    fault(fmt::format(" takes {} bytes for rows at {}, outside the {} bytes of {}", bytes, view.offset, size,
                      name_of_buffer(plan, view.buffer)));
  }
}

/// The tensor whose places a view names: the tensor itself, or the block as a tensor. None, and a fault, if
/// there is no such block.
std::optional<PlannedTensor> held_by(const View& view, const PlannedTensor& tensor, Faults& faults) {
  PlannedTensor held{.model = tensor.model, .tensor = tensor.tensor};
  if (!view.block) return held;
  const auto fault = [&](const std::string& what) {
    faults.push_back({FaultKind::format, name_of_tensor(tensor) + " has a view of a block of " + what});
    return std::nullopt;
  };
  if (const auto wrong = fault_in(*view.block, tensor.tensor)) return fault(*wrong);
  auto block = model::block_of(tensor.tensor, *view.block);
  if (!block) return fault(text_of(*view.block) + ", which are no whole bytes");
  const auto axis = view.rows   ? std::optional(view.rows->axis)
                    : view.ring ? std::optional(view.ring->axis)
                                : std::nullopt;
  if (axis == view.block->axis) return fault(text_of(*view.block) + ", the axis of its rows");
  held.tensor = std::move(*block);
  return held;
}

void check_tensors_form(const Plan& plan, Faults& faults) {
  std::vector<model::Extents> largest;
  for (std::size_t m = 0; m < plan.models.size(); ++m) largest.push_back(largest_extents(plan, m));
  for (const PlannedTensor& tensor : plan.tensors) {
    const auto fault = [&](const std::string& what) {
      faults.push_back({FaultKind::format, name_of_tensor(tensor) + what});
    };
    if (tensor.model >= plan.models.size())
      return fault(fmt::format(" is of model {}, there are {}", tensor.model, plan.models.size()));
    if (tensor.tensor.bytes < 0) fault(fmt::format(" has {} bytes", tensor.tensor.bytes));
    check_size(tensor.tensor, fault);
    for (const View& view : tensor.views) {
      const auto held = held_by(view, tensor, faults);
      if (!held) continue;
      if (view.buffer >= plan.buffers.size()) {
        fault(" is in a buffer that does not exist");
      } else if (view.ring || view.rows) {
        check_rows_of_view(plan, *held, view, faults);
      } else if (view.offset < 0 || view.offset > plan.buffers[view.buffer].size ||
                 held->tensor.bytes > plan.buffers[view.buffer].size - view.offset) {
        fault(fmt::format(" takes {} bytes at {}, outside the {} bytes of {}", held->tensor.bytes,
                          view.offset, plan.buffers[view.buffer].size, name_of_buffer(plan, view.buffer)));
      }
      if (view.life.lower < 0 || view.life.lower > view.life.upper) {
        fault(fmt::format(" has a view from {} to {}", view.life.lower, view.life.upper));
      }
    }
    if (tensor.views.empty()) continue;
    if (const auto wrong = fault_in_moves(tensor, largest[tensor.model])) fault(*wrong);
  }
}

// Steps of streamed plans

class StepForms {
 public:
  StepForms(const Plan& plan, Faults& faults) : plan_(plan), faults_(faults) {}

  void check() {
    for (const Clock& clock : plan_.clocks) {
      at_ = 0;
      for (const Step& step : clock.steps) {
        std::visit([&](const auto& it) { check(it); }, step);
        ++at_;
      }
    }
  }

 private:
  void fault(const std::string& what) {
    faults_.push_back({FaultKind::format, fmt::format("step {} {}", at_, what)});
  }

  void check(const Run& run) {
    if (run.rows && (run.rows->begin < 0 || run.rows->begin >= run.rows->end))
      fault(fmt::format("runs {}", text_of(*run.rows)));
    if (run.block && (run.sums || run.carry || run.part || run.block->begin < 0 ||
                      run.block->begin >= run.block->end || (run.rows && run.rows->axis == run.block->axis)))
      fault(fmt::format(
          "runs a block of {}, expected some along another axis than its rows, and neither sums nor "
          "parts",
          text_of(*run.block)));
    if (run.part && (!run.rows || run.sums || run.carry)) fault("has a part, but no rows or sums as well");
    if (run.part && (run.part->begin < 0 || run.part->begin >= run.part->end))
      fault(fmt::format("adds {}", text_of(*run.part)));
    if (run.sums && run.carry) fault("has sums and carries them as well");
    if ((run.sums || run.carry) && !run.rows) fault("has sums but no rows");
    if (run.sums) check(*run.sums);
    if (run.carry) check(*run.carry);
  }

  void check(const Sums& sums) {
    if (sums.buffer >= plan_.buffers.size()) {
      fault("has its sums in a buffer that does not exist");
    } else if (sums.offset < 0 || sums.offset > plan_.buffers[sums.buffer].size) {
      fault(fmt::format("has its sums at {}, outside the {} bytes of {}", sums.offset,
                        plan_.buffers[sums.buffer].size, name_of_buffer(plan_, sums.buffer)));
    }
  }

  void check(const Copy& copy) {
    if (copy.tensor >= plan_.tensors.size()) return;  // check_copies_form says so
    const PlannedTensor& tensor = plan_.tensors[copy.tensor];
    for (const auto& part : {copy.rows, std::optional<RowRange>(copy.block)}) {
      if (const auto wrong = part ? fault_in(*part, tensor.tensor) : std::nullopt)
        fault(fmt::format("copies {}, {}", name_of_tensor(tensor), *wrong));
    }
    if (copy.rows && copy.block && copy.rows->axis == copy.block->axis)
      fault(fmt::format("copies a block of {}, the axis of its rows", text_of(*copy.block)));
  }
  void check(const Fork&) {}
  void check(const Pause&) {}
  void check(const Arrive& arrive) { check_passage(arrive, "has {} arrive"); }
  void check(const Leave& leave) { check_passage(leave, "has {} leave"); }

  template <typename Passage>
  void check_passage(const Passage& passage, fmt::format_string<std::string> what) {
    const auto& [tensor, rows, block] = passage;
    if (tensor >= plan_.tensors.size())
      return fault(fmt::format(what, fmt::format("rows of tensor {}, of {},", tensor, plan_.tensors.size())));
    const PlannedTensor& planned = plan_.tensors[tensor];
    for (const auto& part : {rows, std::optional<RowRange>(block)}) {
      if (const auto wrong = part ? fault_in(*part, planned.tensor) : std::nullopt)
        fault(fmt::format(what, fmt::format("{}, {},", name_of_tensor(planned), *wrong)));
    }
    if (rows && block && rows->axis == block->axis)
      fault(fmt::format(what,
                        fmt::format("{} in blocks along the axis of its rows,", name_of_tensor(planned))));
  }

  const Plan& plan_;
  Faults& faults_;
  std::size_t at_ = 0;
};

/// The tensors, buffers and ranges of row steps exist. Requires a correct form otherwise.
void check_streamed_form(const Plan& plan, Faults& faults) {
  if (is_streamed(plan)) {
    StepForms(plan, faults).check();
    return;
  }
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const copy = std::get_if<Copy>(&step);
      if (copy != nullptr && (copy->rows || copy->block))
        faults.push_back({FaultKind::format, "rows of a tensor are copied, but no operator runs by rows"});
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
  if (faults.empty()) check_states_form(plan, faults);
  return faults;
}

}  // namespace stowage::check
