#include "report/plan_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "export/proof.h"
#include "export/readable.h"
#include "report/columns.h"

namespace stowage::report {
namespace {

using exporting::Json;

std::string text_of(const std::optional<Shape>& shape) {
  if (!shape) return "?";
  std::string text;
  for (const std::int64_t dimension : *shape) text += (text.empty() ? "" : "x") + std::to_string(dimension);
  return text.empty() ? "scalar" : text;
}

Json column_of(std::span<const std::int64_t> values) {
  Column column;
  for (const std::int64_t value : values) column.add(value);
  return column.text();
}

/// Letters of ASCII that two texts share at their begins: the page counts others in other units.
std::size_t shared_letters(const std::string& a, const std::string& b) {
  std::size_t shared = 0;
  while (shared < a.size() && shared < b.size() && a[shared] == b[shared] &&
         static_cast<unsigned char>(a[shared]) < 128)
    ++shared;
  return shared;
}

Json json_of(const Texts& texts) {
  Column shared;
  Json ends = Json::array();
  const std::string* before = nullptr;
  for (const std::string& text : texts.all()) {
    const std::size_t count = before == nullptr ? 0 : shared_letters(*before, text);
    shared.add(static_cast<std::int64_t>(count));
    ends.push_back(text.substr(count));
    before = &text;
  }
  return {{"shared", shared.text()}, {"ends", std::move(ends)}};
}

/// Writes the tables of one plan, all times on one axis.
class Tables {
 public:
  explicit Tables(const ReportedPlan& reported)
      : plan_(reported.plan),
        graphs_(reported.graphs),
        starts_(exporting::starts_on_one_axis(plan_)),
        row_of_tensor_(plan_.tensors.size(), -1) {}

  void write(Json& json) {
    write_tensors(json);
    write_buffers(json);
    write_steps(json);
    json["texts"] = json_of(texts_);
  }

 private:
  void write_buffers(Json& json) {
    Table buffers{"name", "clock", "size", "memory", "offset", "kind", "traffic", "pieces"};
    Table pieces{"offset", "size", "lower", "upper"};
    const std::vector<Buffer> on_axis = exporting::on_one_axis(plan_);
    for (std::size_t b = 0; b < on_axis.size(); ++b) {
      const Buffer& buffer = on_axis[b];
      const Place& place = plan_.places[b];
      const std::int64_t before = pieces.rows();
      for (const Piece& piece : buffer.pieces) {
        if (piece.is_ever_alive()) pieces.add({piece.offset, piece.size, piece.life.lower, piece.life.upper});
      }
      buffers.add({texts_.index_of(buffer.id), static_cast<std::int64_t>(buffer.clock), buffer.size,
                   static_cast<std::int64_t>(place.memory), place.offset,
                   static_cast<std::int64_t>(buffer.kind), buffer.traffic, pieces.rows() - before});
    }
    json["buffers"] = buffers.json();
    json["pieces"] = pieces.json();
  }

  void write_tensors(Json& json) {
    Table tensors{"model", "name", "kind", "type", "shape", "bytes", "views"};
    Table views{"buffer", "offset", "lower", "upper", "first", "last"};
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      const PlannedTensor& planned = plan_.tensors[t];
      if (planned.views.empty()) continue;
      row_of_tensor_[t] = tensors.rows();
      const Tensor& tensor = planned.tensor;
      tensors.add({static_cast<std::int64_t>(planned.model), texts_.index_of(tensor.name),
                   static_cast<std::int64_t>(tensor.kind),
                   texts_.index_of(std::string(name_of(tensor.dtype))),
                   texts_.index_of(text_of(tensor.shape)), tensor.bytes,
                   static_cast<std::int64_t>(planned.views.size())});
      for (const View& view : planned.views) {
        const std::size_t clock = plan_.buffers[view.buffer].clock;
        const RowRange rows = view.rows.value_or(RowRange{0, -1, -1});
        views.add({static_cast<std::int64_t>(view.buffer), view.offset,
                   exporting::on_one_axis(starts_, clock, view.life.lower),
                   exporting::on_one_axis(starts_, clock, view.life.upper), rows.begin, rows.end});
      }
    }
    json["tensors"] = tensors.json();
    json["views"] = views.json();
  }

