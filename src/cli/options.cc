#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "cli/tuning.h"
#include "stowage/device.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

UsageError wrong(std::string_view flag, std::string_view value, std::string_view expected) {
  return UsageError(fmt::format("{} is {}, expected {}", flag, base::quoted(value), expected));
}

Bytes parse_bytes(std::string_view flag, std::string_view text) {
  const auto bytes = base::parse_size(text);
  if (!bytes) throw wrong(flag, text, "a size such as 65536, 64KiB, 64K or 1.5MB");
  return *bytes;
}

std::int64_t parse_number(std::string_view flag, std::string_view text, std::int64_t least) {
  const auto number = base::parse_integer(text);
  if (!number || *number < least || *number > largest_value) {
    throw wrong(flag, text, fmt::format("a whole number of at least {}", least));
  }
  return *number;
}

/// SIZE, ..MOST or LEAST..MOST, and for a range :STEP.
GivenSize parse_given_size(std::string_view flag, std::string_view text) {
  constexpr std::string_view dots = "..";
  const std::size_t range = text.find(dots);
  if (range == std::string_view::npos) return parse_number(flag, text, 0);
  const std::string_view behind = text.substr(range + dots.size());
  const std::size_t colon = behind.find(':');
  const bool has_step = colon != std::string_view::npos;
  const std::int64_t step = has_step ? parse_number(flag, behind.substr(colon + 1), 1) : 1;
  const std::int64_t least = range == 0 ? step : parse_number(flag, text.substr(0, range), 0);
  const std::int64_t most = parse_number(flag, behind.substr(0, colon), 0);
  if (most < least) throw wrong(flag, text, fmt::format("a range that ends at {} or more", least));
  return {least, most, step};
}

double parse_real(std::string_view flag, std::string_view text, double least, double most) {
  double value = -1;
  std::istringstream in{std::string(text)};  // libc++ has no from_chars for real numbers
  in.imbue(std::locale::classic());
  const bool is_plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!is_plain || !(in >> value) || !in.eof() || !(value >= least && value <= most))
    throw wrong(flag, text, fmt::format("a number from {} to {}", least, most));
  return value;
}

/// A whole or real number, or true or false.
Number parse_element(std::string_view flag, std::string_view text) {
  if (text == "true" || text == "false") return std::int64_t{text == "true"};
  if (const auto whole = base::parse_integer(text)) return *whole;
  double value = 0;
  std::istringstream in{std::string(text)};
  in.imbue(std::locale::classic());
  const bool is_plain = text.find_first_not_of("0123456789.+-eE") == std::string_view::npos;
  if (!is_plain || !(in >> value) || !in.eof())
    throw wrong(flag, text, "numbers, or true or false, with commas");
  return value;
}

std::chrono::duration<double> parse_seconds(std::string_view text) {
  constexpr double longest = 1e8;  // three years
  return std::chrono::duration<double>(parse_real("--time-limit", text, 0, longest));
}

/// FACTOR, or A..B.
void parse_recompute(std::string_view text, StreamOptions& options) {
  constexpr std::string_view dots = "..";
  const std::size_t range = text.find(dots);
  if (range == std::string_view::npos) {
    options.recompute = parse_real("--recompute", text, 1, 1000);
    return;
  }
  options.recompute = parse_real("--recompute", text.substr(range + dots.size()), 1, 1000);
  options.recompute_from = parse_real("--recompute", text.substr(0, range), 1, options.recompute);
}

/// TENSOR=MEMORY or TENSOR=MEMORY@OFFSET.
TensorPlace parse_place(const std::string& text) {
  const auto [tensor, where] = parse_assignment("--place", text);
  const std::size_t at = where.rfind('@');
  TensorPlace place{.tensor = tensor, .memory = where.substr(0, at)};
  if (place.memory.empty()) throw wrong("--place", text, "TENSOR=MEMORY or TENSOR=MEMORY@OFFSET");
  if (at != std::string::npos) place.offset = parse_bytes("--place " + tensor, where.substr(at + 1));
  return place;
}

template <typename Map, typename Value>
void insert_once(std::string_view flag, Map& map, const std::string& name, Value value) {
  if (!map.emplace(name, std::move(value)).second)
    throw UsageError(fmt::format("{} is given twice for {}", flag, base::quoted(name)));
}

