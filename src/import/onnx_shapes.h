#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "import/onnx_branches.h"
#include "import/onnx_graph.h"
#include "import/onnx_known.h"
#include "import/onnx_shared.h"
#include "stowage/import.h"

namespace stowage::import {

/// One reading of a model, at numbers.
struct Reading {
  /// 0: at the largest sizes. At others loops end after a drawn number of rounds, and an If takes one of its
  /// branches.
  std::size_t number = 0;
  /// By tensor: values that other readings contradict, and so are no constants. Empty: there are none.
  std::vector<bool> varying{};
  /// What the model itself says about each tensor at the largest sizes: a given shape decides only what this leaves
  /// open. Null at the largest sizes.
  const std::vector<Type>* own = nullptr;
  /// An If whose condition is known at these sizes is only as large as the branch that it takes.
  bool takes_branches = false;
  /// Also in bodies of a Loop or Scan, which have the same shapes in all rounds.
  bool takes_branches_of_rounds = false;
  /// Sizes that differ from run to run are unknown: what is known holds in all runs. Only `Inferred::decided` counts.
  bool leaves_sizes_open = false;
};

/// A carried value whose largest shape before a round is given, and what the round makes of it.
struct GivenRound {
  TensorId before = 0;
  TensorId after = 0;
};

struct Inferred {
  Types types{};
  Values values{};              ///< The known values, unless they vary.
  bool has_open_sizes = false;  ///< Of tensors that are folded, bounded, or not written.
  Folding folding{};            ///< Of reading 0, and where it may matter.
  /// Inputs whose elements the user gives.
  std::map<TensorId, std::vector<Number>> elements{};
  /// Tensors without a size whose bytes the user bounds.
  std::map<TensorId, Bytes> bounded{};
  ImportOptions ranges{};  ///< Of reading 0: the sizes for which a plan must hold, see onnx_given.h.
  bool is_drawn = false;   ///< Readings besides the first draw what a run decides: see `draw`.
  std::vector<GivenRound> given_rounds{};
  std::vector<Type> own{};  ///< See Reading::own; empty if no sizes are given.
  /// Each If that takes a known branch. If there is one, the rest is not complete: take the branches, and infer anew.
  std::vector<DecidedIf> decided{};
  /// A branch was taken in a body whose shapes may change from round to round: infer anew without these.
  bool are_rounds_unlike = false;
  std::string note{};  ///< Which declared shapes do not count, in words; empty: all do.
};

/// Finds the element type and shape of every tensor in one reading, and its value if it is known. Throws Error if the file
/// contradicts itself, or for unknown sizes; that Error names the options that would set them. Throws UsageError for
/// options without effect.
[[nodiscard]] Inferred infer_shapes(SharedReading& shared, const ImportOptions& options,
                                    const Reading& reading);

}  // namespace stowage::import
