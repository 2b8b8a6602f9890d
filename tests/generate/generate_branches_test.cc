// If, IF, Loop, Scan and WHILE as C, in one another, with bodies that return what they compute, what others have
// computed, and constants. They give what the interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "long_tests.h"
#include "onnx_models.h"
#include "packages_in_turn.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;

/// Convolutions, Ifs, Loops and Scans over a signal, or an image.
class BranchMaker {
 public:
  explicit BranchMaker(std::uint64_t seed) : random_(seed) {}

  Network make() {
    shape_ = {1, pick(1, 3), pick(4, 9)};
    if (pick(0, 1) == 0) shape_.push_back(pick(2, 5));
    testing::OnnxParts parts;
    parts.inputs = {testing::tensor_value("x", {shape_.begin(), shape_.end()}),
                    testing::tensor_value("c", {}, onnx::TensorProto::BOOL),
                    testing::tensor_value("d", {}, onnx::TensorProto::BOOL)};
    std::vector<std::string> seen{"x"};
    add_chain(parts, seen, 2);
    add_branches(parts, seen, 0);
    add_chain(parts, seen, 2);
    const std::string last = seen.back();
    parts.outputs = {testing::tensor_value(last, {shape_.begin(), shape_.end()})};
    parts.initializers.insert(parts.initializers.end(), constants_.begin(), constants_.end());
    return parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  const std::string& any(const std::vector<std::string>& names) {
    return names[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(names.size()) - 1))];
  }
  std::string name() { return "t" + std::to_string(count_++); }
  std::string constant(const Shape& shape) {
    onnx::TensorProto& tensor = constants_.emplace_back();
    tensor.set_name("w" + std::to_string(constants_.size()));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      tensor.add_dims(extent);
      count *= extent;
    }
    for (std::int64_t i = 0; i < count; ++i) tensor.add_float_data(static_cast<float>(pick(-99, 99)) / 64);
    return tensor.name();
  }

  void add_chain(testing::OnnxParts& parts, std::vector<std::string>& seen, std::int64_t most) {
    const std::int64_t length = pick(0, most);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::string made = name();
      switch (pick(0, 2)) {
        case 0:
          parts.nodes.push_back(node("Sigmoid", {seen.back()}, {made}));
          break;
        case 1:
          parts.nodes.push_back(node("Add", {seen.back(), any(seen)}, {made}));
          break;
        default: {
          Shape weights{shape_[1], shape_[1]};
          weights.resize(shape_.size(), 3);
          parts.nodes.push_back(node("Conv", {seen.back(), constant(weights)}, {made},
                                     {attribute("pads", Shape(2 * (shape_.size() - 2), 1))}));
        }
      }
      seen.push_back(made);
    }
  }

  onnx::GraphProto branch(std::vector<std::string> seen, std::size_t results, int depth) {
    testing::OnnxParts parts{.name = name()};
    const std::size_t outer = seen.size();
    add_chain(parts, seen, 3);
    if (depth < 2 && pick(0, 1) == 0) add_branches(parts, seen, depth + 1);
    for (std::size_t r = 0; r < results; ++r) {
      std::string from = pick(0, 3) == 0 ? constant(shape_) : any(seen);
      const bool is_own = seen.size() > outer && from == seen.back();
      if (!is_own || r > 0) {  // a result is computed in the branch
        const std::string made = name();
        parts.nodes.push_back(node("Identity", {from}, {made}));
        from = made;
      }
      parts.outputs.push_back(testing::tensor_value(from, {shape_.begin(), shape_.end()}));
    }
    return testing::onnx_graph(parts);
  }

  /// Carries two values, and may hand them on crosswise; a condition may end it after the first round.
  void add_loop(testing::OnnxParts& parts, std::vector<std::string>& seen, int depth) {
    const std::string round = name(), goes_on = name(), a = name(), b = name(), next = name();
    testing::OnnxParts body{.name = name()};
    body.inputs = {testing::tensor_value(round, {}, onnx::TensorProto::INT64),
                   testing::tensor_value(goes_on, {}, onnx::TensorProto::BOOL),
                   testing::tensor_value(a, {shape_.begin(), shape_.end()}),
                   testing::tensor_value(b, {shape_.begin(), shape_.end()})};
    body.nodes.push_back(node("Identity", {pick(0, 1) == 0 ? "c" : goes_on}, {next}));
    body.outputs = {testing::tensor_value(next, {}, onnx::TensorProto::BOOL)};
    const bool is_scan = pick(0, 2) == 0;
    if (is_scan) {
      body.nodes.pop_back();
      body.outputs.clear();
      body.inputs.erase(body.inputs.begin(), body.inputs.begin() + 2);
    }
    std::vector<std::string> inner = seen;
    inner.push_back(b);
    inner.push_back(a);
    add_chain(body, inner, 2);
    if (depth < 2 && pick(0, 2) == 0) add_branches(body, inner, depth + 1);
    const std::string sum = name(), other = name();
    body.nodes.push_back(node("Add", {inner.back(), a}, {sum}));
    body.nodes.push_back(node("Sigmoid", {b}, {other}));
    const bool is_crosswise = pick(0, 1) == 0;
    for (const std::string& result : {is_crosswise ? other : sum, is_crosswise ? sum : other})
      body.outputs.push_back(testing::tensor_value(result, {shape_.begin(), shape_.end()}));
    if (is_scan) return add_scan(parts, seen, body, b);
    const std::string most = "most" + std::to_string(constants_.size());
    constants_.push_back(testing::scalar(most, pick(0, 3)));
    std::vector<std::string> made{name(), name()};
    if (pick(0, 1) == 0) {  // also collects a value of each round, of which there are as many as it is told
      body.nodes[0] = node("Identity", {goes_on}, {next});
      const std::string own = name();
      body.nodes.push_back(node("Sigmoid", {a}, {own}));
      body.outputs.push_back(testing::tensor_value(own, {shape_.begin(), shape_.end()}));
      constants_.back() = testing::scalar(most, pick(1, 3));
      made.push_back(name());
    }
    parts.nodes.push_back(node("Loop",
                               {most, made.size() == 2 && pick(0, 1) == 0 ? "d" : "", any(seen), seen.back()},
                               made, {attribute("body", testing::onnx_graph(body))}));
    if (made.size() == 3) {
      const std::string largest = name();
      parts.nodes.push_back(node("ReduceMax", {made[2]}, {largest},
                                 {attribute("axes", Shape{0}), attribute("keepdims", std::int64_t{0})}));
      made[2] = largest;
    }
    seen.insert(seen.end(), made.begin(), made.end());
  }

  /// Goes over the channels of a value, forwards or backwards, which the body adds to one of its own; collects sums.
  void add_scan(testing::OnnxParts& parts, std::vector<std::string>& seen, testing::OnnxParts& body,
                const std::string& own) {
    const std::string all = name(), channel = name(), sum = name(), rows = name();
    const Shape channels(shape_.begin() + 1, shape_.end());
    const Shape one(shape_.begin() + 2, shape_.end());
    constants_.push_back(testing::vector_of(all + "_shape", channels));
    parts.nodes.push_back(node("Reshape", {any(seen), all + "_shape"}, {all}));
    body.inputs.push_back(testing::tensor_value(channel, {one.begin(), one.end()}));
    body.nodes.push_back(node("Add", {own, channel}, {sum}));
    body.outputs.push_back(testing::tensor_value(sum, {shape_.begin(), shape_.end()}));
    const std::vector<std::string> made{name(), name(), name()};
    parts.nodes.push_back(
        node("Scan", {any(seen), seen.back(), all}, made,
             {attribute("body", testing::onnx_graph(body)), attribute("num_scan_inputs", std::int64_t{1}),
              attribute("scan_input_directions", Shape{pick(0, 1)}),
              attribute("scan_output_directions", Shape{pick(0, 1)})}));
    parts.nodes.push_back(node("ReduceMax", {made[2]}, {rows},
                               {attribute("axes", Shape{0}), attribute("keepdims", std::int64_t{0})}));
    seen.insert(seen.end(), made.begin(), made.begin() + 2);
    seen.push_back(rows);
  }

  void add_branches(testing::OnnxParts& parts, std::vector<std::string>& seen, int depth) {
    if (pick(0, 2) == 0) return add_loop(parts, seen, depth);
    const auto results = static_cast<std::size_t>(pick(1, 3));
    std::vector<std::string> made;
    for (std::size_t r = 0; r < results; ++r) made.push_back(name());
    parts.nodes.push_back(node("If", {pick(0, 1) == 0 ? "c" : "d"}, made,
                               {attribute("then_branch", branch(seen, results, depth)),
                                attribute("else_branch", branch(seen, results, depth))}));
    const std::string sum = name();
    parts.nodes.push_back(node("Add", {made.front(), made.back()}, {sum}));
    seen.insert(seen.end(), made.begin(), made.end());
    seen.push_back(sum);
  }

  std::mt19937_64 random_;
  Shape shape_{};
  std::size_t count_ = 0;
  std::vector<onnx::TensorProto> constants_{};
};

