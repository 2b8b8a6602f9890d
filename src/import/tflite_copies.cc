// For each operator that only moves data, reads its axis, begin, sizes or order from its options and
// from inputs with data in the file; CopyFinder (copies.cc) does the rest. If one of them is not in the file,
// the operator must copy.
//
// Scale and zero point define the meaning of a quantized tensor's bytes. An operator between tensors that
// differ in them computes new bytes, so each operand is compared: inputs of a concat that agree with the
// output still have copies. A fused activation computes, too.
//
// Cost: operands * (dimensions + scales). Source: the document of docs/free-list.md, paragraphs 150 to 165,
// and the public schema. TFLite's kernels decide where the schema is silent: a shrunk axis of a strided slice
// has extent 1 whatever its end, and a tensor has a quantization only if it has scales and zero points.

#include "import/tflite_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "import/copies.h"
#include "import/tflite_tables.h"

namespace stowage::import {
namespace {

using tflite::BuiltinOperator;

/// The quantization of a tensor; null if it has none.
const tflite::QuantizationParameters* quantization_of(const tflite::Tensor& tensor) {
  const tflite::QuantizationParameters* const it = tensor.quantization();
  if (it == nullptr) return nullptr;
  const bool has_parameters = count(it->scale()) > 0 && count(it->zero_point()) > 0;
  return has_parameters || it->details_type() != 0 ? it : nullptr;
}

bool is_same(const tflite::QuantizationParameters* a, const tflite::QuantizationParameters* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a->details_type() != 0 || b->details_type() != 0) return false;
  const auto equal = [](const auto* x, const auto* y) {
    return std::equal(x->begin(), x->end(), y->begin(), y->end());
  };
  return equal(a->scale(), b->scale()) && equal(a->zero_point(), b->zero_point()) &&
         (count(a->scale()) == 1 || a->quantized_dimension() == b->quantized_dimension());
}

std::string show(const tflite::QuantizationParameters* it) {
  if (it == nullptr) return "no scale";
  if (it->details_type() != 0) return "a quantization of its own kind";
  if (count(it->scale()) > 1)
    return fmt::format("{} scales on dimension {}", count(it->scale()), it->quantized_dimension());
  return fmt::format("scale {} and zero point {}", it->scale()->Get(0), it->zero_point()->Get(0));
}

/// An operator under inspection.
class Mover {
 public:
  Mover(const TfliteScope& scope, const tflite::Operator& source, const Graph& graph, Operator& op,
        const char* name)
      : scope_(scope),
        source_(source),
        graph_(graph),
        op_(op),
        name_(name),
        finder_(graph, op, name,
                [this](std::size_t input, std::size_t output) { return difference(input, output); }) {}

  void whole() { finder_.pass_whole(); }
  void if_equal() { finder_.pass_if_equal(); }

  /// A cast to another type computes, so it does not move data.
  void cast() {
    if (op_.inputs.empty() || op_.outputs.empty() || !op_.inputs[0] || !op_.outputs[0]) return;
    if (graph_.tensors[*op_.inputs[0]].dtype == graph_.tensors[*op_.outputs[0]].dtype) whole();
  }

  void transpose() {
    if (const auto order = constant(1, "order")) finder_.transpose(*order);
  }

  void concatenation() {
    const auto* const options = expect(source_.builtin_options_as_ConcatenationOptions());
    if (options == nullptr) return;
    const auto activation = options->fused_activation_function();
    if (activation == tflite::ActivationFunctionType::NONE) {
      finder_.concatenate(options->axis());
    } else {
      const std::string name = tflite::EnumNameActivationFunctionType(activation);
      finder_.refuse("fused activation " +
                     (name.empty() ? std::to_string(static_cast<int>(activation)) : name));
    }
  }

  void pack() {
    if (const auto* const options = expect(source_.builtin_options_as_PackOptions()))
      finder_.stack(options->axis());
  }

  void unpack() {
    if (const auto* const options = expect(source_.builtin_options_as_UnpackOptions()))
      finder_.unstack(options->axis());
  }

  void split() {
    if (const auto axis = constant_axis(0)) finder_.split(1, *axis, std::nullopt);
  }

