// Sharing never raises the load, but it makes larger, irregular buffers, which may pack worse. Only packing
// shows whether they do, so `automatic` packs. It keeps all sharing if the peak reaches a bound of plans
// without sharing, or the peak of such a plan. Otherwise it admits groups in halves. It keeps a set that does
// not raise the cost above that of the best plan so far, at first the plan without sharing. It splits any
// other set. A single group that raises the cost stays out.
//
//     all groups -> too high -> first half  -> fine, kept
//                               second half -> too high -> ... -> one group left out
//
// Among several memories a large buffer may have no place in the cheap one, though others gain more than it
// loses. There it always admits in halves, and then tries to exchange single groups.
//
// Cost: usually one packing, two if sharing must be compared, and about log(groups) for each group that is
// left out; among several memories one more for each of the first 24 groups. They share the time limit.

#include "plan/arrangement.h"

#include <algorithm>
#include <span>
#include <utility>

#include "check/exhaust.h"
#include "pack/bounds.h"
#include "pack/solve.h"

namespace stowage::plan {
namespace {

constexpr std::size_t most_exchanged = 24;  // groups, among several memories

class Arranger {
 public:
  Arranger(const Context& context, const NetworkFacts& network, const Schedule& schedule,
           const PassedTensors& passed, const base::Deadline& deadline)
      : context_(context),
        network_(network),
        schedule_(schedule),
        deadline_(deadline),
        is_alone_(passed.empty()),
        residences_(network.residences()) {
    for (const auto& [tensor, residence] : passed) residences_[tensor] = residence;
  }

  Arrangement result() {
    SharesPtr shares = is_alone_ ? schedule_.shares : shared({});
    if (network_.alias() != Alias::automatic) return packed(std::move(shares), deadline_);
    if (shares->joined.empty()) return packed(std::move(shares), deadline_);
    Arrangement all = packed(std::move(shares), deadline_.part(0.5));
    if (reaches(all, all.shares->buffers)) return all;  // and the load without sharing is no lower
    SharesPtr nothing = shared(std::vector<bool>(network_.graph().tensors.size(), true));
    if (reaches(all, nothing->buffers)) return all;
    Arrangement apart = packed(std::move(nothing), deadline_.part(0.5));
    const bool is_lower = all.cost <= apart.cost;
    if (is_lower && context_.working.size() == 1) return all;
    const std::vector<Joined> groups = all.shares->joined;
    Arrangement some = admitted(groups, std::move(apart));
    if (context_.working.size() == 1) return some;
    if (is_lower && all.cost <= some.cost) {
      some = std::move(all);
      is_apart_.assign(network_.graph().tensors.size(), false);
    }
    return exchanged(groups, std::move(some));
  }

 private:
  [[nodiscard]] SharesPtr shared(std::vector<bool> apart) const {
    return network_.shares_of(schedule_.operators, schedule_.uses, residences_, std::move(apart));
  }

  [[nodiscard]] Arrangement packed(SharesPtr shares, const base::Deadline& deadline) const {
    Arrangement result{.shares = std::move(shares)};
    const Problem problem = problem_of(result.shares->buffers.buffers, context_.working);
    result.solution = solve_provably(problem, context_.options.solve, deadline);
    result.cost = {result.solution.outcome, result.solution.cost, total_peak(problem, result.solution)};
    return result;
  }

  /// Whether no plan of these buffers is better.
  static bool reaches(const Arrangement& arrangement, const alias::Buffers& buffers) {
    return arrangement.cost <= Cost{Outcome::fits, 0, max_load(buffers.buffers)};
  }

  /// Admits the groups that do not raise the cost, larger ones first.
  Arrangement admitted(const std::vector<Joined>& groups, Arrangement best) {
    std::vector<const Joined*> candidates;
    for (const Joined& group : groups) candidates.push_back(&group);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto* a, const auto* b) { return a->end > b->end; });
    is_apart_.assign(network_.graph().tensors.size(), true);
    const std::span<const Joined* const> all(candidates);
    if (all.size() > 1) {  // all of them together have been tried
      admit(all.first(all.size() / 2), best);
      admit(all.subspan(all.size() / 2), best);
    }
    return best;
  }

  void admit(std::span<const Joined* const> groups, Arrangement& best) {
    if (deadline_.is_over()) return;
    set_apart(groups, false);
    Arrangement candidate = packed(shared(is_apart_), deadline_.part(0.25));
    if (candidate.cost <= best.cost) {
      best = std::move(candidate);
      return;
    }
    set_apart(groups, true);
    if (groups.size() == 1) return;
    admit(groups.first(groups.size() / 2), best);
    admit(groups.subspan(groups.size() / 2), best);
  }

  /// Admits or leaves out one group after the other, where that lowers the cost.
  Arrangement exchanged(const std::vector<Joined>& groups, Arrangement best) {
    const std::size_t count = std::min(groups.size(), most_exchanged);
    for (std::size_t g = 0; g < count && !deadline_.is_over(); ++g) {
      const Joined* const group = &groups[g];
      const bool is_apart = is_apart_[group->tensors.front()];
      set_apart({&group, 1}, !is_apart);
      Arrangement candidate = packed(shared(is_apart_), deadline_.part(0.25));
      if (candidate.cost < best.cost) {
        best = std::move(candidate);
      } else {
        set_apart({&group, 1}, is_apart);
      }
    }
    return best;
  }

  void set_apart(std::span<const Joined* const> groups, bool apart) {
    for (const Joined* const group : groups) {
      for (const TensorId tensor : group->tensors) is_apart_[tensor] = apart;
    }
  }

  const Context& context_;
  const NetworkFacts& network_;
  const Schedule& schedule_;
  const base::Deadline& deadline_;
  const bool is_alone_;
  Residences residences_;
  std::vector<bool> is_apart_;
};

}  // namespace

Arrangement arrange(const Context& context, const NetworkFacts& network, const Schedule& schedule,
                    const PassedTensors& passed, const base::Deadline& deadline) {
  return Arranger(context, network, schedule, passed, deadline).result();
}

Problem problem_of(std::vector<Buffer> buffers, const std::vector<Memory>& memories) {
  Problem problem{std::move(buffers), memories};
  for (Memory& memory : problem.memories) {
    for (const Buffer& buffer : problem.buffers)
      memory.alignment = std::max(memory.alignment, buffer.alignment);
  }
  return problem;
}

Solution solve_provably(const Problem& problem, const SolveOptions& options, const base::Deadline& deadline) {
  Solution solution = pack::solve(problem, options, deadline);
  if (solution.certificate.empty()) return solution;
  const check::Verdict verdict =
      check::exhaust(problem.buffers, solution.certificate, solution.lower_bound - 1);
  if (verdict != check::Verdict::takes_too_long) return solution;
  solution.certificate.clear();
  solution.lower_bound = pack::lower_bound_of(problem.buffers);
  return solution;
}

Bytes total_peak(const Problem& problem, const Solution& solution) {
  Bytes peak = 0;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) peak += peak_of(problem, solution, m);
  return peak;
}

}  // namespace stowage::plan
