// Operators that only pass bytes on (ByteCopy) make tensors that repeat others. Following the copies
// back to the operator that computed the bytes gives the source of every byte:
//
//     a = conv(..)   [a a a a]            two tensors may lie on the same addresses at the same time
//     b = conv(..)   [b b]                wherever they have the same byte of the same source there
//     c = concat     [a a a a|b b]
//     d = c[3:6]     [a|b b]
//
// In the order of steps, sources come before tensors that repeat them, so one pass is enough. Cost: linear in
// fragments; a chain of concats, each longer by one part, has a quadratic number of them, which
// `most_fragments` bounds.

#include "alias/group.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace stowage::alias {
namespace {

using Contents = std::vector<std::vector<Fragment>>;

std::vector<Fragment> itself(const Graph& graph, TensorId tensor) {
  const Bytes bytes = graph.tensors[tensor].bytes;
  if (bytes == 0) return {};
  return {{0, bytes, tensor, 0}};
}

/// Appends the fragments of an input's part [from, from + size), moved to `to`.
void append_part(const std::vector<Fragment>& input, const ByteCopy& copy, std::vector<Fragment>& output) {
  auto fragment = std::upper_bound(input.begin(), input.end(), copy.from,
                                   [](Bytes at, const Fragment& it) { return at < it.end; });
  const Bytes end = copy.from + copy.size;
  for (; fragment != input.end() && fragment->begin < end; ++fragment) {
    const Bytes first = std::max(fragment->begin, copy.from);
    const Bytes last = std::min(fragment->end, end);
    output.push_back({copy.to + first - copy.from, copy.to + last - copy.from, fragment->source,
                      fragment->source_begin + first - fragment->begin});
  }
}

/// Joins adjacent fragments that continue each other in their source.
void join(std::vector<Fragment>& fragments) {
  std::size_t count = 0;
  for (const Fragment& fragment : fragments) {
    if (count > 0) {
      Fragment& last = fragments[count - 1];
      if (last.source == fragment.source &&
          last.source_begin + (last.end - last.begin) == fragment.source_begin) {
        last.end = fragment.end;
        continue;
      }
    }
    fragments[count++] = fragment;
  }
  fragments.resize(count);
}

/// The fragments of an output, given its copies in rising order of their target.
std::vector<Fragment> content_of(const Graph& graph, const Operator& op, std::size_t output,
                                 std::span<const ByteCopy> copies, const Contents& contents) {
  const TensorId tensor = *op.outputs[output];
  std::vector<Fragment> fragments;
  Bytes reach = 0;  // bytes up to here are known
  const auto compute_up_to = [&](Bytes end) {
    if (reach < end) fragments.push_back({reach, end, tensor, reach});
  };
  for (const ByteCopy& copy : copies) {
    compute_up_to(copy.to);
    append_part(contents[*op.inputs[copy.input]], copy, fragments);
    reach = copy.to + copy.size;
  }
  compute_up_to(graph.tensors[tensor].bytes);
  join(fragments);
  return fragments.size() <= most_fragments ? fragments : itself(graph, tensor);
}

void follow(const Graph& graph, const Operator& op, std::vector<ByteCopy> copies, Contents& contents) {
  std::sort(copies.begin(), copies.end(), [](const ByteCopy& a, const ByteCopy& b) {
    return a.output != b.output ? a.output < b.output : a.to < b.to;
  });
  for (auto first = copies.begin(); first != copies.end();) {
    const std::size_t output = first->output;
    const auto last =
        std::find_if(first, copies.end(), [&](const ByteCopy& copy) { return copy.output != output; });
    contents[*op.outputs[output]] = content_of(graph, op, output, {first, last}, contents);
    first = last;
  }
}

}  // namespace

Contents contents_of(const Graph& graph, std::span<const lifetime::OperatorId> operators) {
  return contents_of(graph, operators, [](std::size_t, std::size_t, const ByteCopy&) { return true; });
}

Contents contents_of(const Graph& graph, std::span<const lifetime::OperatorId> operators,
                     const std::function<bool(std::size_t, std::size_t, const ByteCopy&)>& is_followed) {
  Contents contents;
  contents.reserve(graph.tensors.size());
  for (TensorId t = 0; t < graph.tensors.size(); ++t) contents.push_back(itself(graph, t));
  for (const auto& [subgraph, o] : operators) {
    const Operator& op = graph.subgraphs[subgraph].operators[o];
    if (op.copies.empty()) continue;
    std::vector<ByteCopy> copies = op.copies;
    std::erase_if(copies,
                  [&, s = subgraph, o = o](const ByteCopy& copy) { return !is_followed(s, o, copy); });
    follow(graph, op, std::move(copies), contents);
  }
  return contents;
}

