#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stowage/graph.h"

/// Networks whose sizes a run decides: what a file says of them, in a form that both formats are written from.
namespace stowage::campaign {

/// What a tensor consists of: float32, the format's own integers for sizes, booleans, or int64 in TFLite.
enum class Elements : std::uint8_t { real, whole, truth, wide };

enum class OpenKind : std::uint8_t {
  unary,      ///< Element by element.
  binary,     ///< Element by element, with broadcasting.
  rows,       ///< As large as its input, but no element by itself: Softmax.
  concat,     ///< numbers: axis.
  split,      ///< numbers: axis, then an extent of each output; none: equal ones.
  slice,      ///< Inputs: data, starts, ends. numbers: axes, then steps.
  gather,     ///< numbers: axis.
  reshape,    ///< Inputs: data, shape.
  transpose,  ///< numbers: the permutation.
  squeeze,    ///< numbers: axes.
  unsqueeze,  ///< numbers: axes.
  flatten,    ///< numbers: axis.
  shape,
  nonzero,   ///< Places of elements. Their number depends on data.
  compress,  ///< Inputs: data, condition. numbers: axis. Depends on data.
  unique,    ///< Depends on data.
  topk,      ///< Inputs: data, k. numbers: axis.
  range,     ///< Inputs: start, limit, delta.
  expand,    ///< Inputs: data, shape.
  pad,       ///< Inputs: data, pads: [begins, ends], or [axes, 2].
  tile,      ///< Inputs: data, repeats.
  fill,      ///< Input: shape.
  reduce,    ///< numbers: axis, kept.
  multiply,  ///< By a constant matrix.
  branch,    ///< Input: condition. Bodies: then, else.
  loop,  ///< Inputs: rounds, carried values. numbers: carried values. Body: round, condition, carried values.
  scan,  ///< Inputs: a state, rows. Body: state, row.
  repeat  ///< TFLite's WHILE: condition and body; the first value counts rounds.
};

struct OpenConstant {
  Elements elements = Elements::real;
  Shape shape{};
  std::vector<std::int64_t> numbers{};  ///< Of whole ones.
};

/// An extent that the file has, or leaves open with a name or without.
struct OpenDim {
  std::int64_t size = 0;  ///< If it is not open.
  std::string symbol{};   ///< Of all that is equal in a run. Empty: not open.
  bool is_named = false;  ///< In the file, too.
};

struct OpenInput {
  std::string name{};
  Elements elements = Elements::real;
  std::vector<OpenDim> dims{};
  std::optional<std::int64_t> most{};  ///< A number that sizes depend on: from 1 to this one.
};

struct OpenNode;

struct OpenGraph {
  std::string name{};
  std::vector<OpenInput> inputs{};
  std::vector<OpenNode> nodes;  // not {}: OpenNode is not complete here
  std::vector<std::string> outputs{};
};

struct OpenNode {
  OpenKind kind = OpenKind::unary;
  std::string type{};  ///< Of unary, binary and rows, in the words of ONNX.
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  std::vector<std::int64_t> numbers{};
  std::vector<OpenGraph> bodies{};
};

/// What a symbol may be. The caller gives exactly `most` unless there is a range.
struct OpenSymbol {
  std::int64_t least = 1;
  std::int64_t most = 1;
  bool is_range = false;
};

enum class OpenFormat : std::uint8_t { onnx, tflite };

struct OpenNet {
  OpenFormat format = OpenFormat::onnx;
  OpenGraph main{};
  std::map<std::string, OpenConstant> constants{};
  std::map<std::string, OpenSymbol> symbols{};
  std::map<std::string, Elements> elements{};  ///< Of all tensors, by name.
  std::map<std::string, std::size_t> ranks{};
  /// How many elements an output has from an input at the largest sizes, by the output's name and the input's place.
  std::map<std::string, std::map<std::size_t, std::size_t>> moved{};
  std::map<std::string, Shape> declared{};  ///< What TFLite's file says; -1 for open extents.

  [[nodiscard]] Bytes width(Elements of) const {
    const Bytes whole = format == OpenFormat::onnx ? 8 : 4;
    return of == Elements::real ? 4 : of == Elements::whole ? whole : of == Elements::wide ? 8 : 1;
  }
};

/// The bytes of the file.
[[nodiscard]] std::string onnx_of(const OpenNet& net);
[[nodiscard]] std::string tflite_of(const OpenNet& net);

}  // namespace stowage::campaign
