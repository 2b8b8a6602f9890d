// Reads problems of dsa-solver's schema, version 1: pools are memories, live intervals are pieces of a whole buffer, and
// constraints and costs are relations. A pin that is exclusive for all time keeps all other buffers apart.
//
// The fingerprint of a problem is the FNV-1a hash, of 64 bits, of the document as its own program writes it: members in
// alphabetic order, two spaces for each level, no empty reasons.
//
// Source: dsa-solver, commit a8d1257: its document of the structured problem schema, and its JSON schemas.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "import/json.h"
#include "stowage/dsa.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using import::Json;

std::uint32_t read_id(const Json& json) {
  const std::int64_t id = json.natural();
  if (id > std::int64_t{0xffffffff}) throw json.error(fmt::format("is {}, expected at most 4294967295", id));
  return static_cast<std::uint32_t>(id);
}

/// Ids and their numbers in the problem.
class Ids {
 public:
  explicit Ids(std::string_view what) : what_(what) {}

  void add(const Json& json, std::vector<std::uint32_t>& ids) {
    const std::uint32_t id = read_id(json);
    if (!numbers_.emplace(id, numbers_.size()).second)
      throw json.error(fmt::format("repeats {} {}", what_, id));
    ids.push_back(id);
  }
  [[nodiscard]] std::size_t number(const Json& json) const {
    const auto found = numbers_.find(read_id(json));
    if (found == numbers_.end()) throw json.error(fmt::format("is {}, which is no {}", json.shown(), what_));
    return found->second;
  }

 private:
  std::string what_;
  std::map<std::uint32_t, std::size_t> numbers_;
};

