#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generate/moving.h"
#include "kernels/kernel.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/units.h"

namespace stowage::generate {

/// Thrown if the plan has a tensor where the C cannot have it.
struct Misplaced : kernels::Unsupported {};

template <typename... Parts>
[[noreturn]] void misplace(fmt::format_string<Parts...> form, Parts&&... parts) {
  throw Misplaced{{fmt::format(form, std::forward<Parts>(parts)...)}};
}

/// Where the rows of a tensor are, in the terms of `stowage_place`: row r is at offset + slot * pitch, with
/// slot r % ring, or slots[r] if there are any.
struct RowPlace {
  std::size_t memory = 0;
  Bytes offset = 0;
  Bytes pitch = 0;
  std::int64_t rows = 1;
  std::int64_t ring = 1;
  std::vector<std::uint16_t> slots{};
};

/// The rows of its input that a step adds to those of its output; the first one begins them.
struct AddedPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool is_first = true;
};

/// The steps of an operator that computes some row blocks again, or not in their order. Each of them is a version of
/// these rows.
struct Repeats {
  std::size_t number = 0;  ///< Of the operator among those of the schedule.
  std::int64_t granule = 1;
  std::size_t axis = 0;                ///< Of the rows of its outputs.
  std::vector<std::int64_t> blocks{};  ///< In the order of the steps.
  std::vector<Position> positions{};   ///< Of the steps.
  std::vector<AddedPart> parts{};      ///< Of the steps, if they add parts of rows; else empty.
};

/// The place of a whole tensor in a buffer at a position.
[[nodiscard]] RowPlace place_in_buffer(const Plan& plan, std::size_t tensor, std::size_t buffer, Position at);

/// The address of a row in a view that has it.
[[nodiscard]] std::optional<Bytes> address_in(const Plan& plan, const View& view, std::int64_t row,
                                              Bytes bytes);

/// Whether its rows along an axis follow each other as they do in row-major order.
[[nodiscard]] bool is_outermost(const Tensor& tensor, std::size_t axis);

/// The place of a tensor of the network. Its rows are along `axis`; without one it is a single row. A tensor
/// that is whole but is read by rows gets rows, too.
class Storage {
 public:
  /// Requires a planned tensor, or an input or output that the caller has, at the start of `outside`. Throws
  /// kernels::Unsupported if one place cannot describe where it is. If the plan moves it, the place is the one that
  /// operators use at that position; without one there is no such place.
  Storage(const Plan& plan, std::size_t tensor, std::size_t outside, std::optional<Position> at);
  /// The place of a tensor that is computed again: its rows are the versions, in the order of the steps.
  Storage(const Plan& plan, std::size_t tensor, const Repeats& repeats);
  /// Of a tensor that moves: it has no place that stays.
  Storage(const Plan& plan, std::size_t tensor, const MovingRows& moving);

  /// Its rows along that axis. Throws kernels::Unsupported if memory does not have them one by one.
  [[nodiscard]] RowPlace by_rows(std::size_t axis) const;
  /// The tensor as one row. Throws kernels::Unsupported if its rows are apart.
  [[nodiscard]] RowPlace whole() const;
  /// True if its bytes follow each other in row-major order.
  [[nodiscard]] bool is_contiguous() const;
  /// The axis of the rows that it is stored by, if it is.
  [[nodiscard]] std::optional<std::size_t> axis() const { return axis_; }

 private:
  [[nodiscard]] std::int64_t rows_along(std::size_t axis) const { return (*tensor_->shape)[axis]; }
  void expect_to_stay() const;
  void take_views(const Plan& plan, const std::vector<View>& views);
  void take_versions(const Plan& plan, const std::vector<View>& views, const Repeats& repeats);

  const Tensor* tensor_;
  std::size_t memory_ = 0;
  std::optional<std::size_t> axis_{};
  bool has_versions_ = false;
  bool moves_ = false;
  std::vector<Bytes> at_{};  ///< Of each row, of each version of a row, or of the whole.
};

}  // namespace stowage::generate
