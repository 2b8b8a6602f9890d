#include "import/onnx_read.h"

#include <algorithm>
#include <utility>

namespace stowage::import {

SharedReading& OnnxModel::shared() {
  if (shared_ == nullptr)
    shared_ = std::make_unique<SharedReading>(std::as_const(graph_), file_->versions, file_->folder);
  return *shared_;
}

void OnnxModel::take(std::vector<DecidedIf> decided) {
  taken_.push_back(std::move(decided));
  resolve();
}

void OnnxModel::take_none() {
  if (taken_.empty()) return;
  taken_.clear();
  resolve();
}

void OnnxModel::resolve() {
  shared_.reset();
  graph_ = resolve_names(*file_->proto.graph);
  for (const auto& decided : taken_) import::take_branches(graph_, decided);
}

std::optional<Inferred> OnnxModel::take_known_branches(const ImportOptions& options, const Reading& reading) {
  for (;;) {
    Inferred inferred = infer(options, reading);
    if (inferred.are_rounds_unlike) return std::nullopt;
    if (inferred.decided.empty()) return inferred;
    if (inferred.is_drawn && !reading.leaves_sizes_open) return std::nullopt;
    take(std::move(inferred.decided));
  }
}

std::optional<Inferred> OnnxModel::take_sure_branches(const ImportOptions& options, Reading reading) {
  for (const bool in_rounds : {true, false}) {
    reading.takes_branches_of_rounds = in_rounds;
    if (auto inferred = take_known_branches(options, reading)) return inferred;
    take_none();
  }
  return std::nullopt;
}

void write_sizes(SharedReading& shared, const Inferred& inferred, Graph& graph) {
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    Tensor& tensor = graph.tensors[t];
    const SizeOfType& it = shared.size_of(inferred.types.number(t));
    tensor.dtype = it.dtype;
    tensor.shape = it.size->shape;
    tensor.bytes = it.size->bytes;
    if (inferred.folding.constants[t]) tensor.kind = TensorKind::weight;
  }
  for (const auto& [t, bytes] : inferred.bounded) {
    graph.tensors[t].shape.reset();
    graph.tensors[t].bytes = bytes;
  }
  for (const auto& [t, elements] : inferred.elements) graph.tensors[t].value = elements;
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    std::vector<Operator>& operators = graph.subgraphs[s].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) operators[o].folded = inferred.folding.operators[s][o];
  }
}

bool has_branches(const Graph& graph) {
  return std::ranges::any_of(graph.subgraphs, [](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.operators, [](const Operator& op) { return op.type == "If"; });
  });
}

}  // namespace stowage::import