  /// One of the sizes may be -1: the remaining extent.
  void split_v() {
    const auto axis = constant_axis(2);
    auto sizes = axis ? constant(1, "sizes") : std::nullopt;
    const auto shape = sizes ? finder_.input_shape(0) : std::nullopt;
    const auto at = shape ? finder_.axis_of(*axis, shape->size()) : std::nullopt;
    if (!at) return;
    const auto open = std::ranges::find(*sizes, -1);
    if (open != sizes->end()) {
      *open = (*shape)[*at];
      for (auto size = sizes->begin(); size != sizes->end(); ++size)
        if (size != open && *size >= 0) *open -= std::min(*size, *open);
    }
    finder_.split(0, *axis, sizes);
  }

  void slice() {
    const auto begin = constant(1, "begin");
    const auto size = begin ? constant(2, "size") : std::nullopt;
    const auto shape = size ? finder_.input_shape(0) : std::nullopt;
    if (!shape || !expect_entries(*begin, shape->size(), true) || !expect_entries(*size, shape->size(), true))
      return;
    Region region{.start = *begin, .extent = *size};
    for (std::size_t d = 0; d < shape->size(); ++d) {
      if (region.extent[d] == -1 && region.start[d] >= 0) region.extent[d] = (*shape)[d] - region.start[d];
    }
    finder_.take(region);
  }

  void strided_slice() {
    const auto* const options = expect(source_.builtin_options_as_StridedSliceOptions());
    if (options == nullptr) return;
    if (options->ellipsis_mask() != 0 || options->new_axis_mask() != 0 || options->offset()) {
      finder_.refuse("strided slice with an ellipsis, a new axis or an end that counts from the begin");
      return;
    }
    const auto begin = constant(1, "begin");
    const auto end = begin ? constant(2, "end") : std::nullopt;
    const auto strides = end ? constant(3, "strides") : std::nullopt;
    const auto shape = strides ? finder_.input_shape(0) : std::nullopt;
    if (!shape || !expect_entries(*begin, shape->size(), false) ||
        !expect_entries(*end, begin->size(), true) || !expect_entries(*strides, begin->size(), true))
      return;
    Region region{.start = Shape(shape->size(), 0), .extent = *shape};
    for (std::size_t d = 0; d < begin->size(); ++d) {
      const auto range = range_on(d, *options, {(*begin)[d], (*end)[d], (*strides)[d]}, (*shape)[d]);
      if (!range) return;
      region.start[d] = range->first;
      region.extent[d] = range->second;
    }
    finder_.take(region);
  }

  void gather() {
    const auto* const options = expect(source_.builtin_options_as_GatherOptions());
    const auto shape = options != nullptr ? finder_.input_shape(1) : std::nullopt;
    if (!shape) return;
    const Bytes indices = bytes_of(DType::int8, *shape);
    if (indices != 1 || options->batch_dims() != 0) {
      finder_.refuse(
          fmt::format("gather at {} indices in {} batch dimensions", indices, options->batch_dims()));
    } else if (const auto index = constant(1, "index")) {
      finder_.take_index(options->axis(), index->front());
    }
  }

 private:
  struct Stride {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t stride = 1;
  };

