// A tensor that moves has several views; of those live at a position, some have its value. An operator
// writes the view in the fastest memory; then only that view has the value. A copy fills one more view.
// Readers take the fastest live view, so that one must have the value by then:
//
//   position      0   1   2   3   4
//   fast, a       w   c                  written at 0, copied out at 1
//   slow              |===========|      has the value from 1 on
//   fast, b                   c   r      copied in at 3, read at 4
//
// The bytes of a view are needed from the write or copy that fills it to the last read or copy from it. In plans by rows
// this holds for each row; rows that always go together, between the ends of all views and uses, are followed together.
//
// Cost: n log n in views and uses, times the parts into which others cut their rows.

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
#include "check/views.h"

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
  if (is_constant(kind)) return;  // check_weights follows these
  if (kind == TensorKind::state || kind == TensorKind::scratch)
    fault(fmt::format(" copies {}, which is of kind {}", name, name_of(kind)));
}

/// Rows may take turns in a buffer; what they need is found row by row.
void check_alone(const Plan& plan, const std::vector<bool>& moved, Faults& faults) {
  std::vector<bool> is_by_rows;
  for (std::size_t m = 0; m < plan.models.size(); ++m) is_by_rows.push_back(is_streamed(plan, m));
  std::unordered_map<std::size_t, std::size_t> held_by;  // buffers of tensors that move
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (!moved[t] || is_by_rows[plan.tensors[t].model]) continue;
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

/// Rows that go together, with their views and uses.
struct RowsTogether {
  Rows rows{};
  std::vector<const View*> views{};
  std::vector<const Use*> uses{};
};

class Follower {
 public:
  Follower(const Plan& plan, const model::ClockTree& tree, const TensorRows& of_tensor,
           const RowsTogether& together, std::string name, Faults& faults)
      : plan_(plan),
        name_(std::move(name)),
        of_tensor_(of_tensor),
        rows_(together.rows),
        clock_(together.uses.front()->clock),
        faults_(faults) {
    for (const View* const view : together.views) add_view(tree, *view);
    std::sort(views_.begin(), views_.end(),
              [](const Seen& a, const Seen& b) { return a.life.lower < b.life.lower; });
  }

  std::vector<KeptBytes> follow(std::span<const Use* const> uses) {
    for (const Use* const it : uses) {
      const Use& use = *it;
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
    const View& view = *views_[v].view;
    views_[v].need = needs_.size();
    spans_.emplace_back(needs_.size(), v);
    KeptBytes need{.tensor = use.tensor, .rows = rows_, .life = life, .is_given = use.is_given};
    if (view.rows) {
      need.view = &view;
      need.buffer = view.buffer;
      need.first = view.offset + (rows_.first - view.rows->begin) * of_tensor_.bytes;
      need.step = of_tensor_.bytes;
    } else {
      put_in_whole(view, of_tensor_, need);
    }
    needs_.push_back(need);
  }

  void take(std::size_t v, const Use& use) {
    KeptBytes& need = needs_[*views_[v].need];
    const bool is_later = need.life.upper < use.life.upper;
    need.may_end_early =
        use.may_write_over && (is_later || need.may_end_early) && need.life.upper <= use.life.upper;
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
  std::string name_;
  TensorRows of_tensor_;
  Rows rows_;
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

constexpr std::size_t most_uses = std::size_t{1} << 23;  // of all parts of a tensor's rows

/// The rows of a tensor, cut where views or uses begin or end. None if they are too many.
std::optional<std::vector<RowsTogether>> row_parts_of(const PlannedTensor& tensor, const TensorRows& rows,
                                                      std::span<const Use> uses) {
  std::vector<std::int64_t> cuts;
  const auto cut = [&](const Rows& at) { cuts.insert(cuts.end(), {at.first, at.second}); };
  for (const View& view : tensor.views) cut(rows_in(view, rows));
  for (const Use& use : uses) cut(use.rows);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<RowsTogether> parts;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) parts.push_back({.rows = {cuts[i], cuts[i + 1]}});
  std::size_t count = 0;
  const auto in_each = [&](const Rows& at, auto add) {
    const auto first = std::lower_bound(cuts.begin(), cuts.end(), at.first) - cuts.begin();
    for (auto i = static_cast<std::size_t>(first); i < parts.size() && parts[i].rows.first < at.second;
         ++i, ++count)
      add(parts[i]);
    return count <= most_uses;
  };
  for (const View& view : tensor.views) {
    if (!in_each(rows_in(view, rows), [&](RowsTogether& it) { it.views.push_back(&view); }))
      return std::nullopt;
  }
  for (const Use& use : uses) {
    if (!in_each(use.rows, [&](RowsTogether& it) { it.uses.push_back(&use); })) return std::nullopt;
  }
  std::erase_if(parts, [](const RowsTogether& it) { return it.uses.empty(); });
  return parts;
}

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

std::vector<KeptBytes> follow(const NetworkSteps& part, const model::ClockTree& tree, TensorId tensor,
                              std::span<const Use> uses, Faults& faults) {
  const PlannedTensor& planned = *part.matched[tensor];
  const std::string name = describe(*part.graph, tensor);
  const auto refuse = [&](const std::string& why) {
    faults.push_back({FaultKind::format, fmt::format("{} is copied, {}", name, why)});
    return std::vector<KeptBytes>();
  };
  if (std::ranges::any_of(planned.views, [](const View& view) { return view.ring.has_value(); }))
    return refuse("but has rows in a ring; this version understands copies of rows apart from each other");
  const TensorRows rows = part.rows_of(tensor);
  const auto parts = row_parts_of(planned, rows, uses);
  if (!parts) return refuse(fmt::format("and its rows are used more than {} times", most_uses));
  std::vector<KeptBytes> all;
  for (const RowsTogether& it : *parts) {
    std::string of_rows =
        rows.axis ? fmt::format("rows {} to {} of {}", it.rows.first, it.rows.second, name) : name;
    Follower follower(*part.plan, tree, rows, it, std::move(of_rows), faults);
    for (KeptBytes& need : follower.follow(it.uses)) all.push_back(std::move(need));
  }
  return all;
}

}  // namespace stowage::check
