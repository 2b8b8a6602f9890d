#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "import/dims.h"
#include "import/onnx_values.h"
#include "stowage/graph.h"
#include "tflite_generated.h"

namespace stowage::import {

/// What is known of a tensor.
struct KnownTensor {
  std::optional<Dims> dims{};
  std::optional<Value> value{};  ///< Of small tensors that shapes may be computed from.
};

/// An operator of a TFLite file, its options and what is known of its inputs, as shape rules see it. An operator's
/// optional inputs may be asked for whether it has them or not.
class TfliteNode {
 public:
  /// Null: an omitted input.
  TfliteNode(const tflite::Operator& source, std::vector<const KnownTensor*> inputs, std::size_t outputs)
      : source_(source), inputs_(std::move(inputs)), outputs_(outputs) {}

  [[nodiscard]] const tflite::Operator& source() const { return source_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] const std::vector<std::optional<Dims>>& outputs() const { return outputs_; }

  [[nodiscard]] bool has(std::size_t input) const;
  /// The dimensions of an input; null if not even its rank is known.
  [[nodiscard]] const Dims* dims(std::size_t input) const;
  /// The same for an operator that takes only this rank. Throws Misfit for another one.
  [[nodiscard]] const Dims* dims(std::size_t input, std::size_t rank) const;
  /// The dimensions of an input if all are known.
  [[nodiscard]] std::optional<Shape> shape(std::size_t input) const;
  /// The number of elements of an input.
  [[nodiscard]] Dim elements(std::size_t input) const;
  /// The known value of an input, or null.
  [[nodiscard]] const Value* value(std::size_t input) const;
  /// The known integers of an input; none if it is omitted or unknown.
  [[nodiscard]] std::optional<Shape> integers(std::size_t input) const;
  /// The only integer of an input.
  [[nodiscard]] Dim scalar(std::size_t input) const;

  /// What a rule finds. An output that the operator does not have is ignored.
  void set(std::size_t output, const std::optional<Dims>& dims);

 private:
  const tflite::Operator& source_;
  std::vector<const KnownTensor*> inputs_;
  std::vector<std::optional<Dims>> outputs_;
};

/// How a slice by steps makes an output axis, or, if it is shrunk, takes one element of an axis away.
struct SlicedAxis {
  bool is_new = false;  ///< Of extent 1, and no axis of the input.
  bool is_shrunk = false;
  std::int64_t start = 0;
  std::int64_t step = 1;
  Dim extent{};
};

/// The axes of STRIDED_SLICE and SLICE, those of the input and new ones, in their order. None if the input's rank,
/// or where the slice begins or ends, is unknown. Throws Misfit where they do not fit together.
[[nodiscard]] std::optional<std::vector<SlicedAxis>> strided_slice_of(const TfliteNode& node);
[[nodiscard]] std::optional<std::vector<SlicedAxis>> slice_of(const TfliteNode& node);

/// The extents that SPLIT or SPLIT_V makes of the axis, which is counted from the front; none if they are unknown.
struct SplitAxis {
  std::size_t axis = 0;
  Shape extents{};
};
[[nodiscard]] std::optional<SplitAxis> split_of(const TfliteNode& node);
[[nodiscard]] std::optional<SplitAxis> split_v_of(const TfliteNode& node);

}  // namespace stowage::import
