#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "operators/facts.h"
#include "stowage/network.h"

namespace stowage::operators {

/// An operator of a network, with queries about it.
class Site {
 public:
  Site(const Network& network, std::size_t subgraph, std::size_t op);

  [[nodiscard]] const stowage::Operator& op() const { return *op_; }
  [[nodiscard]] std::string_view type() const { return op_->type; }
  [[nodiscard]] const Facts& facts() const { return named_.facts; }
  [[nodiscard]] bool is_tflite() const { return named_.format == Format::tflite; }
  [[nodiscard]] const Attributes& attributes() const { return details_->attributes; }
  [[nodiscard]] std::int64_t version() const { return details_->version; }
  [[nodiscard]] bool has_input(std::size_t i) const { return i < op_->inputs.size() && op_->inputs[i]; }
  /// Null if it is left out.
  [[nodiscard]] const Tensor* input(std::size_t i) const;
  [[nodiscard]] const Tensor* output(std::size_t i) const;
  /// Empty if it does not exist.
  [[nodiscard]] Shape input_shape(std::size_t i) const;
  [[nodiscard]] Shape output_shape(std::size_t i = 0) const;
  /// The integers of a constant input with known bytes.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t input) const;
  /// The real numbers of a constant input with known bytes.
  [[nodiscard]] std::optional<std::vector<double>> reals(std::size_t input) const;
  /// The integers of an attribute that became an input in a later version.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view attribute,
                                                                  std::size_t input) const;

 private:
  const Network* network_;
  const stowage::Operator* op_;
  const OperatorDetails* details_;
  Named named_;
};

/// The part of an input that a row of the output reads.
enum class Reach : std::uint8_t {
  rows,    ///< Some of its rows.
  shared,  ///< All of it, and every row of the output alike: weights, or an input repeated for all rows.
  all,     ///< All of it, as far as is known.
  /// All of it in one computation for all rows, which one row would cost as well: an order, statistics.
  together
};

/// The rows of an input that a row of the output reads.
struct Reading {
  Reach reach = Reach::all;
  std::size_t axis = 0;  ///< The axis of its rows.
  RowMap rows{};
};

/// The axes of the first input over whose rows the operator sums.
[[nodiscard]] std::vector<std::size_t> summed_axes(const Site& site);

/// The axes along which the operator computes rows with a buffer that it carries. None of them is rowwise.
[[nodiscard]] std::vector<CarriedAxis> carried_axes(const Site& site);

/// The multiplications of one run of a convolution or product, including those in the padding; 0 for other
/// operators, none if there are too many to count.
[[nodiscard]] std::optional<std::int64_t> multiplies_of(const Site& site);

/// Whether rows of the outputs along that axis can be computed one by one.
[[nodiscard]] bool is_rowwise(const Site& site, std::size_t axis);

/// The rows of the input that the output's rows along that axis read.
[[nodiscard]] Reading reading_of(const Site& site, std::size_t input, std::size_t axis);

/// Whether the operator computes every row of the outputs from tensors of one row: that row of each input
/// that it reads by rows, and all other inputs whole. The number of the row, and of all rows, must not
/// matter.
[[nodiscard]] bool has_rows_alike(const Site& site, std::size_t axis);

/// Whether the operator computes any consecutive rows of its output as an operator of its type whose tensors
/// have just these rows: no attribute and no other input says how many rows there are, except the groups of
/// a convolution with one group for each channel.
[[nodiscard]] bool splits_into_blocks(const Site& site, std::size_t axis);

/// The first axis along which an operator moves windows (the height), the same in input and output; none if
/// it moves none.
[[nodiscard]] std::optional<std::size_t> window_axis(const Site& site);

/// Whether an operator moves windows along that axis.
[[nodiscard]] bool moves_windows_along(const Site& site, std::size_t axis);

}  // namespace stowage::operators
