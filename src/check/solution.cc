// Checks a solution by its problem alone, pair by pair: nothing of pack/ is asked.
//
// Cost: the square of the buffers of a memory.

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/text.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

class SolutionCheck {
 public:
  SolutionCheck(const Problem& problem, const Solution& solution) : problem_(problem), solution_(solution) {}

  std::vector<std::string> faults() {
    if (solution_.places.size() != problem_.buffers.size()) {
      fault("the solution has ", solution_.places.size(), " places for ", problem_.buffers.size(),
            " buffers");
      return std::move(faults_);
    }
    find_groups();
    if (solution_.overload) check_overload(*solution_.overload);
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

  /// Who lies together, and how large the largest of them is.
  void find_groups() {
    groups_.resize(problem_.buffers.size());
    std::iota(groups_.begin(), groups_.end(), std::size_t{0});
    for (bool changes = true; changes;) {
      changes = false;
      for (const BufferPair& pair : problem_.relations.together) {
        const std::size_t least = std::min(groups_[pair.first], groups_[pair.second]);
        changes = changes || groups_[pair.first] != least || groups_[pair.second] != least;
        groups_[pair.first] = groups_[pair.second] = least;
      }
    }
    sizes_.resize(problem_.buffers.size());
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b)
      sizes_[groups_[b]] = std::max(sizes_[groups_[b]], problem_.buffers[b].size);
  }
  [[nodiscard]] Bytes size(std::size_t b) const { return sizes_[groups_[b]]; }

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
    if (memory.capacity && place.offset + size(b) > *memory.capacity)
      fault(name(b), " ends at ", place.offset + size(b), " of ", *memory.capacity, " bytes");
    for (const ByteRange& range : memory.reserved) {
      if (size(b) > 0 && place.offset < range.end && range.begin < place.offset + size(b))
        fault(name(b), " is in reserved bytes ", range.begin, " to ", range.end);
    }
  }

  [[nodiscard]] bool share_bytes(std::size_t a, std::size_t b) const {
    const Place& first = solution_.places[a];
    const Place& second = solution_.places[b];
    return first.memory == second.memory && size(a) > 0 && size(b) > 0 &&
           first.offset < second.offset + size(b) && second.offset < first.offset + size(a);
  }

  [[nodiscard]] bool live_together(std::size_t a, std::size_t b) const {
    for (const Piece& first : problem_.buffers[a].pieces) {
      for (const Piece& second : problem_.buffers[b].pieces) {
        if (std::max(first.life.lower, second.life.lower) < std::min(first.life.upper, second.life.upper))
          return true;
      }
    }
    return false;
  }

  void check_pairs() {
    std::set<std::pair<std::size_t, std::size_t>> exclusive;
    for (const BufferPair& pair : problem_.relations.exclusive)
      exclusive.emplace(std::min(pair.first, pair.second), std::max(pair.first, pair.second));
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (groups_[a] != groups_[b] && share_bytes(a, b) && live_together(a, b) &&
            !exclusive.contains({a, b}))
          fault(name(a), " and ", name(b), " share bytes while both are live");
      }
    }
    for (const BufferPair& pair : problem_.relations.together) {
      if (!(solution_.places[pair.first] == solution_.places[pair.second]))
        fault(name(pair.first), " and ", name(pair.second), " do not lie together");
    }
    for (const BufferPair& pair : problem_.relations.apart) {
      if (share_bytes(pair.first, pair.second))
        fault(name(pair.first), " and ", name(pair.second), " share bytes, but are to be apart");
    }
  }

  void check_costs() {
    std::int64_t cost = 0;
    for (const ReuseCost& reuse : problem_.relations.reuse_costs) {
      if (groups_[reuse.pair.first] != groups_[reuse.pair.second] &&
          share_bytes(reuse.pair.first, reuse.pair.second))
        cost += reuse.cost;
    }
    if (cost != solution_.reuse_cost) fault("the cost of reuse is ", cost, ", not ", solution_.reuse_cost);
    if (solution_.reuse_cost_bound > cost)
      fault("the bound ", solution_.reuse_cost_bound, " is above the cost ", cost);
    if (solution_.cannot_fit) fault("it fits, and is said not to");
  }

  /// Whether all who lie together with a buffer may be in that memory alone.
  [[nodiscard]] bool must_be_in(std::size_t b, std::size_t memory) const {
    std::set<std::size_t> allowed;
    for (std::size_t m = 0; m < problem_.memories.size(); ++m) allowed.insert(m);
    for (std::size_t a = 0; a < problem_.buffers.size(); ++a) {
      const auto& memories = problem_.buffers[a].memories;
      if (groups_[a] != groups_[b] || memories.empty()) continue;
      std::erase_if(allowed, [&](std::size_t m) { return std::ranges::count(memories, m) == 0; });
    }
    return allowed == std::set<std::size_t>{memory};
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
      if (is_live && !excludes.contains(b) && counted.insert(groups_[b]).second) needed += size(b);
    }
    needed = std::max(needed, largest);
    if (needed < overload.needed || overload.needed <= overload.room || overload.room < room)
      fault("it is said that memory ", base::quoted(memory.name), " is too small, but ", needed,
            " bytes are live at ", overload.position, " and it has ", room);
  }

  const Problem& problem_;
  const Solution& solution_;
  std::vector<std::size_t> groups_;
  std::vector<Bytes> sizes_;  ///< By group.
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> faults_of(const Problem& problem, const Solution& solution) {
  return SolutionCheck(problem, solution).faults();
}

}  // namespace stowage
