// A plan's steps are the row blocks of each operator in ascending order, interleaved. So the steps are a
// sequence of operators; which row block it is follows from counting. The sequence repeats itself with the rows. It
// becomes pieces that are repeated, found greedily from the front:
//
//     a a b a a b a a b c        ->  table a a b c;  3 times [0, 3), once [3, 4)
//
// Pieces that a table has already are not stored again. Cost: steps * longest piece, and a search in the table.
//
// An operator that computes rows again has a list of its row blocks, in the order of its steps. So have the copies of a
// tensor whose rows move between memories.
//
// A plan that follows an affine schedule needs no table: see loops.cc.

#include "generate/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "stowage/error.h"

namespace stowage::generate {
namespace {

[[noreturn]] void refuse_plan(const std::string& problem) { throw Error("plan", problem); }

/// The most rows of a step, if steps are blocks of so many rows; else 1: then steps are taken row by row.
std::int64_t granule_of(const Network& network, const Plan& plan) {
  struct Range {
    RowRange rows{};
    TensorId tensor = 0;
  };
  std::vector<Range> all;
  for (const Step& step : plan.clocks[0].steps) {
    if (const auto* const run = std::get_if<Run>(&step);
        run != nullptr && run->rows && run->path.size() == 2) {
      const Operator& op = network.graph().subgraphs[0].operators[run->path[1]];
      all.push_back({*run->rows, (run->sums ? op.inputs : op.outputs).at(0).value()});
    } else if (const auto* const arrive = std::get_if<Arrive>(&step); arrive != nullptr && arrive->rows) {
      all.push_back({*arrive->rows, arrive->tensor});
    } else if (const auto* const leave = std::get_if<Leave>(&step); leave != nullptr && leave->rows) {
      all.push_back({*leave->rows, leave->tensor});
    }
  }
  std::int64_t most = 1;
  for (const Range& it : all) most = std::max(most, it.rows.end - it.rows.begin);
  const auto is_block = [&](const Range& it) {
    const std::int64_t extent = (*plan.tensors[it.tensor].tensor.shape)[it.rows.axis];
    return it.rows.begin % most == 0 && it.rows.end == std::min(it.rows.begin + most, extent);
  };
  return std::ranges::all_of(all, is_block) ? most : 1;
}

/// The rows of each copy of a tensor, if copies are blocks of so many rows; else 1. By tensor.
std::map<std::size_t, std::int64_t> granules_of_copies(const Plan& plan) {
  std::map<std::size_t, std::vector<RowRange>> all;
  for (const Step& step : plan.clocks[0].steps)
    if (const auto* const copy = std::get_if<Copy>(&step); copy != nullptr && copy->rows)
      all[copy->tensor].push_back(*copy->rows);
  std::map<std::size_t, std::int64_t> granules;
  for (const auto& [tensor, copies] : all) {
    std::int64_t most = 1;
    for (const RowRange& it : copies) most = std::max(most, it.end - it.begin);
    const std::int64_t extent = (*plan.tensors[tensor].tensor.shape)[copies[0].axis];
    const bool are_blocks = std::ranges::all_of(copies, [&](const RowRange& it) {
      return it.begin % most == 0 && it.end == std::min(it.begin + most, extent);
    });
    granules[tensor] = are_blocks ? most : 1;
  }
  return granules;
}

/// Collects steps and checks that row blocks ascend.
class Collector {
 public:
  Collector(const Network& network, const Plan& plan)
      : network_(network),
        plan_(plan),
        granule_(granule_of(network, plan)),
        granules_of_copies_(granules_of_copies(plan)) {
    result_.granule = granule_;
  }

  void add(const Run& run, Position at) {
    if (run.path.size() != 2) return add_to_body(run, at);
    const Operator& op = network_.graph().subgraphs[0].operators[run.path[1]];
    StepKind kind{.op = run.path[1],
                  .sums = run.sums,
                  .carry = run.carry,
                  .adds_parts = run.part.has_value(),
                  .is_first_pass = run.sums && summed_first(op, run.rows->axis) != nullptr,
                  .granule = granule_,
                  .position = at};
    // An operator that runs as a whole may have no output.
    const std::int64_t extent =
        run.rows ? extent_of((run.sums ? op.inputs : op.outputs).at(0).value(), run.rows) : 1;
    if (run.rows && (extent > 1 || run.sums || run.part)) kind.axis = run.rows->axis;
    kind.is_one_step = extent <= granule_ && !run.part;
    const auto [known, is_new] =
        operators_.try_emplace({run.path[1], kind.is_first_pass}, result_.operators.size());
    if (is_new) result_.operators.push_back(kind);
    const StepKind& own = result_.operators[known->second];
    if (own.axis != kind.axis || own.sums != kind.sums || own.carry != kind.carry ||
        own.adds_parts != kind.adds_parts)
      refuse_plan("runs an operator in two ways");
    const Number number{0, known->second};
    count(number, run.rows, extent, at);
    if (run.part) add_part(number, *run.rows, *run.part);
  }

