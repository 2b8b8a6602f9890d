#pragma once

#include <cstddef>
#include <optional>

#include "import/known.h"
#include "import/numbers.h"

/// What is known of the tensors of a model in one reading: types and values by number, so that equal ones are compared
/// and kept at once. Number 0: nothing is known.
namespace stowage::import {

struct HashOfType {
  std::size_t operator()(const Type& type) const;
};
struct EqualTypes {
  bool operator()(const Type& a, const Type& b) const;
};
using TypeTable = Numbers<Type, HashOfType, EqualTypes>;
using Types = NumberedList<TypeTable>;

/// Values are equal if all of their bits are.
struct HashOfValue {
  std::size_t operator()(const std::optional<Value>& value) const;
};
struct EqualValues {
  bool operator()(const std::optional<Value>& a, const std::optional<Value>& b) const;
};
using ValueTable = Numbers<std::optional<Value>, HashOfValue, EqualValues>;
using Values = NumberedList<ValueTable>;

}  // namespace stowage::import
