// Small graphs of ordinary operators compute shapes: Shape, Gather, Concat, Mul, ... With every
// dimension bound, their operands are known numbers. The few operators that occur in them are computed here,
// element by element, as ONNX defines them. Unusual cases (large, of another type, overflowing) are left
// unknown: then the shape stays open and the user is asked. Cost: linear in elements, of which there are at
// most `most_elements`. Source: the ONNX operator specification.

#include "import/onnx_evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "base/checked.h"
#include "import/onnx_evaluation.h"

namespace stowage::import {
namespace evaluation {  // short names of operators, which the rules of shapes have too

std::size_t broadcast_index(std::size_t index, const Shape& result, const Shape& operand) {
  std::size_t at = 0;
  std::size_t stride = 1;
  for (std::size_t d = 0; d < result.size(); ++d) {
    const auto extent = static_cast<std::size_t>(result[result.size() - 1 - d]);
    const std::size_t coordinate = index % extent;
    index /= extent;
    if (d >= operand.size()) continue;
    const auto own = static_cast<std::size_t>(operand[operand.size() - 1 - d]);
    at += (own == 1 ? 0 : coordinate) * stride;
    stride *= own;
  }
  return at;
}

bool broadcasts_to(const Shape& operand, const Shape& result) {
  if (operand.size() > result.size()) return false;
  for (std::size_t d = 0; d < operand.size(); ++d) {
    const std::int64_t own = operand[operand.size() - 1 - d];
    if (own != 1 && own != result[result.size() - 1 - d]) return false;
  }
  return true;
}

namespace {

using Integer = std::optional<std::int64_t>;

bool copy(Evaluation& it) {
  if (!it.has(0) || it.in(0).size() != it.count || it.in(0).is_real() != it.result.is_real()) return false;
  it.result.integers = it.in(0).integers;
  it.result.reals = it.in(0).reals;
  return true;
}

/// Whether an integer type of at most 32 bits has the number; others have all.
bool is_in_range(std::int64_t number, int type) {
  const auto is_in = [number]<typename Type>(Type) {
    return number >= std::numeric_limits<Type>::min() && number <= std::numeric_limits<Type>::max();
  };
  switch (type) {
    case element::int8:
      return is_in(std::int8_t{});
    case element::uint8:
      return is_in(std::uint8_t{});
    case element::int16:
      return is_in(std::int16_t{});
    case element::uint16:
      return is_in(std::uint16_t{});
    case element::int32:
      return is_in(std::int32_t{});
    case element::uint32:
      return is_in(std::uint32_t{});
    default:
      return true;
  }
}

bool compute_cast(Evaluation& it) {
  if (!it.has(0) || it.in(0).size() != it.count) return false;
  if (it.in(0).is_real() && it.result.is_real()) return copy(it);
  const int type = it.result.elem_type;
  if (!it.in(0).is_real() && !it.result.is_real()) {
    for (const std::int64_t number : it.in(0).integers) {
      if (type != element::boolean && !is_in_range(number, type)) return false;
      it.result.integers.push_back(type == element::boolean ? (number != 0 ? 1 : 0) : number);
    }
    return true;
  }
  if (it.result.is_real()) {
    it.result.reals.assign(it.in(0).integers.begin(), it.in(0).integers.end());
    return true;
  }
  for (const double real : it.in(0).reals) {
    if (!(std::abs(real) < static_cast<double>(largest_value))) return false;
    it.result.integers.push_back(type == element::boolean ? (real != 0 ? 1 : 0)
                                                          : static_cast<std::int64_t>(real));
  }
  return true;
}

/// Computes element by element over broadcast operands: integers or reals like the operands.
template <typename OnIntegers, typename OnReals>
bool binary(Evaluation& it, const OnIntegers& on_integers, const OnReals& on_reals) {
  if (it.inputs.size() != 2 || !it.has(0) || !it.has(1) || it.in(0).is_real() != it.in(1).is_real())
    return false;
  const Value& a = it.in(0);
  const Value& b = it.in(1);
  if (!broadcasts_to(a.shape, it.result.shape) || !broadcasts_to(b.shape, it.result.shape)) return false;
  for (std::size_t i = 0; i < it.count; ++i) {
    const std::size_t ai = broadcast_index(i, it.result.shape, a.shape);
    const std::size_t bi = broadcast_index(i, it.result.shape, b.shape);
    if (it.result.is_real()) {
      it.result.reals.push_back(on_reals(a.reals[ai], b.reals[bi]));
    } else {
      const Integer integer = a.is_real()
                                  ? Integer(static_cast<std::int64_t>(on_reals(a.reals[ai], b.reals[bi])))
                                  : on_integers(a.integers[ai], b.integers[bi]);
      if (!integer) return false;
      it.result.integers.push_back(*integer);
    }
  }
  return true;
}

Integer divide(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a < -largest_value)) return std::nullopt;
  return a / b;
}

Integer modulo(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? Integer{} : Integer{0};
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

template <typename Compare>
bool compare(Evaluation& it, const Compare& holds) {
  // Both kinds of operands give a truth value, 1 or 0; for reals it is first computed as a real.
  return binary(
      it, [&](std::int64_t a, std::int64_t b) { return Integer(holds(a, b) ? 1 : 0); },
      [&](double a, double b) { return holds(a, b) ? 1.0 : 0.0; });
}

template <typename OnInteger, typename OnReal>
bool unary(Evaluation& it, const OnInteger& on_integer, const OnReal& on_real) {
  if (!copy(it)) return false;
  for (std::int64_t& integer : it.result.integers) integer = on_integer(integer);
  for (double& real : it.result.reals) real = on_real(real);
  return true;
}

bool where(Evaluation& it) {
  if (!it.has(0) || !it.has(1) || !it.has(2) || it.in(0).is_real() || it.result.is_real()) return false;
  for (std::size_t input = 0; input < 3; ++input) {
    if (it.in(input).is_real() || !broadcasts_to(it.in(input).shape, it.result.shape)) return false;
  }
  for (std::size_t i = 0; i < it.count; ++i) {
    const bool condition = it.in(0).integers[broadcast_index(i, it.result.shape, it.in(0).shape)] != 0;
    const Value& chosen = it.in(condition ? 1 : 2);
    it.result.integers.push_back(chosen.integers[broadcast_index(i, it.result.shape, chosen.shape)]);
  }
  return true;
}

bool compute_constant_of_shape(Evaluation& it) {
  Value fill{.elem_type = element::float32, .shape = {1}, .integers = {}, .reals = {0.0}};
  for (const wire::AttributeProto& attribute : it.node.attribute) {
    const auto* const tensor = attribute.get<wire::AttributeProto::Tensor>();
    if (attribute.name != "value" || tensor == nullptr) continue;
    const auto given = value_of(**tensor, *it.files);
    if (!given || given->size() != 1) return false;
    fill = *given;
  }
  if (fill.is_real() != it.result.is_real()) return false;
  if (fill.is_real()) {
    it.result.reals.assign(it.count, fill.reals[0]);
  } else {
    it.result.integers.assign(it.count, fill.integers[0]);
  }
  return true;
}

bool compute_range(Evaluation& it) {
  if (!it.has(0) || !it.has(2) || it.in(0).integers.size() != 1 || it.in(2).integers.size() != 1)
    return false;
  for (std::size_t i = 0; i < it.count; ++i) {
    const auto offset = base::checked_multiply(static_cast<std::int64_t>(i), it.in(2).integers[0]);
    const Integer element = offset ? base::checked_add(it.in(0).integers[0], *offset) : std::nullopt;
    if (!element) return false;
    it.result.integers.push_back(*element);
  }
  return true;
}

/// Reduces everything to one element.
template <typename Combine>
bool compute_reduce(Evaluation& it, const Combine& combine) {
  if (!it.has(0) || it.count != 1 || it.in(0).integers.empty() || it.result.is_real()) return false;
  Integer total = it.in(0).integers[0];
  for (std::size_t i = 1; i < it.in(0).integers.size() && total; ++i)
    total = combine(*total, it.in(0).integers[i]);
  if (!total) return false;
  it.result.integers = {*total};
  return true;
}

bool compute_constant(Evaluation& it) {
  for (const wire::AttributeProto& attribute : it.node.attribute) {
    const auto* const tensor = attribute.get<wire::AttributeProto::Tensor>();
    if (attribute.name == "value" && tensor != nullptr) {
      auto value = value_of(**tensor, *it.files);
      if (!value) return false;
      it.result = *std::move(value);
      return true;
    }
    if (const auto* const integer = attribute.get<std::int64_t>()) it.result.integers = {*integer};
    if (const auto* const integers = attribute.get<Shape>()) it.result.integers = *integers;
    if (const auto* const real = attribute.get<float>()) it.result.reals = {*real};
    if (const auto* const reals = attribute.get<std::vector<float>>())
      it.result.reals.assign(reals->begin(), reals->end());
  }
  return it.result.size() == it.count;
}

/// Of a list from its first element on.
bool compute_running_sum(Evaluation& it) {
  if (!it.has(0) || it.in(0).is_real() || it.in(0).shape.size() != 1 || it.attribute("exclusive", 0) != 0 ||
      it.attribute("reverse", 0) != 0)
    return false;
  Integer total = 0;
  for (const std::int64_t integer : it.in(0).integers) {
    total = base::checked_add(*total, integer);
    if (!total) return false;
    it.result.integers.push_back(*total);
  }
  return true;
}

bool compute_is_nan(Evaluation& it) {
  if (!it.has(0) || !it.in(0).is_real()) return false;
  for (const double real : it.in(0).reals) it.result.integers.push_back(std::isnan(real) ? 1 : 0);
  return true;
}

Integer subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? Integer{} : Integer{difference};
}

Integer least(std::int64_t a, std::int64_t b) { return std::min(a, b); }
Integer greatest(std::int64_t a, std::int64_t b) { return std::max(a, b); }
std::int64_t negated(std::int64_t a) { return a == std::numeric_limits<std::int64_t>::min() ? a : -a; }
std::int64_t unchanged(std::int64_t a) { return a; }

using EvaluationRule = bool (*)(Evaluation& it);

const std::unordered_map<std::string_view, EvaluationRule>& rules() {
  static const std::unordered_map<std::string_view, EvaluationRule> table{
      {"Constant", compute_constant},
      {"ConstantOfShape", compute_constant_of_shape},
      {"Identity", copy},
      {"Squeeze", copy},
      {"Unsqueeze", copy},
      {"Reshape", copy},
      {"Flatten", copy},
      {"Cast", compute_cast},
      {"CastLike", compute_cast},
      {"ArgMax", [](Evaluation& it) { return compute_place_of_extreme(it, 1); }},
      {"ArgMin", [](Evaluation& it) { return compute_place_of_extreme(it, -1); }},
      {"Clip", compute_clip},
      {"Compress", compute_compress},
      {"CumSum", compute_running_sum},
      {"NonZero", compute_places_of_nonzero},
      {"ReverseSequence", compute_reversed_sequences},
      {"TopK", compute_top},
      {"Trilu", compute_triangle},
      {"Unique", compute_unique},
      {"Gather", compute_gather},
      {"GatherElements", compute_gather_elements},
      {"GatherND", compute_gather_slices},
      {"Pad", compute_pad},
      {"ScatterElements", compute_scatter_elements},
      {"ScatterND", compute_scatter_slices},
      {"Tile", compute_tile},
      {"Slice", compute_slice},
      {"Concat", compute_concat},
      {"Expand", compute_expand},
      {"Transpose", compute_transpose},
      {"Where", where},
      {"Range", compute_range},
      {"Add", [](Evaluation& it) { return binary(it, base::checked_add, std::plus<double>()); }},
      {"Sub", [](Evaluation& it) { return binary(it, subtract, std::minus<double>()); }},
      {"Mul", [](Evaluation& it) { return binary(it, base::checked_multiply, std::multiplies<double>()); }},
      {"Div", [](Evaluation& it) { return binary(it, divide, std::divides<double>()); }},
      {"Mod",
       [](Evaluation& it) { return binary(it, modulo, [](double a, double b) { return std::fmod(a, b); }); }},
      {"Min",
       [](Evaluation& it) { return binary(it, least, [](double a, double b) { return std::min(a, b); }); }},
      {"Max",
       [](Evaluation& it) {
         return binary(it, greatest, [](double a, double b) { return std::max(a, b); });
       }},
      {"Equal",
       [](Evaluation& it) { return compare(it, [](auto a, auto b) { return !(a < b) && !(b < a); }); }},
      {"Less", [](Evaluation& it) { return compare(it, [](auto a, auto b) { return a < b; }); }},
      {"Greater", [](Evaluation& it) { return compare(it, [](auto a, auto b) { return a > b; }); }},
      {"LessOrEqual", [](Evaluation& it) { return compare(it, [](auto a, auto b) { return a <= b; }); }},
      {"GreaterOrEqual", [](Evaluation& it) { return compare(it, [](auto a, auto b) { return a >= b; }); }},
      {"And", [](Evaluation& it) { return compare(it, [](auto a, auto b) { return a > 0 && b > 0; }); }},
      {"Or", [](Evaluation& it) { return compare(it, [](auto a, auto b) { return a > 0 || b > 0; }); }},
      {"Xor", [](Evaluation& it) { return compare(it, [](auto a, auto b) { return (a > 0) != (b > 0); }); }},
      {"IsNaN", compute_is_nan},
      {"Abs",
       [](Evaluation& it) {
         return unary(
             it, [](std::int64_t a) { return a < 0 ? negated(a) : a; }, [](double a) { return std::abs(a); });
       }},
      {"Round",
       [](Evaluation& it) { return unary(it, unchanged, [](double a) { return std::nearbyint(a); }); }},
      {"Not",
       [](Evaluation& it) {
         return unary(
             it, [](std::int64_t a) -> std::int64_t { return a == 0 ? 1 : 0; }, [](double a) { return a; });
       }},
      {"Neg", [](Evaluation& it) { return unary(it, negated, std::negate<double>()); }},
      {"Floor", [](Evaluation& it) { return unary(it, unchanged, [](double a) { return std::floor(a); }); }},
      {"Ceil", [](Evaluation& it) { return unary(it, unchanged, [](double a) { return std::ceil(a); }); }},
      {"Sqrt", [](Evaluation& it) { return unary(it, unchanged, [](double a) { return std::sqrt(a); }); }},
      {"ReduceProd", [](Evaluation& it) { return compute_reduce(it, base::checked_multiply); }},
      {"ReduceSum", [](Evaluation& it) { return compute_reduce(it, base::checked_add); }},
      {"ReduceMin", [](Evaluation& it) { return compute_reduce(it, least); }},
      {"ReduceMax", [](Evaluation& it) { return compute_reduce(it, greatest); }},
  };
  return table;
}

}  // namespace
}  // namespace evaluation

