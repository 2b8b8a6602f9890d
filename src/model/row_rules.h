#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stowage/network.h"

namespace stowage::model {

/// An operator of a network, and what may be asked of it.
class Site {
 public:
  Site(const Network& network, std::size_t subgraph, std::size_t op);

  [[nodiscard]] const stowage::Operator& op() const { return *op_; }
  [[nodiscard]] std::string_view type() const { return op_->type; }
  [[nodiscard]] const Attributes& attributes() const { return details_->attributes; }
  [[nodiscard]] std::int64_t version() const { return details_->version; }
  [[nodiscard]] bool has_input(std::size_t i) const { return i < op_->inputs.size() && op_->inputs[i]; }
  /// Empty where there is none.
  [[nodiscard]] Shape input_shape(std::size_t i) const;
  [[nodiscard]] Shape output_shape(std::size_t i = 0) const;
  /// The integers of a constant input, if it is one that is known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t input) const;
  /// Those of an attribute that became an input with some version.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view attribute,
                                                                  std::size_t input) const;

 private:
  const Network* network_;
  const stowage::Operator* op_;
  const OperatorDetails* details_;
};

/// Rows of an input, along an axis of it, that a row of the output reads.
struct AxisRows {
  std::size_t axis = 0;
  RowMap rows{};
};

/// Whether rows of the outputs along that axis can be computed one by one.
[[nodiscard]] bool is_rowwise(const Site& site, std::size_t axis);

/// The axes of the first input over whose rows the operator sums up.
[[nodiscard]] std::vector<std::size_t> summed_axes(const Site& site);

/// Which rows of the input the output's rows along that axis read; none: all of it, or it has no rows.
[[nodiscard]] std::optional<AxisRows> row_map(const Site& site, std::size_t input, std::size_t axis);

/// The axis along which an operator moves windows, of input and output alike; none if it moves none.
[[nodiscard]] std::optional<std::size_t> window_axis(const Site& site);

}  // namespace stowage::model
