// onnxruntime's attention in operators of the standard:
//
//     x -> MatMul, Add -> queries, keys, values          Attention; QAttention in integers; MultiHeadAttention has them
//     keys, values     -> Concat with those of the past
//     queries, keys    -> MatMul -> Mul (scale) -> Add (mask, bias) -> Where (causal) -> Softmax
//     that, values     -> MatMul -> Transpose, Reshape
//
// A mask hides keys by a number that it adds; only what is behind a query in a causal attention has no weight at all.
// Source: the document ContribOperators.md of onnxruntime; which number hides what, its results on random inputs
// (tests/oracle/fused_attention.py). Cost: linear.

#include "import/onnx_fused_attention.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "operators/shapes.h"

namespace stowage::import {
namespace {

using wire::NodeProto;
using ValueNames = std::vector<std::string_view>;

constexpr std::int64_t first_with_ranges = 11;
constexpr std::int64_t first_with_axes_as_inputs = 13;
/// So that sums of columns are small numbers.
constexpr std::int64_t most_columns = std::int64_t{1} << 40;

/// What is attended to, before heads are apart: [batch, words, heads * size].
struct Operands {
  std::string_view queries{};
  std::string_view keys{};
  std::string_view values{};
  bool have_heads = false;       ///< Keys and values are [batch, heads, words, size].
  std::string_view past_keys{};  ///< [batch, heads, words, size]
  std::string_view past_values{};
  std::string_view mask{};
  std::string_view bias{};
};

/// The columns of queries, keys and values.
struct Columns {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t values = 0;
};

class AttentionSplitter {
 public:
  AttentionSplitter(MadeNodes& made, const KnownValues& known, const NodeProto& node)
      : made_(made), known_(known), node_(node), heads_(integer("num_heads")) {}

  bool run() {
    if (made_.version < first_with_ranges || heads_ <= 0 || node_.output.empty() || node_.output[0].empty())
      return false;
    if (integer("do_rotary") != 0 || integer("past_present_share_buffer") != 0) return false;
    if (node_.op_type == "MultiHeadAttention") return split_heads();
    return split_joint(node_.op_type == "QAttention");
  }

 private:
  // Queries, keys and values are made of one input.

  bool split_joint(bool is_quantized) {
    const std::size_t mask = is_quantized ? 5 : 3, past = is_quantized ? 8 : 4;
    const KnownValue* const weights = known_.of(input_of(node_, 1));
    if (weights == nullptr || weights->dims.size() != 2 || node_.output.size() > 2) return false;
    if (input_of(node_, 0).empty() ||
        (is_quantized && (input_of(node_, 3).empty() || input_of(node_, 4).empty())))
      return false;
    if (!is_quantized && (weights->elem_type != operators::element::float32 || !input_of(node_, 6).empty()))
      return false;
    const auto columns = columns_of(weights->dims[1].size);
    if (!columns || !knows_mask(input_of(node_, mask), input_of(node_, 0))) return false;
    head_size_ = columns->queries / heads_;
    const std::string_view all = is_quantized ? quantized_product() : product();
    Operands operands{.queries = columns_from(all, 0, columns->queries),
                      .keys = columns_from(all, columns->queries, columns->keys),
                      .values = columns_from(all, columns->queries + columns->keys, columns->values),
                      .mask = input_of(node_, mask),
                      .bias = is_quantized ? std::string_view() : input_of(node_, 5)};
    if (const std::string_view both = input_of(node_, past); !both.empty()) {
      operands.past_keys = gather(both, 0);
      operands.past_values = gather(both, 1);
    }
    keeps_ = !output_of(node_, 1).empty();
    const auto [keys, values] = attend(operands);
    if (!keeps_) return true;
    add("Concat", {unsqueeze(keys, {0}), unsqueeze(values, {0})},
        {{.name = "axis", .value = std::int64_t{0}}});
    made_.name_last(output_of(node_, 1));
    return true;
  }

  std::optional<Columns> columns_of(const std::optional<std::int64_t>& all) const {
    if (!all || *all <= 0 || *all > most_columns) return std::nullopt;
    Columns columns{*all / 3, *all / 3, *all / 3};
    if (const auto* const sizes = wire::attribute_of<Shape>(node_, "qkv_hidden_sizes");
        sizes != nullptr && !sizes->empty()) {
      if (sizes->size() != 3) return std::nullopt;
      columns = {(*sizes)[0], (*sizes)[1], (*sizes)[2]};
    }
    for (const std::int64_t size : {columns.queries, columns.keys, columns.values})
      if (size <= 0 || size > *all || size % heads_ != 0) return std::nullopt;
    if (columns.queries != columns.keys || columns.queries + columns.keys + columns.values != *all)
      return std::nullopt;
    return columns;
  }

