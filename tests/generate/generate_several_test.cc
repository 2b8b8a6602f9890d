// Several models in one plan as C: each gives what the interpreter gives, also where one feeds the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "c_packages.h"
#include "generate/text.h"
#include "pool_network.h"
#include "process.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"
#include "stowage/run.h"

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

std::vector<std::byte> some_input() {
  std::vector<float> numbers(90);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 90) / 30 - 1.4F;
  std::vector<std::byte> input(numbers.size() * sizeof(float));
  std::memcpy(input.data(), numbers.data(), input.size());
  return input;
}

std::string array_text(const std::string& name, const std::vector<std::byte>& values) {
  return "static const float " + name + "[90] = {\n" + generate::initialiser(DType::float32, values) + "};\n";
}

/// `expected` are the outputs `first` and `second`.
std::string begin_of_program(const std::string& package, const std::vector<std::byte>& input,
                             const std::vector<std::byte>& expected_first,
                             const std::vector<std::byte>& expected_second) {
  std::string size = package + "_ARENA_SIZE";
  for (char& c : size) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return "#include \"" + package + ".h\"\n#include <stdio.h>\n#include <string.h>\n" +
         array_text("input", input) + array_text("expected_first", expected_first) +
         array_text("expected_second", expected_second) +
         "static float first[90], second[90];\nstatic uint64_t arena[(" + size +
         " + 7) / 8 + 8];\n"
         "int main(void) {\n"
         "  uint8_t *const at = (uint8_t *)(((uintptr_t)arena + 63) / 64 * 64);\n";
}

const char* const end_of_program =
    "  if (memcmp(first, expected_first, sizeof(first)) != 0) return 1;\n"
    "  if (memcmp(second, expected_second, sizeof(second)) != 0) return 2;\n"
    "  puts(\"as expected\");\n  return 0;\n}\n";

/// One row of each model in turn. Rows are lines of 15 numbers.
std::string turns_program(const std::vector<std::byte>& input, const std::vector<std::byte>& expected_first,
                          const std::vector<std::byte>& expected_second) {
  const auto turn = [](const std::string& model, const std::string& output) {
    const std::string big = model == "a" ? "A" : "B";
    return "    if (of_" + model + " == PAIR_" + big + "_WANTS_ROW)\n      memcpy(pair_" + model + "_row(&" +
           model + "), input + 15 * pair_" + model + "_row_number(&" + model + "), 60);\n    if (of_" +
           model + " == PAIR_" + big + "_HAS_ROW)\n      memcpy(" + output + " + 15 * pair_" + model +
           "_row_number(&" + model + "), pair_" + model + "_row(&" + model + "), 60);\n    if (of_" + model +
           " != PAIR_" + big + "_DONE) of_" + model + " = pair_" + model + "_advance(&" + model + ");\n";
  };
  return begin_of_program("pair", input, expected_first, expected_second) +
         "  pair_a_state a;\n  pair_b_state b;\n"
         "  pair_a_status of_a = pair_a_begin(&a, at);\n  pair_b_status of_b = pair_b_begin(&b, at);\n"
         "  while (of_a != PAIR_A_DONE || of_b != PAIR_B_DONE) {\n" +
         turn("a", "first") + turn("b", "second") + "  }\n" + end_of_program;
}

