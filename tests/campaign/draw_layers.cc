#include <sstream>

#include "layers.h"
#include "stowage/export.h"
#include "stowage/network.h"

namespace stowage::campaign {

Source source_of(const std::string& name, const Graph& graph) {
  std::ostringstream text;
  write_graph(graph, text);
  return {.name = name, .content = text.str()};
}

std::vector<Input> read_sources(const Case& drawn) {
  std::vector<Input> inputs;
  for (const Source& source : drawn.sources) {
    if (!source.name.ends_with(".json")) {  // Only a whole network says what rows its operators read.
      inputs.push_back(parse_network(source.content, source.name, drawn.imports).input);
      continue;
    }
    inputs.push_back(parse_input(source.content, source.name, {.constants = true}));
  }
  return inputs;
}

void draw_layers(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  const Graph graph = random_layers(random, {.operators = random.chance(70) ? 6 : 14});
  drawn.sources = {source_of("net.json", graph)};
  draw_common_options(drawn, random);
  if (random.chance(15)) drawn.options.memories[0].capacity = random.between(1, 200);
}

void draw_memories(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  const Graph graph = random_layers(random, {.operators = random.chance(40) ? 6 : 20});
  drawn.sources = {source_of("net.json", graph)};
  draw_common_options(drawn, random);
  PlanOptions& options = drawn.options;
  options.memories = {{.name = "fast", .capacity = random.between(16, 100), .cost = 1}};
  if (random.chance(30))
    options.memories.push_back({.name = "middle", .capacity = random.between(16, 200), .cost = 10});
  options.memories.push_back({.name = "slow", .cost = random.chance(50) ? 10 : 100});
  if (random.chance(15))
    options.memories.push_back({.name = "flash", .cost = 1, .role = MemoryRole::weights});
  if (random.chance(60)) options.moves = Moves::allowed;
  if (options.moves == Moves::allowed && random.chance(70)) {  // What shares bytes stays where it is.
    options.alignment = 1 + random.between(0, 3);
    options.alias = Alias::none;
  }
  if (options.moves == Moves::allowed || random.chance(60)) options.solve.strategy = "auto";
}

}  // namespace stowage::campaign
