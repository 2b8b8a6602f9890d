/// Example: three buffers, of which two can share bytes.
///
///     using namespace stowage;
///     Problem problem;
///     problem.memories = {{.name = "arena"}};
///     problem.buffers = {{.id = "a", .size = 32, .pieces = {{0, 32, {0, 2}}}},
///                        {.id = "b", .size = 64, .pieces = {{0, 64, {1, 3}}}},
///                        {.id = "c", .size = 32, .pieces = {{0, 32, {2, 4}}}}};
///     const Solution solution = solve(problem, {.strategy = "greedy-by-size"});
///     return peak_of(problem, solution, 0) == 96 ? 0 : 1;
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/tensor_kind.h"
#include "stowage/units.h"

namespace stowage {

/// A live range, in positions of one clock. Half-open: live at `lower`, not at `upper`.
struct Lifetime {
  Position lower = 0;
  Position upper = 0;

  bool operator==(const Lifetime&) const = default;
};

/// Bytes [offset, offset + size) of a buffer are needed during `life`. Only bytes of live pieces are
/// reserved: other buffers may use a gap in a live range, or a part that is filled late.
struct Piece {
  Bytes offset = 0;
  Bytes size = 0;
  Lifetime life{};

  bool operator==(const Piece&) const = default;
  /// False if the piece has no bytes or no positions; then it reserves nothing.
  [[nodiscard]] bool is_ever_alive() const { return size > 0 && life.lower < life.upper; }
};

/// Bytes that get one offset. A plain tensor is one buffer with one piece.
struct Buffer {
  std::string id{};                         ///< Unique in a Problem.
  std::size_t clock = 0;                    ///< The clock of its live ranges.
  Bytes size = 0;                           ///< For models: the bytes of the tensor, rounded up.
  Bytes alignment = 1;                      ///< Its offset is a multiple of this, in bytes.
  std::vector<Piece> pieces{};              ///< Empty: never live.
  std::optional<Bytes> pinned{};            ///< The offset it must have.
  std::vector<std::size_t> memories{};      ///< Memories it may be in; empty: any.
  TensorKind kind = TensorKind::temporary;  ///< Buffers of lists are all temporary.
  Bytes traffic = 0;                        ///< Bytes that all steps together read and write.

  bool operator==(const Buffer&) const = default;
};

/// Two buffers of a Problem, by their numbers.
struct BufferPair {
  std::size_t first = 0;
  std::size_t second = 0;

  bool operator==(const BufferPair&) const = default;
};

/// A cost that counts if the two share a byte of a memory, at whatever times: for instance of a wait that this reuse
/// makes necessary.
struct ReuseCost {
  BufferPair pair{};
  std::int64_t cost = 1;

  bool operator==(const ReuseCost&) const = default;
};

/// The second buffer lies `distance` bytes behind the first, in the same memory.
struct Joint {
  std::size_t first = 0;
  std::size_t second = 0;
  Bytes distance = 0;

  bool operator==(const Joint&) const = default;
};

/// A buffer that may have several copies, so that one is filled while another is read. They lie one behind the other, each
/// aligned as the buffer, and live as long as it.
struct CopyGains {
  std::size_t buffer = 0;
  std::vector<std::int64_t> gains{};  ///< Of 2 copies, of 3 and so on, each beside one copy.

  bool operator==(const CopyGains&) const = default;
};

/// What buffers have to do with each other beyond their lives.
struct Relations {
  /// In one memory at a fixed distance, live at the same time or not. Buffers that are joined in this way take all bytes
  /// from the first of them to the last, whichever is live.
  std::vector<Joint> together{};
  std::vector<BufferPair> apart{};  ///< No common byte, whatever their lives.
  std::vector<BufferPair>
      exclusive{};  ///< Never live at the same time, though their lives overlap, as in branches.
  std::vector<ReuseCost> reuse_costs{};
  std::vector<CopyGains>
      copies{};  ///< At most one for a buffer, and none for one that lies together with another.