  /// Start and extent of a strided slice on a dimension of that many elements.
  std::optional<std::pair<std::int64_t, std::int64_t>> range_on(std::size_t d,
                                                                const tflite::StridedSliceOptions& options,
                                                                const Stride& it, std::int64_t elements) {
    const auto is_set = [&](std::int32_t mask) {
      return d < 32 && ((static_cast<std::uint32_t>(mask) >> d) & 1U) != 0;
    };
    const auto from_front = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + elements : at, 0, elements);
    };
    const bool is_shrunk = is_set(options.shrink_axis_mask());
    const bool starts_at_front = is_set(options.begin_mask());
    if (is_shrunk && !starts_at_front) return std::pair{from_front(it.begin), std::int64_t{1}};
    const std::int64_t start = starts_at_front ? 0 : from_front(it.begin);
    const std::int64_t end = is_set(options.end_mask()) ? elements : from_front(it.end);
    const std::int64_t extent = std::max<std::int64_t>(end - start, 0);
    if (!is_shrunk && (it.stride == 1 || (it.stride > 1 && extent <= it.stride)))
      return std::pair{start, std::min(extent, it.stride == 1 ? extent : 1)};
    finder_.refuse(is_shrunk ? fmt::format("strided slice that shrinks axis {} and masks its begin", d)
                             : fmt::format("strided slice by steps of {} on axis {}", it.stride, d));
    return std::nullopt;
  }

  template <typename Options>
  const Options* expect(const Options* options) {
    if (options == nullptr) finder_.refuse(name_ + " without the options that name its axis");
    return options;
  }

  bool expect_entries(const Shape& entries, std::size_t expected, bool is_exact) {
    if (entries.size() == expected || (!is_exact && entries.size() < expected)) return true;
    finder_.refuse(fmt::format("{} with {} entries for {} dimensions", name_, entries.size(), expected));
    return false;
  }

  [[nodiscard]] const tflite::Tensor& tensor(TensorId id) const {
    return at(scope_.subgraph.tensors(), id - scope_.first_tensor);
  }

  /// The difference between an input's quantization and an output's, in words.
  [[nodiscard]] std::string difference(std::size_t input, std::size_t output) const {
    const auto* const from = quantization_of(tensor(*op_.inputs[input]));
    const auto* const to = quantization_of(tensor(*op_.outputs[output]));
    for (const auto* const it : {from, to}) {
      if (it != nullptr)
        scope_.spend(count(it->scale()) * sizeof(float) + count(it->zero_point()) * sizeof(std::int64_t));
    }
    if (is_same(from, to)) return "";
    const std::string target = op_.outputs.size() == 1 ? "the output" : fmt::format("output {}", output);
    return fmt::format("input {} has {}, {} {}", input, show(from), target, show(to));
  }

  /// The integers of an input with data in the file; refuses others.
  std::optional<Shape> constant(std::size_t input, std::string_view what) {
    const auto numbers =
        input < op_.inputs.size() && op_.inputs[input] ? numbers_of(*op_.inputs[input]) : std::nullopt;
    if (!numbers) finder_.refuse(fmt::format("{} without constant {}", name_, what));
    return numbers;
  }

  std::optional<std::int64_t> constant_axis(std::size_t input) {
    const auto axis = constant(input, "axis");
    if (!axis) return std::nullopt;
    if (axis->size() == 1) return axis->front();
    finder_.refuse(fmt::format("{} on {} axes", name_, axis->size()));
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Shape> numbers_of(TensorId id) const {
    const Tensor& it = graph_.tensors[id];
    if (it.kind != TensorKind::weight || !it.shape) return std::nullopt;
    const auto value = value_of(scope_.model, scope_.file, tensor(id), *it.shape, scope_.spend);
    if (!value || value->is_real()) return std::nullopt;
    return value->integers;
  }

  const TfliteScope& scope_;
  const tflite::Operator& source_;
  const Graph& graph_;
  Operator& op_;
  std::string name_;
  CopyFinder finder_;
};

struct Rule {
  void (Mover::*apply)();
  const char* name;
};

std::optional<Rule> rule_of(BuiltinOperator builtin) {
  switch (builtin) {
    case BuiltinOperator::RESHAPE:
      return Rule{&Mover::whole, "reshape"};
    case BuiltinOperator::SQUEEZE:
      return Rule{&Mover::whole, "squeeze"};
    case BuiltinOperator::EXPAND_DIMS:
      return Rule{&Mover::whole, "expand dims"};
    case BuiltinOperator::CAST:
      return Rule{&Mover::cast, "cast"};
    case BuiltinOperator::BROADCAST_TO:
      return Rule{&Mover::if_equal, "broadcast"};
    case BuiltinOperator::TILE:
      return Rule{&Mover::if_equal, "tile"};
    case BuiltinOperator::TRANSPOSE:
      return Rule{&Mover::transpose, "transpose"};
    case BuiltinOperator::CONCATENATION:
      return Rule{&Mover::concatenation, "concat"};
    case BuiltinOperator::PACK:
      return Rule{&Mover::pack, "pack"};
    case BuiltinOperator::UNPACK:
      return Rule{&Mover::unpack, "unpack"};
    case BuiltinOperator::SPLIT:
      return Rule{&Mover::split, "split"};
    case BuiltinOperator::SPLIT_V:
      return Rule{&Mover::split_v, "split"};
    case BuiltinOperator::SLICE:
      return Rule{&Mover::slice, "slice"};
    case BuiltinOperator::STRIDED_SLICE:
      return Rule{&Mover::strided_slice, "strided slice"};
    case BuiltinOperator::GATHER:
      return Rule{&Mover::gather, "gather"};
    default:
      return std::nullopt;
  }
}

}  // namespace

void find_copies(const TfliteScope& scope, const tflite::Operator& source, BuiltinOperator builtin,
                 const Graph& graph, Operator& op) {
  if (const auto rule = rule_of(builtin)) (Mover(scope, source, graph, op, rule->name).*rule->apply)();
}

}  // namespace stowage::import
