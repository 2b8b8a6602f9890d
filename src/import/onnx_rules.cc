#include "import/onnx_rules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "import/onnx_windows.h"

namespace stowage::import {
namespace {

using onnx::TensorProto;

std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// The axes in an optional input; all of them if it is omitted, none if it is unknown.
std::optional<std::vector<std::size_t>> axes_of(const NodeContext& node, std::size_t input,
                                                std::size_t rank) {
  std::vector<std::size_t> axes;
  if (!node.has(input)) {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(d);
    return axes;
  }
  const auto given = node.integers(input);
  if (!given) return std::nullopt;
  for (const std::int64_t axis : *given) {
    const auto index = normalized_axis(axis, rank);
    if (!index) fail_shape_inference("axis ", axis, " does not exist in a tensor of rank ", rank);
    axes.push_back(*index);
  }
  return axes;
}

/// One result with the shape and type of the first input; others stay open.
void like_first(NodeContext& node) { node.set_output(0, node.elem_type(0), node.shape(0)); }

void truth_like_first(NodeContext& node) { node.set_output(0, TensorProto::BOOL, node.shape(0)); }

/// The mask is boolean since operator set 10.
void dropout(NodeContext& node) {
  constexpr int first_with_truth = 10;
  like_first(node);
  node.set_output(1,
                  node.version() < first_with_truth ? node.elem_type(0) : static_cast<int>(TensorProto::BOOL),
                  node.shape(0));
}

void broadcast(NodeContext& node) {
  const auto a = node.shape(0);
  const auto b = node.shape(1);
  std::optional<Shape> result;
  if (a && b) {
    result.emplace(std::max(a->size(), b->size()), 1);
    for (const auto* operand : {&*a, &*b}) {
      for (std::size_t d = 0; d < operand->size(); ++d) {
        const std::int64_t own = (*operand)[operand->size() - 1 - d];
        std::int64_t& dimension = (*result)[result->size() - 1 - d];
        if (own != 1 && dimension != 1 && own != dimension)
          fail_shape_inference("cannot broadcast ", own, " and ", dimension);
        if (own != 1) dimension = own;
      }
    }
  }
  node.set_output(0, node.elem_type(0), result);
}

void broadcast_to_truth(NodeContext& node) {
  broadcast(node);
  node.outputs()[0].mutable_tensor_type()->set_elem_type(TensorProto::BOOL);
}

void cast(NodeContext& node) { node.set_output(0, static_cast<int>(node.integer("to", 0)), node.shape(0)); }

void cast_like(NodeContext& node) { node.set_output(0, node.elem_type(1), node.shape(0)); }

void quantize(NodeContext& node) {
  const auto chosen = static_cast<int>(node.integer("output_dtype", 0));
  const int by_zero_point = node.has(2) ? node.elem_type(2) : TensorProto::UINT8;
  node.set_output(0, chosen != 0 ? chosen : by_zero_point, node.shape(0));
}

void dequantize(NodeContext& node) {
  const auto chosen = static_cast<int>(node.integer("output_dtype", 0));
  node.set_output(0, chosen != 0 ? chosen : node.elem_type(1), node.shape(0));
}

void reduce(NodeContext& node) {
  const auto shape = node.shape(0);
  std::optional<Shape> result;
  if (shape) {
    const auto given = node.has(1) ? node.integers(1) : std::optional(Shape{});
    const bool is_noop = given && given->empty() && node.integer("noop_with_empty_axes", 0) != 0;
    const auto axes = given && given->empty() ? axes_of(node, node.getNumInputs(), shape->size())
                                              : axes_of(node, 1, shape->size());
    if (is_noop) {
      result = shape;
    } else if (axes) {
      const bool keeps = node.integer("keepdims", 1) != 0;
      result.emplace();
      for (std::size_t d = 0; d < shape->size(); ++d) {
        const bool is_reduced = std::find(axes->begin(), axes->end(), d) != axes->end();
        if (!is_reduced) result->push_back((*shape)[d]);
        if (is_reduced && keeps) result->push_back(1);
      }
    }
  }
  node.set_output(0, node.elem_type(0), result);
}

/// An input gives the sizes, before operator set 13 an attribute; otherwise they are as equal as possible.
void split(NodeContext& node) {
  constexpr int first_with_input = 13;
  const auto shape = node.shape(0);
  const auto outputs = static_cast<std::int64_t>(node.getNumOutputs());
  const bool is_input = node.version() >= first_with_input;
  auto parts = is_input ? node.integers(1) : node.integer_list("split");
  for (std::size_t i = 0; i < node.getNumOutputs(); ++i) node.set_output(i, node.elem_type(0), std::nullopt);
  if (!shape || (is_input && node.has(1) && !parts)) return;
  const auto axis = normalized_axis(node.integer("axis", 0), shape->size());
  if (!axis) fail_shape_inference("cannot split a tensor of rank ", shape->size());
  const std::int64_t whole = (*shape)[*axis];
  if (!parts) {
    if (node.integer("num_outputs", outputs) != outputs)
      fail_shape_inference("num_outputs is not the number of outputs, ", outputs);
    const std::int64_t size = whole / outputs + (whole % outputs == 0 ? 0 : 1);
    parts.emplace();
    for (std::int64_t rest = whole; std::ssize(*parts) < outputs; rest -= parts->back())
      parts->push_back(std::min(rest, size));
  }
  std::int64_t total = 0;
  for (const std::int64_t part : *parts) total = sum_or_fail(total, part);
  if (std::ssize(*parts) != outputs || total != whole)
    fail_shape_inference("the parts do not make up dimension ", whole, " in ", outputs, " outputs");
  for (std::size_t i = 0; i < node.getNumOutputs(); ++i) {
    Shape part = *shape;
    part[*axis] = (*parts)[i];
    node.set_output(i, node.elem_type(0), part);
  }
}

void concatenate(NodeContext& node) {
  node.set_output(0, node.elem_type(0), std::nullopt);
  std::optional<Shape> result;
  for (std::size_t i = 0; i < node.getNumInputs(); ++i) {
    const auto shape = node.shape(i);
    if (!shape) return;
    if (!result) {
      result = shape;
      continue;
    }
    const auto axis = normalized_axis(node.integer("axis", 1), result->size());
    if (!axis || shape->size() != result->size())
      fail_shape_inference("cannot join tensors of ranks ", result->size(), " and ", shape->size());
    for (std::size_t d = 0; d < shape->size(); ++d) {
      if (d == *axis) {
        (*result)[d] = sum_or_fail((*result)[d], (*shape)[d]);
      } else if ((*result)[d] != (*shape)[d]) {
        fail_shape_inference("cannot join dimensions ", (*result)[d], " and ", (*shape)[d]);
      }
    }
  }
  node.set_output(0, node.elem_type(0), result);
}

void pad(NodeContext& node) {
  const auto shape = node.shape(0);
  const auto pads = node.integers(1);
  std::optional<Shape> result;
  if (shape && pads) {
    const auto axes = axes_of(node, 3, shape->size());
    if (axes) {
      if (pads->size() != 2 * axes->size())
        fail_shape_inference("there are ", pads->size(), " pads for ", axes->size(), " axes");
      result = shape;
      for (std::size_t i = 0; i < axes->size(); ++i) {
        std::int64_t& dimension = (*result)[(*axes)[i]];
        dimension = sum_or_fail(dimension, sum_or_fail((*pads)[i], (*pads)[axes->size() + i]));
      }
    }
  }
  node.set_output(0, node.elem_type(0), result);
}

/// The known reals of an input.
std::optional<std::vector<float>> reals(const NodeContext& node, std::size_t input) {
  if (input >= node.getNumInputs()) return std::nullopt;
  const TensorProto* const value = node.getInputData(input);
  if (value == nullptr) return std::nullopt;
  return std::vector<float>(value->float_data().begin(), value->float_data().end());
}

void resize(NodeContext& node) {
  const auto shape = node.shape(0);
  node.set_output(0, node.elem_type(0), std::nullopt);
  if (!shape) return;
  std::vector<std::size_t> axes;
  if (const auto given = node.integer_list("axes")) {
    for (const std::int64_t axis : *given) {
      const auto index = normalized_axis(axis, shape->size());
      if (!index) fail_shape_inference("axis ", axis, " does not exist in a tensor of rank ", shape->size());
      axes.push_back(*index);
    }
  } else {
    for (std::size_t d = 0; d < shape->size(); ++d) axes.push_back(d);
  }
  Shape result = *shape;
  const auto scales = reals(node, 2);
  const auto sizes = node.integers(3);
  if (sizes && sizes->size() == axes.size()) {
    std::vector<double> factors;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      factors.push_back(static_cast<double>((*sizes)[i]) /
                        std::max<double>(1, static_cast<double>((*shape)[axes[i]])));
    }
    const onnx::AttributeProto* const policy = node.getAttribute("keep_aspect_ratio_policy");
    const bool is_stretched = policy == nullptr || policy->s() == "stretch" || factors.empty();
    const double factor = is_stretched                  ? 0
                          : policy->s() == "not_larger" ? *std::min_element(factors.begin(), factors.end())
                                                        : *std::max_element(factors.begin(), factors.end());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double scaled = std::round(factor * static_cast<double>((*shape)[axes[i]]));
      if (!(scaled >= 0 && scaled < static_cast<double>(largest_value)))
        fail_shape_inference("size ", scaled, " is impossible");
      result[axes[i]] = is_stretched ? (*sizes)[i] : static_cast<std::int64_t>(scaled);
    }
  } else if (scales && scales->size() == axes.size()) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const float scaled = std::floor((*scales)[i] * static_cast<float>((*shape)[axes[i]]));  // as in ONNX
      if (!(scaled >= 0 && scaled < static_cast<float>(largest_value)))
        fail_shape_inference("scale ", (*scales)[i], " gives no size");
      result[axes[i]] = static_cast<std::int64_t>(scaled);
    }
  } else {
    return;
  }
  node.set_output(0, node.elem_type(0), result);
}