TEST(GenerateBranches, OnnxNetworksGiveWhatTheInterpreterGives) {
  testing::expect_bits_of_the_interpreter(testing::has_time()        ? 300
                                          : testing::is_in_a_hurry() ? 6
                                                                     : 24,
                                          [](std::uint64_t seed) { return BranchMaker(seed).make(); });
}

/// A choice between x times weights, which IF hands over, and another operand.
testing::TfliteSpec choice_of_layers() {
  const std::vector<float> numbers{1, -2, 3, 0.5F, 0.25F, -1, 2, 4, 1};
  const std::string weights(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  const auto vector_of = [](const std::string& name) {
    return testing::TfliteTensor{.name = name, .shape = {1, 3}};
  };
  const testing::TfliteTensor inner{.name = "v", .shape = {3, 3}};
  testing::TfliteTensor given = inner;
  given.name = "w";
  given.data = weights;
  return {.subgraphs = {
              {.tensors = {{.name = "c", .shape = {}, .dtype = DType::boolean},
                           vector_of("x"),
                           given,
                           vector_of("z"),
                           vector_of("y")},
               .operators = {{.type = "LOGISTIC", .inputs = {1}, .outputs = {3}},
                             {.type = "IF", .inputs = {0, 1, 2, 3}, .outputs = {4}, .bodies = {1, 2}}},
               .inputs = {0, 1},
               .outputs = {4}},
              {.tensors = {vector_of("x1"), inner, vector_of("z1"), vector_of("y1")},
               .operators =
                   {{.type = "FULLY_CONNECTED", .inputs = {0, 1, -1}, .outputs = {3}, .numbers = {0, 0, 0}}},
               .inputs = {0, 1, 2},
               .outputs = {3}},
              {.tensors = {vector_of("x2"), inner, vector_of("z2")}, .inputs = {0, 1, 2}, .outputs = {2}}}};
}

TEST(GenerateBranches, BranchesOfTfliteReadConstantsWhereTheyAre) {
  const Network network =
      parse_network(testing::tflite_model(choice_of_layers()), "m.tflite", {.constants = true});
  const Graph& graph = network.graph();
  EXPECT_EQ(graph.subgraphs[0].operators[1].inputs, (std::vector<std::optional<TensorId>>{0, 1, 3}));
  EXPECT_EQ(graph.subgraphs[1].inputs.size(), 2U);
  EXPECT_EQ(graph.subgraphs[1].operators[0].inputs[1], TensorId{2});
  const Plan plan = make_plan(network.input).plan;
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("choice", generate_package(network, plan, {.name = "choice", .cases = 6}));
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
  EXPECT_FALSE(run_plan(network, plan, {.check = RunCheck::tensors}).fault);
}

/// Two rounds at most: the second flag becomes the first, and a constant the second.
TEST(GenerateBranches, LoopsOfTflite) {
  const auto vector_of = [](const std::string& name) {
    return testing::TfliteTensor{.name = name, .shape = {1, 3}};
  };
  const auto flag = [](const std::string& name) {
    return testing::TfliteTensor{.name = name, .shape = {}, .dtype = DType::boolean};
  };
  testing::TfliteTensor no = flag("no");
  no.data = std::string(1, '\0');
  const std::string bytes = testing::tflite_model(
      {.subgraphs = {
           {.tensors = {vector_of("x"), flag("f"), flag("g"), vector_of("y"), flag("f0"), flag("g0"),
                        vector_of("z")},
            .operators = {{.type = "WHILE", .inputs = {0, 1, 2}, .outputs = {3, 4, 5}, .bodies = {1, 2}},
                          {.type = "RELU", .inputs = {3}, .outputs = {6}}},
            .inputs = {0, 1, 2},
            .outputs = {6}},
           {.tensors = {vector_of("x1"), flag("f1"), flag("g1")}, .inputs = {0, 1, 2}, .outputs = {1}},
           {.tensors = {vector_of("x2"), flag("f2"), flag("g2"), vector_of("y2"), no},
            .operators = {{.type = "LOGISTIC", .inputs = {0}, .outputs = {3}}},
            .inputs = {0, 1, 2},
            .outputs = {3, 2, 4}}}});
  const Network network = parse_network(bytes, "m.tflite", {.constants = true});
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("rounds",
               generate_package(network, make_plan(network.input).plan, {.name = "rounds", .cases = 8}));
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A branch that returns the constant, or that another operator runs, too, keeps it as an input.
TEST(GenerateBranches, ConstantsThatBranchesReturnAreHandedOver) {
  testing::TfliteSpec returned = choice_of_layers();
  returned.subgraphs[2].outputs = {1};
  returned.subgraphs[1].tensors[3].shape = returned.subgraphs[0].tensors[4].shape = {3, 3};
  returned.subgraphs[1].operators[0] = {.type = "RELU", .inputs = {1}, .outputs = {3}};
  testing::TfliteSpec shared = choice_of_layers();
  shared.subgraphs[0].tensors.push_back({.name = "more", .shape = {1, 3}});
  shared.subgraphs[0].operators.push_back(
      {.type = "IF", .inputs = {0, 1, 2, 3}, .outputs = {5}, .bodies = {2, 2}});
  shared.subgraphs[0].outputs.push_back(5);
  shared.subgraphs[1].operators[0] = {.type = "TANH", .inputs = {0}, .outputs = {3}};
  shared.subgraphs[2].tensors.push_back({.name = "y2", .shape = {1, 3}});
  shared.subgraphs[2].operators = {{.type = "RELU", .inputs = {2}, .outputs = {3}}};
  shared.subgraphs[2].outputs = {3};
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const testing::TfliteSpec& spec : {returned, shared}) {
    const Network network = parse_network(testing::tflite_model(spec), "m.tflite", {.constants = true});
    EXPECT_EQ(network.graph().subgraphs[0].operators[1].inputs.size(), 4U);
    const std::string name = spec.subgraphs[0].operators.size() == 2 ? "returned" : "shared";
    const Plan plan = make_plan(network.input).plan;
    packages.add(name, generate_package(network, plan, {.name = name, .cases = 6}));
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
