#include "import/source.h"

#include <vector>

namespace stowage::import {

Source copy_of(const Source& source) {
  const auto copy = std::make_shared<const std::vector<char>>(source.bytes.begin(), source.bytes.end());
  return {{copy->data(), copy->size()}, source.folder, copy};
}

Source held(const Source& source) { return source.holder ? source : copy_of(source); }

}  // namespace stowage::import
