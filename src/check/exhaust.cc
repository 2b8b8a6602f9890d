// A few positions prove a bound above max load: the buffers that are live there do not fit below it,
// whatever lives elsewhere. The proof tries all ways to stack them. At each position the live pieces lie one
// above the other; which comes next, from the bottom?
//
//     position 1   position 2        b comes first at both, then c and a. Offsets can only rise: where b goes
//       [ ? ]        [ a ]           up at 2, it takes c and all that comes after it at 1 along.
//       [ c ]        [ b ]
//       [ b ]        +++++
//
// A state is abandoned if the remaining parts of a position, each from its lowest possible start, end above
// the height. When everything is stacked, the lowest offsets that the stacks allow are a placement. Every
// placement has one order at each position, so none is missed, whatever its pieces, alignments and pins.
// Identical buffers are stacked in the order of their numbers.
//
// Cost: exponential, but limited: a certificate that takes more than `most_work` proves nothing.

#include "check/exhaust.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checked.h"

namespace stowage::check {
namespace {

constexpr std::size_t most_positions = 64;
constexpr std::size_t most_parts = 2000;
constexpr std::int64_t most_work = 20'000'000;  ///< Visits of parts; some hundredths of a second.

/// Bytes [low, high) of a buffer, at one position.
struct BufferPart {
  std::size_t buffer = 0;
  Bytes low = 0;
  Bytes high = 0;

  auto operator<=>(const BufferPart&) const = default;
};

/// The parts [begin, end) of one position.
struct Pile {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct State {
  std::vector<Bytes> lowest;         ///< Of each buffer, the lowest offset still possible.
  std::vector<BufferPart> parts;     ///< Of all piles. In each, stacked parts come first, from the bottom.
  std::vector<std::size_t> stacked;  ///< Number of stacked parts in each pile.
};

/// The parts of a buffer at a position, from the bottom; overlapping pieces are merged.
std::vector<BufferPart> parts_of(const Buffer& buffer, std::size_t index, Position position) {
  std::vector<BufferPart> parts;
  for (const Piece& piece : buffer.pieces) {
    if (piece.size > 0 && piece.life.lower <= position && position < piece.life.upper)
      parts.push_back({index, piece.offset, piece.offset + piece.size});
  }
  std::sort(parts.begin(), parts.end());
  std::size_t count = 0;
  for (const BufferPart& part : parts) {
    if (count > 0 && part.low < parts[count - 1].high) {
      parts[count - 1].high = std::max(parts[count - 1].high, part.high);
    } else {
      parts[count++] = part;
    }
  }
  parts.resize(count);
  return parts;
}

class Search {
 public:
  Search(std::span<const Buffer> buffers, std::span<const Position> positions, Bytes height)
      : height_(height) {
    std::map<std::size_t, std::size_t> numbers;  // of buffers that are live at one of the positions
    for (const Position position : positions.first(std::min(positions.size(), most_positions + 1))) {
      const std::size_t begin = root_.parts.size();
      for (std::size_t b = 0; b < buffers.size() && root_.parts.size() <= most_parts; ++b) {
        for (BufferPart& part : parts_of(buffers[b], b, position)) {
          const auto [number, is_new] = numbers.try_emplace(b, buffers_.size());
          if (is_new) buffers_.push_back(&buffers[b]);
          part.buffer = number->second;
          root_.parts.push_back(part);
        }
      }
      piles_.push_back({begin, root_.parts.size()});
    }
    root_.stacked.assign(piles_.size(), 0);
    for (const Buffer* const buffer : buffers_) {
      const Bytes room = height - buffer->size;
      root_.lowest.push_back(buffer->pinned.value_or(0));
      highest_.push_back(std::min(buffer->pinned.value_or(room), room));
    }
    find_twins();
  }

  Verdict run() {
    const bool is_huge = std::any_of(buffers_.begin(), buffers_.end(),
                                     [](const Buffer* it) { return it->alignment > largest_value; });
    if (is_huge || root_.parts.size() > most_parts || piles_.size() > most_positions)
      return Verdict::takes_too_long;
    return settle(root_) ? explore(root_) : Verdict::does_not_fit;
  }

 private:
  /// Unpinned buffers that are equal at all positions: their parts are stacked in the order of their numbers.
  void find_twins() {
    using Trait = std::tuple<std::size_t, Bytes, Bytes>;
    std::vector<std::vector<Trait>> traits(buffers_.size());
    for (std::size_t p = 0; p < piles_.size(); ++p) {
      for (std::size_t i = piles_[p].begin; i < piles_[p].end; ++i) {
        const BufferPart& part = root_.parts[i];
        traits[part.buffer].emplace_back(p, part.low, part.high);
      }
    }
    twins_.resize(buffers_.size());
    std::map<std::vector<Trait>, std::size_t> last;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b]->pinned) continue;
      traits[b].emplace_back(piles_.size(), buffers_[b]->size, buffers_[b]->alignment);
      const auto [it, is_new] = last.try_emplace(traits[b], b);
      if (!is_new) twins_[b] = std::exchange(it->second, b);
    }
  }

