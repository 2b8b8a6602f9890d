#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "import/onnx_wire.h"

namespace stowage::import {

/// What a file says of a value's type before shapes are inferred. Sizes may be names, or unknown.
struct KnownValue {
  int elem_type = 0;
  std::vector<wire::Dimension> dims{};
};

/// Values that a graph declares, and others as far as a few operators pass types on that stand around attention.
class KnownValues {
 public:
  /// A body sees values of the graph around it, as far as it does not name its own so.
  KnownValues(const wire::GraphProto& graph, const KnownValues* around);

  /// Null if nothing is known.
  [[nodiscard]] const KnownValue* of(std::string_view name) const;

 private:
  void declare(const wire::ValueInfoProto& value);
  void declare(const wire::TensorProto& tensor);
  void pass_on(const wire::NodeProto& node);

  const KnownValues* around_;
  std::set<std::string_view> own_{};  ///< Names of the graph's values, known or not.
  std::map<std::string_view, KnownValue> values_{};
};

/// Whether two sizes are surely the same.
[[nodiscard]] bool are_same(const wire::Dimension& a, const wire::Dimension& b);

}  // namespace stowage::import
