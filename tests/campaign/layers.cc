#include "layers.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "sketch.h"

namespace stowage::campaign {
namespace {

/// Draws operators of one graph, each over tensors that are there already.
class LayersDraft {
 public:
  LayersDraft(Random& random, const LayersShape& shape)
      : random_(random), shape_(shape), sketch_(shape.name) {}

  Graph draw() {
    const std::int64_t inputs = random_.between(1, 3);
    for (std::int64_t i = 0; i < inputs; ++i) pool_.push_back(sketch_.input(draw_dtype(), draw_shape()));
    const std::int64_t count = random_.between(1, shape_.operators);
    for (std::int64_t i = 0; i < count; ++i) draw_operator();
    decorate();
    std::vector<TensorId> candidates(pool_.begin(), pool_.end());
    sketch_.choose_outputs(random_, candidates);
    if (shape_.with_state && sketch_.graph().subgraphs.size() == 1 && random_.chance(15)) tie();
    if (!has_stateful_ && random_.chance(40)) shuffle_operators(sketch_.graph(), random_);
    return std::move(sketch_.graph());
  }

 private:
  DType draw_dtype() {
    static const std::vector<DType> types{DType::int8,    DType::int8,  DType::int8, DType::float32,
                                          DType::float32, DType::int16, DType::int4};
    return random_.pick(types);
  }

  Shape draw_shape() {
    if (random_.chance(2)) return {0, 4};
    if (random_.chance(3)) return {};
    static const std::vector<std::int64_t> widths{1, 2, 3, 4, 4, 8, 8, 16};
    return {random_.between(1, 4), random_.pick(widths)};
  }

  TensorId draw_tensor() {
    if (random_.chance(60))
      return pool_[pool_.size() - 1 - random_.index(std::min<std::size_t>(pool_.size(), 3))];
    return random_.pick(pool_);
  }

  TensorId result(DType dtype, Shape shape) {
    const TensorId made = sketch_.tensor("t", dtype, std::move(shape));
    pool_.push_back(made);
    return made;
  }

  void draw_operator() {
    using Draw = void (LayersDraft::*)();
    static const std::vector<Draw> kinds{
        &LayersDraft::compute, &LayersDraft::compute,     &LayersDraft::unary,   &LayersDraft::unary,
        &LayersDraft::binary,  &LayersDraft::binary,      &LayersDraft::sum,     &LayersDraft::reshape,
        &LayersDraft::concat,  &LayersDraft::concat,      &LayersDraft::split,   &LayersDraft::slice,
        &LayersDraft::gather,  &LayersDraft::part_update, &LayersDraft::several, &LayersDraft::inner_concat};
    if (shape_.with_bodies && sketch_.graph().subgraphs.size() == 1 && random_.chance(4)) return control();
    (this->*random_.pick(kinds))();
  }

  void compute() {
    static const std::vector<std::string> types{"Conv", "MatMul", "Custom", "Gemm"};
    std::vector<std::optional<TensorId>> inputs;
    for (std::int64_t i = random_.between(1, 3); i > 0; --i) inputs.emplace_back(draw_tensor());
    if (random_.chance(10)) inputs.emplace_back(std::nullopt);
    if (shape_.with_weights && random_.chance(40))
      inputs.emplace_back(sketch_.weight(draw_dtype(), draw_shape()));
    const TensorId made = result(draw_dtype(), draw_shape());
    sketch_.add(random_.pick(types), std::move(inputs), {made});
  }

  void unary() {
    const TensorId from = draw_tensor();
    const TensorId made = result(sketch_.at(from).dtype, sketch_.shape(from));
    sketch_.add(random_.pick(unary_types()), {from}, {made});
  }

  /// Another tensor of the same type and shape, or one that is made for it.
  TensorId mate_of(TensorId tensor) {
    std::vector<TensorId> mates;
    for (const TensorId other : pool_)
      if (sketch_.at(other).dtype == sketch_.at(tensor).dtype &&
          sketch_.shape(other) == sketch_.shape(tensor))
        mates.push_back(other);
    if (!mates.empty() && random_.chance(85)) return random_.pick(mates);
    return sketch_.weight(sketch_.at(tensor).dtype, sketch_.shape(tensor));
  }