  void write_steps(Json& json) {
    Table steps{"clock", "at", "kind", "what", "other", "first", "last"};
    for (std::size_t c = 0; c < plan_.clocks.size(); ++c) {
      for (std::size_t s = 0; s < plan_.clocks[c].steps.size(); ++s) {
        const Step& step = plan_.clocks[c].steps[s];
        const auto [what, other, rows] = parts_of(step);
        const RowRange range = rows.value_or(RowRange{0, -1, -1});
        steps.add({static_cast<std::int64_t>(c), starts_[c][s], static_cast<std::int64_t>(step.index()), what,
                   other, range.begin, range.end});
      }
    }
    json["steps"] = steps.json();
    json["operators"] = operators_.json();
  }

  struct Parts {
    std::int64_t what = -1;   ///< An operator, or a tensor.
    std::int64_t other = -1;  ///< Of a copy: its new buffer; of a fork: how many clocks.
    std::optional<RowRange> rows{};
  };

  Parts parts_of(const Step& step) {
    if (const auto* const run = std::get_if<Run>(&step)) return {operator_of(*run), -1, run->rows};
    if (const auto* const arrive = std::get_if<Arrive>(&step))
      return {row_of_tensor_[arrive->tensor], -1, arrive->rows};
    if (const auto* const leave = std::get_if<Leave>(&step))
      return {row_of_tensor_[leave->tensor], -1, leave->rows};
    if (const auto* const copy = std::get_if<Copy>(&step))
      return {row_of_tensor_[copy->tensor], static_cast<std::int64_t>(copy->to), copy->rows};
    if (std::holds_alternative<Pause>(step)) return {-1, 1, std::nullopt};
    return {-1, static_cast<std::int64_t>(std::get<Fork>(step).clocks.size()), std::nullopt};
  }

  std::int64_t operator_of(const Run& run) {
    const std::size_t size = run.path.size();
    const std::size_t subgraph = size >= 2 ? run.path[size - 2] : 0;
    const std::size_t index = size >= 1 ? run.path[size - 1] : 0;
    const auto [it, is_new] = row_of_operator_.try_emplace({run.model, subgraph, index}, operators_.rows());
    if (is_new) {
      const Operator* const op = find(run.model, subgraph, index);
      operators_.add({static_cast<std::int64_t>(run.model), static_cast<std::int64_t>(subgraph),
                      static_cast<std::int64_t>(index), texts_.index_of(op == nullptr ? "" : op->name),
                      texts_.index_of(op == nullptr ? "" : op->type)});
    }
    return it->second;
  }

  [[nodiscard]] const Operator* find(std::size_t model, std::size_t subgraph, std::size_t index) const {
    if (model >= graphs_.size() || subgraph >= graphs_[model].subgraphs.size()) return nullptr;
    const std::vector<Operator>& operators = graphs_[model].subgraphs[subgraph].operators;
    return index < operators.size() ? &operators[index] : nullptr;
  }

