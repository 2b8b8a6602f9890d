// The scratch memory that kernels of C need, as a part of the network: then plans have room for it.
//
// Cost: a look at each operator.

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generate/cmsis_nn.h"
#include "generate/fourier.h"
#include "generate/recurrent.h"
#include "import/readers.h"
#include "kernels/kernel.h"
#include "run/program.h"
#include "stowage/generate.h"

namespace stowage {
namespace {

Bytes scratch_of(const Operator& op, const kernels::Signature& signature, CKernels kernels, bool by_rows) {
  if (op.type == "RFFT2D") return generate::fourier_scratch(signature);
  if (generate::is_recurrent(op.type)) return generate::recurrent_scratch(op.type, signature);
  return generate::cmsis_nn_scratch(op, signature, kernels, by_rows);
}

bool has_own_scratch(std::string_view type) { return type == "RFFT2D" || generate::is_recurrent(type); }

}  // namespace

void add_scratch_of_kernels(Network& network, CKernels kernels, bool by_rows,
                            const std::vector<std::string>& externs) {
  if (network.graph().subgraphs.empty()) return;
  const std::vector<Operator>& operators = network.graph().subgraphs[0].operators;
  const auto needs_none = [&](const Operator& op) {
    return op.folded || (kernels == CKernels::portable && !has_own_scratch(op.type)) ||
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
