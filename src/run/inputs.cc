#include "run/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "base/text.h"
#include "run/random.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// An input or state of a model, and what it may be called.
struct Provided {
  std::size_t model = 0;
  TensorId tensor = 0;
  std::string name{};
  std::string qualified{};  ///< MODEL.TENSOR
};

std::vector<Provided> provided_by_caller(std::span<const Network* const> networks) {
  std::vector<Provided> provided;
  for (std::size_t m = 0; m < networks.size(); ++m) {
    const Graph& graph = networks[m]->graph();
    std::set<TensorId> seen;
    const auto add = [&](TensorId t) {
      const Tensor& tensor = graph.tensors[t];
      if (tensor.kind != TensorKind::weight && seen.insert(t).second)
        provided.push_back({m, t, tensor.name, networks[m]->input.info.name + "." + tensor.name});
    };
    for (const TensorId input : graph.subgraphs[0].inputs) add(input);
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].kind == TensorKind::state) add(t);
    }
  }
  return provided;
}

/// The tensors that a name stands for: of one model.
std::vector<Provided> named(const std::string& name, const std::vector<Provided>& all, bool is_alone) {
  std::vector<Provided> found;
  std::set<std::size_t> models;
  std::set<std::string> names;
  for (const Provided& it : all) {
    names.insert(is_alone ? it.name : it.qualified);
    if (it.name != name && it.qualified != name) continue;
    found.push_back(it);
    models.insert(it.model);
  }
  if (found.empty()) {
    throw UsageError(fmt::format("--input {}: {} no such input, expected one of {}", base::quoted(name),
                                 is_alone ? "the network has" : "the networks have", fmt::join(names, ", ")));
  }
  if (models.size() > 1) {
    names.clear();
    for (const Provided& it : found) names.insert(it.qualified);
    throw UsageError(fmt::format("--input {}: several models have it, expected one of {}", base::quoted(name),
                                 fmt::join(names, ", ")));
  }
  return found;
}

void expect_fit(const Tensor& tensor, const std::string& name, const Array& array) {
  if (array.dtype == tensor.dtype && (!tensor.shape || array.shape == *tensor.shape) &&
      static_cast<Bytes>(array.data.size()) == tensor.bytes)
    return;
  throw UsageError(fmt::format("--input {}: is {}[{}], expected {}[{}]", base::quoted(name),
                               name_of(array.dtype), fmt::join(array.shape, ","), name_of(tensor.dtype),
                               fmt::join(tensor.shape.value_or(Shape{}), ",")));
}

/// The tensors that other models feed.
std::set<std::pair<std::size_t, TensorId>> fed_tensors(std::span<const Network* const> networks,
                                                       const Plan& plan) {
  std::vector<std::size_t> bases;
  std::size_t base = 0;
  for (const Network* const network : networks) {
    bases.push_back(base);
    base += network->graph().tensors.size();
  }
  std::set<std::pair<std::size_t, TensorId>> fed;
  for (const Feed& feed : plan.feeds) {
    if (feed.input >= base) continue;  // such a plan is found to be wrong when it is run
    const auto after = std::ranges::upper_bound(bases, feed.input);
    const auto model = static_cast<std::size_t>(after - bases.begin()) - 1;
    fed.emplace(model, feed.input - bases[model]);
  }
  return fed;
}

}  // namespace

GivenInputs given_inputs(std::span<const Network* const> networks, const Plan& plan,
                         const RunOptions& options) {
  GivenInputs given;
  if (options.inputs.empty()) return given;
  const std::vector<Provided> all = provided_by_caller(networks);
  const auto fed = fed_tensors(networks, plan);
  for (const auto& [name, array] : options.inputs) {
    for (const Provided& it : named(name, all, networks.size() == 1)) {
      if (fed.contains({it.model, it.tensor}))
        throw UsageError(fmt::format("--input {}: another model feeds it", base::quoted(name)));
      expect_fit(networks[it.model]->graph().tensors[it.tensor], name, array);
      if (!given.emplace(std::pair(it.model, it.tensor), &array).second)
        throw UsageError(fmt::format("--input is given twice for {}", base::quoted(it.qualified)));
    }
  }
  return given;
}

std::vector<std::byte> value_of(const Network& network, TensorId tensor, const Array* given,
                                std::uint64_t seed) {
  if (given != nullptr) return given->data;
  const Tensor& it = network.graph().tensors[tensor];
  const std::span<const std::byte> stored = network.input.constants.of(tensor);
  if (it.kind == TensorKind::state && !stored.empty()) return {stored.begin(), stored.end()};
  std::vector<std::byte> bytes(static_cast<std::size_t>(it.bytes));
  if (it.kind != TensorKind::state) fill_random_input(bytes, it.dtype, it.name, seed);
  return bytes;
}

}  // namespace stowage::run