/// One spectrum, of real and imaginary parts, per frame; for real signals only the half that does not mirror
/// the other.
void short_time_fourier(NodeContext& node) {
  const auto signal = node.shape(0);
  const auto step = node.integers(1);
  const auto window = node.has(2) ? node.shape(2) : std::optional(Shape{});
  const auto given = node.has(3) ? node.integers(3) : window;
  node.set_output(0, node.elem_type(0), std::nullopt);
  if (!signal || !step || !given || step->size() != 1 || given->size() != 1) return;
  const std::int64_t frame = given->front();
  if (signal->size() != 3 || step->front() <= 0 || frame <= 0 || frame > (*signal)[1])
    fail_shape_inference("cannot take frames of ", frame, " from the signal");
  const std::int64_t frames = ((*signal)[1] - frame) / step->front() + 1;
  const bool is_half = node.integer("onesided", 1) != 0;
  node.set_output(0, node.elem_type(0), Shape{(*signal)[0], frames, is_half ? frame / 2 + 1 : frame, 2});
}

/// Mean and deviation have the shape of the tensor without the normalized dimensions.
void layer_normalization(NodeContext& node) {
  auto shape = node.shape(0);
  like_first(node);
  if (shape) {
    const auto axis = normalized_axis(node.integer("axis", -1), shape->size());
    if (!axis) fail_shape_inference("axis does not exist in a tensor of rank ", shape->size());
    std::fill(shape->begin() + static_cast<std::ptrdiff_t>(*axis), shape->end(), 1);
  }
  const auto type = static_cast<int>(node.integer("stash_type", TensorProto::FLOAT));
  node.set_output(1, type, shape);
  node.set_output(2, type, shape);
}

