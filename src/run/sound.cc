#include "run/sound.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

void expect_tensors(std::span<const Graph* const> graphs, const Plan& plan) {
  std::size_t count = 0;
  for (const Graph* const graph : graphs) count += graph->tensors.size();
  if (plan.tensors.size() != count) {
    throw RunFault{fmt::format("the plan has {} tensors, {} {}", plan.tensors.size(),
                               graphs.size() == 1 ? "the network has" : "the networks have", count)};
  }
  std::size_t index = 0;
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    for (TensorId t = 0; t < graphs[m]->tensors.size(); ++t, ++index) {
      const PlannedTensor& planned = plan.tensors[index];
      if (planned.model != m || planned.tensor.bytes != graphs[m]->tensors[t].bytes)
        throw RunFault{fmt::format(
            "tensor {} of the plan is of model {} and has {} bytes, expected {} of model {} with {}", index,
            planned.model, planned.tensor.bytes, describe(*graphs[m], t), m, graphs[m]->tensors[t].bytes)};
    }
  }
}

bool is_size(Bytes size) { return size >= 0 && size <= largest_value; }

void expect_buffers(const Plan& plan) {
  if (plan.places.size() != plan.buffers.size())
    throw RunFault{
        fmt::format("the plan has {} buffers and {} places", plan.buffers.size(), plan.places.size())};
  for (const PlannedMemory& memory : plan.memories) {
    if (!is_size(memory.peak))
      throw RunFault{fmt::format("memory {} has {} bytes", base::quoted(memory.memory.name), memory.peak)};
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const bool is_sound = buffer.clock < plan.clocks.size() && plan.places[b].memory < plan.memories.size() &&
                          is_size(plan.places[b].offset) &&
                          std::ranges::all_of(buffer.pieces, [](const Piece& piece) {
                            return is_size(piece.offset) && is_size(piece.size);
                          });
    if (!is_sound)
      throw RunFault{fmt::format("buffer {} has a clock, a memory, an offset or a size that cannot be",
                                 base::quoted(buffer.id))};
  }
}

void expect_views(const Plan& plan) {
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) {
      if (view.buffer >= plan.buffers.size() || !is_size(view.offset))
        throw RunFault{
            fmt::format("tensor {} has a view that cannot be run", base::quoted(tensor.tensor.name))};
    }
  }
}

bool has(const std::vector<TensorId>& tensors, TensorId tensor) {
  return std::ranges::find(tensors, tensor) != tensors.end();
}

void expect_feeds(std::span<const Graph* const> graphs, const Plan& plan,
                  const std::vector<std::size_t>& bases) {
  std::set<std::size_t> fed;
  for (std::size_t f = 0; f < plan.feeds.size(); ++f) {
    const auto& [output, input] = plan.feeds[f];
    const auto refuse = [f](const std::string& why) { throw RunFault{fmt::format("feed {} {}", f, why)}; };
    if (output >= plan.tensors.size() || input >= plan.tensors.size())
      refuse("is of a tensor the plan has not");
    const std::size_t from = plan.tensors[output].model;
    const std::size_t to = plan.tensors[input].model;
    const Tensor& fed_tensor = graphs[to]->tensors[input - bases[to]];
    const Tensor& feeding = graphs[from]->tensors[output - bases[from]];
    if (from == to || fed_tensor.kind == TensorKind::state ||
        !has(graphs[from]->subgraphs[0].outputs, output - bases[from]) ||
        !has(graphs[to]->subgraphs[0].inputs, input - bases[to]))
      refuse("is not from an output of a model to an input of another");
    if (fed_tensor.bytes != feeding.bytes || fed_tensor.dtype != feeding.dtype)
      refuse("joins tensors of different sizes or types");
    if (!fed.insert(input).second)
      refuse(fmt::format("is the second one of tensor {}", base::quoted(fed_tensor.name)));
  }
}

}  // namespace

std::vector<std::size_t> expect_sound(std::span<const Graph* const> graphs, const Plan& plan) {
  if (plan.models.size() != graphs.size()) {
    throw RunFault{fmt::format("the plan has {} models, expected {}", plan.models.size(), graphs.size())};
  }
  expect_tensors(graphs, plan);
  expect_buffers(plan);
  expect_views(plan);
  std::vector<std::size_t> bases;
  std::size_t base = 0;
  for (const Graph* const graph : graphs) {
    bases.push_back(base);
    base += graph->tensors.size();
  }
  expect_feeds(graphs, plan, bases);
  return bases;
}

}  // namespace stowage::run
