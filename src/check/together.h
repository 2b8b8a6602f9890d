#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stowage/problem.h"

namespace stowage::check {

/// What lies together, found without a packer. By buffer.
struct Together {
  std::vector<std::size_t> group{};  ///< The first buffer that lies together with it.
  std::vector<Bytes> ahead{};        ///< Bytes of its group before it.
  std::vector<Bytes> size{};         ///< Of its group.
};

/// `copies` is empty, or how many each buffer has.
[[nodiscard]] Together together_of(const Problem& problem, std::span<const std::int64_t> copies);

/// Memories in which all of its group may be, ascending.
[[nodiscard]] std::vector<std::size_t> memories_of(const Problem& problem, const Together& together,
                                                   std::size_t buffer);

}  // namespace stowage::check
