// An ejection step needs the placed items that one item meets, in the order of their offsets. The search keeps
// all placed items in that order, so a filter is enough, and nothing is sorted:
//
//     ordered   a b c d e f g      bits of the row, or two comparisons of lives,
//     met       a   c     f        say which stay
//
// A look costs about a nanosecond with the table and two with lives; to list and sort a neighbour costs 64. So it
// pays where an item meets a good part of all: one in 64 with the table, one in 32 with lives.
//
// Cost: one look at each placed item. Memory: a bit for each pair in the table, otherwise linear. Source: ours.

#include "pack/meetings.h"

#include <algorithm>

#include "pack/placing.h"

namespace stowage::pack {
namespace {

// Work, about, in the units of deadlines.
constexpr std::int64_t work_in_table = 1;       ///< To look an item up in the table.
constexpr std::int64_t work_with_lives = 2;     ///< To compare two lives.
constexpr std::int64_t work_of_neighbour = 64;  ///< To list and sort a neighbour instead.

bool is_whole(const Buffer& buffer) {
  if (life_of(buffer) == Lifetime{}) return true;  // meets nothing
  return buffer.pieces.size() == 1 && buffer.pieces[0].size == buffer.size && !buffer.pinned;
}

}  // namespace

std::optional<Meetings> Meetings::among(std::span<const Buffer> buffers, const Neighbours& neighbours,
                                        std::int64_t in_table) {
  if (!std::ranges::all_of(buffers, is_whole)) return std::nullopt;
  const auto count = std::ssize(buffers);
  const bool has_table = count <= in_table;
  Meetings meetings;
  meetings.work_of_look_ = has_table ? work_in_table : work_with_lives;
  const auto met = 2 * static_cast<std::int64_t>(neighbours.pairs()) / std::max<std::int64_t>(1, count);
  if (meetings.work_of_look_ * count > work_of_neighbour * met) return std::nullopt;
  if (!has_table) {
    for (const Buffer& buffer : buffers) meetings.lives_.push_back(life_of(buffer));
    return meetings;
  }
  meetings.reserve_table(buffers.size());
  for (std::size_t b = 0; b < buffers.size(); ++b)
    neighbours.for_each(b, [&](std::size_t other) { meetings.note(b, other); });
  return meetings;
}

std::optional<Meetings> Meetings::listed(std::span<const std::vector<std::uint32_t>> met) {
  const auto count = std::ssize(met);
  std::int64_t listed = 0;
  for (const auto& others : met) listed += std::ssize(others);
  if (count > most_in_table || work_in_table * count * count > work_of_neighbour * listed)
    return std::nullopt;
  Meetings meetings;
  meetings.work_of_look_ = work_in_table;
  meetings.reserve_table(met.size());
  for (std::size_t item = 0; item < met.size(); ++item)
    for (const std::uint32_t other : met[item]) meetings.note(item, other);
  return meetings;
}

void Meetings::reserve_table(std::size_t count) {
  words_ = (count + 63) / 64;
  bits_.assign(count * words_, 0);
}

std::size_t Meetings::filter(std::uint32_t item, std::span<const std::uint32_t> items,
                             std::uint32_t* met) const {
  std::size_t count = 0;
  if (lives_.empty()) {
    const std::uint64_t* const row = bits_.data() + item * words_;
    for (const std::uint32_t other : items) {
      met[count] = other;
      count += row[other / 64] >> other % 64 & 1U;
    }
    return count;
  }
  const Lifetime life = lives_[item];
  for (const std::uint32_t other : items) {
    met[count] = other;
    const Lifetime& its = lives_[other];
    count += static_cast<std::size_t>(static_cast<int>(life.lower < its.upper) &
                                      static_cast<int>(its.lower < life.upper));
  }
  return count;
}

}  // namespace stowage::pack
