// The command without its optional parts: it plans as the whole one does, and says what it lacks.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_process;
using testing::TemporaryDirectory;

const std::string model = STOWAGE_EXAMPLES "/classifier.onnx";

ProcessResult run_minimal(const std::vector<std::string>& arguments) {
  return run_process(STOWAGE_MINIMAL, arguments);
}

/// What a plan decides: buffers at their offsets, and steps.
std::pair<nlohmann::json, nlohmann::json> plan_of(const std::string& program,
                                                  const std::vector<std::string>& options) {
  std::vector<std::string> arguments{"plan", model, "--json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const ProcessResult result = run_process(program, arguments);
  EXPECT_EQ(result.status, 0) << result.errors;
  const nlohmann::json plan = nlohmann::json::parse(result.output);
  return {plan.at("buffers"), plan.at("clocks")};
}

TEST(CliMinimal, PlansAsTheWholeCommandDoes) {
  const std::vector<std::vector<std::string>> all{{}, {"--alias", "none", "--order", "keep"}};
  for (const auto& options : all)
    EXPECT_TRUE(plan_of(STOWAGE_MINIMAL, options) == plan_of(STOWAGE_PROGRAM, options)) << options.size();
}

TEST(CliMinimal, SaysWhichPartIsMissing) {
  const TemporaryDirectory directory;
  const std::string out = directory / "c";
  const std::vector<std::pair<std::vector<std::string>, std::string>> all{
      {{"run", model},
       "stowage: run needs the runner, which this build leaves out: configure with "
       "-DSTOWAGE_RUNNER=ON"},
      {{"generate", model, "-o", out}, "stowage: generate needs the runner, which this build leaves out"},
      {{"plan", model, "--stream", "--layout", "ring", "--print-loops", "--time-limit", "0.2"},
       "stowage: loops need isl, which this build leaves out: configure with -DSTOWAGE_ISL=ON"}};
  for (const auto& [arguments, message] : all) {
    const ProcessResult result = run_minimal(arguments);
    EXPECT_EQ(result.status, 2) << arguments[0];
    EXPECT_TRUE(result.errors.starts_with(message)) << result.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CliMinimal, NamesNoPartThatItLacks) {
  const std::string text = run_minimal({"--version"}).output;
  EXPECT_TRUE(text.ends_with("\nparts  planner\n")) << text;
}

TEST(CliMinimal, LinksOnlyFmt) {
  if (!std::filesystem::exists("/usr/bin/ldd")) GTEST_SKIP() << "/usr/bin/ldd is not installed";
  const ProcessResult result = run_process("/usr/bin/ldd", {STOWAGE_MINIMAL});
  ASSERT_EQ(result.status, 0) << result.errors;
  for (const char* const library :
       {"libisl", "libdnnl", "libxxhash", "libprotobuf", "libonnx", "libflatbuffers"})
    EXPECT_EQ(result.output.find(library), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("libfmt"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace stowage
