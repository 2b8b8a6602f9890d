#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/json.h"
#include "export/periodic.h"
#include "export/plan_steps.h"
#include "model/ties.h"
#include "pack/life.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::add_rows;
using exporting::Json;

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

/// How many pieces from the first on have its size.
std::size_t pieces_of_one_size(std::span<const Piece> pieces) {
  const auto other = std::ranges::find_if(pieces, [&](const Piece& it) { return it.size != pieces[0].size; });
  return static_cast<std::size_t>(other - pieces.begin());
}

/// What several entries have in common is written once, their numbers as lists.
class Lists {
 public:
  Lists(const Plan& plan, PlanForm form)
      : is_expanded_(form == PlanForm::expanded), is_short_(!is_expanded_ && exporting::may_repeat(plan)) {}

  /// Whether each entry stands for itself.
  [[nodiscard]] bool is_expanded() const { return is_expanded_; }

  /// Whether the plan is small enough for repetitions and row blocks.
  [[nodiscard]] bool is_short() const { return is_short_; }

  /// One number of each of the elements.
  template <typename Range, typename NumberOf>
  [[nodiscard]] Json operator()(const Range& elements, const NumberOf& number_of) const {
    std::vector<std::int64_t> numbers;
    for (const auto& element : elements) numbers.push_back(number_of(element));
    return exporting::list_of(numbers, is_short_);
  }

  /// The same of live ranges.
  template <typename Range, typename LifeOf>
  void add_lives(const Range& elements, const LifeOf& life_of, Json& json) const {
    json["lower"] = (*this)(elements, [&](const auto& it) { return life_of(it).lower; });
    json["upper"] = (*this)(elements, [&](const auto& it) { return life_of(it).upper; });
  }

 private:
  bool is_expanded_;
  bool is_short_;
};

Json pieces_json(std::span<const Piece> pieces, const Lists& list) {
  Json json{{"size", pieces[0].size}};
  json["offsets"] = list(pieces, [](const Piece& it) { return it.offset; });
  list.add_lives(
      pieces, [](const Piece& it) { return it.life; }, json);
  return json;
}

/// Writes buffers as text without values of JSON in between: there may be a million.
class BufferWriter {
 public:
  BufferWriter(const Plan& plan, const Lists& list) : plan_(plan), list_(list) {
    for (const PlannedMemory& memory : plan.memories)
      memories_.push_back(exporting::dump(memory.memory.name));
  }

  /// One line; valid until the next call.
  [[nodiscard]] std::string_view line_of(const Buffer& buffer, const Place& place) {
    line_.clear();
    add(FMT_COMPILE(R"({{"id":{},"clock":{},"size":{},"alignment":{},"memory":{},"offset":{},)"),
        quoted(buffer.id), buffer.clock, buffer.size, buffer.alignment, memories_[place.memory],
        place.offset);
    add(FMT_COMPILE(R"("kind":"{}","pieces":[)"), name_of(buffer.kind));
    add_pieces(buffer.pieces);
    add(FMT_COMPILE("]"));
    if (buffer.pinned) add(FMT_COMPILE(R"(,"pinned":{})"), *buffer.pinned);
    if (buffer.traffic > 0) add(FMT_COMPILE(R"(,"traffic":{})"), buffer.traffic);
    add(FMT_COMPILE("}}"));
    return {line_.data(), line_.size()};
  }

 private:
  void add(const auto& format, const auto&... values) {
    fmt::format_to(fmt::appender(line_), format, values...);
  }

  void add_pieces(std::span<const Piece> pieces) {
    for (std::size_t p = 0; p < pieces.size();) {
      if (p > 0) add(FMT_COMPILE(","));
      const std::size_t count =
          plan_.streaming && !list_.is_expanded() ? pieces_of_one_size(pieces.subspan(p)) : 1;
      if (count > 1) {
        add(FMT_COMPILE("{}"), exporting::dump(pieces_json(pieces.subspan(p, count), list_)));
      } else {
        const Piece& it = pieces[p];
        add(FMT_COMPILE(R"({{"offset":{},"size":{},"lower":{},"upper":{}}})"), it.offset, it.size,
            it.life.lower, it.life.upper);
      }
      p += count;
    }
  }

  /// Nearly all names are of characters that JSON has as they are.
  [[nodiscard]] static std::string quoted(std::string_view text) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    return std::ranges::all_of(text, is_plain) ? fmt::format("\"{}\"", text) : exporting::dump(text);
  }

  const Plan& plan_;
  const Lists& list_;
  std::vector<std::string> memories_;  ///< Their names, quoted.
  fmt::memory_buffer line_;
};

