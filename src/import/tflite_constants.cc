// Converters store weights in a smaller form, and operators that give them back: DEQUANTIZE makes float32 of float16
// or of integers, DENSIFY a dense tensor of a sparse one. Their results never change, so they are weights: no step
// makes them, and no arena has them.
//
//     w float16, sparse -> DENSIFY -> d float16 -> DEQUANTIZE -> r float32 -> CONV_2D
//
// Where all sizes are given, so are the results of SHAPE and of what is computed from them.
//
// Constants can be compared without computing them: `d` has the bytes of `w`, `r` a recipe.

#include "import/tflite_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "import/flatbuffer.h"
#include "import/recipes.h"
#include "import/tflite_sparse.h"
#include "operators/facts.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr Bytes largest_expanded = Bytes{1} << 30;  // of all sparse constants of a file

/// What makes results of one type of operator differ, besides the inputs' types: scales, bit by bit.
std::string quantization_in_words(const tflite::Tensor& tensor, ReadingBudget& budget) {
  const tflite::QuantizationParameters* const it = tensor.quantization();
  if (it == nullptr) return "-";
  budget.spend(count(it->scale()) * sizeof(float) + count(it->zero_point()) * sizeof(std::int64_t));
  std::string text = fmt::format("{} {}", it->details_type(), it->quantized_dimension());
  for (std::size_t i = 0; i < count(it->scale()); ++i)
    text += fmt::format(" {:x}", std::bit_cast<std::uint32_t>((*it->scale())[static_cast<unsigned>(i)]));
  for (std::size_t i = 0; i < count(it->zero_point()); ++i)
    text += fmt::format(" {}", (*it->zero_point())[static_cast<unsigned>(i)]);
  return text;
}

bool makes_constant(const Operator& op) { return op.folded && !op.outputs.empty(); }

class ConstantReader {
 public:
  ConstantReader(const TfliteFile& file, const Graph& graph, const KnownResults& known)
      : file_(file),
        graph_(graph),
        known_(known),
        budget_(file.bytes().size()),
        is_computed_(graph.tensors.size(), false) {
    for (const Subgraph& subgraph : graph.subgraphs)
      for (const Operator& op : subgraph.operators)
        if (makes_constant(op)) is_computed_[*op.outputs[0]] = true;
    for (const auto& [t, value] : known) is_computed_[t] = true;
  }

