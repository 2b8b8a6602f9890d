#include "schedule/seen_sets.h"

#include <algorithm>

namespace stowage::schedule {

bool SeenSets::insert(std::span<const std::uint64_t> bits, std::uint64_t hash) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (is_at(slots_[slot] - 1, bits, hash)) return false;
  }
  hashes_.push_back(hash);
  pool_.insert(pool_.end(), bits.begin(), bits.end());
  slots_[slot] = hashes_.size();
  return true;
}

bool SeenSets::is_at(std::size_t index, std::span<const std::uint64_t> bits, std::uint64_t hash) const {
  return hashes_[index] == hash &&
         std::equal(bits.begin(), bits.end(), pool_.begin() + static_cast<std::ptrdiff_t>(index * words_));
}

void SeenSets::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t index = 0; index < hashes_.size(); ++index) {
    std::size_t slot = hashes_[index] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = index + 1;
  }
}

}  // namespace stowage::schedule