std::optional<Value> evaluate(const wire::NodeProto& node, std::span<const Value* const> inputs,
                              const Shape& output_shape, int output_type, NearbyFiles& files,
                              std::size_t output) {
  const auto rule = evaluation::rules().find(node.op_type);
  const auto count = small_count(output_type, output_shape);
  if (rule == evaluation::rules().end() || !count) return std::nullopt;
  evaluation::Evaluation it{
      node,   inputs, &files, {.elem_type = output_type, .shape = output_shape, .integers = {}, .reals = {}},
      *count, output};
  if (!rule->second(it) || it.result.size() != *count) return std::nullopt;
  const auto fits = [&](std::int64_t number) { return evaluation::is_in_range(number, output_type); };
  if (output_type != element::boolean && !std::ranges::all_of(it.result.integers, fits)) return std::nullopt;
  return std::move(it.result);
}

std::optional<Value> shape_value(const Type& type, const wire::NodeProto& node) {
  if (!type.dims) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(type.dims->size());
  const evaluation::Evaluation attributes{node, {}};
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
  };
  const std::int64_t begin = clamped(attributes.attribute("start", 0));
  const std::int64_t end = clamped(attributes.attribute("end", rank));
  Value value{.elem_type = element::int64,
              .shape = {std::max<std::int64_t>(end - begin, 0)},
              .integers = {},
              .reals = {}};
  for (std::int64_t d = begin; d < end; ++d) {
    const Dim& dimension = (*type.dims)[static_cast<std::size_t>(d)];
    if (!dimension) return std::nullopt;
    value.integers.push_back(*dimension);
  }
  return value;
}

std::optional<Value> size_value(const Type& type) {
  const auto shape = concrete_shape(type.dims);
  if (!shape) return std::nullopt;
  return Value{
      .elem_type = element::int64, .shape = {}, .integers = {bytes_of(DType::int8, *shape)}, .reals = {}};
}

}  // namespace stowage::import
