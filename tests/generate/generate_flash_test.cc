// What a package says that it takes in flash, beside code, held against the object files of the compiler for Cortex-M.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>

#include "long_tests.h"
#include "process.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

/// The bytes of the sections of constants, as `size -A` prints them.
Bytes constants_in(const std::string& sections) {
  std::istringstream lines(sections);
  Bytes sum = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    Bytes size = 0;
    if (words >> name >> size && name.starts_with(".rodata")) sum += size;
  }
  return sum;
}

/// Of the files of the network itself, not of kernels.
Bytes compiled(const Package& package, const std::string& core, const std::string& level) {
  const testing::TemporaryDirectory folder;
  for (const GeneratedFile& file : package.files)
    if (file.path.find('/') == std::string::npos) folder.write(file.path, file.content);
  Bytes sum = 0;
  for (const char* const file : {"network", "network_weights"}) {
    const std::string object = std::string(file) + ".o";
    const auto made = testing::run_process(
        "/usr/bin/arm-none-eabi-gcc",
        {"-std=c99", level, "-mthumb", "-mcpu=" + core, "-fdata-sections", "-fno-jump-tables", "-isystem",
         "/usr/lib/picolibc/arm-none-eabi/include", "-c", std::string(file) + ".c", "-o", object},
        {.directory = folder.path()});
    EXPECT_EQ(made.status, 0) << made.errors;
    const auto size =
        testing::run_process("/usr/bin/arm-none-eabi-size", {"-A", object}, {.directory = folder.path()});
    EXPECT_EQ(size.status, 0) << size.errors;
    sum += constants_in(size.output);
  }
  return sum;
}

TEST(GenerateFlash, IsWhatTheCompilerMakesOfIt) {
  for (const char* const needed :
       {"/usr/bin/arm-none-eabi-gcc", "/usr/bin/arm-none-eabi-size", "/usr/lib/picolibc/arm-none-eabi"})
    if (!std::filesystem::exists(needed)) GTEST_SKIP() << needed << " is not installed";
  const auto models = std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no models in " << STOWAGE_DATA_DIR;
  for (const char* const model : {"person_detect", "kws_ref_model"}) {
    const Network network = read_network(models / (std::string(model) + ".tflite"));
    for (const bool by_rows : {false, true}) {
      PlanOptions options;
      options.solve.time_limit = std::chrono::milliseconds(300);
      if (by_rows) options.stream = StreamOptions{};
      const Package package =
          generate_package(network, make_plan(network.input, options).plan, {.name = "network"});
      const Bytes said = package.weights + package.control + package.layers;
      EXPECT_GT(package.layers, 0);
      for (const char* const core : {"cortex-m0", "cortex-m4", "cortex-m55"})
        EXPECT_EQ(compiled(package, core, "-O0"), said) << model << by_rows << core;
      // What the compiler puts into code is in no table.
      const Bytes optimised = compiled(package, "cortex-m4", "-O2");
      EXPECT_LE(optimised, said);
      EXPECT_GE(optimised, said - said / 100);
    }
  }
}

}  // namespace
}  // namespace stowage
