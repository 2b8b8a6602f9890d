#pragma once

#include <cstddef>
#include <vector>

#include "stream/program.h"

namespace stowage::stream {

/// Groups of operators that are alike, such as those of the heads of an attention: as many iterations, reads
/// and bytes. None needs another of its group. A group has at most 24; groups that write most come first. Cost: operators * (their needs + groups).
[[nodiscard]] std::vector<std::vector<std::size_t>> races_of(const RowProgram& program);

}  // namespace stowage::stream
