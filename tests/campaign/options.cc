#include <sstream>

#include "layers.h"
#include "stowage/error.h"

namespace stowage::campaign {

std::string_view name_of(Family family) {
  switch (family) {
    case Family::layers:
      return "layers";
    case Family::rows:
      return "rows";
    case Family::net:
      return "net";
    case Family::models:
      return "models";
    case Family::together:
      return "together";
    case Family::memories:
      return "memories";
    case Family::sizes:
      return "sizes";
    case Family::lite:
      return "lite";
    case Family::efforts:
      return "efforts";
    case Family::variables:
      return "variables";
  }
  return "";
}

Case make_case(std::uint64_t seed, std::uint64_t number) {
  Case drawn;
  drawn.seed = seed;
  drawn.number = number;
  static const std::vector<Family> families{
      Family::layers,  Family::layers,    Family::rows,     Family::rows,    Family::net,
      Family::net,     Family::models,    Family::memories, Family::sizes,   Family::sizes,
      Family::sizes,   Family::sizes,     Family::lite,     Family::lite,    Family::lite,
      Family::efforts, Family::variables, Family::together, Family::together};
  drawn.family = families[number % families.size()];
  switch (drawn.family) {
    case Family::layers:
      draw_layers(drawn);
      break;
    case Family::rows:
      draw_rows(drawn);
      break;
    case Family::net:
      draw_net(drawn);
      break;
    case Family::models:
      draw_models(drawn);
      break;
    case Family::together:
      draw_together(drawn);
      break;
    case Family::memories:
      draw_memories(drawn);
      break;
    case Family::sizes:
      draw_sizes(drawn);
      break;
    case Family::lite:
      draw_lite(drawn);
      break;
    case Family::efforts:
      draw_efforts(drawn);
      break;
    case Family::variables:
      draw_variables(drawn);
      break;
  }
  return drawn;
}

void draw_common_options(Case& drawn, Random& random) {
  PlanOptions& options = drawn.options;
  options.solve.threads = 1;
  options.solve.seed = random.next() % 4;
  static const std::vector<Bytes> alignments{1, 1, 1, 2, 4, 8, 16, 32, 64, 3};
  options.alignment = random.pick(alignments);
  static const std::vector<Alias> aliases{Alias::none, Alias::automatic, Alias::automatic, Alias::all};
  options.alias = random.pick(aliases);
  options.order = random.chance(75) ? Order::search : Order::keep;
  if (random.chance(15)) options.io = Io::external;
  options.solve.time_limit = std::chrono::milliseconds(250);
  if (random.chance(6)) {
    static const std::vector<double> limits{0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.01};
    options.solve.time_limit = std::chrono::duration<double>(random.pick(limits));
    drawn.may_be_cut_short = true;
  }
  if (random.chance(12)) {
    static const std::vector<std::string> names{
        "greedy-by-size", "greedy-by-breadth", "from-peak", "exact", "ejection",
        "rectangle",      "best-fit-by-start", "two-stack", "slots", "free-list",
        "free-list-best", "two-stack-best",    "rings"};
    options.solve.strategy = random.pick(names);
  }
}

namespace {

std::string number(double value) {
  std::ostringstream text;
  text.precision(9);
  text << std::fixed;
  text << value;
  return text.str();
}

std::string words_for(const GivenSize& size) {
  return size.least ? std::to_string(*size.least) + ".." + std::to_string(size.most)
                    : std::to_string(size.most);
}

void write_imports(const ImportOptions& imports, std::ostringstream& text) {
  for (const auto& [name, size] : imports.dims) text << " --dim " << name << "=" << words_for(size);
  for (const auto& [name, shape] : imports.shapes) {
    text << " --shape " << name << "=";
    for (std::size_t a = 0; a < shape.size(); ++a) text << (a > 0 ? "," : "") << words_for(shape[a]);
  }
  for (const auto& [name, bytes] : imports.bounds) text << " --bound " << name << "=" << bytes;
}

void write_memories(const Case& drawn, std::ostringstream& text) {
  const std::vector<Memory>& memories = drawn.options.memories;
  const bool is_plain = memories.size() == 1 && memories[0].name == "arena";
  if (is_plain && memories[0].capacity) text << " --capacity " << *memories[0].capacity;
  if (is_plain) return;
  for (const Memory& memory : memories) {
    text << " --memory " << memory.name;
    if (memory.capacity) text << "=" << *memory.capacity;
    text << "@" << memory.cost;
    if (memory.role == MemoryRole::weights) text << ":weights";
  }
}

}  // namespace

std::string command_of(const Case& drawn) {
  const PlanOptions& options = drawn.options;
  std::ostringstream text;
  text << "stowage plan";
  for (const Source& source : drawn.sources) text << " " << source.name;
  write_imports(drawn.imports, text);
  text << " --order " << (options.order == Order::keep ? "keep" : "search");
  text << " --alias "
       << (options.alias == Alias::none        ? "none"
           : options.alias == Alias::automatic ? "auto"
                                               : "all");
  if (options.io != Io::arena) text << " --io " << (options.io == Io::rows ? "rows" : "external");
  if (options.stream) {
    text << " --stream";
    if (options.stream->granule) text << " --granule " << *options.stream->granule;
    if (options.stream->recompute_from) {
      text << " --recompute " << number(*options.stream->recompute_from) << ".."
           << number(options.stream->recompute);
    } else if (options.stream->recompute != 1) {
      text << " --recompute " << number(options.stream->recompute);
    }
  }
  if (options.alignment) text << " --align " << *options.alignment;
  write_memories(drawn, text);
  if (options.moves == Moves::allowed) text << " --moves";
  if (!options.run.empty()) text << " --run '" << options.run << "'";
  for (const FeedNames& feed : options.feeds) text << " --feed " << feed.output << "=" << feed.input;
  if (options.solve.strategy != "auto") text << " --strategy " << options.solve.strategy;
  if (options.solve.effort)
    text << " --effort " << *options.solve.effort;
  else
    text << " --time-limit " << number(options.solve.time_limit.count());
  text << " --threads " << options.solve.threads << " --seed " << options.solve.seed;
  return text.str();
}

}  // namespace stowage::campaign
