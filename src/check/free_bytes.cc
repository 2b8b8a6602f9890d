// A sweep over time knows the free bytes, and since when each of them is free. A piece that begins takes some of them:
//
//   12 |   free 0 to 5  | piece |
//    4 |         piece          | free 7 to 9
//    0 +------------------------------------> time
//
// Cost: n log n in pieces.

#include "check/free_bytes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "stowage/units.h"

namespace stowage::check {
namespace {

class FreeBytes {
 public:
  explicit FreeBytes(const Buffer& buffer) {
    if (buffer.size > 0) free_.emplace(0, Free{buffer.size, 0});
  }

  std::vector<base::Box> run(const std::vector<Piece>& pieces) {
    std::vector<std::pair<Position, const Piece*>> begins;
    std::vector<std::pair<Position, const Piece*>> ends;
    for (const Piece& piece : pieces) {
      if (!piece.is_ever_alive() || piece.life.lower >= largest_value) continue;
      begins.emplace_back(piece.life.lower, &piece);
      ends.emplace_back(piece.life.upper, &piece);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    auto end = ends.begin();
    const auto end_up_to = [&](Position at) {
      for (; end != ends.end() && end->first <= at; ++end)
        free_.emplace(end->second->offset, Free{end->second->offset + end->second->size, end->first});
    };
    for (const auto& [at, piece] : begins) {
      end_up_to(at);
      reserve(*piece, at);
    }
    end_up_to(largest_value);
    for (const auto& [begin, free] : free_) add(begin, free.end, free, largest_value);
    return std::move(boxes_);
  }

 private:
  struct Free {
    Bytes end = 0;
    Position since = 0;
  };

  void reserve(const Piece& piece, Position at) {
    const Bytes end = piece.offset + piece.size;
    auto it = free_.upper_bound(piece.offset);
    if (it != free_.begin()) --it;
    while (it != free_.end() && it->first < end) {
      const auto [begin, free] = *it;
      if (free.end <= piece.offset) {
        ++it;
        continue;
      }
      it = free_.erase(it);
      add(std::max(begin, piece.offset), std::min(free.end, end), free, at);
      if (begin < piece.offset) free_.emplace(begin, Free{piece.offset, free.since});
      if (free.end > end) free_.emplace(end, Free{free.end, free.since});
    }
  }

  void add(Bytes begin, Bytes end, const Free& free, Position until) {
    if (free.since < until) boxes_.push_back({{free.since, until}, begin, end, 0});
  }

  std::map<Bytes, Free> free_;  ///< By first byte.
  std::vector<base::Box> boxes_;
};

bool pieces_overlap(const Buffer& buffer) {
  std::vector<base::Box> boxes;
  for (const Piece& piece : buffer.pieces)
    boxes.push_back({piece.life, piece.offset, piece.offset + piece.size, boxes.size()});
  return base::find_overlap(boxes).has_value();
}

}  // namespace

std::vector<base::Box> free_bytes(const Buffer& buffer) {
  return pieces_overlap(buffer) ? std::vector<base::Box>() : FreeBytes(buffer).run(buffer.pieces);
}

}  // namespace stowage::check
