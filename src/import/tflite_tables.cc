#include "import/tflite_tables.h"

#include <fmt/format.h>

#include "stowage/error.h"

namespace stowage::import {

std::string_view stored_data(const tflite::Model& model, std::string_view file,
                             const tflite::Tensor& tensor) {
  const std::size_t index = tensor.buffer();
  if (index == 0) return {};
  if (index >= count(model.buffers())) {
    throw Error("", fmt::format("has its data in buffer {}, but there are {} buffers", index,
                                count(model.buffers())));
  }
  const tflite::Buffer& buffer = at(model.buffers(), index);
  if (count(buffer.data()) > 0)
    return {reinterpret_cast<const char*>(buffer.data()->data()), buffer.data()->size()};
  if (buffer.offset() <= 1) return {};
  if (buffer.offset() > file.size() || buffer.size() > file.size() - buffer.offset()) {
    throw Error("", fmt::format("has its data in buffer {}, {} bytes at {}, expected them within the "
                                "file's {} bytes",
                                index, buffer.size(), buffer.offset(), file.size()));
  }
  return file.substr(buffer.offset(), buffer.size());
}

}  // namespace stowage::import