  bool operator==(const Relations&) const = default;
  [[nodiscard]] bool empty() const {
    return together.empty() && apart.empty() && exclusive.empty() && reuse_costs.empty() && copies.empty();
  }
};

/// Bytes from `begin` to before `end`.
struct ByteRange {
  Bytes begin = 0;
  Bytes end = 0;

  bool operator==(const ByteRange&) const = default;
};

/// What a memory is for: working memory of the steps, or weights and instructions.
enum class MemoryRole : std::uint8_t { working, weights };

struct Memory {
  std::string name{};
  std::optional<Bytes> capacity{};  ///< In bytes; none: unlimited.
  Bytes alignment = 1;              ///< Its first address is a multiple of this, in bytes.
  std::int64_t cost = 1;            ///< Cost of one byte read or written.
  Bytes granule = 1;                ///< Sizes and offsets of its buffers are multiples of this, in bytes.
  MemoryRole role = MemoryRole::working;
  std::vector<ByteRange> reserved{};  ///< Bytes that no buffer may have. Within the capacity, apart.

  bool operator==(const Memory&) const = default;
};

/// Buffers of one clock, and the memories to place them in, fastest first.
struct Problem {
  std::vector<Buffer> buffers{};
  std::vector<Memory> memories{};
  Relations relations{};

  bool operator==(const Problem&) const = default;
  /// Whether lives, alignments and pins do not say all: the problem has relations or reserved bytes.
  [[nodiscard]] bool is_related() const;
};

struct Place {
  std::size_t memory = 0;
  Bytes offset = 0;

  bool operator==(const Place&) const = default;
};

/// A pool of equal slots: slot i is the bytes [offset + i * size, offset + (i + 1) * size). While the pool
/// lives, only its slots use its bytes, and each slot holds one buffer at a time.
struct SlotPool {
  std::size_t clock = 0;  ///< The clock of its live range and of its buffers.
  Place place{};          ///< Of slot 0.
  Bytes size = 0;         ///< Of a slot.
  std::int64_t count = 0;
  Lifetime life{};

  bool operator==(const SlotPool&) const = default;
  [[nodiscard]] Bytes end() const { return place.offset + size * count; }
};

/// Why the tuning of `rectangle` ended. The first three are the goals of its document.
enum class TuningEnd : std::uint8_t {
  threshold,  ///< Nothing lies above the threshold.
  repeated,   ///< An order appeared for the second time, in whichever round.
  rounds,     ///< The set number of rounds.
  no_gain,    ///< Two rounds in a row gained nothing.
  stopped,    ///< The time or the effort was over, or the user stopped it.
};

[[nodiscard]] std::string_view name_of(TuningEnd end);
[[nodiscard]] std::optional<TuningEnd> tuning_end_named(std::string_view name);

/// How `rectangle` came to its placing. Round 0 is the sorted placing; each later one is a new order of all
/// rectangles. See docs/rectangle.md.
struct Tuning {
  std::string sort{};     ///< The order that round 0 sorts by, written as `SolveOptions::sort`.
  bool all_high = false;  ///< All rectangles counted as high from round 1 on.
  TuningEnd end = TuningEnd::stopped;
  std::int64_t round = 0;         ///< The last one: in which the goal was met.
  std::int64_t lowest_round = 0;  ///< The first one that placed as low as the result.
  /// Rectangles of each risk in round 0. Pinned buffers and those never live are not among them.
  std::int64_t high = 0;
  std::int64_t medium = 0;
  std::int64_t low = 0;
  std::int64_t none = 0;

  bool operator==(const Tuning&) const = default;
};

enum class Outcome : std::uint8_t { fits, exceeds_capacity };

/// What counts once all buffers fit. Costs are those of reuse and of memories, less the gains of copies.
enum class Objective : std::uint8_t {
  cost,            ///< Little cost, whatever the peaks within the capacities.
  cost_then_peak,  ///< Of placements of that cost, one of low peaks.
  peak_then_cost,  ///< Low peaks, and within these little cost.
};

/// Buffers that cost so much at least, with each other and by their memories, as a search of all their placements shows.
struct SearchedCost {
  std::vector<std::size_t> buffers{};
  std::int64_t cost = 0;

