// Operators between DequantizeLinear and QuantizeLinear become operators on integers.
//
//     x -> DequantizeLinear -> Conv -> Relu -> QuantizeLinear -> y
//     w -> DequantizeLinear ---^                                        x, w -> QLinearConv -> y
//
// Such files describe integer networks in terms of real ones. onnxruntime joins these groups when it loads a
// model, and so its tensors have a byte for each element, not four. The same is done here, before anything is planned:
// products, sums, means and functions become QLinearConv, QLinearMatMul and onnxruntime's QGemm, QLinearAdd, QLinearMul,
// QLinearAveragePool, QLinearGlobalAveragePool, QLinearReduceMean, QLinearConcat, QLinearSigmoid and QLinearLeakyRelu, or
// our QLinearSub; operators that only move or choose elements run on the integers themselves, and Requantize behind them
// brings their results to another scale or zero point. Relu or Clip in front of QuantizeLinear disappears if it cuts off
// nothing but what the type of the output cuts off. Results may differ from those of the real operators by one step of
// the output, where a sum lies between two.
//
// Only the operator's own result may be left out: a real tensor that something else reads stays. Cost: linear.

#include "import/onnx_quantized.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/onnx_values.h"
#include "operators/facts.h"

namespace stowage::import {
namespace {

using namespace std::string_view_literals;
using wire::NodeProto;
using wire::TensorProto;

/// A stored tensor with its scale and zero point.
struct Stored {
  std::string_view name{};
  std::string_view scale{};
  std::string_view zero{};
};

bool is_standard(const NodeProto& node) { return node.domain.empty() || node.domain == "ai.onnx"; }

bool is_byte(int elem_type) { return elem_type == element::int8 || elem_type == element::uint8; }

bool has_body(const NodeProto& node) {
  return std::ranges::any_of(node.attribute, [](const wire::AttributeProto& it) {
    return it.get<wire::AttributeProto::Graph>() != nullptr ||
           it.get<std::vector<wire::AttributeProto::Graph>>() != nullptr;
  });
}

std::int64_t integer_of(const NodeProto& node, std::string_view name, std::int64_t otherwise) {
  const auto* const value = wire::attribute_of<std::int64_t>(node, name);
  return value == nullptr ? otherwise : *value;
}

float real_of(const NodeProto& node, std::string_view name, float otherwise) {
  const auto* const value = wire::attribute_of<float>(node, name);
  return value == nullptr ? otherwise : *value;
}

class Joiner {
 public:
  Joiner(wire::ModelProto& model, NearbyFiles& files) : model_(model), graph_(*model.graph), files_(files) {
    for (const TensorProto& tensor : graph_.initializer) constants_.emplace(tensor.name, &tensor);
    for (std::size_t n = 0; n < graph_.node.size(); ++n) note(n);
    for (const wire::ValueInfoProto& output : graph_.output) ++readers_[output.name];
  }

  void run() {
    for (std::size_t n = 0; n < graph_.node.size(); ++n) {
      if (graph_.node[n].op_type == "QuantizeLinear") join(n);
    }
    insert_made();
    drop_unread();
    for (TensorProto& tensor : made_) graph_.initializer.push_back(std::move(tensor));
  }

 private:
  void note_results(std::size_t n) {
    for (const std::string_view output : graph_.node[n].output)
      if (!output.empty()) writers_.emplace(output, n);
  }

  void note(std::size_t n) {
    const NodeProto& node = graph_.node[n];
    note_results(n);
    for (const std::string_view input : node.input) ++readers_[input];
    if (node.op_type != "Constant" || !is_standard(node) || node.output.size() != 1) return;
    if (const TensorProto* const tensor = value_in(node)) constants_.emplace(node.output[0], tensor);
  }

  // Constants

