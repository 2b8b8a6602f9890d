#include "facts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace stowage::campaign {

std::optional<RowLayout> RowLayout::of(const Tensor& tensor, std::size_t axis) {
  if (!tensor.shape || axis >= tensor.shape->size()) return std::nullopt;
  std::int64_t outer = 1;
  std::int64_t behind = 1;
  for (std::size_t a = 0; a < tensor.shape->size(); ++a) {
    if (a < axis) outer *= (*tensor.shape)[a];
    if (a > axis) behind *= (*tensor.shape)[a];
  }
  const std::optional<int> bits = bits_of(tensor.dtype);
  if (!bits || behind * *bits % 8 != 0 || behind == 0) return std::nullopt;
  return RowLayout(outer, (*tensor.shape)[axis], behind * *bits / 8);
}

Names::Names(std::span<const Graph> graphs, const Plan& plan, std::span<const Constants> constants,
             KeptRows kept_rows)
    : graphs_(graphs), constants_(constants), kept_rows_(kept_rows) {
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    const Graph& graph = graphs[m];
    origins_.emplace_back(graph.tensors.size());
    fed_by_.emplace_back(graph.tensors.size());
    names_.emplace_back(graph.tensors.size());
    is_known_.emplace_back(graph.tensors.size(), false);
    for (std::size_t s = 0; s < graph.subgraphs.size(); ++s)
      for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
        const Operator& op = graph.subgraphs[s].operators[o];
        for (std::size_t k = 0; k < op.outputs.size(); ++k)
          if (op.outputs[k]) origins_[m][*op.outputs[k]] = {s, Origin{.op = o, .output = k}};
      }
  }
  std::map<std::size_t, std::pair<std::size_t, TensorId>> tensors;
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    const auto places = places_in_plan(graphs[m], m, plan);
    for (TensorId t = 0; t < places.size(); ++t)
      if (places[t]) tensors[*places[t]] = {m, t};
  }
  for (const Feed& feed : plan.feeds) {
    const auto [model, input] = tensors.at(feed.input);
    fed_by_[model][input] = tensors.at(feed.output);
  }
  for (std::size_t m = 0; m < graphs.size(); ++m)
    for (TensorId t = 0; t < graphs[m].tensors.size(); ++t) follow(m, t);
}

void Names::follow(std::size_t model, TensorId tensor) {
  if (is_known_[model][tensor]) return;
  is_known_[model][tensor] = true;
  const Graph& graph = graphs_[model];
  std::vector<ByteName> names(static_cast<std::size_t>(graph.tensors[tensor].bytes));
  if (const auto& writer = fed_by_[model][tensor]) {
    follow(writer->first, writer->second);
    names_[model][tensor] = names_[writer->first][writer->second];
    return;
  }
  const auto [first_model, first] = first_like(model, tensor);
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] =
        (static_cast<ByteName>(first_model + 1) << 56U) + (static_cast<ByteName>(first + 1) << 32U) + i;
  if (const auto& origin = origins_[model][tensor]) {
    const Operator& op = graph.subgraphs[origin->first].operators[origin->second.op];
    for (const auto& input : op.inputs)
      if (input) follow(model, *input);
    if (kept_rows_ == KeptRows::followed) follow_rows(model, op, origin->second.output, names);
    follow_copies(model, op, origin->second.output, names);
  }
  names_[model][tensor] = std::move(names);
}

std::pair<std::size_t, TensorId> Names::first_like(std::size_t model, TensorId tensor) const {
  const Tensor& own = graphs_[model].tensors[tensor];
  if (constants_.empty() || !is_constant(own.kind)) return {model, tensor};
  const std::span<const std::byte> data = constants_[model].of(tensor);
  for (std::size_t m = 0; m < graphs_.size() && !data.empty(); ++m)
    for (TensorId t = 0; t < graphs_[m].tensors.size(); ++t) {
      const std::span<const std::byte> other = constants_[m].of(t);
      if (graphs_[m].tensors[t].kind == own.kind &&
          std::equal(data.begin(), data.end(), other.begin(), other.end()))
        return {m, t};
    }
  return {model, tensor};
}

void Names::follow_copies(std::size_t model, const Operator& op, std::size_t output,
                          std::vector<ByteName>& names) {
  for (const ByteCopy& copy : op.copies) {
    if (copy.output != output) continue;
    const std::vector<ByteName>& source = names_[model][*op.inputs[copy.input]];
    std::copy_n(source.begin() + copy.from, copy.size, names.begin() + copy.to);
  }
}

