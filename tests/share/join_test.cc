// Networks that become one: their tensors, operators, bodies, constants and open sizes, and what is refused.

#include "stowage/join.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "rows_of_models.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using testing::Adding;
using testing::convolutions;

std::vector<FeedNames> join_of(const Network& from, const Network& to) {
  return {{testing::name_of_output(from), testing::name_of_input(to)}};
}

TEST(Join, MakesOneTensorOfAnOutputAndAnInput) {
  const std::vector<Network> two{convolutions("a", 32, 2), convolutions("b", 28, 3)};
  const std::vector<Network> joined = join_networks(two, join_of(two[0], two[1]));
  ASSERT_EQ(joined.size(), 1);
  const Graph& graph = joined[0].graph();
  EXPECT_EQ(joined[0].input.info.name, "a+b");
  EXPECT_EQ(graph.tensors.size(), two[0].graph().tensors.size() + two[1].graph().tensors.size() - 1);
  EXPECT_EQ(graph.subgraphs[0].operators.size(), 5);
  EXPECT_EQ(joined[0].details[0].size(), 5);
  EXPECT_EQ(joined[0].quantizations.size(), graph.tensors.size());
  ASSERT_EQ(graph.subgraphs[0].inputs.size(), 1);
  ASSERT_EQ(graph.subgraphs[0].outputs.size(), 1);
  const TensorId passed = *graph.subgraphs[0].operators[1].outputs[0];
  EXPECT_EQ(graph.subgraphs[0].operators[2].inputs[0], passed);
  EXPECT_EQ(graph.tensors[passed].kind, TensorKind::temporary);
  EXPECT_EQ(graph.tensors[passed].name,
            "a." + two[0].graph().tensors[two[0].graph().subgraphs[0].outputs[0]].name);
  for (TensorId t = 0; t < graph.tensors.size(); ++t)
    EXPECT_EQ(is_constant(graph.tensors[t].kind), !joined[0].input.constants.of(t).empty()) << t;
}

TEST(Join, StandsBehindWhatItReadsAndWhereTheFirstStood) {
  const std::vector<Network> four{convolutions("c", 24, 1), convolutions("x", 9, 1), convolutions("b", 28, 2),
                                  convolutions("a", 32, 2)};
  std::vector<FeedNames> joins = join_of(four[2], four[0]);
  joins.push_back(join_of(four[3], four[2])[0]);
  const std::vector<Network> joined = join_networks(four, joins);
  ASSERT_EQ(joined.size(), 2);
  EXPECT_EQ(joined[0].input.info.name, "a+b+c");
  EXPECT_EQ(joined[1].input.info.name, "x");
  EXPECT_EQ(joined[1].graph(), four[1].graph());
}

TEST(Join, AnOutputMayGoToSeveralNetworks) {
  const std::vector<Network> three{convolutions("a", 32, 2), convolutions("b", 28, 2),
                                   convolutions("c", 28, 1)};
  std::vector<FeedNames> joins = join_of(three[0], three[1]);
  joins.push_back(join_of(three[0], three[2])[0]);
  const std::vector<Network> joined = join_networks(three, joins);
  ASSERT_EQ(joined.size(), 1);
  EXPECT_EQ(joined[0].graph().subgraphs[0].inputs.size(), 1);
  EXPECT_EQ(joined[0].graph().subgraphs[0].outputs.size(), 2);
}

TEST(Join, KeepsBodiesAndWhatTheyRead) {
  std::vector<Network> two{convolutions("a", 32, 2), convolutions("b", 28, 2)};
  const TensorId y = two[0].graph().subgraphs[0].outputs[0];
  testing::add_loop(y, two[0]);
  testing::add_if(two[1].graph().subgraphs[0].inputs[0], two[1]);
  const std::vector<Network> joined = join_networks(two, join_of(two[0], two[1]));
  const Graph& graph = joined.at(0).graph();
  ASSERT_EQ(graph.subgraphs.size(), 4);
  EXPECT_EQ(joined[0].details.size(), 4);
  const Operator& loop = graph.subgraphs[0].operators[2];
  const Operator& choice = graph.subgraphs[0].operators.back();
  EXPECT_EQ(loop.bodies, (std::vector<std::size_t>{1}));
  EXPECT_EQ(choice.bodies, (std::vector<std::size_t>{2, 3}));
  // The branches of the If read what the first network has written.
  const TensorId passed = *graph.subgraphs[0].operators[1].outputs[0];
  EXPECT_EQ(graph.subgraphs[2].operators[0].inputs[0], passed);
}

