#include "replay.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "player.h"
#include "random.h"

namespace stowage::campaign {
namespace {

const std::vector<Step>& steps_of(const Plan& plan, std::size_t clock) { return plan.clocks[clock].steps; }

/// Where a clock is. What runs at the same time takes turns.
class Cursor {
 public:
  Cursor(Player& player, const Plan& plan, std::span<const Graph> graphs, std::size_t clock, Random& random)
      : player_(player), plan_(plan), graphs_(graphs), clock_(clock), random_(random) {}

  [[nodiscard]] bool is_done() const { return branches_.empty() && next_ == steps_of(plan_, clock_).size(); }

  void advance() {
    if (!branches_.empty()) return advance_branch();
    go(static_cast<Position>(next_));
    if (next_ == 0) player_.give_lasting(clock_);
    const Step& step = steps_of(plan_, clock_)[next_];
    if (const auto* fork = std::get_if<Fork>(&step)) {
      for (const std::size_t branch : fork->clocks)
        branches_.push_back(std::make_unique<Cursor>(player_, plan_, graphs_, branch, random_));
      ++next_;
      drop_finished();
      return;
    }
    const auto* run = std::get_if<Run>(&step);
    if (is_first(next_)) player_.give_inputs(*model_of(step));
    const std::size_t begun = next_;
    if (run != nullptr && has_bodies(*run))
      run_bodies(*run);
    else
      player_.step(steps_of(plan_, clock_)[next_++]);
    for (std::size_t i = begun; i < next_; ++i)
      if (is_last(i)) player_.take_outputs(*model_of(steps_of(plan_, clock_)[i]));
    if (is_done()) leave();
  }

 private:
  void go(std::optional<Position> position) { player_.machine().memory().go(clock_, position); }
  void leave() {
    if (clock_ != 0) go(std::nullopt);
  }

  void advance_branch() {
    Cursor& branch = *branches_[random_.index(branches_.size())];
    branch.advance();
    drop_finished();
    if (is_done()) leave();
  }

  void drop_finished() {
    std::erase_if(branches_, [](const auto& branch) { return branch->is_done(); });
  }

  [[nodiscard]] std::optional<std::size_t> model_of(const Step& step) const {
    if (const auto* run = std::get_if<Run>(&step)) return run->model;
    if (const auto* copy = std::get_if<Copy>(&step)) return plan_.tensors[copy->tensor].model;
    if (const auto* arrive = std::get_if<Arrive>(&step)) return plan_.tensors[arrive->tensor].model;
    if (const auto* leave = std::get_if<Leave>(&step)) return plan_.tensors[leave->tensor].model;
    return std::nullopt;
  }

  [[nodiscard]] bool is_first(std::size_t position) const {
    const auto model = model_of(steps_of(plan_, clock_)[position]);
    for (std::size_t i = 0; i < position; ++i)
      if (model_of(steps_of(plan_, clock_)[i]) == model) return false;
    return model.has_value();
  }

  [[nodiscard]] bool is_last(std::size_t position) const {
    const auto model = model_of(steps_of(plan_, clock_)[position]);
    for (std::size_t i = position + 1; i < steps_of(plan_, clock_).size(); ++i)
      if (model_of(steps_of(plan_, clock_)[i]) == model) return false;
    return model.has_value();
  }

  [[nodiscard]] bool has_bodies(const Run& run) const {
    return !graphs_[run.model]
                .subgraphs[run.path[run.path.size() - 2]]
                .operators[run.path.back()]
                .bodies.empty();
  }

  /// Whether the step at that position is of a body of the operator.
  [[nodiscard]] bool is_inside(std::size_t position, const Run& owner,
                               std::optional<std::size_t> body) const {
    if (position >= steps_of(plan_, clock_).size()) return false;
    const auto* run = std::get_if<Run>(&steps_of(plan_, clock_)[position]);
    return run != nullptr && run->model == owner.model && run->path.size() > owner.path.size() &&
           std::equal(owner.path.begin(), owner.path.end(), run->path.begin()) &&
           (!body || run->path[owner.path.size()] == *body);
  }

  /// An If runs one of its bodies, a loop all of them, twice.
  void run_bodies(const Run& owner) {
    const Operator& op =
        graphs_[owner.model].subgraphs[owner.path[owner.path.size() - 2]].operators[owner.path.back()];
    player_.begin_bodies(owner);
    const std::size_t first = next_ + 1;
    std::size_t end = first;
    while (is_inside(end, owner, std::nullopt)) ++end;
    const std::size_t chosen = op.bodies[random_.index(op.bodies.size())];
    const int rounds = op.body_use == BodyUse::repeated ? 2 : 1;
    for (int round = 0; round < rounds; ++round)
      for (const std::size_t body : op.bodies)
        if (op.body_use == BodyUse::repeated || body == chosen) run_body(owner, first, body);
    if (end > first) go(static_cast<Position>(end - 1));
    player_.end_bodies(owner);
    next_ = end;
  }

  void run_body(const Run& owner, std::size_t from, std::size_t body) {
    next_ = from;
    while (is_inside(next_, owner, std::nullopt) && !is_inside(next_, owner, body)) ++next_;
    bool is_begun = false;
    const Run* last = nullptr;
    while (is_inside(next_, owner, body)) {
      go(static_cast<Position>(next_));
      const auto& run = std::get<Run>(steps_of(plan_, clock_)[next_]);
      last = &run;
      if (!is_begun) player_.begin_body(run);
      is_begun = true;
      if (has_bodies(run)) {
        run_bodies(run);
      } else {
        player_.step(steps_of(plan_, clock_)[next_++]);
      }
    }
    if (last != nullptr) player_.end_body(*last);
  }

  Player& player_;
  const Plan& plan_;
  std::span<const Graph> graphs_;
  std::size_t clock_;
  Random& random_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Cursor>> branches_;
};

}  // namespace

Findings replay(const Networks& networks, const Plan& plan, std::uint64_t seed, ReplayTally& tally) {
  const std::vector<Graph>& graphs = networks.graphs;
  const bool has_turns =
      plan.clocks.size() > 1 || std::any_of(graphs.begin(), graphs.end(),
                                            [](const Graph& graph) { return graph.subgraphs.size() > 1; });
  Findings findings;
  for (std::uint64_t turn = 0; turn < (has_turns ? 4 : 1) && findings.empty(); ++turn) {
    Random random(seed + turn);
    Player player(networks, plan, findings, tally);
    Cursor root(player, plan, graphs, 0, random);
    while (!root.is_done() && findings.size() < 8) root.advance();
    if (findings.empty()) player.finish();
  }
  return findings;
}

}  // namespace stowage::campaign
