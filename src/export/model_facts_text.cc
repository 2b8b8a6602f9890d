// What an ONNX file says of itself, as a table and as JSON.

#include <fmt/format.h>

#include <ostream>

#include "base/print.h"
#include "base/text.h"
#include "export/json.h"
#include "stowage/model_facts.h"

namespace stowage {

void write_facts(const ModelFacts& facts, const std::string& source, std::ostream& out) {
  base::print(out, "model        {} (onnx)\n", source);
  std::string sets;
  for (const auto& [domain, number] : facts.operator_sets)
    sets += fmt::format("{}{}{}", sets.empty() ? "" : ", ", domain.empty() ? "" : domain + " ", number);
  base::print(out, "opset        {}\n", sets);
  const auto print_values = [&out](std::string_view what, const std::vector<ModelFacts::Value>& values) {
    for (std::size_t v = 0; v < values.size(); ++v)
      base::print(out, "{:<13}{} {}\n", v == 0 ? what : "", values[v].name,
                  values[v].type.empty() ? "of unknown type" : values[v].type);
  };
  print_values("inputs", facts.inputs);
  print_values("outputs", facts.outputs);
  for (std::size_t s = 0; s < facts.open.size(); ++s)
    base::print(out, "{:<13}{}\n", s == 0 ? "open sizes" : "", in_words(facts.open[s]));
  base::print(out, "weights      {}, {} bytes\n", facts.weights, facts.weight_bytes);
  constexpr std::size_t most_types = 12;
  std::size_t all = 0;
  std::string types;
  for (std::size_t t = 0; t < facts.operators.size(); ++t) {
    all += facts.operators[t].count;
    if (t < most_types)
      types += fmt::format("{}{} {}", t == 0 ? "" : ", ", facts.operators[t].count, facts.operators[t].type);
  }
  if (facts.operators.size() > most_types)
    types += fmt::format(" and {} more types", facts.operators.size() - most_types);
  base::print(out, "operators    {}: {}\n", all, types);
  if (facts.bodies > 0) base::print(out, "bodies       {}\n", facts.bodies);
}

void write_facts_json(const ModelFacts& facts, const std::string& source, std::ostream& out) {
  using exporting::Json;
  Json json{{"model", base::as_utf8(source)}, {"format", "onnx"}};
  for (const auto& [domain, number] : facts.operator_sets)
    json["operator_sets"].push_back({{"domain", base::as_utf8(domain)}, {"version", number}});
  const auto add_values = [&](const char* name, const std::vector<ModelFacts::Value>& values) {
    json[name] = Json::array();
    for (const auto& it : values)
      json[name].push_back({{"name", base::as_utf8(it.name)}, {"type", base::as_utf8(it.type)}});
  };
  add_values("inputs", facts.inputs);
  add_values("outputs", facts.outputs);
  json["open_sizes"] = Json::array();
  for (const OpenSize& size : facts.open) {
    Json places = Json::array();
    for (const auto& it : size.places)
      places.push_back({{"tensor", base::as_utf8(it.tensor)}, {"axis", it.axis}});
    json["open_sizes"].push_back({{"name", base::as_utf8(size.name)}, {"places", places}});
  }
  json["weights"] = facts.weights;
  json["weight_bytes"] = facts.weight_bytes;
  json["operators"] = Json::object();
  for (const auto& it : facts.operators) json["operators"][base::as_utf8(it.type)] = it.count;
  json["bodies"] = facts.bodies;
  out << exporting::dump(json) << "\n";
}

}  // namespace stowage
