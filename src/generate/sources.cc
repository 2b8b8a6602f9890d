// What all operators of a package share: constants without doubles, places, kernels that are needed.

#include "generate/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generate/text.h"

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
    all.push_back({t, end, network.input.constants.of(t)});
    end += (tensor.bytes + alignment - 1) / alignment * alignment;
  }
  return all;
}

std::string Sources::array(const std::string& name, const std::string& comment, DType dtype,
                           std::vector<std::byte> data) {
  if (data.empty()) return "NULL";  // C has no arrays without elements
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

void Sources::need(std::string_view kernel) {
  kernels_.emplace(kernel);
  if (kernel == "stowage_movement" || kernel == "stowage_cmsis_nn") kernels_.emplace("stowage_copy");
}

void Sources::set_repeats(const std::map<std::size_t, Repeats>& repeats, const std::string& counter) {
  counter_ = counter;
  for (const auto& [op, steps] : repeats) {
    const std::set<std::int64_t> different(steps.blocks.begin(), steps.blocks.end());
    if (different.size() < steps.blocks.size())  // else they only are in another order
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

std::string Sources::again(TensorId tensor) {
  const auto known = again_.find(tensor);
  if (known != again_.end()) return known->second;
  const Repeats& repeats = repeats_.at(tensor);
  const auto& operators = network_.graph().subgraphs[0].operators;
  const auto producer = std::ranges::find_if(operators, [&](const Operator& op) {
    return std::ranges::find(op.outputs, std::optional(tensor)) != op.outputs.end();
  });
  const std::string rows = place(storage(tensor).by_rows(repeats.axis), tensor);
  const std::string name = fmt::format("again_{}", tensor);
  definitions_of_again_ += fmt::format("static const stowage_again {} = {{&{}, blocks_{}, {}, {}}};\n", name,
                                       rows, producer - operators.begin(), repeats.granule,
                                       (*network_.graph().tensors[tensor].shape)[repeats.axis]);
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

}  // namespace stowage::generate
