// Operators that reduce dimensions, as loops over what is kept around loops over what is reduced: sums and products,
// extremes, and the places of extremes.
//
//     for (i0 = 0; i0 < 4; i0++) {
//       double t = 0.0;
//       for (j0 = 0; j0 < 9; j0++) {
//         const float x = in_0[i0 * 9 + j0];
//         t = t + (double)x;
//       }
//       out[i0] = (float)(t / 9.0);
//     }
//
// Where a plan adds rows one by one, each of them goes on from a result that is kept. Inputs of an output come in their
// own order, as in our own kernels; ONNX sums in float64, which by rows is rounded with each row.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "generate/element_loops.h"
#include "generate/text.h"
#include "kernels/onnx/operands.h"

namespace stowage::generate {
namespace {

using kernels::Operands;
using kernels::refuse;

/// What a reduction computes, in C: t is the result so far, x an element, C their number. An empty text: there is none
/// for that type.
struct Fold {
  std::string_view sum{};  ///< The type of t.
  std::string_view first{};
  std::string_view add{};
  std::string_view finish{};
};

struct FoldRow {
  std::string_view type{};
  Fold real{};     ///< Of float32, and of float64 (as_double).
  Fold integer{};  ///< Of signed integers and uint8; LEAST and MOST are limits of their type.
};

constexpr std::string_view wide_sum = "(int64_t)((uint64_t)t + (uint64_t)x)";
constexpr std::string_view wide_sum_of_sizes = "(int64_t)((uint64_t)t + (uint64_t)(x < 0 ? -(int64_t)x : x))";
constexpr std::string_view wide_sum_of_squares = "(int64_t)((uint64_t)t + (uint64_t)x * (uint64_t)x)";
constexpr std::string_view least_real = "-3.40282347e+38F";
constexpr std::string_view most_real = "3.40282347e+38F";
constexpr Fold larger_integer{"N", "LEAST", "x > t ? x : t", "t"};
constexpr Fold smaller_integer{"N", "MOST", "x < t ? x : t", "t"};

std::vector<FoldRow> folds() {
  return {
      {"ReduceL1",
       {"double", "0.0", "t + fabs((double)x)", "(float)t"},
       {"int64_t", "0", wide_sum_of_sizes, "t"}},
      {"ReduceL2", {"double", "0.0", "t + (double)x * (double)x", "(float)sqrt(t)"}},
      {"ReduceLogSum", {"double", "0.0", "t + (double)x", "(float)log(t)"}},
      {"ReduceMax", {"float", "-INFINITY", "x > t || isnan(x) ? x : t", "t"}, larger_integer},
      {"ReduceMean",
       {"double", "0.0", "t + (double)x", "(float)(t / C)"},
       {"int64_t", "0", wide_sum, "t / C"}},
      {"ReduceMin", {"float", "INFINITY", "x < t || isnan(x) ? x : t", "t"}, smaller_integer},
      {"ReduceProd",
       {"double", "1.0", "t * (double)x", "(float)t"},
       {"int64_t", "1", "(int64_t)((uint64_t)t * (uint64_t)x)", "t"}},
      {"ReduceSum", {"double", "0.0", "t + (double)x", "(float)t"}, {"int64_t", "0", wide_sum, "t"}},
      {"ReduceSumSquare",
       {"double", "0.0", "t + (double)x * (double)x", "(float)t"},
       {"int64_t", "0", wide_sum_of_squares, "t"}},
      {"GlobalMaxPool", {"float", "-INFINITY", "t < x ? x : t", "t"}},
      {"MEAN", {"float", "0.0F", "t + x", "t / C"}},
      {"SUM", {"float", "0.0F", "t + x", "t"}, {"int64_t", "0", wide_sum, "t"}},
      {"REDUCE_PROD",
       {"float", "1.0F", "t * x", "t"},
       {"N", "1", "(int32_t)((uint32_t)t * (uint32_t)x)", "t"}},
      {"REDUCE_MAX", {"float", least_real, "x > t ? x : t", "t"}, larger_integer},
      {"REDUCE_MIN", {"float", most_real, "x < t ? x : t", "t"}, smaller_integer},
  };
}

/// "INT8_MIN"; of uint8, 0.
std::string limit_of_integer(DType dtype, bool is_most) {
  if (dtype == DType::uint8) return is_most ? "UINT8_MAX" : "0";
  const std::string name = upper(c_type(dtype));
  return name.substr(0, name.size() - std::string_view("_T").size()) + (is_most ? "_MAX" : "_MIN");
}

std::vector<bool> reduced_by(const kernels::Signature& signature) {
  const std::size_t rank = signature.inputs.at(0).value().shape.size();
  std::vector<bool> is_reduced(rank, false);
  if (signature.type == "GlobalMaxPool") {
    std::fill(is_reduced.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(rank)),
              is_reduced.end(), true);
    return is_reduced;
  }
  const bool is_onnx = signature.type.starts_with("Reduce");
  std::vector<std::int64_t> axes;
  if (is_onnx) {
    axes = kernels::onnx_ops::integers_at(signature, "axes", 1).value_or(std::vector<std::int64_t>{});
    const bool is_all = axes.empty() && signature.attributes.integer("noop_with_empty_axes", 0) == 0;
    if (is_all) std::fill(is_reduced.begin(), is_reduced.end(), true);
  } else {
    axes = Operands(signature).constants(1, "axes");
  }
  for (const std::int64_t axis : axes) is_reduced[kernels::axis_of(axis, rank)] = true;
  return is_reduced;
}

/// Dimensions of the input that are reduced, or those that are kept.
std::vector<Stretched> dimensions_of(const Shape& shape, const std::vector<bool>& is_reduced, bool wanted) {
  const Shape strides = kernels::strides_of(shape);
  std::vector<Stretched> all;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (is_reduced[d] != wanted || shape[d] == 1) continue;
    if (!all.empty() && all.back().strides[0] == strides[d] * shape[d]) {
      all.back() = {all.back().extent * shape[d], {strides[d]}};
    } else {
      all.push_back({shape[d], {strides[d]}});
    }
  }
  return all;
}

