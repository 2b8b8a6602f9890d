#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "stream/lists.h"
#include "stream/program.h"
#include "stream/walk.h"

namespace stowage::stream {

/// The steps of a region after all operators before it; none if there is no order. Those of a region with a later
/// begin are the same, without the steps of the operators in front of it.
using RegionSteps = std::function<std::vector<IterationId>(const Region&)>;

/// The peaks of all regions that end with one operator, from the shortest to the longest; see region_peaks.cc.
class RegionPeaks {
 public:
  explicit RegionPeaks(const RowProgram& program);

  /// Begins with an empty region before operator `end`.
  void start(std::size_t end);

  /// Gives the steps of a longer region, for the regions up to it that come next.
  void set_steps(std::vector<IterationId> steps);

  /// Makes the region longer by the operator in front of it. Its steps must have been given.
  void add_operator();

  /// The first operator of the region.
  [[nodiscard]] std::size_t begin() const { return begin_; }

  /// Most live bytes of a step of the region, beyond those that are live before it.
  [[nodiscard]] Bytes peak() const { return most_[1]; }

  /// Live bytes that a step of every longer region with this end needs at least, beyond `resident_behind`.
  [[nodiscard]] Bytes least_of_longer();

  /// Bytes that are there from the start and that operators from `end` on need.
  [[nodiscard]] Bytes resident_behind(std::size_t end) const { return resident_behind_[end]; }

  /// Steps that were looked at so far.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  using Place = std::int32_t;  ///< Of a step in the region.

  /// A granule that comes or goes at a step.
  struct Change {
    GranuleId granule = 0;
    std::uint32_t written_before = 0;  ///< The operator behind its writer; 0 if none writes it.
    std::uint32_t last_reader = 0;     ///< Beyond all operators if it stays.
    Bytes bytes = 0;
  };

  [[nodiscard]] Change change_of(GranuleId g) const;
  void release(const Change& granule, Place at);
  void set_leaf(Place at);
  void fill_tree();
  void note_changes();

  const RowProgram& program_;
  // Of each iteration:
  Lists<Change> first_reads_{};  ///< Granules that no earlier one of its operator reads.
  Lists<Change> releases_{};     ///< Granules that no later one of its operator reads.
  std::vector<std::uint32_t> operators_{};
  std::vector<Bytes> written_{};
  std::vector<Bytes> dropped_{};
  std::vector<Place> places_;  ///< In `steps_`.

  std::vector<Bytes> resident_behind_;  ///< Resident bytes that operators from each one on need.
  std::size_t end_ = 0;
  std::size_t begin_ = 0;
  std::vector<IterationId> steps_{};
  std::vector<Place>
      last_reads_;  ///< Of each granule: in the region; -1 if not there, or if a later one reads it.
  std::vector<std::int64_t> seen_;  ///< Of each granule: the last look that saw it.
  std::vector<Bytes> released_{};   ///< After each step of the region.
  // A tree over the steps; the leaves begin at `leaves_`.
  std::size_t leaves_ = 1;
  std::vector<Bytes> sum_{};            ///< By how much live bytes change.
  std::vector<Bytes> most_{};           ///< The most live bytes of a step, beyond those before the first.
  std::vector<std::size_t> changed_{};  ///< Leaves.
  std::int64_t looks_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace stowage::stream
