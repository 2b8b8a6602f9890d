#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "pack/dive_kinds.h"
#include "pack/groups.h"
#include "pack/placing.h"
#include "pack/section_search.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Groups of items, and their tables, which refer to them.
class GroupedTables {
 public:
  /// If cancelled the tables are useless.
  GroupedTables(Groups groups, const Stop& stop) : groups_(std::move(groups)), tables_(groups_.model, stop) {}
  GroupedTables(const GroupedTables&) = delete;
  GroupedTables(GroupedTables&&) = delete;
  GroupedTables& operator=(const GroupedTables&) = delete;
  GroupedTables& operator=(GroupedTables&&) = delete;
  ~GroupedTables() = default;

  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] const Tables& tables() const { return tables_; }

 private:
  const Groups groups_;
  const Tables tables_;
};

/// Searches for the least height of a model, round by round: see least_height.cc. Keeps references.
class LeastHeight {
 public:
  /// Begins with a first fit, which is useless if cancelled, or with the placing that `control` knows, if that is
  /// lower. Tries nothing lower than `enough`.
  LeastHeight(const Tables& tables, Bytes enough, const Control& control);

  /// In units, by item.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  [[nodiscard]] Bytes height() const { return height_; }
  /// Nothing lower than this is possible or wanted.
  [[nodiscard]] Bytes low() const { return low_; }
  void ask_for_no_less_than(Bytes enough) { low_ = std::max(low_, enough); }

  /// Runs the next round, with more searches than the one before; false if none was left.
  bool advance();

 private:
  void keep(std::vector<Bytes> offsets);
  void make_groups();
  void halve(std::uint64_t searches);

  const Tables& tables_;
  DiveKinds kinds_{false, false};
  std::unique_ptr<GroupedTables> stacks_;  ///< None if every item has a life of its own.
  const Control& control_;
  Bytes low_;
  Bytes height_ = 0;
  std::vector<Bytes> offsets_;
  std::uint64_t asked_ = 0;  ///< Numbers of searches already used.
  std::int64_t work_ = 0;    ///< Of all searches so far, where work is counted,
  std::int64_t nodes_ = 0;   ///< and the nodes that they could have taken.
  std::int64_t round_ = 0;
};

}  // namespace stowage::pack