constexpr std::string_view form_of_memory = "NAME[=SIZE][@COST][,granule=SIZE][:weights]";

/// A number, perhaps with a unit: nobody calls a memory so.
bool looks_like_size(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  if (text.empty() || end == 0) return false;
  const std::string_view unit = text.substr(std::min(end, text.size()));
  return unit.size() <= 3 && unit.find_first_not_of("kKmMgGiIbB") == std::string_view::npos;
}

/// Refuses what is not a name but, for instance, a name and a size with another character between them.
void expect_name_of_memory(std::string_view name, std::string_view given) {
  const auto refuse = [&](std::string_view form, std::string_view example) {
    throw wrong("--memory", given, fmt::format("{}, for instance {}", form, example));
  };
  if (name.empty()) throw wrong("--memory", given, form_of_memory);
  if (looks_like_size(name)) refuse("NAME=SIZE", fmt::format("SRAM={}", name));
  const std::size_t last = name.find_last_of(" \t,;:");
  if (last == std::string_view::npos) return;
  const std::string_view before = name.substr(0, name.find_first_of(" \t,;:"));
  const std::string_view behind = name.substr(last + 1);
  if (!before.empty() && looks_like_size(behind)) refuse("NAME=SIZE", fmt::format("{}={}", before, behind));
  if (name.find_first_of(",;:") != std::string_view::npos || base::trim(name) != name)
    refuse(form_of_memory, "SRAM=256KiB");
}

/// NAME[=SIZE][@COST][,granule=SIZE][:weights]
Memory parse_memory(std::string_view text, std::int64_t default_cost) {
  const std::string_view given = text;
  constexpr std::string_view for_weights = ":weights";
  Memory memory{.cost = default_cost};
  if (text.ends_with(for_weights)) {
    memory.role = MemoryRole::weights;
    text.remove_suffix(for_weights.size());
  }
  const auto part = [name = text.substr(0, text.find_first_of("=@,"))](std::string_view what) {
    return fmt::format("{} of --memory {}", what, base::quoted(name));
  };
  constexpr std::string_view in_granules = ",granule=";
  if (const std::size_t at = text.rfind(in_granules); at != std::string_view::npos) {
    memory.granule = parse_bytes(part("granule"), text.substr(at + in_granules.size()));
    if (memory.granule < 1) throw wrong(part("granule"), text.substr(at + in_granules.size()), "at least 1");
    text = text.substr(0, at);
  }
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    memory.cost = parse_number(part("cost"), text.substr(at + 1), 0);
    text = text.substr(0, at);
  }
  const std::size_t equals = text.find('=');
  memory.name = text.substr(0, equals);
  expect_name_of_memory(memory.name, given);
  if (equals != std::string_view::npos) memory.capacity = parse_bytes(part("size"), text.substr(equals + 1));
  return memory;
}

/// Fastest first; each costs ten times as much as the one before unless it has a cost of its own.
std::vector<Memory> parse_memories(const std::vector<std::string>& texts) {
  std::vector<Memory> memories;
  std::int64_t cost = 1;
  for (const std::string& text : texts) {
    memories.push_back(parse_memory(text, cost));
    if (memories.back().role == MemoryRole::working) cost = std::min<std::int64_t>(10 * cost, 1'000'000);
    const auto& name = memories.back().name;
    const auto has_name = [&](const Memory& memory) { return memory.name == name; };
    if (std::count_if(memories.begin(), memories.end(), has_name) > 1)
      throw UsageError(fmt::format("--memory is given twice for {}", base::quoted(name)));
  }
  return memories;
}

/// A.out=B.in. Tensor names may contain '=' and '.' themselves: the first '=' between two such names counts.
FeedNames parse_feed(std::string_view flag, const std::string& text) {
  for (std::size_t equals = text.find('='); equals != std::string::npos;
       equals = text.find('=', equals + 1)) {
    FeedNames names{text.substr(0, equals), text.substr(equals + 1)};
    if (names.output.find('.') != std::string::npos && names.input.find('.') != std::string::npos)
      return names;
  }
  throw wrong(flag, text, "MODEL.OUTPUT=MODEL.INPUT");
}