  bool operator==(const SearchedCost&) const = default;
};

/// Buffers that must be apart or cost something if they are not, each with each. What they need above the room is shared,
/// and a pair shares at most the smaller buffer. So each unit of bytes that is shared costs a charge, less what pairs are
/// charged above their cost.
struct ChargedClique {
  std::vector<std::size_t> buffers{};  ///< Of those that lie together, one.
  std::int64_t charge = 0;             ///< For each unit of ReuseProof, in 1 / ReuseProof::parts.

  bool operator==(const ChargedClique&) const = default;
};

/// Why no placement costs less than `Solution::reuse_cost_bound`, or none fits. It can be checked without a trust in the
/// search that found it. No pair of buffers is in two of `searched`, or in one of these and a clique, and no buffer with a
/// cost of memories is in two of `searched`.
struct ReuseProof {
  static constexpr std::int64_t parts = std::int64_t{1} << 20;

  std::vector<SearchedCost> searched{};
  std::vector<ChargedClique> cliques{};
  Bytes unit = 1;                       ///< In which cliques count bytes.
  std::vector<std::size_t> too_many{};  ///< These buffers alone do not fit, as a search shows.

  bool operator==(const ReuseProof&) const = default;
  [[nodiscard]] bool empty() const { return searched.empty() && cliques.empty() && too_many.empty(); }
};

/// Buffers that must be in one memory, and need more than it has at a position.
struct Overload {
  std::size_t memory = 0;
  Position position = 0;
  Bytes needed = 0;
  Bytes room = 0;  ///< Capacity without reserved bytes.

