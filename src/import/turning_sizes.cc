// Sizes at which something in a model may change. A reading at some sizes of a range seldom meets the one at which a
// condition holds, but the model itself names it:
//
//     k = Where(Equal(2 * n + 1, 1555), a, b)       at n=2000: 4001 and 1555
//                                                   at n=1000: 2001 and 1555    equal at n=777
//
// Two numbers that the model compares, clips, divides or takes from each other, and that are known in two readings, give
// the size at which they are equal: the difference is drawn as a straight line. That is right where both are affine
// functions of the size. Where they are not (n * n == 603729) it is not, and such a size is met by chance, or if each size
// is read. A constant is also taken for a size itself.

#include "import/turning_sizes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace stowage::import {
namespace {

constexpr std::size_t most_elements = 8;  // of an operand: lists of sizes
constexpr std::size_t most_operands = 4;
constexpr std::size_t most_turning_sizes = 18;  // of a range: each is a reading
constexpr double largest_whole = 1e15;          // that a real number has exactly

using Names = std::span<const std::string_view>;

bool is_one_of(std::string_view type, Names names) { return std::ranges::find(names, type) != names.end(); }

/// Compares its operands, or chooses between them.
bool is_comparison(std::string_view type) {
  static constexpr std::array<std::string_view, 19> names{
      "Equal",   "Less",    "LessOrEqual",   "Greater",   "GreaterOrEqual", "Min",  "Max",
      "Clip",    "Mod",     "Where",         "EQUAL",     "NOT_EQUAL",      "LESS", "LESS_EQUAL",
      "GREATER", "MINIMUM", "GREATER_EQUAL", "FLOOR_MOD", "MAXIMUM"};
  return is_one_of(type, names) || type == "SELECT" || type == "SELECT_V2";
}

bool is_sum(std::string_view type) { return type == "Add" || type == "ADD"; }
bool is_difference(std::string_view type) { return type == "Sub" || type == "SUB"; }

std::optional<std::int64_t> whole_element(const Value& value, std::size_t index) {
  const double real = value.is_real() ? value.reals[index] : static_cast<double>(value.integers[index]);
  if (!(std::abs(real) < largest_whole) || real != std::floor(real)) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

void add_turns(const Operator& op, TurnPlace place, const Value& first, const Value& second, Turns& turns) {
  const std::size_t count = std::max(first.size(), second.size());
  const auto fits = [count](const Value& it) { return it.size() == count || it.size() == 1; };
  if (count > most_elements || !fits(first) || !fits(second)) return;
  for (std::size_t i = 0; i < count; ++i) {
    const auto a = whole_element(first, first.size() == 1 ? 0 : i);
    const auto b = whole_element(second, second.size() == 1 ? 0 : i);
    if (!a || !b) continue;
    place.element = i;
    turns.emplace(place, Turn{*a, is_sum(op.type) ? -*b : *b});
  }
}

/// With one less and one more, those that the range has; as many as there may be.
void add_size(std::int64_t size, const GivenSize& range, std::set<std::int64_t>& sizes) {
  for (std::int64_t near = size - 1; near <= size + 1; ++near) {
    const bool has = near >= *range.least && near < range.most && (near - *range.least) % range.step == 0;
    if (has && sizes.size() < most_turning_sizes) sizes.insert(near);
  }
}

/// Where a straight line through both differences is 0, or the next size below.
std::optional<std::int64_t> crossing(std::int64_t size, std::int64_t difference, std::int64_t other_size,
                                     std::int64_t other_difference) {
  const double slope =
      static_cast<double>(difference - other_difference) / static_cast<double>(size - other_size);
  const double at = static_cast<double>(size) - static_cast<double>(difference) / slope;
  if (!(std::abs(at) < largest_whole)) return std::nullopt;
  return static_cast<std::int64_t>(std::floor(at));
}

}  // namespace

Turns turns_in(const Graph& graph, const std::function<const Value*(TensorId)>& value_of) {
  Turns turns;
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
      const Operator& op = graph.subgraphs[s].operators[o];
      const bool is_compared = is_comparison(op.type);
      if (!is_compared && !is_sum(op.type) && !is_difference(op.type)) continue;
      std::vector<std::pair<std::size_t, const Value*>> known;
      for (std::size_t i = 0; i < op.inputs.size() && known.size() < most_operands; ++i) {
        const Value* const value = op.inputs[i] ? value_of(*op.inputs[i]) : nullptr;
        if (value != nullptr) known.emplace_back(i, value);
      }
      for (std::size_t i = 0; i < known.size(); ++i)
        for (std::size_t j = i + 1; j < known.size(); ++j)
          add_turns(op, {!is_compared, s, o, known[i].first, known[j].first, 0}, *known[i].second,
                    *known[j].second, turns);
    }
  }
  return turns;
}

std::set<std::int64_t> turning_sizes(const GivenSize& range, const Turns& largest, const TurnsAt& other) {
  std::set<std::int64_t> sizes;
  for (const auto& [place, turn] : largest) {
    const auto there = other.turns.find(place);
    if (there == other.turns.end()) continue;
    const Turn& before = there->second;
    const std::int64_t difference = turn.first - turn.second;
    const std::int64_t other_difference = before.first - before.second;
    if (difference == other_difference) continue;
    if (const auto size = crossing(range.most, difference, other.size, other_difference))
      add_size(*size, range, sizes);
    if (place.is_sum) continue;
    if (turn.first == before.first) add_size(turn.first, range, sizes);
    if (turn.second == before.second) add_size(turn.second, range, sizes);
  }
  return sizes;
}

}  // namespace stowage::import
