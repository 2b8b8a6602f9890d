#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/known.h"
#include "import/turning_sizes.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "tflite_generated.h"

namespace stowage::import {

/// True if the file leaves a size of a tensor that is not constant to the user, or to the data.
[[nodiscard]] bool has_open_sizes(const tflite::Model& model, const Graph& graph);

/// The options with shapes of inputs in place of sizes of their axes, INPUT[AXIS]. Throws UsageError for another name,
/// and OpenSizesError for axes of such an input that stay open.
[[nodiscard]] ImportOptions with_dims_as_shapes(const ImportOptions& options, const tflite::Model& model);

/// The options with shapes of inputs whose values they give and whose shapes are open. Throws UsageError for a value
/// whose number of elements does not fit.
[[nodiscard]] ImportOptions with_values_as_shapes(const ImportOptions& options, const tflite::Model& model);

/// What one reading finds out.
struct InferredShapes {
  /// By tensor. None: the user gives the bytes with --bound.
  std::vector<std::optional<Shape>> shapes{};
  /// The options as the sizes for which a plan must hold: a number that the caller decides as it is, one that the
  /// network computes as a range.
  ImportOptions ranges{};
  std::map<TensorId, std::vector<Number>> values{};  ///< Elements of inputs, from the user.
  /// Results that are the same in every run; none if sizes are open.
  std::map<TensorId, Value> known{};
  Turns turns{};          ///< What is held against each other.
  bool is_drawn = false;  ///< Readings besides the first draw what a run decides: see `draw`.
  std::string note{};     ///< What was assumed of inputs; empty: nothing.
};

/// Infers the shapes of all tensors by rules from those of the inputs, at the largest of the given sizes. `graph` has
/// the operators, and the tensors in their order with the shapes of the file. `reading` is 0 for the largest of the
/// sizes that the options allow; each other one draws for itself how many rounds a loop may have. `spend` is called before that many
/// bytes of the file are read. Throws Error for sizes that do not fit together, and for unknown ones, with the options
/// that give them; UsageError for a shape that has no effect.
[[nodiscard]] InferredShapes infer_shapes(const tflite::Model& model, std::string_view file,
                                          const Graph& graph, const ImportOptions& options,
                                          std::size_t reading,
                                          const std::function<void(std::size_t bytes)>& spend);

}  // namespace stowage::import
