// Recurrent operators and attention. Networks that run through a sequence carry a state: each step reads what
// the step before left. Shape rules of operators on lists of tensors are here, too; their rows are in
// control.cc.

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "operators/families.h"
#include "operators/multiplies.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

Dim positive(std::int64_t number) { return number > 0 ? Dim(number) : std::nullopt; }

/// Results of each step and after the last one. `hidden` is the size of a state.
void recurrent_of(NodeContext& node, const Dim& hidden) {
  const Dims* const input = node.dims(0);
  if (input == nullptr) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      node.set_output(i, node.elem_type(0), std::nullopt);
    return;
  }
  if (input->size() != 3) misfit("the input is of rank ", input->size(), ", not 3");
  const Dim directions = node.text("direction", "forward") == "bidirectional" ? 2 : 1;
  const bool is_batch_first = node.integer("layout", 0) != 0;
  const Dim& steps = (*input)[is_batch_first ? 1 : 0];
  const Dim& batch = (*input)[is_batch_first ? 0 : 1];
  const Dims every =
      is_batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden};
  const Dims last = is_batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  node.set_output(0, node.elem_type(0), every);
  node.set_output(1, node.elem_type(0), last);
  node.set_output(2, node.elem_type(0), last);
}

/// Weights of the input are [directions, gates, elements of the input], those of the state [directions, gates, hidden], the
/// bias is [directions, 2 * gates]; "gates" are all elements of all gates.
void expect_weights(const NodeContext& node, const Dim& hidden) {
  const auto expect = [](std::string_view what, const Dim& given, const Dim& wanted) {
    if (given && wanted && *given != *wanted) misfit(what, " has ", *given, ", expected ", *wanted);
  };
  const Dims* const weights = node.dims(1);
  const Dims* const states = node.dims(2);
  const Dim directions = node.text("direction", "forward") == "bidirectional" ? 2 : 1;
  const Dim gates = dim_at(weights, 1);
  expect("dimension 0 of the weights", dim_at(weights, 0), directions);
  expect("dimension 2 of the weights", dim_at(weights, 2), dim_at(node.dims(0), 2));
  expect("dimension 0 of the weights of states", dim_at(states, 0), directions);
  expect("dimension 1 of the weights of states", dim_at(states, 1), gates);
  expect("dimension 2 of the weights of states", dim_at(states, 2), hidden);
  if (hidden && *hidden == 0) misfit("there are no hidden elements, expected at least 1");
  if (gates && hidden && *gates % *hidden != 0)
    misfit("dimension 1 of the weights has ", *gates, ", expected a multiple of ", *hidden);
  expect("dimension 1 of the bias", dim_at(node.dims(3), 1), product_of(gates, Dim(2)));
  const bool is_batch_first = node.integer("layout", 0) != 0;
  for (const std::size_t state : {std::size_t{5}, std::size_t{6}}) {  // those that it begins with
    const Dims* const dims = node.has(state) ? node.dims(state) : nullptr;
    if (dims == nullptr) continue;
    expect("dimension 0 of its first state", dim_at(dims, 0),
           is_batch_first ? dim_at(node.dims(0), 0) : directions);
    expect("dimension 1 of its first state", dim_at(dims, 1),
           is_batch_first ? directions : dim_at(node.dims(0), 1));
    expect("dimension 2 of its first state", dim_at(dims, 2), hidden);
  }
}

}  // namespace

/// The weights of a state have one column for each of its elements.
void recurrent(NodeContext& node) {
  const Dim given = positive(node.integer("hidden_size", 0));
  const Dim hidden = given ? given : dim_at(node.dims(2), 2);
  recurrent_of(node, hidden);
  if (node.always_runs()) expect_weights(node, hidden);
}

/// The weights of states have one row for each of its elements.
void quantized_recurrent(NodeContext& node) {
  const Dim given = positive(node.integer("hidden_size", 0));
  recurrent_of(node, given ? given : dim_at(node.dims(2), 1));
}

