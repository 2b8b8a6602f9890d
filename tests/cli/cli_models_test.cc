// Models and the options about several of them, as they are given on the command line.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/models.h"
#include "cli/options.h"
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

}  // namespace
}  // namespace stowage::cli
