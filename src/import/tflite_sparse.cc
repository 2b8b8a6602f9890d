// A sparse constant is a tree with a level for each dimension, and then one for each block that a dimension is
// divided into. Its leaves are the elements that are stored, in this order; all others are 0. The nodes of a dense
// level have a child for each index of its dimension, those of a sparse level only for the indices that are listed:
//
//     0 7 0     level 0, dense 2     (0)        (1)           segments of level 1: 0 1 3
//     5 0 6     level 1, sparse       1         0  2          indices:             1 0 2
//                                     7         5  6          stored:              7 5 6
//
// Indices of a part ascend, so no element is written twice, and no level has more nodes than the tensor elements.
// All sizes are checked before anything is written.
//
// Cost: the bytes of the tensor, and levels * stored elements. Source: TensorFlow Lite's schema,
// SparsityParameters; what it leaves open, its format converter.

#include "import/tflite_sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "import/flatbuffer.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

template <typename... Values>
[[noreturn]] void reject_sparse(fmt::format_string<Values...> problem, Values&&... values) {
  throw Error("", "is sparse and " + fmt::format(problem, std::forward<Values>(values)...));
}

using Numbers = std::vector<std::int64_t>;

struct Level {
  std::int64_t extent = 0;
  std::int64_t stride = 0;  ///< From index to index, in elements.
  bool is_dense = true;
  Numbers segments{};  ///< Where the indices of each part begin, and the end of the last.
  Numbers indices{};
};

/// Reads the levels of a sparse tensor, and writes its elements.
class Expansion {
 public:
  Expansion(const tflite::SparsityParameters& source, const Shape& shape, ReadingBudget& budget)
      : source_(source), shape_(shape), budget_(budget) {}

  /// Returns the number of leaves.
  std::int64_t read() {
    const Numbers order = numbers_in(source_.traversal_order());
    const Numbers blocks = numbers_in(source_.block_map());
    const auto rank = static_cast<std::int64_t>(shape_.size());
    const auto all = rank + static_cast<std::int64_t>(blocks.size());
    if (static_cast<std::int64_t>(order.size()) != all)
      reject_sparse("has a traversal order of {}, expected its {} dimensions and {} blocks", order.size(),
                    rank, blocks.size());
    if (static_cast<std::int64_t>(count(source_.dim_metadata())) != all)
      reject_sparse("describes {} dimensions, expected its {} and {} blocks", count(source_.dim_metadata()),
                    rank, blocks.size());
    expect_once(blocks, 0, rank, "block map");
    const auto behind = order.begin() + static_cast<std::ptrdiff_t>(rank);
    expect_once({order.begin(), behind}, 0, rank, "traversal order");
    expect_once({behind, order.end()}, rank, all, "traversal order of blocks");
    const auto sizes = sizes_of_blocks(order, blocks);
    add_levels(order, blocks, sizes);
    std::int64_t nodes = 1;
    for (std::size_t l = 0; l < levels_.size(); ++l)
      nodes = read_level(at(source_.dim_metadata(), l), levels_[l], nodes);
    return nodes;
  }

  void write(std::string_view stored, std::size_t element, std::byte* to) const {
    const char* next = stored.data();
    write(0, 0, 0, element, to, next);
  }

 private:
  template <typename Vector>
  Numbers numbers_in(const Vector* numbers) {
    if (numbers == nullptr) return {};
    budget_.spend(numbers->size() * sizeof((*numbers)[0]));
    return Numbers(numbers->begin(), numbers->end());
  }

  Numbers numbers_in(tflite::SparseIndexVector type, const void* table) {
    if (table == nullptr) return {};
    switch (type) {
      case tflite::SparseIndexVector::Int32Vector:
        return numbers_in(static_cast<const tflite::Int32Vector*>(table)->values());
      case tflite::SparseIndexVector::Uint16Vector:
        return numbers_in(static_cast<const tflite::Uint16Vector*>(table)->values());
      case tflite::SparseIndexVector::Uint8Vector:
        return numbers_in(static_cast<const tflite::Uint8Vector*>(table)->values());
      case tflite::SparseIndexVector::NONE:
        break;
    }
    reject_sparse("has indices of type {}, expected one of 1 to 3", static_cast<int>(type));
  }

  static void expect_once(const Numbers& numbers, std::int64_t begin, std::int64_t end,
                          std::string_view what) {
    std::vector<bool> is_there(static_cast<std::size_t>(end - begin), false);
    for (const std::int64_t number : numbers) {
      if (number < begin || number >= end || is_there[static_cast<std::size_t>(number - begin)])
        reject_sparse("has {} in its {}, expected numbers from {} to {}, each once", number, what, begin,
                      end - 1);
      is_there[static_cast<std::size_t>(number - begin)] = true;
    }
  }

