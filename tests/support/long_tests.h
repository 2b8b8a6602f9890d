#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>

/// What a test may take its time for.
namespace stowage::testing {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif
#else
inline constexpr bool has_address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_thread_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

/// STOWAGE_LONG=1 in the environment asks for everything, however long it takes.
[[nodiscard]] inline bool has_time() { return std::getenv("STOWAGE_LONG") != nullptr; }

/// Under AddressSanitizer and ThreadSanitizer everything is an order of magnitude slower.
[[nodiscard]] inline bool is_in_a_hurry() {
  return (has_address_sanitizer || has_thread_sanitizer) && !has_time();
}

/// A limit for searches: ten times as long in a hurry.
[[nodiscard]] inline std::chrono::milliseconds time_of(std::chrono::milliseconds limit) {
  return is_in_a_hurry() ? 10 * limit : limit;
}

/// So many cases if there is time, else a quarter of them, or a tenth in a hurry.
[[nodiscard]] inline std::uint64_t cases_of(std::uint64_t all) {
  return has_time() ? all : is_in_a_hurry() ? all / 10 : all / 4;
}

}  // namespace stowage::testing
