// Compares what a plan computed with what each model computes alone. A model that another one feeds gets what that
// one computed in the plan: sums of rows may differ a little from what its own reference makes.
//
// Cost: one run of each model. The plan's memories are gone by then, and a reference frees what nobody reads again.

#include "run/output_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "check/states.h"
#include "run/device.h"
#include "run/operands.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// The outputs of that model, in its own order.
std::span<NamedArray> outputs_of(std::span<NamedArray> outputs, std::size_t model) {
  const auto [first, last] = std::ranges::equal_range(outputs, model, {}, &NamedArray::model);
  return {first, last};
}

/// Gives all inputs and states their values.
void give_all(Reference& reference, const Graph& graph,
              const std::function<std::vector<std::byte>(TensorId)>& value) {
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const TensorKind kind = graph.tensors[t].kind;
    const bool is_input = std::ranges::find(graph.subgraphs[0].inputs, t) != graph.subgraphs[0].inputs.end();
    if (kind == TensorKind::state || (is_input && kind != TensorKind::weight)) reference.give(t, value(t));
  }
}

/// False if the output is no constant. Throws RunFault if it is one, but not these bytes.
bool expect_constant(const Program& program, TensorId output, std::span<const std::byte> data,
                     const std::string& of_model) {
  const std::span<const std::byte> constant = program.constants[output];
  if (constant.data() == nullptr) return false;
  const auto [at, end] = std::ranges::mismatch(data, constant);
  if (at == data.end() && end == constant.end()) return true;
  const Bytes element = bytes_of_element(program.graph->tensors[output].dtype);
  throw difference(stowage::describe(*program.graph, output) + of_model, (at - data.begin()) / element,
                   "taken by the caller");
}

}  // namespace

std::unique_ptr<Reference> reference_of(const ModelToRun& model, const Plan& plan, std::size_t index,
                                        const RunOptions& options, RunResult& result) {
  const auto rule = runs_rows(model, plan, index) ? Reference::Rule::by_rows : Reference::Rule::exact;
  return std::make_unique<Reference>(model.unsplit != nullptr ? *model.unsplit : *model.program, options,
                                     model.blocks, rule, result);
}

void compare_outputs(std::span<const ModelToRun> models, const Plan& plan, const RunOptions& options,
                     std::span<NamedArray> outputs, RunResult& result) {
  const std::vector<const Graph*> graphs = graphs_of(models);
  const std::vector<std::size_t> first = first_tensors(graphs);
  std::map<std::size_t, std::size_t> sources = check::sources_of_states(plan);
  for (const Feed& feed : plan.feeds) sources.emplace(feed.input, feed.output);
  const auto value_of = [&](std::size_t model, TensorId tensor) {
    const auto source = sources.find(first[model] + tensor);
    if (source == sources.end()) return models[model].value(tensor);
    const std::size_t from = plan.tensors[source->second].model;
    const TensorId there = source->second - first[from];
    const std::vector<TensorId>& all = graphs[from]->subgraphs[0].outputs;
    const auto index = std::ranges::find(all, there) - all.begin();
    if (index == std::ssize(all))
      return models[from].value(there);  // state from before the run, read by both
    return outputs_of(outputs, from)[static_cast<std::size_t>(index)].array.data;
  };
  for (std::size_t m = 0; m < models.size(); ++m) {
    const Graph& graph = *graphs[m];
    try {
      const auto reference = reference_of(models[m], plan, m, options, result);
      give_all(*reference, graph, [&](TensorId tensor) { return value_of(m, tensor); });
      reference->finish();
      for (std::size_t i = 0; i < graph.subgraphs[0].outputs.size(); ++i) {
        const TensorId output = graph.subgraphs[0].outputs[i];
        std::vector<std::byte>& data = outputs_of(outputs, m)[i].array.data;
        if (expect_constant(*models[m].program, output, data, of_model(plan, m))) continue;
        const PlacedPart all{{.at = data.data(), .size = static_cast<Bytes>(data.size())}};
        if (const auto element = reference->first_difference(output, all))
          throw difference(stowage::describe(graph, output) + of_model(plan, m), *element,
                           "taken by the caller");
      }
    } catch (const Error& error) {
      throw models[m].file.empty() ? error : error.in_file(models[m].file);
    }
  }
}

}  // namespace stowage::run
