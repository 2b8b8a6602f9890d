#include "stowage/tflm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/print.h"
#include "export/json.h"
#include "export/readable.h"

namespace stowage {
namespace {

using exporting::Json;
using exporting::readable;

constexpr std::size_t tensors_shown = 20;
constexpr std::size_t faults_shown = 20;
constexpr std::size_t longest_tensor_name = 60;

std::string described(const TflmRuntime& runtime) {
  static constexpr std::array<std::string_view, 4> kernels{
      "reference kernels", "CMSIS-NN kernels (scalar)", "CMSIS-NN kernels (DSP)", "CMSIS-NN kernels (MVE)"};
  return fmt::format("pointers of {} bits, {}{}", 8 * runtime.pointer_bytes,
                     std::string(kernels.at(static_cast<std::size_t>(runtime.kernels))) +
                         (runtime.decompresses && !runtime.records ? ", built to decompress weights" : ""),
                     runtime.records ? ", as its Python package measures" : "");
}

std::string name_of_tensor(const Graph& graph, TensorId tensor) {
  const std::string& name = graph.tensors[tensor].name;
  return name.empty() ? fmt::format("tensor {}", tensor) : exporting::shortened(name, longest_tensor_name);
}

void write_row(std::ostream& out, std::string_view what, const std::string& value) {
  base::print(out, "{:<13}{}\n", what, value);
}

/// "float32[1,96,96,3]".
std::string type_of(const Tensor& tensor) {
  return fmt::format("{}{}", name_of(tensor.dtype),
                     tensor.shape ? fmt::format("[{}]", fmt::join(*tensor.shape, ",")) : " of unknown rank");
}

/// The inputs or the outputs of the network; none if the file was not read.
std::vector<TensorId> operands_of(const Graph& graph, std::vector<TensorId> Subgraph::*operands) {
  return graph.subgraphs.empty() ? std::vector<TensorId>() : graph.subgraphs[0].*operands;
}

void write_operands(const Graph& graph, std::string_view what, std::vector<TensorId> Subgraph::*operands,
                    std::ostream& out) {
  std::string_view head = what;
  for (const TensorId t : operands_of(graph, operands)) {
    write_row(out, std::exchange(head, ""),
              fmt::format("{} {}", name_of_tensor(graph, t), type_of(graph.tensors[t])));
  }
}

std::vector<TensorId> placed(const std::optional<OfflineOffsets>& offsets) {
  std::vector<TensorId> tensors;
  for (TensorId t = 0; offsets && t < offsets->size(); ++t) {
    if ((*offsets)[t]) tensors.push_back(t);
  }
  return tensors;
}

void write_offsets(const Inspection& inspection, const std::vector<TensorId>& tensors, std::ostream& out) {
  base::print(out, "\n  {:>14}  {:>14}  {}\n", "offset", "bytes", "tensor");
  for (std::size_t i = 0; i < std::min(tensors.size(), tensors_shown); ++i) {
    base::print(out, "  {:>14}  {:>14}  {}\n", *(*inspection.found)[tensors[i]],
                inspection.graph.tensors[tensors[i]].bytes, name_of_tensor(inspection.graph, tensors[i]));
  }
  if (tensors.size() > tensors_shown) base::print(out, "  and {} more\n", tensors.size() - tensors_shown);
}

}  // namespace

void write_tflm(const TflmPlan& plan, const Graph& graph, std::ostream& out) {
  const std::string without = plan.own_head == plan.head ? "" : fmt::format(", {} without", plan.own_head);
  const std::string scratch =
      plan.may_ask == 0 ? "" : fmt::format("; {} operators may ask for scratch besides", plan.may_ask);
  write_row(out, "tflm head", readable(plan.head) + without + scratch);
  const Bytes bound = tflm_head_bound(graph, plan.plan);
  write_row(out, "",
            fmt::format("no offsets have less{} in this order",
                        bound < plan.head ? " than " + readable(bound) : ""));
  std::map<std::string_view, std::vector<TensorId>> by_reason;
  for (const LeftToRuntime& left : plan.left) by_reason[left.why].push_back(left.tensor);
  for (const auto& [why, tensors] : by_reason) {
    const std::string more = tensors.size() > 1 ? fmt::format(" and {} more", tensors.size() - 1) : "";
    write_row(out, "  left", fmt::format("{}{}: {}", name_of_tensor(graph, tensors.front()), more, why));
  }
}

void write_arena(const TflmArena& arena, const TflmRuntime& runtime, std::ostream& out) {
  const Bytes both = arena.head + arena.tail;
  const std::string_view more = arena.size > base::align_up(both, tflm_alignment) ? ", and room to start in"
                                : arena.size > both                               ? ", rounded up"
                                                                                  : "";
  write_row(out, "tensor_arena",
            fmt::format("{}: head {}, tail {}{}", readable(arena.size), arena.head, arena.tail, more));
  write_row(out, "", fmt::format("for TensorFlow Lite Micro {}, {}", tflm_version, described(runtime)));
  if (!arena.unknown.empty())
    write_row(out, "",
              fmt::format("and what the kernels of {} operators keep, which are not stock ones",
                          arena.unknown.size()));
  if (arena.own_tails.size() < 2) return;
  for (std::size_t m = 0; m < arena.own_tails.size(); ++m)
    write_row(out, "", fmt::format("{} bytes of the tail are of model {}", arena.own_tails[m], m + 1));
}

void write_inspection(const Inspection& inspection, std::ostream& out) {
  const std::vector<TensorId> tensors = placed(inspection.found);
  write_operands(inspection.graph, "inputs", &Subgraph::inputs, out);
  write_operands(inspection.graph, "outputs", &Subgraph::outputs, out);
  write_row(out, "plan",
            inspection.found ? fmt::format("OfflineMemoryAllocation, {} of {} tensors have offsets",
                                           tensors.size(), inspection.found->size())
                             : "none");
  if (inspection.found) write_row(out, "faults", fmt::format("{}", inspection.faults.size()));
  for (std::size_t i = 0; i < std::min(inspection.faults.size(), faults_shown); ++i)
    write_row(out, "  fault", inspection.faults[i].what);
  if (inspection.found) write_row(out, "tflm head", readable(inspection.head));
  write_row(out, "without", readable(inspection.own_head));
  write_arena(inspection.arena, inspection.runtime, out);
  write_row(out, "stowage", inspection.ours ? readable(*inspection.ours) : inspection.obstacle);
  if (!tensors.empty()) write_offsets(inspection, tensors, out);
}

void write_inspection_json(const Inspection& inspection, std::ostream& out) {
  exporting::Document document(out, "stowage-inspection");
  const auto add_operands = [&](const char* name, std::vector<TensorId> Subgraph::*operands) {
    document.rows(name, operands_of(inspection.graph, operands), [&](TensorId t) {
      const Tensor& tensor = inspection.graph.tensors[t];
      return Json{{"name", tensor.name}, {"type", type_of(tensor)}};
    });
  };
  add_operands("inputs", &Subgraph::inputs);
  add_operands("outputs", &Subgraph::outputs);
  document.value("arena", inspection.arena.size);
  document.value("tail", inspection.arena.tail);
  document.value("has_plan", inspection.found.has_value());
  document.value("head", inspection.head);
  document.value("own_head", inspection.own_head);
  document.value("stowage_head", inspection.ours ? Json(*inspection.ours) : Json(nullptr));
  document.rows("faults", inspection.faults, [](const Fault& fault) { return Json(fault.what); });
  document.rows("offsets", placed(inspection.found), [&](TensorId t) {
    const Tensor& tensor = inspection.graph.tensors[t];
    return Json{
        {"tensor", t}, {"name", tensor.name}, {"bytes", tensor.bytes}, {"offset", *(*inspection.found)[t]}};
  });
  document.finish();
}

void write_inspections(const std::vector<Inspection>& inspections, const std::vector<RejectedFile>& rejected,
                       std::ostream& out) {
  base::print(out, "{:>12}  {:>12}  {:>12}  {:>12}  {:>6}  {}\n", "head", "without", "stowage", "arena",
              "faults", "file");
  for (const Inspection& it : inspections) {
    base::print(out, "{:>12}  {:>12}  {:>12}  {:>12}  {:>6}  {}{}\n", it.head, it.own_head,
                it.ours ? fmt::format("{}", *it.ours) : "-", it.arena.size, it.faults.size(), it.name,
                it.found ? "" : " (no plan)");
    for (std::size_t i = 0; i < std::min(it.faults.size(), faults_shown); ++i)
      write_row(out, "  fault", it.faults[i].what);
  }
  for (const RejectedFile& it : rejected) write_row(out, "rejected", it.why);
}

void write_inspections_json(const std::vector<Inspection>& inspections,
                            const std::vector<RejectedFile>& rejected, std::ostream& out) {
  exporting::Document document(out, "stowage-inspections");
  document.rows("files", inspections, [](const Inspection& it) {
    Json faults = Json::array();
    for (const Fault& fault : it.faults) faults.push_back(fault.what);
    return Json{{"file", it.name},
                {"has_plan", it.found.has_value()},
                {"head", it.head},
                {"own_head", it.own_head},
                {"stowage_head", it.ours ? Json(*it.ours) : Json(nullptr)},
                {"arena", it.arena.size},
                {"tail", it.arena.tail},
                {"faults", faults}};
  });
  document.rows("rejected", rejected, [](const RejectedFile& it) {
    return Json{{"file", it.name}, {"why", it.why}};
  });
  document.finish();
}

}  // namespace stowage
