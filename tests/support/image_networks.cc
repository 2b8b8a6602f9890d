#include "image_networks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stowage::testing {

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

ImageMaker::ImageMaker(Random& random) : random_(random) {
  graph_.name = "images";
  graph_.subgraphs = {{.name = "main"}};
  network_.details = {{}};
  network_.input.info = {"images", "images.onnx", ModelFormat::onnx};
}

TensorId ImageMaker::add_tensor(TensorKind kind, const Shape& shape, DType dtype) {
  graph_.tensors.push_back({.name = "t" + std::to_string(graph_.tensors.size()),
                            .kind = kind,
                            .dtype = dtype,
                            .shape = shape,
                            .bytes = bytes_of(dtype, shape)});
  if (kind == TensorKind::input) graph_.subgraphs[0].inputs.push_back(graph_.tensors.size() - 1);
  return graph_.tensors.size() - 1;
}

TensorId ImageMaker::constant(TensorId t, std::vector<std::byte> bytes) {
  network_.input.constants.set(t, std::move(bytes));
  return t;
}

TensorId ImageMaker::weight(const Shape& shape) {
  const TensorId t = add_tensor(TensorKind::weight, shape);
  std::vector<std::byte> bytes(static_cast<std::size_t>(graph_.tensors[t].bytes));
  auto* const values = reinterpret_cast<float*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i)
    values[i] = std::uniform_real_distribution<float>(-1, 1)(random_);
  return constant(t, std::move(bytes));
}

TensorId ImageMaker::numbers(const std::vector<std::int64_t>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(std::int64_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return constant(add_tensor(TensorKind::weight, {std::ssize(values)}, DType::int64), std::move(bytes));
}

TensorId ImageMaker::apply(const std::string& type, const std::vector<TensorId>& inputs, const Shape& shape,
                           const Settings& settings) {
  Operator op{.name = type + std::to_string(graph_.tensors.size()), .type = type};
  for (const TensorId t : inputs) op.inputs.emplace_back(t);
  op.outputs.emplace_back(add_tensor(TensorKind::temporary, shape));
  OperatorDetails details{.version = 13};
  for (const auto& [name, value] : settings) details.attributes.set(name, value);
  graph_.subgraphs[0].operators.push_back(std::move(op));
  network_.details[0].push_back(std::move(details));
  return graph_.tensors.size() - 1;
}

TensorId ImageMaker::window(const std::string& type, TensorId x) {
  const Shape in = shape(x);
  const std::int64_t kernel = pick(random_, 1, 3);
  const std::int64_t stride = pick(random_, 0, 5) == 0 ? 3 : pick(random_, 1, 2);
  const std::int64_t dilation = pick(random_, 0, 2) == 0 ? pick(random_, 2, 3) : 1;
  const std::int64_t span = (kernel - 1) * dilation + 1;
  const std::int64_t pad = pick(random_, 0, type == "Conv" ? span - 1 : kernel / 2);
  if (std::min(in[2], in[3]) + 2 * pad < span) return x;
  const auto places = [&](std::int64_t extent) { return (extent + 2 * pad - span) / stride + 1; };
  const bool is_depthwise = type == "Conv" && pick(random_, 0, 2) == 0;
  const std::int64_t channels = type == "Conv" && !is_depthwise ? pick(random_, 1, 6) : in[1];
  std::vector<TensorId> inputs{x};
  if (type == "Conv") inputs.push_back(weight({channels, is_depthwise ? 1 : in[1], kernel, kernel}));
  Settings settings{{"kernel_shape", Shape{kernel, kernel}},
                    {"strides", Shape{stride, stride}},
                    {"dilations", Shape{dilation, dilation}},
                    {"pads", Shape{pad, pad, pad, pad}}};
  if (is_depthwise) settings.emplace_back("group", in[1]);
  return apply(type, inputs, {1, channels, places(in[2]), places(in[3])}, settings);
}

TensorId ImageMaker::pad(TensorId x, std::int64_t rows, std::int64_t columns) {
  const Shape in = shape(x);
  return apply("Pad", {x, numbers({0, 0, rows, columns, 0, 0, rows, columns})},
               {1, in[1], in[2] + 2 * rows, in[3] + 2 * columns});
}

TensorId ImageMaker::expand(TensorId x) {
  const Shape in = shape(x);
  const std::int64_t channels = pick(random_, 8, 16);
  const Shape wide{1, channels, in[2], in[3]};
  TensorId made = apply("Conv", {x, weight({channels, in[1], 1, 1})}, wide);
  if (pick(random_, 0, 1) == 0) made = apply("Relu", {made}, wide);
  made = window(pick(random_, 0, 2) == 0 ? "MaxPool" : "Conv", made);
  Shape narrow = shape(made);
  const std::int64_t from = std::exchange(narrow[1], 2);
  return apply("Conv", {made, weight({2, from, 1, 1})}, narrow);
}

TensorId ImageMaker::reshape(TensorId x, const Shape& shape) {
  return apply("Reshape", {x, numbers(shape)}, shape);
}

TensorId ImageMaker::shuffle(TensorId x) {
  const Shape in = shape(x);
  if (in[1] % 2 != 0) return x;
  const TensorId groups = reshape(x, {1, 2, in[1] / 2, in[2], in[3]});
  const TensorId turned =
      apply("Transpose", {groups}, {1, in[1] / 2, 2, in[2], in[3]}, {{"perm", Shape{0, 2, 1, 3, 4}}});
  return reshape(turned, in);
}

/// With a tensor that fits, if there is one.
TensorId ImageMaker::join(TensorId x, const std::vector<TensorId>& values) {
  for (const TensorId y : values) {
    if (y == x) continue;
    if (shape(y) == shape(x) && pick(random_, 0, 1) == 0) return apply("Add", {x, y}, shape(x));
    Shape joined = shape(x);
    joined[1] += shape(y)[1];
    if (shape(y)[2] == shape(x)[2] && shape(y)[3] == shape(x)[3])
      return apply("Concat", {x, y}, joined, {{"axis", std::int64_t{1}}});
  }
  return window("Conv", x);
}

TensorId ImageMaker::any(const std::vector<TensorId>& values) {
  const TensorId x = values[static_cast<std::size_t>(pick(random_, 0, std::ssize(values) - 1))];
  switch (pick(random_, 0, 10)) {
    case 0:
      return apply(pick(random_, 0, 1) == 0 ? "Relu" : "Sigmoid", {x}, shape(x));
    case 1:
      return window("MaxPool", x);
    case 2:
      return apply("GlobalAveragePool", {x}, {1, shape(x)[1], 1, 1});
    case 3:
    case 4:
      return join(x, values);
    case 5:
      return pad(x, pick(random_, 0, 2), pick(random_, 0, 2));
    case 6:
    case 7:
      return expand(values.back());
    default:
      return window("Conv", values.back());
  }
}

Network ImageMaker::take(std::int64_t percent) {
  for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
    if (graph_.tensors[t].kind != TensorKind::temporary) continue;
    const auto& operators = graph_.subgraphs[0].operators;
    const bool is_read = std::any_of(operators.begin(), operators.end(), [&](const Operator& op) {
      return std::find(op.inputs.begin(), op.inputs.end(), t) != op.inputs.end();
    });
    if (is_read && pick(random_, 0, 99) >= percent) continue;
    graph_.tensors[t].kind = TensorKind::output;
    graph_.subgraphs[0].outputs.push_back(t);
  }
  network_.quantizations.resize(graph_.tensors.size());
  network_.input.content = graph_;
  add_rows(network_);
  validate(network_.graph());
  return std::move(network_);
}

