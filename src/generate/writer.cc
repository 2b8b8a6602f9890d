// Operators become functions. Where a plan runs an operator by rows, its function computes one of them:
//
//     static void op_3(uint8_t *const *memory, int32_t y) {
//       const void *rows[3];
//       stowage_window(memory, &place_2, y - 1, 3, 1, rows);
//       stowage_depthwise_s8(&layer_3, rows, (int8_t *)stowage_row(memory, &place_3, y));
//     }
//
// Operators whose rows are all alike (has_rows_alike) see tensors of one row, and are written for these shapes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "generate/cmsis_nn.h"
#include "generate/sources.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "operators/rows.h"

namespace stowage::generate {

using kernels::refuse;

std::string function_name(const Operator& op, std::string_view label) {
  std::string name = identifier(op.type);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return fmt::format("{}_{}", name, label);
}

std::string comment_of(const Graph& graph, const StepKind& kind) {
  if (kind.copy)
    return fmt::format("/* Moves {} to another memory. */\n",
                       in_comment(graph.tensors[kind.copy->tensor].name));
  const Operator& op = op_of(graph, kind);
  std::string from;
  std::string to;
  for (const auto& input : op.inputs) {
    if (!input || is_constant(graph.tensors[*input].kind)) continue;
    from += fmt::format("{}{}", from.empty() ? "" : ", ", show_shape(*graph.tensors[*input].shape));
  }
  for (const auto& output : op.outputs) {
    if (output) to += fmt::format("{}{}", to.empty() ? "" : ", ", show_shape(*graph.tensors[*output].shape));
  }
  return fmt::format("/* {}: {} to {} */\n", in_comment(op.type).substr(1, op.type.size()), from, to);
}

std::string definition_of(const Function& function) {
  std::string text;
  for (const LayerConstant& layer : function.layers)
    text += fmt::format("static const {} {} = {{{}}};\n", layer.type, layer.name, layer.fields);
  return text + function.tables + (function.layers.empty() && function.tables.empty() ? "" : "\n") +
         function.text;
}

namespace {

/// Makes it the operator as it computes one row: all tensors with rows have one.
void take_one_row(kernels::Signature& signature, const RowAxis& axis) {
  const auto take_row = [](kernels::Argument& argument, std::size_t at) {
    if (argument.quantization != nullptr && argument.quantization->scales.size() > 1 &&
        argument.quantization->axis == at)
      refuse("its rows have different scales");
    argument.shape[at] = 1;
  };
  for (const RowRead& read : axis.reads) take_row(*signature.inputs[read.input], read.axis);
  for (auto& output : signature.outputs)
    if (output) take_row(*output, axis.axis);
}

}  // namespace

Writer::Writer(Sources& sources, const StepKind& kind)
    : sources_(sources),
      kind_(kind),
      op_(&op_of(sources.network().graph(), kind)),
      signature_(run::signature_of(sources.network(), sources.program(), kind.subgraph, kind.op)),
      seen_(signature_) {
  function_.name = function_name(*op_, number()) + (kind.is_first_pass ? "_sums" : "");
  if (!kind.axis) return;
  carried_ = kind.is_first_pass ? summed_first(*op_, *kind.axis) : carried_axis(*op_, *kind.axis);
  is_alike_ = carried_ == nullptr;
  if (carried_ != nullptr || kind.sums) return;
  axis_ = row_axis(*op_, *kind.axis);
  if (axis_ == nullptr) refuse("it has no rows along axis {}", *kind.axis);
  loop_over(signature_.outputs.at(0)->shape[*kind.axis]);
  is_alike_ = operators::has_rows_alike(operators::Site(sources.network(), 0, kind.op), *kind.axis);
  if (!is_alike_) return;
  try {
    take_one_row(seen_, *axis_);
  } catch (const kernels::Unsupported& unsupported) {
    no_row_ = unsupported.reason;  // it may have another way
  }
}

const kernels::Signature& Writer::seen() const {
  if (!no_row_.empty()) refuse("{}", no_row_);
  return seen_;
}

Operand Writer::row_or_whole(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                             bool is_read) {
  const Tensor& own = sources_.network().graph().tensors[tensor];
  Operand result{.dtype = own.dtype, .shape = *own.shape};
  const std::string_view type = own.dtype == DType::complex64 ? "stowage_complex" : c_type(own.dtype);
  if (axis) result.shape[*axis] = 1;
  if (sources_.is_constant(tensor)) {
    result.at = sources_.constant(tensor);
    if (!axis || (*own.shape)[*axis] == 1) return result;
    if (kernels::count_of(*own.shape, 0, *axis) != 1) refuse("it reads constant {} by rows", own.name);
    result.at += fmt::format(" + {} * {}", index, result.count());
    return result;
  }
  if (sources_.repeats_of(tensor) != nullptr) {
    if (!axis) refuse("it reads or writes {} as a whole, whose rows are computed again", own.name);
    const std::string rows = versions(tensor, *axis);
    result.at = fmt::format("({}{} *)stowage_{}_again(memory, {}, {})", is_read ? "const " : "", type,
                            is_read ? "row" : "next_row", rows, index);
    return result;
  }
  if (sources_.moving(tensor) != nullptr) {
    const RowNow row = row_now(tensor, axis, index);
    result.at = fmt::format("({}{} *){}", is_read ? "const " : "", type, row.at);
    if (!row.behind.empty()) result.at += fmt::format(" + ({}) * {}", row.behind, result.count());
    return result;
  }
  const Storage storage = sources_.storage(tensor);
  const RowPlace place = axis ? storage.by_rows(*axis) : storage.whole();
  result.at = fmt::format("({}{} *)stowage_row(memory, &{}, {})", is_read ? "const " : "", type,
                          sources_.place(place, tensor), index);
  return result;
}

std::optional<std::string> Writer::planned_scratch(Bytes wanted, Bytes alignment) const {
  for (const TensorId tensor : op_->scratch) {
    const auto& views = sources_.plan().tensors[tensor].views;
    if (sources_.network().graph().tensors[tensor].bytes < wanted || views.empty()) continue;
    const Place& place = sources_.plan().places[views[0].buffer];
    const Bytes at = place.offset + views[0].offset;
    if (at % alignment != 0)
      refuse("its scratch memory is at {0} of its memory, expected a multiple of {1}: plan with --align {1}",
             at, alignment);
    return fmt::format("memory[{}] + {}", place.memory, at);
  }
  return std::nullopt;
}

std::string Writer::needed_scratch(Bytes wanted, Bytes alignment) const {
  if (wanted == 0) return "NULL";
  if (kind_.subgraph != 0) refuse("it is in a body, which has no scratch memory");
  if (auto planned = planned_scratch(wanted, alignment)) return std::move(*planned);
  refuse("its plan has no scratch memory for it; `stowage generate` without --plan makes one that has");
}

bool Writer::is_in_one_piece(TensorId tensor) const {
  if (sources_.is_constant(tensor)) return true;
  return sources_.repeats_of(tensor) == nullptr && sources_.storage(tensor).is_contiguous();
}

bool Writer::has_rows_apart(TensorId tensor, std::size_t axis) const {
  const Shape& shape = *sources_.network().graph().tensors[tensor].shape;
  return shape[axis] != 1 && kernels::count_of(shape, 0, axis) != 1 && is_in_one_piece(tensor);
}

void Writer::take_planes() {
  if (axis_ == nullptr) return;
  bool is_apart = has_rows_apart(op_->outputs.at(0).value(), axis_->axis);
  for (const RowRead& read : axis_->reads)
    is_apart = is_apart || has_rows_apart(op_->inputs[read.input].value(), read.axis);
  const Shape out = signature_.outputs.at(0)->shape;
  for (std::size_t d = 0; is_apart && d < axis_->axis; ++d) {
    if (out[d] == 1) continue;
    if (plane_) refuse("its rows along axis {} are apart in two dimensions", axis_->axis);
    plane_ = out.size() - d;
    planes_ = out[d];
  }
  if (!plane_) return;
  for (auto* const list : {&seen_.inputs, &seen_.outputs})
    for (auto& argument : *list)
      if (argument && argument->shape.size() >= *plane_)
        argument->shape[argument->shape.size() - *plane_] = 1;
}

Operand Writer::operand(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                        bool is_read) {
  if (!plane_) return row_or_whole(tensor, axis, index, is_read);
  const bool is_apart = axis && has_rows_apart(tensor, *axis);
  Operand it = row_or_whole(tensor, is_apart ? std::nullopt : axis, is_apart ? "0" : index, is_read);
  const std::size_t rank = it.shape.size();
  if (rank >= *plane_ && it.shape[rank - *plane_] != 1) {
    it.at += fmt::format(" + plane * {}", kernels::count_of(it.shape, rank - *plane_ + 1, rank));
    it.shape[rank - *plane_] = 1;
  }
  if (is_apart) {
    it.at += fmt::format(" + ({}) * {}", index, kernels::count_of(it.shape, *axis + 1, rank));
    it.shape[*axis] = 1;
  }
  return it;
}

Strided Writer::strided(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                        bool is_read) {
  const bool is_apart = axis && has_rows_apart(tensor, *axis);
  const std::string_view row = axis && !is_apart ? index : "0";
  const Operand it = row_or_whole(tensor, is_apart ? std::nullopt : axis, row, is_read);
  const Shape strides = kernels::strides_of(it.shape);
  return {is_apart ? fmt::format("{} + ({}) * {}", it.at, index, strides[*axis]) : it.at, strides};
}

Strided Writer::strided_input(std::size_t i, std::string_view index) {
  if (i >= op_->inputs.size() || !op_->inputs[i]) refuse("input {} is left out", i);
  const RowRead* const read = axis_ == nullptr ? nullptr : row_read(*axis_, i);
  const auto axis = read == nullptr ? std::nullopt : std::optional(read->axis);
  return strided(*op_->inputs[i], axis, index, true);
}

Strided Writer::strided_output() {
  const auto axis = axis_ == nullptr ? std::nullopt : std::optional(axis_->axis);
  return strided(op_->outputs.at(0).value(), axis, "y", false);
}

Operand Writer::input(std::size_t i) {
  if (i >= op_->inputs.size() || !op_->inputs[i]) refuse("input {} is left out", i);
  const RowRead* const read = axis_ == nullptr ? nullptr : row_read(*axis_, i);
  if (read == nullptr) return operand(*op_->inputs[i], std::nullopt, "0", true);
  return input_row(i, read->axis, "y");
}

Operand Writer::state(std::size_t i) {
  if (i >= op_->inputs.size() || !op_->inputs[i]) refuse("input {} is left out", i);
  if (sources_.is_constant(*op_->inputs[i])) refuse("its state is constant");
  return operand(*op_->inputs[i], std::nullopt, "0", false);
}

Operand Writer::output(std::size_t i) {
  if (i >= op_->outputs.size() || !op_->outputs[i]) refuse("output {} is left out", i);
  return axis_ == nullptr ? operand(*op_->outputs[i], std::nullopt, "0", false)
                          : operand(*op_->outputs[i], axis_->axis, "y", false);
}

Operand Writer::input_row(std::size_t i, std::size_t axis, std::string_view index) {
  return operand(op_->inputs.at(i).value(), axis, index, true);
}

Operand Writer::output_row(std::size_t axis, std::string_view index) {
  return operand(op_->outputs.at(0).value(), axis, index, false);
}

std::string Writer::versions(TensorId tensor, std::size_t axis) {
  const Repeats& repeats = *sources_.repeats_of(tensor);
  if (axis != repeats.axis)
    throw Misplaced{{fmt::format("rows of {} along axis {} are computed again, but it is used along axis {}",
                                 sources_.network().graph().tensors[tensor].name, repeats.axis, axis)}};
  sources_.need("stowage_again");
  function_.reads_done = true;
  return fmt::format("&{}, done[{}]", sources_.again(tensor), repeats.number);
}

RowNow Writer::row_now(TensorId tensor, std::optional<std::size_t> axis, std::string_view index) {
  function_.reads_now = true;
  return sources_.row_now(tensor, axis, "memory", "now", index);
}

Channel Writer::channel(TensorId tensor, std::string_view index, bool is_read) {
  constexpr std::size_t channels = 3;
  const Shape& shape = *sources_.network().graph().tensors[tensor].shape;
  if (sources_.storage(tensor).axis() == channels)
    return {operand(tensor, channels, index, is_read).at, shape[2], 1};
  const Operand whole = operand(tensor, std::nullopt, "0", is_read);
  return {fmt::format("{} + {}", whole.at, index), shape[2] * shape[3], shape[3]};
}

std::string Writer::input_place(std::size_t i, std::size_t axis) {
  const TensorId tensor = op_->inputs.at(i).value();
  if (sources_.is_constant(tensor)) refuse("its input {} is constant", i);
  if (sources_.repeats_of(tensor) != nullptr) refuse("its input {} is computed again", i);
  return sources_.place(sources_.storage(tensor).by_rows(axis), tensor);
}

void Writer::window(std::size_t i, std::size_t axis, std::string_view first, const kernels::Window& window,
                    std::string_view rows) {
  const TensorId tensor = op_->inputs.at(i).value();
  if (sources_.is_constant(tensor)) refuse("its input {} is constant", i);
  declare(fmt::format("const void *{}[{}];", rows, window.taps));
  if (sources_.moving(tensor) != nullptr) {
    const RowNow row = row_now(tensor, axis, "0");
    if (row.behind.empty()) {
      line(fmt::format("stowage_window_now(memory, &{}, now, {}, {}, {}, {});",
                       sources_.name_of_moving(tensor), first, window.taps, window.dilation, rows));
    } else {
      sources_.need("stowage_window");
      line(fmt::format("stowage_window_in({}, {}, {}, {}, {}, {}, {});", row.at, row.row_bytes, window.in,
                       first, window.taps, window.dilation, rows));
    }
    return;
  }
  const bool is_again = sources_.repeats_of(tensor) != nullptr;
  if (!is_again) sources_.need("stowage_window");
  const std::string from = is_again ? versions(tensor, axis)
                                    : "&" + sources_.place(sources_.storage(tensor).by_rows(axis), tensor);
  line(fmt::format("stowage_window{}(memory, {}, {}, {}, {}, {});", is_again ? "_again" : "", from, first,
                   window.taps, window.dilation, rows));
}

Storage Writer::storage_of_input(std::size_t i) const { return sources_.storage(op_->inputs.at(i).value()); }

void Writer::declare_kept(const Sums& kept, std::string_view type, std::string_view name) {
  const Place& place = sources_.plan().places[kept.buffer];
  const Bytes at = place.offset + kept.offset;
  const Bytes element = type == "float" || type == "int32_t" ? 4 : 8;
  if (at % element != 0)
    refuse("its sums are at {} of their memory, expected a multiple of {}: plan with --align {}", at, element,
           element);
  declare(fmt::format("{0} *const {1} = ({0} *)(void *)(memory[{2}] + {3});", type, name, place.memory, at));
}

std::string Writer::stores(std::size_t input, std::string_view member, std::string array) {
  stored_.push_back({input, std::string(member), array});
  return array;
}

std::string Writer::layer(std::string_view type, std::string_view fields) {
  const std::string name = function_.layers.empty()
                               ? "layer_" + number()
                               : fmt::format("layer_{}_{}", number(), function_.layers.size());
  function_.layers.push_back({std::string(type), name, std::string(fields)});
  constexpr std::array have_both{"stowage_conv_s8_layer", "stowage_conv_f32_layer", "stowage_layer",
                                 "stowage_image_conv_layer", "stowage_q8_conv_layer"};
  const std::vector<Stored> stored = std::exchange(stored_, {});
  if (kind_.subgraph != 0 || std::ranges::find(have_both, type) == have_both.end()) return name;
  std::string result = name;
  for (const Stored& it : stored) {
    if (it.input >= op_->inputs.size() || !op_->inputs[it.input]) continue;
    const TensorId tensor = *op_->inputs[it.input];
    if (!sources_.stage(tensor, it.array)) continue;
    result = "own_" + name;
    function_.reads_now = true;
    declare(fmt::format("{} {} = {};", type, result, name));
    declare(fmt::format("{}.{} = (const {} *)stowage_constant_now(memory, &{}, now, {});", result, it.member,
                        c_type(sources_.dtype_of(it.array)), sources_.name_of_moving(tensor), it.array));
  }
  return result;
}

void Writer::declare(std::string_view declaration) {
  const std::string text = "  " + std::string(declaration) + "\n";
  if (declarations_.find(text) == std::string::npos) declarations_ += text;
}

void Writer::line(std::string_view text) { body_ += std::string(text) + "\n"; }

Function Writer::take() {
  const bool is_step = kind_.axis.has_value();
  const bool is_single = rows_ == 1 && !is_step;
  const bool has_loop = rows_ && !is_single && (!is_step || kind_.granule > 1);
  const std::string step = std::string(kind_.granule > 1 ? ", int32_t block" : ", int32_t y") +
                           (kind_.adds_parts ? ", int32_t step" : "");
  const std::string done =
      (function_.reads_done ? fmt::format(", const {} *done", sources_.counter()) : std::string()) +
      (function_.reads_now ? ", int32_t now" : "");
  std::string text = fmt::format("static void {}(uint8_t *const *memory{}{}) {{\n", function_.name, done,
                                 is_step ? step : "");
  text += declarations_;
  if (plane_) text += "  int32_t plane;\n";
  if (has_loop) text += "  int32_t y;\n";
  if (is_single) text += "  const int32_t y = 0;\n";
  if (has_loop && !is_step) text += fmt::format("  for (y = 0; y < {}; y++) {{\n", *rows_);
  if (has_loop && is_step)
    text += fmt::format("  for (y = {0} * block; y < {0} * block + {0} && y < {1}; y++) {{\n", kind_.granule,
                        *rows_);
  const std::string outer = has_loop ? "    " : "  ";
  if (plane_) text += fmt::format("{}for (plane = 0; plane < {}; plane++) {{\n", outer, planes_);
  const std::string indent = outer + (plane_ ? "  " : "");
  for (std::size_t at = 0; at < body_.size();) {
    const std::size_t end = body_.find('\n', at);
    text += fmt::format("{}{}\n", indent, std::string_view(body_).substr(at, end - at));
    at = end + 1;
  }
  if (plane_) text += outer + "}\n";
  function_.text = text + (has_loop ? "  }\n}\n" : "}\n");
  return std::move(function_);
}

namespace {

/// All copies of a tensor whose rows move are one function.
Function row_moves_of(Sources& sources, const StepKind& kind) {
  const TensorId tensor = kind.copy->tensor;
  if (const auto array = sources.staged(tensor)) {
    Function function{.name = fmt::format("stage_{}", tensor), .reads_now = true};
    function.text = fmt::format(
        "static void {}(uint8_t *const *memory, int32_t now) {{\n  stowage_stage(memory, &{}, now, "
        "{});\n}}\n",
        function.name, sources.name_of_moving(tensor), *array);
    return function;
  }
  if (is_constant(sources.plan().tensors[tensor].tensor.kind)) return {};  // it is read where it lies
  sources.move_to(std::nullopt);
  const MovingRows* const moving = sources.moving(tensor);
  if (moving == nullptr) misplace("it moves {} to where it is", sources.plan().tensors[tensor].tensor.name);
  const bool is_by_rows = kind.axis && moving->axis;
  Function function{.name = fmt::format("move_{}", tensor), .reads_now = true};
  function.text = fmt::format(
      "static void {}(uint8_t *const *memory, int32_t now{}) {{\n"
      "  stowage_move_rows(memory, &{}, now, {}, {});\n{}}}\n",
      function.name, kind.axis ? ", int32_t y" : "", sources.name_of_moving(tensor),
      !is_by_rows         ? "0"
      : kind.granule == 1 ? "y"
                          : fmt::format("y * {}", kind.granule),
      moving->axis ? kind.granule : 1, kind.axis && !is_by_rows ? "  (void)y;\n" : "");
  return function;
}

}  // namespace

Function move_of(Sources& sources, const StepKind& kind) {
  if (is_streamed(sources.plan())) return row_moves_of(sources, kind);
  const Copy& copy = *kind.copy;
  const auto text_of = [&](std::size_t buffer) {
    return fmt::format(
        "stowage_row(memory, &{}, 0)",
        sources.place(place_in_buffer(sources.plan(), copy.tensor, buffer, kind.position), copy.tensor));
  };
  sources.need("stowage_movement");
  Function function{.name = fmt::format("move_{}_{}", copy.tensor, kind.position)};
  function.text = fmt::format(
      "static void {}(uint8_t *const *memory) {{\n  stowage_copy_runs({}, 0, {}, 0, {}, 1);\n}}\n",
      function.name, text_of(copy.from), text_of(copy.to), sources.plan().tensors[copy.tensor].tensor.bytes);
  return function;
}

namespace {

/// What our own runner refuses lacks operands, or has some that do not go together: no function is written for it.
void expect_runnable(const Writer& writer) {
  if (run::only_copies(writer.sources().network().graph(), writer.op())) return;
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
}

/// An operator with state needs no output.
bool changes_state(const Sources& sources, const Operator& op) {
  return std::ranges::any_of(op.inputs, [&](const auto& input) {
    return input && sources.network().graph().tensors[*input].kind == TensorKind::state;
  });
}

/// An extern operator has the outputs that it has.
void expect_outputs(const Sources& sources, const Operator& op, const EmitEntry& entry) {
  if (changes_state(sources, op) || (!op.outputs.empty() && op.outputs[0])) return;
  if (std::ranges::none_of(op.outputs, [](const auto& output) { return output.has_value(); }))
    refuse("it has no output");
  if (entry.needs_first_output) refuse("its first output is left out");
}

}  // namespace

Function function_of(Sources& sources, const StepKind& kind, bool is_extern) {
  static const std::unordered_map<std::string_view, EmitEntry> table = [] {
    std::unordered_map<std::string_view, EmitEntry> all;
    for (const auto part : {window_operators,         pool_operators,
                            element_operators,        element_functions,
                            cast_operators,           movement_operators,
                            asked_movement_operators, gathering_operators,
                            padding_operators,        reduction_operators,
                            folding_operators,        product_operators,
                            einsum_operators,         layer_norm_operators,
                            carrying_operators,       resizing_operators,
                            onnx_operators,           onnx_resizing_operators,
                            image_window_operators,   transposed_operators,
                            variable_operators,       quantized_operators,
                            quantized_joins,          recurrent_operators,
                            dynamic_operators,        computed_movement_operators,
                            fourier_operators,        ml_operators,
                            volume_operators,         detection_operators})
      for (const EmitEntry& entry : part()) all.emplace(entry.type, entry);
    return all;
  }();
  const Operator& op = op_of(sources.network().graph(), kind);
  const auto found = table.find(op.type);
  if (!is_extern && found == table.end()) refuse("there is no generated kernel for {}", op.type);
  if (!is_extern) expect_outputs(sources, op, found->second);
  if (kind.adds_parts && (is_extern || op.type != "Conv")) refuse("it adds parts of rows");
  Writer writer(sources, kind);
  if (is_extern) {
    emit_extern(writer);
    return writer.take();
  }
  expect_runnable(writer);
  if (kind.subgraph == 0 && emit_cmsis_nn(writer)) return writer.take();  // bodies have no scratch memory
  if (found->second.rows != RowHandling::own && !writer.is_alike())
    refuse("it runs by rows along axis {}, for which there is no generated kernel", *kind.axis);
  if (found->second.rows == RowHandling::elements) writer.take_planes();
  found->second.emit(writer);
  return writer.take();
}

}  // namespace stowage::generate
