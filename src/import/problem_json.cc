// Reads problems and solutions of stowage's own JSON format, version 1 (docs/problem-json.md).

#include "stowage/problem_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "import/json.h"
#include "import/plan_parts.h"
#include "stowage/error.h"
#include "stowage/partial_lives.h"

namespace stowage {
namespace {

using import::Json;
using import::Names;

constexpr std::array<base::Name<Objective>, 3> objectives{{{Objective::cost, "cost"},
                                                           {Objective::cost_then_peak, "cost_then_peak"},
                                                           {Objective::peak_then_cost, "peak_then_cost"}}};

/// An array of so many elements.
std::vector<Json> elements_of(const Json& json, std::size_t count) {
  std::vector<Json> elements = json.elements();
  if (elements.size() != count)
    throw json.error(fmt::format("has {} elements, expected {}", elements.size(), count));
  return elements;
}

/// The elements of an array that may be missing.
std::vector<Json> list_at(const Json& json, const std::string& key) {
  const std::optional<Json> list = json.find(key);
  return list ? list->elements() : std::vector<Json>();
}

std::vector<std::int64_t> numbers_in(const Json& json) {
  std::vector<std::int64_t> numbers;
  for (const Json& number : json.elements()) numbers.push_back(number.natural());
  return numbers;
}

class ProblemReader {
 public:
  explicit ProblemReader(const Json& document) : document_(document) {}

  ProblemDocument run() {
    document_.expect_members({"format", "version", "name", "memories", "buffers", "together", "apart",
                              "exclusive", "reuse_costs", "events", "objective"});
    if (const auto name = document_.find("name")) result_.name = name->string();
    if (const auto objective = document_.find("objective"))
      result_.objective = import::enumerator(*objective, objective_named);
    for (const Json& memory : document_.at("memories").elements()) read_memory(memory);
    if (problem_.memories.empty()) throw document_.at("memories").error("is empty, expected a memory");
    for (const Json& buffer : document_.at("buffers").elements()) read_buffer(buffer);
    read_relations();
    read_partial_order();
    validate(problem_);
    return std::move(result_);
  }

 private:
  void read_memory(const Json& json) {
    json.expect_members({"name", "capacity", "cost", "reserved"});
    memories_.add(json.at("name"), problem_.memories.size());
    Memory memory{.name = json.at("name").string()};
    if (const auto capacity = json.find("capacity")) memory.capacity = capacity->natural();
    if (const auto cost = json.find("cost")) memory.cost = cost->natural();
    for (const Json& range : list_at(json, "reserved")) {
      const std::vector<Json> ends = elements_of(range, 2);
      memory.reserved.push_back({ends[0].natural(), ends[1].natural()});
    }
    problem_.memories.push_back(std::move(memory));
  }

  void read_buffer(const Json& json) {
    json.expect_members({"id", "size", "alignment", "lives", "events", "clocks", "memories", "offset",
                         "traffic", "copy_gains"});
    buffers_.add(json.at("id"), problem_.buffers.size());
    Buffer buffer{.id = json.at("id").string(), .size = json.at("size").natural()};
    if (const auto alignment = json.find("alignment")) buffer.alignment = alignment->natural();
    if (const auto offset = json.find("offset")) buffer.pinned = offset->natural();
    const auto traffic = json.find("traffic");
    buffer.traffic = traffic ? traffic->natural() : buffer.size;
    for (const Json& memory : list_at(json, "memories")) buffer.memories.push_back(memories_(memory));
    for (const Json& life : list_at(json, "lives")) {
      const std::vector<Json> ends = elements_of(life, 2);
      buffer.pieces.push_back({0, buffer.size, {ends[0].natural(), ends[1].natural()}});
    }
    if (const auto gains = json.find("copy_gains"))
      problem_.relations.copies.push_back({problem_.buffers.size(), numbers_in(*gains)});
    problem_.buffers.push_back(std::move(buffer));
  }

  BufferPair read_pair(const Json& json) const {
    const std::vector<Json> two = elements_of(json, 2);
    return {buffers_(two[0]), buffers_(two[1])};
  }

