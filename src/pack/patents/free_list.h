#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pack/occupancy.h"
#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// A request to a memory: so many bytes (at least one), at a multiple of the alignment.
struct Request {
  Bytes size = 0;
  Bytes alignment = 1;
};

/// The free block that may grow, if it is at the frontier: the largest of the list, or any.
enum class Growing { largest, at_frontier };

/// One pass: with `largest` that of the document. See free_list.cc. If cancelled it places the rest in groups.
[[nodiscard]] Placing free_list_pass(const Problem& problem, Growing growing, const Control& control);

/// The free list and the frontier of one memory. Takes and releases blocks in the order of time; see
/// free_list.cc. Every `take` returns the block's address, or nothing if no such block exists; then nothing
/// has changed.
class FreeBlocks {
 public:
  /// Sets never-used bytes aside. Call before any block is taken; no two such blocks may overlap.
  void set_aside(Interval block);

  /// Takes a free block of exactly this size, whole.
  [[nodiscard]] std::optional<Bytes> take_equal(const Request& request);
  /// Takes the beginning of the largest free block; the rest stays free.
  [[nodiscard]] std::optional<Bytes> take_split(const Request& request);
  /// Takes the largest free block, or the one at the frontier, which is too small, and the missing bytes of
  /// never-used memory after it; neither reaches beyond `limit`.
  [[nodiscard]] std::optional<Bytes> take_extended(const Request& request, Bytes limit,
                                                   Growing growing = Growing::largest);
  /// Takes never-used memory alone, not beyond `limit`.
  [[nodiscard]] std::optional<Bytes> take_fresh(const Request& request, Bytes limit);

  /// Releases a block that was taken or set aside.
  void release(Interval block);

  /// From the smallest to the largest, equal ones by rising address.
  [[nodiscard]] std::vector<Interval> free_list() const;
  /// No byte from here on has been taken.
  [[nodiscard]] Bytes frontier() const { return frontier_; }

 private:
  /// A block in the order of the free list.
  using BySize = std::pair<Bytes, Bytes>;  // size, begin

  using ByAddress = std::map<Bytes, Bytes>;  // begin to end

  void add(Interval block);
  ByAddress::iterator remove(ByAddress::iterator block);
  Bytes take_from(Interval block, const Request& request);

  std::set<BySize> by_size_;
  ByAddress by_address_;              ///< The same blocks. No two touch.
  std::map<Bytes, Bytes> set_aside_;  ///< At or above the frontier: begin to end.
  Bytes frontier_ = 0;
};

}  // namespace stowage::pack
