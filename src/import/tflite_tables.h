#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "import/readers.h"
#include "stowage/error.h"
#include "stowage/graph.h"
#include "stowage/import.h"
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

/// What `read` returns, with a place in its errors that is worked out for them only.
template <typename Read, typename Place>
auto located(const Read& read, const Place& place) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(place(), error.what());
  }
}

/// A flatbuffer may refer to one part of it from many places, so that a small file can describe a huge
/// model. Nobody writes such files in earnest: what is read may be this many times the file's size.
constexpr std::size_t largest_reuse = 4;
constexpr std::size_t smallest_table = 8;  // bytes: a reference to the table, and its own to its layout

/// Counts what is read of a file, however often.
class ReadingBudget {
 public:
  explicit ReadingBudget(std::size_t file_size) : unread_(file_size * largest_reuse) {}

  /// Called before that much of the file is read. Throws Error when it is too much.
  void spend(std::size_t bytes);

 private:
  std::size_t unread_;  // bytes that may still be read
};

/// A file whose tables, vectors and strings are known to lie inside it; the numbers in it may still be
/// anything.
class TfliteFile {
 public:
  /// Takes a copy of bytes that are not aligned, and refers to others. Throws Error.
  explicit TfliteFile(const Source& source);
  TfliteFile(const TfliteFile&) = delete;
  TfliteFile& operator=(const TfliteFile&) = delete;

  [[nodiscard]] const tflite::Model& model() const { return *model_; }
  [[nodiscard]] std::string_view bytes() const { return source_.bytes; }
  /// What the bytes lie in; null where only the caller knows.
  [[nodiscard]] const std::shared_ptr<const void>& holder() const { return source_.holder; }

 private:
  Source source_;
  const tflite::Model* model_ = nullptr;
};

[[nodiscard]] Graph read_graph(const TfliteFile& file, const ImportOptions& options);

/// The data that the file has for weights, instructions and variables, where it lies. Throws Error for
/// data of another size than the tensor's.
[[nodiscard]] Constants constants_of(const TfliteFile& file, const Graph& graph);

}  // namespace stowage::import
