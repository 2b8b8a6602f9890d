#include <fmt/format.h>

#include "base/unique_names.h"
#include "export/json.h"
#include "model/motions.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::Json;

/// Makes tensor names unique: the format refers to tensors by name.
std::vector<std::string> unique_names(const Graph& graph) {
  std::vector<std::string> names;
  base::UniqueNames taken;
  for (const Tensor& tensor : graph.tensors) names.push_back(taken.unique(tensor.name));
  return names;
}

Json tensor_json(const Tensor& tensor, const std::string& name) {
  Json json{{"name", name}, {"kind", name_of(tensor.kind)}, {"dtype", name_of(tensor.dtype)}};
  if (tensor.shape) json["shape"] = *tensor.shape;
  exporting::add_given(tensor, json);
  json["bytes"] = tensor.bytes;
  return json;
}

Json names_json(const std::vector<TensorId>& tensors, const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const TensorId tensor : tensors) json.push_back(names[tensor]);
  return json;
}

Json operands_json(const std::vector<std::optional<TensorId>>& operands,
                   const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const auto& tensor : operands) json.push_back(tensor ? Json(names[*tensor]) : Json(nullptr));
  return json;
}

/// Leaves out members with default values.
Json row_read_json(const RowRead& read) {
  const RowMap usual;
  Json json{{"input", read.input}, {"axis", read.axis}};
  const auto add = [&](const char* key, std::int64_t value, std::int64_t otherwise) {
    if (value != otherwise) json[key] = value;
  };
  add("scale", read.rows.scale, usual.scale);
  add("divisor", read.rows.divisor, usual.divisor);
  add("offset", read.rows.offset, usual.offset);
  add("taps", read.rows.taps, usual.taps);
  add("dilation", read.rows.dilation, usual.dilation);
  if (read.kept_at) json["kept_at"] = *read.kept_at;
  return json;
}

Json row_axis_json(const RowAxis& along) {
  Json json{{"axis", along.axis}, {"reads", Json::array()}};
  for (const RowRead& read : along.reads) json["reads"].push_back(row_read_json(read));
  if (along.is_windows) json["is_windows"] = true;
  if (along.adds_rows) json["adds_rows"] = true;
  if (along.splits) json["splits"] = true;
  return json;
}

Json operator_json(const Operator& op, const std::vector<std::string>& names) {
  Json json{{"name", op.name},
            {"type", op.type},
            {"inputs", operands_json(op.inputs, names)},
            {"outputs", operands_json(op.outputs, names)}};
  if (!op.scratch.empty()) json["scratch"] = names_json(op.scratch, names);
  if (!op.bodies.empty()) json["bodies"] = op.bodies;
  if (op.body_use == BodyUse::repeated) json["body_use"] = "repeated";
  if (!op.after.empty()) json["after"] = op.after;
  if (op.folded) json["folded"] = true;
  if (op.stateful) json["stateful"] = true;
  for (const ByteCopy& copy : op.copies) {
    json["copies"].push_back({{"input", copy.input},
                              {"output", copy.output},
                              {"from", copy.from},
                              {"to", copy.to},
                              {"size", copy.size}});
  }
  if (!op.must_copy.empty()) json["must_copy"] = op.must_copy;
  for (const RowAxis& along : op.row_axes) json["row_axes"].push_back(row_axis_json(along));
  if (!op.sums_over.empty()) json["sums_over"] = op.sums_over;
  if (op.multiplies) json["multiplies"] = *op.multiplies;
  for (const CarriedAxis& along : op.carries) {
    Json entry{{"axis", along.axis}, {"input_axis", along.input_axis}, {"bytes", along.carried}};
    if (along.reads_twice) entry["reads_twice"] = true;
    if (along.backward) entry["backward"] = true;
    json["carries"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

void write_graph(const Graph& graph, std::ostream& out) {
  const std::vector<std::string> names = unique_names(graph);
  exporting::Document document(out, "stowage-graph");
  document.value("name", graph.name);
  Json tensors = Json::array();
  for (TensorId t = 0; t < graph.tensors.size(); ++t)
    tensors.push_back(tensor_json(graph.tensors[t], names[t]));
  document.rows("tensors", tensors, [](const Json& tensor) { return tensor; });
  document.rows("subgraphs", graph.subgraphs, [&](const Subgraph& subgraph) {
    Json json{{"name", subgraph.name},
              {"inputs", names_json(subgraph.inputs, names)},
              {"outputs", names_json(subgraph.outputs, names)},
              {"operators", Json::array()}};
    for (Operator op : subgraph.operators) {
      model::copy_what_moves(graph, op);  // in graph JSON a run decides open extents
      json["operators"].push_back(operator_json(op, names));
    }
    return json;
  });
  document.rows("state", graph.ties, [&](const StateTie& tie) {
    return Json{{"output", names[tie.output]}, {"input", names[tie.input]}};
  });
  document.finish();
}

}  // namespace stowage