/// NUMBERxSIZE
Banks parse_banks(std::string_view text) {
  const std::size_t by = text.find('x');
  const auto count = base::parse_integer(text.substr(0, by));
  const auto size = by == std::string_view::npos ? std::nullopt : base::parse_size(text.substr(by + 1));
  if (!count || !size || *count < 1 || *size < 1 || *count > largest_value / *size)
    throw wrong("--banks", text, "NUMBERxSIZE, for instance 4x16KiB");
  return {*count, *size};
}

/// They are those of the fastest memory, and say its size.
void give_banks(const Banks& banks, PlanOptions& options) {
  options.banks = banks;
  const auto memory = std::ranges::find(options.memories, MemoryRole::working, &Memory::role);
  if (memory == options.memories.end()) return;
  const Bytes size = banks.count * banks.size;
  if (memory->capacity.value_or(size) != size)
    throw UsageError(fmt::format("--banks: {} banks of {} bytes are {} bytes, but memory {} has {}",
                                 banks.count, banks.size, size, base::quoted(memory->name),
                                 *memory->capacity));
  memory->capacity = size;
}

void parse_objectives(const PlanTexts& texts, PlanOptions& options) {
  for (const std::string& text : texts.places) options.places.push_back(parse_place(text));
  if (!texts.near.empty()) options.near = places_in(read_plan(texts.near));
  if (!texts.banks.empty()) give_banks(parse_banks(texts.banks), options);
}

/// What to do with a file that is no plan: a list may have offsets, too.
std::string command_for(std::string_view content, const std::string& file) {
  const bool has_offsets = base::is_utf8(content) &&
                           content.substr(0, content.find('\n')).find("offset") != std::string_view::npos;
  return has_offsets ? fmt::format(
                           "`stowage plan {0} -o plan.json` checks the offsets of a list and makes a plan of "
                           "them, `stowage compare {0}` compares them with others",
                           file)
                     : fmt::format("`stowage plan {} -o plan.html` writes the page of a model or list", file);
}

}  // namespace

std::pair<std::string, std::string> parse_assignment(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) throw wrong(flag, text, "NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool ModelTexts::is_any_given() const {
  return !dims.empty() || !shapes.empty() || !bounds.empty() || !values.empty() || !states.empty() ||
         !scratch.empty() || !joins.empty() || every_size;
}

UsageError needs_model() {
  return UsageError(
      "--dim, --shape, --every-size, --bound, --value, --state, --scratch and --join need --model");
}

ImportOptions parse_model_options(const ModelTexts& texts) {
  ImportOptions options{.every_size = texts.every_size};
  for (const std::string& text : texts.dims) {
    const auto [name, value] = parse_assignment("--dim", text);
    if (value.find(',') != std::string::npos)
      throw wrong("--dim " + name, value,
                  "one size or range here: `stowage plan` makes a plan for each of several");
    insert_once("--dim", options.dims, name, parse_given_size("--dim " + name, value));
  }
  for (const std::string& text : texts.shapes) {
    const auto [name, value] = parse_assignment("--shape", text);
    GivenShape shape;
    for (const std::string_view dimension : base::split(value, ',')) {
      if (!value.empty()) shape.push_back(parse_given_size("--shape " + name, base::trim(dimension)));
    }
    insert_once("--shape", options.shapes, name, std::move(shape));
  }
  for (const std::string& text : texts.bounds) {
    const auto [name, value] = parse_assignment("--bound", text);
    insert_once("--bound", options.bounds, name, parse_bytes("--bound " + name, value));
  }
  for (const std::string& text : texts.values) {
    const auto [name, value] = parse_assignment("--value", text);
    GivenValue elements;
    for (const std::string_view element : base::split(value, ','))
      if (!value.empty()) elements.push_back(parse_element("--value " + name, base::trim(element)));
    insert_once("--value", options.values, name, std::move(elements));
  }
  for (const std::string& text : texts.states) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw wrong("--state", text, "OUTPUT=INPUT");
    options.states.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  if (!texts.scratch.empty()) {
    const base::InputFile file(texts.scratch);
    try {
      options.scratch = parse_scratch(file.bytes());
    } catch (const Error& error) {
      throw error.in_file(texts.scratch);
    }
  }
  return options;
}

std::vector<FeedNames> parse_joins(const ModelTexts& texts) {
  std::vector<FeedNames> joins;
  for (const std::string& text : texts.joins) joins.push_back(parse_feed("--join", text));
  return joins;
}

