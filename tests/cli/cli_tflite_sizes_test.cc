// Sizes that a TFLite file leaves open, as a user of the command meets them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "process.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::run_stowage;

/// y = exp(x), with this signature for both.
std::string exponent_model(const std::vector<std::int32_t>& signature,
                           const std::vector<std::int32_t>& shape = {1, 64}) {
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {{.name = "x", .shape = shape, .signature = signature},
                                  {.name = "y", .shape = shape, .signature = signature}},
                      .operators = {{.type = "EXP", .inputs = {0}, .outputs = {1}}},
                      .inputs = {0},
                      .outputs = {1}}}});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CliTfliteSizes, OfABatchAreSaid) {
  const testing::TemporaryDirectory directory;
  directory.write("net.tflite", exponent_model({-1, 64}));
  const auto as_it_is = run_stowage(directory.path(), {"plan", "net.tflite"});
  EXPECT_EQ(as_it_is.status, 0);
  EXPECT_TRUE(has(as_it_is.output, "256 bytes")) << as_it_is.output;
  EXPECT_TRUE(has(as_it_is.errors, "note: 'net.tflite'") && has(as_it_is.errors, "--shape x=N,64"))
      << as_it_is.errors;
  const auto larger = run_stowage(directory.path(), {"plan", "net.tflite", "--shape", "x=4,64"});
  EXPECT_EQ(larger.status, 0) << larger.errors;
  EXPECT_EQ(larger.errors, "");
  EXPECT_TRUE(has(larger.output, "1024 bytes")) << larger.output;
}

TEST(CliTfliteSizes, ThatAreGivenAreThoseOfARun) {
  const testing::TemporaryDirectory directory;
  directory.write("net.tflite", exponent_model({-1, 64}));
  const auto run = run_stowage(directory.path(), {"run", "net.tflite", "--shape", "x=4,64", "--check=all"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_TRUE(has(run.output, "[4,64]")) << run.output;
}

TEST(CliTfliteSizes, ThatMayBeAnythingAreAskedFor) {
  const testing::TemporaryDirectory directory;
  directory.write("net.tflite", exponent_model({-1, -1}, {1, 1}));
  const auto asked = run_stowage(directory.path(), {"plan", "net.tflite"});
  EXPECT_EQ(asked.status, 3);
  EXPECT_TRUE(has(asked.errors, "2 sizes open: 'x[0]' (axis 0 of 'x')") &&
              has(asked.errors, "--dim 'x[1]'=N"))
      << asked.errors;
  const auto wrong =
      run_stowage(directory.path(), {"plan", "net.tflite", "--shape", "x=4,64", "--bound", "y=99"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(has(wrong.errors, "--bound 'y'") && has(wrong.errors, "no effect")) << wrong.errors;
  const auto planned = run_stowage(directory.path(), {"plan", "net.tflite", "--shape", "x=4,64"});
  EXPECT_EQ(planned.status, 0) << planned.errors;
  const auto by_axis =
      run_stowage(directory.path(), {"plan", "net.tflite", "--dim", "x[0]=4", "--dim", "x[1]=64"});
  EXPECT_EQ(by_axis.status, 0) << by_axis.errors;
  EXPECT_TRUE(has(by_axis.output, "1024 bytes")) << by_axis.output;
  const auto half = run_stowage(directory.path(), {"plan", "net.tflite", "--dim", "x[0]=4"});
  EXPECT_EQ(half.status, 3);
  EXPECT_TRUE(has(half.errors, "1 size open: 'x[1]'")) << half.errors;
  const auto steps =
      run_stowage(directory.path(), {"plan", "net.tflite", "--dim", "x[0]=8..9:2", "--dim", "x[1]=64"});
  EXPECT_EQ(steps.status, 2);
  EXPECT_TRUE(has(steps.errors, "9 is not whole steps of 2 from 8")) << steps.errors;
  for (const char* const wrong_name : {"n=4", "x[2]=4", "y[0]=4"}) {
    const auto refused = run_stowage(directory.path(), {"plan", "net.tflite", "--dim", wrong_name});
    EXPECT_EQ(refused.status, 2);
    EXPECT_TRUE(has(refused.errors, "expected an axis of an input")) << refused.errors;
  }
}

/// TensorFlow Lite Micro takes them as they are in the file.
TEST(CliTfliteSizes, AreThoseInTheFileForTfliteMicro) {
  const testing::TemporaryDirectory directory;
  directory.write("net.tflite", exponent_model({-1, -1}));
  const auto planned = run_stowage(directory.path(), {"tflm", "net.tflite", "-o", "planned.tflite"});
  EXPECT_EQ(planned.status, 0) << planned.errors;
  EXPECT_EQ(planned.errors, "");
  EXPECT_TRUE(has(planned.output, "tflm head    512 bytes")) << planned.output;
  EXPECT_EQ(run_stowage(directory.path(), {"inspect", "planned.tflite"}).status, 0);
}

}  // namespace
}  // namespace stowage
