// The largest sizes of two dimensions that fit together: for each size of the first the largest of the second.

#include "cli/frontier.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/buckets.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/size_search.h"
#include "cli/terminal.h"
#include "cli/typed.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

constexpr std::int64_t largest_without_range = std::int64_t{1} << 20;

/// Takes what the texts say of a dimension out of them.
std::optional<std::string> take(const std::string& name, std::vector<std::string>& texts) {
  const auto found = std::ranges::find_if(
      texts, [&](const std::string& text) { return parse_assignment("--dim", text).first == name; });
  if (found == texts.end()) return std::nullopt;
  std::string value = parse_assignment("--dim", *found).second;
  texts.erase(found);
  return value;
}

nlohmann::json row_json(const FitQuestion& question, const FrontierRow& row, Bytes capacity) {
  nlohmann::json json{{question.first, row.first}, {question.second, nullptr}};
  if (!row.rejected.empty()) {
    json["rejected"] = base::as_utf8(row.rejected);
    return json;
  }
  if (row.fit.largest) {
    json[question.second] = *row.fit.largest;
    json["peak"] = row.fit.peak;
    json["alone"] = row.fit.is_alone;
  }
  if (row.fit.next) {
    json["next"] = row.fit.next->size;
    json["why"] = base::as_utf8(why_not(*row.fit.next, capacity));
  }
  json["interrupted"] = row.fit.interrupted || row.fit.is_cut_short;
  return json;
}

void print_table(const FitQuestion& question, const std::vector<FrontierRow>& rows,
                 const PlanOptions& options, std::ostream& out) {
  const Bytes capacity = limit_of(options);
  const std::string first = base::visible(question.first);
  const std::string second = base::visible(question.second) + (options.stream ? "" : " up to");
  base::print(out, "{:>{}}  {:>{}}  {:>14}\n", first, std::max<std::size_t>(8, first.size()), second,
              std::max<std::size_t>(12, second.size()), "bytes");
  for (const FrontierRow& row : rows) {
    const std::string size = row.fit.largest ? std::to_string(*row.fit.largest) : "-";
    const std::string peak = row.fit.largest ? std::to_string(row.fit.peak) : "-";
    const std::string why = row.rejected.empty() ? why_largest(row.fit, question.range, capacity)
                                                 : "the model rejects it: " + row.rejected;
    base::print(out, "{:>{}}  {:>{}}  {:>14}  {}\n", row.first, std::max<std::size_t>(8, first.size()), size,
                std::max<std::size_t>(12, second.size()), peak, base::visible(why));
  }
}

}  // namespace

ModelTexts FitQuestion::at(std::optional<std::int64_t> size, const GivenSize& of_second) const {
  ModelTexts texts = others;
  if (size) texts.dims.push_back(fmt::format("{}={}", first, *size));
  texts.dims.push_back(fmt::format("{}={}", second, in_digits(of_second)));
  return texts;
}

FitQuestion parse_fit(const std::string& text, const ModelTexts& texts) {
  FitQuestion question{.others = texts};
  const auto names = base::split(text, ',');
  if (names.size() > 2)
    throw UsageError(fmt::format("--fit {}: {} dimensions, expected one or two; give the others with --dim",
                                 base::quoted(text), names.size()));
  question.second = base::trim(names.back());
  if (names.size() == 2) question.first = base::trim(names.front());
  if (question.first == question.second)
    throw UsageError(fmt::format("--fit {}: names a dimension twice", base::quoted(text)));
  question.range = {1, largest_without_range};
  if (const auto given = take(question.second, question.others.dims)) {
    ModelTexts alone;
    alone.dims = {question.second + "=" + *given};
    question.range = parse_model_options(alone).dims.at(question.second);
    question.has_range = true;
  }
  if (!question.range.least || *question.range.least >= question.range.most)
    throw UsageError(
        fmt::format("--fit {}: --dim gives it one size, expected a range such as 1..4096 or nothing",
                    base::quoted(question.second)));
  if (question.first.empty()) return question;
  if (const auto given = take(question.first, question.others.dims)) {
    if (given->find("..") != std::string::npos)
      throw UsageError(
          fmt::format("--fit {0}: --dim {0}={1} is a range, expected a list of sizes as 1,2,4 or nothing",
                      question.first, *given));
    question.firsts = parse_sizes(question.first, *given);
  } else {
    for (std::int64_t size = 1; size <= largest_without_range; size *= 2) question.firsts.push_back(size);
  }
  return question;
}

std::vector<FrontierRow> answers_to(const FitQuestion& question, const ReadTexts& read,
                                    const PlanOptions& options) {
  if (std::ranges::none_of(options.memories, [](const Memory& it) { return it.capacity.has_value(); }))
    throw UsageError("--fit needs a limit: --capacity SIZE or --memory NAME=SIZE");
  std::vector<FrontierRow> rows;
  if (question.first.empty()) {
    const auto read_size = [&](const GivenSize& size) { return read(question.at(std::nullopt, size)); };
    rows.push_back({.fit = fit_size(read_size, question.range, options)});
  } else {
    const auto read_sizes = [&](std::int64_t first, const GivenSize& size) {
      return read(question.at(first, size));
    };
    rows = fit_frontier(read_sizes, question.firsts, question.range, options);
  }
  if (!rows.empty() && std::ranges::none_of(rows, [](const FrontierRow& it) { return it.rejected.empty(); }))
    throw Error("", rows[0].rejected);
  return rows;
}

