#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "stream/program.h"

namespace stowage::stream {

struct SearchOptions {
  Bytes target = 0;                ///< Good enough: a bound, or what a memory holds.
  std::int64_t work = 20'000'000;  ///< Rows that are pulled at most, as a try.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  std::stop_token stop{};  ///< Then, as at the deadline, the best order so far is returned.
};

/// An order with a peak that is no higher than that of the given one, which must be legal.
[[nodiscard]] std::vector<InstanceId> improve(const Program& program, std::span<const InstanceId> order,
                                              const SearchOptions& options);

}  // namespace stowage::stream