// A group is a future buffer: tensors at fixed distances. It is valid if every byte has one meaning at
// every position: two tensors may overlap in bytes and time only where they hold the same byte of the same
// source (above). This alone decides whether two groups may be joined; the operators that made them do not
// matter.
//
//     bytes  ^            c = concat(a, b), a and b in their slots:
//            |   bbbbb|cc
//            | aaaaaaa|cc    a box per fragment and life; boxes of one source at one place are
//            +---------->    joined into one piece, which lives from the first write to the
//                      time  last read through any tensor
//
// Cost: joining costs the boxes of the smaller group times those of the larger that live at the same time.
// Boxes are sorted by time, so the others are not visited.

namespace {

bool starts_before(const Box& a, const Box& b) { return a.life.lower < b.life.lower; }

Position end_of_life(const Box& box, std::optional<TensorId> overwritten) {
  return box.life.upper - (overwritten == box.tensor && !box.is_held ? 1 : 0);
}

using Lives = std::multiset<std::pair<Position, Position>>;

/// Adds a piece for each stretch of time covered by some of the lives.
void add_pieces(Bytes begin, Bytes end, const Lives& lives, std::vector<Piece>& pieces) {
  std::optional<Lifetime> open;
  for (const auto& [lower, upper] : lives) {
    if (open && lower <= open->upper) {
      open->upper = std::max(open->upper, upper);
      continue;
    }
    if (open) pieces.push_back({begin, end - begin, *open});
    open = Lifetime{lower, upper};
  }
  if (open) pieces.push_back({begin, end - begin, *open});
}

/// Pieces of boxes that hold one source at one place: a sweep over addresses, with the lives of the boxes
/// that cover each stretch.
void add_pieces(std::span<const Box> boxes, std::vector<Piece>& pieces) {
  struct Edge {
    Bytes at = 0;
    const Box* box = nullptr;
    bool begins = false;
  };
  std::vector<Edge> edges;
  for (const Box& box : boxes) {
    edges.push_back({box.begin, &box, true});
    edges.push_back({box.end, &box, false});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  Lives lives;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (e > 0 && edges[e - 1].at < edges[e].at) add_pieces(edges[e - 1].at, edges[e].at, lives, pieces);
    const std::pair life(edges[e].box->life.lower, edges[e].box->life.upper);
    if (edges[e].begins) {
      lives.insert(life);
    } else {
      lives.erase(lives.find(life));
    }
  }
}

/// Joins neighbours in the order of a key if they continue each other.
template <typename Key, typename Continues, typename Join>
void join_neighbours(std::vector<Piece>& pieces, Key key, Continues continues, Join join) {
  std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) { return key(a) < key(b); });
  std::size_t count = 0;
  for (const Piece& piece : pieces) {
    if (count > 0 && continues(pieces[count - 1], piece)) {
      join(pieces[count - 1], piece);
    } else {
      pieces[count++] = piece;
    }
  }
  pieces.resize(count);
}

/// Joins touching pieces of one life, and pieces of the same bytes that follow each other in time.
std::vector<Piece> joined(std::vector<Piece> pieces) {
  const auto by_time = [](const Piece& it) { return std::tuple(it.life.lower, it.life.upper, it.offset); };
  const auto by_place = [](const Piece& it) { return std::tuple(it.offset, it.size, it.life.lower); };
  join_neighbours(
      pieces, by_time,
      [](const Piece& a, const Piece& b) { return a.life == b.life && a.offset + a.size == b.offset; },
      [](Piece& a, const Piece& b) { a.size += b.size; });
  join_neighbours(
      pieces, by_place,
      [](const Piece& a, const Piece& b) {
        return a.offset == b.offset && a.size == b.size && a.life.upper == b.life.lower;
      },
      [](Piece& a, const Piece& b) { a.life.upper = b.life.upper; });
  std::sort(pieces.begin(), pieces.end(),
            [&](const Piece& a, const Piece& b) { return by_time(a) < by_time(b); });
  return pieces;
}

}  // namespace

