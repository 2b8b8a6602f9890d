// Several graphs on one device.

#include <sstream>

#include "layers.h"

namespace stowage::campaign {
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

/// Which of two or three runs when; empty: one after the other.
std::string draw_run(std::size_t count, Random& random) {
  static const std::vector<std::string> two{"a; b", "a | b", "b; a", "b | a"};
  static const std::vector<std::string> three{"a; b; c",    "a | b | c", "a; b | c",   "a | b; c",
                                              "(a; b) | c", "c; a; b",   "c | (b; a)", "b; (a | c)",
                                              "(a | b); c", "a | (b; c)"};
  if (count < 2 || !random.chance(80)) return "";
  return random.pick(count == 2 ? two : three);
}

/// Outputs of the first that are as large as inputs of another: only where it runs later.
void draw_feeds(const std::vector<Graph>& graphs, Random& random, PlanOptions& options) {
  for (std::size_t later = 1; later < graphs.size(); ++later)
    for (const TensorId output : graphs[0].subgraphs[0].outputs)
      for (const TensorId input : graphs[later].subgraphs[0].inputs) {
        const Tensor& from = graphs[0].tensors[output];
        const Tensor& to = graphs[later].tensors[input];
        if (from.dtype == to.dtype && from.bytes == to.bytes && random.chance(60))
          options.feeds.push_back({.output = "a." + from.name,
                                   .input = std::string(1, static_cast<char>('a' + later)) + "." + to.name});
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
  drawn.options.run = draw_run(graphs.size(), random);
  if (random.chance(50)) {
    for (std::size_t i = 0; i < graphs.size(); ++i) add_data(drawn.sources[i], graphs[i], random);
    if (random.chance(70)) drawn.options.memories.push_back({.name = "flash", .role = MemoryRole::weights});
  }
  draw_feeds(graphs, random, drawn.options);
}

void draw_together(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  const std::int64_t count = random.between(1, 3);
  std::vector<Graph> graphs;
  for (std::int64_t i = 0; i < count; ++i) {
    graphs.push_back(random_rows(random, 8, 12));
    drawn.sources.push_back(source_of(std::string(1, static_cast<char>('a' + i)) + ".json", graphs.back()));
  }
  draw_common_options(drawn, random);
  PlanOptions& options = drawn.options;
  options.solve.strategy = "auto";
  options.stream =
      StreamOptions{.granule = random.chance(60) ? 1 : random.between(2, 4),
                    .recompute = random.chance(85) ? 1 : static_cast<double>(random.between(10, 20)) / 10};
  if (options.io == Io::arena && random.chance(50)) options.io = Io::rows;
  options.run = draw_run(graphs.size(), random);
  draw_feeds(graphs, random, options);
  if (random.chance(15)) return;
  if (random.chance(50)) options.alias = Alias::none;
  options.alignment = random.between(1, 4);
  options.memories = {{.name = "fast", .capacity = random.between(16, 160), .cost = 1}};
  if (random.chance(25))
    options.memories.push_back({.name = "middle", .capacity = random.between(16, 300), .cost = 10});
  options.memories.push_back({.name = "slow", .cost = random.chance(50) ? 10 : 100});
  if (random.chance(30))
    options.memories.push_back({.name = "flash", .cost = 10, .role = MemoryRole::weights});
  if (random.chance(80)) options.moves = Moves::allowed;
}

}  // namespace stowage::campaign
