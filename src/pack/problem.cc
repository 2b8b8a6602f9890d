#include "stowage/problem.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "base/names.h"
#include "base/overlap.h"
#include "base/text.h"
#include "pack/joints.h"
#include "pack/placing.h"
#include "stowage/error.h"

namespace stowage {
namespace {

constexpr std::array<base::Name<TuningEnd>, 5> tuning_ends{{{TuningEnd::threshold, "threshold"},
                                                            {TuningEnd::repeated, "repeated"},
                                                            {TuningEnd::rounds, "rounds"},
                                                            {TuningEnd::no_gain, "no_gain"},
                                                            {TuningEnd::stopped, "stopped"}}};

/// The sum of all costs leaves room for costs of what must not be.
constexpr std::int64_t largest_cost = std::int64_t{1} << 40;

std::string place_of(const Buffer& buffer) { return "buffer " + base::quoted(buffer.id); }

void check_range(const Buffer& buffer, std::string_view what, std::int64_t value, std::int64_t least) {
  if (value < least || value > largest_value) {
    throw Error(place_of(buffer),
                base::concat(what, " is ", value, ", expected ", least, " to ", largest_value));
  }
}

void check_buffer(const Buffer& buffer, std::size_t memories) {
  check_range(buffer, "size", buffer.size, 0);
  check_range(buffer, "alignment", buffer.alignment, 1);
  for (const Piece& piece : buffer.pieces) {
    check_range(buffer, "lower", piece.life.lower, 0);
    check_range(buffer, "upper", piece.life.upper, 0);
    if (piece.life.lower > piece.life.upper) {
      throw Error(place_of(buffer),
                  base::concat("lower ", piece.life.lower, " is above upper ", piece.life.upper));
    }
    if (piece.offset < 0 || piece.size < 0 || piece.offset > buffer.size ||
        piece.size > buffer.size - piece.offset) {
      throw Error(place_of(buffer), base::concat("piece of ", piece.size, " bytes at ", piece.offset,
                                                 " does not lie in its ", buffer.size, " bytes"));
    }
  }
  for (const std::size_t memory : buffer.memories) {
    if (memory >= memories) throw Error(place_of(buffer), base::concat("memory ", memory, " does not exist"));
  }
  if (!buffer.pinned) return;
  check_range(buffer, "pinned offset", *buffer.pinned, 0);
  if (*buffer.pinned % buffer.alignment != 0) {
    throw Error(place_of(buffer), base::concat("pinned offset ", *buffer.pinned,
                                               " is not a multiple of its alignment ", buffer.alignment));
  }
}

/// Sorts the ids by their hashes, so that of a million only a few are compared in full.
void check_ids(const Problem& problem) {
  struct Id {
    std::size_t hash;
    std::size_t buffer;
  };
  std::vector<Id> ids;
  ids.reserve(problem.buffers.size());
  for (std::size_t b = 0; b < problem.buffers.size(); ++b)
    ids.push_back({std::hash<std::string_view>()(problem.buffers[b].id), b});
  const auto id_of = [&](const Id& id) -> const std::string& { return problem.buffers[id.buffer].id; };
  std::sort(ids.begin(), ids.end(), [&](const Id& a, const Id& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int order = id_of(a).compare(id_of(b));
    return order != 0 ? order < 0 : a.buffer < b.buffer;
  });
  std::optional<std::size_t> first;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i].hash != ids[i - 1].hash || id_of(ids[i]) != id_of(ids[i - 1])) continue;
    first = std::min(first.value_or(ids[i].buffer), ids[i].buffer);
  }
  if (first) throw Error(place_of(problem.buffers[*first]), "its id is used twice, expected unique ids");
}

/// The sum of all sizes with their padding bounds every possible offset.
void check_total(const Problem& problem) {
  Bytes total = 0;
  for (const Buffer& buffer : problem.buffers) {
    for (const Bytes part : {buffer.size, buffer.alignment, buffer.pinned.value_or(0)}) {
      const auto sum = base::checked_add(total, part);
      if (!sum || *sum > largest_value) {
        throw Error(place_of(buffer),
                    base::concat("size ", buffer.size, " overflows the sum of sizes, expected at most ",
                                 largest_value, " in all"));
      }
      total = *sum;
    }
  }
}

void add_boxes(const Buffer& buffer, Bytes offset, std::size_t holder, std::vector<base::Box>& boxes) {
  for (const Piece& piece : buffer.pieces) {
    const Bytes begin = offset + piece.offset;
    boxes.push_back({piece.life, begin, begin + piece.size, holder});
  }
}

void check_pieces_apart(const Buffer& buffer) {
  if (buffer.pieces.size() < 2) return;
  std::vector<base::Box> boxes;
  add_boxes(buffer, 0, 0, boxes);
  if (const auto overlap = base::find_overlap(boxes)) {
    throw Error(place_of(buffer),
                base::concat("two of its pieces hold the same bytes at position ", overlap->at));
  }
}