  [[nodiscard]] const TensorProto* constant(std::string_view name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
  }
  [[nodiscard]] std::optional<Value> value(std::string_view name) const {
    const TensorProto* const tensor = constant(name);
    return tensor == nullptr ? std::nullopt : value_of(*tensor, files_);
  }
  /// Positive numbers of float32.
  [[nodiscard]] std::vector<double> scales(std::string_view name) const {
    const auto found = value(name);
    const bool is_fit = found && found->elem_type == element::float32 &&
                        std::ranges::all_of(found->reals, [](double x) { return x > 0 && std::isfinite(x); });
    return is_fit ? found->reals : std::vector<double>();
  }
  [[nodiscard]] std::optional<double> one_real(std::string_view name) const {
    const auto found = value(name);
    if (!found || !found->is_real() || found->size() != 1) return std::nullopt;
    return found->reals[0];
  }
  [[nodiscard]] bool is_equal(std::string_view a, std::string_view b) const {
    if (a == b) return true;
    const auto x = value(a), y = value(b);
    return x && y && x->elem_type == y->elem_type && x->size() == 1 && y->size() == 1 &&
           x->reals == y->reals && x->integers == y->integers;
  }

  std::string_view keep(std::string text) { return model_.made_names.emplace_back(std::move(text)); }

  /// A new constant of integers, encoded as numbers of a file are.
  std::string_view make(int elem_type, const Shape& shape, const std::vector<std::int64_t>& integers) {
    std::string bytes;
    for (const std::int64_t integer : integers) {
      auto rest = static_cast<std::uint64_t>(integer);
      for (; rest >= 0x80; rest >>= 7) bytes.push_back(static_cast<char>(0x80 | (rest & 0x7F)));
      bytes.push_back(static_cast<char>(rest));
    }
    TensorProto& tensor = made_.emplace_back();
    tensor.name = keep("stowage.quantized." + std::to_string(made_.size()));
    tensor.data_type = elem_type;
    tensor.dims = shape;
    tensor.int32_data.runs = {keep(std::move(bytes))};
    return tensor.name;
  }

  // Quantized tensors

  [[nodiscard]] const NodeProto* writer(std::string_view name) const {
    const auto found = writers_.find(name);
    return found == writers_.end() ? nullptr : &graph_.node[found->second];
  }

  /// What a real tensor is dequantized from.
  [[nodiscard]] const NodeProto* dequantized(std::string_view name) const {
    const NodeProto* const node = writer(name);
    const bool is_fit = node != nullptr && node->op_type == "DequantizeLinear" && is_standard(*node) &&
                        node->input.size() >= 2 && integer_of(*node, "block_size", 0) == 0;
    return is_fit ? node : nullptr;
  }

  [[nodiscard]] bool is_zero_of_one_byte(std::string_view name) const {
    const auto found = value(name);
    return found && is_byte(found->elem_type) && found->size() == 1;
  }

  /// Bytes with one scale and one zero point.
  [[nodiscard]] std::optional<Stored> stored(std::string_view name) const {
    const NodeProto* const node = dequantized(name);
    if (node == nullptr || node->input.size() < 3 || scales(node->input[1]).size() != 1 ||
        !is_zero_of_one_byte(node->input[2]))
      return std::nullopt;
    return Stored{node->input[0], node->input[1], node->input[2]};
  }

  /// Constant bytes with one scale, or one for each index along that axis.
  std::optional<Stored> weights(std::string_view name, std::int64_t axis) {
    const NodeProto* const node = dequantized(name);
    const TensorProto* const data = node == nullptr ? nullptr : constant(node->input[0]);
    if (data == nullptr || !is_byte(data->data_type)) return std::nullopt;
    const std::size_t count = scales(node->input[1]).size();
    const auto rank = static_cast<std::int64_t>(data->dims.size());
    const std::int64_t given = integer_of(*node, "axis", 1);
    const bool is_along = axis < rank && (given < 0 ? given + rank : given) == axis &&
                          static_cast<std::int64_t>(count) == data->dims[static_cast<std::size_t>(axis)];
    if (count == 0 || (count != 1 && !is_along)) return std::nullopt;
    Stored result{node->input[0], node->input[1], ""};
    if (node->input.size() > 2) result.zero = node->input[2];
    if (result.zero.empty()) {
      const Shape shape = count == 1 ? Shape{} : Shape{static_cast<std::int64_t>(count)};
      result.zero = make(data->data_type, shape, std::vector<std::int64_t>(count, 0));
    }
    return result;
  }

