#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "export/json.h"
#include "export/periodic.h"
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
    if (run->carry)
      json["carry"] = {{"buffer", plan.buffers[run->carry->buffer].id}, {"offset", run->carry->offset}};
    if (run->part) add_rows(*run->part, json["part"]);
    if (run->block) add_rows(*run->block, json["block"]);
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

Json repetition_json(const exporting::Repetition& it, std::span<const Step> steps, const Plan& plan) {
  if (it.count == 1) return step_json(steps[it.first], plan);
  Json json{{"count", it.count}, {"advance", it.advance}};
  for (const Step& step : steps.subspan(it.first, it.period)) json["steps"].push_back(step_json(step, plan));
  return {{"repeat", json}};
}

Json memory_json(const PlannedMemory& memory) {
  Json json{{"name", memory.memory.name}, {"capacity", nullptr}, {"alignment", memory.memory.alignment},
            {"cost", memory.memory.cost}, {"peak", memory.peak}, {"lower_bound", memory.lower_bound}};
  if (memory.memory.capacity) json["capacity"] = *memory.memory.capacity;
  if (memory.memory.granule != 1) json["granule"] = memory.memory.granule;
  if (memory.memory.role == MemoryRole::weights) json["role"] = "weights";
  if (memory.traffic > 0) json["traffic"] = memory.traffic;
  if (!memory.certificate.empty()) json["certificate"] = memory.certificate;
  return json;
}

Json piece_json(const Piece& piece) {
  return {{"offset", piece.offset},
          {"size", piece.size},
          {"lower", piece.life.lower},
          {"upper", piece.life.upper}};
}

/// How many pieces from the first on have its size.
std::size_t pieces_of_one_size(std::span<const Piece> pieces) {
  const auto other = std::ranges::find_if(pieces, [&](const Piece& it) { return it.size != pieces[0].size; });
  return static_cast<std::size_t>(other - pieces.begin());
}

Json pieces_json(std::span<const Piece> pieces) {
  Json json{{"size", pieces[0].size}};
  for (const Piece& piece : pieces) {
    json["offsets"].push_back(piece.offset);
    json["lower"].push_back(piece.life.lower);
    json["upper"].push_back(piece.life.upper);
  }
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
  const std::span<const Piece> pieces(buffer.pieces);
  for (std::size_t p = 0; p < pieces.size();) {
    const std::size_t count = plan.streaming ? pieces_of_one_size(pieces.subspan(p)) : 1;
    json["pieces"].push_back(count > 1 ? pieces_json(pieces.subspan(p, count)) : piece_json(pieces[p]));
    p += count;
  }
  if (buffer.pinned) json["pinned"] = *buffer.pinned;
  if (buffer.traffic > 0) json["traffic"] = buffer.traffic;
  return json;
}

/// Row blocks that differ only in offset and live range, as one entry.
Json blocks_json(const exporting::BlockRun& run, std::size_t first, const Plan& plan) {
  const Buffer& buffer = plan.buffers[first];
  Json json{{"id", run.name},
            {"first", run.index},
            {"blocks", run.count},
            {"clock", buffer.clock},
            {"size", buffer.size},
            {"alignment", buffer.alignment},
            {"memory", plan.memories[plan.places[first].memory].memory.name},
            {"kind", name_of(buffer.kind)},
            {"bytes", buffer.pieces[0].size}};
  for (std::size_t b = first; b < first + run.count; ++b) {
    json["offsets"].push_back(plan.places[b].offset);
    json["lower"].push_back(plan.buffers[b].pieces[0].life.lower);
    json["upper"].push_back(plan.buffers[b].pieces[0].life.upper);
  }
  return json;
}

void write_buffers(const Plan& plan, std::ostream& out) {
  const char* separator = "\n";
  for (std::size_t b = 0; b < plan.buffers.size();) {
    const auto run = exporting::blocks_from(plan, b);
    out << separator
        << exporting::dump(run ? blocks_json(*run, b, plan)
                               : buffer_json(plan.buffers[b], plan.places[b], plan));
    separator = ",\n";
    b += run ? run->count : 1;
  }
}

Json views_json(const exporting::BlockRun& run, std::span<const View> views) {
  Json json{{"buffer", run.name}, {"first", run.index}, {"blocks", run.count}, {"offset", views[0].offset}};
  add_rows(*views[0].rows, json);
  if (views[0].block) add_rows(*views[0].block, json["block"]);
  for (const View& view : views) {
    json["lower"].push_back(view.life.lower);
    json["upper"].push_back(view.life.upper);
  }
  return json;
}

Json view_json(const View& view, const Plan& plan) {
  Json json{{"buffer", plan.buffers[view.buffer].id},
            {"offset", view.offset},
            {"lower", view.life.lower},
            {"upper", view.life.upper}};
  if (view.rows) add_rows(*view.rows, json);
  if (view.block) add_rows(*view.block, json["block"]);
  if (view.ring)
    json["ring"] = {{"axis", view.ring->axis}, {"granule", view.ring->granule}, {"count", view.ring->count}};
  return json;
}

Json tensor_json(const PlannedTensor& planned, const Plan& plan) {
  const Tensor& tensor = planned.tensor;
  Json json{{"model", planned.model},         {"name", tensor.name}, {"kind", name_of(tensor.kind)},
            {"dtype", name_of(tensor.dtype)}, {"shape", nullptr},    {"bytes", tensor.bytes},
            {"views", Json::array()}};
  if (tensor.shape) json["shape"] = *tensor.shape;
  const std::span<const View> views(planned.views);
  for (std::size_t v = 0; v < views.size();) {
    const auto run = exporting::views_from(plan, views, v);
    json["views"].push_back(run ? views_json(*run, views.subspan(v, run->count)) : view_json(views[v], plan));
    v += run ? run->count : 1;
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
    if (it.block) add_rows(*it.block, entry["block"]);
    if (it.tensor) entry["arrives"] = *it.tensor;
    if (it.sums) entry["sums"] = true;
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
  for (const RecomputePoint& it : streaming.curve)
    json["curve"].push_back({{"limit", it.limit}, {"recomputed", it.recomputed}, {"peak", it.peak}});
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
    const std::span<const Step> steps(plan.clocks[c].steps);
    exporting::write_rows(out, exporting::repetitions_of(steps),
                          [&](const exporting::Repetition& it) { return repetition_json(it, steps, plan); });
    out << "}";
  }
  out << "]";
  document.rows("memories", plan.memories, memory_json);
  document.key("buffers") << "[";
  write_buffers(plan, out);
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
