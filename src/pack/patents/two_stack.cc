// Assign memory backwards, from the last outputs to the inputs, on a line that grows to both sides of
// an origin: a left and a right stack. A layer (the document's word for the output of a step) gets its memory
// when its last reader is processed, and releases it when all its own inputs have theirs. They go to the
// other side, so that the layer is on top then and its memory can be reused. A chain a, b, c, output:
//
//                                  left | right of the origin
//      the end                          |##output##|
//      step 3 read c              |##c##|##output##|         gone when c has its place
//      step 2 read b              |##c##|####b####|          c is gone when b has its place
//      step 1 read a           |###a####|####b####|          ..
//                              ^ left boundary     ^ right boundary
//
// The boundaries record how far each side ever reached: -1 and 0 at the start, the first byte beyond on
// either side. peak = right - left - 1, and a buffer's offset is its position less the left end of the line.
//
// Which side an input of the current step goes to, the first of these rules that decides:
//   1  the one where its placing lets the current layer be reclaimed: not on top of it      (claim 1)
//   2  where current layers lie on top of both sides, and only the next step reads the
//      input: the side where its placing lets more bytes be reclaimed                       (claim 6)
//   3  the side whose boundary is extended less                                             (claim 8)
//   4  ours: onto the top that an earlier step produces, since that one stays longer; an
//      empty side counts as earliest; both alike: to the right
// A step reclaims the layer and all finished layers under it, down to the first unfinished one.
//
// A hole in the document, and our rule. Claim 4 takes the top with the larger id for the current layer and
// reclaims it when its inputs have memory. But a layer with a larger id can lie below the tops (a long skip
// connection is put on top of it). Then the top is reclaimed before a step later than its own is processed,
// and the inputs of that step, which are alive with it, get its bytes. Claim 1 even reclaims any layer whose
// inputs all have memory. So here the steps are taken strictly in falling order: at step t the buffers whose
// last reader is t get memory, then the output of t is reclaimed. If it is buried, it is popped when it comes
// to the top, and its bytes are unavailable until then. So at every step the stacks hold all live buffers,
// each in bytes of its own: always valid. If no larger id is ever buried, the current layer is the larger of
// the tops, and the result is that of the document.
//
// On a bare list of buffers: the inputs of step t are those with lower < t and upper = t + 1, its outputs
// have lower = t, and ids rise with lower and then in the given order. Inputs of a step are placed in rising
// order, so that those reclaimed sooner lie higher.
//
// Where the document is open:
// - Final outputs are the outputs of the last step, and outputs of the model (`kind`), read or not. All other
//   buffers that live to the end are inputs of the last step.
// - Buffers that live at one step alone, before the last (the input of the first, scratch, unread outputs),
//   get memory after the inputs of its step. They are reclaimed together with the current layer and bury
//   nothing: rules 1 and 2 do not apply to them.
// - Several outputs of a step: all are current layers at once.
// - Several pieces: a buffer has its bytes from its first position to its last.
// - Alignment: the distance from the left end to the origin is a multiple of all alignments.
// - Pins have no meaning on a line with a moving origin, and there is one line only: not applicable.
//
// Two passes of ours follow that of the document: with rule 3 first, and after rule 1. The lowest placing is kept, of
// equal ones the first. Rule 1 may extend a boundary by much only to reclaim a small layer.
//
// Cost: n log n.
// Source: CN112256441B, claims 1-8.

#include "pack/patents/two_stack.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

enum class Direction { left, right };

/// One side of the origin. Depths count from the origin outwards.
class Stack {
 public:
  explicit Stack(Direction direction) : direction_(direction) {}

  /// Depth of the buffer's outer end if it were put on top of the stack.
  [[nodiscard]] Bytes end_of(const Buffer& buffer) const {
    if (direction_ == Direction::left) return base::align_up(top_ + buffer.size, buffer.alignment);
    return base::align_up(top_, buffer.alignment) + buffer.size;
  }

  /// The bytes by which the buffer would extend the boundary.
  [[nodiscard]] Bytes extension_by(const Buffer& buffer) const {
    return std::max<Bytes>(0, end_of(buffer) - boundary_);
  }

  /// Puts the buffer on top; returns its position on the line.
  Bytes put(const Buffer& buffer, Position lower) {
    const Bytes end = end_of(buffer);
    layers_.push_back({top_, lower});
    top_ = end;
    boundary_ = std::max(boundary_, end);
    return direction_ == Direction::left ? -end : end - buffer.size;
  }

  /// Pops layers that come to life after `step`, as far as they are on top.
  void reclaim_after(Position step) {
    while (!layers_.empty() && layers_.back().lower > step) {
      top_ = layers_.back().bottom;
      layers_.pop_back();
    }
  }

  /// Bytes that are popped after `step` if nothing is put on top. Merges their layers into one, so that each
  /// is visited once.
  Bytes reclaimable_after(Position step) {
    const Bytes top = top_;
    reclaim_after(step - 1);
    const Bytes bottom = std::exchange(top_, top);
    if (bottom < top) layers_.push_back({bottom, step});
    return top - bottom;
  }

  /// The step that produces the topmost layer; none: empty.
  [[nodiscard]] std::optional<Position> top_layer() const {
    return layers_.empty() ? std::nullopt : std::optional(layers_.back().lower);
  }

  [[nodiscard]] Bytes boundary() const { return boundary_; }

