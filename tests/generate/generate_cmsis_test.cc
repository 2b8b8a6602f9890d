// Generated packages that call CMSIS-NN, on Cortex-M cores in QEMU: outputs are those of the interpreter, bit for bit,
// nothing around the arena is written, and the scratch memory in the plan is enough.
//
// CMSIS-NN comes from the folder in STOWAGE_CMSIS_NN, which has cmsis_nn and cmsis_core, or from the Python package
// bakenn in build/oracle/venv (scripts/oracles.sh).

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "layer_networks.h"
#include "long_tests.h"
#include "process.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stream_run_networks.h"
#include "stream_run_plans.h"
#include "temporary.h"

namespace stowage {
namespace {

namespace fs = std::filesystem;

/// Empty: it is not there.
fs::path folder_of_cmsis_nn() {
  const char* const given = std::getenv("STOWAGE_CMSIS_NN");
  if (given != nullptr) return given;
  const fs::path libraries = fs::path(STOWAGE_ORACLE_DATA).parent_path() / "venv/lib";
  if (!fs::exists(libraries)) return {};
  for (const fs::directory_entry& python : fs::directory_iterator(libraries)) {
    const fs::path vendor = python.path() / "site-packages/bakenn/backend/cmsis_nn/vendor";
    if (fs::exists(vendor)) return vendor;
  }
  return {};
}

/// Why the tests cannot run; empty if they can.
std::string obstacle() {
  for (const char* const needed : {"/usr/bin/qemu-system-arm", "/usr/bin/arm-none-eabi-gcc", "/usr/bin/make",
                                   "/usr/lib/picolibc/arm-none-eabi"})
    if (!fs::exists(needed)) return std::string(needed) + " is not installed";
  return folder_of_cmsis_nn().empty() ? "CMSIS-NN is not there" : "";
}

/// A processor in QEMU, and the kernels for it.
struct Core {
  std::string name{};
  CKernels kernels = CKernels::portable;
};

const std::vector<Core>& cores() {
  static const std::vector<Core> all{
      {"m3", CKernels::cmsis_nn_scalar}, {"m4", CKernels::cmsis_nn_dsp}, {"m55", CKernels::cmsis_nn_mve}};
  return all;
}

bool calls_cmsis_nn(const Package& package) {
  for (const GeneratedFile& file : package.files)
    if (file.path == "stowage_cmsis_nn.c") return true;
  return false;
}

/// Builds one package with the test programs of others in it.
class Board {
 public:
  explicit Board(const fs::path& folder) : folder_(folder) {}

  void add(const std::string& name, const Package& package) {
    for (const GeneratedFile& file : package.files) {
      if (file.path.find('/') == std::string::npos && (is_common(file.path) || file.path.starts_with(name)))
        write(file.path, file.content);
    }
    for (const GeneratedFile& file : package.files) {
      const bool is_kernel = file.path.starts_with("stowage_") && file.path.ends_with(".c");
      if (is_kernel && kernels_.find(" " + file.path) == std::string::npos) kernels_ += " " + file.path;
    }
    names_.push_back(name);
  }

  /// What make says; the programs are compiled one by one, because their helpers have the same names.
  testing::ProcessResult run(const std::string& core) {
    std::string calls;
    std::string declarations;
    std::string sources;
    for (const std::string& name : names_) {
      write(name + "_all.c", "#include \"" + name + ".c\"\n#include \"" + name +
                                 "_weights.c\"\n#define main " + name +
                                 "_main\nint main(void);\n#include \"" + name + "_test.c\"\n");
      declarations += "int " + name + "_main(void);\n";
      calls += "  faults += " + name + "_main();\n";
      sources += " " + name + "_all.c";
    }
    write("everything_test.c",
          declarations + "int main(void) {\n  int faults = 0;\n" + calls + "  return faults;\n}\n");
    const fs::path cmsis = folder_of_cmsis_nn();
    return testing::run_process(
        "/usr/bin/make",
        {core, "NAME=everything", "SOURCES=" + sources + kernels_,
         "CMSIS_NN=" + (cmsis / "cmsis_nn").string(), "CMSIS_CORE=" + (cmsis / "cmsis_core").string()},
        {.directory = folder_});
  }

