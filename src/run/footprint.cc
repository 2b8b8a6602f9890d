#include "run/footprint.h"

#include <algorithm>

#include "kernels/poison.h"

#ifdef STOWAGE_HAS_SHADOW
#include <sanitizer/asan_interface.h>

#include <cstdio>
#endif

namespace stowage::run {
namespace {

/// The range of a copy that changes bytes: from the first that differs to the last. Other bytes are equal
/// because both tensors share a place, or because another operator has already copied them.
ByteRange changed_by(const std::byte* from, const std::byte* to, Bytes size) {
  if (from == to) return {to, 0};
  const std::byte* const first = std::mismatch(to, to + size, from).first;
  const auto is_same = [&](const std::byte* at) { return *at == *(from + (at - to)); };
  const std::byte* last = to + size;
  while (last > first && is_same(last - 1)) --last;
  return {first, last - first};
}

}  // namespace

std::vector<ByteRange> changed_bytes(const Operator& op, std::size_t output,
                                     std::span<const std::byte* const> inputs, const ByteRange& place) {
  std::vector<ByteRange> kept;
  for (const ByteCopy& copy : op.copies) {
    if (copy.output != output || inputs[copy.input] == nullptr) continue;
    const std::byte* const to = place.begin + copy.to;
    const ByteRange changed = changed_by(inputs[copy.input] + copy.from, to, copy.size);
    kept.push_back({to, changed.begin - to});
    kept.push_back({changed.begin + changed.size, to + copy.size - (changed.begin + changed.size)});
  }
  std::erase_if(kept, [](const ByteRange& range) { return range.size == 0; });
  std::ranges::sort(kept, {}, &ByteRange::begin);
  std::vector<ByteRange> changed;
  const std::byte* at = place.begin;
  const auto change_until = [&](const std::byte* next) {
    if (at < next) changed.push_back({at, next - at});
  };
  for (const ByteRange& range : kept) {
    change_until(range.begin);
    at = range.begin + range.size;
  }
  change_until(place.begin + place.size);
  return changed;
}

#ifdef STOWAGE_HAS_SHADOW

namespace {

// The sanitizer's callback has no argument for us, so it finds the device here.
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

OnlyThese::OnlyThese(const Device* device, std::span<const ByteRange> allowed, const std::string& who)
    : device_(device) {
  if (device == nullptr) return;
  for (const Arena& arena : device->arenas())
    __asan_poison_memory_region(arena.bytes(), static_cast<std::size_t>(arena.size()));
  for (const ByteRange& range : allowed)
    __asan_unpoison_memory_region(range.begin, static_cast<std::size_t>(range.size));
  reported_device = device;
  reported_operator = &who;
  __asan_set_error_report_callback(report);
}

OnlyThese::~OnlyThese() {
  if (device_ == nullptr) return;
  reported_device = nullptr;
  for (const Arena& arena : device_->arenas())
    __asan_unpoison_memory_region(arena.bytes(), static_cast<std::size_t>(arena.size()));
}

#else

OnlyThese::OnlyThese(const Device* device, std::span<const ByteRange> /*allowed*/, const std::string& /*who*/)
    : device_(device) {}

OnlyThese::~OnlyThese() = default;

#endif

}  // namespace stowage::run
