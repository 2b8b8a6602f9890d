// Rules of onnxruntime's own operators (domain com.microsoft) that work on sequences of words. Source: the
// document ContribOperators.md of onnxruntime.

#include <algorithm>
#include <optional>

#include "operators/families.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

/// The cache of keys and values as one tensor: two, batch, heads, words, elements of a head.
void set_present(NodeContext& node, std::size_t output, int elem_type, const Dims& heads, const Dims* past) {
  Dims present{2, heads[0], heads[1], heads[2], heads[3]};
  if (past != nullptr) {
    if (past->size() != 5) misfit("the past is of rank ", past->size(), ", not 5");
    present[3] = sum_of((*past)[3], heads[2]);
    if (!present[4]) present[4] = (*past)[4];
  }
  node.set_output(output, elem_type, present);
}

/// Queries, keys and values are made of one input. `past` is an input.
void self_attention(NodeContext& node, int elem_type, std::size_t past) {
  const Dims* const input = node.dims(0);
  const Dims* const weights = node.dims(1);
  if (input == nullptr) {
    node.set_output(0, elem_type, std::nullopt);
    return;
  }
  if (input->size() != 3) misfit("the input is of rank ", input->size(), ", not 3");
  const auto sizes = node.integer_list("qkv_hidden_sizes");
  if (sizes && sizes->size() != 3) misfit("qkv_hidden_sizes has ", sizes->size(), " elements, expected 3");
  Dim columns = dim_at(node.dims(2), 0);
  if (!columns) columns = dim_at(weights, 1);
  const Dim hidden = sizes ? Dim((*sizes)[2]) : quotient(columns, Dim(3));
  node.set_output(0, elem_type, Dims{(*input)[0], (*input)[1], hidden});
  const std::int64_t heads = node.integer("num_heads", 0);
  const bool shares = node.integer("past_present_share_buffer", 0) != 0;
  if (shares) {
    node.set_type(1, node.type(past));
  } else {
    set_present(node, 1, elem_type, {(*input)[0], Dim(heads), (*input)[1], quotient(hidden, Dim(heads))},
                node.dims(past));
  }
}

}  // namespace

void joint_attention(NodeContext& node) { self_attention(node, node.elem_type(0), 4); }

/// The result has the type of the input's scale.
void quantized_attention(NodeContext& node) { self_attention(node, node.elem_type(3), 8); }

/// Queries, keys and values may be packed in one tensor with five dimensions, or keys and values in one.
void multi_head_attention(NodeContext& node) {
  const Dims* const query = node.dims(0);
  const int type = node.elem_type(0);
  if (query == nullptr) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) node.set_output(i, type, std::nullopt);
    return;
  }
  if (query->size() != 3 && query->size() != 5) misfit("queries are of rank ", query->size(), ", not 3 or 5");
  const Dim heads(node.integer("num_heads", 0));
  if (*heads <= 0) misfit("num_heads is ", *heads);
  const Dims* const key = node.dims(1);
  const Dims* const value = node.dims(2);
  Dim hidden;
  Dim words = (*query)[1];
  Dim head_size;
  if (query->size() == 5) {
    head_size = (*query)[4];
    hidden = product_of((*query)[2], head_size);
  } else {
    head_size = quotient((*query)[2], heads);
    if (key != nullptr) words = dim_at(key, key->size() == 4 ? 2 : 1);
    if (key != nullptr && key->size() == 5) hidden = product_of(dim_at(key, 2), dim_at(key, 4));
    if (value != nullptr)
      hidden = value->size() == 4 ? product_of((*value)[1], (*value)[3]) : dim_at(value, 2);
  }
  node.set_output(0, type, Dims{(*query)[0], (*query)[1], hidden});
  const bool has_past = node.has(6);
  const Dim total = has_past ? sum_of(dim_at(node.dims(6), 2), words) : words;
  const bool is_cross = value != nullptr && value->size() == 4;  // keys and values come with heads, whole
  const Dim kept = is_cross && has_past ? Dim() : total;
  node.set_output(1, type, Dims{(*query)[0], heads, kept, head_size});
  node.set_output(2, type, Dims{(*query)[0], heads, kept, quotient(hidden, heads)});
}

/// Several heads of queries share keys and values. A cache has room for all words, or grows; which, is known
/// only with the count of all words.
void grouped_attention(NodeContext& node) {
  const Dims* const query = node.dims(0);
  const int type = node.elem_type(0);
  if (query == nullptr) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) node.set_output(i, type, std::nullopt);
    return;
  }
  if (query->size() != 3) misfit("queries are of rank ", query->size(), ", not 3");
  const std::int64_t heads = node.integer("num_heads", 0);
  const std::int64_t shared = node.integer("kv_num_heads", 0);
  if (heads <= 0 || shared <= 0) misfit("num_heads is ", heads, ", kv_num_heads ", shared);
  const bool is_packed = !node.has(1);
  const Dim head_size =
      quotient((*query)[2], is_packed ? Dim(sum_of(heads, product_of(2, shared))) : Dim(heads));
  node.set_output(0, type, Dims{(*query)[0], (*query)[1], product_of(head_size, Dim(heads))});
  const Dim room = dim_at(node.dims(3), 2);
  const Dim total = node.scalar(6);
  const bool has_past = node.has(3);
  const Dim words = !has_past       ? (total ? total : (*query)[1])
                    : room && total ? Dim(std::max(*room, *total))
                                    : Dim();
  for (std::size_t i = 1; i < 3; ++i)
    node.set_output(i, has_past ? node.elem_type(3) : type, Dims{(*query)[0], Dim(shared), words, head_size});
}

/// Sums of embeddings, and how many words each text has.
void embed_layer_normalization(NodeContext& node) {
  const Dims* const words = node.dims(0);
  const int type = node.elem_type(2);
  std::optional<Dims> result;
  if (words != nullptr) {
    if (words->size() != 2) misfit("words are of rank ", words->size(), ", not 2");
    result = Dims{(*words)[0], (*words)[1], dim_at(node.dims(2), 1)};
    node.set_output(1, element::int32, Dims{(*words)[0]});
  }
  node.set_output(0, type, result);
  node.set_output(2, type, result);
}

/// A number for each pair of places, the same for all texts.
void relative_position_bias(NodeContext& node) {
  node.set_output(0, node.elem_type(0), Dims{1, dim_at(node.dims(0), 1), node.scalar(1), node.scalar(2)});
}

}  // namespace stowage::operators::shapes

namespace stowage::operators {

std::span<const Facts> contrib_family() {
  static constexpr Facts rows[] = {
      {.onnx = "com.microsoft.Attention", .shape = shapes::joint_attention, .inputs = 2},
      {.onnx = "com.microsoft.BiasAdd", .shape = shapes::like_first, .inputs = 2},
      {.onnx = "com.microsoft.BiasDropout", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "com.microsoft.GroupQueryAttention", .shape = shapes::grouped_attention, .inputs = 1},
      {.onnx = "com.microsoft.LongformerAttention", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "com.microsoft.MoE", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "com.microsoft.MultiHeadAttention", .shape = shapes::multi_head_attention, .inputs = 1},
      {.onnx = "com.microsoft.QAttention", .shape = shapes::quantized_attention, .inputs = 5},
      {.onnx = "com.microsoft.QMoE", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "com.microsoft.RelativePositionBias", .shape = shapes::relative_position_bias, .inputs = 3},
      {.onnx = "com.microsoft.RotaryEmbedding", .shape = shapes::like_first, .inputs = 3},
  };
  return rows;
}

}  // namespace stowage::operators
