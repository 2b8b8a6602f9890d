#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "stowage/graph.h"
#include "stowage/options.h"
#include "stream/instances.h"

namespace stowage::plan {

/// The options with that many rows in a step.
[[nodiscard]] PlanOptions with_granule(const PlanOptions& options, std::int64_t granule);

/// How many rows a step may have: as the options say, or powers of two. The fewer, the lower the peak that an order
/// can reach, and the longer the search for it.
class Granules {
 public:
  using Seconds = base::Deadline::Seconds;

  Granules(const Graph& graph, const PlanOptions& options, const stream::PassedIo& passed);

  [[nodiscard]] std::int64_t finest() const { return choices_.front().rows; }
  /// Whether finer ones would read more rows than can be unrolled, so that operators run as wholes.
  [[nodiscard]] bool leaves_out_finer() const { return leaves_out_finer_; }
  /// The finest for a quick plan that takes about that time, if it is finer than all before.
  [[nodiscard]] std::optional<std::int64_t> next_within(Seconds time);
  /// The next finer one; none after the finest.
  [[nodiscard]] std::optional<std::int64_t> finer_than(std::int64_t rows) const;
  /// The finest for which a quick plan takes about that time; the coarsest if all take longer.
  [[nodiscard]] std::int64_t finest_within(Seconds time) const;

 private:
  struct Choice {
    std::int64_t rows = 1;
    Seconds quick{};  ///< For a quick plan, about.
  };

  std::vector<Choice> choices_{};  ///< Rows ascending.
  std::size_t quick_;              ///< Those before it had no quick plan.
  bool leaves_out_finer_ = false;
};

}  // namespace stowage::plan