  /// The extent of each block of the map.
  [[nodiscard]] Numbers sizes_of_blocks(const Numbers& order, const Numbers& blocks) const {
    const std::size_t rank = shape_.size();
    Numbers sizes(blocks.size());
    for (std::size_t l = rank; l < order.size(); ++l) {
      const auto block = static_cast<std::size_t>(order[l]) - rank;
      const std::int64_t size = at(source_.dim_metadata(), l).dense_size();
      const std::int64_t extent = shape_[static_cast<std::size_t>(blocks[block])];
      if (size <= 0 || extent % size != 0)
        reject_sparse("has blocks of {} along dimension {} of {}, expected a divisor", size, blocks[block],
                      extent);
      sizes[block] = size;
    }
    return sizes;
  }

  void add_levels(const Numbers& order, const Numbers& blocks, const Numbers& sizes) {
    const std::size_t rank = shape_.size();
    Numbers strides(rank, 1);
    for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * shape_[d];
    Numbers block_of(rank, 1);  // sizes, by dimension
    for (std::size_t b = 0; b < blocks.size(); ++b) block_of[static_cast<std::size_t>(blocks[b])] = sizes[b];
    for (const std::int64_t number : order) {
      const auto d = static_cast<std::size_t>(number);
      if (d < rank) {
        levels_.push_back({.extent = shape_[d] / block_of[d], .stride = strides[d] * block_of[d]});
      } else {
        levels_.push_back(
            {.extent = sizes[d - rank], .stride = strides[static_cast<std::size_t>(blocks[d - rank])]});
      }
    }
  }

  /// Returns the nodes of this level, of as many above.
  std::int64_t read_level(const tflite::DimensionMetadata& source, Level& level, std::int64_t above) {
    const auto number = static_cast<std::size_t>(&level - levels_.data());
    level.is_dense = source.format() == tflite::DimensionType::DENSE;
    if (level.is_dense) {
      if (source.dense_size() != level.extent)
        reject_sparse("has extent {} at level {}, expected {}", source.dense_size(), number, level.extent);
      return above * level.extent;
    }
    if (source.format() != tflite::DimensionType::SPARSE_CSR)
      reject_sparse("has format {} at level {}, expected 0 or 1", static_cast<int>(source.format()), number);
    level.segments = numbers_in(source.array_segments_type(), source.array_segments());
    level.indices = numbers_in(source.array_indices_type(), source.array_indices());
    const auto indices = static_cast<std::int64_t>(level.indices.size());
    if (static_cast<std::int64_t>(level.segments.size()) != above + 1)
      reject_sparse("has {} segments at level {}, expected {}", level.segments.size(), number, above + 1);
    if (level.segments.front() != 0 || level.segments.back() != indices ||
        !std::ranges::is_sorted(level.segments))
      reject_sparse("has segments at level {} that do not ascend from 0 to its {} indices", number, indices);
    for (std::size_t part = 0; part + 1 < level.segments.size(); ++part) {
      std::int64_t least = 0;
      for (std::int64_t i = level.segments[part]; i < level.segments[part + 1]; ++i) {
        const std::int64_t index = level.indices[static_cast<std::size_t>(i)];
        if (index < least || index >= level.extent)
          reject_sparse("has index {} at level {}, expected ascending ones below {}", index, number,
                        level.extent);
        least = index + 1;
      }
    }
    return indices;
  }

  void write(std::size_t l, std::int64_t node, std::int64_t place, std::size_t element, std::byte* to,
             const char*& next) const {
    if (l == levels_.size()) {
      std::memcpy(to + static_cast<std::size_t>(place) * element, next, element);
      next += element;
      return;
    }
    const Level& level = levels_[l];
    if (level.is_dense) {
      for (std::int64_t i = 0; i < level.extent; ++i)
        write(l + 1, node * level.extent + i, place + i * level.stride, element, to, next);
      return;
    }
    const auto part = static_cast<std::size_t>(node);
    for (std::int64_t i = level.segments[part]; i < level.segments[part + 1]; ++i)
      write(l + 1, i, place + level.indices[static_cast<std::size_t>(i)] * level.stride, element, to, next);
  }

  const tflite::SparsityParameters& source_;
  const Shape& shape_;
  ReadingBudget& budget_;
  std::vector<Level> levels_{};
};

}  // namespace

std::vector<std::byte> expanded(const tflite::SparsityParameters& sparsity, std::string_view stored,
                                const Tensor& tensor, ReadingBudget& budget) {
  constexpr int bits_of_a_byte = 8;
  const int bits = bits_of(tensor.dtype).value_or(0);
  if (bits == 0 || bits % bits_of_a_byte != 0)
    reject_sparse("of type {}, expected one of whole bytes", name_of(tensor.dtype));
  const auto element = static_cast<std::size_t>(bits / bits_of_a_byte);
  std::vector<std::byte> dense(static_cast<std::size_t>(tensor.bytes));
  if (dense.empty()) return dense;
  Expansion expansion(sparsity, tensor.shape.value(), budget);
  const std::int64_t elements = expansion.read();
  if (stored.size() != static_cast<std::size_t>(elements) * element)
    reject_sparse("has {} bytes of data, expected {} elements of {}", stored.size(), elements, element);
  expansion.write(stored, element, dense.data());
  return dense;
}

}  // namespace stowage::import