/// Heads of nested loops; adds to the places of an input and, if they are kept, of the output.
struct Nest {
  std::vector<std::string> heads{};
  std::string in{};
  std::string out{};
};

Nest nest_of(Writer& writer, const std::vector<Stretched>& dimensions, char name) {
  Nest nest;
  std::int64_t inner = 1;
  for (const Stretched& it : dimensions) inner *= it.extent;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const std::string index = fmt::format("{}{}", name, d);
    writer.declare(fmt::format("int32_t {};", index));
    nest.heads.push_back(fmt::format("for ({0} = 0; {0} < {1}; {0}++)", index, dimensions[d].extent));
    inner = dimensions[d].extent == 0 ? 0 : inner / dimensions[d].extent;
    nest.in += moved(index, dimensions[d].strides[0]);
    nest.out += moved(index, inner);
  }
  return nest;
}

std::string place(const std::string& terms) {
  return terms.empty() ? "0" : terms.substr(std::string_view(" + ").size());
}

/// Replaces the names that a text of the table has.
std::string filled_in(std::string_view text, DType dtype, std::int64_t count) {
  std::string result;
  for (const std::string& word : words_of(text)) {
    if (word == "N") {
      result += c_type(dtype);
    } else if (word == "C") {
      result += dtype != DType::float32 ? fmt::format("{}", std::max<std::int64_t>(count, 1))
                : text.find("(float)") == std::string_view::npos ? literal(static_cast<float>(count))
                                                                 : fmt::format("{}.0", count);
    } else if (word == "LEAST" || word == "MOST") {
      result += limit_of_integer(dtype, word == "MOST");
    } else {
      result += word;
    }
  }
  if (dtype != DType::float64) return result;
  const auto wide = as_double(result);
  if (!wide) refuse("element type {} is not supported", name_of(dtype));
  return *wide;
}