/// Row blocks that differ only in offset and live range, as one entry.
Json blocks_json(const exporting::BlockRun& run, std::size_t first, const Plan& plan, const Lists& list) {
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
  const auto places = std::span(plan.places).subspan(first, run.count);
  const auto buffers = std::span(plan.buffers).subspan(first, run.count);
  json["offsets"] = list(places, [](const Place& it) { return it.offset; });
  list.add_lives(
      buffers, [](const Buffer& it) { return it.pieces[0].life; }, json);
  return json;
}

void write_buffers(const Plan& plan, const Lists& list, std::ostream& out) {
  const char* separator = "\n";
  BufferWriter writer(plan, list);
  for (std::size_t b = 0; b < plan.buffers.size();) {
    const auto run = list.is_short() ? exporting::blocks_from(plan, b) : std::nullopt;
    out << separator;
    if (run) {
      out << exporting::dump(blocks_json(*run, b, plan, list));
    } else {
      out << writer.line_of(plan.buffers[b], plan.places[b]);
    }
    separator = ",\n";
    b += run ? run->count : 1;
  }
}

/// Lives that are those of the buffers are left out.
Json views_json(const exporting::ViewRun& run, std::span<const View> views, const Plan& plan,
                const Lists& list) {
  const View& first = views[0];
  Json json;
  json["buffer"] = run.buffers.size() == 1 ? Json(run.buffers[0]) : Json(run.buffers);
  if (run.index) json["first"] = *run.index;
  if (run.index) json["blocks"] = run.blocks;
  json["offset"] = first.offset;
  const bool lives_as_buffer =
      plan.streaming && !list.is_expanded() && std::ranges::all_of(views, [&](const View& view) {
        return view.life == pack::life_of(plan.buffers[view.buffer]);
      });
  if (!lives_as_buffer && (run.index || run.buffers.size() > 1)) {
    list.add_lives(
        views, [](const View& it) { return it.life; }, json);
  } else if (!lives_as_buffer) {
    json["lower"] = first.life.lower;
    json["upper"] = first.life.upper;
  }
  if (first.rows) add_rows(*first.rows, json);
  if (first.block) add_rows(*first.block, json["block"]);
  if (first.ring)
    json["ring"] = {
        {"axis", first.ring->axis}, {"granule", first.ring->granule}, {"count", first.ring->count}};
  if (first.moves) {
    for (const OpenBytes& it : *first.moves)
      json["moves"].push_back({{"bytes", it.bytes}, {"symbols", it.symbols}});
  }
  return json;
}

