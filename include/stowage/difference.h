/// Example: a plan differs in nothing from itself.
///
///     const stowage::Plan plan =
///         stowage::make_plan(stowage::parse_input("id,lower,upper,size\na,0,2,64\n", "list.csv")).plan;
///     const stowage::PlanDifference difference = stowage::difference_of(plan, plan);
///     return difference.buffers.empty() && difference.growth() == 0 ? 0 : 1;
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "stowage/plan.h"

namespace stowage {

/// A number of two plans; none: one of them does not have it.
struct ChangedNumber {
  std::string name{};  ///< "peak", "peak of SRAM"
  std::optional<std::int64_t> before{};
  std::optional<std::int64_t> after{};

  bool operator==(const ChangedNumber&) const = default;
  [[nodiscard]] bool differs() const { return before != after; }
};

/// Where a buffer is in a plan.
struct BufferPlace {
  Bytes size = 0;
  std::string memory{};
  Bytes offset = 0;

  bool operator==(const BufferPlace&) const = default;
};

/// A buffer that is in one of two plans only, or not at the same place or of the same size in both.
struct ChangedBuffer {
  std::string id{};
  std::optional<BufferPlace> before{};
  std::optional<BufferPlace> after{};

  bool operator==(const ChangedBuffer&) const = default;
  [[nodiscard]] bool is_resized() const { return before && after && before->size != after->size; }
};

/// Buffers of a tensor in one plan.
struct TensorBuffers {
  std::size_t row_blocks =
      0;            ///< Each of them has a buffer of its own; 0: the tensor has one buffer, or none.
  Bytes bytes = 0;  ///< Of all buffers together; 0 without any.

  bool operator==(const TensorBuffers&) const = default;
};

/// A tensor that has row blocks in a plan, of which some came, went, changed or moved.
struct ChangedTensor {
  std::string name{};
  TensorBuffers before{};
  TensorBuffers after{};
};

/// What changed from one plan to another. Buffers are the same if they have one id.
struct PlanDifference {
  std::vector<ChangedNumber> numbers{};  ///< All of them, those that are equal, too; the peak first.
  std::vector<ChangedBuffer> buffers{};  ///< In the order of the plans: those that went, then all others.
  std::vector<ChangedTensor> in_rows{};  ///< By name. Their buffers are among `buffers`, too.
  std::vector<std::string> operators_came{};  ///< By the names of the tensors that they compute.
  std::vector<std::string> operators_went{};
  /// The first step of the plan before at which the other one runs something else, operators that came or went aside;
  /// none: they run the same.
  std::optional<std::size_t> first_other_step{};

  /// By how much the peak grew, as a share of that before; 1 from nothing to something. At least 0.
  [[nodiscard]] double growth() const;
};

/// Both plans must be well-formed. Cost: n log n in buffers and steps.
[[nodiscard]] PlanDifference difference_of(const Plan& before, const Plan& after);

enum class DifferenceForm : std::uint8_t { text, markdown, json };

/// Writes a difference. Text and Markdown list up to 20 buffers and tensors in row blocks, those that changed most
/// first; JSON has all, and row blocks also one by one.
void write_difference(const PlanDifference& difference, DifferenceForm form, std::ostream& out);

}  // namespace stowage