  std::string_view product() {
    const std::string_view all = add("MatMul", {input_of(node_, 0), input_of(node_, 1)});
    return input_of(node_, 2).empty() ? all : add("Add", {all, input_of(node_, 2)});
  }

  std::string_view quantized_product() {
    return made_.scaled_product(
        node_.name, {input_of(node_, 0), input_of(node_, 1), input_of(node_, 6), input_of(node_, 7)},
        {input_of(node_, 3), input_of(node_, 4)}, input_of(node_, 2));
  }

  // They are inputs.

  bool split_heads() {
    const KnownValue* const queries = known_.of(input_of(node_, 0));
    const KnownValue* const keys = known_.of(input_of(node_, 1));
    const KnownValue* const values = known_.of(input_of(node_, 2));
    if (queries == nullptr || keys == nullptr || values == nullptr || node_.output.size() > 3) return false;
    if (queries->elem_type != operators::element::float32 || queries->dims.size() != 3) return false;
    for (const std::size_t i : {8U, 9U})
      if (!input_of(node_, i).empty()) return false;
    const std::optional<std::int64_t> width = queries->dims[2].size;
    if (!width || *width <= 0 || *width > most_columns || *width % heads_ != 0) return false;
    Operands operands{.queries = input_of(node_, 0),
                      .keys = input_of(node_, 1),
                      .values = input_of(node_, 2),
                      .have_heads = keys->dims.size() == 4,
                      .past_keys = input_of(node_, 6),
                      .past_values = input_of(node_, 7),
                      .mask = input_of(node_, 4),
                      .bias = input_of(node_, 5)};
    if ((keys->dims.size() != 3 && !operands.have_heads) || values->dims.size() != keys->dims.size())
      return false;
    if (operands.past_keys.empty() != operands.past_values.empty()) return false;
    const bool has_cache = node_.output.size() > 1 || !operands.past_keys.empty();
    if (operands.have_heads && (has_cache || !input_of(node_, 3).empty())) return false;
    // Of more keys than queries, onnxruntime's last query sees all.
    if (integer("unidirectional") != 0 &&
        !are_same(queries->dims[1], keys->dims[operands.have_heads ? 2 : 1]))
      return false;
    if (!knows_mask(operands.mask, input_of(node_, 0))) return false;
    if (const std::string_view bias = input_of(node_, 3); !bias.empty()) {
      const KnownValue* const known = known_.of(bias);
      if (known == nullptr || known->dims.size() != 1 || !known->dims[0].size) return false;
      const std::int64_t all = *known->dims[0].size;
      if (all <= 2 * *width || all > 3 * most_columns) return false;
      operands.queries = add("Add", {operands.queries, columns_from(bias, 0, *width)});
      operands.keys = add("Add", {operands.keys, columns_from(bias, *width, *width)});
      operands.values = add("Add", {operands.values, columns_from(bias, 2 * *width, all - 2 * *width)});
    }
    head_size_ = *width / heads_;
    keeps_ = node_.output.size() > 1;
    key_name_ = output_of(node_, 1);
    value_name_ = output_of(node_, 2);
    attend(operands);
    return true;
  }

  // Both

  /// Lengths must be one for each text; others say where texts begin, too.
  [[nodiscard]] bool knows_mask(std::string_view mask, std::string_view of) const {
    if (mask.empty()) return true;
    const KnownValue* const known = known_.of(mask);
    if (known == nullptr || known->elem_type != operators::element::int32) return false;
    const KnownValue* const input = known_.of(of);
    if (known->dims.size() == 1)
      return input != nullptr && !input->dims.empty() && are_same(known->dims[0], input->dims[0]);
    return known->dims.size() == 2 || known->dims.size() == 3;
  }

  /// Returns all keys and values, with those of the past.
  std::pair<std::string_view, std::string_view> attend(const Operands& it) {
    const std::string_view queries = turn(apart(it.queries), {0, 2, 1, 3});
    std::string_view keys = it.keys, values = it.values, turned;
    if (!it.have_heads) values = with_past(turn(apart(it.values), {0, 2, 1, 3}), it.past_values, value_name_);
    if (!it.have_heads && !keeps_ && it.past_keys.empty()) {
      turned = turn(apart(it.keys), {0, 2, 3, 1});
    } else {
      if (!it.have_heads) keys = with_past(turn(apart(it.keys), {0, 2, 1, 3}), it.past_keys, key_name_);
      turned = turn(keys, {0, 1, 3, 2});
    }
    std::string_view scores = add("Mul", {add("MatMul", {queries, turned}), made_.constant(scale())});
    if (!it.mask.empty()) scores = add("Add", {scores, hidden_by(it.mask, scores)});
    if (!it.bias.empty()) scores = add("Add", {scores, it.bias});
    if (integer("unidirectional") != 0) scores = without_later(scores, it.past_keys);
    const std::string_view weights = add("Softmax", {scores}, {{.name = "axis", .value = std::int64_t{3}}});
    reshape(turn(add("MatMul", {weights, values}), {0, 2, 1, 3}), {0, 0, -1});
    made_.name_last(node_.output[0]);
    return {keys, values};
  }

