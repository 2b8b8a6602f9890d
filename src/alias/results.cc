// A result of an If lies where its branches compute it, one of a loop where the loop carries it:
//
//     position   If t   then-branch      else-branch      readers
//                       a   a   to       b   eo
//     before     r------r---r---r--------r---r------------r---|
//     in place                  to|          eo-----------r---|     to, eo and r have one place
//
// Only one branch runs. So in each of them the bytes are taken from where that branch writes its result, and a branch
// that runs later on the clock may use them until then: the value of another branch is not there when it runs. A
// branch whose result is not its own (a tensor around it, a weight, an input that it passes on, or a tensor that is
// another result already) copies it when it ends: the output's place is held through that branch. Nothing is copied
// at the end of a loop: the inputs that it carries have the last values, also after no round at all.
//
// Cost: linear in results and runs.

#include "alias/results.h"

#include <algorithm>
#include <set>

namespace stowage::alias {
namespace {

using lifetime::Residence;
using lifetime::RunOfBodies;

void add(const Lifetime& life, std::vector<Lifetime>& lives) {
  if (!lives.empty() && life.lower <= lives.back().upper) {
    lives.back().upper = std::max(lives.back().upper, life.upper);
  } else {
    lives.push_back(life);
  }
}

}  // namespace

std::vector<operators::Result> results_made_in_bodies(const Graph& graph,
                                                      const std::vector<std::optional<std::size_t>>& owners,
                                                      const std::vector<Residence>& residences,
                                                      const Operator& op) {
  std::vector<operators::Result> results = operators::results_of_bodies(graph, op);
  std::set<TensorId> taken;
  std::erase_if(results, [&](const operators::Result& result) {
    if (residences[result.from] != Residence::arena || residences[result.to] != Residence::arena) return true;
    if (op.body_use == BodyUse::once) {
      const std::size_t body = op.bodies[result.body];
      const std::vector<TensorId>& inputs = graph.subgraphs[body].inputs;
      if (owners[result.from] != body || std::ranges::find(inputs, result.from) != inputs.end()) return true;
    }
    return !taken.insert(result.from).second;
  });
  return results;
}

ResultLives lives_of_result(const std::vector<Lifetime>& lives, std::span<const RunOfBodies* const> runs,
                            bool is_loop, const std::vector<bool>& in_place) {
  ResultLives result;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const RunOfBodies& run = *runs[k];
    const Lifetime after{run.end, std::max(run.end, lives[k].upper)};
    std::vector<Lifetime> seen;
    if (is_loop) {
      seen.push_back({run.at, run.end});
    } else {
      std::vector<Lifetime> held;
      const auto add_branch = [&](std::size_t b) {
        const Lifetime& body = run.bodies[b];
        const Lifetime steps = body.lower < body.upper ? body : Lifetime{run.at, run.at + 1};
        if (!in_place[b]) add(steps, held);
        add({in_place[b] ? steps.upper - 1 : steps.lower, steps.upper}, seen);
      };
      const auto is_empty = [&](std::size_t b) { return run.bodies[b].lower == run.bodies[b].upper; };
      for (std::size_t b = 0; b < run.bodies.size(); ++b) {
        if (is_empty(b)) add_branch(b);
      }
      for (std::size_t b = 0; b < run.bodies.size(); ++b) {
        if (!is_empty(b)) add_branch(b);
      }
      add({run.end - 1, run.end}, seen);
      result.held.insert(result.held.end(), held.begin(), held.end());
    }
    result.after.push_back(after);
    result.seen.push_back(std::move(seen));
  }
  return result;
}

}  // namespace stowage::alias