/// Heads are a dimension of their own, or part of the last one. A cache grows by the new keys and values.
void attention(NodeContext& node) {
  const Dims* const query = node.dims(0);
  const Dims* const key = node.dims(1);
  const Dims* const value = node.dims(2);
  const int type = node.elem_type(0);
  if (query == nullptr || key == nullptr || value == nullptr) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) node.set_output(i, type, std::nullopt);
    return;
  }
  const std::size_t rank = query->size();
  if ((rank != 3 && rank != 4) || key->size() != rank || value->size() != rank)
    misfit("queries, keys and values are of ranks ", rank, ", ", key->size(), " and ", value->size());
  const bool has_heads = rank == 4;
  const Dim query_heads = has_heads ? (*query)[1] : positive(node.integer("q_num_heads", 0));
  const Dim heads = has_heads ? (*key)[1] : positive(node.integer("kv_num_heads", 0));
  const Dim& rows = (*query)[rank - 2];
  const Dim key_size = has_heads ? key->back() : quotient(key->back(), heads);
  const Dim value_size = has_heads ? value->back() : quotient(value->back(), heads);
  const Dim total = node.has(4) ? sum_of(dim_at(node.dims(4), 2), (*key)[rank - 2]) : (*key)[rank - 2];
  const Dim& batch = query->front();
  node.set_output(0, type,
                  has_heads ? Dims{batch, query_heads, rows, value_size}
                            : Dims{batch, rows, product_of(query_heads, value_size)});
  node.set_output(1, node.elem_type(1), Dims{batch, heads, total, key_size});
  node.set_output(2, node.elem_type(2), Dims{batch, heads, total, value_size});
  node.set_output(3, type, Dims{batch, query_heads, rows, total});
}

void linear_attention(NodeContext& node) {
  const Dims* const query = node.dims(0);
  const Dims* const key = node.dims(1);
  const Dims* const value = node.dims(2);
  if (query == nullptr || key == nullptr || value == nullptr) return;
  if (query->size() != 3 || key->size() != 3 || value->size() != 3)
    misfit("queries, keys or values are not of rank 3");
  const Dim heads = positive(node.integer("kv_num_heads", 0));
  const Dim key_size = quotient(key->back(), heads);
  const Dim value_size = quotient(value->back(), heads);
  node.set_output(
      0, node.elem_type(0),
      Dims{(*query)[0], (*query)[1], product_of(positive(node.integer("q_num_heads", 0)), value_size)});
  node.set_output(1, node.has(3) ? node.elem_type(3) : node.elem_type(0),
                  Dims{(*query)[0], heads, key_size, value_size});
}

// Lists of tensors are not planned, but a tensor may come out of one.

void sequence_of_first(NodeContext& node) {
  node.set_type(0, type_around(Type::Kind::sequence, tensor_type(node.elem_type(0), std::nullopt)));
}

void sequence_of_inputs(NodeContext& node) {
  Type common = node.type(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) common = common_type(common, node.type(i));
  node.set_type(0, type_around(Type::Kind::sequence, common));
}

void empty_sequence(NodeContext& node) {
  const auto type = static_cast<int>(node.integer("dtype", element::float32));
  node.set_type(0, type_around(Type::Kind::sequence, tensor_type(type, std::nullopt)));
}

/// A list with a tensor less.
void shorter_sequence(NodeContext& node) {
  if (node.type(0).element != nullptr) node.set_type(0, node.type(0));
}

/// A list with a tensor more: elements have what they have in common.
void longer_sequence(NodeContext& node) {
  const auto& element_type = node.type(0).element;
  if (element_type == nullptr) return;
  const bool adds = node.has(1) && node.type(1).kind == Type::Kind::tensor;
  node.set_type(
      0, adds ? type_around(Type::Kind::sequence, common_type(*element_type, node.type(1))) : node.type(0));
}