bool has_buckets(std::string_view file) {
  return file.substr(0, file.find("\"stowage-plan\"")).find("\"stowage-buckets\"") != std::string_view::npos;
}

Plan read_plan(const std::string& name) {
  const base::InputFile file(name);
  const std::size_t first = file.bytes().find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && file.bytes()[first] != '{')
    throw Error("", "is no plan, expected what `stowage plan MODEL -o plan.json` writes; " +
                        command_for(file.bytes(), base::visible(name)))
        .in_file(name);
  if (has_buckets(file.bytes()))
    throw Error(
        "",
        "has plans for several sizes (buckets), expected a single one: `stowage verify` and `stowage run` "
        "take it")
        .in_file(name);
  try {
    return parse_plan(file.bytes());
  } catch (const Error& error) {
    throw error.in_file(name);
  }
}

PlanOptions parse_plan_options(const PlanTexts& given) {
  const PlanTexts texts = with_tuning(given);
  PlanOptions options;
  options.solve.strategy = texts.strategy;
  if (texts.io == "external") {
    options.io = Io::external;
  } else if (texts.io == "rows") {
    options.io = Io::rows;
  } else if (texts.io != "arena") {
    throw wrong("--io", texts.io, "arena, external or rows");
  }
  if (texts.order == "keep") {
    options.order = Order::keep;
  } else if (!texts.order.empty() && texts.order != "search") {
    throw wrong("--order", texts.order, "keep or search");
  }
  if (texts.alias == "none") {
    options.alias = Alias::none;
  } else if (texts.alias == "all") {
    options.alias = Alias::all;
  } else if (texts.alias != "auto") {
    throw wrong("--alias", texts.alias, "none, auto or all");
  }
  if (texts.moves) options.moves = Moves::allowed;
  if (!texts.stream.empty()) options.stream.emplace();
  if (!texts.stream.empty() && texts.stream != "all") {
    for (const std::string_view op : base::split(texts.stream, ','))
      options.stream->operators.emplace_back(op);
  }
  if (!texts.granule.empty()) {
    if (texts.stream.empty()) throw UsageError("--granule needs --stream");
    options.stream->granule = parse_number("--granule", texts.granule, 1);
  }
  if (!texts.layout.empty()) {
    if (texts.stream.empty()) throw UsageError("--layout needs --stream");
    if (texts.layout == "ring") {
      options.stream->layout = StreamLayout::ring;
    } else if (texts.layout == "granules") {
      options.stream->layout = StreamLayout::granules;
    } else if (texts.layout != "auto") {
      throw wrong("--layout", texts.layout, "ring, granules or auto");
    }
  }
  if (!texts.blocks.empty()) {
    if (texts.stream.empty()) throw UsageError("--blocks needs --stream");
    if (texts.blocks == "none") {
      options.stream->blocks = StreamBlocks::none;
    } else if (texts.blocks != "auto") {
      throw wrong("--blocks", texts.blocks, "auto or none");
    }
  }
  if (!texts.axes.empty()) {
    if (texts.stream.empty()) throw UsageError("--axes needs --stream");
    if (texts.axes == "natural") {
      options.stream->axes = StreamAxes::natural;
    } else if (texts.axes != "auto") {
      throw wrong("--axes", texts.axes, "auto or natural");
    }
  }
  if (!texts.recompute.empty()) {
    if (texts.stream.empty()) throw UsageError("--recompute needs --stream");
    parse_recompute(texts.recompute, *options.stream);
  }
  if (!texts.memories.empty()) options.memories = parse_memories(texts.memories);
  if (!texts.device.empty()) {
    if (!texts.memories.empty() || !texts.capacity.empty())
      throw UsageError("--device gives the memories: it excludes --memory and --capacity");
    options.memories = memories_of(device_named(texts.device));
  }
  if (!texts.capacity.empty()) {
    if (!texts.memories.empty()) throw UsageError("--capacity and --memory cannot be combined");
    options.memories[0].capacity = parse_bytes("--capacity", texts.capacity);
  }
  if (!texts.align.empty()) options.alignment = parse_number("--align", texts.align, 1);
  if (!texts.time_limit.empty()) options.solve.time_limit = parse_seconds(texts.time_limit);
  if (!texts.effort.empty()) {
    if (!texts.time_limit.empty()) throw UsageError("--effort and --time-limit cannot be combined");
    options.solve.effort = parse_number("--effort", texts.effort, 0);
  }
  if (!texts.threads.empty())
    options.solve.threads = static_cast<std::size_t>(parse_number("--threads", texts.threads, 1));
  if (!texts.seed.empty())
    options.solve.seed = static_cast<std::uint64_t>(parse_number("--seed", texts.seed, 0));
  if (!texts.reuse_threshold.empty())
    options.solve.reuse_threshold = parse_bytes("reuse-threshold of --strategy", texts.reuse_threshold);
  options.solve.sort = texts.sort;
  if (!texts.rounds.empty()) options.solve.rounds = parse_number("rounds of --strategy", texts.rounds, 0);
  options.run = texts.run;
  for (const std::string& text : texts.feeds) options.feeds.push_back(parse_feed("--feed", text));
  options.released = texts.released;
  parse_objectives(texts, options);
  return options;
}