/// Pins of buffers that may be in one memory.
void check_pins(const Problem& problem, std::size_t memory) {
  std::vector<base::Box> boxes;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    const bool may_be_there = buffer.memories.empty() || std::ranges::count(buffer.memories, memory) > 0;
    if (buffer.pinned && may_be_there) add_boxes(buffer, *buffer.pinned, b, boxes);
  }
  const auto overlap = base::find_overlap(boxes);
  if (!overlap) return;
  const Buffer& first = problem.buffers[boxes[overlap->first].holder];
  const Buffer& second = problem.buffers[boxes[overlap->second].holder];
  throw Error(place_of(second), base::concat("pinned at ", *second.pinned, " collides with ", place_of(first),
                                             " pinned at ", *first.pinned, " at position ", overlap->at));
}

void check_pair(const Problem& problem, const BufferPair& pair, std::string_view what) {
  for (const std::size_t b : {pair.first, pair.second}) {
    if (b >= problem.buffers.size())
      throw Error(std::string(what),
                  base::concat("buffer ", b, " does not exist, there are ", problem.buffers.size()));
  }
  if (pair.first == pair.second)
    throw Error(place_of(problem.buffers[pair.first]), base::concat("is paired with itself in ", what));
}

void check_reserved(const Memory& memory) {
  const std::string place = "memory " + base::quoted(memory.name);
  const Bytes end = memory.capacity.value_or(largest_value);
  std::vector<ByteRange> ranges = memory.reserved;
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  Bytes before = 0;
  for (const ByteRange& range : ranges) {
    if (range.begin < before || range.begin >= range.end || range.end > end) {
      throw Error(place, base::concat("reserves bytes ", range.begin, " to ", range.end,
                                      ", expected ranges apart from each other within ", end, " bytes"));
    }
    before = range.end;
  }
}

/// Buffers that lie together are one block; `blocks_of` says whether that can be. None that is to lie apart from another
/// shares bytes with it in one block.
void check_together(const Problem& problem) {
  Bytes sum = 0;
  for (const Joint& joint : problem.relations.together) {
    check_pair(problem, {joint.first, joint.second}, "together");
    const Bytes distance = std::clamp(joint.distance, -largest_value, largest_value);
    const auto with = base::checked_add(sum, distance < 0 ? -distance : distance);
    if (distance != joint.distance || !with || *with > largest_value)
      throw Error(place_of(problem.buffers[joint.first]),
                  base::concat("lies together at a distance of ", joint.distance, ", expected at most ",
                               largest_value, " bytes in all"));
    sum = *with;
  }
  std::vector<std::pair<std::size_t, Bytes>> places(problem.buffers.size());
  const std::vector<pack::Block> blocks = pack::blocks_of(problem);
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    for (std::size_t i = 0; i < blocks[n].buffers.size(); ++i)
      places[blocks[n].buffers[i]] = {n, blocks[n].offsets[i]};
  }
  for (const BufferPair& pair : problem.relations.apart) {
    const auto& [block, first] = places[pair.first];
    const auto& [other, second] = places[pair.second];
    if (block == other && first < second + problem.buffers[pair.second].size &&
        second < first + problem.buffers[pair.first].size) {
      throw Error(
          place_of(problem.buffers[pair.first]),
          base::concat("lies together with ", place_of(problem.buffers[pair.second]), ", and apart from it"));
    }
  }
}

/// Copies have gains that are no less than those of fewer, and sizes that can be counted.
void check_copies(const Problem& problem) {
  std::vector<bool> has_copies(problem.buffers.size());
  std::int64_t sum = 0;
  Bytes bytes = 0;
  for (const CopyGains& copies : problem.relations.copies) {
    if (copies.buffer >= problem.buffers.size())
      throw Error("copies", base::concat("buffer ", copies.buffer, " does not exist, there are ",
                                         problem.buffers.size()));
    const Buffer& buffer = problem.buffers[copies.buffer];
    if (has_copies[copies.buffer]) throw Error(place_of(buffer), "has gains of copies twice");
    has_copies[copies.buffer] = true;
    if (copies.gains.size() > 15) throw Error(place_of(buffer), "may have more than 16 copies");
    if (copies.gains.empty()) continue;
    if (!std::ranges::is_sorted(copies.gains) || copies.gains.front() < 0)
      throw Error(place_of(buffer), "gains less by more copies, expected gains from 0 that do not fall");
    const auto all = base::checked_add(sum, copies.gains.back());
    if (!all || *all > largest_cost)
      throw Error(place_of(buffer), base::concat("gains more than ", largest_cost, " in all"));
    sum = *all;
    for (std::size_t i = 0; i < copies.gains.size(); ++i) {
      bytes += buffer.size + buffer.alignment;  // of 16 times what check_total allows, at most
      if (bytes > largest_value) throw Error(place_of(buffer), "has copies of too many bytes");
    }
  }
  for (const Joint& joint : problem.relations.together) {
    for (const std::size_t b : {joint.first, joint.second}) {
      if (has_copies[b])
        throw Error(place_of(problem.buffers[b]), "has copies, but lies together with another");
    }
  }
}

