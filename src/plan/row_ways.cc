// What options and networks allow of rows: which operators may run by rows, and ways that use all of that or less. An
// allowed feature may not pay once offsets are found, so a way without it is tried as well:
//
//     axes searched | natural,  io rows | arena,  in place | never,  apart,  repeats,  order searched | kept
//
// Cost: linear in operators and the names that the options give; at most 2^6 ways, most of them equal to others.

#include "plan/row_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/nearest.h"
#include "base/text.h"
#include "stowage/error.h"

namespace stowage::plan {

using stream::InPlace;

void expect_rows(std::span<const Input> inputs, const PlanOptions& options) {
  if (options.stream->granule && *options.stream->granule < 1) throw UsageError("--granule is at least 1");
  if (!(options.stream->recompute >= 1)) throw UsageError("--recompute is at least 1");
  const std::optional<double> from = options.stream->recompute_from;
  if (from && !(*from >= 1 && *from <= options.stream->recompute))
    throw UsageError("--recompute A..B is for 1 <= A <= B");
  if (from && (options.memories.size() > 1 || inputs.size() > 1))
    throw UsageError("--recompute A..B plans one network in one memory, for it compares peaks");
  if (std::ranges::any_of(options.places, [](const TensorPlace& it) { return it.offset.has_value(); }))
    throw UsageError("--stream: rows of a tensor have no single offset, so --place gives a memory alone");
  if (options.target != Target::any) throw UsageError("--stream makes plans that TFLite files cannot say");
}

PlanOptions without_rows(PlanOptions options) {
  options.stream.reset();
  if (options.io == Io::rows) options.io = Io::arena;
  return options;
}

namespace {

/// A number or a range of numbers: "7", "3-9".
struct Numbers {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

std::optional<Numbers> numbers_in(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = base::parse_integer(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : base::parse_integer(text.substr(dash + 1));
  return first && last ? std::optional(Numbers{*first, *last}) : std::nullopt;
}

}  // namespace

namespace {

/// Whether the options name an operator by name, type, number or range of numbers.
bool is_named(const std::vector<Operator>& operators, std::size_t op, const std::string& wanted) {
  const auto numbers = numbers_in(wanted);
  const auto number = static_cast<std::int64_t>(op);
  return operators[op].name == wanted || operators[op].type == wanted ||
         (numbers && number >= numbers->first && number <= numbers->last);
}

bool names_one(const Graph& graph, const std::string& wanted) {
  const auto& operators = graph.subgraphs[0].operators;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    if (is_named(operators, op, wanted)) return true;
  }
  return false;
}

}  // namespace

std::vector<Graph> chosen_by_rows(std::span<const Input> inputs, const StreamOptions& options) {
  std::vector<Graph> networks;
  for (const Input& input : inputs)
    networks.push_back(chosen_by_rows(std::get<Graph>(input.content), options));
  for (const std::string& wanted : options.operators) {
    if (std::ranges::any_of(networks, [&](const Graph& graph) { return names_one(graph, wanted); })) continue;
    std::vector<std::string> names;
    for (const Graph& graph : networks) {
      for (const Operator& it : graph.subgraphs[0].operators) names.insert(names.end(), {it.name, it.type});
    }
    throw UsageError(fmt::format("--stream: {} is no name, type or number of the {} operators of {}{}",
                                 base::quoted(wanted), networks[0].subgraphs[0].operators.size(),
                                 networks.size() == 1
                                     ? base::quoted(networks[0].name)
                                     : base::quoted(networks[0].name) + " or of other networks",
                                 base::did_you_mean(wanted, names)));
  }
  return networks;
}

Graph chosen_by_rows(const Graph& graph, const StreamOptions& options) {
  Graph chosen = graph;
  if (options.operators.empty()) return chosen;
  auto& operators = chosen.subgraphs[0].operators;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    if (std::ranges::any_of(options.operators,
                            [&](const std::string& wanted) { return is_named(operators, op, wanted); }))
      continue;
    operators[op].row_axes.clear();
    operators[op].sums_over.clear();
    operators[op].carries.clear();
  }
  return chosen;
}

std::vector<Way> ways_of(const PlanOptions& options) {
  const InPlace in_place =
      options.stream->layout == StreamLayout::ring ? InPlace::same_size : InPlace::where_possible;
  std::vector<Way> ways{{.io = options.io,
                         .in_place = options.alias == Alias::none ? InPlace::never : in_place,
                         .apart = options.alias == Alias::automatic,
                         .recompute = options.stream->recompute,
                         .turns = options.stream->axes == StreamAxes::searched,
                         .order = options.order}};
  const auto add_less = [&](auto lessen) {
    for (std::size_t w = 0, count = ways.size(); w < count; ++w) {
      Way less = ways[w];
      lessen(less);
      if (less != ways[w]) ways.push_back(less);
    }
  };
  add_less([](Way& way) { way.turns = false; });
  add_less([](Way& way) { way.io = way.io == Io::rows ? Io::arena : way.io; });
  add_less([&](Way& way) {
    if (options.alias == Alias::automatic) way.in_place = InPlace::never;
  });
  add_less([](Way& way) { way.apart = way.apart && way.in_place == InPlace::never; });
  add_less([](Way& way) { way.repeats = false; });
  add_less([](Way& way) { way.order = Order::keep; });
  return ways;
}

}  // namespace stowage::plan
