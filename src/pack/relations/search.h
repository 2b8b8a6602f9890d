#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "pack/random.h"
#include "pack/relations/arena.h"
#include "pack/relations/scan.h"

namespace stowage::pack::relations {

/// What sharing a cell with a hard neighbour counts: more than all costs of a problem, which are at most 2^40, and little
/// enough that two million of them can be added.
inline constexpr std::int64_t forbidden = std::int64_t{1} << 42;

[[nodiscard]] inline std::int64_t weight_of(const Neighbour& it) { return it.is_hard ? forbidden : it.cost; }

/// A placing of a part.
struct Arrangement {
  Cells cells{};
  std::int64_t cost = 0;    ///< Of ranges, and neighbours that share cells.
  std::size_t missing = 0;  ///< Items without a place.

  [[nodiscard]] bool fits() const { return missing == 0; }
  /// A placing of more items is better, then one of less cost.
  [[nodiscard]] bool is_better_than(const Arrangement& other) const {
    return missing != other.missing ? missing < other.missing : cost < other.cost;
  }
};

/// Whether an item in a cell shares one with a neighbour, if that has a place.
[[nodiscard]] inline bool touches(const Part& part, std::size_t item, Cell cell, std::size_t other,
                                  const Cells& cells) {
  const Cell at = cells[other];
  return at != nowhere && at < cell + part.items[item].size && cell < at + part.items[other].size;
}

/// What an item costs where it is and with its neighbours, if none is in the way. 0 if it is nowhere.
[[nodiscard]] std::int64_t cost_of(const Part& part, std::size_t item, const Cells& cells);

/// The mean of what ranges cost, and neighbours that may share cells, at least 1.
[[nodiscard]] double mean_cost(const Part& part);

/// One after the other in the cheapest place, in three orders; see ruin.cc. The best of them.
[[nodiscard]] Arrangement construct(const Part& part, Scan& scan);

/// One after the other in the lowest place, whatever it costs, the largest first: where the cheapest places leave no room.
[[nodiscard]] Arrangement construct_without_costs(const Part& part, Scan& scan);

/// Items in these cells, as far as they may be there beside those before; each of the others in the cheapest place that is
/// left.
[[nodiscard]] Arrangement keep(const Part& part, Scan& scan, const Cells& cells);

/// Takes some items out and places them anew, again and again; see ruin.cc. Returns the best placing, at best that of no
/// cost above `goal`.
[[nodiscard]] Arrangement ruin_and_recreate(const Part& part, Scan& scan, Arrangement best, std::int64_t goal,
                                            Random& random, const base::Deadline& deadline);

/// Moves one item after the other to a place drawn by its cost, colder and colder; see heat_bath.cc. Returns the best
/// placing in which all items have room, or `best`.
[[nodiscard]] Arrangement heat_bath(const Part& part, Scan& scan, Arrangement best, std::int64_t goal,
                                    Random& random, const base::Deadline& deadline);

/// What a search for the least cost has shown.
struct Proof {
  std::int64_t bound = 0;      ///< No placing costs less.
  bool is_impossible = false;  ///< No placing has room for all items.
};

/// Searches all placings of a part of few items; see exact.cc. `best` becomes the best one.
[[nodiscard]] Proof search_all(const Part& part, Arrangement& best, const base::Deadline& deadline);

/// Items that cannot all be apart, and what each cell that they share is charged, in 1 / ReuseProof::parts.
struct Charge {
  std::vector<std::size_t> items{};
  std::int64_t per_cell = 0;
};

/// A cost that no placing is below, by items that cannot all be apart.
struct CliqueProof {
  std::int64_t bound = 0;
  std::vector<Charge> charges{};
};

/// See clique_bound.cc.
[[nodiscard]] CliqueProof clique_bound(const Part& part, const base::Deadline& deadline);

/// What is known of a part.
struct Solved {
  Arrangement best{};
  std::optional<std::int64_t> goal{};  ///< A placing of no more cost is enough.
  std::int64_t bound = 0;
  bool is_impossible = false;
  bool is_searched = false;       ///< A search of all placings has shown the bound;
  std::vector<Charge> charges{};  ///< or these.

  [[nodiscard]] std::int64_t enough() const { return std::max(goal.value_or(0), bound); }
  [[nodiscard]] bool is_done() const { return is_impossible || (best.fits() && best.cost <= enough()); }
  /// It is proven that no placing is as good as that.
  [[nodiscard]] bool is_out_of_reach() const { return is_impossible || (goal && bound > *goal); }
};

/// Most bytes that are live at once, without buffers that share some with others though both are live: no peak of one
/// memory is lower.
[[nodiscard]] Bytes least_load(const Problem& problem);

/// Solves each part. `start` is empty, or where buffers were; `goals` is empty, or a cost for each part that is enough.
[[nodiscard]] std::vector<Solved> solve_parts(const Problem& problem, const Arena& arena,
                                              std::span<const std::optional<Place>> start,
                                              std::span<const std::int64_t> goals, const Control& control);

/// Whether items have nothing but pairs that are apart, in one row of cells.
[[nodiscard]] bool is_only_apart(const Part& part);

/// Lowers the highest end of such items from a placing on, down to `enough` or a height that none is below; see heights.cc.
/// Returns the higher of the two.
[[nodiscard]] Cell lower_height(const Part& part, Cell enough, Cells& cells, const Control& control);

/// What is known of peaks after they were lowered.
struct Peaks {
  bool are_least = true;  ///< It is proven that none can be lower.
  Bytes bound = 0;        ///< With one memory: no peak is lower.
};

/// Lowers the peak of one memory after the other, the last one first, at no more cost for any part; see peaks.cc. The
/// places must fit, and each memory have a capacity.
[[nodiscard]] Peaks lower_peaks(const Problem& problem, std::span<const std::int64_t> costs,
                                std::vector<Place>& places, const Control& control);

/// Chooses how many copies buffers have; see copies.cc. `solve` solves a problem without copies.
[[nodiscard]] Solution choose_copies(const Problem& problem, const Control& control,
                                     const std::function<Solution(const Problem&, const Control&)>& solve);

}  // namespace stowage::pack::relations
