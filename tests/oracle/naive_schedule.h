/// The least peak of operator orders by trying all of them.
#pragma once

#include <cstddef>
#include <vector>

#include "oracle/random_graph.h"
#include "schedule/storage.h"

namespace stowage::oracle {

/// Bytes that the step of an operator needs when these, and no others, have been executed.
[[nodiscard]] Bytes naive_load(const schedule::Storage& storage, const std::vector<bool>& executed,
                               std::size_t op);

/// The least peak of all orders.
[[nodiscard]] Bytes naive_optimum(const schedule::Storage& storage);

struct StorageOptions {
  std::size_t operators = 9;  ///< At most.
  bool overwrites = false;
  bool parts = false;  ///< Tensors of several values, as where concats share.
};

/// Not normalized: with values of no bytes, readers named twice, values that are never read or never written.
[[nodiscard]] schedule::Storage random_storage(Choices& choices, const StorageOptions& options);

}  // namespace stowage::oracle