  void binary() {
    const TensorId first = draw_tensor();
    TensorId second = mate_of(first);
    const Shape wide = sketch_.shape(first);
    if (random_.chance(20) && wide.size() == 2) {
      std::vector<TensorId> narrow;
      for (const TensorId other : pool_)
        if (sketch_.at(other).dtype == sketch_.at(first).dtype && sketch_.shape(other) == Shape{1, wide[1]})
          narrow.push_back(other);
      if (!narrow.empty()) second = random_.pick(narrow);
    }
    const TensorId made = result(sketch_.at(first).dtype, wide);
    const bool turned = random_.chance(50);
    sketch_.add(random_.pick(binary_types()), {turned ? second : first, turned ? first : second}, {made});
  }

  void sum() {
    const TensorId first = draw_tensor();
    const TensorId second = mate_of(first);
    const TensorId third = mate_of(first);
    const TensorId made = result(sketch_.at(first).dtype, sketch_.shape(first));
    sketch_.add("Sum", {first, second, third}, {made});
  }

  void reshape() {
    const TensorId from = draw_tensor();
    const Tensor old = sketch_.at(from);
    std::int64_t count = 1;
    for (const std::int64_t extent : *old.shape) count *= extent;
    const Shape shape = random_.chance(50) ? Shape{count} : Shape{count, 1};
    const TensorId made = result(old.dtype, shape);
    Operator& op = sketch_.add("Reshape", {from}, {made});
    if (old.bytes > 0) op.copies = {{.input = 0, .output = 0, .from = 0, .to = 0, .size = old.bytes}};
    if (random_.chance(20)) {
      const TensorId target = sketch_.weight(DType::int64, {2});
      sketch_.operators().back().inputs.emplace_back(target);
    }
  }

  [[nodiscard]] bool has_whole_rows(TensorId tensor) const {
    return sketch_.at(tensor).dtype != DType::int4 && sketch_.shape(tensor).size() == 2;
  }

  std::vector<TensorId> tensors_of_width(TensorId like) {
    std::vector<TensorId> found;
    for (const TensorId other : pool_)
      if (has_whole_rows(other) && sketch_.at(other).dtype == sketch_.at(like).dtype &&
          sketch_.shape(other)[1] == sketch_.shape(like)[1])
        found.push_back(other);
    return found;
  }

  void concat() {
    const TensorId first = draw_tensor();
    if (!has_whole_rows(first)) return compute();
    const std::vector<TensorId> mates = tensors_of_width(first);
    std::vector<std::optional<TensorId>> inputs{first};
    for (std::int64_t i = random_.between(1, 2); i > 0; --i) inputs.emplace_back(random_.pick(mates));
    Shape shape{0, sketch_.shape(first)[1]};
    std::vector<ByteCopy> copies;
    Bytes to = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Bytes size = sketch_.at(*inputs[i]).bytes;
      shape[0] += sketch_.shape(*inputs[i])[0];
      if (size > 0) copies.push_back({.input = i, .output = 0, .from = 0, .to = to, .size = size});
      to += size;
    }
    const TensorId made = result(sketch_.at(first).dtype, shape);
    sketch_.add("Concat", std::move(inputs), {made}).copies = std::move(copies);
  }

  /// Side by side: each row is in pieces, or the operator says why it copies.
  void inner_concat() {
    const TensorId first = draw_tensor();
    if (!has_whole_rows(first)) return compute();
    const std::int64_t rows = sketch_.shape(first)[0];
    const Bytes element = *bits_of(sketch_.at(first).dtype) / 8;
    std::vector<std::optional<TensorId>> inputs{first};
    for (const TensorId other : pool_)
      if (inputs.size() < 3 && has_whole_rows(other) && sketch_.at(other).dtype == sketch_.at(first).dtype &&
          sketch_.shape(other)[0] == rows && random_.chance(60))
        inputs.emplace_back(other);
    std::int64_t width = 0;
    for (const auto& input : inputs) width += sketch_.shape(*input)[1];
    const DType dtype = sketch_.at(first).dtype;
    const TensorId made = result(dtype, {rows, width});
    Operator& op = sketch_.add("Concat", inputs, {made});
    if (rows > 1 && random_.chance(50)) {
      op.must_copy = "concat on axis 1 behind dimension 0 of " + std::to_string(rows);
      return;
    }
    Bytes left = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Bytes size = sketch_.shape(*inputs[i])[1] * element;
      for (std::int64_t r = 0; r < rows; ++r)
        op.copies.push_back(
            {.input = i, .output = 0, .from = r * size, .to = r * width * element + left, .size = size});
      left += size;
    }
  }

