// Sizes that a model leaves open, as a user of the command meets them: first without any number.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_models.h"
#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_stowage;
using testing::tensor_value;

/// x * w for a batch of sequences of at most 2^20 vectors.
std::string encoder() {
  return testing::onnx_model({.nodes = {testing::node("MatMul", {"x", "w"}, {"y"})},
                              .inputs = {tensor_value("x", {"batch", "seq", 16})},
                              .outputs = {testing::untyped_value("y")},
                              .initializers = {testing::zeros("w", {16, 16})}})
      .SerializeAsString();
}

ProcessResult planned(const std::vector<std::string>& more) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  std::vector<std::string> arguments{"plan", "net.onnx"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_stowage(directory.path(), arguments);
}

void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not say '" << part << "'";
}

TEST(CliOpenSizes, AreNamedWithWhatSomeNeed) {
  const ProcessResult answer = planned({});
  EXPECT_EQ(answer.status, 3);
  expect_says(answer.output, {"'batch' (axis 0 of 'x')", "'seq' (axis 1 of 'x')", "4096 bytes  seq=32",
                              "peak = ", "128*seq", "--dim batch=1 --dim seq=..512", "--fit seq"});
  expect_says(answer.errors, {"2 sizes open", "--dim batch=N --dim seq=N"});
  EXPECT_EQ(planned({"--json"}).output, "");
  EXPECT_EQ(planned({"-o", "plan.json"}).output, "");
}

/// Each command that the answer prints works.
TEST(CliOpenSizes, GoOnWithTheCommandsOfTheAnswer) {
  EXPECT_EQ(planned({"--dim", "batch=1", "--dim", "seq=..512"}).status, 0);
  const ProcessResult fit = planned({"--dim", "batch=1", "--fit", "seq", "--capacity", "1MiB"});
  EXPECT_EQ(fit.status, 0) << fit.errors;
  expect_says(fit.errors, {"every size of 'seq' from 1 to 8192 fits, 1048576 bytes",
                           "8193 does not fit: any order of its operators needs at least 1048704 bytes"});
  expect_says(fit.output, {"every x up to 1x8192x16", "1048576 bytes"});
}

TEST(CliOpenSizes, OfASearchAreWithinARange) {
  const ProcessResult fit =
      planned({"--dim", "batch=2", "--dim", "seq=32..3200:32", "--fit", "seq", "--capacity", "100000"});
  EXPECT_EQ(fit.status, 0) << fit.errors;
  expect_says(fit.errors, {"from 32 to 384 in steps of 32 fits, 98304 bytes", "416 does not fit"});
  expect_says(planned({"--dim", "batch=1", "--dim", "seq=..64", "--fit", "seq", "--capacity", "1MiB"}).errors,
              {"from 1 to 64 fits", "that is the largest size of the range"});
}

TEST(CliOpenSizes, RefuseWhatASearchCannotDo) {
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const std::vector<Case> cases{
      {{"--dim", "batch=1", "--fit", "seq"}, "--fit needs a limit"},
      {{"--dim", "batch=1", "--fit", "seq", "--capacity", "64"},
       "not even the smallest size fits: 1 does not fit"},
      {{"--dim", "batch=1", "--dim", "seq=5", "--fit", "seq", "--capacity", "64KiB"}, "gives it one size"},
      {{"--dim", "batch=1", "--fit", "sequence", "--capacity", "64KiB"}, "'sequence'"},
      {{"--dim", "batch=1", "--dim", "seq=8..9:2"}, "9 is not whole steps of 2 from 8"},
      {{"--dim", "batch=1", "--dim", "seq=8..9:0"}, "a whole number of at least 1"}};
  for (const Case& it : cases) {
    const ProcessResult refused = planned(it.arguments);
    EXPECT_EQ(refused.status, 2) << refused.errors;
    expect_says(refused.errors, {it.says});
  }
}

/// With several models the options that are named have the model's name.
TEST(CliOpenSizes, OfSeveralModelsHaveTheirNames) {
  const testing::TemporaryDirectory directory;
  directory.write("a.onnx", encoder());
  directory.write("b.onnx", encoder());
  const std::vector<std::string> known{"plan", "a.onnx", "b.onnx", "--dim", "a.batch=1", "--dim", "a.seq=4"};
  const ProcessResult asked = run_stowage(directory.path(), known);
  EXPECT_EQ(asked.status, 3);
  expect_says(asked.errors, {"b.onnx", "--dim b.batch=N --dim b.seq=N"});
  std::vector<std::string> all = known;
  for (const char* const more : {"--dim", "b.batch=1", "--dim", "b.seq=8"}) all.emplace_back(more);
  EXPECT_EQ(run_stowage(directory.path(), all).status, 0);
}

TEST(CliOpenSizes, TakeStepsOfAnyLength) {
  EXPECT_EQ(planned({"--dim", "batch=1", "--dim", "seq=1..1000001:1000000"}).status, 0);
  EXPECT_EQ(planned({"--banks", "4x16KiB"}).status, 3);
}

TEST(CliOpenSizes, AreInspected) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const ProcessResult shown = run_stowage(directory.path(), {"inspect", "net.onnx"});
  EXPECT_EQ(shown.status, 0) << shown.errors;
  expect_says(shown.output, {"inputs       x float32[batch,seq,16]", "outputs      y", "opset        17",
                             "open sizes   'batch' (axis 0 of 'x')", "weights      1, 1024 bytes",
                             "operators    1: 1 MatMul"});
  const ProcessResult json = run_stowage(directory.path(), {"inspect", "net.onnx", "--json"});
  EXPECT_EQ(json.status, 0) << json.errors;
  expect_says(json.output, {R"("open_sizes":[{"name":"batch")", R"("weight_bytes":1024)", R"("MatMul":1)"});
  directory.write("broken.onnx", encoder().substr(0, 40));
  const ProcessResult broken = run_stowage(directory.path(), {"inspect", "broken.onnx"});
  EXPECT_EQ(broken.status, 3);
  expect_says(broken.errors, {"broken.onnx"});
}

}  // namespace
}  // namespace stowage
