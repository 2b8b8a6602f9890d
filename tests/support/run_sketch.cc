#include "run_sketch.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "stowage/planner.h"

namespace stowage::testing {
namespace {

constexpr Bytes size = 16;

std::string name_of_tensor(std::size_t index, std::size_t operators) {
  if (index == 0) return "x";
  return index == operators ? "y" : "t" + std::to_string(index);
}

}  // namespace

Network adding(const std::string& name, std::size_t operators) {
  Graph graph;
  graph.subgraphs = {{.name = "main", .inputs = {0}, .outputs = {operators}}};
  for (std::size_t i = 0; i <= operators; ++i) {
    graph.tensors.push_back({.name = name_of_tensor(i, operators),
                             .kind = i == 0           ? TensorKind::input
                                     : i == operators ? TensorKind::output
                                                      : TensorKind::temporary,
                             .dtype = DType::float32,
                             .shape = Shape{4},
                             .bytes = size});
    if (i == 0) continue;
    graph.subgraphs[0].operators.push_back(
        {.name = name + std::to_string(i - 1), .type = "Add", .inputs = {i - 1, i - 1}, .outputs = {i}});
  }
  Network network;
  network.input.info = {.name = name, .source = name + ".onnx", .format = ModelFormat::onnx};
  network.input.content = graph;
  network.details = {std::vector<OperatorDetails>(operators, OperatorDetails{.version = 14})};
  network.quantizations.resize(graph.tensors.size());
  return network;
}

PlanSketch::PlanSketch(std::vector<Network> networks, std::size_t memories) : networks_(std::move(networks)) {
  for (std::size_t m = 0; m < networks_.size(); ++m) {
    plan_.models.push_back(networks_[m].input.info);
    plan_.released.push_back(plan_.tensors.size() + networks_[m].graph().subgraphs[0].outputs.at(0));
    for (const Tensor& tensor : networks_[m].graph().tensors) plan_.tensors.push_back({m, tensor, {}});
  }
  for (std::size_t m = 0; m < memories; ++m)
    plan_.memories.push_back({.memory = {.name = "m" + std::to_string(m)}});
  plan_.clocks.resize(1);
}

std::size_t PlanSketch::put(const std::string& tensor, const Put& where) {
  const std::string id = where.memory == 0 ? tensor : tensor + "@m" + std::to_string(where.memory);
  const std::size_t index = plan_.buffers.size();
  plan_.buffers.push_back(
      {.id = id, .clock = where.clock, .size = size, .alignment = 4, .pieces = {{0, size, where.life}}});
  plan_.places.push_back({where.memory, where.offset});
  Bytes& peak = plan_.memories[where.memory].peak;
  peak = std::max(peak, where.offset + size);
  static_cast<void>(clock(where.clock));
  plan_.tensors[index_of(tensor)].views.push_back({.buffer = index, .life = where.life});
  return index;
}

void PlanSketch::view(const std::string& tensor, const std::string& buffer, const Lifetime& life,
                      Bytes offset) {
  plan_.tensors[index_of(tensor)].views.push_back(
      {.buffer = buffer_named(buffer), .offset = offset, .life = life});
}

void PlanSketch::run(std::size_t clock_index, const std::string& model, std::size_t op) {
  const auto found = std::ranges::find(plan_.models, model, &ModelInfo::name);
  clock(clock_index)
      .steps.emplace_back(
          Run{.model = static_cast<std::size_t>(found - plan_.models.begin()), .path = {0, op}});
}

void PlanSketch::fork(std::size_t clock_index, std::vector<std::size_t> branches) {
  for (const std::size_t branch : branches) static_cast<void>(clock(branch));
  clock(clock_index).steps.emplace_back(Fork{std::move(branches)});
}

void PlanSketch::copy(std::size_t clock_index, const std::string& tensor, const std::string& from,
                      const std::string& to) {
  clock(clock_index).steps.emplace_back(Copy{index_of(tensor), buffer_named(from), buffer_named(to)});
}

void PlanSketch::feed(const std::string& output, const std::string& input) {
  plan_.feeds.push_back({index_of(output), index_of(input)});
}

Clock& PlanSketch::clock(std::size_t index) {
  if (plan_.clocks.size() <= index) plan_.clocks.resize(index + 1);
  return plan_.clocks[index];
}

std::size_t PlanSketch::index_of(const std::string& tensor) const {
  for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
    const PlannedTensor& it = plan_.tensors[t];
    if (plan_.models[it.model].name + "." + it.tensor.name == tensor) return t;
  }
  throw std::invalid_argument("there is no tensor " + tensor);
}

std::size_t PlanSketch::buffer_named(const std::string& id) const {
  const auto found = std::ranges::find(plan_.buffers, id, &Buffer::id);
  if (found == plan_.buffers.end()) throw std::invalid_argument("there is no buffer " + id);
  return static_cast<std::size_t>(found - plan_.buffers.begin());
}

RunResult PlanSketch::result(std::uint64_t seed, RunCheck check) {
  return run_plan(networks_, plan_, {.kernels = KernelSet::plain, .check = check, .seed = seed});
}

std::string PlanSketch::fault(std::uint64_t seed, RunCheck check) {
  const RunResult it = result(seed, check);
  return it.fault ? it.fault->what : "";
}

Array output_alone(const Network& network, std::uint64_t seed) {
  const RunResult result =
      run_plan(network, make_plan(network.input).plan, {.kernels = KernelSet::plain, .seed = seed});
  return result.outputs.at(0).array;
}

Array output_alone(const Network& network, const Array& input) {
  const RunResult result = run_plan(network, make_plan(network.input).plan,
                                    {.kernels = KernelSet::plain, .inputs = {{"x", input}}});
  return result.outputs.at(0).array;
}

}  // namespace stowage::testing
