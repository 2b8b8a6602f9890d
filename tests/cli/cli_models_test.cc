// Models and the options about several of them, as they are given on the command line; and what a plan of a model makes
// needless to give.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/models.h"
#include "cli/options.h"
#include "onnx_models.h"
#include "process.h"
#include "stowage/error.h"
#include "temporary.h"

namespace stowage::cli {
namespace {

using Models = std::vector<NamedFile>;

TEST(CliModels, AreCalledByTheirFilesUnlessTheyAreNamed) {
  EXPECT_EQ(parse_models({"dir/a.onnx"}), (Models{{"a", "dir/a.onnx"}}));
  EXPECT_EQ(parse_models({"eye=dir/a.onnx", "b.tflite"}), (Models{{"eye", "dir/a.onnx"}, {"b", "b.tflite"}}));
  EXPECT_EQ(parse_models({"a=x=y.onnx"}), (Models{{"a", "x=y.onnx"}}));
  EXPECT_EQ(parse_models({}), Models{});
}

TEST(CliModels, GetNumbersWhereTheirDefaultNameIsTaken) {
  EXPECT_EQ(parse_models({"a.onnx", "b/a.onnx", "c/a.onnx"}),
            (Models{{"a", "a.onnx"}, {"a-2", "b/a.onnx"}, {"a-3", "c/a.onnx"}}));
  EXPECT_EQ(parse_models({"a.onnx", "a=b.onnx", "a-2=c.onnx"}),
            (Models{{"a-3", "a.onnx"}, {"a", "b.onnx"}, {"a-2", "c.onnx"}}));
}

TEST(CliModels, MayHaveFilesWithAnEqualsSign) {
  const testing::TemporaryDirectory directory;
  directory.write("k=3.onnx", "");
  const std::string file = (directory / "k=3.onnx").string();
  EXPECT_EQ(parse_models({file}), (Models{{"k=3", file}}));
  EXPECT_EQ(parse_models({"m=" + file}), (Models{{"m", file}}));
}

TEST(CliModels, AreRefusedWithoutANameOfTheirOwn) {
  EXPECT_THROW(static_cast<void>(parse_models({"a=x.onnx", "a=y.onnx"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_models({"=x.onnx"})), UsageError);
  EXPECT_THROW(static_cast<void>(parse_models({"a="})), UsageError);
}

TEST(CliStates, AreOfOneModelOrSharedByTwo) {
  const Models models{{"a", "a.onnx"}, {"b", "b.onnx"}};
  ModelTexts texts;
  texts.states = {"a.new=a.old", "a.new=b.old", "b.x.y=b.old", "a.p=1.q=b.r=2"};
  const std::vector<ImportOptions> own = parse_options_of(models, texts);
  ASSERT_EQ(own.at(0).states.size(), 1U);
  EXPECT_EQ(own[0].states[0].output, "new");
  EXPECT_EQ(own[0].states[0].input, "old");
  ASSERT_EQ(own.at(1).states.size(), 1U);
  EXPECT_EQ(own[1].states[0].output, "x.y");
  const std::vector<FeedNames> shared = shared_states(models, texts);
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0].output, "a.new");
  EXPECT_EQ(shared[0].input, "b.old");
  EXPECT_EQ(shared[1].output, "a.p=1.q");
  EXPECT_EQ(shared[1].input, "b.r=2");
  for (const std::string wrong : {"a.y", "a.y=x", "y=b.x", "a.y=c.x"}) {
    texts.states = {wrong};
    EXPECT_THROW(static_cast<void>(parse_options_of(models, texts)), UsageError) << wrong;
  }
  texts.states = {"a.new=b.old"};
  texts.joins = {"a.y=b.x"};
  EXPECT_THROW(static_cast<void>(shared_states(models, texts)), UsageError);
}

TEST(CliStates, AreInThePlanHoweverTheyAreSaid) {
  const Models models{{"a", "a.onnx"}, {"b", "b.onnx"}};
  Plan plan{.models = {{.name = "a"}, {.name = "b"}}};
  for (const auto& [model, name] : {std::pair(0, "new"), std::pair(0, "old"), std::pair(1, "old")})
    plan.tensors.push_back({.model = static_cast<std::size_t>(model), .tensor = {.name = name}});
  plan.states = {{.output = 0, .input = 1}, {.output = 0, .input = 2}};
  ModelTexts texts;
  texts.states = {"a.new=b.old", "a.old=b.old"};
  EXPECT_NO_THROW(expect_states(plan, models, texts));
  texts.states = {"a.new=b.other"};
  EXPECT_THROW(expect_states(plan, models, texts), UsageError);
}

TEST(CliFeeds, AreSplitWhereBothSidesNameAModel) {
  PlanTexts texts;
  texts.feeds = {"a.y=b.x", "a=1.y=b.z"};
  const PlanOptions options = parse_plan_options(texts);
  ASSERT_EQ(options.feeds.size(), 2U);
  EXPECT_EQ(options.feeds[0].output, "a.y");
  EXPECT_EQ(options.feeds[0].input, "b.x");
  EXPECT_EQ(options.feeds[1].output, "a=1.y");
  EXPECT_EQ(options.feeds[1].input, "b.z");
  for (const std::string wrong : {"a.y", "a.y=x", "y=b.x", "a.y=", "=b.x", ""}) {
    texts.feeds = {wrong};
    EXPECT_THROW(static_cast<void>(parse_plan_options(texts)), UsageError) << wrong;
  }
}

TEST(CliRunExpression, IsHandedOn) {
  PlanTexts texts;
  texts.run = "a; b";
  texts.released = {"a.y", "b.z"};
  EXPECT_EQ(parse_plan_options(texts).run, "a; b");
  EXPECT_EQ(parse_plan_options(texts).released, (std::vector<std::string>{"a.y", "b.z"}));
}

using testing::ProcessResult;
using testing::run_stowage;

/// x with weights w: a product or a window.
std::string linear_model(const testing::Dimensions& x, const Shape& w, const std::string& type) {
  return testing::onnx_model({.nodes = {testing::node(type, {"x", "w"}, {"y"})},
                              .inputs = {testing::tensor_value("x", x)},
                              .outputs = {testing::untyped_value("y")},
                              .initializers = {testing::zeros("w", w)}})
      .SerializeAsString();
}

void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not say '" << part << "'";
}

/// A plan knows its sizes: nobody has to give them again, and others are errors.
TEST(CliPlannedSizes, AreInThePlan) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", linear_model({"batch", "seq", 16}, {16, 16}, "MatMul"));
  directory.write("mel.onnx", linear_model({1, 1, "n"}, {2, 1, 512}, "Conv"));
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_stowage(directory.path(), arguments);
  };
  const auto expect_right = [&](const std::string& model, const std::vector<std::string>& sizes) {
    std::vector<std::string> plan{"plan", model, "-o", "plan.json"};
    plan.insert(plan.end(), sizes.begin(), sizes.end());
    ASSERT_EQ(run(plan).status, 0) << run(plan).errors;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"verify", "plan.json", "--model", model},
          {"run", model, "--plan", "plan.json", "--check=all"},
          {"report", "plan.json", "--model", model, "-o", "plan.html"}}) {
      const ProcessResult result = run(command);
      EXPECT_EQ(result.status, 0) << command[0] << ": " << result.output << result.errors;
    }
  };
  expect_right("net.onnx", {"--dim", "batch=2", "--dim", "seq=5"});
  expect_right("mel.onnx", {"--dim", "n=600..700"});
  expect_right("net.onnx", {"--dim", "batch=1..4", "--dim", "seq=1..64", "--offsets", "symbolic"});
  expect_right("net.onnx", {"--dim", "batch=2", "--dim", "seq=1..128"});
  const auto refused = [&](const std::string& size, const std::string& says) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"verify", "plan.json", "--model", "net.onnx", "--dim", size},
          {"run", "net.onnx", "--plan", "plan.json", "--dim", size}}) {
      const ProcessResult result = run(command);
      EXPECT_EQ(result.status, 2) << result.errors;
      expect_says(result.errors, {"--dim " + size, says});
    }
  };
  refused("batch=3", "differs from the plan, which is for batch=2");
  refused("seq=1..64", "differs from the plan, which is for seq up to 128");
  refused("seq=129", "differs from the plan, which is for seq up to 128");
  ASSERT_EQ(run({"plan", "net.onnx", "--dim", "batch=2", "--dim", "seq=8,16", "-o", "sizes.json"}).status, 0);
  EXPECT_EQ(run({"verify", "sizes.json", "--model", "net.onnx"}).status, 0);
  EXPECT_EQ(run({"run", "net.onnx", "--plan", "sizes.json", "--dim", "seq=7", "--check"}).status, 0);
}