/// Loops that go on from `begin`, and store `end`.
void write_fold(Writer& writer, const Fold& fold, const Operand& in, const std::vector<bool>& is_reduced,
                const std::string& begin, const std::string& end) {
  expect_countable(in);
  const Nest kept = nest_of(writer, dimensions_of(in.shape, is_reduced, false), 'i');
  const Nest reduced = nest_of(writer, dimensions_of(in.shape, is_reduced, true), 'j');
  const auto at_place = [&](const std::string& text) {
    std::string result = text;
    for (std::size_t at = result.find('@'); at != std::string::npos; at = result.find('@'))
      result.replace(at, 1, place(kept.out));
    return result;
  };
  std::string indent;
  writer.line(fmt::format("const {} *const in_0 = {};", c_type(in.dtype), in.at));
  for (const std::string& head : kept.heads) {
    writer.line(indent + head + " {");
    indent += "  ";
  }
  if (kept.heads.empty()) {
    writer.line("{");
    indent = "  ";
  }
  writer.line(fmt::format("{}{} t = {};", indent, filled_in(fold.sum, in.dtype, 1), at_place(begin)));
  std::string inner = indent;
  for (const std::string& head : reduced.heads) {
    writer.line(inner + head + (&head == &reduced.heads.back() ? " {" : ""));
    inner += "  ";
  }
  if (reduced.heads.empty()) {
    writer.line(inner + "{");
    inner += "  ";
  }
  writer.line(fmt::format("{}const {} x = in_0[{}];", inner, c_type(in.dtype), place(kept.in + reduced.in)));
  writer.line(fmt::format("{}t = {};", inner,
                          fold.sum == "N" ? fmt::format("({})({})", c_type(in.dtype), fold.add)
                                          : at_place(filled_in(fold.add, in.dtype, 1))));
  writer.line(inner.substr(2) + "}");
  writer.line(indent + at_place(end));
  for (std::size_t d = 0; d < std::max<std::size_t>(kept.heads.size(), 1); ++d) {
    indent = indent.substr(2);
    writer.line(indent + "}");
  }
}

/// Rows one by one. Only of float32, whose results so far are kept as such.
void fold_by_rows(Writer& writer, const Fold& fold, const std::vector<bool>& is_reduced,
                  const std::string& finish) {
  const Operand out = writer.output();
  if (out.dtype != DType::float32) refuse("it sums up rows of {}", name_of(out.dtype));
  const std::size_t axis = writer.kind().axis.value();
  const std::int64_t rows = writer.signature().inputs.at(0)->shape[axis];
  writer.loop_over(rows);
  writer.declare_kept(*writer.kind().sums, "float", "sums");
  writer.declare("int32_t i;");
  writer.line(
      fmt::format("for (i = 0; y == 0 && i < {}; i++) sums[i] = (float){};", out.count(), fold.first));
  const Operand row = writer.input_row(0, axis, "y");
  write_fold(writer, fold, row, is_reduced, fold.sum == "double" ? "(double)sums[@]" : "sums[@]",
             fold.sum == "double" ? "sums[@] = (float)t;" : "sums[@] = t;");
  writer.line(fmt::format("for (i = 0; y == {} && i < {}; i++) {{", rows - 1, out.count()));
  writer.line(fmt::format("  const {} t = sums[i];", fold.sum));
  writer.line(fmt::format("  ({})[i] = {};", out.at, finish));
  writer.line("}");
}

const Fold& fold_of(std::string_view type, DType dtype) {
  static const std::vector<FoldRow> all = folds();
  const auto row = std::ranges::find(all, type, &FoldRow::type);
  const bool is_integer = dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int16 ||
                          dtype == DType::int32 || dtype == DType::int64;
  const bool is_real = dtype == DType::float32 || dtype == DType::float64;
  const Fold& fold = is_real ? row->real : row->integer;
  if ((!is_real && !is_integer) || fold.add.empty())
    refuse("element type {} is not supported", name_of(dtype));
  return fold;
}