TEST(Join, KeepsElementsAndRecipesOfConstants) {
  std::vector<Network> two{convolutions("a", 32, 2), convolutions("b", 28, 2)};
  Adding add(two[1]);
  const TensorId filled = add.add_tensor("filled", TensorKind::weight, DType::float32, {4});
  const TensorId made = add.add_tensor("made", TensorKind::weight, DType::float32, {4});
  two[1].input.constants.set_element(filled, std::vector<std::byte>(4, std::byte{7}));
  two[1].input.constants.set_recipe(made, {"Neg", {filled, std::nullopt}});
  const std::vector<Network> joined = join_networks(two, join_of(two[0], two[1]));
  two.clear();  // the joined network owns what it needs
  const Graph& graph = joined.at(0).graph();
  const TensorId last = graph.tensors.size() - 1;
  EXPECT_EQ(graph.tensors[last].name, "b.made");
  EXPECT_EQ(joined[0].input.constants.element_of(last - 1).size(), 4);
  const Recipe* const recipe = joined[0].input.constants.recipe_of(last);
  ASSERT_NE(recipe, nullptr);
  EXPECT_EQ(*recipe, (Recipe{"Neg", {last - 1, std::nullopt}}));
}

TEST(Join, OpenSizesOfBothSidesAreOne) {
  std::vector<Network> two{convolutions("a", 32, 2), convolutions("b", 28, 2)};
  const auto open = [](Network& network, std::size_t axis, std::size_t symbol) {
    auto& graph = std::get<Graph>(network.input.content);
    for (const TensorId t : {graph.subgraphs[0].inputs[0], graph.subgraphs[0].outputs[0]})
      graph.tensors[t].open = {{axis, symbol}};
  };
  open(two[0], 2, 3);
  open(two[1], 2, 5);
  const Network joined = join_networks(two, join_of(two[0], two[1])).at(0);
  const Subgraph& main = joined.graph().subgraphs[0];
  EXPECT_EQ(joined.graph().tensors[main.outputs[0]].open, joined.graph().tensors[main.inputs[0]].open);
  open(two[1], 3, 5);
  EXPECT_THROW(static_cast<void>(join_networks(two, join_of(two[0], two[1]))), UsageError);
}

TEST(Join, RefusesWhatDoesNotFit) {
  const auto said = [](std::vector<Network> networks, const std::vector<FeedNames>& joins) -> std::string {
    try {
      static_cast<void>(join_networks(std::move(networks), joins));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  const std::vector<Network> two{convolutions("a", 32, 2), convolutions("b", 28, 2)};
  const std::vector<FeedNames> join = join_of(two[0], two[1]);
  EXPECT_EQ(said(two, join), "");
  EXPECT_NE(said(two, {{"a.none", join[0].input}}).find("'a.none' is no output of a model"),
            std::string::npos);
  EXPECT_NE(said(two, {join[0], join[0]}).find("the input is fed twice"), std::string::npos);
  EXPECT_NE(said(two, {{join[0].output, testing::name_of_input(two[0])}}).find("cannot be an input"),
            std::string::npos);
  EXPECT_NE(said({two[0], convolutions("b", 30, 1)}, join).find("cannot be an input"), std::string::npos);
  const auto with = [&](const std::function<void(Network&, Tensor&)>& change) {
    std::vector<Network> changed = two;
    auto& graph = std::get<Graph>(changed[1].input.content);
    change(changed[1], graph.tensors[graph.subgraphs[0].inputs[0]]);
    return said(changed, join);
  };
  EXPECT_NE(with([](Network&, Tensor& x) {
              x.shape = Shape{1, 2, 8, 28};
            })
                .find("the shapes are [1,2,28,8] and "
                      "[1,2,8,28], expected one"),
            std::string::npos);
  EXPECT_NE(with([](Network& it, Tensor&) {
              it.quantizations[it.graph().subgraphs[0].inputs[0]] = Quantization{{0.5F}, {0}};
            }).find("the scales or zero points differ"),
            std::string::npos);
  EXPECT_NE(with([](Network& it, Tensor&) {
              it.input.info.format = ModelFormat::tflite;
            }).find("expected one format"),
            std::string::npos);
  EXPECT_NE(with([](Network&, Tensor& x) { x.value = {std::int64_t{1}}; }).find("a value that never changes"),
            std::string::npos);
  // Networks of equal shapes in a circle.
  const auto same = [](const std::string& name) {
    testing::Random random(3);
    testing::ImageMaker images(random);
    const TensorId x = images.add_tensor(TensorKind::input, {1, 2, 8, 8});
    images.apply("Relu", {x}, {1, 2, 8, 8});
    Network network = images.take(0);
    network.input.info.name = name;
    return network;
  };
  const std::vector<Network> circle{same("a"), same("b")};
  EXPECT_NE(said(circle, {join_of(circle[0], circle[1])[0], join_of(circle[1], circle[0])[0]})
                .find("these networks join in a circle"),
            std::string::npos);
  EXPECT_NE(said(circle, join_of(circle[0], circle[0])).find("both are of one model"), std::string::npos);
}

}  // namespace
}  // namespace stowage