Memory read_pool(const Json& json) {
  json.expect_members({"id", "name", "capacity", "reserved_ranges", "bank_geometry"});
  Memory memory{.name = json.at("name").string()};
  if (const auto capacity = json.find("capacity")) memory.capacity = capacity->natural();
  for (const Json& range : json.at("reserved_ranges").elements()) {
    const ByteRange bytes{range.at("begin").natural(), range.at("end").natural()};
    if (bytes.begin >= bytes.end || bytes.end > memory.capacity.value_or(largest_value))
      throw range.error(
          fmt::format("reserves bytes {} to {}, expected a range in the pool", bytes.begin, bytes.end));
    memory.reserved.push_back(bytes);
  }
  std::ranges::sort(memory.reserved, {}, &ByteRange::begin);
  std::vector<ByteRange> joined;  // ranges may overlap in a document
  for (const ByteRange& range : memory.reserved) {
    if (!joined.empty() && range.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  }
  memory.reserved = std::move(joined);
  return memory;
}

Buffer read_buffer(const Json& json, const Ids& pools) {
  json.expect_members({"id", "name", "size", "alignment", "live_intervals", "allowed_pools"});
  Buffer buffer{.id = std::to_string(read_id(json.at("id"))),
                .size = json.at("size").natural(),
                .alignment = json.at("alignment").natural()};
  if (buffer.size == 0) throw json.at("size").error("is 0, expected at least 1");
  if (buffer.alignment == 0) throw json.at("alignment").error("is 0, expected at least 1");
  for (const Json& interval : json.at("live_intervals").elements()) {
    const Lifetime life{interval.at("lower").integer(), interval.at("upper").integer()};
    if (life.lower >= life.upper)
      throw interval.error(fmt::format("goes from {} to {}, expected a later end", life.lower, life.upper));
    buffer.pieces.push_back({0, buffer.size, life});
  }
  std::ranges::sort(buffer.pieces, {}, [](const Piece& piece) { return piece.life.lower; });
  std::vector<Piece> joined;  // intervals may overlap in a document
  for (const Piece& piece : buffer.pieces) {
    if (!joined.empty() && piece.life.lower <= joined.back().life.upper)
      joined.back().life.upper = std::max(joined.back().life.upper, piece.life.upper);
    else
      joined.push_back(piece);
  }
  buffer.pieces = std::move(joined);
  if (buffer.pieces.empty())
    throw json.at("live_intervals").error("is empty, expected at least one interval");
  for (const Json& pool : json.at("allowed_pools").elements()) buffer.memories.push_back(pools.number(pool));
  if (buffer.memories.empty()) throw json.at("allowed_pools").error("is empty, expected at least one pool");
  return buffer;
}

BufferPair read_pair(const Json& json, const Ids& buffers) {
  const BufferPair pair{buffers.number(json.at("first")), buffers.number(json.at("second"))};
  if (pair.first == pair.second) throw json.error("pairs a buffer with itself");
  return pair;
}

void read_pin(const Json& json, const Ids& buffers, const Ids& pools, Problem& problem) {
  json.expect_members({"buffer", "pool", "offset", "exclusive_for_all_time"});
  const std::size_t b = buffers.number(json.at("buffer"));
  Buffer& buffer = problem.buffers[b];
  if (buffer.pinned) throw json.error("pins a buffer that is pinned already");
  const std::size_t pool = pools.number(json.at("pool"));
  if (std::ranges::count(buffer.memories, pool) == 0)
    throw json.at("pool").error("is a pool that the buffer is not allowed in");
  buffer.memories = {pool};
  buffer.pinned = json.at("offset").natural();
  if (!json.at("exclusive_for_all_time").boolean()) return;
  for (std::size_t other = 0; other < problem.buffers.size(); ++other) {
    if (other != b) problem.relations.apart.push_back({b, other});
  }
}

void read_constraints(const Json& json, const Ids& buffers, const Ids& pools, Problem& problem) {
  json.expect_members({"colocations", "separations", "temporal_exclusions", "pinned_allocations"});
  Relations& relations = problem.relations;
  for (const Json& pair : json.at("colocations").elements()) {
    const Joint two{buffers.number(pair.at("first")), buffers.number(pair.at("second"))};
    if (two.first != two.second) relations.together.push_back(two);
  }
  for (const Json& pair : json.at("separations").elements())
    relations.apart.push_back(read_pair(pair, buffers));
  for (const Json& pair : json.at("temporal_exclusions").elements())
    relations.exclusive.push_back(read_pair(pair, buffers));
  for (const Json& pin : json.at("pinned_allocations").elements()) read_pin(pin, buffers, pools, problem);
}

/// Positions are natural numbers here, and any integers in the schema.
void shift_to_zero(Problem& problem) {
  Position first = 0;
  for (const Buffer& buffer : problem.buffers)
    for (const Piece& piece : buffer.pieces) first = std::min(first, piece.life.lower);
  for (Buffer& buffer : problem.buffers) {
    for (Piece& piece : buffer.pieces) {
      piece.life.lower -= first;
      piece.life.upper -= first;
    }
  }
}

std::string fingerprint_of(const Json::Value& document) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : document.dump(2) + "\n") {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return fmt::format("{:016x}", hash);
}

/// The document as dsa-solver writes it.
Json::Value canonical(Json::Value document) {
  if (!document.contains("metadata")) document["metadata"] = Json::Value::object();
  Json::Value& problem = document["problem"];
  for (Json::Value& pool : problem["pools"]) {
    if (!pool.contains("capacity")) pool["capacity"] = nullptr;
  }
  for (Json::Value& separation : problem["constraints"]["separations"]) {
    if (separation.contains("reasons") && separation["reasons"].empty()) separation.erase("reasons");
  }
  if (document.contains("relaxed_features") && document["relaxed_features"].empty())
    document.erase("relaxed_features");
  return document;
}

}  // namespace

