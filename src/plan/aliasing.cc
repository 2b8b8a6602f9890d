// Idea. Sharing never raises the load, but it makes larger, oddly shaped buffers, and these may pack
// worse. What a packer makes of them is not to be foreseen, so `automatic` asks it: everything shared
// is kept if its peak reaches what no plan without sharing can beat, or what one has in fact. Otherwise
// groups are admitted in halves, as one looks for the bad apple in a basket: a set that does not
// raise the peak above that of the plan without sharing is kept, any other is split, and a single
// group that raises it stays out.
//
//     all groups -> too high -> first half  -> fine, kept
//                               second half -> too high -> ... -> one group left out
//
// Cost: one packing, mostly; two where sharing has to be compared; about log(groups) for each group
// that is left out. They share the time limit.

#include "plan/aliasing.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "lifetime/residence.h"
#include "lifetime/uses.h"
#include "plan/provable.h"

namespace stowage::plan {
namespace {

using Seconds = std::chrono::duration<double>;

class Arranger {
 public:
  Arranger(const Graph& graph, const Clock& clock, const ArrangeOptions& options)
      : graph_(graph),
        clock_(clock),
        options_(options),
        uses_(lifetime::uses_of(graph, clock)),
        residences_(lifetime::residences_of(graph, uses_, options.plan.io)),
        begin_(std::chrono::steady_clock::now()) {
    for (const auto& [tensor, residence] : options.fed) residences_[tensor] = residence;
  }

  Arrangement take() {
    Arrangement taken = decide();
    taken.uses = std::move(uses_);
    return taken;
  }

 private:
  Arrangement decide() {
    if (options_.plan.alias != Alias::automatic) return packed(shared({}), options_.plan.solve.time_limit);
    alias::Sharing sharing = shared({});
    const auto is_group = [](const alias::Shared& it) { return it.members.size() > 1; };
    if (std::none_of(sharing.groups.begin(), sharing.groups.end(), is_group))
      return packed(std::move(sharing), remaining());
    Arrangement all = packed(std::move(sharing), remaining() / 2);
    if (reaches(all, all.buffers)) return all;  // and the load without sharing is no lower
    alias::Sharing nothing = shared(std::vector<bool>(graph_.tensors.size(), true));
    if (reaches(all, buffers_of(nothing))) return all;
    Arrangement apart = packed(std::move(nothing), remaining() / 2);
    if (all.cost <= apart.cost) return all;
    return admitted(all.sharing.groups, std::move(apart));
  }

  [[nodiscard]] Seconds remaining() const {
    return std::max(options_.plan.solve.time_limit - Seconds(std::chrono::steady_clock::now() - begin_),
                    Seconds(0));
  }

  [[nodiscard]] alias::Sharing shared(std::vector<bool> apart) const {
    return alias::share(graph_, clock_, uses_, residences_,
                        {.alias = options_.plan.alias,
                         .target = options_.plan.target,
                         .alignment = options_.buffers.alignment,
                         .apart = std::move(apart),
                         .model = options_.buffers.model});
  }

  [[nodiscard]] alias::Buffers buffers_of(const alias::Sharing& sharing) const {
    return alias::buffers_of(graph_, uses_, sharing, options_.buffers);
  }

  [[nodiscard]] Arrangement packed(alias::Sharing sharing, Seconds time_limit) const {
    Arrangement result;
    result.sharing = std::move(sharing);
    result.buffers = buffers_of(result.sharing);
    const Problem problem = problem_of(result.buffers.buffers, options_.plan.memories);
    SolveOptions solve_options = options_.plan.solve;
    solve_options.time_limit = time_limit;
    result.solution = solve_provably(problem, solve_options);
    result.cost = {result.solution.outcome, result.solution.cost, total_peak(problem, result.solution)};
    return result;
  }

  /// No plan of these buffers is better.
  static bool reaches(const Arrangement& arrangement, const alias::Buffers& buffers) {
    return arrangement.cost <= Cost{Outcome::fits, 0, max_load(buffers.buffers)};
  }

  /// The groups that do not raise the peak, larger ones first.
  Arrangement admitted(const std::vector<alias::Shared>& groups, Arrangement best) {
    std::vector<const alias::Shared*> candidates;
    for (const alias::Shared& group : groups) {
      if (group.members.size() > 1) candidates.push_back(&group);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto* a, const auto* b) { return a->end > b->end; });
    is_apart_.assign(graph_.tensors.size(), true);
    const std::span<const alias::Shared* const> all(candidates);
    if (all.size() > 1) {  // all at once is known to be too much
      admit(all.first(all.size() / 2), best);
      admit(all.subspan(all.size() / 2), best);
    }
    return best;
  }

  void admit(std::span<const alias::Shared* const> groups, Arrangement& best) {
    if (remaining() == Seconds(0) || options_.plan.solve.stop.stop_requested()) return;
    set_apart(groups, false);
    Arrangement candidate = packed(shared(is_apart_), remaining() / 4);
    if (candidate.cost <= best.cost) {
      best = std::move(candidate);
      return;
    }
    set_apart(groups, true);
    if (groups.size() == 1) return;
    admit(groups.first(groups.size() / 2), best);
    admit(groups.subspan(groups.size() / 2), best);
  }

  void set_apart(std::span<const alias::Shared* const> groups, bool apart) {
    for (const alias::Shared* const group : groups) {
      for (const alias::Member& member : group->members) is_apart_[member.tensor] = apart;
    }
  }

  const Graph& graph_;
  const Clock& clock_;
  const ArrangeOptions& options_;
  lifetime::Uses uses_;
  std::vector<lifetime::Residence> residences_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<bool> is_apart_;
};

}  // namespace

Arrangement arrange(const Graph& graph, const Clock& clock, const ArrangeOptions& options) {
  return Arranger(graph, clock, options).take();
}

Problem problem_of(std::vector<Buffer> buffers, const std::vector<Memory>& memories) {
  Problem problem{std::move(buffers), memories};
  for (Memory& memory : problem.memories) {
    for (const Buffer& buffer : problem.buffers)
      memory.alignment = std::max(memory.alignment, buffer.alignment);
  }
  return problem;
}

Bytes total_peak(const Problem& problem, const Solution& solution) {
  Bytes peak = 0;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) peak += peak_of(problem, solution, m);
  return peak;
}

}  // namespace stowage::plan
