#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/plan.h"

/// A plan that can be read can be checked, and one that passes can be written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const stowage::Plan plan = stowage::parse_plan({reinterpret_cast<const char*>(data), size});
    if (!stowage::check_plan(plan).empty()) return 0;
    std::ostringstream json;
    stowage::write_json(plan, json);
    if (stowage::parse_plan(json.view()).buffers.size() != plan.buffers.size()) std::abort();
  } catch (const stowage::Error&) {
  }
  return 0;
}
