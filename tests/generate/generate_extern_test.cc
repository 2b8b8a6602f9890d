// Functions that the user of a package writes: they are declared and described, get what the plan says, and the
// network then gives what the interpreter gives.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "c_packages.h"
#include "pool_network.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::pool_and;

/// A row of that pool, from three rows; and RELU of a row.
const char* const functions = R"(#include <float.h>
static void pool_row(const void *const *rows, float *out) {
  int x, c, k, i;
  for (x = 0; x < 5; x++) {
    for (c = 0; c < 3; c++) {
      float most = -FLT_MAX;
      for (k = 0; k < 3; k++) {
        if (rows[k] == NULL) continue;
        for (i = x < 1 ? 0 : x - 1; i < (x < 4 ? x + 2 : 5); i++)
          if (((const float *)rows[k])[i * 3 + c] > most) most = ((const float *)rows[k])[i * 3 + c];
      }
      *out++ = most;
    }
  }
}
static void relu_of(const float *in, float *out, int count) {
  int i;
  for (i = 0; i < count; i++) out[i] = in[i] < 0.0F ? 0.0F : in[i];
}
)";

const char* const by_rows = R"(
void rows_max_pool_2d_0(int32_t row, const void *const *input_0, float *output_0) {
  (void)row;
  pool_row(input_0, output_0);
}
void rows_relu_1(int32_t row, const float *input_0, float *output_0) {
  (void)row;
  relu_of(input_0, output_0, 15);
}
)";

const char* const as_wholes = R"(
void whole_max_pool_2d_0(const float *input_0, float *output_0) {
  int y, k;
  for (y = 0; y < 6; y++) {
    const void *rows[3];
    for (k = 0; k < 3; k++) rows[k] = y + k < 1 || y + k > 6 ? NULL : input_0 + (y + k - 1) * 15;
    pool_row(rows, output_0 + y * 15);
  }
}
void whole_relu_1(const float *input_0, float *output_0) { relu_of(input_0, output_0, 90); }
)";

Plan plan_of(const Network& network, bool is_streamed) {
  PlanOptions options;
  if (is_streamed) {
    options.stream = StreamOptions{.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
    options.io = Io::rows;
  }
  return make_plan(network.input, options).plan;
}

TEST(GenerateExtern, FunctionsOfTheUserCompleteANetwork) {
  const Network network = pool_and("RELU");
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  // Helpers of one file would meet those of another one in a compiler's folder: they are static.
  for (const bool is_streamed : {true, false}) {
    const std::string name = is_streamed ? "rows" : "whole";
    Package package = generate_package(network, plan_of(network, is_streamed),
                                       {.name = name, .cases = 3, .externs = {"MAX_POOL_2D", "RELU"}});
    const std::string bodies = std::string(functions) + (is_streamed ? by_rows : as_wholes);
    package.files.push_back({name + "_extern.c", bodies});
    packages.add(name, package);
    const std::string& header = package.files[0].content;
    const std::string first = is_streamed ? "Computes row `row` (of 6) of its output along dimension 1."
                                          : "Computes the whole output.";
    EXPECT_NE(header.find("Operator 0, 'MAX_POOL_2D': for you to write. " + first), std::string::npos)
        << header;
    if (is_streamed) {
      EXPECT_NE(
          header.find("input_0: float32 1x6x5x3; its rows row - 1 + 1 * k, 0 <= k < 3; null: no such row"),
          std::string::npos)
          << header;
    }
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

TEST(GenerateExtern, OperatorsThatNobodyKnowsAreGeneratedToo) {
  const Network network = pool_and("mystery");
  const Plan plan = plan_of(network, false);
  try {
    static_cast<void>(generate_package(network, plan, {.name = "net"}));
    FAIL() << "generated";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--extern mystery"), std::string::npos) << error.what();
  }
  Package package = generate_package(network, plan, {.name = "net", .externs = {"mystery"}});
  package.files.push_back(
      {"net_extern.c",
       "void net_mystery_1(const float *input_0, float *output_0) { output_0[0] = input_0[0]; "
       "}\n"});
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("net", package);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
  for (const GeneratedFile& file : package.files) {
    if (file.path == "net_test.c") {
      EXPECT_NE(file.content.find("what to expect is not known"), std::string::npos);
    }
  }
}

TEST(GenerateExtern, AnAcceleratorGetsItsCommandsAndScratch) {
  const std::filesystem::path model =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite/person_detect_vela.tflite";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  const Network network = read_network(model);
  const Package package =
      generate_package(network, make_plan(network.input).plan, {.name = "net", .externs = {"ethos-u"}});
  const std::string& header = package.files[0].content;
  EXPECT_NE(
      header.find("void net_ethos_u_0(const uint8_t *input_0, const uint8_t *input_1, const int8_t *input_4, "
                  "int8_t *output_0, uint8_t *scratch_0, uint8_t *scratch_1);"),
      std::string::npos)
      << header;
}

TEST(GenerateExtern, TypesMustOccur) {
  const Network network = pool_and("RELU");
  try {
    static_cast<void>(
        generate_package(network, plan_of(network, false), {.name = "net", .externs = {"CONV_2D"}}));
    FAIL() << "generated";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'CONV_2D': the model has none"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace stowage
