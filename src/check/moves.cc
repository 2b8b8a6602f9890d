// A tensor that moves has several views; of those live at a position, some have its value. An operator
// writes the view in the fastest memory; then only that view has the value. A copy fills one more view.
// Readers take the fastest live view, so that one must have the value by then:
//
//   position      0   1   2   3   4
//   fast, a       w   c                  written at 0, copied out at 1
//   slow              |===========|      has the value from 1 on
//   fast, b                   c   r      copied in at 3, read at 4
//
// The bytes of a view are needed from the write or copy that fills it to the last read or copy from it.
// Cost: n log n in views and uses.

#include "check/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "check/constants.h"
#include "check/names.h"

namespace stowage::check {
namespace {

/// Every tensor with each buffer of its views.
using Residences = std::set<std::pair<std::size_t, std::size_t>>;

Residences residences_of(const Plan& plan) {
  Residences residences;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    for (const View& view : plan.tensors[t].views) residences.emplace(t, view.buffer);
  }
  return residences;
}

void check_copy_form(const Plan& plan, const Residences& residences, const std::string& step,
                     const Copy& copy, Faults& faults) {
  const auto fault = [&](const std::string& what) { faults.push_back({FaultKind::format, step + what}); };
  if (copy.tensor >= plan.tensors.size()) {
    fault(fmt::format(" copies tensor {}, there are {}", copy.tensor, plan.tensors.size()));
    return;
  }
  const PlannedTensor& tensor = plan.tensors[copy.tensor];
  const std::string name = name_of_tensor(tensor);
  for (const std::size_t buffer : {copy.from, copy.to}) {
    if (buffer >= plan.buffers.size()) {
      fault(fmt::format(" copies {} from or to buffer {}, there are {}", name, buffer, plan.buffers.size()));
    } else if (!residences.contains({copy.tensor, buffer})) {
      fault(fmt::format(" copies {} from or to {}, in which it has no view", name,
                        name_of_buffer(plan, buffer)));
    }
  }
  if (copy.from == copy.to) fault(fmt::format(" copies {} to where it is", name));
  const TensorKind kind = tensor.tensor.kind;
  if (is_constant(kind) || kind == TensorKind::state || kind == TensorKind::scratch)
    fault(fmt::format(" copies {}, which is of kind {}", name, name_of(kind)));
}

void check_alone(const Plan& plan, const std::vector<bool>& moved, Faults& faults) {
  std::unordered_map<std::size_t, std::size_t> held_by;  // buffers of tensors that move
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (!moved[t]) continue;
    for (const View& view : plan.tensors[t].views) held_by.emplace(view.buffer, t);
  }
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    for (const View& view : plan.tensors[t].views) {
      const auto it = held_by.find(view.buffer);
      if (it == held_by.end() || it->second == t) continue;
      faults.push_back(
          {FaultKind::format,
           fmt::format("{} is copied and shares {} with {}", name_of_tensor(plan.tensors[it->second]),
                       name_of_buffer(plan, view.buffer), name_of_tensor(plan.tensors[t]))});
      break;
    }
  }
}

class Follower {
 public:
  Follower(const Plan& plan, const model::ClockTree& tree, std::size_t tensor, const std::string& name,
           std::size_t clock, Faults& faults)
      : plan_(plan), name_(name), bytes_(plan.tensors[tensor].tensor.bytes), clock_(clock), faults_(faults) {
    for (const View& view : plan.tensors[tensor].views) add_view(tree, view);
    std::sort(views_.begin(), views_.end(),
              [](const Seen& a, const Seen& b) { return a.life.lower < b.life.lower; });
  }

  std::vector<KeptBytes> follow(std::span<const Use> uses) {
    for (const Use& use : uses) {
      while (begun_ < views_.size() && views_[begun_].life.lower <= use.life.lower) begin_next();
      if (use.copy != nullptr) {
        play_copy(use);
      } else {
        play_access(use);
      }
    }
    for (const auto& [need, v] : spans_) {
      if (needs_[need].life.upper <= views_[v].life.upper) continue;
      fault(needs_[need].life, " needs its bytes", views_[v].view->buffer);
    }
    return std::move(needs_);
  }

 private:
  /// A view, and its live range on the clock of the tensor's model.
  struct Seen {
    const View* view = nullptr;
    Lifetime life{};
    std::optional<std::size_t> need{};  ///< Set if it has, or had, the value.
  };

  [[nodiscard]] bool has_value(std::size_t v) const {
    return views_[v].need && *views_[v].need >= first_valid_;
  }

  void add_view(const model::ClockTree& tree, const View& view) {
    const std::size_t clock = plan_.buffers[view.buffer].clock;
    const Lifetime all{0, tree.end_of(clock_)};
    if (clock == clock_) {
      views_.push_back({&view, view.life, {}});
    } else if (const auto fork = tree.seen_from(clock, {clock_, all})) {
      if (view.life.lower <= fork->lower && fork->upper <= view.life.upper)
        views_.push_back({&view, all, {}});
    }
  }

  void begin_next() {
    const View& view = *views_[begun_].view;
    alive_.emplace(plan_.places[view.buffer].memory, begun_);
    in_buffer_[view.buffer] = begun_;
    ++begun_;
  }