DsaProblem parse_dsa_problem(std::string_view text) {
  const Json::Value value = Json::parse(text);
  const Json document(value);
  document.expect_members(
      {"schema_version", "profile", "instance", "metadata", "problem", "relaxed_from", "relaxed_features"});
  if (document.at("schema_version").integer() != 1)
    throw document.at("schema_version")
        .error(fmt::format("is {}, expected 1", document.at("schema_version").shown()));
  DsaProblem result{.instance = document.at("instance").string(), .profile = document.at("profile").string()};
  const Json json = document.at("problem");
  json.expect_members({"pools", "buffers", "constraints", "cost_model", "objective", "pypto_structure"});
  Problem& problem = result.problem;
  Ids pools("pool");
  for (const Json& pool : json.at("pools").elements()) {
    pools.add(pool.at("id"), result.pools);
    problem.memories.push_back(read_pool(pool));
  }
  Ids buffers("buffer");
  for (const Json& buffer : json.at("buffers").elements()) {
    buffers.add(buffer.at("id"), result.buffers);
    problem.buffers.push_back(read_buffer(buffer, pools));
  }
  shift_to_zero(problem);
  read_constraints(json.at("constraints"), buffers, pools, problem);
  if (const auto costs = json.find("cost_model")) {
    for (const Json& penalty : costs->at("reuse_penalties").elements())
      problem.relations.reuse_costs.push_back({read_pair(penalty, buffers), penalty.at("cost").natural()});
  }
  bool has_cost = false;
  for (const Json& term : json.at("objective").at("terms").elements()) {
    const std::string name = term.string();
    if (name == "total_peak")
      result.objective = has_cost ? Objective::cost_then_peak : Objective::peak_then_cost;
    else if (name == "reuse_cost")
      has_cost = true;
    else if (name != "capacity_overflow")
      result.not_minimised.push_back(name);
  }
  validate(problem);
  result.fingerprint = fingerprint_of(canonical(value));
  return result;
}

Solution parse_dsa_solution(const DsaProblem& problem, std::string_view text) {
  const Json::Value value = Json::parse(text);
  const Json document(value);
  if (document.at("problem_fingerprint").string() != problem.fingerprint)
    throw document.at("problem_fingerprint")
        .error(fmt::format("is of another problem, expected \"{}\"", problem.fingerprint));
  Solution solution;
  std::map<std::uint32_t, std::size_t> numbers;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) numbers.emplace(problem.buffers[b], b);
  std::vector<std::optional<Place>> places(numbers.size());
  for (const Json& placement : document.at("placements").elements()) {
    const auto number = numbers.find(read_id(placement.at("buffer")));
    if (number == numbers.end() || places[number->second])
      throw placement.at("buffer").error("is no buffer of the problem, or placed twice");
    const auto pool = std::ranges::find(problem.pools, read_id(placement.at("pool")));
    if (pool == problem.pools.end()) throw placement.at("pool").error("is no pool of the problem");
    places[number->second] =
        Place{static_cast<std::size_t>(pool - problem.pools.begin()), placement.at("offset").natural()};
  }
  for (std::size_t b = 0; b < places.size(); ++b) {
    if (!places[b]) throw document.at("placements").error(fmt::format("lacks buffer {}", problem.buffers[b]));
    solution.places.push_back(*places[b]);
  }
  const Json metadata = document.at("metadata");
  const auto number_at = [&](const char* key) {
    const std::string digits = metadata.at(key).string();
    const auto number = base::parse_integer(digits);
    if (!number) throw metadata.at(key).error("is no number");
    return *number;
  };
  solution.reuse_cost = number_at("reuse_cost");
  solution.reuse_cost_bound = number_at("reuse_cost_bound");
  if (!metadata.find("reuse_proof")) return solution;
  const Json::Value proof_value = Json::parse(metadata.at("reuse_proof").string());
  const Json proof(proof_value, "/metadata/reuse_proof");
  proof.expect_members({"unit", "searched", "cliques"});
  const auto numbers_in = [](const Json& list) {
    std::vector<std::size_t> all;
    for (const Json& it : list.elements()) all.push_back(static_cast<std::size_t>(it.natural()));
    return all;
  };
  solution.reuse_proof.unit = proof.at("unit").natural();
  for (const Json& it : proof.at("searched").elements())
    solution.reuse_proof.searched.push_back({numbers_in(it.at("buffers")), it.at("cost").natural()});
  for (const Json& it : proof.at("cliques").elements())
    solution.reuse_proof.cliques.push_back({numbers_in(it.at("buffers")), it.at("charge").natural()});
  return solution;
}

bool is_dsa_problem(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"schema_version\"") != std::string_view::npos &&
         text.find("\"allowed_pools\"") != std::string_view::npos;
}

}  // namespace stowage
