// pack/memories/moves.h chooses spills and fetches clock by clock, for buffers and positions. This file finds
// the positions at which operators use a buffer, and puts the choice into the plan. Copies become steps, and
// all else on the clock shifts by the copies before it.
//
//     clock      a b c            buffers     x  |-----------|     fast, with a view for a and b
//     becomes    a b copy c                   x' |  |--------|     slow, from the copy on
//
// A tensor can move if it is alone in its buffer and if only operators of the network itself, without bodies,
// use it. A copy disturbs nothing between two such operators. Copies are steps of their network, so an output
// that is kept after the network's last step does not move. Memory of other clocks is pinned meanwhile: a
// branch at the position of its fork; for a branch, all that is alive at its fork, and the other branches.
//
// Cost: the choice of moves for each clock; all else is linear, for each clock.

#include "plan/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/unique_names.h"
#include "pack/memories/moves.h"
#include "plan/arrangement.h"
#include "plan/views_in_buffers.h"

namespace stowage::plan {
namespace {

/// Maps the positions of a clock to those after copies are inserted.
class StretchedClock {
 public:
  explicit StretchedClock(const std::vector<Position>& positions) : positions_(positions) {}

  [[nodiscard]] Position at(Position old) const {
    const auto last = static_cast<Position>(positions_.size()) - 1;
    return old <= last ? positions_[static_cast<std::size_t>(old)] : positions_.back() + (old - last);
  }
  /// The position before the copies that precede `old`.
  [[nodiscard]] Position before(Position old) const { return old == 0 ? 0 : at(old - 1) + 1; }

 private:
  const std::vector<Position>& positions_;
};

class ClockMover {
 public:
  ClockMover(std::span<const Input> networks, const std::vector<Memory>& memories, std::size_t clock,
             Plan& plan)
      : networks_(networks), memories_(memories), plan_(plan), clock_(clock) {
    first_tensor_.resize(networks.size());
    for (std::size_t t = plan.tensors.size(); t-- > 0;) first_tensor_[plan.tensors[t].model] = t;
    is_given_.resize(plan.tensors.size());
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
      const TensorKind kind = plan.tensors[t].tensor.kind;
      is_given_[t] = kind == TensorKind::input || kind == TensorKind::state;
    }
    for (const Feed& feed : plan.feeds) is_given_[feed.input] = true;
  }

  void run(const pack::Control& control) {
    add_own();
    find_movables();
    if (movables_.empty()) return;
    add_branches();
    add_surroundings();
    problem_ = problem_of(std::move(problem_.buffers), memories_);
    apply(memories::choose_moves(problem_, solution_, movables_, control).moved);
  }