Json tensor_json(const PlannedTensor& planned, const Plan& plan, const Lists& list) {
  const Tensor& tensor = planned.tensor;
  Json json{{"model", planned.model},         {"name", tensor.name}, {"kind", name_of(tensor.kind)},
            {"dtype", name_of(tensor.dtype)}, {"shape", nullptr},    {"bytes", tensor.bytes},
            {"views", Json::array()}};
  if (tensor.shape) json["shape"] = *tensor.shape;
  exporting::add_given(tensor, json);
  const std::span<const View> views(planned.views);
  for (std::size_t v = 0; v < views.size();) {
    const exporting::ViewRun run = list.is_short()
                                       ? exporting::views_from(plan, views.subspan(v))
                                       : exporting::ViewRun{.buffers = {plan.buffers[views[v].buffer].id}};
    json["views"].push_back(views_json(run, views.subspan(v, run.count()), plan, list));
    v += run.count();
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

/// How many entries from the first one on are blocks of one operator that follow each other.
std::size_t blocks_of_operator(std::span<const TimedSteps> all) {
  std::size_t count = 1;
  for (; count < all.size(); ++count) {
    const TimedSteps& before = all[count - 1];
    TimedSteps next = before;
    if (!next.op || !next.block || !all[count].block) break;
    next.block = RowRange{before.block->axis, before.block->end, 2 * before.block->end - before.block->begin};
    next.shift = all[count].shift;
    next.position = all[count].position;
    if (next != all[count]) break;
  }
  return count;
}

Json timed_json(std::span<const TimedSteps> blocks, const Lists& list) {
  const TimedSteps& first = blocks[0];
  Json json{{"steps", first.count}, {"scale", first.scale}};
  if (blocks.size() > 1) {
    json["shift"] = list(blocks, [](const TimedSteps& it) { return it.shift; });
    json["position"] = list(blocks, [](const TimedSteps& it) { return it.position; });
    json["blocks"] = blocks.size();
  } else {
    json["shift"] = first.shift;
    json["position"] = first.position;
  }
  if (first.op) json["operator"] = *first.op;
  if (first.block) add_rows(*first.block, json["block"]);
  if (first.tensor) json["arrives"] = *first.tensor;
  if (first.sums) json["sums"] = true;
  return json;
}

Json affine_json(const AffineSchedule& affine, const Lists& list) {
  Json json{{"load", affine.load}, {"followed", affine.is_followed}, {"operators", Json::array()}};
  const std::span<const TimedSteps> all(affine.operators);
  for (std::size_t first = 0; first < all.size();) {
    const std::size_t count = list.is_short() ? blocks_of_operator(all.subspan(first)) : 1;
    json["operators"].push_back(timed_json(all.subspan(first, count), list));
    first += count;
  }
  return json;
}

Json streaming_json(const Streaming& streaming, const Lists& list) {
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
  if (streaming.affine) json["affine"] = affine_json(*streaming.affine, list);
  for (const RecomputePoint& it : streaming.curve) {
    json["curve"].push_back({{"limit", it.limit}, {"recomputed", it.recomputed}, {"peak", it.peak}});
    if (it.interrupted) json["curve"].back()["interrupted"] = true;
  }
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

Json tuning_json(const Tuning& tuning) {
  return {{"sort", tuning.sort},
          {"end", name_of(tuning.end)},
          {"round", tuning.round},
          {"lowest_round", tuning.lowest_round},
          {"all_high", tuning.all_high},
          {"risks",
           {{"high", tuning.high}, {"medium", tuning.medium}, {"low", tuning.low}, {"none", tuning.none}}}};
}

}  // namespace

void write_json(const Plan& plan, std::ostream& out, PlanForm form) {
  exporting::Document document(out, "stowage-plan");
  const Lists list(plan, form);
  document.models(plan.models);
  const bool may_repeat = list.is_short() && is_streamed(plan);  // others run each operator once
  document.key("clocks") << "[";
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    out << (c == 0 ? "\n" : ",\n") << "{\"steps\":";
    exporting::write_steps(plan.clocks[c], plan, may_repeat, out);
    out << "}";
  }
  out << "]";
  document.rows("memories", plan.memories, memory_json);
  document.key("buffers") << "[";
  write_buffers(plan, list, out);
  out << "]";
  if (!plan.slots.empty()) {
    document.rows("slots", plan.slots, [&](const SlotPool& pool) {
      return Json{{"clock", pool.clock},         {"memory", plan.memories[pool.place.memory].memory.name},
                  {"offset", pool.place.offset}, {"size", pool.size},
                  {"count", pool.count},         {"lower", pool.life.lower},
                  {"upper", pool.life.upper}};
    });
  }
  if (!plan.tunings.empty()) document.rows("tunings", plan.tunings, tuning_json);
  document.rows("tensors", plan.tensors,
                [&](const PlannedTensor& tensor) { return tensor_json(tensor, plan, list); });
  document.value("copies_removed",
                 {{"count", plan.copies_removed.count}, {"bytes", plan.copies_removed.bytes}});
  document.rows("copies_kept", plan.copies_kept, [](const KeptCopy& kept) {
    return Json{{"model", kept.model},         {"subgraph", kept.subgraph}, {"operator", kept.op},
                {"operation", kept.operation}, {"bytes", kept.bytes},       {"why", kept.why}};
  });
  const auto feed_json = [](const Feed& feed) {
    return Json{{"output", feed.output}, {"input", feed.input}};
  };
  if (!plan.pauses.empty()) {
    document.rows("pauses", plan.pauses, [](const Pausing& it) {
      return Json{{"clock", it.clock},      {"every", it.every},     {"lower", it.life.lower},
                  {"upper", it.life.upper}, {"carried", it.carried}, {"least_carried", it.least_carried}};
    });
  }
  if (!plan.feeds.empty()) document.rows("feeds", plan.feeds, feed_json);
  if (!plan.states.empty()) {
    document.rows("states", plan.states, [&](const Feed& state) {
      Json json = feed_json(state);
      if (model::is_copied(plan, state)) json["copied"] = true;
      return json;
    });
  }
  if (!plan.released.empty()) document.value("released", plan.released);
  if (plan.savings) document.value("savings", savings_json(*plan.savings));
  document.value("interrupted", plan.interrupted);
  if (!plan.left_out.empty()) {
    document.rows("left_out", plan.left_out, [](const LeftOut& it) {
      return Json{{"what", name_of(it.what)}, {"why", it.why}, {"help", it.help}};
    });
  }
  document.rows("claims", plan.claims, [](const Claim& claim) {
    return Json{{"scope", name_of(claim.scope)},
                {"lower_bound", claim.lower_bound},
                {"proven_optimal", claim.proven_optimal}};
  });
  if (plan.streaming) document.value("streaming", streaming_json(*plan.streaming, list));
  if (!plan.order_searches.empty()) document.rows("order_searches", plan.order_searches, order_search_json);
  if (plan.order_profile) document.value("order_profile", order_profile_json(*plan.order_profile));
  document.value("summary", summary_json(plan.summary));
  document.finish();
}

}  // namespace stowage
