// A descent along the grammar, one function for each line, in linear time:
//
//     sequence = parallel (";" parallel)*
//     parallel = operand ("|" operand)*
//     operand  = "(" sequence ")" | name
//
// Expressions of one kind in each other become one, so that equal plans have equal clocks.

#include "share/run_expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::share {
namespace {

using Kind = RunExpression::Kind;

/// Several expressions as one, those of the same kind taken apart.
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
    if (at_ < text_.size()) fail("';', '|' or the end");
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
    std::vector<RunExpression> parts{operand(depth)};
    while (take('|')) parts.push_back(operand(depth));
    return joined(Kind::parallel, std::move(parts));
  }

  RunExpression operand(std::size_t depth) {
    constexpr std::size_t deepest = 100;
    if (!take('(')) return model();
    if (depth == deepest) fail(fmt::format("at most {} parentheses in each other", deepest));
    RunExpression inside = sequence(depth + 1);
    if (!take(')')) fail("')', ';' or '|'");
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
    at_ = std::min(text_.find_first_of(";|()", at_), text_.size());
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

}  // namespace stowage::share
