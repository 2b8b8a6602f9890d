// Writes problems and solutions in stowage's own JSON format, version 1 (docs/problem-json.md).

#include "stowage/problem_json.h"

#include <ostream>
#include <ranges>
#include <string>
#include <vector>

#include "base/text.h"
#include "export/json.h"
#include "stowage/error.h"
#include "stowage/version.h"

namespace stowage {
namespace {

using exporting::Json;

Json memory_of_problem(const Memory& memory) {
  Json json{{"name", memory.name}};
  if (memory.capacity) json["capacity"] = *memory.capacity;
  if (memory.cost != 1) json["cost"] = memory.cost;
  for (const ByteRange& range : memory.reserved) json["reserved"].push_back({range.begin, range.end});
  return json;
}

Json buffer_of_problem(const Problem& problem, const Buffer& buffer) {
  Json json{{"id", buffer.id}, {"size", buffer.size}};
  if (buffer.alignment != 1) json["alignment"] = buffer.alignment;
  for (const Piece& piece : buffer.pieces) {
    if (piece.offset != 0 || piece.size != buffer.size)
      throw Error(base::concat("buffer ", base::quoted(buffer.id)), "has pieces, which this format has not");
    json["lives"].push_back({piece.life.lower, piece.life.upper});
  }
  for (const std::size_t memory : buffer.memories)
    json["memories"].push_back(problem.memories.at(memory).name);
  if (buffer.pinned) json["offset"] = *buffer.pinned;
  if (buffer.traffic != buffer.size) json["traffic"] = buffer.traffic;
  return json;
}

}  // namespace

void write_problem(const ProblemDocument& document, std::ostream& out) {
  const Problem& problem = document.problem;
  const Relations& relations = problem.relations;
  const auto ids = [&](std::size_t first, std::size_t second) {
    return Json{problem.buffers.at(first).id, problem.buffers.at(second).id};
  };
  const auto pair = [&](const BufferPair& it) { return ids(it.first, it.second); };
  std::vector<const CopyGains*> gains(problem.buffers.size());
  for (const CopyGains& it : relations.copies) gains.at(it.buffer) = &it;
  exporting::Document json(out, "stowage-problem");
  json.value("name", document.name);
  json.value("objective", name_of(document.objective));
  json.rows("memories", problem.memories, memory_of_problem);
  json.rows("buffers", std::views::iota(std::size_t{0}, problem.buffers.size()), [&](std::size_t b) {
    Json it = buffer_of_problem(problem, problem.buffers[b]);
    if (gains[b] != nullptr) it["copy_gains"] = gains[b]->gains;
    return it;
  });
  json.rows("together", relations.together, [&](const Joint& it) {
    return Json{{"buffers", ids(it.first, it.second)}, {"distance", it.distance}};
  });
  json.rows("apart", relations.apart, pair);
  json.rows("exclusive", relations.exclusive, pair);
  json.rows("reuse_costs", relations.reuse_costs, [&](const ReuseCost& it) {
    return Json{{"buffers", pair(it.pair)}, {"cost", it.cost}};
  });
  json.finish();
}

void write_solution(const ProblemDocument& document, const Solution& solution, std::ostream& out) {
  const Problem& problem = document.problem;
  const auto ids = [&](const std::vector<std::size_t>& buffers) {
    Json list = Json::array();
    for (const std::size_t b : buffers) list.push_back(problem.buffers[b].id);
    return list;
  };
  exporting::Document json(out, "stowage-solution");
  json.value("problem", document.name);
  json.value("solver", "stowage " + std::string(version));
  json.value("strategy", solution.strategy);
  json.value("interrupted", solution.interrupted);
  json.value("reuse_cost", solution.reuse_cost);
  json.value("memory_cost", solution.memory_cost);
  json.value("gain", solution.gain);
  json.value("reuse_cost_bound", solution.reuse_cost_bound);
  json.value("lower_bound", solution.lower_bound);
  json.value("is_least_peak", solution.is_least_peak);
  json.rows("memories", std::views::iota(std::size_t{0}, problem.memories.size()), [&](std::size_t m) {
    return Json{{"name", problem.memories[m].name}, {"peak", peak_of(problem, solution, m)}};
  });
  json.rows("places", std::views::iota(std::size_t{0}, solution.places.size()), [&](std::size_t b) {
    const Place& place = solution.places[b];
    Json it{{"buffer", problem.buffers[b].id},
            {"memory", problem.memories[place.memory].name},
            {"offset", place.offset}};
    if (!solution.copies.empty()) it["copies"] = solution.copies[b];
    return it;
  });
  const ReuseProof& proof = solution.reuse_proof;
  if (!proof.searched.empty() || !proof.cliques.empty()) {
    Json it{{"unit", proof.unit}, {"searched", Json::array()}, {"cliques", Json::array()}};
    for (const SearchedCost& set : proof.searched)
      it["searched"].push_back({{"buffers", ids(set.buffers)}, {"cost", set.cost}});
    for (const ChargedClique& set : proof.cliques)
      it["cliques"].push_back({{"buffers", ids(set.buffers)}, {"charge", set.charge}});
    json.value("proof", it);
  }
  json.finish();
}

}  // namespace stowage
