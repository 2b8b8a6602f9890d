#include "networks_over_time.h"

#include <algorithm>

namespace stowage::testing {

NetworkOverTime::NetworkOverTime(std::uint64_t seed) : random_(seed) {
  const std::int64_t channels = pick(1, 4);
  const std::int64_t width = pick(0, 2) == 0 ? pick(2, 5) : 0;
  Dimensions shape{1, channels, "n"};
  if (width > 0) shape.emplace_back(width);
  parts_.inputs = {tensor_value("x", shape)};
  put({"x", channels, width, 0, 0});
  const std::int64_t layers = pick(2, 6);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::int64_t kind = pick(0, 5);
    if (kind < 3) {
      add_window();
    } else if (kind < 5) {
      add_function();
    } else {
      join();
    }
  }
  if (pick(0, 2) == 0) classify();
  parts_.outputs = {untyped_value(made_.back().name)};
  model_ = onnx_model(parts_).SerializeAsString();
}

Network NetworkOverTime::at(std::int64_t length) const {
  ImportOptions options{.dims = {{"n", length}}};
  options.constants = true;
  return parse_network(model_, "net.onnx", options);
}

std::string NetworkOverTime::weights(const Shape& shape) {
  onnx::TensorProto& tensor = parts_.initializers.emplace_back();
  tensor.set_name("w" + std::to_string(parts_.initializers.size()));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
    count *= extent;
  }
  for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(static_cast<float>(pick(-64, 64)) / 64);
  return tensor.name();
}

void NetworkOverTime::add_window() {
  Made to = made_.back();
  const Made from = to;
  const bool is_image = from.width > 0;
  const std::int64_t taps = pick(1, 4);
  const std::int64_t dilation = pick(0, 2) == 0 ? pick(2, 3) : 1;
  const std::int64_t stride = from.strides < 2 && pick(0, 3) == 0 ? 2 : 1;
  const std::int64_t reach = (taps - 1) * dilation;
  std::int64_t before = pick(0, reach);
  std::int64_t after = pick(0, 2) == 0 ? pick(0, reach) : reach - before;
  const bool is_pool = pick(0, 4) == 0 && dilation == 1 && taps > 1;
  if (is_pool) {
    before = std::min(before, taps - 1);
    after = std::min(after, taps - 1);
  }
  std::vector<std::int64_t> kernel{taps}, strides{stride}, dilations{dilation}, pads{before, after};
  if (is_image) {
    kernel = {taps, 1};
    strides = {stride, 1};
    dilations = {dilation, 1};
    pads = {before, 0, after, 0};
  }
  to.name = next();
  to.strides += stride == 2 ? 1 : 0;
  to.lost += 1000 * (reach - before - after) + (stride == 2 ? 1 : 0);
  NodeAttributes attributes{attribute("kernel_shape", kernel), attribute("strides", strides),
                            attribute("pads", pads)};
  if (is_pool) {
    parts_.nodes.push_back(node("MaxPool", {from.name}, {to.name}, attributes));
    return put(to);
  }
  attributes.push_back(attribute("dilations", dilations));
  const bool is_depthwise = pick(0, 3) == 0;
  to.channels = is_depthwise ? from.channels : pick(1, 5);
  if (is_depthwise) attributes.push_back(attribute("group", from.channels));
  Shape shape{to.channels, is_depthwise ? 1 : from.channels, taps};
  if (is_image) shape.push_back(1);
  const std::string filter = weights(shape);
  const std::string bias = weights({to.channels});
  parts_.nodes.push_back(node("Conv", {from.name, filter, bias}, {to.name}, attributes));
  put(to);
}

void NetworkOverTime::add_function() {
  const char* const types[] = {"Relu", "Sigmoid", "Tanh", "Neg"};
  Made to = made_.back();
  to.name = next();
  parts_.nodes.push_back(node(types[pick(0, 3)], {made_.back().name}, {to.name}));
  put(to);
}

/// With the oldest tensor of as many rows at every length.
void NetworkOverTime::join() {
  Made to = made_.back();
  const auto other = std::ranges::find_if(made_, [&](const Made& it) {
    return it.strides == to.strides && it.lost == to.lost && it.name != to.name;
  });
  if (other == made_.end()) return add_function();
  const bool is_sum = other->channels == to.channels && pick(0, 1) == 0;
  const Names operands{other->name, to.name};
  to.name = next();
  if (is_sum) {
    parts_.nodes.push_back(node("Add", operands, {to.name}));
  } else {
    parts_.nodes.push_back(node("Concat", operands, {to.name}, {attribute("axis", std::int64_t{1})}));
    to.channels += other->channels;
  }
  put(to);
}

void NetworkOverTime::classify() {
  const Made from = made_.back();
  const std::string mean = next();
  const std::string flat = next();
  const std::string out = next();
  parts_.nodes.push_back(node("GlobalAveragePool", {from.name}, {mean}));
  parts_.nodes.push_back(node("Flatten", {mean}, {flat}));
  const std::string matrix = weights({from.channels, 3});
  parts_.nodes.push_back(node("MatMul", {flat, matrix}, {out}));
  put({out, 3, 0, 9, 0});
}

}  // namespace stowage::testing
