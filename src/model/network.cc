#include "stowage/network.h"

#include <fmt/format.h>

#include <utility>

#include "stowage/error.h"

namespace stowage {

void Attributes::set(std::string name, Value value) {
  values_.insert_or_assign(std::move(name), std::move(value));
}

bool Attributes::has(std::string_view name) const { return values_.contains(name); }

template <typename Type>
const Type* Attributes::find(std::string_view name, std::string_view expected) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return nullptr;
  const Type* const value = std::get_if<Type>(&it->second);
  if (value == nullptr)
    throw Error(fmt::format("attribute '{}'", name),
                fmt::format("is of another type, expected {}", expected));
  return value;
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* const value = find<std::int64_t>(name, "an integer");
  return value == nullptr ? otherwise : *value;
}

float Attributes::real(std::string_view name, float otherwise) const {
  const auto* const value = find<float>(name, "a real number");
  return value == nullptr ? otherwise : *value;
}

std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
  const auto* const value = find<std::string>(name, "a text");
  return value == nullptr ? std::string(otherwise) : *value;
}

std::vector<std::int64_t> Attributes::integers(std::string_view name,
                                               std::vector<std::int64_t> otherwise) const {
  const auto* const value = find<std::vector<std::int64_t>>(name, "integers");
  return value == nullptr ? std::move(otherwise) : *value;
}

std::vector<float> Attributes::reals(std::string_view name, std::vector<float> otherwise) const {
  const auto* const value = find<std::vector<float>>(name, "real numbers");
  return value == nullptr ? std::move(otherwise) : *value;
}

std::vector<std::string> Attributes::texts(std::string_view name, std::vector<std::string> otherwise) const {
  const auto* const value = find<std::vector<std::string>>(name, "texts");
  return value == nullptr ? std::move(otherwise) : *value;
}

const Array* Attributes::array(std::string_view name) const { return find<Array>(name, "a tensor"); }

}  // namespace stowage