TEST(GenerateSeveral, OneFeedsTheOther) {
  const std::vector<Network> networks = two_networks();
  PlanOptions options;
  options.run = "a; B";
  options.feeds = {{.output = "a.y", .input = "B.x"}};
  const Package package =
      generate_package(networks, plan_of(networks, options), {.name = "pair", .cases = 2});
  EXPECT_NE(package.files[0].content.find("Output 'y' of 'a' is input 'x' of 'B': give NULL for it."),
            std::string::npos)
      << package.files[0].content;
  const std::vector<std::byte> input = some_input();
  const std::vector<std::byte> fed = run_with(networks[0], input);
  const std::string main = begin_of_program("pair", input, fed, run_with(networks[1], fed)) +
                           "  pair_a_run(at, input, first);\n  pair_b_run(at, NULL, second);\n" +
                           end_of_program;
  const auto outcome = testing::run_with_main(package, main);
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

TEST(GenerateSeveral, TakeTurnsRowByRow) {
  const std::vector<Network> networks = two_networks();
  PlanOptions options;
  options.run = "a | B";
  options.stream.emplace();
  options.io = Io::rows;
  const Plan plan = plan_of(networks, options);
  ASSERT_EQ(plan.clocks.size(), 3U);
  const Package package = generate_package(networks, plan, {.name = "pair", .cases = 2});
  EXPECT_NE(package.files[0].content.find(" *   pair_a | pair_b\n"), std::string::npos)
      << package.files[0].content;
  const std::vector<std::byte> input = some_input();
  const auto outcome = testing::run_with_main(
      package, turns_program(input, run_with(networks[0], input), run_with(networks[1], input)));
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

TEST(GenerateSeveral, RunBetweenStepsOfAnother) {
  const std::vector<Network> networks = two_networks();
  PlanOptions options;
  options.run = "a ^5 B";
  options.stream.emplace();
  options.io = Io::rows;
  const Plan plan = plan_of(networks, options);
  const auto pauses = std::ranges::count_if(
      plan.clocks[0].steps, [](const Step& step) { return std::holds_alternative<Pause>(step); });
  ASSERT_GE(pauses, 2);
  const Package package = generate_package(networks, plan, {.name = "pair", .cases = 2});
  EXPECT_NE(package.files[0].content.find(" *   pair_a ^5 pair_b\n"), std::string::npos)
      << package.files[0].content;
  const std::vector<std::byte> input = some_input();
  const auto rows_of = [](const std::string& model, const std::string& output) {
    const std::string big = model == "a" ? "A" : "B";
    return "    if (of_" + model + " == PAIR_" + big + "_WANTS_ROW)\n      memcpy(pair_" + model + "_row(&" +
           model + "), input + 15 * pair_" + model + "_row_number(&" + model + "), 60);\n    if (of_" +
           model + " == PAIR_" + big + "_HAS_ROW)\n      memcpy(" + output + " + 15 * pair_" + model +
           "_row_number(&" + model + "), pair_" + model + "_row(&" + model + "), 60);\n";
  };
  const std::string main =
      begin_of_program("pair", input, run_with(networks[0], input), run_with(networks[1], input)) +
      "  pair_a_state a;\n  int pauses = 0;\n  pair_a_status of_a = pair_a_begin(&a, at);\n"
      "  for (; of_a != PAIR_A_DONE; of_a = pair_a_advance(&a)) {\n" +
      rows_of("a", "first") +
      "    if (of_a == PAIR_A_PAUSES) {\n      pair_b_state b;\n"
      "      pair_b_status of_b = pair_b_begin(&b, at);\n"
      "      memset(second, 0, sizeof(second));\n"
      "      for (; of_b != PAIR_B_DONE; of_b = pair_b_advance(&b)) {\n" +
      rows_of("b", "second") +
      "      }\n"
      "      if (memcmp(second, expected_second, sizeof(second)) != 0) return 3;\n"
      "      pauses++;\n    }\n  }\n"
      "  if (pauses != " +
      std::to_string(pauses) + ") return 4;\n" + end_of_program;
  const auto outcome = testing::run_with_main(package, main);
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

TEST(GenerateSeveral, RefusePausesThatCCannotTell) {
  const std::vector<Network> networks = two_networks();
  PlanOptions options;
  options.run = "a ^1 B";
  options.alias = Alias::none;
  const auto message = [&]() -> std::string {
    try {
      (void)generate_package(networks, plan_of(networks, options), {.name = "pair", .cases = 1});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message().find("has C for its whole run"), std::string::npos) << message();
}

TEST(GenerateSeveral, TheReadmeHasCodeThatCompilesAndRuns) {
  const std::vector<Network> networks = two_networks();
  const Package package = generate_package(networks, plan_of(networks, {}), {.name = "pair", .cases = 0});
  const std::string readme = std::ranges::find(package.files, "README.md", &GeneratedFile::path)->content;
  EXPECT_NE(readme.find("| pair_b | name in the model | type | shape |"), std::string::npos) << readme;
  const std::size_t code = readme.find("```c\n") + 5;
  const std::vector<std::byte> input = some_input();
  const auto outcome = testing::run_with_main(
      package, readme.substr(code, readme.find("```", code) - code) +
                   "#include <stdio.h>\n#include <string.h>\n" + array_text("input", input) +
                   array_text("expected_first", run_with(networks[0], input)) +
                   array_text("expected_second", run_with(networks[1], input)) +
                   "static float first[90], second[90];\nint main(void) {\n"
                   "  infer_pair_a(input, first);\n  infer_pair_b(input, second);\n" +
                   end_of_program);
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

TEST(GenerateSeveral, TheReadmeShowsHowModelsTakeTurns) {
  const std::vector<Network> networks = two_networks();
  PlanOptions options;
  options.run = "a | B";
  options.stream.emplace();
  options.io = Io::rows;
  const Package package =
      generate_package(networks, plan_of(networks, options), {.name = "pair", .cases = 0});
  const std::string readme = std::ranges::find(package.files, "README.md", &GeneratedFile::path)->content;
  const auto code_from = [&](std::size_t at) {
    const std::size_t code = readme.find("```c\n", at) + 5;
    return readme.substr(code, readme.find("```", code) - code);
  };
  const std::vector<std::byte> input = some_input();
  const auto row_functions = [](const std::string& model, const std::string& output) {
    const std::string name = "pair_" + model;
    return "static int rows_of_" + model + ", results_of_" + model + ";\nstatic void read_" + name +
           "(void *row) { memcpy(row, input + 15 * rows_of_" + model + "++, 60); }\nstatic void use_" + name +
           "(const void *row) { memcpy(" + output + " + 15 * results_of_" + model + "++, row, 60); }\n";
  };
  const auto outcome = testing::run_with_main(
      package, code_from(0) + "#include <stdio.h>\n#include <string.h>\n" + array_text("input", input) +
                   array_text("expected_first", run_with(networks[0], input)) +
                   array_text("expected_second", run_with(networks[1], input)) +
                   "static float first[90], second[90];\n" + row_functions("a", "first") +
                   row_functions("b", "second") + code_from(readme.find("take turns, here")) +
                   "int main(void) {\n  infer_in_turns();\n" + end_of_program);
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

TEST(GenerateSeveral, FeedModelsThatRunAtTheSameTime) {
  std::vector<Network> networks = two_networks();
  networks.push_back(testing::pool_and("TANH"));
  networks[2].input.info.name = "c";
  PlanOptions options;
  options.run = "a; (B | c)";
  options.feeds = {{.output = "a.y", .input = "B.x"}, {.output = "a.y", .input = "c.x"}};
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  const Plan plan = make_plan(inputs, options).plan;
  const Package package = generate_package(networks, plan, {.name = "three", .cases = 2});
  EXPECT_NE(package.files[0].content.find(" *   three_a; three_b | three_c\n"), std::string::npos)
      << package.files[0].content;
  const std::vector<std::byte> input = some_input();
  const std::vector<std::byte> fed = run_with(networks[0], input);
  const std::string main =
      begin_of_program("three", input, run_with(networks[1], fed), run_with(networks[2], fed)) +
      "  three_a_run(at, input, NULL);\n"
      "  three_c_run(at, NULL, second);\n"
      "  three_b_run(at, NULL, first);\n" +
      end_of_program;
  const auto outcome = testing::run_with_main(package, main);
  EXPECT_EQ(outcome.output, "as expected\n") << outcome.errors;
}

}  // namespace
}  // namespace stowage
