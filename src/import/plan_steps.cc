// Steps of a plan, and repetitions of them: see docs/plan-json.md. What a repetition stands for is made from the
// inside out, so it costs its steps times the depth of its repetitions.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "import/plan_parts.h"
#include "model/plan_format.h"

namespace stowage::import {
namespace {

/// The rows of a tensor that arrive, leave or are copied; none: the whole tensor.
std::optional<RowRange> read_passing_rows(const Json& json) {
  return json.find("rows") || json.find("axis") ? std::optional(read_rows(json)) : std::nullopt;
}

Step read_step(const Json& json, const Names& buffers) {
  if (const auto run = json.find("run")) {
    Run step{.model = run->at("model").index()};
    for (const Json& entry : run->at("path").elements()) step.path.push_back(entry.index());
    if (step.path.empty() || step.path.size() % 2 != 0)
      throw run->error("has a path that is not [subgraph, operator, ...]");
    if (run->find("rows")) step.rows = read_rows(*run);
    if (const auto sums = run->find("sums"))
      step.sums = Sums{buffers(sums->at("buffer")), sums->at("offset").natural()};
    if (const auto carry = run->find("carry"))
      step.carry = Sums{buffers(carry->at("buffer")), carry->at("offset").natural()};
    if (const auto part = run->find("part")) step.part = read_rows(*part);
    step.block = read_block(*run);
    return step;
  }
  if (const auto copy = json.find("copy")) {
    return Copy{copy->at("tensor").index(), buffers(copy->at("from")), buffers(copy->at("to")),
                read_passing_rows(*copy), read_block(*copy)};
  }
  if (const auto fork = json.find("fork")) {
    Fork step;
    for (const Json& clock : fork->elements()) step.clocks.push_back(clock.index());
    return step;
  }
  if (const auto pause = json.find("pause")) return Pause{pause->index()};
  if (const auto arrive = json.find("arrive"))
    return Arrive{arrive->at("tensor").index(), read_passing_rows(*arrive), read_block(*arrive)};
  if (const auto leave = json.find("leave"))
    return Leave{leave->at("tensor").index(), read_passing_rows(*leave), read_block(*leave)};
  throw json.error("is none of run, copy, fork, pause, arrive, leave and repeat");
}

/// By how much a step of the file moves on each time.
struct Advance {
  Json place;
  std::int64_t rows = 0;
  std::int64_t block = 0;
};

/// A number, or [rows, block].
Advance read_advance(const Json& json) {
  if (!json.is_array()) return {json, json.integer()};
  const std::vector<Json> both = json.elements();
  if (both.size() != 2) throw json.error("is neither a number nor [rows, block]");
  return {json, both[0].integer(), both[1].integer()};
}

/// Appends one for each step of the file, also of repetitions within.
void read_advances(const Json& steps, const Json& json, std::vector<Advance>& all) {
  const std::vector<Json> entries = steps.elements();
  const std::vector<Json> advances = json.elements();
  if (advances.size() != entries.size())
    throw json.error(
        fmt::format("has {} entries, expected one for each of {} steps", advances.size(), entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (const auto repeat = entries[i].find("repeat")) {
      read_advances(repeat->at("steps"), advances[i], all);
    } else {
      all.push_back(read_advance(advances[i]));
    }
  }
}

/// `MaybeRange` is an optional or a rare range.
template <typename MaybeRange>
void move_on(MaybeRange& range, std::int64_t advance, std::int64_t times, const Json& place) {
  if (advance == 0) return;
  if (!range) throw place.error("moves rows or a block that the step does not have");
  const auto shift = base::checked_multiply(advance, times);
  if (!shift || *shift > largest_value - range->end || *shift < -range->begin)
    throw place.error("moves rows to where none are");
  range->begin += *shift;
  range->end += *shift;
}

void move_on(Step& step, const Advance& by, std::int64_t times) {
  std::optional<RowRange> no_rows;
  Rare<RowRange> no_block;
  const auto move = [&](auto* const it) {
    if (it == nullptr) return false;
    move_on(it->rows, by.rows, times, by.place);
    move_on(it->block, by.block, times, by.place);
    return true;
  };
  if (move(std::get_if<Run>(&step)) || move(std::get_if<Arrive>(&step)) || move(std::get_if<Leave>(&step)) ||
      move(std::get_if<Copy>(&step)))
    return;
  move_on(no_rows, by.rows, times, by.place);
  move_on(no_block, by.block, times, by.place);
}

/// What entries of the file stand for.
struct Expanded {
  std::vector<Step> steps{};
  std::vector<std::size_t> written{};  ///< For each of them, which step of the file it is.
  std::size_t in_file = 0;             ///< Steps of the file.
  std::size_t counted = 0;             ///< See model::counted.
};

class StepReader {
 public:
  StepReader(const Names& buffers, Repeated& repeated) : buffers_(buffers), repeated_(repeated) {}

  std::vector<Step> read(const Json& list) {
    std::vector<Step> steps;
    for (const Json& entry : list.elements()) {
      const auto repeat = entry.find("repeat");
      if (!repeat) {
        steps.push_back(read_step(entry, buffers_));
        continue;
      }
      Expanded all = read_repetition(*repeat, 1);
      repeated_.take(*repeat, 1, all.counted);
      std::move(all.steps.begin(), all.steps.end(), std::back_inserter(steps));
    }
    return steps;
  }

 private:
  Expanded read_repetition(const Json& repeat, std::size_t depth) const {
    if (depth > model::deepest_repetition)
      throw repeat.error(fmt::format("is within more than {} repetitions", model::deepest_repetition - 1));
    const Json steps = repeat.at("steps");
    const Json count = repeat.at("count");
    const Expanded once = read_once(steps, depth);
    if (once.steps.empty() || count.natural() == 0) throw repeat.error("repeats nothing");
    std::vector<Advance> advances;
    read_advances(steps, repeat.at("advance"), advances);
    repeated_.expect_room(count, count.index(), once.counted);
    Expanded all{.in_file = once.in_file, .counted = count.index() * once.counted};
    for (std::int64_t times = 0; times < count.natural(); ++times) {
      for (std::size_t i = 0; i < once.steps.size(); ++i) {
        all.steps.push_back(once.steps[i]);
        all.written.push_back(once.written[i]);
        move_on(all.steps.back(), advances[once.written[i]], times);
      }
    }
    return all;
  }

  [[nodiscard]] Expanded read_once(const Json& steps, std::size_t depth) const {
    Expanded once;
    for (const Json& entry : steps.elements()) {
      if (const auto repeat = entry.find("repeat")) {
        Expanded inner = read_repetition(*repeat, depth + 1);
        for (std::size_t i = 0; i < inner.steps.size(); ++i) {
          once.steps.push_back(std::move(inner.steps[i]));
          once.written.push_back(once.in_file + inner.written[i]);
        }
        once.in_file += inner.in_file;
        once.counted += inner.counted;
        repeated_.expect_room(*repeat, 1, once.counted);
      } else {
        once.steps.push_back(read_step(entry, buffers_));
        once.counted += model::counted(once.steps.back());
        once.written.push_back(once.in_file++);
      }
    }
    return once;
  }

  const Names& buffers_;
  Repeated& repeated_;
};

}  // namespace

std::vector<Step> read_steps(const Json& list, const Names& buffers, Repeated& repeated) {
  return StepReader(buffers, repeated).read(list);
}

}  // namespace stowage::import
