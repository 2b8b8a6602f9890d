#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stream/model.h"
#include "stream/program.h"
#include "stream/timetable.h"

namespace stowage::stream {

/// What rows that come and go are kept in.
enum class Form : std::uint8_t {
  rings,        ///< One buffer for a tensor, as many granules long as are alive at once.
  tight_rings,  ///< The same where no slot is ever empty meanwhile, else granules by themselves.
  granules      ///< A buffer for every granule.
};

struct LayoutOptions {
  Form form = Form::rings;
  Bytes alignment = 1;  ///< Of every buffer, and what sizes are rounded up to.
};

/// Buffers to place, and where in them the tensors of the graph are.
struct Layout {
  std::vector<Buffer> buffers{};
  std::vector<PlannedTensor> tensors{};     ///< One per tensor of the graph, in its order.
  std::vector<std::optional<Sums>> sums{};  ///< Of each operator of the model.
};

/// Gives tensors of a streamed network their buffers; see layout.cc.
[[nodiscard]] Layout lay_out(const Graph& graph, const RowModel& model, const RowProgram& program,
                             const RowTimetable& timetable, const LayoutOptions& options);

}  // namespace stowage::stream