  Constants read() {
    TensorId first = 0;
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) {
      const tflite::SubGraph& subgraph = at(file_.model().subgraphs(), s);
      for (std::size_t t = 0; t < count(subgraph.tensors()); ++t)
        located([&] { read_tensor(at(subgraph.tensors(), t), first + t); },
                [&] { return describe(graph_, first + t); });
      for (std::size_t o = 0; o < graph_.subgraphs[s].operators.size(); ++o)
        if (makes_constant(graph_.subgraphs[s].operators[o])) read_result(s, o, first);
      first += count(subgraph.tensors());
    }
    for (const auto& [t, value] : known_) constants_.set(t, bytes_of(value));
    constants_.hold(file_.holder());
    return std::move(constants_);
  }

 private:
  void read_tensor(const tflite::Tensor& source, TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    const bool is_state = tensor.kind == TensorKind::state;
    if (is_computed_[id]) return;
    if (!is_state && tensor.kind != TensorKind::weight && tensor.kind != TensorKind::instruction) return;
    if (source.external_buffer() != 0)
      throw Error("", "has its data in another file, expected it in this one");
    const std::string_view stored = stored_data(file_.model(), file_.bytes(), source);
    if (is_state && stored.empty()) return;
    budget_.spend(stored.size());
    if (source.sparsity() != nullptr) {
      if (tensor.bytes > unexpanded_)
        throw Error("", fmt::format("is sparse and has {} bytes, expected at most {} of all sparse tensors",
                                    tensor.bytes, largest_expanded));
      unexpanded_ -= tensor.bytes;
      constants_.set(id, expanded(*source.sparsity(), stored, tensor, budget_));
      return;
    }
    if (static_cast<Bytes>(stored.size()) != tensor.bytes)
      throw Error("", fmt::format("has {} bytes of data, expected {}", stored.size(), tensor.bytes));
    constants_.set(id, std::as_bytes(std::span(stored)));
  }

  void read_result(std::size_t s, std::size_t o, TensorId first) {
    const Operator& op = graph_.subgraphs[s].operators[o];
    if (known_.contains(*op.outputs[0])) return;
    const TensorId input = *op.inputs[0];
    const TensorId output = *op.outputs[0];
    const Tensor& from = graph_.tensors[input];
    const Tensor& to = graph_.tensors[output];
    if (op.type == "DENSIFY" && from.dtype == to.dtype && from.bytes == to.bytes) {
      constants_.set_same(output, input);
      return;
    }
    const tflite::SubGraph& subgraph = at(file_.model().subgraphs(), s);
    const tflite::OperatorCode& code =
        at(file_.model().operator_codes(), at(subgraph.operators(), o).opcode_index());
    const auto type = type_in_words(from);
    const auto result = type_in_words(to);
    if (!type || !result) return;
    constants_.set_recipe(output,
                          {fmt::format("{} {} {} {} {}", op.type, code.version(), *type, *result,
                                       quantization_in_words(at(subgraph.tensors(), input - first), budget_)),
                           op.inputs});
  }

  const TfliteFile& file_;
  const Graph& graph_;
  const KnownResults& known_;
  ReadingBudget budget_;
  std::vector<bool> is_computed_;  // by tensor
  Bytes unexpanded_ = largest_expanded;
  Constants constants_{};
};

}  // namespace

void fold_decoders(Graph& graph) {
  for (Subgraph& subgraph : graph.subgraphs) {
    const std::unordered_set<TensorId> results(subgraph.outputs.begin(), subgraph.outputs.end());
    for (Operator& op : subgraph.operators) {
      const auto* const facts = operators::find_facts(operators::Format::tflite, op.type);
      if (facts == nullptr || !facts->decodes || op.stateful) continue;
      if (op.inputs.size() != 1 || op.outputs.size() != 1 || !op.inputs[0] || !op.outputs[0]) continue;
      Tensor& result = graph.tensors[*op.outputs[0]];
      if (graph.tensors[*op.inputs[0]].kind != TensorKind::weight || result.kind != TensorKind::temporary)
        continue;
      if (results.contains(*op.outputs[0])) continue;
      op.folded = true;
      result.kind = TensorKind::weight;
    }
  }
}

void fold_known(Graph& graph, KnownResults& known) {
  KnownResults folded;
  for (Subgraph& subgraph : graph.subgraphs) {
    const std::unordered_set<TensorId> results(subgraph.outputs.begin(), subgraph.outputs.end());
    const auto is_known = [&](const std::optional<TensorId>& output) {
      if (!output) return true;
      const Tensor& tensor = graph.tensors[*output];
      const auto value = known.find(*output);
      return value != known.end() && tensor.kind == TensorKind::temporary && !results.contains(*output) &&
             static_cast<Bytes>(bytes_of(value->second).size()) == tensor.bytes;
    };
    for (Operator& op : subgraph.operators) {
      if (op.stateful || !op.bodies.empty() || op.outputs.empty() || !op.outputs[0]) continue;
      if (!std::ranges::all_of(op.outputs, is_known)) continue;
      op.folded = true;
      for (const auto& output : op.outputs) {
        if (!output) continue;
        graph.tensors[*output].kind = TensorKind::weight;
        folded.insert(known.extract(*output));
      }
    }
  }
  known = std::move(folded);
}

Constants constants_of(const TfliteFile& file, const ReadGraph& read) {
  Constants constants = ConstantReader(file, read.graph, read.known).read();
  for (const auto& [state, constant] : read.first_values) constants.set_same(state, constant);
  return constants;
}

}  // namespace stowage::import
