// `stowage generate`, as a user runs it.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "process.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::run_stowage;
using testing::run_stowage_with;
using testing::TemporaryDirectory;

/// A network of one operator.
std::string model_of(const std::string& type) {
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 8}}, {.name = "y", .shape = {1, 8}}},
                      .operators = {{.type = type, .inputs = {0}, .outputs = {1}}},
                      .inputs = {0},
                      .outputs = {1}}}});
}

/// A network of windows over an image, which runs by rows.
std::string model_of_rows() {
  testing::TfliteSubgraph main{.tensors = {{.name = "image", .shape = {1, 24, 8, 4}}}, .inputs = {0}};
  for (std::int32_t i = 0; i < 4; ++i) {
    main.tensors.push_back({.name = "rows" + std::to_string(i), .shape = {1, 24, 8, 4}});
    main.operators.push_back({.type = "RELU", .inputs = {i}, .outputs = {i + 1}});
  }
  main.outputs = {4};
  return testing::tflite_model({.subgraphs = {main}});
}

TEST(CliGenerate, WritesAPackageThatPassesItsOwnTest) {
  const TemporaryDirectory directory;
  directory.write("My-Net.tflite", model_of("RELU"));
  const auto result =
      run_stowage(directory.path(), {"generate", "My-Net.tflite", "-o", "out/c", "--cases", "3"});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(result.output.find("my_net in out/c\narena"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("test         passed (cc)\n"), std::string::npos) << result.output;
  if (!std::filesystem::exists("/usr/bin/make")) GTEST_SKIP() << "/usr/bin/make is not installed";
  const auto made = testing::run_process("/usr/bin/make", {"test"}, {.directory = directory / "out/c"});
  EXPECT_EQ(made.status, 0) << made.errors;
  EXPECT_NE(made.output.find("my_net: 3 of 3 cases as expected"), std::string::npos) << made.output;
}

TEST(CliGenerate, TestsTheInputsThatAreGiven) {
  const TemporaryDirectory directory;
  directory.write("a.tflite", model_of("RELU"));
  directory.write("b.tflite", model_of("TANH"));
  Array array{.dtype = DType::float32, .shape = Shape{1, 8}, .data = std::vector<std::byte>(32)};
  const float given = 1.25F;
  std::memcpy(&array.data[12], &given, sizeof given);
  std::ostringstream npy;
  write_npy(array, npy);
  directory.write("x.npy", npy.str());
  const auto generate = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "generate");
    return run_stowage(directory.path(), arguments);
  };
  const auto result = generate({"a.tflite", "--cases", "2", "--input", "x=x.npy", "-o", "c"});
  ASSERT_EQ(result.status, 0) << result.errors;
  const std::string test = directory.read("c/a_test.c");
  EXPECT_NE(test.find("1.25F"), std::string::npos) << test;
  const auto of_both = generate({"a.tflite", "b.tflite", "--input", "a.x=x.npy", "-o", "both"});
  ASSERT_EQ(of_both.status, 0) << of_both.errors;
  EXPECT_NE(directory.read("both/models_a_test.c").find("1.25F"), std::string::npos);
  EXPECT_EQ(directory.read("both/models_b_test.c").find("1.25F"), std::string::npos);
  EXPECT_EQ(generate({"a.tflite", "b.tflite", "--input", "x=x.npy", "-o", "d"}).status, 2) << "both have it";
  const auto unknown = generate({"a.tflite", "--input", "z=x.npy", "-o", "d"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.errors.find("--input 'z': the network has no such input"), std::string::npos)
      << unknown.errors;
  EXPECT_FALSE(std::filesystem::exists(directory / "d"));
}

