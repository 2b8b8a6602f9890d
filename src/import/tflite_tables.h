#pragma once

#include <cstddef>
#include <string_view>

#include "tflite_generated.h"

namespace stowage::import {

/// A vector that is left out of a file is an empty one.
template <typename Element>
std::size_t count(const flatbuffers::Vector<Element>* elements) {
  return elements == nullptr ? 0 : elements->size();
}

template <typename Table>
const Table& at(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables, std::size_t index) {
  return *tables->Get(static_cast<flatbuffers::uoffset_t>(index));
}

/// Constant data that the file has for a tensor, empty if it has none. Throws Error for data that is
/// not in the file.
[[nodiscard]] std::string_view stored_data(const tflite::Model& model, std::string_view file,
                                           const tflite::Tensor& tensor);

}  // namespace stowage::import
