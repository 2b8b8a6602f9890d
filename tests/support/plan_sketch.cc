#include "plan_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "check_cases.h"

namespace stowage::cases {

using oracle::Sketch;

Graph chain(const std::string& input, const std::string& output, const std::string& type) {
  Sketch sketch;
  sketch.subgraph({input}, {output});
  sketch.add(0, type, {input}, {output});
  return sketch.graph();
}

Graph chain_of_two(const std::string& input, const std::string& between, const std::string& output,
                   const std::string& type) {
  Sketch sketch;
  sketch.subgraph({input}, {output});
  sketch.add(0, type, {input}, {between});
  sketch.add(0, type, {between}, {output});
  return sketch.graph();
}

PlanSketch::PlanSketch() {
  plan.clocks.emplace_back();
  add_memory("arena");
}

std::size_t PlanSketch::add_model(const std::string& name, const Graph& graph) {
  const ModelInfo info{.name = name, .source = name + ".json", .format = ModelFormat::json};
  inputs.push_back({info, graph, {}});
  plan.models.push_back(info);
  for (const TensorId output : graph.subgraphs[0].outputs) {
    const std::size_t tensor = plan.tensors.size() + output;
    if (!is_constant(graph.tensors[output].kind) &&
        std::ranges::find(plan.released, tensor) == plan.released.end())
      plan.released.push_back(tensor);
  }
  for (const Tensor& tensor : graph.tensors) plan.tensors.push_back({plan.models.size() - 1, tensor, {}});
  return plan.models.size() - 1;
}

std::size_t PlanSketch::add_clock() {
  plan.clocks.emplace_back();
  return plan.clocks.size() - 1;
}

void PlanSketch::fork(std::size_t clock, const std::vector<std::size_t>& branches) {
  plan.clocks[clock].steps.emplace_back(Fork{branches});
}

void PlanSketch::run(std::size_t clock, std::size_t model, std::size_t op) {
  run_path(clock, model, {0, op});
}

void PlanSketch::run_path(std::size_t clock, std::size_t model, const std::vector<std::size_t>& path) {
  plan.clocks[clock].steps.emplace_back(Run{.model = model, .path = path});
}

void PlanSketch::run_all(std::size_t clock, std::size_t model) {
  for (std::size_t op = 0; op < graph(model).subgraphs[0].operators.size(); ++op) run(clock, model, op);
}

void PlanSketch::copy(std::size_t clock, const std::string& tensor_name, const std::string& from,
                      const std::string& to) {
  plan.clocks[clock].steps.emplace_back(Copy{tensor(tensor_name), buffer(from), buffer(to)});
}

void PlanSketch::add_memory(const std::string& name, MemoryRole role) {
  plan.memories.push_back({{.name = name, .role = role}, 0, 0});
}

Buffer& PlanSketch::add_buffer(const std::string& id, std::size_t clock, Bytes offset, const Lifetime& life,
                               std::size_t memory) {
  plan.buffers.push_back({.id = id, .clock = clock, .size = 16, .pieces = {{0, 16, life}}});
  plan.places.push_back({memory, offset});
  return plan.buffers.back();
}

void PlanSketch::add_view(const std::string& name, const std::string& id, const Lifetime& life) {
  plan.tensors[tensor(name)].views.push_back({buffer(id), 0, life, std::nullopt});
}

void PlanSketch::put(const std::string& name, std::size_t clock, Bytes offset, const Lifetime& life,
                     std::size_t memory) {
  add_buffer(name, clock, offset, life, memory).kind = plan.tensors[tensor(name)].tensor.kind;
  add_view(name, name, life);
}

void PlanSketch::feed(const std::string& output, const std::string& input) {
  plan.feeds.push_back({tensor(output), tensor(input)});
}

std::size_t PlanSketch::tensor(const std::string& name) const {
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (plan.tensors[t].tensor.name == name) return t;
  }
  ADD_FAILURE() << "no tensor " << name;
  return 0;
}

std::size_t PlanSketch::buffer(const std::string& id) const { return buffer_named(plan, id); }

View& PlanSketch::view(const std::string& name, std::size_t index) {
  return plan.tensors[tensor(name)].views.at(index);
}

Faults PlanSketch::check() const {
  Plan checked = plan;
  correct_claims(checked);
  return check_plan(checked, inputs);
}

bool has(const Faults& faults, FaultKind kind, const std::vector<std::string>& names) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return fault.kind == kind && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
             return fault.what.find(name) != std::string::npos;
           });
  });
}

void expect_wrong(const std::function<PlanSketch()>& make, const std::vector<Wrong>& wrongs) {
  ASSERT_TRUE(make().check().empty()) << text_of(make().check());
  for (const Wrong& wrong : wrongs) {
    PlanSketch sketch = make();
    wrong.spoil(sketch);
    const Faults faults = sketch.check();
    EXPECT_TRUE(has(faults, wrong.kind, wrong.names)) << wrong.title << "\n" << text_of(faults);
  }
}

}  // namespace stowage::cases