/// The last dimension of the indices is the number of data dimensions that one index selects.
void gather_slices(NodeContext& node) {
  const auto data = node.shape(0);
  const auto indices = node.shape(1);
  std::optional<Shape> result;
  if (data && indices) {
    const std::int64_t batch = node.integer("batch_dims", 0);
    const auto rank = std::ssize(*data);
    if (indices->empty() || batch < 0 || batch >= std::min(rank, std::ssize(*indices)) ||
        indices->back() < 0 || indices->back() > rank - batch)
      fail_shape_inference("the indices do not fit data of rank ", rank);
    result.emplace(indices->begin(), indices->end() - 1);
    result->insert(result->end(), data->begin() + batch + indices->back(), data->end());
  }
  node.set_output(0, node.elem_type(0), result);
}

void one_hot(NodeContext& node) {
  auto shape = node.shape(0);
  auto depth = node.integers(1);
  const auto real_depth = reals(node, 1);
  if (!depth && real_depth && real_depth->size() == 1) {
    const float real = real_depth->front();
    if (!(real >= 0 && real < static_cast<float>(largest_value))) fail_shape_inference("depth is ", real);
    depth = Shape{static_cast<std::int64_t>(real)};
  }
  if (shape && depth && depth->size() == 1) {
    const auto axis = normalized_axis(node.integer("axis", -1), shape->size() + 1);
    if (!axis) fail_shape_inference("axis does not exist in a tensor of rank ", shape->size() + 1);
    shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(*axis), depth->front());
  } else {
    shape.reset();
  }
  node.set_output(0, node.elem_type(2), shape);
}

