#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx_graph.h"
#include "import/onnx_known.h"
#include "import/onnx_types.h"
#include "stowage/import.h"

namespace stowage::import {

/// Throws UsageError for options that name something that the model does not have, or that are no sizes.
void expect_sound_options(const OnnxGraph& model, const ImportOptions& options);

/// The options with the sizes of inputs whose values they give. Throws UsageError for a value that does not fit.
[[nodiscard]] ImportOptions with_sizes_of_values(const OnnxGraph& model, const ImportOptions& options);

/// Which sizes of the options the model leaves to them. A shape rule decides the others.
class GivenSizes {
 public:
  GivenSizes(const OnnxGraph& model, const ImportOptions& options);

  /// The tensor has this type whatever its own --shape and --dim say.
  void know(TensorId tensor, const Type& type);
  /// The bytes that are given for the tensor decide its size.
  void need_bound(TensorId tensor) { bounded_.insert(tensor); }

  /// What the model itself says about each tensor; empty if no sizes are given.
  [[nodiscard]] const std::vector<Type>& own_types() const { return own_; }

  /// The options as the sizes for which a plan must hold: a number that the caller decides as it is, one that
  /// the network computes as a range. Throws UsageError for one without effect; `types` are those of the
  /// largest sizes.
  [[nodiscard]] ImportOptions ranges(const Types& types) const;

 private:
  [[nodiscard]] bool decides(TensorId tensor, std::size_t axis) const;
  void range_dims(const Types& types, ImportOptions& result) const;
  void range_shapes(const Types& types, ImportOptions& result) const;
  void expect_bounds_used(const Types& types) const;
  [[nodiscard]] std::vector<TensorId> named(const std::string& name) const;
  [[nodiscard]] std::string own_words(const std::vector<TensorId>& tensors, const Types& types) const;

  const OnnxGraph& model_;
  const ImportOptions& options_;
  std::vector<Type> own_{};  ///< Empty if no sizes are given.
  std::vector<bool> is_input_{};
  std::set<TensorId> bounded_{};
};

/// The option that gives the size that a tensor leaves open: "--shape x=N,16" or "--dim n=N".
[[nodiscard]] std::string option_for(const Type& type, const wire::TypeProto* declared,
                                     const std::string& tensor);

/// How to say the size that a tensor leaves open, with both promises: "give it with --shape x=N,16 (exactly N)
/// or --shape x=..N,16 (every size up to N)". `declared` is the file's type, if it has one; `is_input`: the caller
/// decides the size.
[[nodiscard]] std::string how_to_give(const Type& type, const wire::TypeProto* declared,
                                      const std::string& tensor, bool is_input);

}  // namespace stowage::import