  /// By rows, all copies of a tensor are one function, which is told which rows they move.
  void add(const Copy& copy, Position at) {
    const auto [known, is_new] = copies_.try_emplace(copy.tensor, result_.operators.size());
    if (is_new || !is_streamed(plan_)) {
      known->second = result_.operators.size();
      StepKind kind{.position = at, .copy = copy};
      const std::int64_t extent = extent_of(copy.tensor, copy.rows);
      if (copy.rows) kind.granule = granules_of_copies_.at(copy.tensor);
      if (copy.rows && kind.granule < extent) kind.axis = copy.rows->axis;
      result_.operators.push_back(kind);
    }
    const std::size_t number = known->second;
    const StepKind& kind = result_.operators[number];
    if (kind.copy->rows.has_value() != copy.rows.has_value())
      refuse_plan("moves a tensor by rows and as a whole");
    const RowRange range = copy.rows.value_or(RowRange{0, 0, 1});
    for (std::int64_t begin = range.begin; begin < range.end; begin += kind.granule) {
      if (kind.axis) result_.moved[number].push_back(static_cast<std::uint16_t>(begin / kind.granule));
      sequence_.push_back({{0, number}, at});
    }
  }

  void add(TensorId tensor, bool is_input, const std::optional<RowRange>& rows, Position at) {
    Port port{.tensor = tensor, .is_input = is_input};
    const std::int64_t extent = extent_of(tensor, rows);
    if (rows && extent > 1) port.axis = rows->axis;
    const auto [known, is_new] = ports_.try_emplace({tensor, is_input}, result_.ports.size());
    if (is_new) result_.ports.push_back(port);
    count({1, known->second}, rows, extent, at);
  }

  void add_pause(Position at) {
    result_.has_pauses = true;
    sequence_.push_back({{2, 0}, at});
  }

  /// Inputs come before outputs among the ports.
  Schedule take() {
    std::vector<std::size_t> place(result_.ports.size());
    std::vector<Port> sorted;
    for (const bool is_input : {true, false}) {
      for (std::size_t p = 0; p < place.size(); ++p) {
        if (result_.ports[p].is_input != is_input) continue;
        place[p] = sorted.size();
        sorted.push_back(result_.ports[p]);
      }
    }
    result_.ports = std::move(sorted);
    for (auto& [number, done] : done_) {
      const bool ascends = std::ranges::adjacent_find(
                               done.blocks, [](auto a, auto b) { return b != a + 1; }) == done.blocks.end();
      if (ascends && done.parts.empty()) continue;
      const StepKind& kind = result_.operators[number.second];
      if (number.first == 1 || kind.sums || kind.carry || !kind.axis)
        refuse_plan("hands over or sums up rows again");
      result_.repeats.emplace(kind.op, std::move(done));
    }
    for (const auto& [number, at] : sequence_) {
      const auto& [what, own] = number;
      result_.steps.push_back(what == 2   ? result_.kinds() - 1
                              : what == 1 ? result_.operators.size() + place[own]
                                          : own);
      result_.positions.push_back(at);
    }
    return std::move(result_);
  }

 private:
  using Number = std::pair<std::size_t, std::size_t>;  // 0 and an operator, 1 and a port, or 2: a pause

  /// Bodies run as wholes, behind the step of their operator.
  void add_to_body(const Run& run, Position at) {
    if (run.rows || run.sums || run.carry || run.part || run.block)
      refuse_plan("runs operators of a body by rows, for which no C is generated");
    StepKind* kind = &result_.operators.at(operators_.at({run.path[1], false}));
    for (std::size_t i = 2; i < run.path.size(); i += 2) {
      const std::vector<std::size_t>& bodies = op_of(network_.graph(), *kind).bodies;
      const auto b = std::ranges::find(bodies, run.path[i]) - bodies.begin();
      kind->bodies.resize(bodies.size());
      std::vector<StepKind>& steps = kind->bodies.at(static_cast<std::size_t>(b));
      if (i + 2 == run.path.size())
        steps.push_back({.op = run.path[i + 1],
                         .position = at,
                         .subgraph = run.path[i],
                         .within = fmt::format("{}{}_{}_", kind->within, kind->op, run.path[i])});
      kind = &steps.back();
    }
  }

  [[nodiscard]] std::int64_t extent_of(TensorId tensor, const std::optional<RowRange>& rows) const {
    return rows ? (*plan_.tensors[tensor].tensor.shape)[rows->axis] : 1;
  }

  /// Of all blocks of a step. Parts of the same rows ascend.
  void add_part(const Number& number, const RowRange& rows, const RowRange& part) {
    std::vector<AddedPart>& parts = done_.at(number).parts;
    const auto last = last_rows_.find(number);
    const bool goes_on = last != last_rows_.end() && last->second == rows && parts.back().end <= part.begin;
    last_rows_.insert_or_assign(number, rows);
    parts.resize(done_.at(number).blocks.size(), {part.begin, part.end, !goes_on});
  }