Group::Group(TensorId tensor, const std::vector<Fragment>& content, const std::vector<Lifetime>& lives,
             const std::vector<Lifetime>& held)
    : members_{{tensor, 0}} {
  boxes_.reserve((lives.size() + held.size()) * content.size());
  const auto add = [&](const Lifetime& life, bool is_held) {
    for (const Fragment& fragment : content) {
      boxes_.push_back({fragment.begin, fragment.end, life, fragment.source,
                        fragment.begin - fragment.source_begin, tensor, is_held});
    }
  };
  for (const Lifetime& life : lives) add(life, false);
  for (const Lifetime& life : held) add(life, true);
  if (!held.empty()) std::stable_sort(boxes_.begin(), boxes_.end(), starts_before);
  update_reach(0);
}

void Group::update_reach(std::size_t from) {
  reach_.resize(boxes_.size());
  for (std::size_t i = from; i < boxes_.size(); ++i)
    reach_[i] = std::max(i > 0 ? reach_[i - 1] : 0, boxes_[i].life.upper);
}

std::optional<Clash> Group::clash_with(const Group& other, Bytes shift,
                                       std::optional<TensorId> overwritten) const {
  for (const Box& theirs : other.boxes_) {
    const Position their_end = end_of_life(theirs, overwritten);
    const auto after = std::lower_bound(boxes_.begin(), boxes_.end(), their_end,
                                        [](const Box& box, Position at) { return box.life.lower < at; });
    for (auto i = static_cast<std::size_t>(after - boxes_.begin());
         i > 0 && reach_[i - 1] > theirs.life.lower; --i) {
      const Box& ours = boxes_[i - 1];
      const bool is_at_once = end_of_life(ours, overwritten) > theirs.life.lower;
      const bool is_at_one_place = ours.begin < theirs.end + shift && theirs.begin + shift < ours.end;
      const bool is_same = ours.source == theirs.source && ours.origin == theirs.origin + shift;
      if (is_at_once && is_at_one_place && !is_same)
        return Clash{ours.tensor, theirs.tensor, std::max(ours.life.lower, theirs.life.lower)};
    }
  }
  return std::nullopt;
}

void Group::join(Group& other, Bytes shift) {
  for (const Member& member : other.members_) members_.push_back({member.tensor, member.offset + shift});
  const auto count = static_cast<std::ptrdiff_t>(boxes_.size());
  for (const Box& box : other.boxes_) {
    boxes_.push_back({box.begin + shift, box.end + shift, box.life, box.source, box.origin + shift,
                      box.tensor, box.is_held});
  }
  // Most new boxes usually come after ours: only our boxes after the first new one have to move.
  const auto middle = boxes_.begin() + count;
  const auto first =
      middle == boxes_.end() ? middle : std::upper_bound(boxes_.begin(), middle, *middle, starts_before);
  const auto from = static_cast<std::size_t>(first - boxes_.begin());
  std::inplace_merge(first, middle, boxes_.end(), starts_before);
  update_reach(from);
  other.members_ = {};
  other.boxes_ = {};
  other.reach_ = {};
}

void Group::shorten(TensorId tensor, const std::vector<Lifetime>& lives) {
  for (const Lifetime& life : lives) {
    auto box = std::lower_bound(boxes_.begin(), boxes_.end(), life.lower,
                                [](const Box& it, Position at) { return it.life.lower < at; });
    for (; box != boxes_.end() && box->life.lower == life.lower; ++box) {
      if (box->tensor == tensor && !box->is_held) --box->life.upper;
    }
  }
}

std::vector<Piece> Group::pieces() && {
  std::vector<Box> boxes = std::move(boxes_);
  std::erase_if(boxes, [](const Box& box) { return box.life.lower >= box.life.upper; });
  const auto key = [](const Box& it) { return std::tuple(it.source, it.origin); };
  std::sort(boxes.begin(), boxes.end(), [&](const Box& a, const Box& b) { return key(a) < key(b); });
  std::vector<Piece> pieces;
  pieces.reserve(boxes.size());
  for (auto first = boxes.begin(); first != boxes.end();) {
    const auto last =
        std::find_if(first, boxes.end(), [&](const Box& box) { return key(box) != key(*first); });
    add_pieces(std::span(first, last), pieces);
    first = last;
  }
  return joined(std::move(pieces));
}

}  // namespace stowage::alias