TEST(CliGenerate, SaysWhatItIsMadeOfAndByWhat) {
  const TemporaryDirectory directory;
  directory.write("in/a.tflite", model_of("RELU"));
  directory.write("in/b.tflite", model_of("TANH"));
  ASSERT_EQ(run_stowage(directory.path(), {"generate", (directory / "in/a.tflite").string(), "--seed", "3",
                                           "--no-test", "-o", "out/c"})
                .status,
            0);
  const std::string header = directory.read("out/c/a.h");
  EXPECT_NE(header.find(" * Version 0.1.0, by: 'stowage generate a.tflite --seed 3 --no-test -o c'\n"),
            std::string::npos)
      << header;
  EXPECT_NE(header.find(" (XXH64)."), std::string::npos) << header;
  EXPECT_NE(directory.read("out/c/README.md").find("Apache License 2.0"), std::string::npos);
  const std::string first = "SPDX-License-Identifier: Apache-2.0";
  for (const char* const file : {"stowage_places.h", "a.h", "a.c", "a_test.c"})
    EXPECT_EQ(directory.read("out/c/" + std::string(file)).rfind("/* " + first + " */\n", 0), 0) << file;
  for (const char* const file : {"Makefile", "CMakeLists.txt", "idf_component.yml", "zephyr/CMakeLists.txt"})
    EXPECT_EQ(directory.read("out/c/" + std::string(file)).rfind("# " + first + "\n", 0), 0) << file;
  for (const char* const file : {"a_weights.c", "a_weights.h"})
    EXPECT_EQ(directory.read("out/c/" + std::string(file)).find(first), std::string::npos) << file;
  EXPECT_NE(directory.read("out/c/a_weights.c").find("belong to its owner"), std::string::npos);
  EXPECT_NE(directory.read("out/c/LICENSE").find("Apache License"), std::string::npos);
  ASSERT_EQ(
      run_stowage(directory.path(), {"generate", "in/a.tflite", "in/b.tflite", "--no-test", "-o", "both"})
          .status,
      0);
  for (const auto& it : std::filesystem::recursive_directory_iterator(directory.path()))
    if (it.is_regular_file() && it.path().extension() != ".tflite") {
      const std::string text =
          directory.read(std::filesystem::relative(it.path(), directory.path()).string());
      EXPECT_EQ(text.find(directory.path().string()), std::string::npos) << it.path();
      EXPECT_EQ(text.find("in/a.tflite"), std::string::npos) << it.path();
    }
  const std::string cmake = directory.read("both/CMakeLists.txt");
  EXPECT_NE(
      cmake.find("set(models_sources models_a.c models_a_weights.c models_b.c models_b_weights.c stowage_"),
      std::string::npos)
      << cmake;
  for (const char* const file :
       {"library.json", "idf_component.yml", "zephyr/module.yml", "zephyr/CMakeLists.txt"})
    EXPECT_TRUE(std::filesystem::exists(directory / "both" / file)) << file;
}

TEST(CliGenerate, TakesAPlan) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of("RELU"));
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "net.tflite", "-o", "plan.json"}).status, 0);
  const auto result =
      run_stowage(directory.path(), {"generate", "net.tflite", "--plan", "plan.json", "-o", "c"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_TRUE(std::filesystem::exists(directory / "c/net.h"));
  const auto both =
      run_stowage(directory.path(), {"generate", "net.tflite", "--plan", "plan.json", "--stream", "-o", "c"});
  EXPECT_EQ(both.status, 2) << both.errors;
  directory.write("other.tflite", model_of_rows());
  const auto other =
      run_stowage(directory.path(), {"generate", "other.tflite", "--plan", "plan.json", "-o", "d"});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.errors.find("note: the plan is of 'net.tflite', which has other tensors"),
            std::string::npos)
      << other.errors;
}