  /// Raises offsets as far as the stacks require; false if something does not fit.
  [[nodiscard]] bool settle(State& state) {
    for (bool rises = true; rises && work_ <= most_work;) {
      rises = false;
      for (std::size_t p = 0; p < piles_.size(); ++p) {
        Bytes top = 0;
        for (std::size_t i = piles_[p].begin; i < piles_[p].end; ++i) {
          const BufferPart& part = state.parts[i];
          Bytes& lowest = state.lowest[part.buffer];
          if (top - part.low > lowest) {
            lowest = base::align_up(top - part.low, buffers_[part.buffer]->alignment);
            rises = true;
          }
          if (lowest > highest_[part.buffer]) return false;
          if (i < piles_[p].begin + state.stacked[p]) top = lowest + part.high;
        }
      }
      work_ += std::ssize(state.parts);
    }
    for (std::size_t p = 0; p < piles_.size(); ++p) {
      if (!has_room(state, p)) return false;
    }
    return true;
  }

  /// True if the remaining parts of a pile may end below the height, each from its lowest possible start.
  [[nodiscard]] bool has_room(const State& state, std::size_t p) {
    begins_.clear();
    for (std::size_t i = piles_[p].begin + state.stacked[p]; i < piles_[p].end; ++i) {
      const BufferPart& part = state.parts[i];
      begins_.emplace_back(state.lowest[part.buffer] + part.low, part.high - part.low);
    }
    std::sort(begins_.rbegin(), begins_.rend());
    Bytes above = 0;
    for (const auto& [begin, size] : begins_) {
      above += size;
      if (begin + above > height_) return false;
    }
    return true;
  }

  /// True if a part may be the next of its pile: all others fit above it.
  [[nodiscard]] bool may_be_next(const State& state, std::size_t p, std::size_t next) {
    const BufferPart& part = state.parts[next];
    const Bytes top = state.lowest[part.buffer] + part.high;
    Bytes above = 0;
    for (std::size_t i = piles_[p].begin + state.stacked[p]; i < piles_[p].end; ++i) {
      ++work_;
      if (i == next) continue;
      const BufferPart& other = state.parts[i];
      if (top > highest_[other.buffer] + other.low) return false;
      if (part.buffer == other.buffer && other.low < part.low) return false;
      if (twins_[part.buffer] == other.buffer && other.low == part.low) return false;
      above += other.high - other.low;
    }
    return top + above <= height_;
  }

  /// Continues with the pile that has the fewest candidates.
  Verdict explore(const State& state) {
    std::optional<std::size_t> pile;
    std::vector<BufferPart> choices;
    for (std::size_t p = 0; p < piles_.size(); ++p) {
      if (piles_[p].begin + state.stacked[p] == piles_[p].end) continue;
      std::vector<BufferPart> found;
      for (std::size_t i = piles_[p].begin + state.stacked[p]; i < piles_[p].end; ++i) {
        if (may_be_next(state, p, i)) found.push_back(state.parts[i]);
      }
      if (pile && found.size() >= choices.size()) continue;
      pile = p;
      choices = std::move(found);
    }
    if (work_ > most_work) return Verdict::takes_too_long;
    if (!pile) return Verdict::fits;
    for (const BufferPart& choice : choices) {
      State next = state;
      const auto open =
          next.parts.begin() + static_cast<std::ptrdiff_t>(piles_[*pile].begin + state.stacked[*pile]);
      std::iter_swap(open, std::find(open, next.parts.end(), choice));
      ++next.stacked[*pile];
      const Verdict verdict = settle(next) ? explore(next) : Verdict::does_not_fit;
      if (verdict != Verdict::does_not_fit) return verdict;
    }
    return Verdict::does_not_fit;
  }

  const Bytes height_;
  std::vector<const Buffer*> buffers_;             ///< Live at one of the positions.
  std::vector<std::optional<std::size_t>> twins_;  ///< The last equal buffer before it.
  std::vector<Bytes> highest_;                     ///< Of each buffer, the highest offset still possible.
  std::vector<Pile> piles_;
  State root_;
  std::int64_t work_ = 0;
  std::vector<std::pair<Bytes, Bytes>> begins_;
};

}  // namespace

Verdict exhaust(std::span<const Buffer> buffers, std::span<const Position> positions, Bytes height) {
  return Search(buffers, positions, height).run();
}

}  // namespace stowage::check