/// The letters of an Einsum term, one per dimension. Dimensions of "..." get the characters before the
/// letters, counted from the last dimension.
std::string labels_of(std::string_view term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  std::string labels(term.substr(0, dots));
  if (dots != std::string_view::npos) {
    constexpr std::size_t length = 3;
    const std::size_t letters = term.size() - length;
    if (letters > rank || rank - letters > 'A') fail_shape_inference("'...' does not fit rank ", rank);
    for (std::size_t i = rank - letters; i > 0; --i) labels.push_back(static_cast<char>(i - 1));
    labels += term.substr(dots + length);
  }
  const bool is_clean = std::all_of(labels.begin(), labels.end(), [](char c) {
    return (c >= 0 && c < 'A' && c != '.') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  });
  if (!is_clean || labels.size() != rank) fail_shape_inference("a term does not fit rank ", rank);
  return labels;
}

/// Without "->" the result has the dimensions of "..." and the letters that occur once, in order.
void einsum(NodeContext& node) {
  node.set_output(0, node.elem_type(0), std::nullopt);
  const onnx::AttributeProto* const attribute = node.getAttribute("equation");
  std::string equation = attribute == nullptr ? "" : attribute->s();
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  const auto terms = base::split(left, ',');
  if (terms.size() != node.getNumInputs()) fail_shape_inference("there are ", terms.size(), " terms");
  std::map<char, std::int64_t> dimensions;
  std::map<char, int> uses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto shape = node.shape(i);
    if (!shape) return;
    const std::string labels = labels_of(terms[i], shape->size());
    for (std::size_t d = 0; d < labels.size(); ++d) {
      std::int64_t& dimension = dimensions.emplace(labels[d], 1).first->second;
      if (dimension != 1 && (*shape)[d] != 1 && dimension != (*shape)[d])
        fail_shape_inference("a letter stands for ", dimension, " and ", (*shape)[d]);
      if ((*shape)[d] != 1) dimension = (*shape)[d];
      ++uses[labels[d]];
    }
  }
  const auto is_letter = [](char label) { return label >= 'A'; };
  const auto hidden = static_cast<std::size_t>(std::count_if(
      dimensions.begin(), dimensions.end(), [&](const auto& it) { return !is_letter(it.first); }));
  std::string labels;
  if (arrow != std::string::npos) {
    const std::string_view right = std::string_view(equation).substr(arrow + 2);
    const bool has_dots = right.find("...") != std::string_view::npos;
    labels = labels_of(right, has_dots ? right.size() - 3 + hidden : right.size());
  } else {
    labels = labels_of("...", hidden);
    for (const auto& [label, count] : uses) {
      if (is_letter(label) && count == 1) labels.push_back(label);
    }
  }
  Shape result;
  for (const char label : labels) {
    const auto dimension = dimensions.find(label);
    if (dimension == dimensions.end()) fail_shape_inference("the result has a letter that no term has");
    result.push_back(dimension->second);
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Elements of a sequence are not planned, whatever their shapes.
void sequence_of_first(NodeContext& node) {
  onnx::TypeProto& part = *node.outputs()[0].mutable_sequence_type()->mutable_elem_type();
  part.mutable_tensor_type()->set_elem_type(node.elem_type(0));
}

void center_crop_pad(NodeContext& node) {
  auto result = node.shape(0);
  const auto target = node.integers(1);
  if (result && target) {
    const auto axes = node.integer_list("axes");
    for (std::size_t i = 0; i < target->size(); ++i) {
      const std::int64_t axis = axes && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i);
      const auto index = normalized_axis(axis, result->size());
      if (!index) fail_shape_inference("axis ", axis, " does not exist in a tensor of rank ", result->size());
      (*result)[*index] = (*target)[i];
    }
  } else {
    result.reset();
  }
  node.set_output(0, node.elem_type(0), result);
}