  std::string_view with_past(std::string_view now, std::string_view past, std::string_view name) {
    const std::string_view all =
        past.empty() ? now : add("Concat", {past, now}, {{.name = "axis", .value = std::int64_t{2}}});
    return name.empty() ? all : made_.name_last(name);
  }

  [[nodiscard]] float scale() const {
    const auto* const given = wire::attribute_of<float>(node_, "scale");
    return given != nullptr && *given != 0 ? *given : 1 / std::sqrt(static_cast<float>(head_size_));
  }

  /// What a mask adds: of keys, of queries and keys, or the lengths of texts.
  std::string_view hidden_by(std::string_view mask, std::string_view scores) {
    const auto* const given = wire::attribute_of<float>(node_, "mask_filter_value");
    constexpr float usual = -10000;
    const std::size_t rank = known_.of(mask)->dims.size();
    std::string_view seen;
    if (rank == 1) {
      const std::string_view lengths =
          add("Cast", {mask}, {{.name = "to", .value = std::int64_t{operators::element::int64}}});
      seen = add("Less", {range(size_of(scores, 3)), reshape(lengths, {-1, 1, 1, 1})});
    } else {
      seen = add("Greater",
                 {unsqueeze(mask, rank == 2 ? Shape{1, 2} : Shape{1}), made_.scalar(std::int32_t{0})});
    }
    return add("Where", {seen, made_.constant(0.0F), made_.constant(given == nullptr ? usual : *given)});
  }

  /// Query q sees keys up to that of its own place, which is behind the past.
  std::string_view without_later(std::string_view scores, std::string_view past) {
    std::string_view places = range(size_of(scores, 2));
    if (!past.empty()) places = add("Add", {places, size_of(past, 2)});
    const std::string_view is_later = add("Greater", {range(size_of(scores, 3)), reshape(places, {-1, 1})});
    return add("Where", {is_later, made_.constant(std::numeric_limits<float>::lowest()), scores});
  }

  // Nodes

  std::string_view add(std::string_view type, ValueNames inputs,
                       std::vector<wire::AttributeProto> attributes = {}) {
    return made_.add({.name = node_.name,
                      .op_type = type,
                      .input = std::move(inputs),
                      .attribute = std::move(attributes)});
  }
  std::string_view reshape(std::string_view x, const Shape& shape) {
    return add("Reshape", {x, made_.constants(shape)});
  }
  std::string_view apart(std::string_view x) { return reshape(x, {0, 0, heads_, -1}); }
  std::string_view turn(std::string_view x, const Shape& order) {
    return add("Transpose", {x}, {{.name = "perm", .value = order}});
  }
  std::string_view unsqueeze(std::string_view x, const Shape& axes) {
    if (made_.version < first_with_axes_as_inputs)
      return add("Unsqueeze", {x}, {{.name = "axes", .value = axes}});
    return add("Unsqueeze", {x, made_.constants(axes)});
  }
  std::string_view gather(std::string_view x, std::int64_t place) {
    return add("Gather", {x, made_.scalar(place)}, {{.name = "axis", .value = std::int64_t{0}}});
  }
  std::string_view columns_from(std::string_view x, std::int64_t begin, std::int64_t count) {
    return add("Slice",
               {x, made_.constants({begin}), made_.constants({begin + count}), made_.constants({-1})});
  }
  std::string_view size_of(std::string_view x, std::int64_t axis) { return gather(add("Shape", {x}), axis); }
  std::string_view range(std::string_view count) {
    return add("Range", {made_.scalar(std::int64_t{0}), count, made_.scalar(std::int64_t{1})});
  }

  [[nodiscard]] std::int64_t integer(std::string_view name) const {
    const auto* const value = wire::attribute_of<std::int64_t>(node_, name);
    return value == nullptr ? 0 : *value;
  }

  MadeNodes& made_;
  const KnownValues& known_;
  const NodeProto& node_;
  std::int64_t heads_;
  std::int64_t head_size_ = 0;  ///< Of queries and keys.
  bool keeps_ = false;          ///< Keys and values are results, too.
  std::string_view key_name_{};
  std::string_view value_name_{};
};

}  // namespace

bool split_attention(MadeNodes& made, const KnownValues& known, const NodeProto& node) {
  return AttentionSplitter(made, known, node).run();
}

}  // namespace stowage::import