PlanOptions parse_options_of_all(const PlanTexts& texts) {
  if (!texts.strategy.empty() && texts.strategy.find(':') == std::string::npos)
    throw wrong("--strategy", texts.strategy,
                "NAME:KEY=VALUE: all strategies are tried, and this tunes one of them");
  PlanOptions options = parse_plan_options(texts);
  options.solve.strategy = SolveOptions{}.strategy;
  return options;
}

SweepOptions parse_sweep_options(const PlanTexts& texts) {
  constexpr std::string_view dots = "..";
  constexpr std::string_view form = "NAME=A..B for one memory, for instance SRAM=16KiB..1MiB";
  PlanTexts with_largest = texts;
  std::optional<Bytes> from;
  SweepOptions options;
  for (std::size_t m = 0; m < texts.memories.size(); ++m) {
    std::string& text = with_largest.memories[m];
    const std::size_t begin = text.find('=') + 1;  // 0: no size
    const std::size_t range = begin == 0 ? std::string::npos : text.find(dots, begin);
    if (range == std::string::npos) continue;
    if (from) throw wrong("--memory", text, form);
    from = parse_bytes("size of --memory", std::string_view(text).substr(begin, range - begin));
    if (*from == 0) throw wrong("--memory", text, "sizes of at least 1");
    text.erase(begin, range + dots.size() - begin);
    options.memory = m;
  }
  if (!from) throw UsageError(fmt::format("--memory gives no range of sizes, expected {}", form));
  options.plan = parse_options_of_all(with_largest);
  std::vector<Memory>& memories = options.plan.memories;
  const Bytes to = *memories[options.memory].capacity;
  if (to < *from) throw wrong("--memory", texts.memories[options.memory], "sizes A..B with A at most B");
  const auto works = [](const Memory& memory) { return memory.role == MemoryRole::working; };
  if (std::count_if(memories.begin(), memories.end(), works) == 1)
    memories.push_back(
        {.name = "slow", .cost = 10 * std::max<std::int64_t>(memories[options.memory].cost, 1)});
  options.sizes = sizes_between(*from, to);
  return options;
}

RunOptions parse_run_options(const RunTexts& texts, std::uint64_t seed) {
  RunOptions options{.seed = seed};
  if (texts.kernels == "plain") {
    options.kernels = KernelSet::plain;
  } else if (texts.kernels != "fast") {
    throw wrong("--kernels", texts.kernels, "fast or plain");
  }
  if (texts.check == "outputs") {
    options.check = RunCheck::outputs;
  } else if (texts.check == "all") {
    options.check = RunCheck::tensors;
  } else if (!texts.check.empty()) {
    throw wrong("--check", texts.check, "nothing or all");
  }
  if (!texts.random_weights.empty())
    options.random_weights =
        static_cast<std::uint64_t>(parse_number("--random-weights", texts.random_weights, 0));
  return options;
}

std::map<std::string, Array> parse_inputs(const std::vector<std::string>& texts) {
  std::map<std::string, Array> inputs;
  for (const std::string& text : texts) {
    const auto [name, file] = parse_assignment("--input", text);
    insert_once("--input", inputs, name, read_array(file));
  }
  return inputs;
}

}  // namespace stowage::cli
