// Branches of a fork run at the same time, so all of one is live with all of the others. A packer that knows one clock
// needs positions that say so. Each branch gets its positions, one branch behind the other, and each pair of branches
// gets positions where their pieces meet:
//
//     branch 1   a a b b        first  a a b b . . .   then  a a b b
//     branch 2   c c d          then   . . . . c c d         c d c d
//
// What runs at pauses is at each of them on the line.
//
// To meet all pieces of a branch, a few of its positions suffice: each piece is live at one of them. There all its
// pieces are as they are at that position, so no two meet that do not in the branch.
//
// Cost: for each pair of branches, the pieces of one times the positions of the other.

#include "plan/one_clock.h"

#include <algorithm>
#include <utility>

namespace stowage::plan {
namespace {

constexpr std::size_t most_pieces = 4'000'000;

/// When a piece is live.
struct LivePiece {
  std::size_t buffer = 0;
  std::size_t piece = 0;
  std::vector<Lifetime> lives{};  ///< Apart, in the order of time.
};

/// A clock and its branches, or some branches, along one line of positions.
struct Line {
  Position length = 0;
  std::vector<LivePiece> pieces{};
};

/// Positions in rising order, at which each piece is live at least once.
std::vector<Position> positions_of_all(const Line& line) {
  std::vector<const LivePiece*> by_end;
  for (const LivePiece& it : line.pieces) by_end.push_back(&it);
  std::ranges::stable_sort(by_end, {}, [](const LivePiece* it) { return it->lives[0].upper; });
  std::vector<Position> positions;
  for (const LivePiece* const it : by_end) {
    const bool is_met = std::ranges::any_of(it->lives, [&](const Lifetime& life) {
      const auto at = std::ranges::lower_bound(positions, life.lower);
      return at != positions.end() && *at < life.upper;
    });
    if (!is_met) positions.push_back(it->lives[0].upper - 1);
  }
  return positions;
}

/// The life, in numbers of these positions.
Lifetime among(const std::vector<Position>& positions, const Lifetime& life) {
  const auto number = [&](Position at) {
    return std::ranges::lower_bound(positions, at) - positions.begin();
  };
  return {number(life.lower), number(life.upper)};
}

class Joiner {
 public:
  Joiner(std::span<const Buffer> buffers, std::span<const Clock> clocks)
      : buffers_(buffers), clocks_(clocks), own_(clocks.size()) {
    for (std::size_t b = 0; b < buffers.size(); ++b) own_[buffers[b].clock].push_back(b);
  }

  std::optional<std::vector<Buffer>> joined() {
    const Line line = line_of(0);
    if (count_ > most_pieces) return std::nullopt;
    std::vector<Buffer> result(buffers_.begin(), buffers_.end());
    for (Buffer& buffer : result) {
      buffer.clock = 0;
      buffer.pieces.clear();
    }
    for (const LivePiece& it : line.pieces) {
      const Piece& piece = buffers_[it.buffer].pieces[it.piece];
      for (const Lifetime& life : it.lives)
        result[it.buffer].pieces.push_back({piece.offset, piece.size, life});
    }
    return result;
  }

 private:
  Line line_of(std::size_t clock) {
    std::vector<std::pair<Position, Position>>
        longer;  // forks, and how much longer they make the clock up to there
    Line line;
    Position extra = 0;
    const std::vector<Step>& steps = clocks_[clock].steps;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const auto* const fork = std::get_if<Fork>(&steps[at]);
      const auto* const pause = std::get_if<Pause>(&steps[at]);
      if (fork == nullptr && pause == nullptr) continue;
      Line branches = fork != nullptr ? branches_of(*fork) : line_of(pause->clock);
      move(std::move(branches.pieces), static_cast<Position>(at) + extra, line);
      extra += std::max<Position>(branches.length - 1, 0);
      longer.emplace_back(static_cast<Position>(at), extra);
    }
    const auto position = [&](Position at) {
      const auto behind = std::ranges::lower_bound(longer, at, {}, [](const auto& it) { return it.first; });
      return at + (behind == longer.begin() ? 0 : std::prev(behind)->second);
    };
    line.length = position(static_cast<Position>(steps.size()));
    for (const std::size_t b : own_[clock]) {
      for (std::size_t p = 0; p < buffers_[b].pieces.size(); ++p) {
        const Piece& piece = buffers_[b].pieces[p];
        if (!piece.is_ever_alive()) continue;
        const Lifetime life{position(piece.life.lower), position(piece.life.upper)};
        line.pieces.push_back({b, p, {life}});
        line.length = std::max(line.length, life.upper);
        ++count_;
      }
    }
    return line;
  }

