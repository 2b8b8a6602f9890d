// Operators become functions. Where a plan runs an operator by rows, its function computes one of them:
//
//     static void op_3(uint8_t *const *memory, int32_t y) {
//       const void *rows[3];
//       stowage_window(memory, &place_2, y - 1, 3, 1, rows);
//       stowage_depthwise_s8(&layer_3, rows, (int8_t *)stowage_row(memory, &place_3, y));
//     }
//
// Operators whose rows are all alike (has_rows_alike) see tensors of one row, and are written for these shapes.

#include "generate/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "generate/cmsis_nn.h"
#include "generate/text.h"
#include "model/row_rules.h"

namespace stowage::generate {

using kernels::refuse;

Sources::Sources(const Network& network, const run::Program& program, const Plan& plan, std::string name,
                 const run::BlockNetwork* blocks)
    : network_(network), program_(program), plan_(plan), name_(std::move(name)), blocks_(blocks) {
  const Subgraph& main = network.graph().subgraphs[0];
  for (const auto* list : {&main.inputs, &main.outputs}) {
    for (const TensorId tensor : *list) {
      const bool is_known = std::ranges::find(outside_, tensor) != outside_.end();
      if (plan.tensors[tensor].views.empty() && !is_constant(tensor) && !is_known) outside_.push_back(tensor);
    }
  }
  for (const KeptTensor& kept : kept_tensors(network, plan)) outside_.push_back(kept.tensor);
}

std::vector<KeptTensor> kept_tensors(const Network& network, const Plan& plan) {
  constexpr Bytes alignment = 16;
  std::vector<KeptTensor> all;
  Bytes end = 0;
  for (TensorId t = 0; t < network.graph().tensors.size(); ++t) {
    const Tensor& tensor = network.graph().tensors[t];
    if (tensor.kind != TensorKind::state || !plan.tensors[t].views.empty()) continue;
    const auto stored = network.input.constants.of(t);
    const std::byte fill = stored.empty() ? std::byte{0} : stored[0];
    if (std::ranges::any_of(stored, [&](std::byte byte) { return byte != fill; }))
      refuse("state {} begins with different bytes", tensor.name);
    all.push_back({t, end, static_cast<int>(fill)});
    end += (tensor.bytes + alignment - 1) / alignment * alignment;
  }
  return all;
}

std::string Sources::array(const std::string& name, const std::string& comment, DType dtype,
                           std::vector<std::byte> data) {
  const auto known = std::ranges::find_if(arrays_, [&](const ConstantArray& array) {
    return array.dtype == dtype && array.data == data;  // blocks of an operator have equal tables
  });
  if (known != arrays_.end()) return known->name;
  std::string unique = name_ + "_" + name;
  for (int i = 2; std::ranges::find(arrays_, unique, &ConstantArray::name) != arrays_.end(); ++i)
    unique = fmt::format("{}_{}_{}", name_, name, i);
  arrays_.push_back({unique, comment, dtype, std::move(data)});
  return unique;
}

std::span<const std::byte> Sources::data_of(TensorId tensor) const {
  const std::span<const std::byte> data = program_.constants[tensor];
  const bool is_kept = data.data() == nullptr && stowage::is_constant(network_.graph().tensors[tensor].kind);
  return is_kept ? network_.input.constants.of(tensor) : data;
}

std::string Sources::constant(TensorId tensor, const std::string& name) {
  const auto known = constants_.find(tensor);
  if (known != constants_.end()) return known->second;
  const std::span<const std::byte> data = data_of(tensor);
  const Tensor& own = network_.graph().tensors[tensor];
  return constants_[tensor] = array(name.empty() ? fmt::format("constant_{}", tensor) : name,
                                    in_comment(own.name), own.dtype, {data.begin(), data.end()});
}

void Sources::set_repeats(const std::map<std::size_t, Repeats>& repeats, const std::string& counter) {
  counter_ = counter;
  for (const auto& [op, steps] : repeats) {
    for (const auto& output : network_.graph().subgraphs[0].operators[op].outputs)
      if (output) repeats_.emplace(*output, steps);
    const std::vector<std::uint16_t> blocks(steps.blocks.begin(), steps.blocks.end());
    const auto bytes = std::as_bytes(std::span(blocks));
    definitions_of_again_ +=
        fmt::format("/* Row blocks that operator {} computes, in the order of its steps. */\n", op);
    definitions_of_again_ += fmt::format("static const uint16_t blocks_{}[{}] = {{\n{}}};\n", op,
                                         blocks.size(), initialiser(DType::uint16, bytes));
    bytes_of_again_ += static_cast<Bytes>(bytes.size());
  }
}

const Repeats* Sources::repeats_of(TensorId tensor) const {
  const auto found = repeats_.find(tensor);
  return found == repeats_.end() ? nullptr : &found->second;
}

std::string Sources::again(TensorId tensor, std::size_t axis) {
  const auto known = again_.find(tensor);
  if (known != again_.end()) return known->second;
  const Repeats& repeats = repeats_.at(tensor);
  const auto& operators = network_.graph().subgraphs[0].operators;
  const auto producer = std::ranges::find_if(operators, [&](const Operator& op) {
    return std::ranges::find(op.outputs, std::optional(tensor)) != op.outputs.end();
  });
  const std::string rows = place(storage(tensor).by_rows(axis), tensor);
  const std::string name = fmt::format("again_{}", tensor);
  definitions_of_again_ += fmt::format("static const stowage_again {} = {{&{}, blocks_{}, {}, {}}};\n", name,
                                       rows, producer - operators.begin(), repeats.granule,
                                       (*network_.graph().tensors[tensor].shape)[axis]);
  constexpr Bytes bytes_of_versions = 12;
  bytes_of_again_ += bytes_of_versions;
  return again_[tensor] = name;
}

Storage Sources::storage(TensorId tensor) const {
  if (const Repeats* const repeats = repeats_of(tensor)) return {plan_, tensor, *repeats};
  const auto outside = std::ranges::find(outside_, tensor);
  const auto number = static_cast<std::size_t>(outside - outside_.begin());
  if (!blocks_of(tensor).empty())
    throw Misplaced{
        {fmt::format("it reads all blocks of {}, which are apart", network_.graph().tensors[tensor].name)}};
  if (blocks_ != nullptr && blocks_->is_gathered(tensor))
    throw Misplaced{{fmt::format("it reads a part of {}, which is not stored as a block",
                                 network_.graph().tensors[blocks_->whole_of(tensor)].name)}};
  if (plan_.tensors[tensor].views.empty() && outside == outside_.end())
    refuse("{} is not in the plan", describe(network_.graph(), tensor));
  return {plan_, tensor, plan_.memories.size() + number, at_};
}

Storage Sources::storage_of_outlet(TensorId tensor, bool is_input) {
  const std::vector<View>& views = plan_.tensors[tensor].views;
  for (const View& view : views)
    at_ = is_input ? std::min(&view == views.data() ? view.life.lower : at_, view.life.lower)
                   : std::max(&view == views.data() ? 0 : at_, view.life.upper - 1);
  return storage(tensor);
}

std::string Sources::place(const RowPlace& place, TensorId tensor) {
  const Tensor& own = network_.graph().tensors[tensor];
  const auto bits = bits_of(own.dtype);
  const Bytes element = bits && *bits >= 8 ? *bits / 8 : 1;
  if (place.offset % element != 0 || place.pitch % element != 0)
    refuse("{} is at {} of its memory, expected a multiple of {}: plan with --align {}", own.name,
           place.offset, element, element);
  constexpr std::size_t most_memories = 256;
  if (place.memory >= most_memories)
    refuse("{} memories, inputs and outputs, expected at most {}", plan_.memories.size() + outside_.size(),
           most_memories);
  return places_.add(place, std::to_string(tensor), in_comment(own.name));
}

std::string Sources::places() const { return places_.definitions() + with_references(definitions_of_again_); }

std::string Sources::with_references(const std::string& text) const {
  std::map<std::string, std::string> references = places_.references();
  references.insert(references_.begin(), references_.end());
  if (references.empty()) return text;
  std::string result;
  for (const std::string& word : words_of(text)) {
    const auto found = references.find(word);
    result += found == references.end() ? word : found->second;
  }
  return result;
}

// Writer

std::string function_name(const Operator& op, std::string_view label) {
  std::string name = identifier(op.type);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return fmt::format("{}_{}", name, label);
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
      op_(&sources.network().graph().subgraphs[0].operators[kind.op]),
      signature_(run::signature_of(sources.network(), sources.program(), 0, kind.op)),
      seen_(signature_) {
  function_.name = function_name(*op_, number());
  if (kind.sums || !kind.axis) return;
  axis_ = row_axis(*op_, *kind.axis);
  if (axis_ == nullptr) refuse("it has no rows along axis {}", *kind.axis);
  loop_over(signature_.outputs.at(0)->shape[*kind.axis]);
  is_alike_ = model::has_rows_alike(model::Site(sources.network(), 0, kind.op), *kind.axis);
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

Operand Writer::operand(TensorId tensor, std::optional<std::size_t> axis, std::string_view index,
                        bool is_read) {
  const Tensor& own = sources_.network().graph().tensors[tensor];
  Operand result{.dtype = own.dtype, .shape = *own.shape};
  const std::string_view type = c_type(own.dtype);
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
  const Storage storage = sources_.storage(tensor);
  const RowPlace place = axis ? storage.by_rows(*axis) : storage.whole();
  result.at = fmt::format("({}{} *)stowage_row(memory, &{}, {})", is_read ? "const " : "", type,
                          sources_.place(place, tensor), index);
  return result;
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
  sources_.need("stowage_again");
  function_.reads_done = true;
  return fmt::format("&{}, done[{}]", sources_.again(tensor, axis), sources_.repeats_of(tensor)->number);
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
  const bool is_again = sources_.repeats_of(tensor) != nullptr;
  if (!is_again) sources_.need("stowage_window");
  const std::string from = is_again ? versions(tensor, axis)
                                    : "&" + sources_.place(sources_.storage(tensor).by_rows(axis), tensor);
  line(fmt::format("stowage_window{}(memory, {}, {}, {}, {}, {});", is_again ? "_again" : "", from, first,
                   window.taps, window.dilation, rows));
}

Storage Writer::storage_of_input(std::size_t i) const { return sources_.storage(op_->inputs.at(i).value()); }

std::string Writer::layer(std::string_view type, std::string_view fields) {
  const std::string name = function_.layers.empty()
                               ? "layer_" + number()
                               : fmt::format("layer_{}_{}", number(), function_.layers.size());
  function_.layers.push_back({std::string(type), name, std::string(fields)});
  return name;
}

void Writer::declare(std::string_view declaration) {
  declarations_ += "  " + std::string(declaration) + "\n";
}

void Writer::line(std::string_view text) { body_ += std::string(text) + "\n"; }

Function Writer::take() {
  const bool is_step = kind_.axis.has_value();
  const bool is_single = rows_ == 1 && !is_step;
  const bool has_loop = rows_ && !is_single && (!is_step || kind_.granule > 1);
  const std::string_view step = kind_.granule > 1 ? ", int32_t block" : ", int32_t y";
  const std::string done = function_.reads_done ? fmt::format(", const {} *done", sources_.counter()) : "";
  std::string text = fmt::format("static void {}(uint8_t *const *memory{}{}) {{\n", function_.name, done,
                                 is_step ? step : "");
  text += declarations_;
  if (has_loop) text += "  int32_t y;\n";
  if (is_single) text += "  const int32_t y = 0;\n";
  if (has_loop && !is_step) text += fmt::format("  for (y = 0; y < {}; y++) {{\n", *rows_);
  if (has_loop && is_step)
    text += fmt::format("  for (y = {0} * block; y < {0} * block + {0} && y < {1}; y++) {{\n", kind_.granule,
                        *rows_);
  const std::string_view indent = has_loop ? "    " : "  ";
  for (std::size_t at = 0; at < body_.size();) {
    const std::size_t end = body_.find('\n', at);
    text += fmt::format("{}{}\n", indent, std::string_view(body_).substr(at, end - at));
    at = end + 1;
  }
  function_.text = text + (has_loop ? "  }\n}\n" : "}\n");
  return std::move(function_);
}

Function move_of(Sources& sources, const StepKind& kind) {
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

Function function_of(Sources& sources, const StepKind& kind, bool is_extern) {
  static const std::unordered_map<std::string_view, EmitEntry> table = [] {
    std::unordered_map<std::string_view, EmitEntry> all;
    for (const auto part : {window_operators, pool_operators, element_operators, movement_operators,
                            padding_operators, reduction_operators, resizing_operators, onnx_operators,
                            onnx_element_operators, quantized_operators})
      for (const EmitEntry& entry : part()) all.emplace(entry.type, entry);
    return all;
  }();
  Writer writer(sources, kind);
  if (is_extern) {
    emit_extern(writer);
    return writer.take();
  }
  if (emit_cmsis_nn(writer)) return writer.take();
  const auto found = table.find(writer.op().type);
  if (found == table.end()) refuse("there is no generated kernel for {}", writer.op().type);
  if (found->second.rows == RowHandling::alike && !writer.is_alike())
    refuse("it runs by rows along axis {}, for which there is no generated kernel", *kind.axis);
  found->second.emit(writer);
  return writer.take();
}

}  // namespace stowage::generate