TEST(CliGenerate, SaysWhatEachMemoryTakesAndWhichFilesAreOfOthers) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of_rows());
  const auto generate = [&](const std::string& name) {
    return run_stowage(directory.path(), {"generate", "net.tflite", "--memory", "SRAM=4KiB", "--memory",
                                          "PSRAM", "--name", name, "-o", "c", "--no-test"});
  };
  const auto first = generate("first");
  EXPECT_NE(first.output.find("\n  PSRAM "), std::string::npos) << first.output;
  EXPECT_EQ(first.errors.find("an earlier package"), std::string::npos) << first.errors;
  EXPECT_NE(directory.read("c/README.md").find("| of it in 'SRAM' | "), std::string::npos);
  directory.write("c/main.c", "int main(void) { return 0; }");
  const auto second = generate("second");
  EXPECT_NE(second.errors.find("C files of an earlier package: first.c, first_test.c, first_weights.c\n"),
            std::string::npos)
      << second.errors;
}

TEST(CliGenerate, WritesTheInterfaceThatWasAskedForOrNothing) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of_rows());
  const auto written = [&](const std::vector<std::string>& limits) {
    std::vector<std::string> arguments{"generate", "net.tflite", "--stream", "--io", "rows",
                                       "--cases",  "0",          "-o",       "c"};
    arguments.insert(arguments.end(), limits.begin(), limits.end());
    std::filesystem::remove_all(directory / "c");
    return run_stowage(directory.path(), arguments);
  };
  const auto begins = [&] { return directory.read("c/net.h").find("net_begin(") != std::string::npos; };
  ASSERT_EQ(written({"--effort", "3000"}).status, 0);
  EXPECT_TRUE(begins());
  ASSERT_EQ(written({"--effort", "3000", "--capacity", "1MiB"}).status, 0) << "whole operators fit, too";
  EXPECT_TRUE(begins());
  for (const std::vector<std::string>& limits :
       {std::vector<std::string>{"--effort", "0"}, std::vector<std::string>{"--time-limit", "0"}}) {
    const auto cut = written(limits);
    EXPECT_EQ(cut.status, 1) << cut.output;
    EXPECT_NE(cut.errors.find("nothing is written: --io rows"), std::string::npos) << cut.errors;
    EXPECT_NE(cut.errors.find(limits[0]), std::string::npos) << cut.errors;
    EXPECT_FALSE(std::filesystem::exists(directory / "c"));
  }
}

TEST(CliGenerate, RefusesWithoutWritingAnything) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of("SIGN"));
  const auto result = run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.errors.find("SIGN"), std::string::npos) << result.errors;
  EXPECT_FALSE(std::filesystem::exists(directory / "c"));
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--cases", "-1"}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--cases", "0"}).status, 3);
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--name", "A"}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--kernels", "mve"}).status,
            2);
}

TEST(CliGenerate, WritesNothingIfItsTestFails) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of("RELU"));
  // Compiles all but packages, whose program then finds a fault.
  directory.write("broken", R"(#!/bin/sh
case "$*" in *trial.c*) exec cc "$@";; esac
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho "net: case 0: an output differs"\nexit 1\n' > "$2"
chmod +x "$2"
)");
  std::filesystem::permissions(directory / "broken", std::filesystem::perms::owner_all);
  const std::string compiler = "CC=" + (directory / "broken").string();
  const std::string path = "PATH=/usr/bin:/bin";
  const std::vector<std::string> command{"generate", "net.tflite", "-o", "c"};
  const auto failed = run_stowage_with({path, compiler}, directory.path(), command);
  EXPECT_EQ(failed.status, 4) << failed.output;
  EXPECT_EQ(failed.output, "");
  EXPECT_NE(failed.errors.find("net: case 0: an output differs"), std::string::npos) << failed.errors;
  EXPECT_NE(failed.errors.find("--no-test"), std::string::npos) << failed.errors;
  EXPECT_FALSE(std::filesystem::exists(directory / "c"));
  const auto untested = run_stowage_with({path, compiler}, directory.path(),
                                         {"generate", "net.tflite", "-o", "c", "--no-test"});
  EXPECT_EQ(untested.status, 0) << untested.errors;
  EXPECT_NE(untested.output.find("test        not run: --no-test\n"), std::string::npos) << untested.output;
}

