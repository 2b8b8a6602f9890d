#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "import/tflite_tables.h"
#include "stowage/graph.h"
#include "tflite_generated.h"

namespace stowage::import {

/// The bytes of a constant that its file stores as a sparse one, `stored`. Throws Error unless they and the tables
/// of its dimensions fit together.
[[nodiscard]] std::vector<std::byte> expanded(const tflite::SparsityParameters& sparsity,
                                              std::string_view stored, const Tensor& tensor,
                                              ReadingBudget& budget);

}  // namespace stowage::import
