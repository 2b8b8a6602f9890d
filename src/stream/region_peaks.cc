// The rows of a region are pulled from its last operator. A longer region with the same end has the same
// steps, with those of more operators between them:
//
//     [4, 6)         4   4 5   4 5   4 5
//     [3, 6)     3 3 4 3 4 5 3 4 5   4 5
//
// So live bytes of the longer region follow from those of the shorter one. A step adds what it writes. A granule
// goes after its last reading in the region, unless a later operator reads it. With an operator more, its steps
// come in, and some granules that it reads go later than before:
//
//     step         3    3    4    3    4    5  ..
//     adds         w3   w3   w4   w3   w4   w5
//     takes away   r    .    r3   ..
//     live         before the region + all changes up to the step
//
// A tree over the steps holds sums of these changes, and the most of all sums from the left. Each new step
// changes a leaf and the nodes above it.
//
// A region may also become too long. A tensor is there at least from its first reading to its last, whoever writes
// it. Longer regions only add to that. If these bytes alone reach the best peak, no longer region is better.
//
// Cost: log s for each iteration and each granule that it reads last, for s steps of the longest region. To look
// whether it is too long: linear in the steps.

#include "stream/region_peaks.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace stowage::stream {
namespace {

constexpr Bytes no_step = std::numeric_limits<Bytes>::min() / 4;

}  // namespace

RegionPeaks::RegionPeaks(const RowProgram& program)
    : program_(program),
      places_(program.instances.size(), 0),
      resident_behind_(program.operators() + 1, 0),
      last_reads_(program.granules.size(), -1),
      seen_(program.granules.size(), 0) {
  std::vector<std::size_t> reader(program.granules.size(), program.operators());
  std::vector<Change> changes;
  for (const Iteration& instance : program.instances) {
    operators_.push_back(static_cast<std::uint32_t>(instance.op));
    written_.push_back(instance.bytes_written);
    dropped_.push_back(instance.bytes_dropped);
    changes.clear();
    for (const GranuleId g : instance.releases) changes.push_back(change_of(g));
    releases_.add(changes);
    changes.clear();
    for (const GranuleId g : instance.reads) {
      if (std::exchange(reader[g], instance.op) != instance.op) changes.push_back(change_of(g));
    }
    first_reads_.add(changes);
  }
  for (GranuleId g = 0; g < program.granules.size(); ++g) {
    const Granule& granule = program.granules[g];
    if (!granule.writer && (granule.stays || !granule.last_readers.empty()))
      resident_behind_[change_of(g).last_reader] += granule.bytes;
  }
  for (std::size_t op = program.operators(); op-- > 0;) resident_behind_[op] += resident_behind_[op + 1];
}

RegionPeaks::Change RegionPeaks::change_of(GranuleId g) const {
  const Granule& granule = program_.granules[g];
  const std::size_t before = granule.writer ? program_.instances[*granule.writer].op + 1 : 0;
  const std::size_t last = granule.stays ? program_.operators() : granule.last_readers.back().op;
  return {g, static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(last), granule.bytes};
}

void RegionPeaks::start(std::size_t end) {
  end_ = end;
  begin_ = end;
  steps_.clear();
}

void RegionPeaks::set_steps(std::vector<IterationId> steps) {
  steps_ = std::move(steps);
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    places_[steps_[at]] = static_cast<Place>(at);
    for (const Change& it : releases_[steps_[at]]) last_reads_[it.granule] = -1;
  }
  fill_tree();
  work_ += static_cast<std::int64_t>(steps_.size());
}

/// Notes that a step of the region is the last of its operator that reads the granule.
void RegionPeaks::release(const Change& granule, Place at) {
  if (granule.last_reader >= end_ || last_reads_[granule.granule] >= at) return;
  if (const Place before = std::exchange(last_reads_[granule.granule], at); before >= 0) {
    released_[static_cast<std::size_t>(before)] -= granule.bytes;
    set_leaf(before);
  }
  released_[static_cast<std::size_t>(at)] += granule.bytes;
}

void RegionPeaks::set_leaf(Place at) {
  const auto step = static_cast<std::size_t>(at);
  const Bytes written = written_[steps_[step]];
  sum_[leaves_ + step] = written - released_[step];
  most_[leaves_ + step] = written;
  changed_.push_back(leaves_ + step);
}

/// All operators of the region anew, in the present steps.
void RegionPeaks::fill_tree() {
  leaves_ = std::bit_ceil(std::max<std::size_t>(1, steps_.size()));
  sum_.assign(2 * leaves_, 0);
  most_.assign(2 * leaves_, no_step);
  released_.assign(steps_.size(), 0);
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    if (operators_[steps_[at]] < begin_) continue;
    released_[at] += dropped_[steps_[at]];
    for (const Change& it : releases_[steps_[at]]) release(it, static_cast<Place>(at));
  }
  changed_.clear();  // all leaves follow
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    if (operators_[steps_[at]] >= begin_) set_leaf(static_cast<Place>(at));
  }
  note_changes();
}

/// Brings the nodes above the changed leaves up to date.
void RegionPeaks::note_changes() {
  for (std::size_t width = leaves_; width > 1; width /= 2) {
    std::size_t kept = 0;
    for (const std::size_t node : changed_) {
      const std::size_t above = node / 2;
      if (kept > 0 && changed_[kept - 1] == above) continue;
      changed_[kept++] = above;
    }
    changed_.resize(kept);
    for (const std::size_t node : changed_) {
      sum_[node] = sum_[2 * node] + sum_[2 * node + 1];
      most_[node] = std::max(most_[2 * node], sum_[2 * node] + most_[2 * node + 1]);
    }
  }
  changed_.clear();
}

void RegionPeaks::add_operator() {
  const std::size_t op = --begin_;
  for (IterationId i = program_.first[op]; i < program_.first[op + 1]; ++i) {
    released_[static_cast<std::size_t>(places_[i])] += dropped_[i];
    for (const Change& it : releases_[i]) release(it, places_[i]);
  }
  for (IterationId i = program_.first[op]; i < program_.first[op + 1]; ++i) set_leaf(places_[i]);
  work_ += program_.count(op);
  note_changes();
}

Bytes RegionPeaks::least_of_longer() {
  ++looks_;
  Bytes live = 0;
  Bytes most = 0;
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    const IterationId i = steps_[at];
    if (operators_[i] < begin_) continue;
    for (const Change& it : first_reads_[i]) {
      const bool is_counted =
          it.written_before > begin_ || (it.written_before == 0 && it.last_reader >= end_);
      if (is_counted || std::exchange(seen_[it.granule], looks_) == looks_) continue;
      live += it.bytes;
    }
    live += written_[i];
    most = std::max(most, live);
    live -= released_[at];
  }
  work_ += static_cast<std::int64_t>(steps_.size());
  return most;
}

}  // namespace stowage::stream