  void fault(const Lifetime& life, const std::string& what, std::size_t buffer) {
    faults_.push_back(
        {FaultKind::accounting,
         fmt::format("{}{} in {} from {} to {}{}, but does not have them there then", name_, what,
                     name_of_buffer(plan_, buffer), life.lower, life.upper, of_clock(clock_))});
  }

  /// The view that operators use at that position.
  std::optional<std::size_t> fastest_at(Position at) {
    auto it = alive_.begin();
    while (it != alive_.end() && views_[it->second].life.upper <= at) it = alive_.erase(it);
    if (it == alive_.end()) return std::nullopt;
    auto next = std::next(it);
    while (next != alive_.end() && views_[next->second].life.upper <= at) next = alive_.erase(next);
    if (next != alive_.end() && next->first == it->first) {
      faults_.push_back(
          {FaultKind::format, fmt::format("{} has two views in {} at position {}{}, and is copied", name_,
                                          name_of_memory(plan_, it->first), at, of_clock(clock_))});
    }
    return it->second;
  }

  std::optional<std::size_t> in_buffer_at(std::size_t buffer, Position at) const {
    const auto it = in_buffer_.find(buffer);
    if (it == in_buffer_.end() || views_[it->second].life.upper <= at) return std::nullopt;
    return it->second;
  }

  void fill(std::size_t v, const Lifetime& life, const Use& use) {
    views_[v].need = needs_.size();
    spans_.emplace_back(needs_.size(), v);
    needs_.push_back({.tensor = use.tensor,
                      .life = life,
                      .is_given = use.is_given,
                      .view = views_[v].view,
                      .buffer = views_[v].view->buffer,
                      .first = views_[v].view->offset,
                      .step = bytes_});
  }

  void take(std::size_t v, const Use& use) {
    KeptBytes& need = needs_[*views_[v].need];
    need.life.upper = std::max(need.life.upper, use.life.upper);
  }

  void play_access(const Use& use) {
    const auto v = fastest_at(use.life.lower);
    if (!v) {
      faults_.push_back(
          {FaultKind::accounting, fmt::format("{} is used by {} at position {}{} but has no place then",
                                              name_, use.by, use.life.lower, of_clock(clock_))});
    } else if (use.is_written || use.is_given) {
      first_valid_ = needs_.size();
      fill(*v, use.life, use);
    } else if (!has_value(*v)) {
      fault(use.life, fmt::format(" is read by {}", use.by), views_[*v].view->buffer);
    } else {
      take(*v, use);
    }
  }

  void play_copy(const Use& use) {
    const auto from = in_buffer_at(use.copy->from, use.life.lower);
    const auto to = in_buffer_at(use.copy->to, use.life.lower);
    if (!from || !has_value(*from)) {
      fault(use.life, " is copied from where it is", use.copy->from);
    } else {
      take(*from, use);
    }
    if (!to) {
      fault(use.life, " is copied to where it has no place,", use.copy->to);
    } else if (!has_value(*to)) {
      fill(*to, use.life, use);
    }
  }

  const Plan& plan_;
  const std::string& name_;
  Bytes bytes_;
  std::size_t clock_;
  Faults& faults_;
  std::vector<Seen> views_;  ///< In time order.
  std::size_t begun_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> alive_;     ///< Memory, fastest first, and view.
  std::unordered_map<std::size_t, std::size_t> in_buffer_;  ///< The last view that began in each.
  std::vector<KeptBytes> needs_;
  std::size_t first_valid_ = 0;                             ///< The first need of the present value.
  std::vector<std::pair<std::size_t, std::size_t>> spans_;  ///< Needs, and the view of each.
};

}  // namespace

void check_copies_form(const Plan& plan, Faults& faults) {
  const std::size_t before = faults.size();
  const Residences residences = residences_of(plan);
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto* const copy = std::get_if<Copy>(&plan.clocks[c].steps[at]);
      if (copy != nullptr)
        check_copy_form(plan, residences, fmt::format("step {} of clock {}", at, c), *copy, faults);
    }
  }
  if (faults.size() != before) return;
  const std::vector<bool> moved = moved_tensors(plan);
  check_alone(plan, moved, faults);
  for (const Feed& feed : plan.feeds) {
    for (const std::size_t tensor : {feed.output, feed.input}) {
      if (!moved[tensor]) continue;
      faults.push_back({FaultKind::format, name_of_tensor(plan.tensors[tensor]) +
                                               " is copied, though it is fed from one model to another"});
    }
  }
}

std::vector<bool> moved_tensors(const Plan& plan) {
  std::vector<bool> moved(plan.tensors.size(), false);
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      if (const auto* const copy = std::get_if<Copy>(&step)) moved[copy->tensor] = true;
    }
  }
  return moved;
}

std::vector<KeptBytes> follow(const Plan& plan, const model::ClockTree& tree, std::size_t tensor,
                              const std::string& name, std::span<const Use> uses, Faults& faults) {
  if (uses.empty()) return {};
  return Follower(plan, tree, tensor, name, uses.front().clock, faults).follow(uses);
}

}  // namespace stowage::check
