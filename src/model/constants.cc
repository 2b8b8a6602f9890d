#include <utility>

#include "stowage/import.h"

namespace stowage {

std::span<const std::byte> Constants::of(TensorId tensor) const {
  return tensor < bytes_.size() ? bytes_[tensor] : std::span<const std::byte>();
}

void Constants::set(TensorId tensor, std::span<const std::byte> bytes) {
  if (tensor >= bytes_.size()) bytes_.resize(tensor + 1);
  bytes_[tensor] = bytes;
}

void Constants::set(TensorId tensor, std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  set(tensor, std::span<const std::byte>(*owner));
  hold(owner);
}

void Constants::hold(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }

}  // namespace stowage
