// Offsets as functions of open sizes: options in, text out.

#include "cli/offset_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/print.h"
#include "base/text.h"
#include "cli/models.h"
#include "cli/size_search.h"
#include "stowage/error.h"
#include "stowage/import.h"

namespace stowage::cli {
namespace {

void expect_ranges_of_dims(const ImportOptions& given) {
  for (const auto& [name, shape] : given.shapes) {
    if (std::ranges::any_of(shape, is_range))
      throw UsageError(fmt::format(
          "--offsets symbolic: give the ranges of --shape {} by --dim '{}[AXIS]=A..B'", name, name));
  }
}

std::string words_of(const std::vector<SizeSymbol>& symbols, std::span<const std::int64_t> values) {
  std::string text;
  for (std::size_t s = 0; s < symbols.size(); ++s)
    text += fmt::format("{}{}={}", s == 0 ? "" : " ", symbols[s].name, values[s]);
  return text;
}

}  // namespace

std::optional<FoundFunctions> functions_for(const PlanCommand& command, const Input& range,
                                            const PlanOptions& options, PlanResult& result) {
  if (command.offsets.empty() || command.offsets == "constant") return std::nullopt;
  if (command.offsets != "symbolic")
    throw UsageError(
        fmt::format("--offsets is {}, expected constant or symbolic", base::quoted(command.offsets)));
  const auto* const graph = std::get_if<Graph>(&range.content);
  if (command.inputs.size() != 1 || graph == nullptr) throw UsageError("--offsets symbolic is for one model");
  const NamedFile model = parse_models(command.inputs)[0];
  const ImportOptions given = parse_model_options(command.model);
  expect_ranges_of_dims(given);
  const std::vector<SizeSymbol> symbols = result.plan.models[0].ranges;
  const ReadAtSizes read = [&](std::span<const std::int64_t> values) {
    ImportOptions exact = given;
    for (std::size_t s = 0; s < symbols.size(); ++s)
      exact.dims.insert_or_assign(symbols[s].name, GivenSize{values[s], values[s]});
    return std::get<Graph>(read_input(model.file, exact).content);
  };
  PlanWithFunctions made = find_plan_with_functions(range, std::move(result), read, options,
                                                    given.every_size ? HeldAgainst::each : HeldAgainst::some);
  result = std::move(made.planned);
  const Faults faults = check_offset_functions(result.plan, made.found.functions);
  if (!faults.empty())
    throw Error(model.file,
                "the checker rejects the functions of offsets; that is a bug in stowage: " + faults[0].what);
  return std::move(made.found);
}

void write_functions_summary(const FoundFunctions& found, std::ostream& out) {
  constexpr std::size_t most_sizes = 6;
  const OffsetFunctions& functions = found.functions;
  const OffsetFunctionsReport& report = found.report;
  std::vector<std::int64_t> values;
  std::size_t names = 0;
  for (const SizeSymbol& it : functions.symbols) names = std::max(names, it.name.size());
  base::print(out, "\noffsets      functions of {} size{}: {} buffers, {} relation{}, {} terms\n",
              functions.symbols.size(), functions.symbols.size() == 1 ? "" : "s", functions.sizes.size(),
              functions.relations.size(), functions.relations.size() == 1 ? "" : "s", functions.terms.size());
  base::print(out, "sizes        {} {} sizes at which the model was read\n",
              report.is_every_size ? "checked at all" : "found from, and held against,", report.readings);
  base::print(out, "peak         at most {:.2f} % above the live bytes, at {} sizes that were tried{}\n",
              (report.worst - 1) * 100, report.tried,
              report.worst > 1 ? fmt::format(" ({})", words_of(functions.symbols, report.worst_at)) : "");
  std::set<std::vector<std::int64_t>> shown;
  for (std::size_t i = 0; i < most_sizes; ++i) {  // from the least sizes to the largest, by halves
    values.clear();
    for (const SizeSymbol& it : functions.symbols) {
      const std::int64_t steps = (it.most - it.least) / it.step;
      values.push_back(it.least + (i == 0 ? 0 : steps >> (most_sizes - 1 - i)) * it.step);
    }
    if (!shown.insert(values).second) continue;
    base::print(out, "{:>14} bytes  {}\n", offsets_at(functions, values).peak,
                words_of(functions.symbols, values));
  }
}

}  // namespace stowage::cli
