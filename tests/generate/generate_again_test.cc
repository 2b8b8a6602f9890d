// Cheap operators that a plan runs twice, with readers along several axes: lines of the image, its columns, its channels.
// What is generated gives what the interpreter gives.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "c_packages.h"
#include "image_networks.h"
#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;

/// An image, one or two cheap operators, and readers of them that become outputs.
class SharedMaker {
 public:
  explicit SharedMaker(std::uint64_t seed) : random_(seed) {}

  Network make() {
    image_ = {1, pick(2, 6), 2 * pick(3, 8), 2 * pick(2, 5)};
    parts_.inputs = {testing::tensor_value("x", {image_.begin(), image_.end()})};
    parts_.nodes = {node("Relu", {"x"}, {"a"}), node("Sigmoid", {"a"}, {"s"})};
    // A classifier, whose rows are channels, a convolution and a frame.
    for (const std::int64_t kind : {1, 0, 3}) add_reader(kind);
    const std::int64_t readers = pick(0, 2);
    for (std::int64_t i = 0; i < readers; ++i) add_reader(pick(0, 4));
    return parse_network(testing::onnx_model(parts_).SerializeAsString(), "m.onnx", {.constants = true});
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  std::string weights(const std::vector<std::int64_t>& shape) {
    onnx::TensorProto& tensor = parts_.initializers.emplace_back();
    tensor.set_name("w" + std::to_string(parts_.initializers.size()));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      tensor.add_dims(extent);
      count *= extent;
    }
    for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(static_cast<float>(pick(-99, 99)) / 64);
    return tensor.name();
  }

  void add(const std::string& type, const std::vector<std::string>& inputs,
           const testing::NodeAttributes& attributes = {}) {
    name_ = "t" + std::to_string(parts_.nodes.size());
    parts_.nodes.push_back(node(type, inputs, {name_}, attributes));
  }

  void add_reader(std::int64_t kind) {
    const std::string x = pick(0, 1) == 0 ? "a" : "s";
    const std::int64_t channels = image_[1];
    switch (kind) {
      case 0: {
        const std::int64_t taps = 2 * pick(0, 1) + 1;
        add("Conv", {x, weights({pick(2, 6), channels, taps, taps})},
            {attribute("strides", Shape{pick(1, 2), pick(1, 2)}), attribute("pads", Shape(4, taps / 2))});
        break;
      }
      case 1:
        add("Mul", {"s", "a"});
        add("Flatten", {name_});
        add("Gemm", {name_, weights({channels * image_[2] * image_[3], 5})});
        break;
      case 2:
        add("MaxPool", {x}, {attribute("kernel_shape", Shape{2, 2}), attribute("strides", Shape{2, 2})});
        break;
      case 3:
        parts_.initializers.push_back(
            testing::vector_of("p" + std::to_string(parts_.nodes.size()), {0, 0, 1, 1, 0, 0, 1, 1}));
        add("Pad", {x, parts_.initializers.back().name()});
        break;
      default:
        add("Mul", {x, "a"});
        add("GlobalAveragePool", {name_});
    }
    parts_.outputs.push_back(testing::value_of_any_shape(name_));
  }

  std::mt19937_64 random_;
  testing::OnnxParts parts_{};
  std::vector<std::int64_t> image_{};
  std::string name_{};
};

TEST(GenerateAgain, ReadersAlongSeveralAxesGiveWhatTheInterpreterGives) {
  constexpr std::uint64_t networks = 60;
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (std::uint64_t seed = 0; seed < networks; ++seed) {
    const Network network = SharedMaker(seed).make();
    PlanOptions options;
    options.solve.effort = 20;
    options.solve.threads = 1;
    options.stream = StreamOptions{};
    const std::string name = "net" + std::to_string(seed);
    try {
      packages.add(name, generate_package(network, make_plan(network.input, options).plan, {.name = name}));
    } catch (const Error& error) {
      // Rows or blocks that are apart.
      EXPECT_NE(std::string(error.what()).find("for which no C is generated"), std::string::npos)
          << seed << error.what();
    }
  }
  EXPECT_GT(packages.count(), networks / 4);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// An output that leaves row by row is also flattened: its rows are gathered.
TEST(GenerateAgain, FlattensAnImageWhoseRowsAreApart) {
  const onnx::ModelProto model = testing::onnx_model(
      {.nodes = {node("Relu", {"x"}, {"y"}), node("Flatten", {"y"}, {"f"}), node("Softmax", {"f"}, {"q"})},
       .inputs = {testing::tensor_value("x", {1, 3, 9, 5})},
       .outputs = {testing::value_of_any_shape("y"), testing::value_of_any_shape("q")}});
  const Network network = parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
  PlanOptions options;
  options.solve.effort = 20;
  options.stream = StreamOptions{.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
  options.io = Io::rows;
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("heads", generate_package(network, make_plan(network.input, options).plan, {.name = "heads"}));
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

bool adds_parts(const Plan& plan) {
  return std::ranges::any_of(plan.clocks[0].steps, [](const Step& step) {
    const auto* const run = std::get_if<stowage::Run>(&step);
    return run != nullptr && run->part.has_value();
  });
}

/// Channels are widened, windows move over them, and they are narrowed again, twice.
Network widened_and_narrowed(testing::Random& random) {
  testing::ImageMaker images(random);
  const Shape narrow{1, 2, 12 + 2 * testing::pick(random, 0, 6), testing::pick(random, 3, 6)};
  TensorId x = images.add_tensor(TensorKind::input, narrow);
  for (int i = 0; i < 2; ++i) {
    const std::int64_t channels = testing::pick(random, 6, 12);
    const Shape wide{1, channels, narrow[2], narrow[3]};
    x = images.apply("Conv", {x, images.weight({channels, 2, 1, 1})}, wide);
    x = images.apply("Conv", {x, images.weight({channels, 1, 3, 3})}, wide,
                     {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}, {"group", channels}});
    x = images.apply("Conv", {x, images.weight({2, channels, 1, 1})}, narrow);
  }
  static_cast<void>(images.apply("Sigmoid", {x}, narrow));
  return images.take(0);
}

TEST(GenerateAgain, PartsOfRowsGiveWhatTheInterpreterGives) {
  constexpr std::size_t wanted = 6;
  testing::Random random(4);
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (int i = 0; i < 40 && packages.count() < wanted; ++i) {
    const Network network = i % 3 == 2 ? testing::random_images(random) : widened_and_narrowed(random);
    PlanOptions options;
    options.solve.effort = 1000;
    options.alignment = 4;
    options.stream.emplace();
    options.stream->granule = 1 + i % 2;
    options.stream->blocks = StreamBlocks::none;
    options.stream->axes = StreamAxes::natural;
    options.stream->recompute = 2;
    options.io = i % 4 == 3 ? Io::arena : Io::rows;
    const Plan plan = make_plan(network.input, options).plan;
    if (!adds_parts(plan)) continue;
    const std::string name = "net" + std::to_string(i);
    try {
      packages.add(name, generate_package(network, plan, {.name = name, .cases = 2}));
    } catch (const Error& error) {
      ADD_FAILURE() << i << ": " << error.what();
    }
  }
  EXPECT_EQ(packages.count(), wanted);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
