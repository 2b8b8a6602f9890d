#include "export/plan_steps.h"

#include <span>
#include <variant>
#include <vector>

#include "export/periodic.h"

namespace stowage::exporting {
namespace {

/// `step` is an arrival, a departure or a copy.
template <typename Passage>
Json handed_over(const Passage& step) {
  Json json{{"tensor", step.tensor}};
  if (step.rows) add_rows(*step.rows, json);
  if (step.block) add_rows(*step.block, json["block"]);
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
  if (const auto* const arrive = std::get_if<Arrive>(&step)) return {{"arrive", handed_over(*arrive)}};
  if (const auto* const leave = std::get_if<Leave>(&step)) return {{"leave", handed_over(*leave)}};
  if (const auto* const copy = std::get_if<Copy>(&step)) {
    Json json = handed_over(*copy);
    json["from"] = plan.buffers[copy->from].id;
    json["to"] = plan.buffers[copy->to].id;
    return {{"copy", json}};
  }
  if (const auto* const pause = std::get_if<Pause>(&step)) return {{"pause", pause->clock}};
  return {{"fork", std::get<Fork>(step).clocks}};
}

bool has_rows(const Step& step) {
  if (const auto* const run = std::get_if<Run>(&step)) return run->rows.has_value();
  if (const auto* const copy = std::get_if<Copy>(&step)) return copy->rows.has_value();
  if (const auto* const arrive = std::get_if<Arrive>(&step)) return arrive->rows.has_value();
  const auto* const leave = std::get_if<Leave>(&step);
  return leave != nullptr && leave->rows.has_value();
}

/// Of a step whose numbers move on: its rows, or [its rows, its block].
Json advance_json(const Step& step, std::span<const std::int64_t> numbers) {
  if (numbers.empty()) return 0;
  const std::int64_t rows = has_rows(step) ? numbers.front() : 0;
  const std::int64_t block = numbers.size() > 1 || !has_rows(step) ? numbers.back() : 0;
  return block == 0 ? Json(rows) : Json{rows, block};
}

class StepWriter {
 public:
  StepWriter(std::span<const Step> steps, std::span<const std::size_t> numbers, const Plan& plan)
      : steps_(steps), numbers_(numbers), plan_(plan) {}

  [[nodiscard]] Json written(const Repetition& it) const {
    if (it.count == 1) return step_json(steps_[it.first], plan_);
    Json json{{"count", it.count}, {"steps", Json::array()}};
    for (const Repetition& part : it.body) json["steps"].push_back(written(part));
    std::span<const std::int64_t> advance(it.advance);
    json["advance"] = advances(it, advance);
    return {{"repeat", json}};
  }

 private:
  /// Takes the advances of the body's steps from the front of `left`.
  [[nodiscard]] Json advances(const Repetition& it, std::span<const std::int64_t>& left) const {
    Json json = Json::array();
    for (const Repetition& part : it.body) {
      if (part.count > 1) {
        json.push_back(advances(part, left));
        continue;
      }
      const std::size_t own = numbers_[part.first];
      json.push_back(advance_json(steps_[part.first], left.first(own)));
      left = left.subspan(own);
    }
    return json;
  }

  std::span<const Step> steps_;
  std::span<const std::size_t> numbers_;  ///< How many of each step move on.
  const Plan& plan_;
};

}  // namespace

void add_rows(const RowRange& rows, Json& json) {
  json["axis"] = rows.axis;
  json["rows"] = {rows.begin, rows.end};
}

void write_steps(const Clock& clock, const Plan& plan, bool repeats, std::ostream& out) {
  if (!repeats) return write_rows(out, clock.steps, [&](const Step& step) { return step_json(step, plan); });
  std::vector<Item> items = items_of(clock.steps);
  std::vector<std::size_t> numbers;
  for (const Item& item : items) numbers.push_back(item.numbers.size());
  const StepWriter writer(clock.steps, numbers, plan);
  write_rows(out, repetitions_of(std::move(items)), [&](const Repetition& it) { return writer.written(it); });
}

}  // namespace stowage::exporting
