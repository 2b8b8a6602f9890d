// The scratch memory that kernels of C need, as a part of the network: then plans have room for it.
//
// Cost: a look at each operator.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generate/cmsis_nn.h"
#include "generate/detection.h"
#include "generate/fourier.h"
#include "generate/recurrent.h"
#include "generate/windows.h"
#include "import/readers.h"
#include "kernels/kernel.h"
#include "run/program.h"
#include "stowage/generate.h"

namespace stowage {
namespace {

/// Operators whose own kernels may need some.
const std::map<std::string_view, Bytes (*)(const kernels::Signature&)>& askers() {
  static const std::map<std::string_view, Bytes (*)(const kernels::Signature&)> all{
      {"CONV_2D", generate::hybrid_scratch},
      {"DEPTHWISE_CONV_2D", generate::hybrid_scratch},
      {"RFFT2D", generate::fourier_scratch},
      {"TFLite_Detection_PostProcess", generate::detection_scratch}};
  return all;
}

Bytes scratch_of(const Operator& op, const kernels::Signature& signature, CKernels kernels, bool by_rows) {
  if (generate::is_recurrent(op.type)) return generate::recurrent_scratch(op.type, signature);
  const auto own = askers().find(op.type);
  const Bytes bytes = own == askers().end() ? 0 : own->second(signature);
  return bytes > 0 ? bytes : generate::cmsis_nn_scratch(op, signature, kernels, by_rows);
}

/// Whether a portable kernel may need some: of convolutions those of real numbers by weights of int8.
bool may_ask(const Graph& graph, const Operator& op) {
  const auto dtype_of = [&](std::size_t i) {
    return i < op.inputs.size() && op.inputs[i] ? graph.tensors[*op.inputs[i]].dtype : DType::unknown;
  };
  const bool is_convolution = op.type.ends_with("CONV_2D");
  const bool is_hybrid = dtype_of(0) == DType::float32 && dtype_of(1) == DType::int8;
  return generate::is_recurrent(op.type) || (askers().contains(op.type) && (!is_convolution || is_hybrid));
}

}  // namespace

void add_scratch_of_kernels(Network& network, CKernels kernels, bool by_rows,
                            const std::vector<std::string>& externs) {
  if (network.graph().subgraphs.empty()) return;
  const std::vector<Operator>& operators = network.graph().subgraphs[0].operators;
  const auto needs_none = [&](const Operator& op) {
    return op.folded || (kernels == CKernels::portable && !may_ask(network.graph(), op)) ||
           std::ranges::find(externs, op.type) != externs.end();
  };
  if (std::ranges::all_of(operators, needs_none)) return;
  std::vector<std::string> types;  // that need no kernels, since nothing is run
  for (const Subgraph& subgraph : network.graph().subgraphs)
    for (const Operator& op : subgraph.operators) types.push_back(op.type);
  const run::Program program = run::make_program(network, {.kernels = KernelSet::plain}, types);
  std::vector<ScratchRequest> requests;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    if (needs_none(operators[o])) continue;
    try {
      const kernels::Signature signature = run::signature_of(network, program, 0, o);
      const Bytes bytes = scratch_of(operators[o], signature, kernels, by_rows);
      if (bytes > 0) requests.push_back({0, o, bytes});
    } catch (const kernels::Unsupported&) {  // it has no kernel, which is said later
    }
  }
  import::add_scratch(std::get<Graph>(network.input.content), requests);
  network.quantizations.resize(network.graph().tensors.size());
}

}  // namespace stowage
