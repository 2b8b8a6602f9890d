#include <nlohmann/json.hpp>
#include <ostream>

#include "export/json.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::Json;

void add_rows(const RowRange& rows, Json& json) {
  json["axis"] = rows.axis;
  json["rows"] = {rows.begin, rows.end};
}

Json handed_over(std::size_t tensor, const std::optional<RowRange>& rows) {
  Json json{{"tensor", tensor}};
  if (rows) add_rows(*rows, json);
  return json;
}

Json step_json(const Step& step, const Plan& plan) {
  if (const auto* const run = std::get_if<Run>(&step)) {
    Json json{{"model", run->model}, {"path", run->path}};
    if (run->rows) add_rows(*run->rows, json);
    if (run->sums)
      json["sums"] = {{"buffer", plan.buffers[run->sums->buffer].id}, {"offset", run->sums->offset}};
    if (run->part) add_rows(*run->part, json["part"]);
    return {{"run", json}};
  }
  if (const auto* const arrive = std::get_if<Arrive>(&step))
    return {{"arrive", handed_over(arrive->tensor, arrive->rows)}};
  if (const auto* const leave = std::get_if<Leave>(&step))
    return {{"leave", handed_over(leave->tensor, leave->rows)}};
  if (const auto* const copy = std::get_if<Copy>(&step)) {
    return {{"copy",
             {{"tensor", copy->tensor},
              {"from", plan.buffers[copy->from].id},
              {"to", plan.buffers[copy->to].id}}}};
  }
  return {{"fork", std::get<Fork>(step).clocks}};
}

Json memory_json(const PlannedMemory& memory) {
  Json json{{"name", memory.memory.name}, {"capacity", nullptr}, {"alignment", memory.memory.alignment},
            {"cost", memory.memory.cost}, {"peak", memory.peak}, {"lower_bound", memory.lower_bound}};
  if (memory.memory.capacity) json["capacity"] = *memory.memory.capacity;
  if (memory.memory.role == MemoryRole::weights) json["role"] = "weights";
  if (memory.traffic > 0) json["traffic"] = memory.traffic;
  if (!memory.certificate.empty()) json["certificate"] = memory.certificate;
  return json;
}

Json buffer_json(const Buffer& buffer, const Place& place, const Plan& plan) {
  Json json{{"id", buffer.id},
            {"clock", buffer.clock},
            {"size", buffer.size},
            {"alignment", buffer.alignment},
            {"memory", plan.memories[place.memory].memory.name},
            {"offset", place.offset},
            {"kind", name_of(buffer.kind)},
            {"pieces", Json::array()}};
  for (const Piece& piece : buffer.pieces) {
    json["pieces"].push_back({{"offset", piece.offset},
                              {"size", piece.size},
                              {"lower", piece.life.lower},
                              {"upper", piece.life.upper}});
  }
  if (buffer.pinned) json["pinned"] = *buffer.pinned;
  if (buffer.traffic > 0) json["traffic"] = buffer.traffic;
  return json;
}

Json tensor_json(const PlannedTensor& planned, const Plan& plan) {
  const Tensor& tensor = planned.tensor;
  Json json{{"model", planned.model},         {"name", tensor.name}, {"kind", name_of(tensor.kind)},
            {"dtype", name_of(tensor.dtype)}, {"shape", nullptr},    {"bytes", tensor.bytes},
            {"views", Json::array()}};
  if (tensor.shape) json["shape"] = *tensor.shape;
  for (const View& view : planned.views) {
    Json entry{{"buffer", plan.buffers[view.buffer].id},
               {"offset", view.offset},
               {"lower", view.life.lower},
               {"upper", view.life.upper}};
    if (view.rows) add_rows(*view.rows, entry);
    if (view.ring)
      entry["ring"] = {
          {"axis", view.ring->axis}, {"granule", view.ring->granule}, {"count", view.ring->count}};
    json["views"].push_back(std::move(entry));
  }
  return json;
}

Json summary_json(const Summary& summary) {
  Json json{{"naive", summary.naive},       {"peak", summary.peak},   {"lower_bound", summary.lower_bound},
            {"strategy", summary.strategy}, {"order", summary.order}, {"seconds", summary.seconds}};
  if (summary.cost > 0) {
    json["cost"] = summary.cost;
    json["cost_bound"] = summary.cost_bound;
  }
  return json;
}

Json order_search_json(const OrderSearch& search) {
  return {{"model", search.model},   {"own_load", search.own_load},
          {"load", search.load},     {"lower_bound", search.lower_bound},
          {"states", search.states}, {"seconds", search.seconds}};
}

