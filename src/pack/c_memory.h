#pragma once

#include "stowage_pack.h"

namespace stowage::pack {

/// While it lives, what this thread allocates comes from this allocator; see c_memory.cc. At other times it is from malloc.
class MemoryOf {
 public:
  explicit MemoryOf(const stowage_pack_allocator& allocator);
  ~MemoryOf();
  MemoryOf(const MemoryOf&) = delete;
  MemoryOf& operator=(const MemoryOf&) = delete;

 private:
  const stowage_pack_allocator* before_;
};

}  // namespace stowage::pack
