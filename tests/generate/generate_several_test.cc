// Several models in one plan as C: each gives what the interpreter gives, also where one feeds the other.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "generate/text.h"
#include "pool_network.h"
#include "process.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"

namespace stowage {
namespace {

std::vector<Network> two_networks() {
  std::vector<Network> networks{testing::pool_and("RELU"), testing::pool_and("LOGISTIC")};
  networks[0].input.info.name = "a";
  networks[1].input.info.name = "B";
  return networks;
}

Plan plan_of(const std::vector<Network>& networks, const PlanOptions& options) {
  return make_plan(std::vector<Input>{networks[0].input, networks[1].input}, options).plan;
}

std::vector<std::byte> run_with(const Network& network, const std::vector<std::byte>& input) {
  const Plan plan = make_plan(network.input).plan;
  RunOptions options{.kernels = KernelSet::plain};
  options.inputs["x"] = Array{DType::float32, Shape{1, 6, 5, 3}, input};
  return Runner(network, options).run(plan, options).outputs[0].array.data;
}

/// Runs both, the second on the output of the first, which is where it needs it.
std::string program(const std::vector<std::byte>& input, const std::vector<std::byte>& expected) {
  return "#include \"pair.h\"\n#include <stdio.h>\n#include <string.h>\n"
         "static const float input[90] = {\n" +
         generate::initialiser(DType::float32, input) + "};\nstatic const float expected[90] = {\n" +
         generate::initialiser(DType::float32, expected) +
         "};\nstatic float output[90];\n"
         "static uint64_t arena[(PAIR_ARENA_SIZE + 7) / 8 + 8];\n"
         "int main(void) {\n"
         "  uint8_t *const at = (uint8_t *)(((uintptr_t)arena + 63) / 64 * 64);\n"
         "  pair_a_run(at, input, NULL);\n"
         "  pair_b_run(at, NULL, output);\n"
         "  if (memcmp(output, expected, sizeof(output)) != 0) return 1;\n"
         "  puts(\"as expected\");\n  return 0;\n}\n";
}

TEST(GenerateSeveral, OneFeedsTheOther) {
  const std::vector<Network> networks = two_networks();
  PlanOptions options;
  options.run = "a; B";
  options.feeds = {{.output = "a.y", .input = "B.x"}};
  const Package package =
      generate_package(networks, plan_of(networks, options), {.name = "pair", .cases = 2});
  const testing::TemporaryDirectory folder;
  std::vector<std::string> arguments{"-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I.", "main.c"};
  for (const GeneratedFile& file : package.files) {
    folder.write(file.path, file.content);
    if (file.path.ends_with(".c") && !file.path.ends_with("_test.c")) arguments.push_back(file.path);
  }
  EXPECT_NE(package.files[0].content.find("Output 'y' of 'a' is input 'x' of 'B': give NULL for it."),
            std::string::npos)
      << package.files[0].content;
  std::vector<float> numbers(90);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 90) / 30 - 1.4F;
  std::vector<std::byte> input(numbers.size() * sizeof(float));
  std::memcpy(input.data(), numbers.data(), input.size());
  folder.write("main.c", program(input, run_with(networks[1], run_with(networks[0], input))));
  arguments.insert(arguments.end(), {"-fsanitize=address,undefined", "-lm", "-o", "both"});
  const auto compiled = testing::run_process("/usr/bin/gcc", arguments, {.directory = folder.path()});
  ASSERT_EQ(compiled.status, 0) << compiled.errors;
  EXPECT_EQ(testing::run_process((folder / "both").string(), {}).status, 0);
  const auto made = testing::run_process("/usr/bin/make", {"test"}, {.directory = folder.path()});
  EXPECT_EQ(made.status, 0) << made.errors;
  EXPECT_NE(made.output.find("pair_a: 2 of 2 cases as expected"), std::string::npos) << made.output;
  EXPECT_NE(made.output.find("pair_b: 2 of 2 cases as expected"), std::string::npos) << made.output;
}

TEST(GenerateSeveral, RefusesModelsThatRunAtTheSameTime) {
  const std::vector<Network> networks = two_networks();
  PlanOptions options;
  options.run = "a | B";
  try {
    static_cast<void>(generate_package(networks, plan_of(networks, options), {.name = "pair"}));
    FAIL() << "generated";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("runs models at the same time"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace stowage
