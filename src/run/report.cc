#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "base/print.h"
#include "export/json.h"
#include "export/readable.h"
#include "run/parts.h"
#include "stowage/export.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using exporting::Json;

constexpr std::size_t longest_name = 60;

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  std::size_t not_numbers = 0;
};

template <typename Element>
Range range_of_elements(const Array& array) {
  Range range;
  for (std::size_t at = 0; at + sizeof(Element) <= array.data.size(); at += sizeof(Element)) {
    Element element{};
    std::memcpy(&element, array.data.data() + at, sizeof(Element));
    const auto value = static_cast<double>(element);
    if (std::isnan(value)) {
      ++range.not_numbers;
      continue;
    }
    range.least = std::min(range.least, value);
    range.most = std::max(range.most, value);
  }
  return range;
}

std::optional<Range> range_of(const Array& array) {
  switch (array.dtype) {
    case DType::float32:
      return range_of_elements<float>(array);
    case DType::float64:
      return range_of_elements<double>(array);
    case DType::int8:
      return range_of_elements<std::int8_t>(array);
    case DType::uint8:
    case DType::boolean:
      return range_of_elements<std::uint8_t>(array);
    case DType::int16:
      return range_of_elements<std::int16_t>(array);
    case DType::int32:
      return range_of_elements<std::int32_t>(array);
    case DType::int64:
      return range_of_elements<std::int64_t>(array);
    default:
      return std::nullopt;
  }
}

/// MODEL.OUTPUT if there are several models.
std::string name_of_output(const NamedArray& output, const Plan& plan) {
  return plan.models.size() == 1 ? output.name : plan.models[output.model].name + "." + output.name;
}

std::string describe(const NamedArray& output, const Plan& plan) {
  std::string text =
      fmt::format("{} {}[{}]", exporting::shortened(name_of_output(output, plan), longest_name),
                  name_of(output.array.dtype), fmt::join(output.array.shape, ","));
  const auto range = range_of(output.array);
  if (!range) return text;
  if (range->least <= range->most) text += fmt::format(", {:.6g} to {:.6g}", range->least, range->most);
  if (range->not_numbers > 0) text += fmt::format(", {} elements are not numbers", range->not_numbers);
  return text;
}

/// Per memory: the highest end of a tensor or of sums in the plan.
std::vector<Bytes> planned_ends(const Plan& plan) {
  std::vector<Bytes> ends(plan.memories.size(), 0);
  const auto note_sums = [&](const Sums& sums) {
    const Place& place = plan.places[sums.buffer];
    for (const Piece& piece : plan.buffers[sums.buffer].pieces)
      ends[place.memory] = std::max(ends[place.memory], place.offset + piece.offset + piece.size);
  };
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      if (const auto* const run = std::get_if<Run>(&step); run != nullptr) {
        if (run->sums) note_sums(*run->sums);
        if (run->carry) note_sums(*run->carry);
      }
    }
  }
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) {
      const Place& place = plan.places[view.buffer];
      Bytes& end = ends[place.memory];
      end = std::max(end, place.offset + view.offset + run::bytes_in(view, tensor.tensor));
    }
  }
  // A ring ends before rows that begin again at its start.
  for (std::size_t m = 0; m < ends.size(); ++m) ends[m] = std::min(ends[m], plan.memories[m].peak);
  return ends;
}

double seconds_of(const RunResult& result) {
  double seconds = 0;
  for (const StepReport& step : result.steps) seconds += step.seconds;
  return seconds;
}

Bytes touched_of(const RunResult& result, std::size_t memory) {
  return memory < result.touched.size() ? result.touched[memory] : 0;
}

/// Multiplies that ran, as a multiple of those of the network.
double recomputed(const RunResult& result) {
  return static_cast<double>(result.multiplies) / static_cast<double>(result.multiplies_of_network);
}

std::string_view verdict_of(const RunResult& result) {
  if (result.fault) return "fault";
  return result.interrupted ? "interrupted" : "done";
}

}  // namespace

std::optional<double> only_value_of(std::span<const NamedArray> outputs) {
  Range all;
  std::size_t elements = 0;
  for (const NamedArray& output : outputs) {
    const auto range = range_of(output.array);
    if (!range || range->not_numbers > 0) return std::nullopt;
    all.least = std::min(all.least, range->least);
    all.most = std::max(all.most, range->most);
    elements +=
        output.array.data.size() / static_cast<std::size_t>(run::bytes_of_element(output.array.dtype));
  }
  return elements > 1 && all.least == all.most ? std::optional(all.least) : std::nullopt;
}

