#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "import/flatbuffer.h"
#include "import/onnx_values.h"
#include "import/readers.h"
#include "stowage/error.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "tflite_generated.h"

namespace stowage::import {

/// Empty if there is none.
[[nodiscard]] std::string text(const flatbuffers::String* source);

/// Constant data of a tensor in the file, empty if it has none. Throws Error for data outside of the file.
[[nodiscard]] std::string_view stored_data(const tflite::Model& model, std::string_view file,
                                           const tflite::Tensor& tensor);

/// The number of an operator's code. Old files have only the first field, which is 127 for larger numbers.
[[nodiscard]] tflite::BuiltinOperator builtin_of(const tflite::OperatorCode& code);

/// The element type of values that are kept, as ONNX numbers it; 0 for all other tensors, among them all whose
/// numbers a quantization gives another meaning.
[[nodiscard]] int element_type_of(const tflite::Tensor& tensor);

/// The value of a constant with this shape, if its data is in the file and small, and of a type that is kept. Calls
/// `spend` before that many bytes of the file are read.
[[nodiscard]] std::optional<Value> value_of(const tflite::Model& model, std::string_view file,
                                            const tflite::Tensor& tensor, const Shape& shape,
                                            const std::function<void(std::size_t bytes)>& spend);

/// Calls `read`, and adds a place to its errors; `place` is called only for errors.
template <typename Read, typename Place>
auto located(const Read& read, const Place& place) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(place(), error.what());
  }
}

/// Counts all bytes read from a file, including repeated ones.
class ReadingBudget {
 public:
  explicit ReadingBudget(std::size_t file_size) : unread_(file_size * largest_reuse) {}

  /// Call before that many bytes of the file are read. Throws Error if it is too much.
  void spend(std::size_t bytes);

 private:
  std::size_t unread_;  // bytes that may still be read
};

/// A file whose tables, vectors and strings are verified to lie inside it; its numbers may still have any
/// value.
class TfliteFile {
 public:
  /// Copies unaligned bytes, and refers to others. Throws Error.
  explicit TfliteFile(const Source& source);
  TfliteFile(const TfliteFile&) = delete;
  TfliteFile& operator=(const TfliteFile&) = delete;

  [[nodiscard]] const tflite::Model& model() const { return *model_; }
  [[nodiscard]] std::string_view bytes() const { return source_.bytes; }
  /// Owner of the bytes; null if only the caller knows it.
  [[nodiscard]] const std::shared_ptr<const void>& holder() const { return source_.holder; }

 private:
  Source source_;
  const tflite::Model* model_ = nullptr;
};

/// The constants that variables begin with.
using FirstValues = std::map<TensorId, TensorId>;
/// Results of operators that are the same in every run.
using KnownResults = std::map<TensorId, Value>;

struct ReadGraph {
  Graph graph{};
  FirstValues first_values{};
  KnownResults known{};
  std::string note{};  ///< As Input::note.
};

[[nodiscard]] ReadGraph read_graph(const TfliteFile& file, const ImportOptions& options);

}  // namespace stowage::import
