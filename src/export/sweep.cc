#include "stowage/sweep.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "export/json.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::Json;

std::string title_of(const SweepEntry& entry) {
  return entry.moves == Moves::allowed ? entry.strategy + ", moves" : entry.strategy;
}

std::string cell_of(const SweepEntry& entry) {
  if (!entry.obstacle.empty()) return "-";
  return entry.outcome == Outcome::fits ? fmt::format("{}", entry.slow_traffic) : "no fit";
}

/// Those that serve the input at some size.
std::vector<std::size_t> shown_columns(std::span<const SweepRow> rows) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < rows.front().entries.size(); ++i) {
    const auto serves = [&](const SweepRow& row) { return row.entries[i].obstacle.empty(); };
    if (std::any_of(rows.begin(), rows.end(), serves)) columns.push_back(i);
  }
  return columns;
}

Json entry_json(const SweepEntry& entry) {
  Json json{{"strategy", entry.strategy}, {"moves", entry.moves == Moves::allowed}};
  if (!entry.obstacle.empty()) {
    json["obstacle"] = entry.obstacle;
    return json;
  }
  json["fits"] = entry.outcome == Outcome::fits;
  json["slow_traffic"] = entry.slow_traffic;
  json["cost"] = entry.cost;
  return json;
}

}  // namespace

void write_sweep(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                 std::ostream& out) {
  for (const ModelInfo& model : models) fmt::print(out, "{} ({})\n", model.source, name_of(model.format));
  fmt::print(out, "Bytes read from and written to the memories slower than {}, by its size.\n\n",
             memory.name);
  const std::vector<std::size_t> columns = shown_columns(rows);
  fmt::print(out, "{:>12} {:>14}", memory.name, "unavoidable");
  for (const std::size_t i : columns) fmt::print(out, " {:>14}", title_of(rows.front().entries[i]));
  out << '\n';
  for (const SweepRow& row : rows) {
    fmt::print(out, "{:>12} {:>14}", row.size, row.unavoidable);
    for (const std::size_t i : columns) fmt::print(out, " {:>14}", cell_of(row.entries[i]));
    out << '\n';
  }
}

void write_sweep_json(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                      std::ostream& out) {
  exporting::Document document(out, "stowage-sweep");
  document.rows("models", models, [](const ModelInfo& model) {
    return Json{{"name", model.name}, {"source", model.source}, {"format", name_of(model.format)}};
  });
  document.value("memory", memory.name);
  document.rows("sizes", rows, [](const SweepRow& row) {
    Json json{{"size", row.size}, {"unavoidable", row.unavoidable}, {"plans", Json::array()}};
    for (const SweepEntry& entry : row.entries) json["plans"].push_back(entry_json(entry));
    return json;
  });
  document.finish();
}

}  // namespace stowage