  bool operator==(const Overload&) const = default;
};

struct Solution {
  std::vector<Place> places{};      ///< One per buffer.
  std::optional<SlotPool> slots{};  ///< Strategy `slots` only: its pool.
  std::optional<Tuning> tuning{};   ///< Strategy `rectangle` only: what tuning came to.
  Outcome outcome = Outcome::fits;
  Bytes lower_bound = 0;  ///< No placement has a lower peak. With several memories: no lower sum of peaks if
                          ///< each memory keeps its buffers.
  /// One memory only: positions that prove the bound, see PlannedMemory::certificate. Empty: max load does.
  std::vector<Position> certificate{};
  std::int64_t cost = 0;               ///< Several memories: sum of traffic times cost of the memory.
  std::int64_t cost_bound = 0;         ///< Several memories: no choice of memories has a lower cost.
  std::int64_t reuse_cost = 0;         ///< Of the pairs in Relations::reuse_costs that share a byte.
  std::int64_t memory_cost = 0;        ///< The sum of `extra_cost`, if all fits.
  std::int64_t reuse_cost_bound = 0;   ///< No placement that fits has a lower `counted_cost`.
  std::vector<std::int64_t> copies{};  ///< Of each buffer, if some may have several: how many it has.
  std::int64_t gain = 0;               ///< Of these copies; the cost counts less by it.
  bool is_least_peak = false;          ///< As `Objective` counts, it is proven that no peak is lower.
  ReuseProof reuse_proof{};
  bool cannot_fit = false;  ///< It is proven that no placement fits, by a search or by:
  std::optional<Overload> overload{};
  std::string strategy{};    ///< The strategy that found it.
  bool interrupted = false;  ///< The search was cancelled or hit the time limit.
};

/// Throws Error, naming the buffer, unless all of these hold: sizes, alignments, live ranges and pins are in
/// range; ids are UTF-8 and unique; pieces lie within their buffers; no two pinned buffers that may be in one
/// memory overlap.
void validate(const Problem& problem);

/// The bytes of so many copies of a buffer.
[[nodiscard]] Bytes size_of_copies(const Buffer& buffer, std::int64_t copies);

/// Highest offset + size in a memory, in bytes; the pool of slots counts whole. 0 if the memory is empty.
[[nodiscard]] Bytes peak_of(const Problem& problem, const Solution& solution, std::size_t memory);

/// What the traffic of a buffer costs in a memory more than in the cheapest one that it may be in; 0 without bytes.
[[nodiscard]] std::int64_t extra_cost(const Problem& problem, std::size_t buffer, std::size_t memory);

/// What objectives count.
[[nodiscard]] inline std::int64_t counted_cost(const Solution& solution) {
  return solution.reuse_cost + solution.memory_cost - solution.gain;
}

/// Most live bytes at any position, in all memories together. Cost: pieces * log(pieces).
[[nodiscard]] Bytes max_load(std::span<const Buffer> buffers);

/// Called from time to time with the present task and its progress, 0 to 1.
using Progress = std::function<void(std::string_view what, double fraction)>;

struct SolveOptions {
  /// A name from `strategies()`. "auto" takes the best of those that it runs.
  std::string strategy = "auto";
  /// Search budget. Once a plan exists, no strategy starts or continues after this time. With 1000 or more
  /// buffers, a fast fallback plan is made first and is returned if time runs out. It is always finished: it
  /// takes about a microsecond of one processor for each buffer. Default 3 s.
  std::chrono::duration<double> time_limit = std::chrono::seconds(3);
  /// Search budget in work instead of time: the plan is the same on every machine, busy or not. 1000 is about
  /// what one processor does in a second. The first plan is finished whatever the effort. The time limit does
  /// not apply then. None: the time limit.
  std::optional<std::int64_t> effort{};
  /// Strategies and searches that run at the same time; 0: one for each processor. The number decides how far
  /// a search gets within its time, not which plan it finds.
  std::size_t threads = 0;
  /// Seed of the random numbers of searches. Default 0.
  std::uint64_t seed = 0;
  /// `free-list` only: a buffer of at most this many bytes never reuses a freed block. Default 0.
  Bytes reuse_threshold = 0;
  /// `rectangle` only: sort keys, for instance "size*duration,-overlap"; see docs/rectangle.md. Empty: eight
  /// built-in orders.
  std::string sort{};
  /// `rectangle` only: most rounds of tuning. None: until two rounds in a row improve nothing.
  std::optional<std::int64_t> rounds{};
  /// What counts in a problem with relations or reserved bytes.
  Objective objective = Objective::cost;
  /// Places of an earlier solution, one for each buffer, or none. Those that are still legal are kept, if the search finds
  /// nothing better. Without effort or time nothing else moves.
  std::vector<std::optional<Place>> start{};
  /// Cancels the search; the best plan so far is returned.
  std::stop_token stop{};
  Progress progress{};
};

/// Places every buffer. Of equally good strategies `auto` keeps the first. A problem with relations or reserved bytes is
/// one for `auto`: it fits the buffers into the memories, then looks for the least cost of reuse. Throws Error for an
/// invalid problem, and UsageError for a strategy that is unknown or does not apply to the problem.
[[nodiscard]] Solution solve(const Problem& problem, const SolveOptions& options = {});

/// What is wrong with the places and claims of a solution, in words; empty: nothing. Of one that does not fit, only the
/// proof of it is checked. The problem must be valid, and each buffer one piece of bytes. Cost: the square of the number of
/// buffers.
[[nodiscard]] std::vector<std::string> faults_of(const Problem& problem, const Solution& solution);

/// What a proof shows: no placement that fits has a lower reuse cost. It is checked by the problem alone; none if it proves
/// nothing, or takes more than so many steps.
[[nodiscard]] std::optional<std::int64_t> proven_cost(const Problem& problem, const ReuseProof& proof,
                                                      std::int64_t steps = 10'000'000);

/// Whether a proof shows in so many steps that no placement fits.
[[nodiscard]] bool is_proof_of_no_fit(const Problem& problem, const ReuseProof& proof,
                                      std::int64_t steps = 10'000'000);

struct StrategyInfo {
  std::string_view name{};
  std::string_view summary{};
  std::string_view source{};  ///< The paper or document that it comes from.
  bool is_in_auto = true;  ///< Whether `auto` runs it on some problems. The others run by their name alone.
};

/// All strategies: `auto`, then those that it runs, then the others.
[[nodiscard]] std::vector<StrategyInfo> strategies();

/// Why a strategy does not apply to a problem, in words; none if it applies. Throws UsageError for an unknown
/// strategy.
[[nodiscard]] std::optional<std::string> obstacle_to(std::string_view strategy, const Problem& problem);

}  // namespace stowage
