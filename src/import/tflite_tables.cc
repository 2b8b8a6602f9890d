#include "import/tflite_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace stowage::import {
namespace {

/// The numbers in some data if they are so many; otherwise none.
template <typename Stored, typename Element>
void read_stored(std::string_view data, std::size_t count, std::vector<Element>& to) {
  if (data.size() != count * sizeof(Stored)) return;
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, data.data() + i * sizeof(Stored), sizeof(Stored));
    to.push_back(static_cast<Element>(stored));
  }
}

}  // namespace

bool looks_like_tflite(std::string_view bytes) { return has_identifier(bytes, tflite::ModelIdentifier()); }

void ReadingBudget::spend(std::size_t bytes) {
  if (bytes > unread_) {
    throw Error("",
                fmt::format("repeats parts of itself to {} times its size, expected less", largest_reuse));
  }
  unread_ -= bytes;
}

TfliteFile::TfliteFile(const Source& source) : source_(source) {
  if (!looks_like_tflite(bytes())) throw Error("", "is not a TFLite model, expected TFL3 at byte 4");
  source_ = aligned(source_);
  verify_flatbuffer(bytes(), [](flatbuffers::Verifier& it) { return tflite::VerifyModelBuffer(it); });
  model_ = tflite::GetModel(bytes().data());
  if (model_->version() != 3)
    throw Error("", fmt::format("has schema version {}, expected 3", model_->version()));
}

std::string text(const flatbuffers::String* source) { return source == nullptr ? "" : source->str(); }

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
  return file.substr(static_cast<std::size_t>(buffer.offset()), static_cast<std::size_t>(buffer.size()));
}

tflite::BuiltinOperator builtin_of(const tflite::OperatorCode& code) {
  return std::max(static_cast<tflite::BuiltinOperator>(code.deprecated_builtin_code()), code.builtin_code());
}

int element_type_of(const tflite::Tensor& tensor) {
  switch (tensor.type()) {
    case tflite::TensorType::INT32:
      return element::int32;
    case tflite::TensorType::INT64:
      return element::int64;
    case tflite::TensorType::BOOL:
      return element::boolean;
    case tflite::TensorType::FLOAT32:
      return element::float32;
    default:
      return 0;
  }
}

std::optional<Value> value_of(const tflite::Model& model, std::string_view file, const tflite::Tensor& tensor,
                              const Shape& shape, const std::function<void(std::size_t bytes)>& spend) {
  Value value{.elem_type = element_type_of(tensor), .shape = shape, .integers = {}, .reals = {}};
  const auto count = small_count(value.elem_type, shape);
  if (!count || tensor.external_buffer() != 0 || tensor.sparsity() != nullptr) return std::nullopt;
  const std::string_view data = stored_data(model, file, tensor);
  spend(std::min(data.size(), *count * sizeof(std::int64_t)));
  if (value.elem_type == element::int32) read_stored<std::int32_t>(data, *count, value.integers);
  if (value.elem_type == element::int64) read_stored<std::int64_t>(data, *count, value.integers);
  if (value.elem_type == element::boolean) read_stored<std::uint8_t>(data, *count, value.integers);
  if (value.elem_type == element::float32) read_stored<float>(data, *count, value.reals);
  return value.size() == *count ? std::optional(value) : std::nullopt;
}

}  // namespace stowage::import