void check_relations(const Problem& problem) {
  const Relations& relations = problem.relations;
  for (const BufferPair& pair : relations.apart) check_pair(problem, pair, "apart");
  for (const BufferPair& pair : relations.exclusive) check_pair(problem, pair, "exclusive");
  std::int64_t sum = 0;
  for (const ReuseCost& reuse : relations.reuse_costs) {
    check_pair(problem, reuse.pair, "reuse costs");
    const auto with = base::checked_add(sum, reuse.cost);
    if (reuse.cost < 0 || !with || *with > largest_cost) {
      throw Error(place_of(problem.buffers[reuse.pair.first]),
                  base::concat("cost of reuse is ", reuse.cost, ", expected at least 0, and at most ",
                               largest_cost, " in all"));
    }
    sum = *with;
  }
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    std::int64_t dearest = 0;
    for (std::size_t m = 0; m < problem.memories.size(); ++m)
      dearest = std::max(dearest, extra_cost(problem, b, m));
    sum += std::min(dearest, largest_cost + 1);
    if (sum > largest_cost)
      throw Error(place_of(problem.buffers[b]),
                  base::concat("traffic times costs of memories, and costs of reuse, are "
                               "more than ",
                               largest_cost, " in all"));
  }
  if (!relations.together.empty()) check_together(problem);
  if (!relations.copies.empty()) check_copies(problem);
}

/// Relations are between whole buffers.
void check_whole(const Problem& problem) {
  for (const Buffer& buffer : problem.buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (piece.is_ever_alive() && (piece.offset != 0 || piece.size != buffer.size))
        throw Error(place_of(buffer),
                    "has pieces, but in a problem with relations or reserved bytes all of it is live");
    }
  }
}

}  // namespace

bool Problem::is_related() const {
  return !relations.empty() ||
         std::ranges::any_of(memories, [](const Memory& memory) { return !memory.reserved.empty(); });
}

void validate(const Problem& problem) {
  if (problem.memories.empty()) throw Error("", "there is no memory, expected at least one");
  for (const Memory& memory : problem.memories) {
    if (memory.alignment < 1 || memory.alignment > largest_value) {
      throw Error("memory " + base::quoted(memory.name),
                  base::concat("alignment is ", memory.alignment, ", expected at least 1"));
    }
    if (memory.granule < 1 || memory.granule > largest_value)
      throw Error("memory " + base::quoted(memory.name),
                  base::concat("granule is ", memory.granule, ", expected at least 1"));
    if (memory.capacity && (*memory.capacity < 0 || *memory.capacity > largest_value))
      throw Error("memory " + base::quoted(memory.name),
                  base::concat("capacity is ", *memory.capacity, ", expected 0 to ", largest_value));
    check_reserved(memory);
  }
  for (const Buffer& buffer : problem.buffers) {
    if (!base::is_utf8(buffer.id)) throw Error(place_of(buffer), "its id is not UTF-8");
    check_buffer(buffer, problem.memories.size());
    check_pieces_apart(buffer);
  }
  check_ids(problem);
  check_total(problem);
  if (problem.is_related()) {  // whose pinned buffers may share bytes
    check_relations(problem);
    return check_whole(problem);
  }
  for (std::size_t m = 0; m < problem.memories.size(); ++m) check_pins(problem, m);
}

std::string_view name_of(TuningEnd end) { return base::name_in(tuning_ends, end); }

std::optional<TuningEnd> tuning_end_named(std::string_view name) { return base::value_in(tuning_ends, name); }

Bytes size_of_copies(const Buffer& buffer, std::int64_t copies) {
  const Bytes each = (buffer.size + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
  return (copies - 1) * each + buffer.size;
}

std::int64_t extra_cost(const Problem& problem, std::size_t buffer, std::size_t memory) {
  const Buffer& it = problem.buffers[buffer];
  if (problem.memories.size() == 1 || it.size == 0 || it.traffic == 0) return 0;
  const std::int64_t here = pack::cost_in(problem, buffer, memory);
  std::int64_t least = here;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    if (it.memories.empty() || std::ranges::count(it.memories, m) > 0)
      least = std::min(least, pack::cost_in(problem, buffer, m));
  }
  return here - least;
}

Bytes peak_of(const Problem& problem, const Solution& solution, std::size_t memory) {
  Bytes peak = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Place& place = solution.places[b];
    if (place.memory != memory) continue;
    const std::int64_t copies = solution.copies.empty() ? 1 : solution.copies[b];
    peak = std::max(peak, place.offset + size_of_copies(problem.buffers[b], copies));
  }
  if (solution.slots && solution.slots->place.memory == memory) peak = std::max(peak, solution.slots->end());
  return peak;
}

}  // namespace stowage
