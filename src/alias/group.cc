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

std::vector<Fragment> itself(const Graph& graph, TensorId tensor, const MovingPlaces* places) {
  const Bytes bytes = graph.tensors[tensor].bytes;
  if (bytes == 0) return {};
  return {{0, bytes, tensor, 0, 0, places != nullptr ? places->end_of(tensor) : 0}};
}

/// Places that move, of a network in which some do; null: all stay.
struct Moving {
  const Graph& graph;
  MovingPlaces* places = nullptr;

  [[nodiscard]] bool is_never_behind(Bytes a, model::MotionId motion_of_a, Bytes b,
                                     model::MotionId motion_of_b) const {
    return places == nullptr ? a <= b : places->motions().is_never_behind(a, motion_of_a, b, motion_of_b);
  }
};

/// Appends the part of the fragment that a copy passes on, moved to `to`. False: it depends on the sizes which that is.
bool append_part(const Fragment& fragment, const ByteCopy& copy, const MovingCopy& moves,
                 const Moving& moving, std::vector<Fragment>& output) {
  const Bytes end = copy.from + copy.size;
  if (moving.is_never_behind(fragment.end, fragment.end_motion, copy.from, moves.from) ||
      moving.is_never_behind(end, moves.from_end, fragment.begin, fragment.begin_motion))
    return true;
  Bytes first = fragment.begin;
  model::MotionId first_motion = fragment.begin_motion;
  if (!moving.is_never_behind(copy.from, moves.from, first, first_motion)) {
    if (!moving.is_never_behind(first, first_motion, copy.from, moves.from)) return false;
    first = copy.from;
    first_motion = moves.from;
  }
  Bytes last = fragment.end;
  model::MotionId last_motion = fragment.end_motion;
  if (!moving.is_never_behind(last, last_motion, end, moves.from_end)) {
    if (!moving.is_never_behind(end, moves.from_end, last, last_motion)) return false;
    last = end;
    last_motion = moves.from_end;
  }
  Fragment& part =
      output.emplace_back(Fragment{copy.to + first - copy.from, copy.to + last - copy.from, fragment.source,
                                   fragment.source_begin + first - fragment.begin});
  if (moving.places == nullptr) return true;
  model::Motions& motions = moving.places->motions();
  const model::MotionId distance = motions.difference(moves.to, moves.from);
  part.begin_motion = motions.sum(first_motion, distance);
  part.end_motion = motions.sum(last_motion, distance);
  part.origin_motion = motions.sum(fragment.origin_motion, distance);
  return true;
}

/// Appends the fragments of an input's part [from, from + size), moved to `to`. False: that depends on the sizes.
bool append_parts(const std::vector<Fragment>& input, const ByteCopy& copy, const MovingCopy& moves,
                  const Moving& moving, std::vector<Fragment>& output) {
  auto fragment = moving.places != nullptr
                      ? input.begin()
                      : std::upper_bound(input.begin(), input.end(), copy.from,
                                         [](Bytes at, const Fragment& it) { return at < it.end; });
  const Bytes end = copy.from + copy.size;
  for (; fragment != input.end() && (moving.places != nullptr || fragment->begin < end); ++fragment) {
    if (!append_part(*fragment, copy, moves, moving, output)) return false;
  }
  return true;
}

/// Joins adjacent fragments that continue each other in their source.
void join(std::vector<Fragment>& fragments) {
  std::size_t count = 0;
  for (const Fragment& fragment : fragments) {
    if (count > 0) {
      Fragment& last = fragments[count - 1];
      if (last.source == fragment.source &&
          last.source_begin + (last.end - last.begin) == fragment.source_begin &&
          last.end_motion == fragment.begin_motion && last.origin_motion == fragment.origin_motion) {
        last.end = fragment.end;
        last.end_motion = fragment.end_motion;
        continue;
      }
    }
    fragments[count++] = fragment;
  }
  fragments.resize(count);
}

/// The fragments of an output, given its copies in rising order of their target.
std::vector<Fragment> content_of(const Operator& op, std::size_t output,
                                 std::span<const ByteCopy* const> copies, const Moving& moving,
                                 const Contents& contents) {
  const TensorId tensor = *op.outputs[output];
  const std::vector<Fragment> whole = itself(moving.graph, tensor, moving.places);
  std::vector<Fragment> fragments;
  Bytes reach = 0;  // bytes up to here are known
  const auto compute_up_to = [&](Bytes end) {
    if (reach < end) fragments.push_back({reach, end, tensor, reach});
  };
  for (const ByteCopy* const copy : copies) {
    compute_up_to(copy->to);
    const MovingCopy moves =
        moving.places != nullptr ? moving.places->of(moving.graph, op, *copy) : MovingCopy();
    if (!append_parts(contents[*op.inputs[copy->input]], *copy, moves, moving, fragments)) return whole;
    reach = copy->to + copy->size;
  }
  if (reach < moving.graph.tensors[tensor].bytes) {
    compute_up_to(moving.graph.tensors[tensor].bytes);
    fragments.back().end_motion = whole.back().end_motion;
  }
  join(fragments);
  return fragments.size() <= most_fragments ? fragments : whole;
}

void follow(const Operator& op, std::vector<const ByteCopy*> copies, const Moving& moving,
            Contents& contents) {
  std::sort(copies.begin(), copies.end(), [](const ByteCopy* a, const ByteCopy* b) {
    return a->output != b->output ? a->output < b->output : a->to < b->to;
  });
  for (auto first = copies.begin(); first != copies.end();) {
    const std::size_t output = (*first)->output;
    const auto last =
        std::find_if(first, copies.end(), [&](const ByteCopy* copy) { return copy->output != output; });
    contents[*op.outputs[output]] = content_of(op, output, {first, last}, moving, contents);
    first = last;
  }
}