  void read_relations() {
    Relations& relations = problem_.relations;
    for (const Json& joint : list_at(document_, "together")) {
      joint.expect_members({"buffers", "distance"});
      const BufferPair pair = read_pair(joint.at("buffers"));
      const auto distance = joint.find("distance");
      relations.together.push_back({pair.first, pair.second, distance ? distance->integer() : 0});
    }
    for (const Json& pair : list_at(document_, "apart")) relations.apart.push_back(read_pair(pair));
    for (const Json& pair : list_at(document_, "exclusive")) relations.exclusive.push_back(read_pair(pair));
    for (const Json& reuse : list_at(document_, "reuse_costs")) {
      reuse.expect_members({"buffers", "cost"});
      relations.reuse_costs.push_back({read_pair(reuse.at("buffers")), reuse.at("cost").natural()});
    }
  }

  /// Lives between events of a partial order, or by vector clocks: for all buffers, or for none.
  void read_partial_order() {
    std::vector<EventLife> events;
    std::vector<ClockLife> clocks;
    const std::vector<Json> buffers = document_.at("buffers").elements();
    for (const Json& buffer : buffers) {
      if (const auto life = buffer.find("events")) {
        const std::vector<Json> ends = elements_of(*life, 2);
        events.push_back({ends[0].index(), ends[1].index()});
      }
      if (const auto life = buffer.find("clocks")) {
        const std::vector<Json> ends = elements_of(*life, 2);
        clocks.push_back({numbers_in(ends[0]), numbers_in(ends[1])});
      }
      const std::size_t ways = (buffer.find("lives") ? 1U : 0U) + (buffer.find("events") ? 1U : 0U) +
                               (buffer.find("clocks") ? 1U : 0U);
      if (ways > 1) throw buffer.error("has several of lives, events and clocks, expected one");
    }
    const std::optional<Json> order = document_.find("events");
    if (events.empty() && clocks.empty()) {
      if (order) throw order->error("is an order of events, but no buffer has events");
      return;
    }
    if (std::max(events.size(), clocks.size()) != buffers.size())
      throw document_.at("buffers").error(
          "has some lives in a partial order, expected events of all, or clocks");
    if (!events.empty() && !order) throw document_.error("has no member 'events', the order of events");
    if (events.empty() && order) throw order->error("is an order of events, but buffers have clocks");
    result_.lives = order ? of_events(*order, events) : PartialLives::of_clocks(clocks);
    result_.lives->add_to(problem_);
  }

  static PartialLives of_events(const Json& order, const std::vector<EventLife>& lives) {
    order.expect_members({"count", "before"});
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (const Json& edge : list_at(order, "before")) {
      const std::vector<Json> two = elements_of(edge, 2);
      edges.emplace_back(two[0].index(), two[1].index());
    }
    const std::size_t count = order.at("count").index();
    constexpr std::size_t most = 20'000;  // their order is a square of bits
    if (count > most) throw order.at("count").error(fmt::format("is {}, expected at most {}", count, most));
    return PartialLives::of_events(count, edges, lives);
  }

