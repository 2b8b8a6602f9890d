#pragma once

#include "stowage/error.h"
#include "stowage/import.h"

namespace stowage::plan {

/// Calls a function; its errors name the file of the network that they are about.
template <typename Function>
auto in_file_of(const Input& input, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    throw error.in_file(input.info.source);
  }
}

}  // namespace stowage::plan
