#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// A sum of times, or more, over many rectangles: 128 bits.
using Large = unsigned __int128;

/// A buffer as a rectangle: the length of its life by its size.
struct Rectangle {
  std::size_t buffer = 0;  ///< Its index in the problem.
  Lifetime life{};         ///< From the first byte needed to the last.
  Bytes size = 0;
  Large overlap = 0;  ///< Sum over all other rectangles of the time during which both are alive.
};

/// Buffers that are ever alive and not pinned, as rectangles, in the given order. The overlap counts
/// pinned ones too. Cost: n log n.
[[nodiscard]] std::vector<Rectangle> rectangles_of(std::span<const Buffer> buffers);

enum class SortKey : std::uint8_t { duration, size, overlap };
enum class Combination : std::uint8_t { sum, product, ratio };

/// One to three keys combined into one number.
struct SortTerm {
  std::vector<SortKey> keys{};
  Combination combination = Combination::sum;  ///< Irrelevant with one key.
  bool ascending = false;

  bool operator==(const SortTerm&) const = default;
};

/// Each term decides where those before it are equal.
using SortOrder = std::vector<SortTerm>;

/// Reads an order such as "size*duration,-overlap". Terms are separated by commas. A term is one key
/// (duration, size, overlap) or several joined by +, * or / (of two); a leading minus means ascending; three
/// keys in all at most. Throws UsageError, naming `--sort` and the text.
[[nodiscard]] SortOrder parse_sort_order(std::string_view text);

/// The text of an order, as it would be read.
[[nodiscard]] std::string text_of(const SortOrder& order);

/// Sorts exactly; ties stay in the given order.
void sort_rectangles(std::vector<Rectangle>& rectangles, const SortOrder& order);

}  // namespace stowage::pack
