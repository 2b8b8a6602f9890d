// The rows that each type of operator reads for a row of its output. The rule of a type is a function from
// (operator, input, axis of the output) to rows of the input; a type without a rule runs as a whole. Rules
// need not be exact, but must name every row that is read: one too many costs bytes, one too few makes a
// wrong plan. A rule that does not know its operator fully answers that it reads everything. It answers that
// rows share an input only if all rows certainly read it alike, since then a kernel for a single row may run.

#include "model/row_rules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>

#include "base/checked.h"
#include "model/in_place.h"
#include "model/row_readings.h"

namespace stowage::model {
namespace {

using namespace std::string_view_literals;
using Rule = Reading (*)(const Site&, std::size_t input, std::size_t axis);

/// Whether a kernel for one row computes each of the rows. Never if the operator depends on the number of a
/// row or of all rows: places in the whole tensor, or scales that follow from extents.
enum class Alike : std::uint8_t { never, where_same_rows };

struct RowRule {
  Rule reads = nullptr;
  Alike alike = Alike::where_same_rows;
};

/// Before operator set 7 a second input could be placed at an axis, and slopes were those of channels.
bool is_put_elsewhere(const Site& site, std::size_t input) {
  if (is_tflite(site) || site.version() >= 7 || input != 1) return false;
  return site.attributes().has("axis") || (site.type() == "PRelu" && site.input_shape(1).size() == 1);
}

/// Parameters after the first input: a number, one for each place along an axis, or for each block of places.
Reading with_parameters(const Site& site, std::size_t input, std::size_t axis, std::int64_t otherwise) {
  const Shape in = site.input_shape(input);
  const std::size_t rank = site.output_shape().size();
  if (input == 0 || in.size() == rank) return elementwise(site, input, axis);
  if (count(in, 0, in.size()) == 1) return shared();
  const auto own = axis_attribute(site, otherwise, rank);
  if (!own || in.size() != 1) return all();
  return axis == *own ? same_row(0) : shared();
}

Reading normalized(const Site& site, std::size_t input, std::size_t axis) {
  constexpr std::int64_t channels = 1;
  return with_parameters(site, input, axis, channels);
}

Reading quantized(const Site& site, std::size_t input, std::size_t axis) {
  constexpr std::int64_t otherwise = 1;
  return with_parameters(site, input, axis, otherwise);
}

// Products

/// The matrices are the last two dimensions; those before are a batch.
Reading factor(const Site& site, std::size_t input, bool is_left, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const std::size_t rank = site.output_shape().size();
  if (in.size() < 2 || rank < 2) return all();
  if (axis + 2 < rank) return elementwise(site, input, axis);
  const bool is_row = axis + 2 == rank;
  if (is_row != is_left) return shared();
  const char* const flag = is_tflite(site) ? (is_left ? "adj_x" : "adj_y") : (is_left ? "transA" : "transB");
  const bool is_transposed = site.attributes().integer(flag, 0) != 0;
  return same_row(in.size() - (is_row != is_transposed ? 2 : 1));
}

Reading matrix_product(const Site& site, std::size_t input, std::size_t axis) {
  return input > 1 ? all() : factor(site, input, input == 0, axis);
}

/// Scales and zero points of a product: one, or one for each of its rows (left) or columns (right).
Reading scale_of_factor(const Site& site, std::size_t input, bool is_left, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const std::size_t rank = site.output_shape().size();
  if (count(in, 0, in.size()) == 1) return shared();
  if (in.size() != 1 || rank < 2) return all();
  return axis + (is_left ? 2 : 1) == rank ? same_row(0) : shared();
}

/// a, b, zero point of a, zero point of b.
Reading integer_product(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_left = input % 2 == 0;
  return input < 2 ? factor(site, input, is_left, axis) : scale_of_factor(site, input, is_left, axis);
}

/// a, its scale, its zero point; the same of b; the scale and zero point of the output.
Reading quantized_product(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_left = input < 3;
  return input % 3 == 0 && input < 6 ? factor(site, input, is_left, axis)
                                     : scale_of_factor(site, input, is_left, axis);
}

Reading gemm(const Site& site, std::size_t input, std::size_t axis) {
  return input == 2 ? elementwise(site, input, axis) : matrix_product(site, input, axis);
}

/// The input is a matrix whose rows are as long as those of the weights.
Reading fully_connected(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  const Shape out = site.output_shape();
  const bool is_alike =
      in.size() == out.size() && axis + 1 < out.size() && std::equal(in.begin(), in.end() - 1, out.begin());
  if (input != 0) return shared();
  return is_alike ? same_row(axis) : all();
}

// Along an axis

/// Embeddings: a table, and a row for every index.
Reading gather(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_first = site.attributes().integer("axis", 0) == 0;
  if (input == 0) return shared();
  return is_first && axis < site.input_shape(1).size() ? same_row(axis) : all();
}

/// The scale and zero point of the output; then each input with its own.
Reading quantized_concat(const Site& site, std::size_t input, std::size_t axis) {
  const auto own = axis_attribute(site, 0, site.output_shape().size());
  if (input < 2 || (input - 2) % 3 != 0) return shared();
  return own && axis != *own ? same_row(axis) : all();
}

// The table

/// Whether the operator changes parts of its input at places that indices give.
bool scatters(std::string_view type) {
  constexpr std::array scattering{"Scatter"sv, "ScatterElements"sv, "ScatterND"sv, "TensorScatter"sv,
                                  "DYNAMIC_UPDATE_SLICE"sv};
  return std::find(scattering.begin(), scattering.end(), type) != scattering.end();
}

const std::map<std::string_view, RowRule>& rules() {
  static const std::map<std::string_view, RowRule> table = [] {
    std::map<std::string_view, RowRule> all;
    const auto add = [&](std::initializer_list<std::string_view> types, Rule rule,
                         Alike alike = Alike::where_same_rows) {
      for (const std::string_view type : types) all.emplace(type, RowRule{rule, alike});
    };
    add({"Conv", "QLinearConv", "ConvInteger", "AveragePool", "LpPool", "CONV_2D", "DEPTHWISE_CONV_2D",
         "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"},
        windowed);
    add({"MaxPool"}, windowed, Alike::never);  // its indices are places in the whole input
    add({"ConvTranspose", "TRANSPOSE_CONV"}, transposed_window);
    add({"MatMul", "BATCH_MATMUL"}, matrix_product);
    add({"MatMulInteger"}, integer_product);
    add({"QLinearMatMul"}, quantized_product);
    add({"Gemm"}, gemm);
    add({"FULLY_CONNECTED"}, fully_connected);
    add({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"}, reshape);
    add({"Transpose", "TRANSPOSE"}, transpose);
    add({"Concat", "CONCATENATION"}, concat);
    add({"com.microsoft.QLinearConcat"}, quantized_concat);
    add({"Split", "SPLIT", "SPLIT_V"}, split);
    add({"PACK"}, pack);
    add({"UNPACK"}, unpack);
    add({"Expand", "BROADCAST_TO"}, expand);
    add({"Tile", "TILE"}, tile);
    add({"Trilu"}, triangle, Alike::never);
    add({"Slice", "SLICE"}, slice);
    add({"STRIDED_SLICE"}, strided_slice);
    add({"Pad", "PAD", "PADV2", "MIRROR_PAD"}, pad);
    add({"Resize", "Upsample", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}, resize, Alike::never);
    add({"DepthToSpace", "SpaceToDepth", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH"}, blocks);
    add({"SPACE_TO_BATCH_ND"}, space_to_batch);
    add({"BATCH_TO_SPACE_ND"}, batch_to_space);
    add({"Softmax", "LogSoftmax", "Hardmax", "SOFTMAX", "LOG_SOFTMAX"}, softmax);
    add({"LpNormalization", "L2_NORMALIZATION"}, vector_norm);
    add({"BatchNormalization"}, normalized);
    add({"QuantizeLinear", "DequantizeLinear"}, quantized);
    add({"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"}, layer_norm);
    add({"com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization"},
        skip_norm);
    add({"InstanceNormalization", "GroupNormalization"}, group_norm);
    add({"MeanVarianceNormalization"}, mean_variance);
    add({"TopK", "CumSum", "CUMSUM"}, ordered);
    add({"RNN", "GRU", "LSTM"}, recurrent);
    add({"ArgMax", "ArgMin", "ARG_MAX", "ARG_MIN"}, place_of_extreme);
    add({"LRN"}, across_channels);
    add({"Gather", "GATHER"}, gather);
    add({"GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",
         "ReduceL1", "ReduceL2", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "MEAN",
         "SUM", "REDUCE_MAX", "REDUCE_MIN", "com.microsoft.QLinearGlobalAveragePool"},
        reduction);
    for (const std::string_view type : types_updated_in_place()) {
      if (!scatters(type)) add({type}, elementwise);
    }
    return all;
  }();
  return table;
}

RowRule rule_of(const Site& site) {
  const auto found = rules().find(site.type());
  return found == rules().end() ? RowRule{} : found->second;
}

/// Whether the input exists and has all its rows along that axis.
bool has_rows(const Site& site, std::size_t input, std::size_t axis) {
  const auto* const tensor = site.input(input);
  return tensor != nullptr && bytes_of_row(*tensor, axis).has_value();
}

}  // namespace

Reading elementwise(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const Shape out = site.output_shape();
  if (is_put_elsewhere(site, input) && count(in, 0, in.size()) != 1) return all();
  if (in.size() + axis < out.size()) return shared();
  const std::size_t own = in.size() + axis - out.size();
  if (in[own] == out[axis]) return same_row(own);
  return in[own] == 1 ? shared() : all();
}

std::vector<std::string_view> types_with_rows() {
  std::vector<std::string_view> types;
  for (const auto& [type, rule] : rules()) types.push_back(type);
  return types;
}

bool is_rowwise(const Site& site, std::size_t axis) {
  const Rule rule = rule_of(site).reads;
  if (rule == nullptr || !site.op().bodies.empty() || site.op().stateful) return false;
  if (rule == reduction && !reduced_axes(site)) return false;
  const Shape first = site.output_shape(0);
  for (std::size_t o = 0; o < site.op().outputs.size(); ++o) {
    const Tensor* const output = site.output(o);
    if (output == nullptr) continue;
    if (!bytes_of_row(*output, axis) || (*output->shape)[axis] != first[axis]) return false;
  }
  // An input read by rows must have these rows: int4 of an odd number, for instance, would run as a whole.
  for (std::size_t i = 0; i < site.op().inputs.size(); ++i) {
    const Reading reading = reading_of(site, i, axis);
    if (reading.reach == Reach::together) return false;
    if (reading.reach == Reach::rows && !has_rows(site, i, reading.axis)) return false;
  }
  return true;
}

std::vector<std::size_t> summed_axes(const Site& site) {
  const Rule rule = rule_of(site).reads;
  std::vector<std::size_t> axes;
  if (site.op().outputs.size() != 1 || !site.op().outputs[0]) return axes;  // places of the greatest, too
  const bool is_pool = site.type().ends_with("Pool") || site.type().ends_with("POOL_2D");
  if (rule == reduction && !site.op().stateful && is_summed_alike(site)) {
    axes = reduced_axes(site).value_or(axes);
  } else if (const auto axis = rule == windowed && is_pool ? window_axis(site) : std::nullopt) {
    if (is_pool_of_all(site, *axis)) axes = {*axis};
  }
  std::erase_if(axes, [&](std::size_t axis) { return !has_rows(site, 0, axis); });
  return axes;
}

namespace {

/// Whether the numbers of the rows that any of so many rows reads stay within 64 bits.
bool is_countable(const RowMap& map, std::int64_t rows) {
  const auto last = base::checked_multiply(map.scale, rows);
  const auto reach = base::checked_multiply(map.taps, map.dilation);
  const auto end = last ? base::checked_add(*last, map.offset) : std::nullopt;
  return end && reach && base::checked_add(*end, *reach) && base::checked_add(map.offset, *reach);
}

}  // namespace

Reading reading_of(const Site& site, std::size_t input, std::size_t axis) {
  const Rule rule = rule_of(site).reads;
  if (rule == nullptr || axis >= site.output_shape().size()) return all();
  const Shape shape = site.input_shape(input);
  if (shape.empty()) return shared();  // a single number, or left out
  const Reading reading = rule(site, input, axis);
  if (reading.reach != Reach::rows) return reading;
  const bool is_known = reading.axis < shape.size() && is_countable(reading.rows, site.output_shape()[axis]);
  return is_known ? reading : all();
}

namespace {

bool is_reshape(std::string_view type) {
  const auto found = rules().find(type);
  return found != rules().end() && found->second.reads == reshape;
}

/// Types whose attributes and other inputs do not name extents.
bool knows_no_extents(std::string_view type) {
  constexpr std::array plain{"Conv"sv,
                             "CONV_2D"sv,
                             "DEPTHWISE_CONV_2D"sv,
                             "MaxPool"sv,
                             "AveragePool"sv,
                             "MAX_POOL_2D"sv,
                             "AVERAGE_POOL_2D"sv,
                             "MatMul"sv,
                             "BATCH_MATMUL"sv,
                             "Gemm"sv,
                             "Transpose"sv,
                             "TRANSPOSE"sv,
                             "Pad"sv,
                             "PAD"sv,
                             "Softmax"sv,
                             "SOFTMAX"sv,
                             "LayerNormalization"sv};
  if (std::find(plain.begin(), plain.end(), type) != plain.end()) return true;
  const auto found = rules().find(type);
  return found != rules().end() && found->second.reads == elementwise;
}

/// Whether every block of rows reads whole rows of the input in the same order.
bool is_reshaped_in_blocks(const Reading& reading) {
  const RowMap& rows = reading.rows;
  return reading.reach == Reach::rows && rows.offset == 0 && rows.scale == rows.taps && rows.dilation == 1 &&
         (rows.scale == 1 || rows.divisor == 1);
}

}  // namespace

bool splits_into_blocks(const Site& site, std::size_t axis) {
  if (site.op().outputs.size() != 1 || !site.op().scratch.empty() || site.op().folded) return false;
  if (is_reshape(site.type())) return is_reshaped_in_blocks(reading_of(site, 0, axis));
  if (!knows_no_extents(site.type()) || !has_rows_alike(site, axis)) return false;
  for (std::size_t i = 0; i < site.op().inputs.size(); ++i) {
    const Reading reading = reading_of(site, i, axis);
    if (reading.reach == Reach::rows && site.input_shape(i)[reading.axis] != site.output_shape()[axis])
      return false;  // padded
  }
  // A batch of windows, or their channels: the windows themselves are another matter.
  return !moves_windows_along(site, axis);
}

bool has_rows_alike(const Site& site, std::size_t axis) {
  if (rule_of(site).alike == Alike::never) return false;
  for (std::size_t i = 0; i < site.op().inputs.size(); ++i) {
    const Reading reading = reading_of(site, i, axis);
    if (reading.reach == Reach::all || (reading.reach == Reach::rows && reading.rows != RowMap{}))
      return false;
  }
  return true;
}

}  // namespace stowage::model