/// A plan for a range holds for each size of it.
TEST(CliPlannedSizes, WithinTheRangesRun) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", linear_model({"batch", "seq", 16}, {16, 16}, "MatMul"));
  const auto run = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_stowage(directory.path(), arguments);
  };
  ASSERT_EQ(run({"plan", "net.onnx", "-o", "plan.json"}, {"--dim", "batch=..3", "--dim", "seq=..128"}).status,
            0);
  for (const auto& [sizes, output] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--dim", "batch=1", "--dim", "seq=77"}, "float32[1,77,16]"},
           {{"--dim", "seq=1"}, "float32[3,1,16]"},
           {{"--dim", "batch=3", "--dim", "seq=128"}, "float32[3,128,16]"}}) {
    const ProcessResult ran = run({"run", "net.onnx", "--plan", "plan.json", "--check=all"}, sizes);
    EXPECT_EQ(ran.status, 0) << ran.output << ran.errors;
    expect_says(ran.output,
                {output, "all tensors are as in a run without a plan, bit for bit", "49152 bytes allocated"});
    const ProcessResult verified = run({"verify", "plan.json", "--model", "net.onnx"}, sizes);
    EXPECT_EQ(verified.status, 0) << verified.output << verified.errors;
  }
}

/// What is open depends on the whole range: here the height ends as two rows at all sizes of it, and as others below it.
TEST(CliPlannedSizes, AreThoseOfTheWholeRange) {
  using testing::attribute;
  using Axes = std::vector<std::int64_t>;
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx",
                  testing::onnx_model({.nodes = {testing::node("MaxPool", {"x"}, {"y"},
                                                               {attribute("kernel_shape", Axes{32, 1}),
                                                                attribute("strides", Axes{32, 1})})},
                                       .inputs = {testing::tensor_value("x", {1, 1, "h", 4})},
                                       .outputs = {testing::untyped_value("y")}})
                      .SerializeAsString());
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_stowage(directory.path(), arguments);
  };
  ASSERT_EQ(run({"plan", "net.onnx", "--dim", "h=64..94:2", "-o", "plan.json"}).status, 0);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"verify", "plan.json", "--model", "net.onnx"},
        {"verify", "plan.json", "--model", "net.onnx", "--dim", "h=70"},
        {"run", "net.onnx", "--plan", "plan.json", "--check=all"},
        {"run", "net.onnx", "--plan", "plan.json", "--check=all", "--dim", "h=64"},
        {"report", "plan.json", "--model", "net.onnx", "-o", "plan.html"}}) {
    const ProcessResult result = run(command);
    EXPECT_EQ(result.status, 0) << command[0] << result.output << result.errors;
  }
  const auto refused = [&](const std::string& size) {
    return run({"verify", "plan.json", "--model", "net.onnx", "--dim", size}).errors;
  };
  expect_says(refused("h=62"), {"differs from the plan, which is for h from 64 up to 94"});
  expect_says(refused("h=71"), {"differs from the plan, which is for h from 64 in steps of 2 up to 94"});
}

