#include "check/streamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "base/checked.h"
#include "check/names.h"

namespace stowage::check {
namespace {

std::string text_of(const RowRange& rows) {
  return fmt::format("rows {} to {} along axis {}", rows.begin, rows.end, rows.axis);
}

/// What is wrong with rows of a tensor; none: nothing.
std::optional<std::string> fault_in(const RowRange& rows, const Tensor& tensor) {
  if (!tensor.shape || rows.axis >= tensor.shape->size())
    return text_of(rows) + ", an axis that it does not have";
  if (rows.begin < 0 || rows.begin >= rows.end || rows.end > (*tensor.shape)[rows.axis])
    return fmt::format("{} of {}", text_of(rows), (*tensor.shape)[rows.axis]);
  return std::nullopt;
}

class StepForms {
 public:
  StepForms(const Plan& plan, Faults& faults) : plan_(plan), faults_(faults) {}

  void check() {
    const auto& steps = plan_.clocks[0].steps;
    for (at_ = 0; at_ < steps.size(); ++at_) std::visit([&](const auto& step) { check(step); }, steps[at_]);
  }

 private:
  void fault(const std::string& what) {
    faults_.push_back({FaultKind::format, fmt::format("step {} {}", at_, what)});
  }

  void check(const Run& run) {
    if (run.rows && (run.rows->begin < 0 || run.rows->begin >= run.rows->end))
      fault(fmt::format("runs {}", text_of(*run.rows)));
    if (run.part && (!run.rows || run.sums)) fault("has a part, but no rows or sums as well");
    if (run.part && (run.part->begin < 0 || run.part->begin >= run.part->end))
      fault(fmt::format("adds {}", text_of(*run.part)));
    if (!run.sums) return;
    if (!run.rows) fault("has sums but no rows");
    if (run.sums->buffer >= plan_.buffers.size()) {
      fault("has its sums in a buffer that does not exist");
    } else if (run.sums->offset < 0 || run.sums->offset > plan_.buffers[run.sums->buffer].size) {
      fault(fmt::format("has its sums at {}, outside the {} bytes of {}", run.sums->offset,
                        plan_.buffers[run.sums->buffer].size, name_of_buffer(plan_, run.sums->buffer)));
    }
  }

  void check(const Copy&) { fault("is a copy; this version understands streamed plans only without"); }
  void check(const Fork&) { fault("is a fork; this version understands streamed plans of one clock"); }
  void check(const Arrive& arrive) { check_passage(arrive.tensor, arrive.rows, "has {} arrive"); }
  void check(const Leave& leave) { check_passage(leave.tensor, leave.rows, "has {} leave"); }

  void check_passage(std::size_t tensor, const std::optional<RowRange>& rows,
                     fmt::format_string<std::string> what) {
    if (tensor >= plan_.tensors.size()) {
      fault(fmt::format(what, fmt::format("rows of tensor {}, of {},", tensor, plan_.tensors.size())));
    } else if (const auto wrong = !rows ? std::nullopt : fault_in(*rows, plan_.tensors[tensor].tensor)) {
      fault(fmt::format(what, fmt::format("{}, {},", name_of_tensor(plan_.tensors[tensor]), *wrong)));
    }
  }

  const Plan& plan_;
  Faults& faults_;
  std::size_t at_ = 0;
};

void expect_one(const char* what, std::size_t count, Faults& faults) {
  if (count == 1) return;
  faults.push_back(
      {FaultKind::format,
       fmt::format("the plan is streamed and has {} {}; this version understands one", count, what)});
}

}  // namespace

void check_streamed_form(const Plan& plan, Faults& faults) {
  if (!is_streamed(plan)) return;
  expect_one("models", plan.models.size(), faults);
  expect_one("clocks", plan.clocks.size(), faults);
  StepForms(plan, faults).check();
}

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

}  // namespace stowage::check