 private:
  void add_own() {
    std::vector<bool> holds_given(plan_.buffers.size());
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      for (const View& view : plan_.tensors[t].views)
        holds_given[view.buffer] = holds_given[view.buffer] || is_given_[t];
    }
    index_of_.resize(plan_.buffers.size());
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].clock != clock_) continue;
      index_of_[b] = problem_.buffers.size();
      problem_.buffers.push_back(plan_.buffers[b]);
      // No step on the clock writes it before its lifetime begins, so it exists before any copy.
      if (holds_given[b] && plan_.buffers[b].kind != TensorKind::state)
        problem_.buffers.back().kind = TensorKind::input;
      solution_.places.push_back(plan_.places[b]);
    }
  }

  /// When steps use each tensor. `can_move` is false if bodies, or operators that run them, use it.
  struct Accesses {
    std::vector<std::vector<Position>> of;
    std::vector<bool> can_move;
  };

  [[nodiscard]] Accesses accesses() const {
    Accesses result{std::vector<std::vector<Position>>(plan_.tensors.size()),
                    std::vector<bool>(plan_.tensors.size(), true)};
    const std::vector<Step>& steps = plan_.clocks[clock_].steps;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const auto* const run = std::get_if<Run>(&steps[at]);
      if (run == nullptr) continue;
      const std::size_t subgraph = run->path[run->path.size() - 2];
      const auto& graph = std::get<Graph>(networks_[run->model].content);
      const Operator& op = graph.subgraphs[subgraph].operators[run->path.back()];
      const bool is_plain = run->path.size() == 2 && op.bodies.empty();
      for (const auto* const operands : {&op.inputs, &op.outputs}) {
        for (const auto& operand : *operands) {
          if (!operand) continue;
          const std::size_t tensor = first_tensor_[run->model] + *operand;
          result.of[tensor].push_back(static_cast<Position>(at));
          result.can_move[tensor] = result.can_move[tensor] && is_plain;
        }
      }
    }
    return result;
  }

  /// The end of each model's steps on the clock.
  [[nodiscard]] std::vector<Position> ends_of_models() const {
    std::vector<Position> ends(plan_.models.size(), 0);
    const std::vector<Step>& steps = plan_.clocks[clock_].steps;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (const auto* const run = std::get_if<Run>(&steps[at]))
        ends[run->model] = static_cast<Position>(at) + 1;
    }
    return ends;
  }

  void find_movables() {
    std::vector<std::size_t> views_in(plan_.buffers.size());
    for (const PlannedTensor& tensor : plan_.tensors) {
      for (const View& view : tensor.views) ++views_in[view.buffer];
    }
    Accesses found = accesses();
    const std::vector<Position> ends = ends_of_models();
    tensor_of_.resize(plan_.buffers.size());
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      const PlannedTensor& it = plan_.tensors[t];
      const TensorKind kind = it.tensor.kind;
      const bool is_plain =
          kind == TensorKind::input || kind == TensorKind::temporary || kind == TensorKind::output;
      if (!is_plain || it.views.size() != 1 || views_in[it.views[0].buffer] != 1) continue;
      const std::size_t buffer = it.views[0].buffer;
      if (plan_.buffers[buffer].clock != clock_ || !found.can_move[t]) continue;
      if (it.views[0].life.upper > ends[it.model]) continue;
      std::vector<Position> accesses = std::move(found.of[t]);
      const bool is_given = kind == TensorKind::input;
      if (is_given) accesses.insert(accesses.begin(), it.views[0].life.lower);
      tensor_of_[buffer] = t;
      movables_.push_back({index_of_[buffer], it.tensor.bytes, std::move(accesses), is_given});
    }
  }

  void add_pinned(const Place& place, Bytes size, const Lifetime& life, TensorKind kind) {
    problem_.buffers.push_back({.id = fmt::format("elsewhere {}", problem_.buffers.size()),
                                .size = size,
                                .pieces = {{0, size, life}},
                                .pinned = place.offset,
                                .memories = {place.memory},
                                .kind = kind});
    solution_.places.push_back(place);
  }

  /// The bytes that a clock and its branches take in a memory, from lowest to highest.
  struct Range {
    Bytes lower = largest_value;
    Bytes upper = 0;
  };

  void take_ranges(std::size_t clock, std::vector<Range>& ranges) const {
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].clock != clock || plan_.buffers[b].size == 0) continue;
      const Place& place = plan_.places[b];
      Range& range = ranges[place.memory];
      range.lower = std::min(range.lower, place.offset);
      range.upper = std::max(range.upper, place.offset + plan_.buffers[b].size);
    }
    for (const Step& step : plan_.clocks[clock].steps) {
      if (const auto* const fork = std::get_if<Fork>(&step)) {
        for (const std::size_t branch : fork->clocks) take_ranges(branch, ranges);
      }
    }
  }

  void add_branch(std::size_t branch, const Lifetime& life, TensorKind kind) {
    std::vector<Range> ranges(memories_.size());
    take_ranges(branch, ranges);
    for (std::size_t m = 0; m < ranges.size(); ++m) {
      if (ranges[m].lower < ranges[m].upper)
        add_pinned({m, ranges[m].lower}, ranges[m].upper - ranges[m].lower, life, kind);
    }
  }

  void add_branches() {
    const std::vector<Step>& steps = plan_.clocks[clock_].steps;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const auto* const fork = std::get_if<Fork>(&steps[at]);
      if (fork == nullptr) continue;
      const auto position = static_cast<Position>(at);
      for (const std::size_t branch : fork->clocks)
        add_branch(branch, {position, position + 1}, TensorKind::temporary);
    }
  }

  /// Buffers of other clocks that are alive at the fork stay for the whole branch, as state does.
  void add_surroundings() {
    const Lifetime always{0, std::max<Position>(static_cast<Position>(plan_.clocks[clock_].steps.size()), 1)};
    for (std::size_t inner = clock_; inner != 0;) {
      const auto [outer, at, fork] = fork_of(inner);
      for (const std::size_t branch : fork->clocks) {
        if (branch != inner) add_branch(branch, always, TensorKind::state);
      }
      for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
        if (plan_.buffers[b].clock != outer) continue;
        for (const Piece& piece : plan_.buffers[b].pieces) {
          if (piece.size > 0 && piece.life.lower <= at && at < piece.life.upper)
            add_pinned({plan_.places[b].memory, plan_.places[b].offset + piece.offset}, piece.size, always,
                       TensorKind::state);
        }
      }
      inner = outer;
    }
  }

  struct ForkedAt {
    std::size_t clock = 0;
    Position at = 0;
    const Fork* fork = nullptr;
  };

  [[nodiscard]] ForkedAt fork_of(std::size_t branch) const {
    for (std::size_t c = 0; c < plan_.clocks.size(); ++c) {
      const std::vector<Step>& steps = plan_.clocks[c].steps;
      for (std::size_t at = 0; at < steps.size(); ++at) {
        const auto* const fork = std::get_if<Fork>(&steps[at]);
        if (fork != nullptr && std::count(fork->clocks.begin(), fork->clocks.end(), branch) > 0)
          return {c, static_cast<Position>(at), fork};
      }
    }
    return {};  // unreachable: every clock but the root is a branch of a fork
  }

  void apply(const memories::Moved& moved) {
    const StretchedClock stretch(moved.positions);
    move_views(stretch);
    replace_buffers(moved);
    std::vector<Step> steps(plan_.clocks[clock_].steps.size() + moved.copies.size());
    for (std::size_t at = 0; at < plan_.clocks[clock_].steps.size(); ++at)
      steps[static_cast<std::size_t>(stretch.at(static_cast<Position>(at)))] =
          std::move(plan_.clocks[clock_].steps[at]);
    for (const memories::Copied& copied : moved.copies) {
      const std::size_t old = old_index_of_[movables_[copied.movable].buffer];
      steps[static_cast<std::size_t>(copied.at)] =
          Copy{*tensor_of_[old], new_index_of_[copied.from], new_index_of_[copied.to]};
    }
    plan_.clocks[clock_].steps = std::move(steps);
  }

  /// Moves views to the new positions. A view that is written over lasts until then, also across copies.
  void move_views(const StretchedClock& stretch) {
    const auto views_in = views_in_buffers(plan_);
    std::vector<std::pair<ViewOf, Lifetime>> moved;
    for (std::size_t b = 0; b < views_in.size(); ++b) {
      if (plan_.buffers[b].clock != clock_) continue;
      for (const ViewOf& it : views_in[b]) {
        const auto [lower, upper] = plan_.tensors[it.tensor].views[it.view].life;
        moved.emplace_back(it, Lifetime{is_given_[it.tensor] ? stretch.before(lower) : stretch.at(lower),
                                        is_written_over(plan_, views_in[b], it) ? stretch.at(upper)
                                                                                : stretch.before(upper)});
      }
    }
    for (const auto& [it, life] : moved) plan_.tensors[it.tensor].views[it.view].life = life;
  }

  void replace_buffers(const memories::Moved& moved) {
    std::vector<Buffer> buffers;
    std::vector<Place> places;
    base::UniqueNames ids;
    const auto add = [&](Buffer buffer, const Place& place) {
      buffers.push_back(std::move(buffer));
      places.push_back(place);
    };
    for (const Buffer& buffer : plan_.buffers) {
      if (buffer.clock != clock_) ids.reserve(buffer.id);
    }
    new_index_of_.resize(moved.origins.size());
    std::vector<std::vector<std::size_t>> becomes(plan_.buffers.size());
    std::size_t next = 0;  // buffer of the moved problem, in the order of origins
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      Buffer& old = plan_.buffers[b];
      if (old.clock != clock_) {
        becomes[b].push_back(buffers.size());
        add(std::move(old), plan_.places[b]);
        continue;
      }
      old_index_of_.push_back(b);
      for (; next < moved.origins.size() && moved.origins[next] == index_of_[b]; ++next) {
        Buffer buffer = moved.problem.buffers[next];
        buffer.id = ids.unique(std::move(buffer.id));
        buffer.kind = old.kind;
        buffer.memories = old.memories;
        new_index_of_[next] = buffers.size();
        becomes[b].push_back(buffers.size());
        add(std::move(buffer), moved.solution.places[next]);
      }
    }
    plan_.buffers = std::move(buffers);
    plan_.places = std::move(places);
    follow_buffers(becomes);
  }

  /// A tensor whose buffer became several gets a view in each. Only other clocks have copies already.
  void follow_buffers(const std::vector<std::vector<std::size_t>>& becomes) {
    for (Clock& clock : plan_.clocks) {
      for (Step& step : clock.steps) {
        auto* const copy = std::get_if<Copy>(&step);
        if (copy != nullptr) {
          copy->from = becomes[copy->from][0];
          copy->to = becomes[copy->to][0];
        }
      }
    }
    for (PlannedTensor& tensor : plan_.tensors) {
      std::vector<View> views;
      for (const View& view : tensor.views) {
        const auto& parts = becomes[view.buffer];
        for (const std::size_t part : parts) {
          views.push_back(view);
          views.back().buffer = part;
          if (parts.size() > 1) views.back().life = plan_.buffers[part].pieces[0].life;
        }
      }
      tensor.views = std::move(views);
    }
  }

  std::span<const Input> networks_;
  const std::vector<Memory>& memories_;
  Plan& plan_;
  std::size_t clock_;
  Problem problem_;  ///< The clock's buffers, then those of others.
  Solution solution_;
  std::vector<memories::Movable> movables_;
  std::vector<std::size_t> first_tensor_;              ///< Per model: index in Plan::tensors.
  std::vector<bool> is_given_;                         ///< Per tensor: no operator of its clock writes it.
  std::vector<std::size_t> index_of_;                  ///< Per buffer of the clock: index in `problem_`.
  std::vector<std::optional<std::size_t>> tensor_of_;  ///< Per buffer: the tensor in it that can move.
  std::vector<std::size_t> old_index_of_;              ///< Per own buffer of `problem_`.
  std::vector<std::size_t> new_index_of_;              ///< Per buffer of the moved problem.
};

}  // namespace

void move_tensors(std::span<const Input> networks, const std::vector<Memory>& memories,
                  const pack::Control& control, Plan& plan) {
  for (std::size_t clock = 0; clock < plan.clocks.size(); ++clock)
    ClockMover(networks, memories, clock, plan).run(control);
}

}  // namespace stowage::plan
