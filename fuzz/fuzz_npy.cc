#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "import/arrays.h"
#include "stowage/error.h"
#include "stowage/export.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const stowage::Array array = stowage::import::parse_npy({reinterpret_cast<const char*>(data), size});
    std::ostringstream npy;
    stowage::write_npy(array, npy);
    if (stowage::import::parse_npy(npy.view()) != array) std::abort();
  } catch (const stowage::Error&) {
    return 0;
  }
  return 0;
}