  [[nodiscard]] std::size_t count() const { return names_.size(); }

 private:
  static bool is_common(const std::string& path) {
    return path.starts_with("stowage_") || path == "Makefile";
  }

  void write(const std::string& name, const std::string& content) const {
    const fs::path file = folder_ / name;
    std::ofstream(file) << content;
  }

  fs::path folder_;
  std::vector<std::string> names_{};
  std::string kernels_{};
};

/// The ways of planning take turns; the first one has no rows.
Plan plan_in_turn(const Network& network, std::uint64_t seed) {
  PlanOptions options;
  options.solve.time_limit = std::chrono::milliseconds(30);
  options.alignment = 16;
  if (seed % 4 == 0) return make_plan(network.input, options).plan;
  if (seed % 4 == 1) return testing::streamed_plan(network, testing::random_options(seed / 4));
  options.stream = StreamOptions{.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
  if (seed % 4 == 2) options.stream->layout = StreamLayout::ring;
  if (seed % 4 == 3) options.io = Io::rows;
  return make_plan(network.input, options).plan;
}

void add_random_networks(Board& board, const Core& core) {
  const std::size_t wanted = testing::has_time() ? 200 : testing::is_in_a_hurry() ? 4 : 12;
  std::size_t streamed = 0;
  for (std::uint64_t seed = 0; board.count() < wanted && seed < 10 * wanted; ++seed) {
    Network network = testing::random_layer_network(seed, DType::int8);
    add_scratch_of_kernels(network, core.kernels, seed % 4 != 0);
    const std::string name = "net" + std::to_string(seed);
    try {
      const Plan plan = plan_in_turn(network, seed);
      const Faults faults = check_plan(plan, std::vector{network.graph()});
      if (seed % 4 != 1) {  // those have no summary
        ASSERT_TRUE(faults.empty()) << name << ": " << faults[0].what;
      }
      const Package package =
          generate_package(network, plan, {.name = name, .cases = 2, .seed = seed, .kernels = core.kernels});
      if (!calls_cmsis_nn(package)) continue;
      streamed += is_streamed(plan) ? 1 : 0;
      board.add(name, package);
    } catch (const Error&) {  // an operator without a kernel
    }
  }
  EXPECT_EQ(board.count(), wanted);
  EXPECT_GT(streamed, wanted / 10);
}

void add_real_networks(Board& board, const Core& core) {
  const fs::path models = fs::path(STOWAGE_DATA_DIR) / "models/tflite";
  if (!fs::exists(models)) return;
  PlanOptions by_rows;
  by_rows.solve.time_limit = std::chrono::milliseconds(500);
  by_rows.stream = StreamOptions{.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
  by_rows.io = Io::rows;
  for (const char* const model : {"person_detect", "kws_ref_model"}) {
    Network network = read_network(models / (std::string(model) + ".tflite"));
    add_scratch_of_kernels(network, core.kernels, true);
    const Package package = generate_package(network, make_plan(network.input, by_rows).plan,
                                             {.name = model, .kernels = core.kernels});
    EXPECT_TRUE(calls_cmsis_nn(package));
    board.add(model, package);
  }
}

/// All are on one board, because CMSIS-NN itself takes longest to compile.
TEST(GenerateCmsisNn, NetworksGiveWhatTheInterpreterGives) {
  if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << why;
  for (const Core& core : cores()) {
    const testing::TemporaryDirectory folder;
    Board board(folder.path());
    add_random_networks(board, core);
    if (!testing::is_in_a_hurry()) add_real_networks(board, core);
    const auto result = board.run(core.name);
    EXPECT_EQ(result.status, 0) << core.name << ": " << result.output.substr(0, 4000)
                                << result.errors.substr(0, 4000);
    std::cout << core.name << ": " << board.count() << " networks\n";
  }
}

}  // namespace
}  // namespace stowage
