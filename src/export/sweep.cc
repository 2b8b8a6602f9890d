#include "stowage/sweep.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

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
  constexpr std::size_t narrowest = 12;
  fmt::print(out, "{:>12} {:>12}", memory.name, "unavoidable");
  std::vector<std::size_t> widths;
  for (const SweepEntry& entry : rows.front().entries) {
    widths.push_back(std::max(title_of(entry).size(), narrowest));
    fmt::print(out, " {:>{}}", title_of(entry), widths.back());
  }
  out << '\n';
  for (const SweepRow& row : rows) {
    fmt::print(out, "{:>12} {:>12}", row.size, row.unavoidable);
    for (std::size_t i = 0; i < row.entries.size(); ++i)
      fmt::print(out, " {:>{}}", cell_of(row.entries[i]), widths[i]);
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
