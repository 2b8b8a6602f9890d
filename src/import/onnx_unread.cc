// A size stays open if the numbers that it is computed from are in a file that is missing or too short. Who plans
// does not miss the data of ordinary weights, so only a tensor that has no size asks for a reason: what it is
// computed from is searched backward, the nearest first. Cost: linear in the operands of the network.

#include "import/onnx_unread.h"

#include <fmt/format.h>

#include <deque>
#include <string>
#include <vector>

#include "import/onnx_values.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

struct Writer {
  const Operator* op = nullptr;
  const wire::NodeProto* node = nullptr;
};

std::vector<Writer> writers_of(const OnnxGraph& model) {
  std::vector<Writer> writers(model.graph.tensors.size());
  for (std::size_t s = 0; s < model.graph.subgraphs.size(); ++s) {
    const auto& operators = model.graph.subgraphs[s].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      for (const auto& output : operators[o].outputs) {
        if (output) writers[*output] = {&operators[o], model.nodes[s][o]};
      }
    }
  }
  return writers;
}

/// Why the data of a tensor cannot be read; empty if it can.
std::string fault_of_data(const wire::TensorProto* tensor, NearbyFiles& files, const std::string& place) {
  if (tensor == nullptr || !tensor->is_external) return {};
  try {
    static_cast<void>(external_data(*tensor, files, place));
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::string unread_data_behind(const OnnxGraph& model, TensorId t, NearbyFiles& files) {
  const std::vector<Writer> writers = writers_of(model);
  std::vector<bool> is_seen(writers.size(), false);
  std::deque<TensorId> next{t};
  is_seen[t] = true;
  for (; !next.empty(); next.pop_front()) {
    const TensorId at = next.front();
    const auto [op, node] = writers[at];
    const bool is_constant = op != nullptr && node->op_type == "Constant";
    const wire::TensorProto* const data = is_constant ? value_in(*node) : model.initializers[at];
    const std::string fault = fault_of_data(data, files, describe(model.graph, at));
    if (!fault.empty()) return fmt::format("; this may be why: {}", fault);
    if (op == nullptr) continue;
    for (const auto& input : op->inputs) {
      if (!input || is_seen[*input]) continue;
      is_seen[*input] = true;
      next.push_back(*input);
    }
  }
  return {};
}

}  // namespace stowage::import