  void split() {
    const TensorId from = draw_tensor();
    if (!has_whole_rows(from) || sketch_.shape(from)[0] < 2) return compute();
    const std::int64_t rows = sketch_.shape(from)[0];
    const Bytes row = sketch_.at(from).bytes / rows;
    const DType dtype = sketch_.at(from).dtype;
    const std::int64_t width = sketch_.shape(from)[1];
    std::vector<std::optional<TensorId>> outputs;
    std::vector<ByteCopy> copies;
    for (std::int64_t begin = 0; begin < rows;) {
      const std::int64_t extent = outputs.size() == 2 ? rows - begin : random_.between(1, rows - begin);
      if (random_.chance(90)) {
        copies.push_back(
            {.input = 0, .output = outputs.size(), .from = begin * row, .to = 0, .size = extent * row});
        outputs.emplace_back(result(dtype, {extent, width}));
      } else {
        outputs.emplace_back(std::nullopt);
      }
      begin += extent;
    }
    if (copies.empty()) return compute();
    sketch_.add("Split", {from}, std::move(outputs)).copies = std::move(copies);
  }

  void slice() {
    const TensorId from = draw_tensor();
    if (!has_whole_rows(from) || sketch_.at(from).bytes == 0) return unary();
    const std::int64_t rows = sketch_.shape(from)[0];
    const Bytes row = sketch_.at(from).bytes / rows;
    const std::int64_t begin = random_.between(0, rows - 1);
    const std::int64_t extent = random_.between(1, rows - begin);
    const TensorId made = result(sketch_.at(from).dtype, {extent, sketch_.shape(from)[1]});
    sketch_.add("Slice", {from}, {made}).copies = {
        {.input = 0, .output = 0, .from = begin * row, .to = 0, .size = extent * row}};
  }

  /// Rows of a tensor in another order, some of them several times.
  void gather() {
    const TensorId from = draw_tensor();
    if (!has_whole_rows(from) || sketch_.at(from).bytes == 0) return unary();
    const std::int64_t rows = sketch_.shape(from)[0];
    const Bytes row = sketch_.at(from).bytes / rows;
    const std::int64_t extent = random_.between(1, 4);
    const TensorId made = result(sketch_.at(from).dtype, {extent, sketch_.shape(from)[1]});
    Operator& op = sketch_.add("Gather", {from}, {made});
    for (std::int64_t r = 0; r < extent; ++r)
      op.copies.push_back(
          {.input = 0, .output = 0, .from = random_.between(0, rows - 1) * row, .to = r * row, .size = row});
  }

  /// Some bytes pass, the others are computed.
  void part_update() {
    const TensorId from = draw_tensor();
    const Tensor old = sketch_.at(from);
    if (old.bytes < 4) return unary();
    const Bytes begin = random_.between(0, old.bytes / 2);
    const Bytes size = random_.between(1, old.bytes - begin - 1);
    const TensorId more = draw_tensor();
    const TensorId made = result(old.dtype, *old.shape);
    sketch_.add("Patch", {from, more}, {made}).copies = {
        {.input = 0, .output = 0, .from = begin, .to = begin, .size = size}};
  }

  void several() {
    std::vector<std::optional<TensorId>> inputs{draw_tensor()};
    if (random_.chance(40)) inputs.emplace_back(draw_tensor());
    std::vector<std::optional<TensorId>> outputs;
    for (std::int64_t i = random_.between(2, 3); i > 0; --i) {
      if (random_.chance(12))
        outputs.emplace_back(std::nullopt);
      else
        outputs.emplace_back(result(draw_dtype(), draw_shape()));
    }
    sketch_.add("Several", std::move(inputs), std::move(outputs));
  }

  /// An If with two bodies or a loop with one or two, which read what is around them.
  void control() {
    const bool is_loop = random_.chance(50);
    Graph& graph = sketch_.graph();
    const std::vector<TensorId> around = pool_;
    std::vector<std::optional<TensorId>> inputs{draw_tensor()};
    if (is_loop) inputs.emplace_back(draw_tensor());
    const std::int64_t bodies = is_loop ? random_.between(1, 2) : 2;
    std::vector<std::size_t> indices;
    for (std::int64_t b = 0; b < bodies; ++b) {
      indices.push_back(graph.subgraphs.size());
      graph.subgraphs.push_back(draw_body(around, is_loop));
    }
    Operator& op =
        sketch_.add(is_loop ? "Loop" : "If", std::move(inputs), {result(draw_dtype(), draw_shape())});
    op.bodies = std::move(indices);
    op.body_use = is_loop ? BodyUse::repeated : BodyUse::once;
  }