void grid_sample(NodeContext& node) {
  const auto input = node.shape(0);
  const auto grid = node.shape(1);
  std::optional<Shape> result;
  if (input && grid) {
    if (input->size() < 3 || grid->size() != input->size())
      fail_shape_inference("input and grid are of different ranks");
    result = Shape{(*input)[0], (*input)[1]};
    result->insert(result->end(), grid->begin() + 1, grid->end() - 1);
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Left open: the file's own declaration counts.
void unknown(NodeContext&) {}

struct ShapeRule {
  int since;  ///< The operator set that added or changed the operator.
  void (*infer)(NodeContext& node);
};

const std::unordered_map<std::string_view, ShapeRule>& shape_rules() {
  static const std::unordered_map<std::string_view, ShapeRule> table{
      {"AffineGrid", {20, unknown}},
      {"Attention", {23, unknown}},
      {"AveragePool", {1, pool}},
      {"BitwiseAnd", {18, broadcast}},
      {"BitwiseNot", {18, like_first}},
      {"BitwiseOr", {18, broadcast}},
      {"BitwiseXor", {18, broadcast}},
      {"Cast", {19, cast}},
      {"CastLike", {19, cast_like}},
      {"Celu", {1, like_first}},
      {"CenterCropPad", {18, center_crop_pad}},
      {"Col2Im", {18, unknown}},
      {"Concat", {4, concatenate}},
      {"Conv", {1, convolution}},
      {"ConvInteger", {10, integer_convolution}},
      {"ConvTranspose", {1, transposed_convolution}},
      {"DFT", {20, unknown}},
      {"DeformConv", {19, unknown}},
      {"DequantizeLinear", {19, dequantize}},
      {"Dropout", {1, dropout}},
      {"Einsum", {12, einsum}},
      {"GatherND", {11, gather_slices}},
      {"Gelu", {20, like_first}},
      {"GreaterOrEqual", {12, broadcast_to_truth}},
      {"GridSample", {20, grid_sample}},
      {"GroupNormalization", {18, like_first}},
      {"IsInf", {20, truth_like_first}},
      {"IsNaN", {20, truth_like_first}},
      {"LayerNormalization", {17, layer_normalization}},
      {"LessOrEqual", {12, broadcast_to_truth}},
      {"LpPool", {1, pool}},
      {"MaxPool", {1, max_pool}},
      {"MaxRoiPool", {1, region_pool}},
      {"MaxUnpool", {9, max_unpool}},
      {"MeanVarianceNormalization", {1, like_first}},
      {"Mish", {18, like_first}},
      {"OneHot", {9, one_hot}},
      {"Pad", {18, pad}},
      {"QLinearConv", {10, quantized_convolution}},
      {"QuantizeLinear", {19, quantize}},
      {"RMSNormalization", {23, like_first}},
      {"ReduceL1", {18, reduce}},
      {"ReduceL2", {18, reduce}},
      {"ReduceLogSum", {18, reduce}},
      {"ReduceLogSumExp", {18, reduce}},
      {"ReduceMax", {18, reduce}},
      {"ReduceMean", {18, reduce}},
      {"ReduceMin", {18, reduce}},
      {"ReduceProd", {18, reduce}},
      {"ReduceSumSquare", {18, reduce}},
      {"Resize", {18, resize}},
      {"RotaryEmbedding", {23, like_first}},
      {"STFT", {17, short_time_fourier}},
      {"Shrink", {1, like_first}},
      {"Split", {2, split}},
      {"SplitToSequence", {11, sequence_of_first}},
      {"Swish", {24, like_first}},
      {"TensorScatter", {24, like_first}},
  };
  return table;
}

}  // namespace

bool infer_by_own_rule(NodeContext& node) {
  const auto rule = shape_rules().find(node.node().op_type());
  if (rule == shape_rules().end() || node.version() < rule->second.since) return false;
  if (node.getNumOutputs() == 0) fail_shape_inference("there are no outputs");
  rule->second.infer(node);
  return true;
}

}  // namespace stowage::import
