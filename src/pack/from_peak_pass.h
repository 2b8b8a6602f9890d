#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "pack/container.h"
#include "pack/meetings.h"
#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

enum class StackOrder : std::uint8_t { by_begin, by_end, by_size, by_duration, by_area };

/// How a pass stacks the buffers alive at the peak, and places all others.
struct PassManner {
  StackOrder stack = StackOrder::by_size;
  Fit fit = Fit::lowest;
};

/// A list and what all passes over it read; threads may share it.
class PassInput {
 public:
  /// Keeps references to both. Without neighbours, it makes its own when they are needed.
  PassInput(std::span<const Buffer> buffers, const Neighbours* neighbours);

  [[nodiscard]] std::span<const Buffer> buffers() const { return buffers_; }
  [[nodiscard]] const std::vector<Lifetime>& lives() const { return lives_; }
  /// Where the most bytes are live.
  [[nodiscard]] Position peak() const { return peak_; }
  /// Of all buffers; none if nobody gave them.
  [[nodiscard]] const Neighbours* given_neighbours() const { return given_neighbours_; }
  [[nodiscard]] const Neighbours& neighbours() const;
  /// Of all buffers, without a table: few steps do not pay for it. None if it takes less to list neighbours.
  [[nodiscard]] const Meetings* meetings() const;
  /// Per buffer the most live bytes at any position of its life.
  [[nodiscard]] const std::vector<Bytes>& loads() const;
  /// Of the three together, in the units of deadlines.
  [[nodiscard]] std::int64_t work_of_ejection() const;

 private:
  std::span<const Buffer> buffers_;
  std::vector<Lifetime> lives_;
  Position peak_;
  const Neighbours* given_neighbours_;
  mutable std::once_flag looked_around_;
  mutable std::unique_ptr<Neighbours> own_neighbours_;
  mutable std::once_flag listed_meetings_;
  mutable std::optional<Meetings> meetings_;
  mutable std::once_flag weighed_;
  mutable std::vector<Bytes> loads_;
};

struct PassFromPeak {
  std::vector<Bytes> offsets{};  ///< Of all buffers, below the cap if possible; none if it had to end.
  bool has_ejected = false;      ///< It has used what the input finds for ejection.
};

/// Ends early if `ends` says so. See from_peak.cc.
[[nodiscard]] PassFromPeak pass_from_peak(const PassInput& input, const PassManner& manner, Bytes cap,
                                          const Control& control, const Stop& ends);

}  // namespace stowage::pack
