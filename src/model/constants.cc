#include <utility>

#include "stowage/import.h"

namespace stowage {

std::span<const std::byte> Constants::of(TensorId tensor) const {
  const Known* const known = find(tensor);
  return known != nullptr ? known->bytes : std::span<const std::byte>();
}

std::span<const std::byte> Constants::element_of(TensorId tensor) const {
  const Known* const known = find(tensor);
  return known != nullptr ? known->element : std::span<const std::byte>();
}

const Recipe* Constants::recipe_of(TensorId tensor) const {
  const Known* const known = find(tensor);
  return known != nullptr ? known->recipe.get() : nullptr;
}

void Constants::set(TensorId tensor, std::span<const std::byte> bytes) { at(tensor) = {.bytes = bytes}; }

void Constants::set(TensorId tensor, std::vector<std::byte> bytes) { set(tensor, keep(std::move(bytes))); }

void Constants::set_element(TensorId tensor, std::vector<std::byte> element) {
  at(tensor) = {.element = keep(std::move(element))};
}

void Constants::set_recipe(TensorId tensor, Recipe recipe) {
  at(tensor) = {.recipe = std::make_shared<const Recipe>(std::move(recipe))};
}

void Constants::set_same(TensorId tensor, TensorId as) {
  const Known* const known = find(as);
  const Known same = known != nullptr ? *known : Known();  // the next line may move it
  at(tensor) = same;
}

void Constants::hold(std::shared_ptr<const void> owner) { owners_.push_back(std::move(owner)); }

const Constants::Known* Constants::find(TensorId tensor) const {
  return tensor < known_.size() ? &known_[tensor] : nullptr;
}

Constants::Known& Constants::at(TensorId tensor) {
  if (tensor >= known_.size()) known_.resize(tensor + 1);
  return known_[tensor];
}

std::span<const std::byte> Constants::keep(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  hold(owner);
  return *owner;
}

}  // namespace stowage
