// A recursive descent, one function for each line of the grammar, in linear time:
//
//     sequence = parallel (";" parallel)*
//     parallel = paused ("|" paused)*
//     paused   = operand ("^" steps operand)*
//     operand  = "(" sequence ")" | name
//
// Nested expressions of one kind become one, so that equal plans have equal clocks.

#include "share/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::share {
namespace {

using Kind = RunExpression::Kind;

/// Joins several expressions into one and flattens those of the same kind.
RunExpression joined(Kind kind, std::vector<RunExpression> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  RunExpression whole{.kind = kind};
  for (RunExpression& part : parts) {
    if (part.kind == kind) {
      std::move(part.parts.begin(), part.parts.end(), std::back_inserter(whole.parts));
    } else {
      whole.parts.push_back(std::move(part));
    }
  }
  return whole;
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> names)
      : text_(text), names_(names), is_used_(names.size(), false) {}

  RunExpression parse() {
    RunExpression whole = sequence(0);
    skip_blanks();
    if (at_ < text_.size()) fail("';', '|', '^' or the end");
    for (std::size_t m = 0; m < names_.size(); ++m) {
      if (!is_used_[m]) {
        throw UsageError(
            fmt::format("--run {}: does not say when {} runs", base::quoted(text_), base::quoted(names_[m])));
      }
    }
    return whole;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = at_ < text_.size() ? base::quoted(text_.substr(at_)) : "the end";
    throw UsageError(fmt::format("--run {}: at character {} expected {}, found {}", base::quoted(text_),
                                 at_ + 1, expected, found));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  RunExpression sequence(std::size_t depth) {
    std::vector<RunExpression> parts{parallel(depth)};
    while (take(';')) parts.push_back(parallel(depth));
    return joined(Kind::sequence, std::move(parts));
  }

  RunExpression parallel(std::size_t depth) {
    std::vector<RunExpression> parts{paused(depth)};
    while (take('|')) parts.push_back(paused(depth));
    return joined(Kind::parallel, std::move(parts));
  }

  RunExpression paused(std::size_t depth) {
    RunExpression whole = operand(depth);
    while (take('^')) {
      if (has_parallel(whole))
        fail(
            "steps of one model after the other before '^': models that run at the same time have no common "
            "steps");
      const std::int64_t every = steps();
      RunExpression other = operand(depth);
      whole = {.kind = Kind::paused, .parts = {std::move(whole), std::move(other)}, .every = every};
    }
    return whole;
  }

  /// Whether the steps of models that run at the same time lie between those of others.
  static bool has_parallel(const RunExpression& it) {
    if (it.kind == Kind::paused) return has_parallel(it.parts.front());
    return it.kind == Kind::parallel || std::ranges::any_of(it.parts, has_parallel);
  }

  std::int64_t steps() {
    skip_blanks();
    std::int64_t number = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc() || number < 1 || number > largest_value) fail("a number of steps, at least 1");
    at_ += static_cast<std::size_t>(end - begin);
    return number;
  }

  RunExpression operand(std::size_t depth) {
    constexpr std::size_t deepest = 100;
    if (!take('(')) return model();
    if (depth == deepest) fail(fmt::format("at most {} parentheses in each other", deepest));
    RunExpression inside = sequence(depth + 1);
    if (!take(')')) fail("')', ';', '|' or '^'");
    return inside;
  }

  RunExpression model() {
    skip_blanks();
    const std::size_t begin = at_;
    const std::string_view name = take_name();
    const auto it = std::find(names_.begin(), names_.end(), name);
    const auto index = static_cast<std::size_t>(it - names_.begin());
    if (it == names_.end() || is_used_[index]) {
      at_ = begin;
      fail(it == names_.end() ? fmt::format("one of the models {}", fmt::join(names_, ", "))
                              : "every model once");
    }
    is_used_[index] = true;
    return {.kind = Kind::model, .model = index};
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const std::size_t end = text_.find(text_[at_], at_ + 1);
      if (end != std::string_view::npos) {
        at_ = end + 1;
        return text_.substr(begin + 1, end - begin - 1);
      }
    }
    at_ = std::min(text_.find_first_of(";|()^", at_), text_.size());
    return base::trim(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  std::span<const std::string> names_;
  std::vector<bool> is_used_;
  std::size_t at_ = 0;
};

}  // namespace

