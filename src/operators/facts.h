#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "operators/context.h"
#include "stowage/graph.h"

/// What the library knows of operators: one row for each, in the file of its family. Importers, planners,
/// checker, runner and generator ask the row of an operator; none of them knows operators by name.
namespace stowage::operators {

class Site;
struct CopyCall;
struct Reading;

/// The inputs that an operator may write its output over while it reads them, where they are as large. An
/// operator without a row writes over nothing. Every run of a plan tests this.
enum class InPlace : std::uint8_t {
  never,
  first,      ///< Or it changes parts of a copy of its first input.
  first_two,  ///< Kernels add up inputs one by one: the third is read while the output has a sum.
  any         ///< Each element of the output is made of the same element of the inputs.
};

/// What a row of the output has of a row of the first input, unchanged.
enum class Keeps : std::uint8_t {
  nothing,
  elements,  ///< Its elements in their order: the operator only gives them other dimensions.
  padded     ///< The row, with others around it.
};

/// What an operator's outputs are of its bodies. Nothing is known of operators without a row.
enum class Results : std::uint8_t {
  unknown,
  of_branch,  ///< Output i is result i of the one body that runs.
  carried     ///< Output i is the last value of a carried input of the first body.
};

/// Windows that move over the rows of an image.
struct Windows {
  /// The first axis that they move along (the height), the same in input and output; 0: there are no windows.
  std::uint8_t axis = 0;
  std::uint8_t data = 0;     ///< The input that they move over.
  std::uint8_t weights = 0;  ///< The input that has the weights; 0: attributes say how large a window is.
  /// The dimension of the weights for channels: the output's or, of a transposed window, the input's.
  std::uint8_t channels = 0;
};

/// A row. All that is left out does not hold, or is not known.
struct Facts {
  std::string_view onnx{};  ///< As graphs name it: "Conv", "com.microsoft.Gelu". Empty: no operator of ONNX.
  std::string_view tflite{};  ///< "CONV_2D", or a custom operator's own name. Empty: no operator of TFLite.
  std::string_view called{};  ///< In messages; empty: the name in small letters.

  /// Sets the types of the outputs as far as they can be known. Throws Misfit if inputs and attributes do not
  /// fit together.
  void (*shape)(NodeContext& node) = nullptr;
  std::size_t inputs = 0;  ///< That no operator set of ONNX leaves out.
  /// Fills in the copies of an operator that only moves data, or why it must copy.
  void (*copies)(const CopyCall& call) = nullptr;
  InPlace in_place = InPlace::never;

  /// The rows of an input that a row of the output reads; null: it runs as a whole.
  Reading (*rows)(const Site& site, std::size_t input, std::size_t axis) = nullptr;
  bool counts_rows = false;  ///< The number of a row, or of all rows, decides what is in it.
  /// No attribute and no other input says how many rows there are, but for the groups of a convolution with
  /// one group for each channel.
  bool splits = false;
  Keeps keeps = Keeps::nothing;
  Windows windows{};
  bool adds_taps = false;  ///< A convolution of real numbers, whose sums have the type of its elements.
  /// The axes of the first input that a reduction reduces; none: they are unknown.
  std::optional<std::vector<std::size_t>> (*reduces)(const Site& site) = nullptr;
  /// The axes of the first input over whose rows it may add up, row by row.
  std::vector<std::size_t> (*sums)(const Site& site) = nullptr;
  /// The axis along which it computes rows with a buffer that it carries.
  std::optional<CarriedAxis> (*carries)(const Site& site) = nullptr;
  /// The multiplications of a run, including those in the padding; none: too many to count.
  std::optional<std::int64_t> (*multiplies)(const Site& site) = nullptr;
  Results results = Results::unknown;
  std::uint8_t carried = 0;  ///< The first input of the first body that is carried.
  /// It only says what its one input stands for: importers compute it once if that is constant.
  bool decodes = false;
  bool is_custom = false;  ///< TFLite's file names it, not its number.
  /// Its kernel in TensorFlow Lite Micro does nothing if its output has the address of its input.
  bool is_left_alone = false;
};

enum class Format : std::uint8_t { onnx, tflite };

/// The row of an operator of a format; null if there is none.
[[nodiscard]] const Facts* find_facts(Format format, std::string_view type);

/// A row, and the format whose name led to it.
struct Named {
  const Facts& facts;
  Format format;
};

/// The row of an operator of a graph, which does not say of which format it is; one without facts if there is
/// none. Only LSTM and RNN are in both formats: then this is ONNX's, whose facts are about inputs of a rank
/// that TFLite's do not have.
[[nodiscard]] Named facts_of(std::string_view type);

/// Sets the types of the outputs as far as they can be known, by the rule in the row; not at all without one.
/// Throws Misfit if inputs and attributes do not fit together.
void infer_types(Format format, std::string_view type, NodeContext& node);

/// All rows of all families.
[[nodiscard]] std::span<const Facts* const> all_facts();

/// Whether the operator may write the output over the input, however often it reads the input: a sum of three
/// reads the third while its output has the sum of two.
[[nodiscard]] bool may_write_over(const Graph& graph, const Operator& op, TensorId input, TensorId output);

/// Whether the kernel of TensorFlow Lite Micro leaves bytes alone that are already where they belong.
[[nodiscard]] bool is_left_alone(const Operator& op);

}  // namespace stowage::operators
