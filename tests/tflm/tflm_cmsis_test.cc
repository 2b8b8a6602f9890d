// Scratch of CMSIS-NN kernels: the oracle is CMSIS-NN itself, whose size functions are a module of the Python
// package executorch. Needs the Python environment of scripts/oracles.sh; without it this test skips.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "process.h"
#include "stowage/tflm.h"
#include "temporary.h"

namespace stowage {
namespace {

const std::filesystem::path environment = std::filesystem::path(STOWAGE_ORACLE_DATA).parent_path() / "venv";

std::filesystem::path module_of_sizes() {
  std::error_code ignored;
  for (const auto& python : std::filesystem::directory_iterator(environment / "lib", ignored)) {
    const auto folder = python.path() / "site-packages/executorch/backends/cortex_m/library/_cmsis_nn";
    for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
      if (file.path().extension() == ".so") return file.path();
    }
  }
  return {};
}

TEST(TflmCmsisNn, AsksForWhatCmsisNnSays) {
  const std::filesystem::path module = module_of_sizes();
  if (module.empty()) GTEST_SKIP() << "no module cmsis_nn in " << environment;
  const testing::TemporaryDirectory directory;
  const auto result = testing::run_process((environment / "bin/python").string(),
                                           {"-B", std::string(STOWAGE_ORACLE) + "/cmsis_nn.py",
                                            directory.path().string(), "400", module.string()});
  ASSERT_EQ(result.status, 0) << result.errors;
  std::istringstream lines(result.output);
  std::string line;
  std::size_t checked = 0;
  std::size_t asking = 0;
  while (std::getline(lines, line)) {
    SCOPED_TRACE(line);
    const auto it = nlohmann::json::parse(line);
    const base::InputFile file(it["file"].get<std::string>());
    for (std::size_t k = 0; k < 3; ++k) {
      TflmRuntime runtime = tflm_32;
      runtime.kernels = static_cast<TflmKernels>(static_cast<std::size_t>(TflmKernels::cmsis_nn_scalar) + k);
      std::vector<Bytes> expected;
      for (const Bytes bytes : it["sizes"][k]) {
        if (bytes > 0 || it["operator"] == "transposed") expected.push_back(bytes);
      }
      std::vector<Bytes> found;
      for (const ScratchRequest& request : kernel_requests(file.bytes(), runtime).scratch)
        found.push_back(request.bytes);
      EXPECT_EQ(found, expected) << k;
      ++checked;
      asking += expected.empty() ? 0 : 1;
    }
  }
  EXPECT_EQ(checked, 1200U);
  EXPECT_GT(asking, 400U);
}

}  // namespace
}  // namespace stowage