  Subgraph draw_body(const std::vector<TensorId>& around, bool is_loop) {
    Subgraph body{.name = "body" + std::to_string(sketch_.graph().subgraphs.size())};
    std::vector<TensorId> known = around;
    if (is_loop)
      for (std::int64_t i = random_.between(1, 2); i > 0; --i) {
        body.inputs.push_back(sketch_.tensor("in", draw_dtype(), draw_shape()));
        known.push_back(body.inputs.back());
      }
    for (std::int64_t i = random_.between(1, 3); i > 0; --i) {
      const TensorId from = random_.chance(60) ? known.back() : random_.pick(known);
      const bool is_unary = random_.chance(60);
      const TensorId made = is_unary ? sketch_.tensor("b", sketch_.at(from).dtype, sketch_.shape(from))
                                     : sketch_.tensor("b", draw_dtype(), draw_shape());
      std::vector<std::optional<TensorId>> inputs{from};
      if (!is_unary && random_.chance(50)) inputs.emplace_back(random_.pick(known));
      body.operators.push_back({.name = body.name + "_op" + std::to_string(i),
                                .type = is_unary ? random_.pick(unary_types()) : std::string("Conv"),
                                .inputs = std::move(inputs),
                                .outputs = {made}});
      known.push_back(made);
    }
    body.outputs.push_back(known.back());
    return body;
  }

  void decorate() {
    std::vector<Operator>& operators = sketch_.operators();
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (random_.chance(10)) {
        const TensorId wanted = sketch_.scratch(random_.between(0, 40));
        operators[o].scratch.push_back(wanted);
      }
      if (o > 0 && random_.chance(8)) operators[o].after.push_back(random_.index(o));
    }
    if (random_.chance(8))
      for (Operator& op : operators)
        if (random_.chance(40)) {
          op.stateful = true;
          has_stateful_ = true;
        }
  }

  /// An output becomes an input of the next run.
  void tie() {
    Graph& graph = sketch_.graph();
    for (const TensorId output : graph.subgraphs[0].outputs)
      for (const TensorId input : graph.subgraphs[0].inputs)
        if (graph.ties.empty() && output != input && graph.tensors[output].kind == TensorKind::output &&
            graph.tensors[output].dtype == graph.tensors[input].dtype &&
            graph.tensors[output].shape == graph.tensors[input].shape && is_free_for(output, input))
          graph.ties.push_back({.output = output, .input = input});
  }

  /// Whether all readers of the old state can run before the new one is written.
  bool is_free_for(TensorId output, TensorId input) {
    if (std::find(sketch_.graph().subgraphs[0].outputs.begin(), sketch_.graph().subgraphs[0].outputs.end(),
                  input) != sketch_.graph().subgraphs[0].outputs.end())
      return false;
    std::vector<Operator>& operators = sketch_.operators();
    std::vector<bool> is_later(operators.size(), false);
    for (std::size_t o = 0; o < operators.size(); ++o) {
      const auto reads = [&](TensorId tensor) {
        return std::find(operators[o].inputs.begin(), operators[o].inputs.end(), tensor) !=
               operators[o].inputs.end();
      };
      const auto writes = [&](std::size_t other, std::optional<TensorId> tensor) {
        return tensor && std::find(operators[other].outputs.begin(), operators[other].outputs.end(),
                                   tensor) != operators[other].outputs.end();
      };
      bool is_after = writes(o, output);
      for (std::size_t other = 0; other < o; ++other) {
        if (!is_later[other]) continue;
        for (const auto& read : operators[o].inputs) is_after = is_after || writes(other, read);
        is_after = is_after || std::find(operators[o].after.begin(), operators[o].after.end(), other) !=
                                   operators[o].after.end();
        is_after = is_after || (operators[o].stateful && operators[other].stateful);
      }
      is_later[o] = is_after;
      if (is_after && reads(input)) return false;
    }
    return true;
  }

  Random& random_;
  LayersShape shape_;
  Sketch sketch_;
  std::vector<TensorId> pool_;
  bool has_stateful_ = false;
};

}  // namespace

Graph random_layers(Random& random, const LayersShape& shape) { return LayersDraft(random, shape).draw(); }

}  // namespace stowage::campaign