  const Json& document_;
  ProblemDocument result_;
  Problem& problem_ = result_.problem;
  Names memories_{};
  Names buffers_{};
};

void read_proof(const Json& json, const Names& buffers, ReuseProof& proof) {
  json.expect_members({"unit", "searched", "cliques"});
  const auto numbers_of = [&](const Json& list) {
    std::vector<std::size_t> numbers;
    for (const Json& id : list.elements()) numbers.push_back(buffers(id));
    return numbers;
  };
  proof.unit = json.at("unit").natural();
  if (proof.unit == 0) throw json.at("unit").error("is 0, expected at least 1");
  for (const Json& it : list_at(json, "searched")) {
    it.expect_members({"buffers", "cost"});
    proof.searched.push_back({numbers_of(it.at("buffers")), it.at("cost").natural()});
  }
  for (const Json& it : list_at(json, "cliques")) {
    it.expect_members({"buffers", "charge"});
    proof.cliques.push_back({numbers_of(it.at("buffers")), it.at("charge").natural()});
  }
}

}  // namespace

std::string_view name_of(Objective objective) { return base::name_in(objectives, objective); }
std::optional<Objective> objective_named(std::string_view name) { return base::value_in(objectives, name); }

bool is_problem_json(std::string_view json) {
  const auto first = json.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && json[first] == '{' &&
         json.find("\"stowage-problem\"") != std::string_view::npos;
}

ProblemDocument parse_problem(std::string_view json) {
  const Json::Value value = Json::parse(json);
  const Json document(value);
  import::expect_format(document, "stowage-problem");
  return ProblemReader(document).run();
}

Solution solve(const ProblemDocument& document, SolveOptions options) {
  const Problem& problem = document.problem;
  options.objective = document.objective;
  const bool peak_alone = problem.relations.reuse_costs.empty() && problem.relations.copies.empty();
  if (document.lives && (peak_alone || document.objective == Objective::peak_then_cost)) {
    Problem own = problem;
    Problem lives{.buffers = problem.buffers};
    document.lives->add_to(lives);
    own.relations.apart.resize(own.relations.apart.size() - lives.relations.apart.size());
    return solve(std::move(own), *document.lives, options);
  }
  Solution solution = solve(problem, options);
  if (problem.memories.size() > 1) return solution;
  if (solution.outcome == Outcome::fits)
    solution.is_least_peak |= peak_of(problem, solution, 0) == solution.lower_bound;
  else
    solution.cannot_fit |= solution.lower_bound > problem.memories[0].capacity.value_or(largest_value);
  return solution;
}

Solution parse_solution(const ProblemDocument& document, std::string_view json) {
  const Json::Value value = Json::parse(json);
  const Json root(value);
  import::expect_format(root, "stowage-solution");
  root.expect_members({"format", "version", "problem", "solver", "strategy", "memories", "places",
                       "reuse_cost", "reuse_cost_bound", "memory_cost", "gain", "lower_bound",
                       "is_least_peak", "interrupted", "proof"});
  const Problem& problem = document.problem;
  Names memories;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) memories.add(root, problem.memories[m].name, m);
  Names buffers;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) buffers.add(root, problem.buffers[b].id, b);
  Solution solution;
  std::vector<std::optional<Place>> places(problem.buffers.size());
  std::vector<std::int64_t> copies(problem.buffers.size(), 1);
  std::vector<std::int64_t> most_copies = copies;
  for (const CopyGains& it : problem.relations.copies) most_copies[it.buffer] += std::ssize(it.gains);
  for (const Json& it : root.at("places").elements()) {
    it.expect_members({"buffer", "memory", "offset", "copies"});
    const std::size_t b = buffers(it.at("buffer"));
    if (places[b])
      throw it.at("buffer").error(fmt::format("is {}, which is placed twice", it.at("buffer").shown()));
    places[b] = Place{memories(it.at("memory")), it.at("offset").natural()};
    if (const auto count = it.find("copies")) {
      copies[b] = count->natural();
      if (copies[b] < 1 || copies[b] > most_copies[b])
        throw count->error(fmt::format("is {}, expected 1 to {}", copies[b], most_copies[b]));
    }
  }
  for (std::size_t b = 0; b < places.size(); ++b) {
    if (!places[b])
      throw root.at("places").error(fmt::format("lacks buffer {}", base::quoted(problem.buffers[b].id)));
    solution.places.push_back(*places[b]);
  }
  if (!problem.relations.copies.empty()) solution.copies = std::move(copies);
  if (const auto cost = root.find("reuse_cost")) solution.reuse_cost = cost->natural();
  if (const auto cost = root.find("memory_cost")) solution.memory_cost = cost->natural();
  if (const auto gain = root.find("gain")) solution.gain = gain->natural();
  for (const CopyGains& it : problem.relations.copies)
    solution.reuse_cost_bound -= it.gains.empty() ? 0 : it.gains.back();  // what any solution has
  if (const auto bound = root.find("reuse_cost_bound")) solution.reuse_cost_bound = bound->integer();
  for (const char* const text : {"problem", "solver"}) {
    if (const auto it = root.find(text)) static_cast<void>(it->string());
  }
  if (const auto it = root.find("strategy")) solution.strategy = it->string();
  if (const auto it = root.find("interrupted")) solution.interrupted = it->boolean();
  if (const auto it = root.find("lower_bound")) solution.lower_bound = it->natural();
  if (const auto it = root.find("is_least_peak")) solution.is_least_peak = it->boolean();
  for (const Json& it : list_at(root, "memories")) {
    it.expect_members({"name", "peak"});
    const std::size_t memory = memories(it.at("name"));
    const Bytes peak = peak_of(problem, solution, memory);
    if (it.at("peak").natural() != peak)
      throw it.at("peak").error(fmt::format("is {}, but its places end at {}", it.at("peak").shown(), peak));
  }
  if (const auto proof = root.find("proof")) read_proof(*proof, buffers, solution.reuse_proof);
  return solution;
}

}  // namespace stowage