  static void move(std::vector<LivePiece> pieces, Position by, Line& line) {
    for (LivePiece& it : pieces) {
      for (Lifetime& life : it.lives) life = {life.lower + by, life.upper + by};
      line.pieces.push_back(std::move(it));
    }
  }

  Line branches_of(const Fork& fork) {
    std::vector<Line> branches;
    for (const std::size_t clock : fork.clocks) branches.push_back(line_of(clock));
    Line all;
    std::vector<std::vector<LivePiece>> met;  // what each branch has on the line
    for (const Line& branch : branches) {
      Line behind;
      move(branch.pieces, all.length, behind);
      met.push_back(std::move(behind.pieces));
      all.length += branch.length;
    }
    std::vector<std::vector<Position>> positions;
    for (const Line& branch : branches) positions.push_back(positions_of_all(branch));
    for (std::size_t i = 0; i < branches.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool is_swapped =
            branches[i].pieces.size() * positions[j].size() < branches[j].pieces.size() * positions[i].size();
        const auto [slow, quick] = is_swapped ? std::pair(j, i) : std::pair(i, j);
        count_ += branches[quick].pieces.size() * positions[slow].size();
        if (count_ > most_pieces) return all;
        const auto rounds = static_cast<Position>(positions[slow].size());
        const auto round = static_cast<Position>(positions[quick].size());
        meet(branches[slow], positions[slow], all.length, round, 1, met[slow]);
        meet(branches[quick], positions[quick], all.length, 1, rounds, met[quick], round);
        all.length += rounds * round;
      }
    }
    for (std::vector<LivePiece>& pieces : met) std::ranges::move(pieces, std::back_inserter(all.pieces));
    return all;
  }

  /// Adds what is live at those positions, each of which is `width` long from `begin` on, `rounds` times.
  void meet(const Line& branch, const std::vector<Position>& positions, Position begin, Position width,
            Position rounds, std::vector<LivePiece>& met, Position round = 0) {
    for (std::size_t i = 0; i < branch.pieces.size(); ++i) {
      for (Position r = 0; r < rounds; ++r) {
        for (const Lifetime& life : branch.pieces[i].lives) {
          const Lifetime numbers = among(positions, life);
          if (numbers.lower == numbers.upper) continue;
          const Position from = begin + r * round;
          append({from + numbers.lower * width, from + numbers.upper * width}, met[i].lives);
        }
      }
    }
  }

  void append(const Lifetime& life, std::vector<Lifetime>& lives) {
    if (lives.back().upper == life.lower) {
      lives.back().upper = life.upper;
    } else {
      lives.push_back(life);
      ++count_;
    }
  }

  std::span<const Buffer> buffers_;
  std::span<const Clock> clocks_;
  std::vector<std::vector<std::size_t>> own_;  ///< Per clock, its buffers.
  std::size_t count_ = 0;                      ///< Pieces.
};

}  // namespace

std::optional<std::vector<Buffer>> on_one_clock(std::span<const Buffer> buffers,
                                                std::span<const Clock> clocks) {
  return Joiner(buffers, clocks).joined();
}

}  // namespace stowage::plan