/// `kept_at`: the one row that is read comes back unchanged in the row of the output.
void Names::follow_rows(std::size_t model, const Operator& op, std::size_t output,
                        std::vector<ByteName>& names) {
  const Graph& graph = graphs_[model];
  for (const RowAxis& axis : op.row_axes) {
    const auto to = RowLayout::of(graph.tensors[*op.outputs[output]], axis.axis);
    if (!to || output != 0) continue;
    for (const RowRead& read : axis.reads) {
      if (!read.kept_at) continue;
      const auto from = RowLayout::of(graph.tensors[*op.inputs[read.input]], read.axis);
      if (!from) continue;
      const std::vector<ByteName>& source = names_[model][*op.inputs[read.input]];
      for (std::int64_t row = 0; row < to->rows(); ++row)
        for_each_row(read.rows, from->rows(), row, [&](std::int64_t of) {
          for (Bytes at = 0; at < from->row_bytes(); ++at)
            names[static_cast<std::size_t>(to->byte_of(row, *read.kept_at + at))] =
                source[static_cast<std::size_t>(from->byte_of(of, at))];
        });
    }
  }
}

std::vector<std::int64_t> rows_read(const RowMap& map, std::int64_t rows, std::int64_t begin,
                                    std::int64_t end) {
  std::set<std::int64_t> found;
  for (std::int64_t row = begin; row < end; ++row)
    for (std::int64_t k = 0; k < map.taps; ++k) {
      const std::int64_t dividend = map.scale * row + map.offset;
      std::int64_t first = dividend / map.divisor;
      if (first * map.divisor > dividend) --first;
      const std::int64_t read = first + k * map.dilation;
      if (read >= 0 && read < rows) found.insert(read);
    }
  return {found.begin(), found.end()};
}

bool only_copies(const Graph& graph, const Operator& op) {
  if (op.copies.empty()) return false;
  Bytes written = 0;
  for (const auto& output : op.outputs)
    if (output) written += graph.tensors[*output].bytes;
  Bytes copied = 0;
  for (const ByteCopy& copy : op.copies)
    if (op.outputs[copy.output]) copied += copy.size;
  return written == copied;
}

bool is_elementwise(const Graph& graph, const Operator& op, std::size_t input) {
  static const std::set<std::string> unary{
      "Relu",      "Sigmoid",     "Tanh",  "Neg",  "Abs",      "Clip", "LeakyRelu",
      "HardSwish", "HardSigmoid", "Exp",   "Sqrt", "Erf",      "Elu",  "Softplus",
      "Ceil",      "Floor",       "Round", "Selu", "Identity", "Cast", "BatchNormalization",
      "RELU",      "LOGISTIC",    "TANH",  "NEG",  "EXP"};
  static const std::set<std::string> several{"Add",  "Mul",   "Sub", "Div", "Sum", "Max", "Min",
                                             "Mean", "PRelu", "Pow", "ADD", "MUL", "SUB"};
  const bool is_unary = unary.contains(op.type) && input == 0;
  const bool is_several = several.contains(op.type) && input < 2;
  if ((!is_unary && !is_several) || op.outputs.empty() || !op.outputs[0] || !op.inputs[input]) return false;
  const Tensor& from = graph.tensors[*op.inputs[input]];
  const Tensor& to = graph.tensors[*op.outputs[0]];
  if (!from.shape || !to.shape || from.bytes != to.bytes) return false;
  const auto elements = [](const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
  };
  return elements(*from.shape) == elements(*to.shape) && bits_of(from.dtype) == bits_of(to.dtype);
}

std::vector<std::optional<std::size_t>> places_in_plan(const Graph& graph, std::size_t model,
                                                       const Plan& plan) {
  std::map<std::string, std::size_t> named;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    if (plan.tensors[i].model == model) named.emplace(plan.tensors[i].tensor.name, i);
  std::vector<std::optional<std::size_t>> places(graph.tensors.size());
  for (TensorId t = 0; t < graph.tensors.size(); ++t)
    if (const auto found = named.find(graph.tensors[t].name); found != named.end()) places[t] = found->second;
  return places;
}

}  // namespace stowage::campaign