/// Shapes that a run decides, by data, follow from the sizes of the run, too.
TEST(CliPlannedSizes, WithinTheRangesRunWhereDataGiveShapes) {
  const testing::TemporaryDirectory directory;
  directory.write(
      "heads.onnx",
      testing::onnx_model(
          {.nodes = {testing::node("MatMul", {"x", "w"}, {"y"}), testing::node("Shape", {"x"}, {"shape"}),
                     testing::node("Slice", {"shape", "one", "two", "zero"}, {"length"}),
                     testing::node("Cast", {"length"}, {"short"},
                                   {testing::attribute("to", std::int64_t{6})}),
                     testing::node("Cast", {"short"}, {"long"}, {testing::attribute("to", std::int64_t{7})}),
                     testing::node("Concat", {"zero", "long", "rest"}, {"sizes"},
                                   {testing::attribute("axis", std::int64_t{0})}),
                     testing::node("Reshape", {"y", "sizes"}, {"z"}), testing::node("Relu", {"z"}, {"out"})},
           .inputs = {testing::tensor_value("x", {1, "seq", 16})},
           .outputs = {testing::untyped_value("out")},
           .initializers = {testing::zeros("w", {16, 32}), testing::vector_of("zero", {0}),
                            testing::vector_of("one", {1}), testing::vector_of("two", {2}),
                            testing::vector_of("rest", {2, 16})}})
          .SerializeAsString());
  ASSERT_EQ(
      run_stowage(directory.path(), {"plan", "heads.onnx", "--dim", "seq=1..64", "-o", "plan.json"}).status,
      0);
  for (const int size : {1, 40, 64}) {
    const ProcessResult ran = run_stowage(
        directory.path(),
        {"run", "heads.onnx", "--plan", "plan.json", "--check=all", "--dim", "seq=" + std::to_string(size)});
    EXPECT_EQ(ran.status, 0) << ran.errors;
    expect_says(ran.output, {"float32[1," + std::to_string(size) + ",2,16]", "bit for bit"});
  }
}

}  // namespace
}  // namespace stowage::cli
