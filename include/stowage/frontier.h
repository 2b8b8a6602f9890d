/// Example: the longest sequences whose arena fits 4 KiB, for batches of one and two.
///
///     const auto read = [](std::int64_t batch, const stowage::GivenSize& size) {
///       const std::string bytes = std::to_string(16 * batch * size.most);
///       return stowage::parse_input("id,lower,upper,size\na,0,2," + bytes + "\n", "list.csv");
///     };
///     stowage::PlanOptions options;
///     options.memories[0].capacity = 4096;
///     const std::vector<std::int64_t> batches{1, 2};
///     const auto rows = stowage::fit_frontier(read, batches, {1, 1000}, options);
///     return rows[0].fit.largest == 256 && rows[1].fit.largest == 128 ? 0 : 1;
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/fit.h"

namespace stowage {

/// Reads a model with an exact size in place of one that it leaves open, and this number or range in place of another.
using ReadWithTwoSizes = std::function<Input(std::int64_t first, const GivenSize& second)>;

/// The largest second size that fits with an exact first one.
struct FrontierRow {
  std::int64_t first = 0;
  SizeFit fit{};  ///< Of the second size; without sizes beyond the next.
  std::string
      rejected{};  ///< Why the model rejects the first size with the smallest second; then nothing else is known.
};

/// The frontier of what fits: for each of the first sizes, in their order, the largest of the second, until a first one
/// does not fit with the smallest second. Each row takes the time of `fit_size`.
[[nodiscard]] std::vector<FrontierRow> fit_frontier(const ReadWithTwoSizes& read,
                                                    std::span<const std::int64_t> firsts,
                                                    const GivenSize& second, const PlanOptions& options);

/// Draws the rows (SVG). The names are those of the two sizes.
void write_frontier_svg(std::span<const FrontierRow> rows, std::string_view first, std::string_view second,
                        std::ostream& out);

}  // namespace stowage