  /// The bias as int32 in units of the products; a name, or none if it cannot be.
  std::optional<std::string_view> bias(std::string_view name, const Stored& input, const Stored& filter) {
    if (name.empty()) return "";
    const NodeProto* const node = dequantized(name);
    const double unit = scales(input.scale).at(0);
    const std::vector<double> steps = scales(filter.scale);
    const auto step = [&](std::size_t i) {
      return static_cast<double>(static_cast<float>(unit) *
                                 static_cast<float>(steps[steps.size() == 1 ? 0 : i]));
    };
    if (node == nullptr) {
      const auto reals = value(name);
      if (!reals || reals->elem_type != element::float32 || reals->shape.size() != 1) return std::nullopt;
      return whole_bias(reals->reals, {1.0}, steps.size(), step);
    }
    const auto integers = value(node->input[0]);
    const std::vector<double> own = scales(node->input[1]);
    if (!integers || integers->elem_type != element::int32 || integers->shape.size() != 1 || own.empty())
      return std::nullopt;
    if (own.size() != 1 && own.size() != integers->size()) return std::nullopt;
    if (node->input.size() > 2 && !node->input[2].empty()) {
      const auto zero = value(node->input[2]);
      if (!zero || std::ranges::any_of(zero->integers, [](std::int64_t x) { return x != 0; }))
        return std::nullopt;
    }
    bool is_alike = true;
    constexpr double tolerance = 1e-5;
    for (std::size_t i = 0; i < integers->size(); ++i)
      is_alike &= std::abs(own[own.size() == 1 ? 0 : i] - step(i)) <= tolerance * step(i);
    if (is_alike) return node->input[0];
    return whole_bias(std::vector<double>(integers->integers.begin(), integers->integers.end()), own,
                      steps.size(), step);
  }

  template <typename Step>
  std::optional<std::string_view> whole_bias(const std::vector<double>& stored,
                                             const std::vector<double>& own, std::size_t steps,
                                             const Step& step) {
    if (steps != 1 && steps != stored.size()) return std::nullopt;
    std::vector<std::int64_t> integers;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const double number = std::nearbyint(stored[i] * own[own.size() == 1 ? 0 : i] / step(i));
      if (!(std::abs(number) < 2147483648.0)) return std::nullopt;
      integers.push_back(static_cast<std::int64_t>(number));
    }
    return make(element::int32, {static_cast<std::int64_t>(stored.size())}, integers);
  }

  // Groups