TEST(CliGenerate, TestsWithTheCompilerOfThisMachine) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of("RELU"));
  const std::vector<std::string> command{"generate", "net.tflite", "-o", "c"};
  const auto none = run_stowage_with({"PATH=/nonexistent"}, directory.path(), command);
  EXPECT_EQ(none.status, 0) << none.errors;
  EXPECT_NE(none.output.find("test        not run: there is no C compiler"), std::string::npos)
      << none.output;
  // That of a device makes no programs that run here.
  const auto other = run_stowage_with({"PATH=/usr/bin:/bin", "CC=/bin/true"}, directory.path(), command);
  EXPECT_EQ(other.status, 0) << other.errors;
  EXPECT_NE(other.output.find("test         passed (cc)\n"), std::string::npos) << other.output;
}

TEST(CliGenerate, ReplacesItsOwnFilesOnly) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of("RELU"));
  std::filesystem::create_directory(directory / "c");
  directory.write("c/README.md", "mine");
  directory.write("c/CMakeLists.txt", "mine, too");
  const auto generate = [&](std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"generate", "net.tflite", "-o", "c", "--no-test"});
    return run_stowage(directory.path(), options);
  };
  const auto refused = generate();
  EXPECT_EQ(refused.status, 2) << refused.output;
  EXPECT_NE(refused.errors.find(": README.md, CMakeLists.txt. "), std::string::npos) << refused.errors;
  EXPECT_NE(refused.errors.find("--force"), std::string::npos) << refused.errors;
  EXPECT_EQ(directory.read("c/README.md"), "mine");
  EXPECT_FALSE(std::filesystem::exists(directory / "c/net.c"));
  EXPECT_EQ(generate({"--force"}).status, 0);
  EXPECT_NE(directory.read("c/README.md"), "mine");
  EXPECT_EQ(generate({"--cases", "2"}).status, 0) << "its own files";
  directory.write("c/Makefile", directory.read("c/Makefile") + "# changed\n");
  const auto changed = generate();
  EXPECT_EQ(changed.status, 2);
  EXPECT_NE(changed.errors.find(": Makefile. "), std::string::npos) << changed.errors;
}

TEST(CliGenerate, OverwritesNoModel) {
  const TemporaryDirectory directory;
  directory.write("plan.json", model_of("RELU"));
  const auto result =
      run_stowage(directory.path(), {"generate", "plan.json", "-o", ".", "--force", "--name", "net"});
  EXPECT_EQ(result.status, 2) << result.output;
  EXPECT_NE(result.errors.find("-o would overwrite the input"), std::string::npos) << result.errors;
  EXPECT_EQ(directory.read("plan.json"), model_of("RELU"));
}

/// What carries a state from row to row, or sums rows up, is written by the user as a whole.
TEST(CliGenerate, ExternsKeepNothingFromRowToRow) {
  const TemporaryDirectory directory;
  for (const std::string type : {"InstanceNormalization", "GlobalAveragePool"}) {
    testing::OnnxParts parts{.nodes = {testing::node("Relu", {"x"}, {"a"})},
                             .inputs = {testing::tensor_value("x", {1, 2, 16, 16})},
                             .outputs = {testing::value_of_any_shape("y")}};
    std::vector<std::string> operands{"a"};
    if (type == "InstanceNormalization") {
      operands.insert(operands.end(), {"scale", "bias"});
      parts.initializers = {testing::reals("scale", {1, 2}), testing::reals("bias", {3, 4})};
    }
    parts.nodes.push_back(testing::node(type, operands, {"b"}));
    parts.nodes.push_back(testing::node("Relu", {"b"}, {"y"}));
    directory.write("net.onnx", testing::onnx_model(parts).SerializeAsString());
    const auto result = run_stowage(directory.path(), {"generate", "net.onnx", "--stream", "--io", "rows",
                                                       "--axes", "natural", "--extern", type, "-o", type});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_NE(directory.read(type + "/net.h").find("'" + type + "': for you to write. Computes the whole"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace stowage