void emit_fold(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const DType dtype = signature.inputs.at(0).value().dtype;
  if ((signature.type == "MEAN" || signature.type == "SUM") && (is_byte(dtype) || dtype == DType::int16))
    return emit_quantized_mean(writer);
  const Fold& fold = fold_of(signature.type, dtype);
  const std::vector<bool> is_reduced = reduced_by(signature);
  const Shape& shape = signature.inputs[0]->shape;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) count *= is_reduced[d] ? shape[d] : 1;
  const std::string finish = filled_in(fold.finish, dtype, count);
  writer.need_math();
  if (writer.kind().sums) return fold_by_rows(writer, fold, is_reduced, finish);
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  writer.line(fmt::format("{} *const out = {};", c_type(out.dtype), out.at));
  const std::string stored =
      dtype == DType::float32 ? finish : fmt::format("({})({})", c_type(dtype), finish);
  write_fold(writer, fold, in, is_reduced, filled_in(fold.first, dtype, count),
             fmt::format("out[@] = {};", stored));
}

/// First the largest exponent, which is subtracted from all, so that nothing overflows.
void emit_log_of_powers(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const DType dtype = signature.inputs.at(0).value().dtype;
  if (dtype != DType::float32 && dtype != DType::float64)
    refuse("element type {} is not supported", name_of(dtype));
  if (writer.kind().sums) refuse("it sums up rows");
  const std::vector<bool> is_reduced = reduced_by(signature);
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  const auto filled = [&](std::string_view text) { return filled_in(text, dtype, 1); };
  writer.need_math();
  writer.line(fmt::format("{} *const out = {};\n{{", c_type(dtype), out.at));
  write_fold(writer, {"float", "", "x > t ? x : t", ""}, in, is_reduced, "-INFINITY", "out[@] = t;");
  writer.line("}");
  write_fold(writer, {"double", "", "t + exp((double)x - (double)out[@])", ""}, in, is_reduced, "0.0",
             filled("if (!isinf(out[@])) out[@] = (float)((double)out[@] + log(t));"));
}

/// ArgMax, ARG_MAX and their like.
void emit_place_of_extreme(Writer& writer) {
  const kernels::Signature& signature = writer.seen();
  const std::string_view type = signature.type;
  const bool is_onnx = type.starts_with("Arg");
  const bool is_most = type == "ArgMax" || type == "ARG_MAX";
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  expect_countable(in);
  const std::int64_t given =
      is_onnx ? signature.attributes.integer("axis", 0) : Operands(signature).constants(1, "axis").at(0);
  const std::size_t axis = kernels::axis_of(given, in.shape.size());
  const bool is_last = is_onnx && signature.attributes.integer("select_last_index", 0) != 0;
  const std::int64_t size = in.shape[axis];
  const std::int64_t inner = kernels::count_of(in.shape, axis + 1, in.shape.size());
  writer.declare("int32_t i, j, best;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{",
                          kernels::count_of(in.shape) / std::max<std::int64_t>(size, 1)));
  writer.line(fmt::format("  const {} *const from = {} + i / {} * {} + i % {};", c_type(in.dtype), in.at,
                          inner, size * inner, inner));
  writer.line("  best = 0;");
  writer.line(
      fmt::format("  for (j = 1; j < {0}; j++)\n    if (from[j * {1}] {2} from[best * {1}]) best = j;", size,
                  inner, is_most ? (is_last ? ">=" : ">") : (is_last ? "<=" : "<")));
  writer.line(fmt::format("  ({})[i] = best;", out.at));
  writer.line("}");
}

}  // namespace

EmitPart folding_operators() {
  EmitPart part{{"ArgMax", emit_place_of_extreme},
                {"ArgMin", emit_place_of_extreme},
                {"ReduceLogSumExp", emit_log_of_powers},
                {"ARG_MAX", emit_place_of_extreme},
                {"ARG_MIN", emit_place_of_extreme}};
  for (const FoldRow& it : folds()) part.push_back({it.type, emit_fold});
  return part;
}

}  // namespace stowage::generate
