#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/tflite_tables.h"
#include "stowage/graph.h"
#include "stowage/tflm.h"

namespace stowage::tflm {

/// The tensors whose weights the runtime decompresses, per subgraph: one flag for each tensor. Empty for a
/// subgraph without any. Throws Error for metadata that is not what the runtime expects.
[[nodiscard]] std::vector<std::vector<bool>> compressed_tensors(const tflite::Model& model);

/// An operator of a file as the runtime's kernels see it. All sizes are checked.
class Site {
 public:
  /// Throws Error for operands that do not exist.
  Site(const tflite::Model& model, std::size_t subgraph, std::size_t op, const TflmRuntime& runtime,
       const std::vector<std::vector<bool>>& compressed);

  /// The builtin operator's name, or that of a custom operator.
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] bool is_custom() const { return is_custom_; }
  [[nodiscard]] const TflmRuntime& runtime() const { return runtime_; }
  [[nodiscard]] const tflite::Operator& op() const { return *op_; }

  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] std::size_t outputs() const { return outputs_.size(); }
  /// Null: omitted, or not there.
  [[nodiscard]] const tflite::Tensor* input(std::size_t i) const;
  [[nodiscard]] const tflite::Tensor* output(std::size_t i) const;
  /// True if the input's weights are compressed, and the runtime can decompress them.
  [[nodiscard]] bool is_compressed(std::size_t i) const;
  /// Constant bytes of an input, empty if it has none.
  [[nodiscard]] std::string_view data_of(std::size_t i) const;
  /// An integer in the options of a custom operator, which are a flexbuffer; throws Error if it is not there.
  [[nodiscard]] std::int64_t option(const char* name) const;
  /// Bytes that differ by the runtime's width of pointers.
  [[nodiscard]] Bytes by_pointer(Bytes wide, Bytes narrow) const {
    return runtime_.pointer_bytes == 8 ? wide : narrow;
  }

 private:
  const tflite::Model* model_;
  const tflite::SubGraph* subgraph_;
  const tflite::Operator* op_;
  TflmRuntime runtime_;
  const std::vector<bool>* compressed_;
  std::string type_;
  bool is_custom_ = false;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> outputs_;
};

/// Facts of a tensor; all are 0 for null.
[[nodiscard]] std::size_t rank_of(const tflite::Tensor* tensor);
/// The extent of a dimension, negative ones counted from the end; 0 if it does not exist.
[[nodiscard]] std::int64_t dimension(const tflite::Tensor* tensor, std::int64_t axis);
/// Throws Error for a negative dimension or too many.
[[nodiscard]] std::int64_t elements_of(const tflite::Tensor* tensor);
/// Bytes in the runtime, which does not pack elements.
[[nodiscard]] Bytes runtime_bytes_of(const tflite::Tensor* tensor);
/// The number of scales that the runtime copies the zero points of; 0 for a tensor without quantization.
[[nodiscard]] std::size_t channels_of(const tflite::Tensor* tensor);
[[nodiscard]] bool is_of(const tflite::Tensor* tensor, tflite::TensorType type);

}  // namespace stowage::tflm
