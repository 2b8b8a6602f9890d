#include <nlohmann/json.hpp>
#include <ostream>

#include "stowage/dsa.h"
#include "stowage/version.h"

namespace stowage {

void write_dsa_solution(const DsaProblem& problem, const Solution& solution, std::ostream& out) {
  nlohmann::json placements = nlohmann::json::array();
  for (std::size_t b = 0; b < solution.places.size(); ++b) {
    placements.push_back({{"buffer", problem.buffers[b]},
                          {"pool", problem.pools[solution.places[b].memory]},
                          {"offset", solution.places[b].offset}});
  }
  nlohmann::json metadata{{"solver", "stowage " + std::string(version)},
                          {"reuse_cost", std::to_string(solution.reuse_cost)},
                          {"reuse_cost_bound", std::to_string(solution.reuse_cost_bound)}};
  const ReuseProof& proof = solution.reuse_proof;
  if (!proof.searched.empty() || !proof.cliques.empty()) {
    nlohmann::json searched = nlohmann::json::array();
    for (const SearchedCost& it : proof.searched)
      searched.push_back({{"buffers", it.buffers}, {"cost", it.cost}});
    nlohmann::json cliques = nlohmann::json::array();
    for (const ChargedClique& it : proof.cliques)
      cliques.push_back({{"buffers", it.buffers}, {"charge", it.charge}});
    metadata["reuse_proof"] =
        nlohmann::json{{"unit", proof.unit}, {"searched", searched}, {"cliques", cliques}}.dump();
  }
  const nlohmann::json document{{"schema_version", 1},          {"profile", problem.profile},
                                {"instance", problem.instance}, {"problem_fingerprint", problem.fingerprint},
                                {"metadata", metadata},         {"placements", placements}};
  out << document.dump(2) << '\n';
}

}  // namespace stowage
