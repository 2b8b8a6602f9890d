#include "import/onnx_rules.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/checked.h"

namespace stowage::import {
namespace {

using onnx::TensorProto;

std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

/// The axes an optional input names; all of them when it is left out, nothing when it is not known.
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

std::int64_t sum_or_fail(std::int64_t a, std::int64_t b) {
  const auto sum = base::checked_add(a, b);
  if (!sum) fail_shape_inference("dimension ", a, " + ", b, " overflows");
  return *sum;
}

std::int64_t product_or_fail(std::int64_t a, std::int64_t b) {
  const auto product = base::checked_multiply(a, b);
  if (!product) fail_shape_inference("dimension ", a, " * ", b, " overflows");
  return *product;
}

/// One result of the shape and type of the first input; others are left open.
void like_first(NodeContext& node) { node.set_output(0, node.elem_type(0), node.shape(0)); }

void truth_like_first(NodeContext& node) { node.set_output(0, TensorProto::BOOL, node.shape(0)); }

/// The mask is of truth values since operator set 10.
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

void split(NodeContext& node) {
  const auto shape = node.shape(0);
  const auto given = node.integers(1);
  const auto outputs = static_cast<std::int64_t>(node.getNumOutputs());
  const std::int64_t parts = node.integer("num_outputs", outputs);
  if (parts != outputs) fail_shape_inference("num_outputs is ", parts, " but there are ", outputs);
  for (std::size_t i = 0; i < node.getNumOutputs(); ++i) {
    std::optional<Shape> result = shape;
    if (shape) {
      const auto axis = normalized_axis(node.integer("axis", 0), shape->size());
      if (!axis) fail_shape_inference("cannot split a tensor of rank ", shape->size());
      const std::int64_t whole = (*shape)[*axis];
      const std::int64_t size = whole / parts + (whole % parts == 0 ? 0 : 1);
      const auto index = static_cast<std::int64_t>(i);
      if (node.has(1)) {
        if (given && i < given->size()) {
          (*result)[*axis] = (*given)[i];
        } else {
          result.reset();
        }
      } else {
        (*result)[*axis] =
            std::clamp<std::int64_t>(whole - std::min(index, whole) * std::min(size, whole), 0, size);
      }
    }
    node.set_output(i, node.elem_type(0), result);
  }
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

/// Known reals of an input.
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
      const float scaled = std::floor((*scales)[i] * static_cast<float>((*shape)[axes[i]]));  // as ONNX does
      if (!(scaled >= 0 && scaled < static_cast<float>(largest_value)))
        fail_shape_inference("scale ", (*scales)[i], " gives no size");
      result[axes[i]] = static_cast<std::int64_t>(scaled);
    }
  } else {
    return;
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Output extent of one axis of a pooling window.
std::int64_t pooled(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t begin,
                    std::int64_t end, bool ceils) {
  const std::int64_t free = sum_or_fail(sum_or_fail(extent, sum_or_fail(begin, end)), -kernel);
  if (free < 0) fail_shape_inference("window of ", kernel, " is larger than the padded input of ", extent);
  std::int64_t steps = free / stride;
  // A last window may hang over the end, but not begin in the padding there.
  if (ceils && free % stride != 0 && (steps + 1) * stride < extent + begin) ++steps;
  return steps + 1;
}

void pool(NodeContext& node) {
  const auto shape = node.shape(0);
  const auto kernel = node.integer_list("kernel_shape");
  node.set_output(0, node.elem_type(0), std::nullopt);
  if (!shape) return;
  if (!kernel || shape->size() != kernel->size() + 2)
    fail_shape_inference("kernel_shape does not fit the input's rank ", shape->size());
  const std::size_t rank = kernel->size();
  const Shape strides = node.integer_list("strides").value_or(Shape(rank, 1));
  const Shape dilations = node.integer_list("dilations").value_or(Shape(rank, 1));
  const Shape pads = node.integer_list("pads").value_or(Shape(2 * rank, 0));
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank)
    fail_shape_inference("strides, dilations or pads do not fit kernel_shape");
  const onnx::AttributeProto* const auto_pad = node.getAttribute("auto_pad");
  const std::string policy = auto_pad == nullptr || auto_pad->s().empty() ? "NOTSET" : auto_pad->s();
  const bool ceils = node.integer("ceil_mode", 0) != 0;
  Shape result{(*shape)[0], (*shape)[1]};
  for (std::size_t d = 0; d < rank; ++d) {
    if (strides[d] <= 0 || dilations[d] <= 0 || (*kernel)[d] <= 0)
      fail_shape_inference("strides, dilations and kernel_shape must be positive");
    const std::int64_t extent = (*shape)[d + 2];
    if (policy.starts_with("SAME")) {
      result.push_back(extent / strides[d] + (extent % strides[d] == 0 ? 0 : 1));
      continue;
    }
    const std::int64_t window = sum_or_fail(product_or_fail((*kernel)[d] - 1, dilations[d]), 1);
    const bool is_padded = policy == "NOTSET";
    result.push_back(
        pooled(extent, window, strides[d], is_padded ? pads[d] : 0, is_padded ? pads[rank + d] : 0, ceils));
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Also the index of each maximum.
void max_pool(NodeContext& node) {
  pool(node);
  onnx::TypeProto indices = node.outputs()[0];
  indices.mutable_tensor_type()->set_elem_type(TensorProto::INT64);
  if (node.getNumOutputs() > 1) node.outputs()[1] = indices;
}

/// One spectrum, of real and imaginary parts, per frame; of real signals only the half that is not
/// a mirror of the other.
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

/// Left open: the file's own declaration decides.
void unknown(NodeContext&) {}

struct Rule {
  int since;  ///< The operator set in which the operator came or changed.
  void (*infer)(NodeContext& node);
};

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> table{
      {"AffineGrid", {20, unknown}},
      {"Attention", {23, unknown}},
      {"AveragePool", {19, pool}},
      {"BitwiseAnd", {18, broadcast}},
      {"BitwiseNot", {18, like_first}},
      {"BitwiseOr", {18, broadcast}},
      {"BitwiseXor", {18, broadcast}},
      {"Cast", {19, cast}},
      {"CastLike", {19, cast_like}},
      {"CenterCropPad", {18, center_crop_pad}},
      {"Celu", {1, like_first}},
      {"Col2Im", {18, unknown}},
      {"DFT", {20, unknown}},
      {"DeformConv", {19, unknown}},
      {"DequantizeLinear", {19, dequantize}},
      {"Dropout", {1, dropout}},
      {"Gelu", {20, like_first}},
      {"GreaterOrEqual", {12, broadcast_to_truth}},
      {"GridSample", {20, grid_sample}},
      {"GroupNormalization", {18, like_first}},
      {"IsInf", {20, truth_like_first}},
      {"IsNaN", {20, truth_like_first}},
      {"LessOrEqual", {12, broadcast_to_truth}},
      {"LpPool", {18, pool}},
      {"MaxPool", {22, max_pool}},
      {"MeanVarianceNormalization", {1, like_first}},
      {"Mish", {18, like_first}},
      {"Pad", {18, pad}},
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
      {"Split", {18, split}},
      {"Swish", {24, like_first}},
      {"TensorScatter", {24, like_first}},
  };
  return table;
}

}  // namespace

bool infer_by_own_rule(NodeContext& node) {
  const auto rule = rules().find(node.node().op_type());
  if (rule == rules().end() || node.version() < rule->second.since) return false;
  rule->second.infer(node);
  return true;
}

}  // namespace stowage::import