void write_run(const RunResult& result, const Plan& plan, std::ostream& out) {
  const auto row = [&](std::string_view what, const std::string& value) {
    base::print(out, "{:<13}{}\n", what, value);
  };
  for (const ModelInfo& model : plan.models)
    row("model", fmt::format("{}{} ({})", plan.models.size() == 1 ? "" : model.name + ": ", model.source,
                             name_of(model.format)));
  if (is_cut_short(plan)) row("plan", "its search was cut short");
  for (const LeftOut& it : plan.left_out)
    row("plan", fmt::format("without {}: {}", name_of(it.what), it.why));
  const std::vector<Bytes> ends = planned_ends(plan);
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    if (plan.memories[m].memory.role == MemoryRole::weights) {
      row("memory", fmt::format("{}: {} bytes planned for weights, which are read from the files",
                                plan.memories[m].memory.name, plan.memories[m].peak));
      continue;
    }
    row("memory",
        fmt::format("{}: {} bytes allocated, highest byte touched {} of {} planned",
                    plan.memories[m].memory.name, plan.memories[m].peak, touched_of(result, m), ends[m]));
  }
  row("outside", fmt::format("{} bytes held by kernels, {} while one runs", result.kernels_hold,
                             result.kernels_scratch));
  row("copies",
      fmt::format("{} made, {} bytes; {} had nothing to do, {} bytes", result.copies_made.count,
                  result.copies_made.bytes, result.copies_skipped.count, result.copies_skipped.bytes));
  if (result.multiplies_of_network > 0 && result.multiplies > 0) {
    row("multiplies", fmt::format("{}, {:.4f} times the {} of the network", result.multiplies,
                                  recomputed(result), result.multiplies_of_network));
  }
  row("steps", fmt::format("{} run, {:.4f} seconds", result.steps.size(), seconds_of(result)));
  for (const NamedArray& output : result.outputs) row("output", describe(output, plan));
  if (result.fault) row("fault", result.fault->what);
}

void write_steps(const RunResult& result, const Plan& plan, std::ostream& out) {
  const bool has_clocks = plan.clocks.size() > 1;
  base::print(out, "\n{}{:>8}  {:>12}", has_clocks ? "   clock  " : "", "position", "live bytes");
  for (const PlannedMemory& memory : plan.memories)
    base::print(out, "  {:>18}", exporting::shortened("highest " + memory.memory.name, 18));
  base::print(out, "  {:>12}  operator\n", "microseconds");
  constexpr double micro = 1e6;
  for (const StepReport& step : result.steps) {
    if (has_clocks) base::print(out, "{:>8}  ", step.clock);
    base::print(out, "{:>8}  {:>12}", step.position, step.live);
    for (std::size_t m = 0; m < plan.memories.size(); ++m)
      base::print(out, "  {:>18}", m < step.highest.size() ? step.highest[m] : 0);
    base::print(out, "  {:>12.1f}  {}\n", step.seconds * micro,
                exporting::shortened(step.what, 2 * longest_name));
  }
}

void write_run_json(const RunResult& result, const Plan& plan, std::ostream& out) {
  exporting::Document document(out, "stowage-run");
  document.value("verdict", verdict_of(result));
  document.value("fault", result.fault ? Json(result.fault->what) : Json(nullptr));
  document.rows("outputs", result.outputs, [&](const NamedArray& output) {
    return Json{{"name", name_of_output(output, plan)},
                {"dtype", name_of(output.array.dtype)},
                {"shape", output.array.shape}};
  });
  const std::vector<Bytes> ends = planned_ends(plan);
  Json memories = Json::array();
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    memories.push_back({{"name", plan.memories[m].memory.name},
                        {"allocated", plan.memories[m].peak},
                        {"touched", touched_of(result, m)},
                        {"planned", ends[m]}});
  }
  document.value("memories", memories);
  document.value("kernels", {{"held", result.kernels_hold}, {"scratch", result.kernels_scratch}});
  const auto copies = [](const CopiesRemoved& of) { return Json{{"count", of.count}, {"bytes", of.bytes}}; };
  document.value("copies_made", copies(result.copies_made));
  document.value("copies_skipped", copies(result.copies_skipped));
  if (result.multiplies_of_network > 0) {
    document.value("multiplies", {{"run", result.multiplies},
                                  {"network", result.multiplies_of_network},
                                  {"factor", recomputed(result)}});
  }
  document.value("plan_interrupted", plan.interrupted);
  document.value("seconds", seconds_of(result));
  document.rows("steps", result.steps, [&](const StepReport& step) {
    Json json = plan.clocks.size() > 1 ? Json{{"clock", step.clock}} : Json::object();
    json.update({{"position", step.position},
                 {"operator", step.what},
                 {"live", step.live},
                 {"highest", step.highest},
                 {"seconds", step.seconds}});
    return json;
  });
  document.finish();
}

}  // namespace stowage