 private:
  struct Layer {
    Bytes bottom = 0;    ///< Depth of its lower end.
    Position lower = 0;  ///< The step that produces it.
  };

  Direction direction_;
  std::vector<Layer> layers_;
  Bytes top_ = 0;
  Bytes boundary_ = 0;
};

/// A buffer on its way backwards through the steps.
struct Layer {
  std::size_t buffer = 0;
  Lifetime life{};
  bool is_final_output = false;

  /// The step that reads it last, and at which it gets memory.
  [[nodiscard]] Position last_step() const { return life.upper - 1; }
};

/// All buffers ever alive, by falling last step, outputs before inputs, then by id.
std::vector<Layer> backwards(const Problem& problem) {
  std::vector<Layer> layers;
  Position end = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Lifetime life = life_of(problem.buffers[b]);
    if (life.lower < life.upper) layers.push_back({b, life});
    end = std::max(end, life.upper);
  }
  for (Layer& layer : layers) {
    const TensorKind kind = problem.buffers[layer.buffer].kind;
    const bool is_of_last_step = layer.life.lower == end - 1 && kind != TensorKind::input;
    layer.is_final_output = is_of_last_step || (layer.life.upper == end && kind == TensorKind::output);
  }
  std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) {
    if (a.life.upper != b.life.upper) return a.life.upper > b.life.upper;
    return a.is_final_output != b.is_final_output ? a.is_final_output : a.life.lower < b.life.lower;
  });
  return layers;
}

/// The line and the buffers on it.
class Line {
 public:
  explicit Line(LessExtended less_extended) : less_extended_(less_extended) {}

  /// Goes back to a step: reclaims the outputs of later ones.
  void go_to(Position step) {
    left_.reclaim_after(step);
    right_.reclaim_after(step);
  }

  Bytes put_right(const Buffer& buffer, Position lower) { return right_.put(buffer, lower); }

  Bytes put_input(const Buffer& buffer, const Lifetime& life) {
    return (goes_left(buffer, life) ? left_ : right_).put(buffer, life.lower);
  }

  /// The first byte to the left that was never used, counted as in the document.
  [[nodiscard]] Bytes left_boundary() const { return -1 - left_.boundary(); }
  /// Bytes between the boundaries.
  [[nodiscard]] Bytes extent() const { return left_.boundary() + right_.boundary(); }

 private:
  [[nodiscard]] bool goes_left(const Buffer& buffer, const Lifetime& life) {
    const Position step = life.upper - 1;
    const bool is_for_one_step = life.upper - life.lower == 1;
    const bool is_for_the_next_only = life.upper - life.lower == 2;
    const Bytes left = left_.extension_by(buffer);
    const Bytes right = right_.extension_by(buffer);
    if (less_extended_ == LessExtended::first && left != right) return left < right;
    // Putting the buffer on one side allows reclaiming on the other.
    const Bytes if_left = right_.reclaimable_after(step);
    const Bytes if_right = left_.reclaimable_after(step);
    const bool only_one_side_does = (if_left > 0) != (if_right > 0);
    if (!is_for_one_step && only_one_side_does) return if_left > if_right;
    if (less_extended_ == LessExtended::second && left != right) return left < right;
    if (is_for_the_next_only && if_left != if_right) return if_left > if_right;
    return left != right ? left < right : left_.top_layer() < right_.top_layer();
  }

  LessExtended less_extended_;
  Stack left_{Direction::left};
  Stack right_{Direction::right};
};

}  // namespace

Placing two_stack_pass(const Problem& problem, LessExtended less_extended, const Control& control) {
  Placing placing{std::vector<Place>(problem.buffers.size())};
  const std::vector<Layer> layers = backwards(problem);
  Line line(less_extended);
  for (std::size_t done = 0; done < layers.size(); ++done) {
    if (done % buffers_between_looks == 0) {
      if (control.is_too_late()) return no_placing();
      if (control.is_beaten(line.extent())) return {};
      control.report("two-stack", static_cast<double>(done) / static_cast<double>(layers.size()));
    }
    const Layer& layer = layers[done];
    const Buffer& buffer = problem.buffers[layer.buffer];
    line.go_to(layer.last_step());
    placing.places[layer.buffer].offset =
        layer.is_final_output ? line.put_right(buffer, layer.life.lower) : line.put_input(buffer, layer.life);
  }
  const Bytes origin = base::align_up(-1 - line.left_boundary(), common_alignment(problem).value());
  for (const Layer& layer : layers) placing.places[layer.buffer].offset += origin;
  return placing;
}

Placing two_stack(const Problem& problem, const Control& control) {
  constexpr std::array places{LessExtended::third, LessExtended::first, LessExtended::second};
  return lowest_of(problem, control, "two-stack", places.size(), [&](int pass, const Control& own) {
    return two_stack_pass(problem, places[static_cast<std::size_t>(pass)], own);
  });
}

std::optional<std::string> obstacle_to_two_stack(const Problem& problem) {
  if (auto obstacle = several_memories(problem)) return obstacle;
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.pinned)
      return base::concat("has no meaning for pinned buffers, as ", base::quoted(buffer.id),
                          ": its line has a moving origin");
  }
  if (!common_alignment(problem)) return "needs a common multiple of all alignments, which is too large here";
  return std::nullopt;
}

}  // namespace stowage::pack