  void count(const Number& number, const std::optional<RowRange>& rows, std::int64_t extent, Position at) {
    Repeats& done =
        done_.try_emplace(number, Repeats{number.second, granule_, rows ? rows->axis : 0, {}, {}, {}})
            .first->second;
    if (!rows && !done.blocks.empty())
      refuse_plan(fmt::format("runs {} again as a whole, for which no C is generated",
                              number.first == 1
                                  ? "a transfer"
                                  : describe(network_.graph(), 0, result_.operators[number.second].op)));
    const RowRange range = rows.value_or(RowRange{0, 0, extent});
    for (std::int64_t begin = range.begin; begin < range.end; begin += granule_) {
      done.blocks.push_back(begin / granule_);
      done.positions.push_back(at);
      sequence_.push_back({number, at});
    }
  }

  const Network& network_;
  const Plan& plan_;
  std::int64_t granule_;
  std::map<std::size_t, std::int64_t> granules_of_copies_;
  std::map<std::size_t, std::size_t> copies_{};  ///< Their number, by tensor.
  std::map<std::pair<std::size_t, bool>, std::size_t>
      operators_{};  ///< By operator, and whether to sum first.
  std::map<std::pair<TensorId, bool>, std::size_t> ports_{};
  std::map<Number, Repeats> done_{};
  std::map<Number, RowRange> last_rows_{};  ///< Of the last step that adds parts.
  std::vector<std::pair<Number, Position>> sequence_{};
  Schedule result_{};
};

/// The repetition from a step on that stands for most steps.
Period repetition_from(const std::vector<std::size_t>& steps, std::size_t first) {
  constexpr std::size_t longest = 96;
  Period best{.first = first};
  std::size_t saved = 0;
  for (std::size_t length = 1; length <= longest && first + 2 * length <= steps.size(); ++length) {
    std::size_t end = first + length;
    while (end < steps.size() && steps[end] == steps[end - length]) ++end;
    const std::size_t times = (end - first) / length;
    if (length * (times - 1) <= saved) continue;
    saved = length * (times - 1);
    best = {first, length, times};
  }
  return best;
}

}  // namespace

Schedule schedule_of(const Network& network, const Plan& plan) {
  if (plan.clocks.size() != 1 + plan.pauses.size())
    refuse_plan("has several clocks, for which no C is generated");
  Collector collector(network, plan);
  const std::vector<Step>& steps = plan.clocks[0].steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto at = static_cast<Position>(s);
    if (const auto* const run = std::get_if<Run>(&steps[s])) {
      collector.add(*run, at);
    } else if (const auto* const arrive = std::get_if<Arrive>(&steps[s])) {
      collector.add(arrive->tensor, true, arrive->rows, at);
    } else if (const auto* const leave = std::get_if<Leave>(&steps[s])) {
      collector.add(leave->tensor, false, leave->rows, at);
    } else if (const auto* const copy = std::get_if<Copy>(&steps[s])) {
      const bool is_part = is_constant(plan.tensors[copy->tensor].tensor.kind) && (copy->rows || copy->block);
      if (!is_part) collector.add(*copy, at);  // parts of constants are read where they lie
    } else if (std::holds_alternative<Pause>(steps[s])) {
      collector.add_pause(at);
    } else {
      refuse_plan("runs operators at the same time, for which no C is generated");
    }
  }
  return collector.take();
}

std::string Schedule::counter() const {
  std::map<std::size_t, std::size_t> blocks;
  std::size_t most = 0;
  for (const std::size_t step : steps) most = std::max(most, ++blocks[step]);
  return most <= std::numeric_limits<std::uint8_t>::max() ? "uint8_t" : "uint16_t";
}

void Schedule::keep_steps(const std::vector<std::size_t>& kept) {
  std::vector<std::size_t> numbers;
  std::vector<Position> at;
  for (const std::size_t step : kept) {
    numbers.push_back(steps[step]);
    at.push_back(positions[step]);
  }
  steps = std::move(numbers);
  positions = std::move(at);
}

PeriodicTable periodic(const std::vector<std::size_t>& steps) {
  constexpr std::size_t worthwhile = 8;  // bytes of a period
  PeriodicTable table;
  const auto add = [&](std::size_t first, std::size_t length, std::size_t times) {
    const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    auto known = std::search(table.numbers.begin(), table.numbers.end(), begin, end);
    const auto place = static_cast<std::size_t>(known - table.numbers.begin());
    if (known == table.numbers.end()) table.numbers.insert(table.numbers.end(), begin, end);
    Period* const last = table.periods.empty() ? nullptr : &table.periods.back();
    if (last != nullptr && times == 1 && last->times == 1 && last->first + last->length == place) {
      last->length += length;
    } else {
      table.periods.push_back({place, length, times});
    }
  };
  std::size_t single = 0;  // steps from here on are not added yet
  for (std::size_t first = 0; first < steps.size();) {
    const Period found = repetition_from(steps, first);
    if (found.length * (found.times - 1) < worthwhile) {
      ++first;
      continue;
    }
    if (single < first) add(single, first - single, 1);
    add(first, found.length, found.times);
    first += found.length * found.times;
    single = first;
  }
  if (single < steps.size()) add(single, steps.size() - single, 1);
  return table;
}

}  // namespace stowage::generate