Contents followed_contents(
    const Moving& moving, std::span<const lifetime::OperatorId> operators,
    const std::function<bool(std::size_t, std::size_t, const ByteCopy&)>& is_followed) {
  const Graph& graph = moving.graph;
  Contents contents;
  contents.reserve(graph.tensors.size());
  for (TensorId t = 0; t < graph.tensors.size(); ++t) contents.push_back(itself(graph, t, moving.places));
  for (const auto& [subgraph, o] : operators) {
    const Operator& op = graph.subgraphs[subgraph].operators[o];
    if (op.copies.empty()) continue;
    std::vector<const ByteCopy*> copies;
    for (const ByteCopy& copy : op.copies) {
      if (is_followed(subgraph, o, copy)) copies.push_back(&copy);
    }
    follow(op, std::move(copies), moving, contents);
  }
  return contents;
}

bool follow_all(std::size_t /*subgraph*/, std::size_t /*op*/, const ByteCopy& /*copy*/) { return true; }

}  // namespace

Contents contents_of(const Graph& graph, std::span<const lifetime::OperatorId> operators) {
  return followed_contents({graph}, operators, follow_all);
}

Contents contents_of(const Graph& graph, std::span<const lifetime::OperatorId> operators,
                     MovingPlaces& places) {
  return followed_contents({graph, places.is_any() ? &places : nullptr}, operators, follow_all);
}

Contents contents_of(const Graph& graph, std::span<const lifetime::OperatorId> operators,
                     const std::function<bool(std::size_t, std::size_t, const ByteCopy&)>& is_followed) {
  return followed_contents({graph}, operators, is_followed);
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
             const std::vector<Lifetime>& held, model::Motions* motions)
    : members_{{tensor, 0}}, motions_(motions) {
  boxes_.reserve((lives.size() + held.size()) * content.size());
  const auto add = [&](const Lifetime& life, bool is_held) {
    for (const Fragment& fragment : content) {
      boxes_.push_back({fragment.begin, fragment.end, life, fragment.source,
                        fragment.begin - fragment.source_begin, tensor, fragment.begin_motion,
                        fragment.end_motion, fragment.origin_motion, is_held});
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

/// Whether the boxes have common addresses at some sizes, if they live at one time.
bool Group::may_meet(const Box& ours, const Box& theirs, const Distance& shift) const {
  if (ours.begin < theirs.end + shift.bytes && theirs.begin + shift.bytes < ours.end) return true;
  if (motions_ == nullptr) return false;
  return !motions_->is_never_behind(ours.end, ours.end_motion, theirs.begin + shift.bytes,
                                    motions_->sum(theirs.begin_motion, shift.motion)) &&
         !motions_->is_never_behind(theirs.end + shift.bytes, motions_->sum(theirs.end_motion, shift.motion),
                                    ours.begin, ours.begin_motion);
}

/// Whether the boxes hold the same bytes wherever they have common addresses.
bool Group::are_same(const Box& ours, const Box& theirs, const Distance& shift) const {
  return ours.source == theirs.source && ours.origin == theirs.origin + shift.bytes &&
         (motions_ == nullptr || ours.origin_motion == motions_->sum(theirs.origin_motion, shift.motion));
}

std::optional<Clash> Group::clash_with(const Group& other, Distance shift,
                                       std::optional<TensorId> overwritten) const {
  for (const Box& theirs : other.boxes_) {
    const Position their_end = end_of_life(theirs, overwritten);
    const auto after = std::lower_bound(boxes_.begin(), boxes_.end(), their_end,
                                        [](const Box& box, Position at) { return box.life.lower < at; });
    for (auto i = static_cast<std::size_t>(after - boxes_.begin());
         i > 0 && reach_[i - 1] > theirs.life.lower; --i) {
      const Box& ours = boxes_[i - 1];
      const bool is_at_once = end_of_life(ours, overwritten) > theirs.life.lower;
      if (is_at_once && may_meet(ours, theirs, shift) && !are_same(ours, theirs, shift))
        return Clash{ours.tensor, theirs.tensor, std::max(ours.life.lower, theirs.life.lower)};
    }
  }
  return std::nullopt;
}

void Group::join(Group& other, Distance shift) {
  for (const Member& member : other.members_)
    members_.push_back({member.tensor, member.offset + shift.bytes});
  const auto count = static_cast<std::ptrdiff_t>(boxes_.size());
  const auto moved = [&](model::MotionId motion) {
    return motions_ == nullptr ? 0 : motions_->sum(motion, shift.motion);
  };
  for (const Box& box : other.boxes_) {
    boxes_.push_back({box.begin + shift.bytes, box.end + shift.bytes, box.life, box.source,
                      box.origin + shift.bytes, box.tensor, moved(box.begin_motion), moved(box.end_motion),
                      moved(box.origin_motion), box.is_held});
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

/// Makes each box as wide as its places at all sizes. Wider boxes may overlap, so all count as of one content then.
void Group::widen(std::vector<Box>& boxes, model::MotionId staying) const {
  bool are_wider = false;
  for (Box& box : boxes) {
    const Bytes before = motions_->approach(staying, box.begin_motion);
    const Bytes behind = motions_->approach(box.end_motion, staying);
    box.begin -= before;
    box.end += behind;
    are_wider = are_wider || before > 0 || behind > 0;
  }
  for (Box& box : boxes) {
    if (!are_wider) break;
    box.source = 0;
    box.origin = 0;
  }
}

std::vector<Piece> Group::pieces(model::MotionId staying) && {
  std::vector<Box> boxes = std::move(boxes_);
  std::erase_if(boxes, [](const Box& box) { return box.life.lower >= box.life.upper; });
  if (motions_ != nullptr) widen(boxes, staying);
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
