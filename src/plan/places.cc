// Places that the user gives tensors. A tensor with a place shares with no other, so its buffer can be there; what it must
// share with, such as the state that it updates, goes with it. Cost: linear in places and views.

#include "plan/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <variant>

#include "base/nearest.h"
#include "base/text.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

std::size_t memory_called(const std::string& name, std::span<const Memory> working) {
  const auto found = std::ranges::find(working, name, &Memory::name);
  if (found != working.end()) return static_cast<std::size_t>(found - working.begin());
  std::vector<std::string> names;
  for (const Memory& memory : working) names.push_back(memory.name);
  throw UsageError(fmt::format("--place: there is no memory {} for tensors, expected one of {}",
                               base::quoted(name), fmt::join(names, ", ")));
}

/// The name of a tensor of this network; empty if it is one of another network.
std::string name_in(const std::string& given, std::span<const Input> inputs, std::size_t model) {
  if (inputs.size() == 1) return given;
  const auto is_of = [&](const Input& input) { return given.starts_with(input.info.name + "."); };
  if (std::ranges::none_of(inputs, is_of))
    throw UsageError(
        fmt::format("--place {}: with several models, expected MODEL.TENSOR", base::quoted(given)));
  return is_of(inputs[model]) ? given.substr(inputs[model].info.name.size() + 1) : "";
}

void assign_place(const GivenPlace& place, const View& view, const std::string& name, Buffer& buffer) {
  const auto cannot = [&](std::string_view why) {
    throw UsageError(fmt::format("--place {}: {}", base::quoted(name), why));
  };
  if (!buffer.memories.empty() && buffer.memories != std::vector{place.memory})
    cannot("it shares bytes with a tensor that shall be in another memory");
  buffer.memories = {place.memory};
  if (!place.offset) return;
  const Bytes offset = *place.offset - view.offset;
  if (offset < 0 || offset % buffer.alignment != 0)
    cannot(fmt::format("its buffer cannot begin at {}, expected a multiple of {}", offset, buffer.alignment));
  if (buffer.pinned && *buffer.pinned != offset)
    cannot("it shares bytes with a tensor that shall be elsewhere");
  buffer.pinned = offset;
}

}  // namespace

std::vector<Memory> working_memories(const PlanOptions& options) {
  std::vector<Memory> working;
  std::ranges::copy_if(options.memories, std::back_inserter(working),
                       [](const Memory& memory) { return memory.role == MemoryRole::working; });
  if (working.empty()) working.push_back({.name = "arena"});
  return working;
}

std::vector<GivenPlace> places_of(std::span<const Input> inputs, std::size_t model,
                                  const PlanOptions& options) {
  if (options.places.empty()) return {};
  const Graph& graph = std::get<Graph>(inputs[model].content);
  const std::vector<Memory> working = working_memories(options);
  std::vector<GivenPlace> places;
  std::set<TensorId> placed;
  for (const TensorPlace& it : options.places) {
    const std::size_t memory = memory_called(it.memory, working);
    const std::string name = name_in(it.tensor, inputs, model);
    if (name.empty()) continue;
    const auto tensor = std::ranges::find(graph.tensors, name, &Tensor::name);
    if (tensor == graph.tensors.end()) {
      std::vector<std::string> names;
      for (const Tensor& known : graph.tensors) names.push_back(known.name);
      throw UsageError(fmt::format("--place: the model has no tensor {}{}", base::quoted(name),
                                   base::did_you_mean(name, names)));
    }
    const auto id = static_cast<TensorId>(tensor - graph.tensors.begin());
    if (!placed.insert(id).second)
      throw UsageError(fmt::format("--place {}: is given twice", base::quoted(name)));
    places.push_back({id, memory, it.offset});
  }
  return places;
}

void assign_places(std::span<const GivenPlace> places, std::span<const PlannedTensor> tensors,
                   std::span<Buffer> buffers) {
  for (const GivenPlace& place : places) {
    const PlannedTensor& tensor = tensors[place.tensor];
    for (const View& view : tensor.views) assign_place(place, view, tensor.tensor.name, buffers[view.buffer]);
  }
}

void expect_placed(std::span<const GivenPlace> places, std::span<const PlannedTensor> tensors,
                   std::span<const Buffer> buffers) {
  for (const GivenPlace& place : places) {
    const PlannedTensor& tensor = tensors[place.tensor];
    if (tensor.views.empty())
      throw UsageError(
          fmt::format("--place {}: the tensor has no bytes in the plan: it is a {}, or nothing reads it",
                      base::quoted(tensor.tensor.name), name_of(tensor.tensor.kind)));
    if (place.offset && buffers[tensor.views[0].buffer].clock != 0)
      throw UsageError(
          fmt::format("--place {}: its model runs beside others, so that only a memory can be given",
                      base::quoted(tensor.tensor.name)));
  }
}

}  // namespace stowage::plan
