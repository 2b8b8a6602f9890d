#include "kernels/poison.h"

#ifdef STOWAGE_HAS_SHADOW
#include <sanitizer/asan_interface.h>
#endif

namespace stowage::kernels {

#ifdef STOWAGE_HAS_SHADOW
void expect_accessible(const void* begin, std::size_t size) {
  const void* const poisoned = __asan_region_is_poisoned(const_cast<void*>(begin), size);
  if (poisoned != nullptr) (void)*static_cast<const volatile char*>(poisoned);
}
#else
void expect_accessible(const void* /*begin*/, std::size_t /*size*/) {}
#endif

}  // namespace stowage::kernels
