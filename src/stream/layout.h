#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stream/model.h"
#include "stream/program.h"
#include "stream/timetable.h"

namespace stowage::stream {

/// How rows that come and go are stored.
enum class Form : std::uint8_t {
  rings,        ///< One buffer for a tensor, with a slot for each granule alive at once.
  tight_rings,  ///< Rings where no slot is ever empty in between, else granules.
  granules      ///< A buffer for every granule.
};

/// Slots of rings, by tensor.
using ChosenSlots = std::map<TensorId, std::int64_t>;

struct LayoutOptions {
  Form form = Form::rings;
  Bytes alignment = 1;  ///< Of every buffer; sizes are rounded up to it.
  /// These tensors are rings, each of at least so many slots, however few rows they have.
  ChosenSlots slots{};
};

/// Buffers to place, and the places of the graph's tensors in them.
struct Layout {
  std::vector<Buffer> buffers{};
  std::vector<PlannedTensor> tensors{};     ///< One per tensor of the graph, in its order.
  std::vector<std::optional<Sums>> sums{};  ///< Of each operator of the model.
  /// Of each buffer that can be copied as it is between two of these, in the order of time; of others: none. Empty unless
  /// the timetable has them.
  std::vector<std::vector<RowAccess>> accesses{};
};

/// Gives tensors of a streamed network their buffers; see layout.cc.
[[nodiscard]] Layout lay_out(const Graph& graph, const RowModel& model, const RowProgram& program,
                             const RowTimetable& timetable, const LayoutOptions& options);

}  // namespace stowage::stream