  /// Whether it cuts off only what is beyond the numbers of the output's type.
  [[nodiscard]] bool is_cut_off(const NodeProto& node, const Stored& output) const {
    const auto zero = value(output.zero);
    const double scale = scales(output.scale).at(0);
    const double least = zero->elem_type == element::int8 ? -128 : 0;
    const auto place = [&](double real) {
      return std::nearbyint(real / scale) + static_cast<double>(zero->integers[0]);
    };
    if (node.op_type == "Relu") return place(0) <= least;
    if (node.op_type != "Clip") return false;
    const auto limit = [&](std::size_t input, std::string_view attribute,
                           double otherwise) -> std::optional<double> {
      if (input < node.input.size() && !node.input[input].empty()) return one_real(node.input[input]);
      return static_cast<double>(real_of(node, attribute, static_cast<float>(otherwise)));
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto low = limit(1, "min", -infinity);
    const auto high = limit(2, "max", infinity);
    return low && high && place(*low) <= least && place(*high) >= least + 255;
  }

  [[nodiscard]] bool is_read_once(std::string_view name) const {
    const auto found = readers_.find(name);
    return found != readers_.end() && found->second == 1;
  }

  void join(std::size_t n) {
    const NodeProto& quantize = graph_.node[n];
    if (!is_standard(quantize) || quantize.input.size() < 3 || quantize.output.size() != 1) return;
    const Stored output{quantize.output[0], quantize.input[1], quantize.input[2]};
    if (scales(output.scale).size() != 1 || !is_zero_of_one_byte(output.zero) ||
        integer_of(quantize, "block_size", 0) != 0)
      return;
    std::string_view real = quantize.input[0];
    const NodeProto* node = is_read_once(real) ? writer(real) : nullptr;
    if (node != nullptr && is_standard(*node) && !node->input.empty() && is_cut_off(*node, output)) {
      real = node->input[0];
      node = is_read_once(real) ? writer(real) : nullptr;
    }
    if (node == nullptr || !is_standard(*node) || node->output.size() != 1 || node->input.empty()) return;
    if (auto joined = joined_of(*node, output)) {
      joined->name = node->name;
      joined->output = {output.name};
      graph_.node[n] = *std::move(joined);
    }
  }

  std::optional<NodeProto> joined_of(const NodeProto& node, const Stored& output) {
    const std::string_view type = node.op_type;
    if (type == "Conv") return convolution(node, output);
    if (type == "MatMul" && node.input.size() == 2) return product(node, output);
    if (type == "Gemm") return general_product(node, output);
    if ((type == "Add" || type == "Sub" || type == "Mul") && node.input.size() == 2)
      return pair(node, output);
    constexpr std::array of_one{"AveragePool"sv, "GlobalAveragePool"sv, "LeakyRelu"sv, "Sigmoid"sv};
    if (std::ranges::find(of_one, type) != of_one.end()) return function(node, output);
    if (type == "Relu") return relu(node, output);
    if (type == "ReduceMean") return mean(node, output);
    if (type == "Concat") return join_inputs(node, output);
    constexpr std::array moving{"MaxPool"sv,      "Slice"sv,        "Identity"sv,
                                "DepthToSpace"sv, "SpaceToDepth"sv, "Transpose"sv};
    const bool moves = operators::facts_of(type).facts.keeps == operators::Keeps::elements ||
                       std::ranges::find(moving, type) != moving.end();
    return moves ? moved(node, output) : std::nullopt;
  }

  std::string_view linear(const NodeProto& node) { return keep("QLinear" + std::string(node.op_type)); }

  static NodeProto made(const NodeProto& node, std::string_view type, std::string_view domain,
                        std::vector<std::string_view> inputs) {
    return {.op_type = type, .domain = domain, .input = std::move(inputs), .attribute = node.attribute};
  }

  std::optional<NodeProto> convolution(const NodeProto& node, const Stored& output) {
    const auto x = stored(node.input[0]);
    const auto w = node.input.size() > 1 && x ? weights(node.input[1], 0) : std::nullopt;
    const auto b = w ? bias(node.input.size() > 2 ? node.input[2] : "", *x, *w) : std::nullopt;
    if (!b) return std::nullopt;
    NodeProto it = made(node, "QLinearConv", "",
                        {x->name, x->scale, x->zero, w->name, w->scale, w->zero, output.scale, output.zero});
    if (!b->empty()) it.input.push_back(*b);
    return it;
  }

  /// Constant factors may have a scale for each column.
  std::optional<NodeProto> product(const NodeProto& node, const Stored& output) {
    const auto a = stored(node.input[0]);
    auto b = a ? stored(node.input[1]) : std::nullopt;
    if (a && !b) b = weights(node.input[1], 1);
    if (!b) return std::nullopt;
    return made(node, "QLinearMatMul", "",
                {a->name, a->scale, a->zero, b->name, b->scale, b->zero, output.scale, output.zero});
  }

  std::optional<NodeProto> general_product(const NodeProto& node, const Stored& output) {
    if (node.input.size() < 2 || integer_of(node, "transA", 0) != 0 || real_of(node, "alpha", 1) != 1 ||
        real_of(node, "beta", 1) != 1)
      return std::nullopt;
    const auto a = stored(node.input[0]);
    const auto b = a ? weights(node.input[1], integer_of(node, "transB", 0) != 0 ? 0 : 1) : std::nullopt;
    const auto c = b ? bias(node.input.size() > 2 ? node.input[2] : "", *a, *b) : std::nullopt;
    if (!c) return std::nullopt;
    NodeProto it =
        made(node, "QGemm", "com.microsoft",
             {a->name, a->scale, a->zero, b->name, b->scale, b->zero, *c, output.scale, output.zero});
    std::erase_if(it.attribute,
                  [](const wire::AttributeProto& attribute) { return attribute.name == "beta"; });
    return it;
  }

  std::optional<NodeProto> pair(const NodeProto& node, const Stored& output) {
    const auto a = stored(node.input[0]);
    const auto b = stored(node.input[1]);
    if (!a || !b || !has_type_of(*a, output) || !has_type_of(*b, output)) return std::nullopt;
    return made(node, linear(node), node.op_type == "Sub" ? own_domain : "com.microsoft",
                {a->name, a->scale, a->zero, b->name, b->scale, b->zero, output.scale, output.zero});
  }

  /// Of one input: QLinear and its name.
  std::optional<NodeProto> function(const NodeProto& node, const Stored& output) {
    const auto x = stored(node.input[0]);
    if (!x || !has_type_of(*x, output)) return std::nullopt;
    return made(node, linear(node), "com.microsoft", {x->name, x->scale, x->zero, output.scale, output.zero});
  }

  /// A leaky one that leaks nothing.
  std::optional<NodeProto> relu(const NodeProto& node, const Stored& output) {
    auto it = function(node, output);
    if (!it) return std::nullopt;
    it->op_type = "QLinearLeakyRelu";
    it->attribute = {{.name = "alpha", .value = 0.0F}};
    return it;
  }

  /// Its axes are an attribute, or a second input that becomes one.
  std::optional<NodeProto> mean(const NodeProto& node, const Stored& output) {
    auto it = function(node, output);
    const bool has_list = node.input.size() > 1 && !node.input[1].empty();
    const bool has_none = !has_list && wire::attribute_of<Shape>(node, "axes") == nullptr;
    if (has_none && integer_of(node, "noop_with_empty_axes", 0) != 0) return std::nullopt;  // nothing
    if (!it || !has_list) return it;
    const auto axes = value(node.input[1]);
    if (!axes || axes->integers.empty()) return std::nullopt;
    it->attribute.push_back({.name = "axes", .value = axes->integers});
    return it;
  }

  std::optional<NodeProto> join_inputs(const NodeProto& node, const Stored& output) {
    std::vector<std::string_view> plain;
    std::vector<std::string_view> scaled{output.scale, output.zero};
    bool is_alike = true;
    for (const std::string_view input : node.input) {
      const auto x = stored(input);
      if (!x || !has_type_of(*x, output)) return std::nullopt;
      plain.push_back(x->name);
      scaled.insert(scaled.end(), {x->name, x->scale, x->zero});
      is_alike &= is_equal(x->scale, output.scale) && is_equal(x->zero, output.zero);
    }
    return is_alike ? made(node, "Concat", "", std::move(plain))
                    : made(node, "QLinearConcat", "com.microsoft", std::move(scaled));
  }

  /// On the integers, and then to another scale or zero point if they differ. MaxPool chooses the same element: what is
  /// greater is so in both scales.
  std::optional<NodeProto> moved(const NodeProto& node, const Stored& output) {
    const auto x = stored(node.input[0]);
    if (!x || !has_type_of(*x, output)) return std::nullopt;
    std::vector<std::string_view> inputs = node.input;
    inputs[0] = x->name;
    NodeProto it = made(node, node.op_type, "", std::move(inputs));
    if (is_equal(x->scale, output.scale) && is_equal(x->zero, output.zero)) return it;
    it.name = node.name;
    it.output = {keep(std::string(output.name) + ".before_scaling")};
    NodeProto then{.op_type = "Requantize",
                   .domain = own_domain,
                   .input = {it.output[0], x->scale, x->zero, output.scale, output.zero}};
    made_before_.emplace(output.name, std::move(it));
    return then;
  }

  [[nodiscard]] bool has_type_of(const Stored& input, const Stored& output) const {
    return value(input.zero)->elem_type == value(output.zero)->elem_type;
  }

  /// Puts each operator that was made beside another one in front of that.
  void insert_made() {
    if (made_before_.empty()) return;
    std::vector<NodeProto> all;
    for (NodeProto& node : graph_.node) {
      const auto before = node.output.empty() ? made_before_.end() : made_before_.find(node.output[0]);
      if (before != made_before_.end()) all.push_back(std::move(before->second));
      all.push_back(std::move(node));
    }
    graph_.node = std::move(all);
    writers_.clear();
    for (std::size_t n = 0; n < graph_.node.size(); ++n) note_results(n);
  }

  /// Removes operators whose results nothing reads any more.
  void drop_unread() {
    std::unordered_map<std::string_view, int> readers;
    for (const wire::ValueInfoProto& output : graph_.output) ++readers[output.name];
    for (const NodeProto& node : graph_.node)
      for (const std::string_view input : node.input) ++readers[input];
    std::vector<std::size_t> unread;
    const auto note_unread = [&](std::size_t n) {
      const auto& outputs = graph_.node[n].output;
      const bool was_read =
          std::ranges::any_of(outputs, [&](std::string_view output) { return readers_.contains(output); });
      const bool is_read =
          std::ranges::any_of(outputs, [&](std::string_view output) { return readers[output] > 0; });
      if (was_read && !is_read) unread.push_back(n);
    };
    for (std::size_t n = 0; n < graph_.node.size(); ++n) note_unread(n);
    std::vector<bool> is_dropped(graph_.node.size(), false);
    while (!unread.empty()) {
      const std::size_t n = unread.back();
      unread.pop_back();
      if (is_dropped[n]) continue;
      is_dropped[n] = true;
      for (const std::string_view input : graph_.node[n].input) {
        const auto from = writers_.find(input);
        if (--readers[input] == 0 && from != writers_.end()) note_unread(from->second);
      }
    }
    std::vector<NodeProto> kept;
    for (std::size_t n = 0; n < graph_.node.size(); ++n)
      if (!is_dropped[n]) kept.push_back(std::move(graph_.node[n]));
    graph_.node = std::move(kept);
  }

  wire::ModelProto& model_;
  wire::GraphProto& graph_;
  NearbyFiles& files_;
  std::unordered_map<std::string_view, const TensorProto*> constants_{};
  std::unordered_map<std::string_view, std::size_t> writers_{};
  std::unordered_map<std::string_view, int> readers_{};
  std::vector<TensorProto> made_{};
  std::unordered_map<std::string_view, NodeProto>
      made_before_{};  ///< By the output of the operator behind it.
};

}  // namespace

void join_quantized(wire::ModelProto& model, NearbyFiles& files) {
  const std::vector<NodeProto>& nodes = model.graph->node;
  const bool has_groups = std::ranges::any_of(
      nodes, [](const NodeProto& node) { return node.op_type == "QuantizeLinear" && is_standard(node); });
  if (has_groups && std::ranges::none_of(nodes, has_body)) Joiner(model, files).run();
}

}  // namespace stowage::import
