// How many copies buffers have, for the most gain less cost. If there are few choices in all, each is solved, those that
// gain most first; a choice that cannot beat the best one is left out. Else one copy more after the other is tried, first
// where a byte gains most.
//
// Fewer copies fit wherever more do, at no more cost: so what one copy of each costs at least, less all gains, is a bound.
//
// Cost: a search without copies for each choice, all within the deadline.

#include <algorithm>
#include <numeric>
#include <utility>

#include "pack/relations/search.h"

namespace stowage::pack::relations {
namespace {

constexpr std::size_t most_choices = 64;

using Copies = std::vector<std::int64_t>;

class CopyChoice {
 public:
  CopyChoice(const Problem& problem, const Control& control,
             const std::function<Solution(const Problem&, const Control&)>& solve)
      : problem_(problem), control_(control), solve_(solve) {}

  Solution best() {
    const auto choices = all_choices();
    const Solution single = solved(Copies(lists().size(), 1), control_.deadline.part(0.2));
    if (single.outcome != Outcome::fits) return single;
    best_ = single;
    std::int64_t all_gains = 0;
    for (const CopyGains& list : lists()) all_gains += list.gains.empty() ? 0 : list.gains.back();
    std::int64_t bound = single.reuse_cost_bound - all_gains;
    if (choices) {
      bound = std::max(bound, try_all(*choices));
    } else {
      climb();
    }
    best_.reuse_cost_bound = std::min(bound, net(best_));
    best_.reuse_proof = single.reuse_proof;
    best_.interrupted = best_.reuse_cost_bound < net(best_);
    return std::move(best_);
  }

 private:
  [[nodiscard]] const std::vector<CopyGains>& lists() const { return problem_.relations.copies; }
  static std::int64_t net(const Solution& it) { return counted_cost(it); }

  [[nodiscard]] std::int64_t gain_of(const Copies& copies) const {
    std::int64_t gain = 0;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies[i] > 1) gain += lists()[i].gains[static_cast<std::size_t>(copies[i] - 2)];
    }
    return gain;
  }

  Solution solved(const Copies& copies, const base::Deadline& deadline) const {
    Problem problem = problem_;
    problem.relations.copies.clear();
    std::vector<std::int64_t> of_buffers(problem.buffers.size(), 1);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      Buffer& buffer = problem.buffers[lists()[i].buffer];
      of_buffers[lists()[i].buffer] = copies[i];
      const Bytes size = size_of_copies(buffer, copies[i]);
      for (Piece& piece : buffer.pieces) {
        if (piece.is_ever_alive()) piece.size = size;
      }
      buffer.size = size;
    }
    Control control = control_;
    control.deadline = deadline;
    Solution solution = solve_(problem, control);
    solution.copies = std::move(of_buffers);
    solution.gain = gain_of(copies);
    solution.lower_bound = least_load(problem_);
    return solution;
  }

  /// All choices, those of most gain first; none if they are too many.
  [[nodiscard]] std::optional<std::vector<Copies>> all_choices() const {
    std::vector<Copies> choices{{}};
    for (const CopyGains& list : lists()) {
      std::vector<Copies> longer;
      for (const Copies& choice : choices) {
        for (std::size_t copies = 1; copies <= list.gains.size() + 1; ++copies) {
          longer.push_back(choice);
          longer.back().push_back(static_cast<std::int64_t>(copies));
        }
      }
      if (longer.size() > most_choices) return std::nullopt;
      choices = std::move(longer);
    }
    std::ranges::stable_sort(choices, std::ranges::greater{}, [&](const Copies& it) { return gain_of(it); });
    return choices;
  }

  /// Returns the bound.
  std::int64_t try_all(const std::vector<Copies>& choices) {
    std::int64_t bound = net(best_);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::int64_t gain = gain_of(choices[i]);
      if (-gain >= net(best_)) {
        if (control_.options.objective != Objective::cost && -gain == net(best_)) continue;
        break;
      }
      const Solution it =
          solved(choices[i], control_.deadline.part(1 / static_cast<double>(choices.size() - i)));
      if (!it.cannot_fit) bound = std::min(bound, it.reuse_cost_bound - gain);
      if (it.outcome == Outcome::fits && net(it) < net(best_)) best_ = it;
    }
    return bound;
  }

  void climb() {
    struct Step {
      std::size_t list;
      double gain;  // of a byte
    };
    std::vector<Step> steps;
    for (std::size_t i = 0; i < lists().size(); ++i) {
      std::int64_t before = 0;
      for (const std::int64_t gain : lists()[i].gains) {
        const auto bytes = static_cast<double>(problem_.buffers[lists()[i].buffer].size + 1);
        steps.push_back({i, static_cast<double>(gain - before) / bytes});
        before = gain;
      }
    }
    std::ranges::stable_sort(steps, std::ranges::greater{}, &Step::gain);
    Copies now(lists().size(), 1);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (control_.deadline.is_over()) return;
      Copies next = now;
      ++next[steps[i].list];
      Solution it = solved(next, control_.deadline.part(1 / static_cast<double>(steps.size() - i)));
      if (it.outcome != Outcome::fits || net(it) >= net(best_)) continue;
      best_ = std::move(it);
      now = next;
    }
  }

  const Problem& problem_;
  const Control& control_;
  const std::function<Solution(const Problem&, const Control&)>& solve_;
  Solution best_;
};

}  // namespace

Solution choose_copies(const Problem& problem, const Control& control,
                       const std::function<Solution(const Problem&, const Control&)>& solve) {
  return CopyChoice(problem, control, solve).best();
}

}  // namespace stowage::pack::relations
