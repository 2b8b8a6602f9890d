#include "brute_pack.h"

#include <algorithm>
#include <set>

namespace stowage::campaign {
namespace {

constexpr std::size_t most_items = 7;
constexpr std::int64_t most_work = 4'000'000;  // Pairs of pieces that are looked at.

bool meet(const Lifetime& a, const Lifetime& b) { return a.lower < b.upper && b.lower < a.upper; }

/// In a placing that nothing can sink in, every buffer lies on the ground or on a piece of another one: it is
/// enough to try these heights, buffer upon buffer.
class Search {
 public:
  explicit Search(std::span<const PackItem> items) : items_(items), at_(items.size()) {
    for (const PackItem& item : items) best_ += item.size + item.alignment;
    floor_ = load_of(items);
    for (const PackItem& item : items) floor_ = std::max(floor_, item.size);
  }

  std::optional<Bytes> run() {
    go(0, 0);
    if (work_ > most_work) return std::nullopt;
    return best_;
  }

 private:
  [[nodiscard]] bool fits(std::size_t item, Bytes offset) {
    for (std::size_t other = 0; other < items_.size(); ++other) {
      if (!at_[other]) continue;
      work_ += static_cast<std::int64_t>(items_[item].pieces.size() * items_[other].pieces.size());
      for (const Piece& a : items_[item].pieces)
        for (const Piece& b : items_[other].pieces)
          if (meet(a.life, b.life) && offset + a.offset < *at_[other] + b.offset + b.size &&
              *at_[other] + b.offset < offset + a.offset + a.size)
            return false;
    }
    return true;
  }

  [[nodiscard]] std::set<Bytes> heights(std::size_t item) const {
    std::set<Bytes> found{0};
    const Bytes alignment = items_[item].alignment;
    for (std::size_t other = 0; other < items_.size(); ++other) {
      if (!at_[other]) continue;
      for (const Piece& a : items_[item].pieces)
        for (const Piece& b : items_[other].pieces) {
          const Bytes height = *at_[other] + b.offset + b.size - a.offset;
          if (meet(a.life, b.life) && height > 0)
            found.insert((height + alignment - 1) / alignment * alignment);
        }
    }
    return found;
  }

  void go(std::size_t placed, Bytes peak) {
    if (work_ > most_work || peak >= best_ || best_ == floor_) return;
    if (placed == items_.size()) {
      best_ = peak;
      return;
    }
    for (std::size_t item = 0; item < items_.size(); ++item) {
      if (at_[item]) continue;
      for (const Bytes offset : heights(item)) {
        if (offset + items_[item].size >= best_) break;
        if (!fits(item, offset)) continue;
        at_[item] = offset;
        go(placed + 1, std::max(peak, offset + items_[item].size));
        at_[item].reset();
      }
    }
  }

  std::span<const PackItem> items_;
  std::vector<std::optional<Bytes>> at_;
  Bytes best_ = 1;
  Bytes floor_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace

Bytes load_of(std::span<const PackItem> items) {
  std::set<Position> starts;
  for (const PackItem& item : items)
    for (const Piece& piece : item.pieces) starts.insert(piece.life.lower);
  Bytes most = 0;
  for (const Position now : starts) {
    Bytes live = 0;
    for (const PackItem& item : items) {
      std::vector<bool> bytes(static_cast<std::size_t>(item.size));
      for (const Piece& piece : item.pieces)
        if (piece.life.lower <= now && now < piece.life.upper)
          std::fill_n(bytes.begin() + piece.offset, piece.size, true);
      live += std::count(bytes.begin(), bytes.end(), true);
    }
    most = std::max(most, live);
  }
  return most;
}

std::optional<Bytes> least_peak(std::span<const PackItem> items) {
  if (items.size() > most_items) return std::nullopt;
  return Search(items).run();
}

}  // namespace stowage::campaign
