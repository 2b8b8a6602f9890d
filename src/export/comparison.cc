#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "export/json.h"
#include "export/readable.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::Json;

std::string remarks_on(const Comparison& comparison) {
  std::string remarks;
  if (comparison.summary.strategy != comparison.strategy) remarks += ", by " + comparison.summary.strategy;
  if (comparison.interrupted) remarks += ", cut short";
  if (comparison.outcome == Outcome::exceeds_capacity) remarks += ", does not fit";
  if (comparison.summary.cost > 0) remarks += fmt::format(", traffic cost {}", comparison.summary.cost);
  if (comparison.memories.size() > 1) {
    for (const PlannedMemory& memory : comparison.memories)
      remarks += fmt::format(", {} {}", memory.memory.name, memory.peak);
  }
  return remarks.empty() ? remarks : remarks.substr(2);
}

Json comparison_json(const Comparison& it) {
  Json json{{"strategy", it.strategy}, {"applies", it.obstacle.empty()}};
  if (!it.obstacle.empty()) {
    json["obstacle"] = it.obstacle;
    return json;
  }
  json["peak"] = it.summary.peak;
  json["lower_bound"] = it.summary.lower_bound;
  if (it.summary.cost > 0) {
    json["cost"] = it.summary.cost;
    json["cost_bound"] = it.summary.cost_bound;
  }
  json["found_by"] = it.summary.strategy;
  json["seconds"] = it.summary.seconds;
  json["copies_removed"] = {{"count", it.copies_removed.count}, {"bytes", it.copies_removed.bytes}};
  json["interrupted"] = it.interrupted;
  json["fits"] = it.outcome == Outcome::fits;
  json["memories"] = Json::array();
  for (const PlannedMemory& memory : it.memories)
    json["memories"].push_back(
        {{"name", memory.memory.name}, {"peak", memory.peak}, {"lower_bound", memory.lower_bound}});
  return json;
}

}  // namespace

void write_comparison(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                      std::ostream& out) {
  for (const ModelInfo& model : models) fmt::print(out, "{} ({})\n", model.source, name_of(model.format));
  out << '\n';
  fmt::print(out, "{:<20} {:>14} {:>8} {:>10} {:>15} {:>14}\n", "strategy", "peak", "gap %", "seconds",
             "copies removed", "their bytes");
  for (const Comparison& it : comparisons) {
    if (!it.obstacle.empty()) {
      fmt::print(out, "{:<20} {:>14}  {}\n", it.strategy, "-", it.obstacle);
      continue;
    }
    const std::string row =
        fmt::format("{:<20} {:>14} {:>8} {:>10.4f} {:>15} {:>14}  {}", it.strategy, it.summary.peak,
                    exporting::gap_in_percent(it.summary).value_or(""), it.summary.seconds,
                    it.copies_removed.count, it.copies_removed.bytes, remarks_on(it));
    fmt::print(out, "{}\n", row.substr(0, row.find_last_not_of(' ') + 1));
  }
}

void write_comparison_json(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                           std::ostream& out) {
  exporting::Document document(out, "stowage-comparison");
  document.rows("models", models, [](const ModelInfo& model) {
    return Json{{"name", model.name}, {"source", model.source}, {"format", name_of(model.format)}};
  });
  document.rows("strategies", comparisons, comparison_json);
  document.finish();
}

}  // namespace stowage
