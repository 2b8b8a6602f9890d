#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "stowage/frontier.h"

namespace stowage::cli {

/// What --fit asks for: the largest size of a dimension, perhaps for each of some exact sizes of another one.
struct FitQuestion {
  std::string first{};                 ///< Empty: there is one dimension only.
  std::vector<std::int64_t> firsts{};  ///< Its sizes.
  std::string second{};                ///< The dimension whose largest size is wanted.
  GivenSize range = 1;                 ///< Of its sizes.
  bool has_range = false;              ///< The user gave it.
  ModelTexts others{};                 ///< What else is given of the model.

  /// The texts with sizes for both.
  [[nodiscard]] ModelTexts at(std::optional<std::int64_t> size, const GivenSize& of_second) const;
};

/// From "seq" or "batch,seq". Sizes of the first are those that --dim lists, or powers of two; those of the second are
/// the range of --dim, or up to 2^20. Throws UsageError for others.
[[nodiscard]] FitQuestion parse_fit(const std::string& text, const ModelTexts& texts);

using ReadTexts = std::function<Input(const ModelTexts& texts)>;

/// One row for each size of the first dimension, or a single row if there is none. Where not even the smallest size fits,
/// the row has no largest one.
[[nodiscard]] std::vector<FrontierRow> answers_to(const FitQuestion& question, const ReadTexts& read,
                                                  const PlanOptions& options);

/// Bytes beyond which nothing fits. Of several memories no sum of peaks says that.
[[nodiscard]] Bytes limit_of(const PlanOptions& options);

/// What proves that a size does not fit, or what is missing.
[[nodiscard]] std::string why_not(const SizedPeak& next, Bytes capacity);

/// Why the largest size is the largest, and what was cut short.
[[nodiscard]] std::string why_largest(const SizeFit& fit, const GivenSize& range, Bytes capacity);

/// `stowage plan` with --fit and two dimensions: a table, or the files and JSON that the command asks for.
[[nodiscard]] ExitStatus show_frontier(const PlanCommand& command, const PlanOptions& options,
                                       const ReadTexts& read);

}  // namespace stowage::cli
