#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "stream/program.h"

namespace stowage::stream {

struct Bound {
  Bytes bytes = 0;          ///< No order needs less.
  std::int64_t cuts = 0;    ///< Minimum cuts computed.
  bool is_complete = true;  ///< Whether every instance was looked at; else more cuts might prove more.
};

/// A lower bound on the peak of every order, by minimum cuts; `order` is any legal order, and the better it
/// is the fewer cuts are needed. At most `most_cuts` are computed, and one at most after the deadline: with
/// fewer the bound is weaker, and still one.
[[nodiscard]] Bound lower_bound(const Program& program, std::span<const InstanceId> order,
                                std::int64_t most_cuts,
                                std::optional<std::chrono::steady_clock::time_point> deadline = {});

}  // namespace stowage::stream