  const Plan& plan_;
  const std::vector<Graph>& graphs_;
  std::vector<std::vector<Position>> starts_;
  std::vector<std::int64_t> row_of_tensor_;
  std::map<std::array<std::size_t, 3>, std::int64_t> row_of_operator_{};
  Table operators_{"model", "subgraph", "index", "name", "type"};
  Texts texts_{};
};

/// The words of the page for what is proven of the peak.
std::string_view words_of(exporting::Proof proof) {
  constexpr std::array words{"nothing", "offsets", "memories", "rows", "operators", "plan"};
  return words[static_cast<std::size_t>(proof)];
}

/// What was asked for and is not in the plan, in words.
Json left_out_json(const Plan& plan) {
  Json json = Json::array();
  for (const LeftOut& it : plan.left_out) json.push_back(fmt::format("{}: {}", name_of(it.what), it.why));
  return json;
}

Json memory_json(const PlannedMemory& planned, const std::vector<std::vector<Position>>& starts) {
  const Memory& memory = planned.memory;
  Json json{{"name", memory.name},        {"capacity", nullptr},
            {"cost", memory.cost},        {"weights", memory.role == MemoryRole::weights},
            {"peak", planned.peak},       {"lower_bound", planned.lower_bound},
            {"traffic", planned.traffic}, {"certificate", Json::array()}};
  if (memory.capacity) json["capacity"] = *memory.capacity;
  for (const Position at : planned.certificate)
    json["certificate"].push_back(exporting::on_one_axis(starts, 0, at));
  return json;
}

Json remedy_json(const Remedy& remedy) {
  constexpr std::array verdicts{"found", "done", "possible", "impossible"};
  Json json{{"verdict", verdicts[static_cast<std::size_t>(remedy.verdict)]},
            {"what", remedy.what},
            {"why", remedy.why},
            {"bytes", nullptr},
            {"command", remedy.command}};
  if (remedy.bytes) json["bytes"] = *remedy.bytes;
  return json;
}

/// The remedies of the plan; those that were tried come first and instead.
Json remedies_json(const ReportedPlan& reported, const std::string& command) {
  Json json = Json::array();
  for (const Remedy& remedy : reported.tried) json.push_back(remedy_json(remedy));
  for (const Remedy& remedy : remedies_of(reported.plan, command)) {
    if (std::ranges::find(reported.tried, remedy.what, &Remedy::what) == reported.tried.end())
      json.push_back(remedy_json(remedy));
  }
  return json;
}

Json curves_json(const ReportedPlan& reported) {
  std::vector<Curve> curves = reported.curves;
  if (reported.plan.streaming && !reported.plan.streaming->curve.empty()) {
    Curve& curve = curves.emplace_back(Curve{.what = "Peak against multiplies that run"});
    for (const RecomputePoint& it : reported.plan.streaming->curve) {
      curve.points.push_back(
          {.value = fmt::format("{:.3f} times{}", it.recomputed, it.interrupted ? ", cut short" : ""),
           .bytes = it.peak,
           .is_plan = it.recomputed == reported.plan.streaming->recomputed});
    }
    const auto rest = std::ranges::unique(curve.points);
    curve.points.erase(rest.begin(), rest.end());
  }
  Json json = Json::array();
  for (const Curve& curve : curves) {
    Json points = Json::array();
    for (const Curve::Point& it : curve.points)
      points.push_back({{"value", it.value}, {"bytes", it.bytes}, {"is_plan", it.is_plan}});
    json.push_back({{"what", curve.what}, {"points", std::move(points)}});
  }
  return json;
}

Json models_json(const ReportedPlan& reported) {
  Json json = Json::array();
  for (std::size_t m = 0; m < reported.plan.models.size(); ++m) {
    const ModelInfo& model = reported.plan.models[m];
    json.push_back({{"name", model.name},
                    {"source", model.source},
                    {"format", name_of(model.format)},
                    {"hash", m < reported.hashes.size() ? fmt::format("{:016x}", reported.hashes[m]) : ""}});
  }
  return json;
}

std::string title_of(const ReportedPlan& reported) {
  std::string title = reported.title;
  if (!title.empty()) return title;
  for (const ModelInfo& model : reported.plan.models) title += (title.empty() ? "" : ", ") + model.name;
  return title;
}

}  // namespace

Json data_of(const ReportedPlan& reported, const std::string& command) {
  const Plan& plan = reported.plan;
  const Summary& summary = plan.summary;
  Json json{{"title", title_of(reported)},
            {"models", models_json(reported)},
            {"clocks", plan.clocks.size()},
            {"interrupted", plan.interrupted},
            {"proof", words_of(exporting::proof_of(plan))},
            {"left_out", left_out_json(plan)},
            {"summary",
             {{"naive", summary.naive},
              {"peak", summary.peak},
              {"lower_bound", summary.lower_bound},
              {"strategy", summary.strategy},
              {"order", summary.order},
              {"cost", summary.cost},
              {"cost_bound", summary.cost_bound}}},
            {"memories", Json::array()},
            {"remedies", remedies_json(reported, command)},
            {"curves", curves_json(reported)}};
  const auto starts = exporting::starts_on_one_axis(plan);
  for (const PlannedMemory& memory : plan.memories) json["memories"].push_back(memory_json(memory, starts));
  if (plan.order_profile) json["own_loads"] = column_of(plan.order_profile->own.loads);
  Tables(reported).write(json);
  return json;
}

}  // namespace stowage::report
