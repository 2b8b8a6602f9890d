#include "import/tflite_attributes.h"

#include <cstdint>
#include <string_view>

#include "stowage/graph.h"

namespace stowage::import {
namespace {

using operators::AttributeViews;

class OptionsReader {
 public:
  explicit OptionsReader(const tflite::Operator& op) : op_(op) {}

  AttributeViews read() {
    read_axes();
    read_windows();
    read_shapes();
    read_products();
    read_detections();
    return std::move(views_);
  }

 private:
  void add(std::string_view name, std::int64_t value) { views_.add(name, value); }

  /// Of operators along an axis, and of reductions.
  void read_axes() {
    if (const auto* const it = op_.builtin_options_as_ConcatenationOptions()) {
      add("axis", it->axis());
      add_activation(it);
    }
    if (const auto* const it = op_.builtin_options_as_PackOptions()) {
      add("axis", it->axis());
      add("values_count", it->values_count());
    }
    if (const auto* const it = op_.builtin_options_as_UnpackOptions()) {
      add("axis", it->axis());
      add("num", it->num());
    }
    if (const auto* const it = op_.builtin_options_as_OneHotOptions()) add("axis", it->axis());
    if (const auto* const it = op_.builtin_options_as_GatherOptions()) {
      add("axis", it->axis());
      add("batch_dims", it->batch_dims());
    }
    if (const auto* const it = op_.builtin_options_as_ReducerOptions())
      add("keepdims", it->keep_dims() ? 1 : 0);
    if (op_.builtin_options_as_AddOptions() != nullptr) add_activation(op_.builtin_options_as_AddOptions());
    if (op_.builtin_options_as_SubOptions() != nullptr) add_activation(op_.builtin_options_as_SubOptions());
    if (op_.builtin_options_as_MulOptions() != nullptr) add_activation(op_.builtin_options_as_MulOptions());
    if (op_.builtin_options_as_DivOptions() != nullptr) add_activation(op_.builtin_options_as_DivOptions());
  }

  template <typename Options>
  void add_activation(const Options* options) {
    const auto activation = options->fused_activation_function();
    add("fused_activation_function", static_cast<std::int64_t>(activation));
    const std::string_view name = tflite::EnumNameActivationFunctionType(activation);
    if (!name.empty()) views_.add("activation", name);
  }

  void read_windows() {
    if (const auto* const it = op_.builtin_options_as_Conv2DOptions()) add_filter(it);
    if (const auto* const it = op_.builtin_options_as_DepthwiseConv2DOptions()) add_filter(it);
    if (const auto* const it = op_.builtin_options_as_Conv3DOptions()) {
      add_filter(it);
      add("stride_d", it->stride_d());
      add("dilation_d_factor", it->dilation_d_factor());
    }
    if (const auto* const it = op_.builtin_options_as_Pool2DOptions()) {
      add_strides(it);
      add("filter_height", it->filter_height());
      add("filter_width", it->filter_width());
    }
    if (const auto* const it = op_.builtin_options_as_ResizeBilinearOptions()) {
      add("new_height", it->new_height());
      add("new_width", it->new_width());
    }
    if (const auto* const it = op_.builtin_options_as_SpaceToDepthOptions())
      add("blocksize", it->block_size());
    if (const auto* const it = op_.builtin_options_as_DepthToSpaceOptions())
      add("blocksize", it->block_size());
  }

  template <typename Options>
  void add_strides(const Options* options) {
    add("padding", static_cast<std::int64_t>(options->padding()));
    add("stride_h", options->stride_h());
    add("stride_w", options->stride_w());
  }

  template <typename Options>
  void add_filter(const Options* options) {
    add_strides(options);
    add("dilation_h_factor", options->dilation_h_factor());
    add("dilation_w_factor", options->dilation_w_factor());
  }

  void read_shapes() {
    if (const auto* const it = op_.builtin_options_as_ReshapeOptions()) read_target(it->new_shape());
    const auto* const squeeze = op_.builtin_options_as_SqueezeOptions();
    if (squeeze != nullptr && squeeze->squeeze_dims() != nullptr && squeeze->squeeze_dims()->size() > 0)
      views_.add_list("axes", Shape(squeeze->squeeze_dims()->begin(), squeeze->squeeze_dims()->end()));
    if (const auto* const it = op_.builtin_options_as_StridedSliceOptions()) {
      add("begin_mask", it->begin_mask());
      add("end_mask", it->end_mask());
      add("ellipsis_mask", it->ellipsis_mask());
      add("new_axis_mask", it->new_axis_mask());
      add("shrink_axis_mask", it->shrink_axis_mask());
      add("offset", it->offset() ? 1 : 0);
    }
  }

  /// The shape that a reshape makes, in older files, which have no input for it. There [0] stands for a
  /// number.
  void read_target(const flatbuffers::Vector<std::int32_t>* shape) {
    const bool has_input = op_.inputs() != nullptr && op_.inputs()->size() > 1 && op_.inputs()->Get(1) >= 0;
    if (has_input || shape == nullptr) return;
    Shape target(shape->begin(), shape->end());
    if (target == Shape{0}) target.clear();
    views_.add_list("shape", std::move(target));
  }

  void read_products() {
    if (const auto* const it = op_.builtin_options_as_FullyConnectedOptions())
      add("keep_num_dims", it->keep_num_dims() ? 1 : 0);
    if (const auto* const it = op_.builtin_options_as_BatchMatMulOptions()) {
      add("transA", it->adj_x() ? 1 : 0);
      add("transB", it->adj_y() ? 1 : 0);
    }
    if (const auto* const it = op_.builtin_options_as_SVDFOptions()) add("rank", it->rank());
    if (const auto* const it = op_.builtin_options_as_LSTMOptions())
      add("is_basic", it->kernel_type() == tflite::LSTMKernelType::BASIC ? 1 : 0);
    if (const auto* const it = op_.builtin_options_as_UnidirectionalSequenceLSTMOptions())
      add("time_major", it->time_major() ? 1 : 0);
  }

  void read_detections() {
    const auto options = custom_options_of(op_);
    if (!options) return;
    for (const char* const name : {"max_detections", "max_classes_per_detection"}) {
      const flexbuffers::Reference value = (*options)[name];
      if (!value.IsNull()) add(name, value.AsInt64());
    }
  }

  const tflite::Operator& op_;
  AttributeViews views_{};
};

}  // namespace

std::optional<flexbuffers::Map> custom_options_of(const tflite::Operator& op) {
  const auto* const options = op.custom_options();
  if (options == nullptr || options->size() < 3 ||
      !flexbuffers::VerifyBuffer(options->data(), options->size(), nullptr))
    return std::nullopt;
  const flexbuffers::Reference root = flexbuffers::GetRoot(options->data(), options->size());
  if (!root.IsMap()) return std::nullopt;
  return root.AsMap();
}

AttributeViews views_of(const tflite::Operator& op) {
  AttributeViews views = OptionsReader(op).read();
  // ONNX's rules have these as attributes; TFLite's operators always do so.
  views.add("allowzero", std::int64_t{1});
  views.add("noop_with_empty_axes", std::int64_t{1});
  if (op.builtin_options_as_ReducerOptions() == nullptr) views.add("keepdims", std::int64_t{0});
  return views;
}

}  // namespace stowage::import