void element_of_first(NodeContext& node) {
  const Type& whole = node.type(0);
  if (whole.kind == Type::Kind::tensor) {
    node.set_type(0, whole);  // an optional that is certainly there
  } else if (whole.element != nullptr) {
    node.set_type(0, *whole.element);
  }
}

void joined_sequence(NodeContext& node) {
  const auto& element_type = node.type(0).element;
  if (element_type == nullptr) return;
  std::optional<Dims> dims = element_type->dims;
  if (dims && node.integer("new_axis", 0) != 0) {
    const std::size_t axis = axis_in(node.integer("axis", 0), dims->size() + 1);
    dims->insert(dims->begin() + static_cast<std::ptrdiff_t>(axis), Dim());
  } else if (dims) {
    (*dims)[axis_in(node.integer("axis", 0), dims->size())].reset();
  }
  node.set_output(0, element_type->elem_type, dims);
}

void optional(NodeContext& node) {
  const auto* const type = node.attributes().get<Type>("type");
  if (node.has(0)) {
    node.set_type(0, type_around(Type::Kind::optional, node.type(0)));
  } else if (type != nullptr) {
    node.set_type(0, type_around(Type::Kind::optional, *type));
  }
}

}  // namespace stowage::operators::shapes

namespace stowage::operators {
namespace {

/// Steps of a sequence, with a state of so many steps of the output. In both directions no row of the output
/// is complete before all of the input is read, so such a network runs as a whole.
std::optional<CarriedAxis> along_steps(const Site& site, bool is_batch_first) {
  const std::size_t axis = is_batch_first ? 1 : 0;
  const Shape in = site.input_shape(0);
  const Shape out = site.output_shape();
  if (in.size() != 3 || out.size() < 3 || in[axis] != out[axis] || out[axis] < 2) return std::nullopt;
  return CarriedAxis{.axis = axis, .input_axis = axis};
}

std::optional<CarriedAxis> carried_steps(const Site& site, Bytes steps_of_state) {
  auto along = along_steps(site, site.attributes().integer("layout", 0) != 0);
  const std::string direction = site.attributes().text("direction", "forward");
  if (!along || (direction != "forward" && direction != "reverse")) return std::nullopt;
  along->backward = direction == "reverse";
  const Bytes bytes = site.output(0)->bytes;
  along->carried = bytes / site.output_shape()[along->axis] * steps_of_state;
  return along->carried > 0 && along->carried < bytes ? along : std::nullopt;
}

std::optional<CarriedAxis> carried_state(const Site& site) { return carried_steps(site, 1); }
/// The state and the cells.
std::optional<CarriedAxis> carried_states(const Site& site) { return carried_steps(site, 2); }

/// States are variables of the network.
std::optional<CarriedAxis> carried_by_network(const Site& site) {
  return along_steps(site, site.attributes().integer("time_major", 0) == 0);
}

/// Every step multiplies each of these weights once for each element of the batch. Gates that are multiplied by each
/// other do not count, like other operators that work element by element.
std::optional<std::int64_t> multiplies_of_steps(const Site& site, std::size_t input,
                                                std::initializer_list<std::size_t> weights) {
  const Shape steps = site.input_shape(input);
  if (steps.empty()) return 0;
  std::optional<std::int64_t> each = 0;
  for (const std::size_t i : weights) {
    if (each && site.has_input(i) && !site.input_shape(i).empty())
      each = base::checked_add(*each, element_count(site.input_shape(i)));
  }
  return each ? products_of(Shape(steps.begin(), steps.end() - 1), *each) : std::nullopt;
}

/// Weights of the input and of the state, of all gates and directions.
std::optional<std::int64_t> multiplies_of_recurrent(const Site& site) {
  return multiplies_of_steps(site, 0, {1, 2});
}

/// Weights of the input and of the state for each of four gates, and of a projection; or the four gates in one.
std::optional<std::int64_t> multiplies_of_lstm(const Site& site) {
  constexpr std::size_t inputs_of_basic_kernel = 5;
  if (site.op().inputs.size() == inputs_of_basic_kernel) return multiplies_of_steps(site, 0, {2});
  return multiplies_of_steps(site, 0, {1, 2, 3, 4, 5, 6, 7, 8, 16});
}

/// Also TFLite's operator of that name, whose input is a matrix (facts_of).
std::optional<std::int64_t> multiplies_of_named_lstm(const Site& site) {
  constexpr std::size_t rank = 3;
  return site.input_shape(0).size() == rank ? multiplies_of_recurrent(site) : multiplies_of_lstm(site);
}

std::optional<std::int64_t> added_up(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? base::checked_add(*a, *b) : std::nullopt;
}

/// The same forward and backward, and weights of a second input.
std::optional<std::int64_t> multiplies_of_two_way_lstm(const Site& site) {
  return added_up(
      multiplies_of_steps(site, 0, {1, 2, 3, 4, 5, 6, 7, 8, 16, 18, 19, 20, 21, 22, 23, 24, 25, 33}),
      multiplies_of_steps(site, 39, {40, 41, 42, 43, 44, 45, 46, 47}));
}

std::optional<std::int64_t> multiplies_of_two_way_recurrent(const Site& site) {
  return added_up(multiplies_of_steps(site, 0, {1, 2, 5, 6}), multiplies_of_steps(site, 9, {10, 11}));
}

}  // namespace

std::span<const Facts> sequence_family() {
  static constexpr Facts rows[] = {
      {.onnx = "Attention", .shape = shapes::attention, .inputs = 3},
      {.onnx = "GRU",
       .shape = shapes::recurrent,
       .inputs = 3,
       .rows = recurrent,
       .carries = carried_state,
       .multiplies = multiplies_of_recurrent},
      {.onnx = "LSTM",
       .shape = shapes::recurrent,
       .inputs = 3,
       .rows = recurrent,
       .carries = carried_states,
       .multiplies = multiplies_of_named_lstm},
      {.onnx = "LinearAttention", .shape = shapes::linear_attention, .inputs = 3},
      {.onnx = "RNN",
       .shape = shapes::recurrent,
       .inputs = 3,
       .rows = recurrent,
       .carries = carried_state,
       .multiplies = multiplies_of_recurrent},
      {.onnx = "RotaryEmbedding", .shape = shapes::like_first, .inputs = 3},
      {.onnx = "com.microsoft.DynamicQuantizeLSTM",
       .shape = shapes::quantized_recurrent,
       .inputs = 3,
       .multiplies = multiplies_of_recurrent},
      {.tflite = "BIDIRECTIONAL_SEQUENCE_LSTM",
       .shape = tflite_shapes::two_way_lstm,
       .multiplies = multiplies_of_two_way_lstm},
      {.tflite = "BIDIRECTIONAL_SEQUENCE_RNN",
       .shape = tflite_shapes::two_way_recurrent,
       .multiplies = multiplies_of_two_way_recurrent},
      {.tflite = "LSTM",
       .shape = tflite_shapes::lstm,
       .carries = carried_states,
       .multiplies = multiplies_of_lstm},
      {.tflite = "RNN",
       .shape = tflite_shapes::recurrent,
       .carries = carried_state,
       .multiplies = multiplies_of_recurrent},
      {.tflite = "SVDF", .shape = tflite_shapes::svdf, .multiplies = multiplies_of_recurrent},
      {.tflite = "UNIDIRECTIONAL_SEQUENCE_LSTM",
       .shape = tflite_shapes::sequence_lstm,
       .carries = carried_by_network,
       .multiplies = multiplies_of_lstm},
      {.tflite = "UNIDIRECTIONAL_SEQUENCE_RNN",
       .shape = tflite_shapes::sequence_recurrent,
       .multiplies = multiplies_of_recurrent},
  };
  return rows;
}

}  // namespace stowage::operators
