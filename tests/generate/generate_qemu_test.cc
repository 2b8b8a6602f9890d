// Generated packages on Cortex-M cores in QEMU, built by their own Makefile: outputs are as expected, nothing around
// the arena is written, and the stack stays below 1 kB.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "long_tests.h"
#include "process.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

/// The number after a word in a program's output.
int number_after(const std::string& output, const std::string& word) {
  const std::size_t at = output.find(word);
  return at == std::string::npos ? -1 : std::stoi(output.substr(at + word.size()));
}

Package package_of(const std::string& model, const PlanOptions& options) {
  const Network network =
      read_network(std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite" / (model + ".tflite"));
  return generate_package(network, make_plan(network.input, options).plan, {.name = "network"});
}

/// By rows, small enough for a micro:bit; a busy machine takes longer to find such a plan.
Package package_by_rows(const std::string& model) {
  constexpr Bytes most = 14000;
  PlanOptions options;
  options.stream = StreamOptions{.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
  options.io = Io::rows;
  for (int milliseconds = 500;; milliseconds *= 3) {
    options.solve.time_limit = std::chrono::milliseconds(milliseconds);
    Package package = package_of(model, options);
    if (package.arena <= most || milliseconds > 10000) return package;
  }
}

void expect_runs(const std::string& model, const Package& package, const std::string& core) {
  const testing::TemporaryDirectory folder;
  for (const GeneratedFile& file : package.files) {
    if (file.path.find('/') == std::string::npos) folder.write(file.path, file.content);
  }
  const auto result = testing::run_process("/usr/bin/make", {core}, {.directory = folder.path()});
  ASSERT_EQ(result.status, 0) << model << " on " << core << ": " << result.output << result.errors;
  EXPECT_NE(result.output.find("1 of 1 cases as expected"), std::string::npos) << result.output;
  if (core == "m0") return;  // its linker has checked that all fits
  const int stack = number_after(result.output, "stack ");
  EXPECT_GT(stack, 0);
  EXPECT_LE(stack, 1024) << model << " on " << core;
  std::cout << model << " on " << core << ": arena " << package.arena << ", state " << package.state << ", "
            << result.output.substr(result.output.find("stack "),
                                    result.output.find(" thousand") - result.output.find("stack "))
            << " thousand instructions\n";
}

TEST(GenerateQemu, RunsOnCortexM) {
  if (testing::is_in_a_hurry()) GTEST_SKIP() << "sanitizers see nothing inside the emulator";
  for (const char* const needed : {"/usr/bin/qemu-system-arm", "/usr/bin/arm-none-eabi-gcc", "/usr/bin/make",
                                   "/usr/lib/picolibc/arm-none-eabi"})
    if (!std::filesystem::exists(needed)) GTEST_SKIP() << needed << " is not installed";
  if (!std::filesystem::exists(std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite"))
    GTEST_SKIP() << "no models in " << STOWAGE_DATA_DIR;
  PlanOptions in_arena;
  in_arena.solve.time_limit = std::chrono::milliseconds(500);
  const Package person_detect = package_by_rows("person_detect");
  expect_runs("person_detect", person_detect, "m0");
  expect_runs("person_detect", person_detect, "m3");
  expect_runs("person_detect", package_of("person_detect", in_arena), "m4");
  const Package kws = package_by_rows("kws_ref_model");
  expect_runs("kws_ref_model", kws, "m0");
  expect_runs("kws_ref_model", kws, "m4");
  expect_runs("kws_ref_model", package_of("kws_ref_model", in_arena), "m3");
}

}  // namespace
}  // namespace stowage