Network random_images(Random& random, const Shape& input) {
  ImageMaker images(random);
  const Shape drawn =
      input.empty() ? Shape{1, pick(random, 1, 3), pick(random, 3, 12), pick(random, 2, 6)} : input;
  std::vector<TensorId> values{images.add_tensor(TensorKind::input, drawn)};
  const std::int64_t operators = pick(random, 1, 8);
  while (std::ssize(values) <= operators) {
    const TensorId made = images.any(values);
    if (made == values.back()) break;  // nothing fits any more
    values.push_back(made);
  }
  if (pick(random, 0, 3) == 0) values.push_back(images.shuffle(values.back()));
  if (values.back() == values[0])
    values.push_back(images.apply("Relu", {values[0]}, images.shape(values[0])));
  return images.take();
}

Network narrowing_images(Random& random) {
  ImageMaker images(random);
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, 32, 8});
  std::int64_t channels = 2;
  for (std::int64_t rows = 32; rows > 4; rows /= 2) {
    const std::int64_t more = channels * pick(random, 2, 3);
    x = images.apply("Conv", {x, images.weight({channels, channels, 3, 1})}, {1, channels, rows, 8},
                     {{"pads", std::vector<std::int64_t>{1, 0, 1, 0}}});
    x = images.apply("Relu", {x}, images.shape(x));
    x = images.apply("Conv", {x, images.weight({more, channels, 2, 1})}, {1, more, rows / 2, 8},
                     {{"strides", std::vector<std::int64_t>{2, 1}}});
    channels = more;
  }
  return images.take(0);
}

}  // namespace stowage::testing
