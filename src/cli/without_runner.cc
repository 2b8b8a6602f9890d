// The commands that run networks, in a build without the runner.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/fit.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

UsageError left_out(std::string_view command) {
  return UsageError(
      fmt::format("{} needs the runner, which this build leaves out: configure with -DSTOWAGE_RUNNER=ON (it "
                  "needs gemmlowp, on "
                  "Debian libgemmlowp-dev)",
                  command));
}

}  // namespace

ExitStatus run_run(const RunCommand&) { throw left_out("run"); }
std::string parts_of_runner() { return {}; }
ExitStatus run_generate(const GenerateCommand&) { throw left_out("generate"); }

GeneratedBytes generated_bytes(const std::string&, const ImportOptions&, const PlanOptions&) {
  return {.obstacle = "this build has no runner, which writes C"};
}

}  // namespace stowage::cli