RunExpression parse_run_expression(std::string_view text, std::span<const std::string> names) {
  if (!base::trim(text).empty()) return Parser(text, names).parse();
  std::vector<RunExpression> parts;
  for (std::size_t m = 0; m < names.size(); ++m) parts.push_back({.kind = Kind::model, .model = m});
  return joined(Kind::sequence, std::move(parts));
}

// From an expression to clocks. Models that run one after the other are on one clock, step by step. Models
// that run at the same time are one step, a fork. Its branches have clocks of their own, since the
// interleaving of their steps is unknown:
//
//     A; B | C; D          clock 0   a a a a (fork) d d d
//                          clock 1           b b b
//                          clock 2           c c c c c
//
// A model that runs at pauses of another has a clock of its own, too. Only when all buffers are known is it clear between
// which steps it needs least. Until then there is one pause, before the other's first step:
//
//     A ^20 B              clock 0   (pause) a a a a a
//                          clock 1   b b
//
// Source: docs/design.md, and the document of docs/several-models.md, paragraphs 8-9.

Timeline::Timeline(const RunExpression& expression, std::vector<Clock> steps_of)
    : steps_of_(std::move(steps_of)),
      clocks_(1),
      tree_(clocks_),
      stages_(steps_of_.size()),
      ranks_(steps_of_.size()) {
  add(expression, 0);
  tree_ = model::ClockTree(clocks_);
  for (const Stage& stage : stages_)
    tree_.stretch({stage.clock, {stage.begin, std::max(stage.end, stage.begin + 1)}});
}

void Timeline::add(const RunExpression& part, std::size_t clock) {
  switch (part.kind) {
    case RunExpression::Kind::model: {
      std::vector<Step>& steps = steps_of_[part.model].steps;
      const auto begin = static_cast<Position>(clocks_[clock].steps.size());
      stages_[part.model] = {clock, begin, begin + static_cast<Position>(steps.size())};
      ranks_[part.model] = placed_++;
      std::vector<Step>& all = clocks_[clock].steps;
      if (all.empty()) {
        all = std::move(steps);
      } else {
        std::move(steps.begin(), steps.end(), std::back_inserter(all));
      }
      break;
    }
    case RunExpression::Kind::sequence:
      for (const RunExpression& next : part.parts) add(next, clock);
      break;
    case RunExpression::Kind::paused: {
      const std::size_t own = clocks_.size();
      clocks_.emplace_back();
      clocks_[clock].steps.emplace_back(Pause{own});
      const Position begin = std::ssize(clocks_[clock].steps);
      add(part.parts[0], clock);
      paused_.push_back({own, part.every, {clock, begin, std::ssize(clocks_[clock].steps)}});
      add(part.parts[1], own);
      break;
    }
    case RunExpression::Kind::parallel: {
      Fork step;
      for (const RunExpression& branch : part.parts) {
        step.clocks.push_back(clocks_.size());
        clocks_.emplace_back();
        add(branch, step.clocks.back());
      }
      clocks_[clock].steps.emplace_back(std::move(step));
      break;
    }
  }
}

std::size_t Timeline::lasting_clock(std::size_t clock) const {
  std::size_t lasting = clock;
  while (!tree_.is_at_pauses(clock) && tree_.fork_of(clock)) {
    const model::Stretch& fork = *tree_.fork_of(clock);
    if (fork.life.upper < tree_.end_of(fork.clock)) lasting = fork.clock;
    clock = fork.clock;
  }
  return lasting;
}

Position Timeline::position_on(std::size_t clock, Moment moment) const {
  return tree_.seen_from(clock, {moment.clock, {moment.at, moment.at + 1}})->lower;
}

bool Timeline::are_parted(std::size_t a, std::size_t b) const {
  return std::ranges::any_of(paused_, [&](const Paused& it) {
    return is_within(stages_[a].clock, it) != is_within(stages_[b].clock, it);
  });
}

bool Timeline::runs_before(std::size_t a, std::size_t b) const {
  return a != b && !are_parted(a, b) && !tree_.run_at_one_time(stages_[a].clock, stages_[b].clock) &&
         ranks_[a] < ranks_[b];
}

}  // namespace stowage::share
