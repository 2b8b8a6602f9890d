#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/fit.h"
#include "stowage/error.h"
#include "stowage/generate.h"

namespace stowage::cli {

GeneratedBytes generated_bytes(const std::string& file, const ImportOptions& options,
                               const PlanOptions& planning) {
  try {
    std::vector<Network> networks;
    networks.push_back(read_network(file, options));
    PlanOptions wanted = planning;
    wanted.io = Io::rows;
    PlannedPackage made =
        plan_package(networks, wanted, {.name = c_name_of(networks[0].input.info.name), .cases = 1});
    GeneratedBytes bytes;
    if (!made.no_rows.empty()) {  // inputs and outputs as wholes, then
      wanted.io = Io::arena;
      made = plan_package(std::move(networks), wanted, {.name = "net", .cases = 1});
    } else {
      bytes.options = " --io rows";
    }
    if (made.package.files.empty()) return {.obstacle = "no plan could be written as C"};
    const std::vector<PlannedMemory>& memories = made.planned.plan.memories;
    bytes.ram = memories[0].peak + made.package.state;
    if (memories.size() > 1) {
      bytes.slow = memories[1].peak;
      bytes.slow_traffic = memories[1].traffic;
    }
    bytes.flash = made.package.weights + made.package.control + made.package.layers;
    return bytes;
  } catch (const UsageError& error) {
    return {.obstacle = error.what()};
  } catch (const Error& error) {
    return {.obstacle = error.problem()};
  }
}

}  // namespace stowage::cli
