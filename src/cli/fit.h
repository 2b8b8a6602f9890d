#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stowage/network.h"
#include "stowage/options.h"
#include "stowage/units.h"

namespace stowage::cli {

/// What a generated package takes, or why there is none.
struct GeneratedBytes {
  Bytes ram = 0;  ///< Of the first memory, with the state.
  std::optional<Bytes> slow{};
  std::optional<Bytes> slow_traffic{};
  Bytes flash = 0;
  std::string obstacle{};
  std::string options{};  ///< Of `stowage generate`, besides those of rows.
};

/// C of the model as planned with these options, its inputs and outputs by rows if that is possible; in builds without the runner there is none.
[[nodiscard]] GeneratedBytes generated_bytes(const std::string& file, const ImportOptions& options,
                                             const PlanOptions& planning);

}  // namespace stowage::cli
