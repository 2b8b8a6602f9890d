#pragma once

#include <cstddef>
#include <vector>

#include "stowage/report.h"

namespace stowage::report {

/// What smaller elements would free at the peak of a memory: of all tensors of a type, and of its largest tensors
/// there, each by itself with all that share bytes with it.
[[nodiscard]] std::vector<Remedy> narrower_types(const Plan& plan, std::size_t memory);

}  // namespace stowage::report
