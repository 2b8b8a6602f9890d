/// Example: three buffers, two of which can share.
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

#include "stowage/graph.h"
#include "stowage/units.h"

namespace stowage {

/// Half-open: alive at `lower`, no longer at `upper`.
struct Lifetime {
  Position lower = 0;
  Position upper = 0;

  bool operator==(const Lifetime&) const = default;
};

/// Bytes [offset, offset + size) of a buffer are needed during `life`. Only bytes of live pieces
/// are reserved: a gap in a life, or a part that is filled late, is free for others.
struct Piece {
  Bytes offset = 0;
  Bytes size = 0;
  Lifetime life{};

  bool operator==(const Piece&) const = default;
  /// Without bytes, or without a position at which they are needed, a piece reserves nothing.
  [[nodiscard]] bool is_ever_alive() const { return size > 0 && life.lower < life.upper; }
};

/// What gets an address. A plain tensor has one piece that is all of it.
struct Buffer {
  std::string id{};                         ///< Unique in a Problem.
  std::size_t clock = 0;                    ///< The clock its lifetimes count on.
  Bytes size = 0;                           ///< As planned: for models the tensor's bytes, rounded up.
  Bytes alignment = 1;                      ///< Its address is a multiple of this.
  std::vector<Piece> pieces{};              ///< None: never alive.
  std::optional<Bytes> pinned{};            ///< The offset it must have.
  std::vector<std::size_t> memories{};      ///< Where it may live; empty: anywhere.
  TensorKind kind = TensorKind::temporary;  ///< Lists do not say: all of theirs are temporary.
  Bytes traffic = 0;                        ///< Bytes that steps read from and write to it, in all.

  bool operator==(const Buffer&) const = default;
};

/// What a memory is for: working memory of the steps, or weights and instructions.
enum class MemoryRole : std::uint8_t { working, weights };

struct Memory {
  std::string name{};
  std::optional<Bytes> capacity{};  ///< None: unbounded.
  Bytes alignment = 1;              ///< Its first address is a multiple of this.
  std::int64_t cost = 1;            ///< Per byte read or written.
  MemoryRole role = MemoryRole::working;

  bool operator==(const Memory&) const = default;
};

/// Buffers of one clock, and the memories (fastest first) they are to be placed in.
struct Problem {
  std::vector<Buffer> buffers{};
  std::vector<Memory> memories{};

  bool operator==(const Problem&) const = default;
};

struct Place {
  std::size_t memory = 0;
  Bytes offset = 0;

  bool operator==(const Place&) const = default;
};

/// A pool of equal slots: slot i is the bytes from offset + i * size on, up to offset + (i + 1) * size. While
/// the pool is there its bytes are nobody else's, and a slot is held by one buffer at a time.
struct SlotPool {
  std::size_t clock = 0;  ///< The clock its life and the lives of its buffers count on.
  Place place{};          ///< Of slot 0.
  Bytes size = 0;         ///< Of a slot.
  std::int64_t count = 0;
  Lifetime life{};

  bool operator==(const SlotPool&) const = default;
  [[nodiscard]] Bytes end() const { return place.offset + size * count; }
};

enum class Outcome : std::uint8_t { fits, exceeds_capacity };

struct Solution {
  std::vector<Place> places{};      ///< One per buffer.
  std::optional<SlotPool> slots{};  ///< Of strategy `slots`: where its pool is.
  Outcome outcome = Outcome::fits;
  Bytes lower_bound = 0;  ///< No placing has a smaller peak; of several memories, no smaller sum of
                          ///< peaks when each keeps the buffers it has here.
  /// Of one memory: positions that prove the bound, see PlannedMemory::certificate. Empty: loads do.
  std::vector<Position> certificate{};
  std::int64_t cost = 0;        ///< Of several memories: every buffer's traffic times its memory's cost.
  std::int64_t cost_bound = 0;  ///< Of several memories: no choice of memories has a smaller cost.
  std::string strategy{};       ///< Which strategy found it.
  bool interrupted = false;     ///< The user or the clock cut the search short.
};

/// Throws Error, naming the buffer, unless sizes, alignments, lifetimes and pins are in range,
/// ids are UTF-8 and unique, pieces lie in their buffers, and no two pinned buffers collide.
void validate(const Problem& problem);

/// Highest offset + size of a memory, the pool of slots with all of its bytes; 0 when it is empty.
[[nodiscard]] Bytes peak_of(const Problem& problem, const Solution& solution, std::size_t memory);

/// Most live bytes at any position, over all memories. Cost: pieces * log(pieces).
[[nodiscard]] Bytes max_load(std::span<const Buffer> buffers);

/// Called now and then with what is being done and how far it is, 0 to 1.
using Progress = std::function<void(std::string_view what, double fraction)>;

struct SolveOptions {
  /// A name from `strategies()`, or "auto": the best of them.
  std::string strategy = "auto";
  /// Once a plan exists, no further strategy starts or goes on after this time. Of a thousand buffers and
  /// more in one memory a quick plan is made beside whatever was chosen, and stands where there is no time
  /// for another. Default 3 s.
  std::chrono::duration<double> time_limit = std::chrono::seconds(3);
  /// Strategies and searches that run side by side; 0: as many as the machine has. Decides how far a search
  /// gets before its time is up, not which plan it comes to.
  std::size_t threads = 0;
  /// Where searches draw their random numbers from.
  std::uint64_t seed = 0;
  /// `free-list` only: a buffer of at most this many bytes never takes a block that was in use before.
  Bytes reuse_threshold = 0;
  /// `rectangle` only: how rectangles are sorted, for instance "size*duration,-overlap"; see
  /// docs/rectangle.md. Empty: a portfolio of orders.
  std::string sort{};
  /// `rectangle` only: rounds of tuning, the third of its goals. None: its own choice.
  std::optional<std::int64_t> rounds{};
  /// Asks to stop early: the best plan so far is returned.
  std::stop_token stop{};
  Progress progress{};
};

/// Places every buffer. Of equally good strategies `auto` keeps the first one tried. Throws Error for
/// an invalid problem, UsageError for an unknown strategy or one that does not apply to the problem.
[[nodiscard]] Solution solve(const Problem& problem, const SolveOptions& options = {});

struct StrategyInfo {
  std::string_view name{};
  std::string_view summary{};
  std::string_view source{};  ///< Paper or document it comes from.
};

/// Every strategy there is, `auto` first.
[[nodiscard]] std::vector<StrategyInfo> strategies();

/// Why a strategy cannot serve a problem, in words; none if it can. Throws UsageError for an
/// unknown strategy.
[[nodiscard]] std::optional<std::string> obstacle_to(std::string_view strategy, const Problem& problem);

}  // namespace stowage
