#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stowage/dsa.h"
#include "stowage/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto it = stowage::parse_dsa_problem({reinterpret_cast<const char*>(data), size});
    const stowage::Solution solution = stowage::solve(it.problem, {.effort = 5});
    if (!stowage::faults_of(it.problem, solution).empty()) std::abort();
  } catch (const stowage::Error&) {
    return 0;
  }
  return 0;
}
