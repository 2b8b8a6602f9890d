// Plans by rows of an axis whose length is open: options in, text out.

#include "cli/open_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/print.h"
#include "base/text.h"
#include "cli/size_search.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

std::string name_in(const std::string& dim) { return dim.substr(0, dim.rfind('=')); }

}  // namespace

ModelTexts with_size(const ModelTexts& texts, const OpenRows& rows, std::int64_t size) {
  ModelTexts exact = texts;
  std::erase_if(exact.dims, [&](const std::string& it) { return name_in(it) == rows.size.name; });
  exact.dims.push_back(fmt::format("{}={}", rows.size.name, size));
  return exact;
}

SizeOfRows size_of_rows(const ModelTexts& texts, const OpenRows& rows) {
  SizeOfRows found{.others = texts};
  std::erase_if(found.others.dims, [&](const std::string& it) { return name_in(it) == rows.size.name; });
  const ImportOptions given = parse_model_options(texts);
  const auto size = given.dims.find(rows.size.name);
  if (size == given.dims.end()) return found;
  if (is_range(size->second))
    throw UsageError(fmt::format("--dim {}={}: give one size of the plan, as a number", rows.size.name,
                                 in_digits(size->second)));
  found.size = size->second.most;
  return found;
}

std::optional<FoundOpenRows> rows_of_range(const std::vector<std::string>& inputs, const ModelTexts& model,
                                           const PlanOptions& options,
                                           const std::function<Input(const ModelTexts& exact)>& read) {
  if (!options.stream || options.io != Io::rows || inputs.size() != 1 || !model.joins.empty())
    return std::nullopt;
  const ImportOptions given = parse_model_options(model);
  std::vector<SizeSymbol> ranges;
  for (const auto& [name, size] : given.dims)
    if (is_range(size)) ranges.push_back({name, *size.least, size.most, size.step});
  for (const auto& [name, shape] : given.shapes)
    if (std::ranges::any_of(shape, is_range)) return std::nullopt;
  if (ranges.empty()) return std::nullopt;
  if (ranges.size() > 1) return FoundOpenRows{.why_not = "several sizes are open"};
  OpenRows rows{.size = ranges[0]};
  return find_open_rows(
      ranges[0], [&](std::int64_t size) { return read(with_size(model, rows, size)); }, options);
}

void note_no_open_rows(const FoundOpenRows& found, Plan& plan) {
  std::erase_if(plan.left_out, [](const LeftOut& it) { return it.what == Wish::rows; });
  plan.left_out.insert(plan.left_out.begin(),
                       {Wish::rows, fmt::format("no plan by rows is one for all sizes: {}", found.why_not),
                        "a plan for one size, as --dim NAME=N"});
}

void write_open_rows(const FoundOpenRows& found, std::ostream& out) {
  const OpenRows& rows = found.rows;
  const SizeSymbol& size = rows.size;
  base::print(out, "\nopen rows    {} from {} to {}{}: the same bytes at every size; above is {}={}\n",
              size.name, size.least, size.most,
              size.step == 1 ? "" : fmt::format(" in steps of {}", size.step), size.name, rows.at);
  const OpenRowsReport& report = found.report;
  const std::int64_t rejected = (size.most - size.least) / size.step + 1 - report.checked;
  base::print(
      out, "sizes        checked at {}\n",
      !report.is_every_size ? fmt::format("{} sizes up to {}; that it holds at others is evidence, not proof",
                                          report.checked, report.largest)
      : rejected > 0
          ? fmt::format("all {} sizes that the model takes, of {}", report.checked, report.checked + rejected)
          : fmt::format("all {} sizes", report.checked));
}

}  // namespace stowage::cli
