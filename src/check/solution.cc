// Checks a solution by its problem alone, pair by pair: nothing of pack/ is asked.
//
// Cost: the square of the buffers of a memory.

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "check/reuse_proof.h"
#include "check/together.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

/// Of a proof that takes longer it is not known whether it is right.
constexpr std::int64_t steps_of_proof = 500'000;

class SolutionCheck {
 public:
  SolutionCheck(const Problem& problem, const Solution& solution) : problem_(problem), solution_(solution) {}

  std::vector<std::string> faults() {
    if (solution_.places.size() != problem_.buffers.size()) {
      fault("the solution has ", solution_.places.size(), " places for ", problem_.buffers.size(),
            " buffers");
      return std::move(faults_);
    }
    check_copies();
    if (!faults_.empty()) return std::move(faults_);
    together_ = check::together_of(problem_, solution_.copies);
    if (solution_.overload) check_overload(*solution_.overload);
    if (check::check_no_fit(problem_, solution_.reuse_proof, steps_of_proof).is_wrong)
      fault("it is said that some buffers do not fit, but they do");
    if (solution_.outcome != Outcome::fits) return std::move(faults_);  // places are only what it came to
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) check_place(b);
    if (!faults_.empty()) return std::move(faults_);
    check_pairs();
    check_costs();
    return std::move(faults_);
  }

 private:
  template <typename... Parts>
  void fault(const Parts&... parts) {
    faults_.push_back(base::concat(parts...));
  }

  [[nodiscard]] std::string name(std::size_t b) const {
    return "buffer " + base::quoted(problem_.buffers[b].id);
  }

  /// Of all that lie together with it.
  [[nodiscard]] Bytes size(std::size_t b) const { return together_.size[b]; }
  [[nodiscard]] Bytes begin(std::size_t b) const { return solution_.places[b].offset - together_.ahead[b]; }
  [[nodiscard]] Bytes end(std::size_t b) const { return begin(b) + size(b); }

  /// Sets the gain that the copies have.
  void check_copies() {
    if (solution_.copies.empty()) return;
    if (solution_.copies.size() != problem_.buffers.size()) {
      fault("the solution has copies of ", solution_.copies.size(), " buffers");
      return;
    }
    std::vector<const CopyGains*> gains(problem_.buffers.size());
    for (const CopyGains& it : problem_.relations.copies) gains[it.buffer] = &it;
    for (std::size_t b = 0; b < gains.size(); ++b) {
      const std::int64_t copies = solution_.copies[b];
      const std::size_t most = gains[b] == nullptr ? 1 : gains[b]->gains.size() + 1;
      if (copies < 1 || static_cast<std::size_t>(copies) > most)
        fault(name(b), " has ", copies, " copies, expected 1 to ", most);
      else if (copies > 1)
        gain_ += gains[b]->gains[static_cast<std::size_t>(copies) - 2];
    }
  }

  void check_place(std::size_t b) {
    const Buffer& buffer = problem_.buffers[b];
    const Place& place = solution_.places[b];
    if (place.memory >= problem_.memories.size() || place.offset < 0 || place.offset > largest_value) {
      fault(name(b), " has no place");
      return;
    }
    const Memory& memory = problem_.memories[place.memory];
    if (!buffer.memories.empty() && std::ranges::count(buffer.memories, place.memory) == 0)
      fault(name(b), " is in memory ", base::quoted(memory.name), ", where it may not be");
    if (place.offset % buffer.alignment != 0)
      fault(name(b), " is at ", place.offset, ", expected a multiple of ", buffer.alignment);
    if (buffer.pinned && place.offset != *buffer.pinned)
      fault(name(b), " is at ", place.offset, ", but pinned at ", *buffer.pinned);
    if (begin(b) < 0) fault(name(b), " lies together with bytes before the first of the memory");
    if (memory.capacity && end(b) > *memory.capacity)
      fault(name(b), " ends at ", end(b), " of ", *memory.capacity, " bytes");
    for (const ByteRange& range : memory.reserved) {
      if (size(b) > 0 && begin(b) < range.end && range.begin < end(b))
        fault(name(b), " is in reserved bytes ", range.begin, " to ", range.end);
    }
  }

  [[nodiscard]] bool share_bytes(std::size_t a, std::size_t b) const {
    return solution_.places[a].memory == solution_.places[b].memory && size(a) > 0 && size(b) > 0 &&
           begin(a) < end(b) && begin(b) < end(a);
  }

  void check_pairs() {
    std::set<std::pair<std::size_t, std::size_t>> exclusive;
    for (const BufferPair& pair : problem_.relations.exclusive)
      exclusive.emplace(std::min(pair.first, pair.second), std::max(pair.first, pair.second));
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (together_.group[a] != together_.group[b] && share_bytes(a, b) &&
            check::live_together(problem_, a, b) && !exclusive.contains({a, b}))
          fault(name(a), " and ", name(b), " share bytes while both are live");
      }
    }
    for (const Joint& joint : problem_.relations.together) {
      const Place& first = solution_.places[joint.first];
      const Place& second = solution_.places[joint.second];
      if (first.memory != second.memory || second.offset - first.offset != joint.distance)
        fault(name(joint.first), " and ", name(joint.second), " do not lie together");
    }
    for (const BufferPair& pair : problem_.relations.apart) {
      if (together_.group[pair.first] != together_.group[pair.second] && share_bytes(pair.first, pair.second))
        fault(name(pair.first), " and ", name(pair.second), " share bytes, but are to be apart");
    }
  }

  void check_costs() {
    std::int64_t cost = 0;
    for (const ReuseCost& reuse : problem_.relations.reuse_costs) {
      if (together_.group[reuse.pair.first] != together_.group[reuse.pair.second] &&
          share_bytes(reuse.pair.first, reuse.pair.second))
        cost += reuse.cost;
    }
    if (cost != solution_.reuse_cost) fault("the cost of reuse is ", cost, ", not ", solution_.reuse_cost);
    std::int64_t extra = 0;
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b)
      extra += extra_cost(problem_, b, solution_.places[b].memory);
    if (extra != solution_.memory_cost)
      fault("memories cost ", extra, " more than the cheapest, not ", solution_.memory_cost);
    if (solution_.gain != gain_) fault("the copies gain ", gain_, ", not ", solution_.gain);
    if (const std::int64_t all = cost + extra - gain_; solution_.reuse_cost_bound > all)
      fault("the bound ", solution_.reuse_cost_bound, " is above the cost ", all);
    if (solution_.cannot_fit) fault("it fits, and is said not to");
    if (check::check_cost(problem_, solution_.reuse_proof, steps_of_proof).is_wrong)
      fault("the proof of the least cost is wrong");
  }

  /// Whether all who lie together with a buffer may be in that memory alone.
  [[nodiscard]] bool must_be_in(std::size_t b, std::size_t memory) const {
    return check::memories_of(problem_, together_, b) == std::vector{memory};
  }

  /// One buffer that is too large; or those that are live at the position and exclude no other. Of those that lie
  /// together one counts.
  void check_overload(const Overload& overload) {
    std::set<std::size_t> excludes;
    for (const BufferPair& pair : problem_.relations.exclusive) excludes.insert({pair.first, pair.second});
    const Memory& memory = problem_.memories.at(overload.memory);
    Bytes room = memory.capacity.value_or(largest_value);
    for (const ByteRange& range : memory.reserved) room -= range.end - range.begin;
    std::set<std::size_t> counted;
    Bytes needed = 0;
    Bytes largest = 0;
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      if (!must_be_in(b, overload.memory)) continue;
      largest = std::max(largest, size(b));
      const bool is_live = std::ranges::any_of(problem_.buffers[b].pieces, [&](const Piece& piece) {
        return piece.life.lower <= overload.position && overload.position < piece.life.upper;
      });
      if (is_live && !excludes.contains(b) && counted.insert(together_.group[b]).second) needed += size(b);
    }
    needed = std::max(needed, largest);
    if (needed < overload.needed || overload.needed <= overload.room || overload.room < room)
      fault("it is said that memory ", base::quoted(memory.name), " is too small, but ", needed,
            " bytes are live at ", overload.position, " and it has ", room);
  }

  const Problem& problem_;
  const Solution& solution_;
  check::Together together_;
  std::int64_t gain_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> faults_of(const Problem& problem, const Solution& solution) {
  return SolutionCheck(problem, solution).faults();
}

}  // namespace stowage