Bytes limit_of(const PlanOptions& options) {
  return options.memories.size() == 1 ? options.memories[0].capacity.value_or(largest_value) : largest_value;
}

std::string why_not(const SizedPeak& next, Bytes capacity) {
  if (!next.rejected.empty()) return fmt::format("the model rejects {}: {}", next.size, next.rejected);
  if (next.fits) return fmt::format("{} fits with a plan of its own", next.size);
  if (next.scope == ClaimScope::offsets)
    return fmt::format(
        "no plan for {} that fits was found: {} bytes were reached, and nothing proves that less is not "
        "enough",
        next.size, next.peak);
  const std::string_view how = next.scope == ClaimScope::order
                                   ? "any order of its operators"
                                   : "by rows, each way that these options allow and stowage knows";
  if (next.lower_bound > capacity)
    return fmt::format("{} does not fit: {} needs at least {} bytes", next.size, how, next.lower_bound);
  return fmt::format("no plan for {} that fits was found: {} bytes were reached; {} needs at least {}",
                     next.size, next.peak, how, next.lower_bound);
}

std::string why_largest(const SizeFit& fit, const GivenSize& range, Bytes capacity) {
  constexpr std::string_view cut = "the search was cut short, so a longer --time-limit may find more";
  if (fit.next)
    return why_not(*fit.next, capacity) + (fit.is_cut_short ? fmt::format("; {}", cut) : std::string());
  if (fit.interrupted) return "interrupted before larger sizes were tried";
  if (fit.is_cut_short) return std::string(cut);
  if (*fit.largest > range.most - range.step) return "that is the largest size of the range";
  return fmt::format("there was no time to plan {} alone", *fit.largest + range.step);
}

ExitStatus show_frontier(const PlanCommand& command, const PlanOptions& options, const ReadTexts& read) {
  std::vector<base::OutputFile> outputs;
  for (const WantedFile& file : command.files()) {
    if (file.holds != Holds::svg && file.holds != Holds::json)
      throw UsageError(
          fmt::format("{}: the frontier of --fit with two dimensions is written as .svg or .json",
                      base::quoted(file.file)));
  }
  const FitQuestion question = parse_fit(command.fit, command.model);
  const InterruptWatch watch;  // an interrupt keeps the rows so far
  PlanOptions with_stop = options;
  with_stop.solve.stop = watch.stop();
  const std::vector<FrontierRow> rows = answers_to(question, read, with_stop);
  const Bytes capacity = limit_of(options);
  const auto write_rows = [&](std::ostream& out) {
    nlohmann::json all = nlohmann::json::array();
    for (const FrontierRow& row : rows) all.push_back(row_json(question, row, capacity));
    const nlohmann::json document{
        {"format", "stowage-frontier"},
        {"version", 1},
        {"first", question.first},
        {"second", question.second},
        {"capacity", options.memories.size() == 1 ? nlohmann::json(capacity) : nlohmann::json()},
        {"rows", std::move(all)}};
    out << document.dump(1) << '\n';
  };
  bool is_taken = false;
  for (const WantedFile& file : command.files()) {
    is_taken = is_taken || file.file == "-";
    if (file.holds == Holds::json) {
      outputs.push_back({file.file, write_rows});
    } else {
      outputs.push_back({file.file, [&](std::ostream& out) {
                           write_frontier_svg(rows, question.first, question.second, out);
                         }});
    }
  }
  base::write_files(outputs);
  if (command.json) {
    write_rows(std::cout);
  } else {
    print_table(question, rows, options, summary_stream(is_taken));
  }
  flush_output();
  if (rows.size() < question.firsts.size() &&
      (rows.empty() || rows.back().fit.largest || !rows.back().rejected.empty()))
    base::print(std::cerr, "stowage: fit: {} before {}={} was tried\n",
                watch.stop().stop_requested() ? "interrupted" : "the time limit ended", question.first,
                question.firsts[rows.size()]);
  if (rows.empty() || rows[0].fit.largest || !rows[0].rejected.empty()) return ExitStatus::done;
  base::print(std::cerr,
              "stowage: fit: not even the smallest sizes fit: with {}={}, {}; in place of --fit, --dim {}={} "
              "--dim {}={} says what may help\n",
              question.first, rows[0].first, why_not(*rows[0].fit.next, capacity),
              base::shell_word(question.first), rows[0].first, base::shell_word(question.second),
              rows[0].fit.next->size);
  return ExitStatus::not_met;
}

}  // namespace stowage::cli