Json order_profile_json(const OrderProfile& profile) {
  const auto loads = [](const OrderLoads& order) {
    return Json{{"loads", order.loads}, {"peak_operator", order.peak_operator}};
  };
  Json json{{"own", loads(profile.own)}, {"planned", loads(profile.planned)}, {"moved", Json::array()}};
  for (const MovedOperator& it : profile.moved)
    json["moved"].push_back({{"name", it.name}, {"from", it.from}, {"to", it.to}});
  return json;
}

Json affine_json(const AffineSchedule& affine) {
  Json json{{"load", affine.load}, {"followed", affine.is_followed}, {"operators", Json::array()}};
  for (const TimedSteps& it : affine.operators) {
    json["operators"].push_back(
        {{"steps", it.count}, {"scale", it.scale}, {"shift", it.shift}, {"position", it.position}});
    Json& entry = json["operators"].back();
    if (it.op) entry["operator"] = *it.op;
    if (it.tensor) entry["arrives"] = *it.tensor;
  }
  return json;
}

Json streaming_json(const Streaming& streaming) {
  Json json{{"granule", streaming.granule},
            {"load", streaming.load},
            {"load_of_layers", streaming.load_of_layers},
            {"recomputed", streaming.recomputed},
            {"recompute_limit", streaming.recompute_limit},
            {"regions", Json::array()}};
  for (const StreamRegion& region : streaming.regions) {
    json["regions"].push_back(
        {{"operators", region.operators}, {"load", region.load}, {"load_of_layers", region.load_of_layers}});
  }
  if (streaming.affine) json["affine"] = affine_json(*streaming.affine);
  return json;
}

Json savings_json(const Savings& savings) {
  const auto json = [](const Saving& saving) {
    return Json{{"separate", saving.separate}, {"shared", saving.shared}};
  };
  return {{"weights", json(savings.weights)},
          {"instructions", json(savings.instructions)},
          {"working", json(savings.working)}};
}

}  // namespace

void write_json(const Plan& plan, std::ostream& out) {
  exporting::Document document(out, "stowage-plan");
  document.models(plan.models);
  document.key("clocks") << "[";
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    out << (c == 0 ? "\n" : ",\n") << "{\"steps\":";
    exporting::write_rows(out, plan.clocks[c].steps, [&](const Step& step) { return step_json(step, plan); });
    out << "}";
  }
  out << "]";
  document.rows("memories", plan.memories, memory_json);
  document.key("buffers") << "[";
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    out << (b == 0 ? "\n" : ",\n") << exporting::dump(buffer_json(plan.buffers[b], plan.places[b], plan));
  }
  out << "]";
  if (!plan.slots.empty()) {
    document.rows("slots", plan.slots, [&](const SlotPool& pool) {
      return Json{{"clock", pool.clock},         {"memory", plan.memories[pool.place.memory].memory.name},
                  {"offset", pool.place.offset}, {"size", pool.size},
                  {"count", pool.count},         {"lower", pool.life.lower},
                  {"upper", pool.life.upper}};
    });
  }
  document.rows("tensors", plan.tensors,
                [&](const PlannedTensor& tensor) { return tensor_json(tensor, plan); });
  document.value("copies_removed",
                 {{"count", plan.copies_removed.count}, {"bytes", plan.copies_removed.bytes}});
  document.rows("copies_kept", plan.copies_kept, [](const KeptCopy& kept) {
    return Json{{"model", kept.model},         {"subgraph", kept.subgraph}, {"operator", kept.op},
                {"operation", kept.operation}, {"bytes", kept.bytes},       {"why", kept.why}};
  });
  if (!plan.feeds.empty()) {
    document.rows("feeds", plan.feeds, [](const Feed& feed) {
      return Json{{"output", feed.output}, {"input", feed.input}};
    });
  }
  if (!plan.released.empty()) document.value("released", plan.released);
  if (plan.savings) document.value("savings", savings_json(*plan.savings));
  document.value("interrupted", plan.interrupted);
  document.rows("claims", plan.claims, [](const Claim& claim) {
    return Json{{"scope", name_of(claim.scope)},
                {"lower_bound", claim.lower_bound},
                {"proven_optimal", claim.proven_optimal}};
  });
  if (plan.streaming) document.value("streaming", streaming_json(*plan.streaming));
  if (!plan.order_searches.empty()) document.rows("order_searches", plan.order_searches, order_search_json);
  if (plan.order_profile) document.value("order_profile", order_profile_json(*plan.order_profile));
  document.value("summary", summary_json(plan.summary));
  document.finish();
}

}  // namespace stowage
