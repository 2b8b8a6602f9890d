#include "run/shadow.h"

#include "kernels/poison.h"

#ifdef STOWAGE_HAS_SHADOW
#include <sanitizer/asan_interface.h>

#include <cstdio>
#endif

namespace stowage::run {

#ifdef STOWAGE_HAS_SHADOW

namespace {

// The sanitizer's report calls back without an argument of ours: whom it is about must lie where it finds it.
thread_local const Device* reported_device = nullptr;
thread_local const std::string* reported_operator = nullptr;

void report(const char* /*text*/) {
  if (reported_device == nullptr) return;
  const auto* const address = static_cast<const std::byte*>(__asan_get_report_address());
  const std::string place = reported_device->describe(address);
  std::fprintf(stderr, "stowage: %s touches %s\n", reported_operator->c_str(), place.c_str());
  reported_device = nullptr;
}

}  // namespace

OnlyThese::OnlyThese(const Device& device, std::span<const ByteRange> allowed, const std::string& who)
    : device_(device) {
  for (const Arena& arena : device.arenas())
    __asan_poison_memory_region(arena.bytes(), static_cast<std::size_t>(arena.size()));
  for (const ByteRange& range : allowed)
    __asan_unpoison_memory_region(range.begin, static_cast<std::size_t>(range.size));
  reported_device = &device;
  reported_operator = &who;
  __asan_set_error_report_callback(report);
}

OnlyThese::~OnlyThese() {
  reported_device = nullptr;
  for (const Arena& arena : device_.arenas())
    __asan_unpoison_memory_region(arena.bytes(), static_cast<std::size_t>(arena.size()));
}

#else

OnlyThese::OnlyThese(const Device& device, std::span<const ByteRange> /*allowed*/, const std::string& /*who*/)
    : device_(device) {}

OnlyThese::~OnlyThese() = default;

#endif

}  // namespace stowage::run
