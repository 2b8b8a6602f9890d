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

namespace {

/// Gives every weight data, which is often that of other weights of its size.
void add_data(Source& source, const Graph& graph, Random& random) {
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.kind != TensorKind::weight) continue;
    std::ostringstream hex;
    const std::int64_t pattern = random.between(1, 2);
    for (Bytes i = 0; i < tensor.bytes; ++i) {
      static const std::string digits = "0123456789abcdef";
      hex << digits[static_cast<std::size_t>(i * pattern % 16)] << digits[static_cast<std::size_t>(pattern)];
    }
    const std::size_t line = source.content.find("{\"name\":\"" + tensor.name + "\"");
    const std::size_t end = source.content.find('}', line);
    source.content.insert(end, ",\"data\":{\"hex\":\"" + hex.str() + "\"}");
  }
}

}  // namespace

void draw_models(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  const std::int64_t count = random.between(2, 3);
  std::vector<Graph> graphs;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    graphs.push_back(random_layers(random, {.name = name, .operators = 5}));
    drawn.sources.push_back(source_of(name + ".json", graphs.back()));
  }
  draw_common_options(drawn, random);
  static const std::vector<std::string> two{"a; b", "a | b", "b; a", "b | a"};
  static const std::vector<std::string> three{"a; b; c",    "a | b | c", "a; b | c",   "a | b; c",
                                              "(a; b) | c", "c; a; b",   "c | (b; a)", "b; (a | c)",
                                              "(a | b); c", "a | (b; c)"};
  if (random.chance(80)) drawn.options.run = random.pick(count == 2 ? two : three);
  if (random.chance(50)) {
    for (std::size_t i = 0; i < graphs.size(); ++i) add_data(drawn.sources[i], graphs[i], random);
    if (random.chance(70)) drawn.options.memories.push_back({.name = "flash", .role = MemoryRole::weights});
  }
  // Outputs of the first that are as large as inputs of another: only where it runs later.
  for (std::size_t later = 1; later < graphs.size(); ++later)
    for (const TensorId output : graphs[0].subgraphs[0].outputs)
      for (const TensorId input : graphs[later].subgraphs[0].inputs) {
        const Tensor& from = graphs[0].tensors[output];
        const Tensor& to = graphs[later].tensors[input];
        if (from.dtype == to.dtype && from.bytes == to.bytes && random.chance(60))
          drawn.options.feeds.push_back(
              {.output = "a." + from.name,
               .input = std::string(1, static_cast<char>('a' + later)) + "." + to.name});
      }
}

}  // namespace stowage::campaign
