// What all operators of a package share: constants without doubles, places, kernels that are needed.

#include "generate/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "generate/text.h"

namespace stowage::generate {

using kernels::refuse;

Sources::Sources(const Network& network, const run::Program& program, const Plan& plan, std::string name,
                 const run::BlockNetwork* blocks, const EqualArrays* others)
    : network_(network),
      program_(program),
      plan_(plan),
      name_(std::move(name)),
      blocks_(blocks),
      others_(others) {
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
  if (const auto other = others_ != nullptr ? others_->find(dtype, data) : std::nullopt) {
    arrays_.push_back({*other, comment, dtype, std::move(data), true});
    return *other;
  }
  std::string unique = name_ + "_" + name;
  for (int i = 2; std::ranges::find(arrays_, unique, &ConstantArray::name) != arrays_.end(); ++i)
    unique = fmt::format("{}_{}_{}", name_, name, i);
  arrays_.push_back({unique, comment, dtype, std::move(data)});
  return unique;
}

void Sources::drop_unread(std::string_view program) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::set<std::string_view> words;
  for (std::size_t at = program.find_first_of(letters); at != std::string_view::npos;) {
    const std::size_t end = std::min(program.size(), program.find_first_not_of(letters, at));
    words.insert(program.substr(at, end - at));
    at = program.find_first_of(letters, end);
  }
  std::erase_if(arrays_, [&](const ConstantArray& it) { return !words.contains(it.name); });
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
    std::vector<std::int64_t> begun;  // rows that are added up are computed once
    for (std::size_t k = 0; k < steps.blocks.size(); ++k)
      if (steps.parts.empty() || steps.parts[k].is_first) begun.push_back(steps.blocks[k]);
    const std::set<std::int64_t> different(begun.begin(), begun.end());
    if (different.size() < begun.size())  // else they only are in another order
      for (const auto& output : network_.graph().subgraphs[0].operators[op].outputs)
        if (output && !is_in_several_memories(*output)) repeats_.emplace(*output, steps);
    const std::vector<std::uint16_t> blocks(steps.blocks.begin(), steps.blocks.end());
    const auto bytes = std::as_bytes(std::span(blocks));
    definitions_of_again_ +=
        fmt::format("/* Row blocks that operator {} computes, in the order of its steps. */\n", op);
    definitions_of_again_ += fmt::format("static const uint16_t blocks_{}[{}] = {{\n{}}};\n", op,
                                         blocks.size(), initialiser(DType::uint16, bytes));
    bytes_of_again_ += static_cast<Bytes>(bytes.size());
    if (steps.parts.empty()) continue;
    constexpr Bytes bytes_of_a_part = 6;
    bytes_of_again_ += std::ssize(steps.parts) * bytes_of_a_part;
    std::string parts;
    for (const AddedPart& part : steps.parts)
      parts += fmt::format("{}{{{}, {}, {}}}", parts.empty() ? "" : ", ", part.begin, part.end,
                           part.is_first ? 1 : 0);
    definitions_of_again_ += wrapped(fmt::format(
        "/* The rows that these steps add. */\nstatic const stowage_part parts_{}[{}] = {{{}}};\n", op,
        steps.parts.size(), parts));
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
  if (const MovingRows* const moving_rows = moving(tensor)) return {plan_, tensor, *moving_rows};
  return place_of_storage(tensor);
}

Storage Sources::place_of_storage(TensorId tensor) const {
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
  Position at = is_input && !views.empty() ? views[0].life.lower : 0;
  for (const View& view : views)
    at = is_input ? std::min(at, view.life.lower) : std::max(at, view.life.upper - 1);
  at_ = at;
  return storage(tensor);
}

std::string RowNow::bytes() const {
  return behind.empty() ? at : fmt::format("(uint8_t *){} + ({}) * {}", at, behind, row_bytes);
}

bool Sources::is_in_several_memories(TensorId tensor) const {
  const std::vector<View>& views = plan_.tensors[tensor].views;
  const auto memory_of = [&](const View& view) { return plan_.places[view.buffer].memory; };
  return std::ranges::any_of(views, [&](const View& view) { return memory_of(view) != memory_of(views[0]); });
}

const MovingRows* Sources::moving(TensorId tensor) const {
  const bool may_move = is_streamed(plan_) && plan_.tensors[tensor].tensor.shape && !is_constant(tensor) &&
                        is_in_several_memories(tensor) && blocks_of(tensor).empty() &&
                        (blocks_ == nullptr || !blocks_->is_gathered(tensor));
  if (!may_move) return nullptr;
  try {
    static_cast<void>(place_of_storage(tensor));
    return nullptr;
  } catch (const Misplaced&) {
  }
  auto known = moving_.find(tensor);
  if (known == moving_.end()) known = moving_.emplace(tensor, moving_rows(plan_, tensor, granule_)).first;
  return &known->second;
}

bool Sources::stage(TensorId tensor, const std::string& array) {
  const auto known = staged_.find(tensor);
  if (known != staged_.end()) return known->second == array;
  const auto stored = std::ranges::find(arrays_, array, &ConstantArray::name);
  if (!is_streamed(plan_) || stored == arrays_.end() ||
      std::ssize(stored->data) != plan_.tensors[tensor].tensor.bytes)
    return false;
  auto rows = staged_rows(plan_, tensor);
  if (!rows) return false;
  moving_.emplace(tensor, *std::move(rows));
  staged_.emplace(tensor, array);
  return true;
}

std::optional<std::string> Sources::staged(TensorId tensor) const {
  const auto found = staged_.find(tensor);
  return found == staged_.end() ? std::nullopt : std::optional(found->second);
}

std::string Sources::name_of_moving(TensorId tensor) {
  const std::string name = fmt::format("moving_{}", tensor);
  if (places_of_moving_.contains(tensor)) return name;
  need("stowage_moving");
  const MovingRows& own = moving_.at(tensor);
  std::map<std::size_t, RowPlace> places;  // by memory: each has the slots of all stays
  for (const auto& block : own.blocks)
    for (const Stay& stay : block) {
      if (stay.memory == memory_of_weights) continue;
      RowPlace& place =
          places.try_emplace(stay.memory, RowPlace{stay.memory, stay.at, 0, 1, 1, {}}).first->second;
      place.offset = std::min(place.offset, stay.at);
    }
  Bytes pitch = 0;
  for (const auto& block : own.blocks)
    for (const Stay& stay : block)
      if (stay.memory != memory_of_weights) pitch = std::gcd(pitch, stay.at - places.at(stay.memory).offset);
  if (pitch == 0) pitch = own.row_bytes;
  std::vector<std::uint16_t> slots;
  for (const auto& block : own.blocks)
    for (const Stay& stay : block) {
      const bool is_constant = stay.memory == memory_of_weights;
      const Bytes slot = is_constant ? 0 : (stay.at - places.at(stay.memory).offset) / pitch;
      if (std::max({slot, std::ssize(slots), own.rows}) > std::numeric_limits<std::uint16_t>::max())
        misplace("{} moves in too many or too small units", plan_.tensors[tensor].tensor.name);
      slots.push_back(static_cast<std::uint16_t>(slot));
    }
  std::vector<std::string> names;
  for (auto& [memory, it] : places) {
    it.pitch = pitch;
    it.rows = std::ssize(slots);
    it.slots = slots;
    names.push_back(place(it, tensor));
  }
  places_of_moving_[tensor] = places_.array(names, std::to_string(tensor));
  return name;
}

RowNow Sources::row_now(TensorId tensor, std::optional<std::size_t> axis, std::string_view memory,
                        std::string_view now, std::string_view index) {
  const MovingRows& own = *moving(tensor);
  const Tensor& it = plan_.tensors[tensor].tensor;
  const auto at = [&](std::string_view row) {
    return fmt::format("stowage_row_now({}, &{}, {}, {})", memory, name_of_moving(tensor), now, row);
  };
  if (!axis && own.axis) misplace("it reads or writes {} as a whole, whose rows are apart", it.name);
  if (!axis) return {at("0"), "", own.row_bytes};
  if (own.axis && own.axis != axis)
    misplace("{} is stored by rows along axis {}, but used along axis {}", it.name, *own.axis, *axis);
  if (own.axis) return {at(index), "", own.row_bytes};
  if (!is_outermost(it, *axis) && (*it.shape)[*axis] != 1)
    misplace("rows of {} along axis {} are not contiguous", it.name, *axis);
  return {at("0"), std::string(index), bytes_of_row(it, *axis).value()};
}

std::pair<std::string, Bytes> Sources::definitions_of_moving() const {
  constexpr Bytes bytes_of_each = 24;
  std::string text;
  Bytes bytes = 0;
  for (const auto& [tensor, places] : places_of_moving_) {
    const MovingRows& own = moving_.at(tensor);
    std::vector<std::uint16_t> first{0};
    std::vector<std::uint16_t> until;
    std::vector<std::uint16_t> in;
    std::set<std::size_t> memories;
    for (const auto& block : own.blocks)
      for (const Stay& stay : block)
        if (stay.memory != memory_of_weights) memories.insert(stay.memory);
    for (const auto& block : own.blocks) {
      for (const Stay& stay : block) {
        until.push_back(
            static_cast<std::uint16_t>(std::ranges::lower_bound(times_, stay.until) - times_.begin()));
        constexpr std::uint16_t among_weights = 255;  // stowage_stays_at_home
        in.push_back(stay.memory == memory_of_weights ? among_weights
                                                      : static_cast<std::uint16_t>(std::distance(
                                                            memories.begin(), memories.find(stay.memory))));
      }
      first.push_back(static_cast<std::uint16_t>(until.size()));
    }
    const auto array = [&](std::string_view name, int bits, const std::vector<std::uint16_t>& numbers) {
      bytes += std::ssize(numbers) * bits / 8;
      return fmt::format("static const uint{}_t {}_of_{}[{}] = {{\n{}}};\n", bits, name, tensor,
                         numbers.size(), initialiser(DType::uint16, std::as_bytes(std::span(numbers))));
    };
    text += fmt::format("/* Stays of {}. */\n", in_comment(plan_.tensors[tensor].tensor.name));
    const bool has_lists = until.size() > own.blocks.size();
    if (has_lists) text += array("first_stays", 16, first) + array("ends", 16, until);
    text += array("memories", 8, in);
    text += fmt::format(
        "static const stowage_moving moving_{0} = {{{1}, memories_of_{0}, {2}, {3}, {4}, {5}}};\n", tensor,
        has_lists ? fmt::format("first_stays_of_{0}, ends_of_{0}", tensor) : "NULL, NULL", places,
        own.row_bytes, own.granule, own.rows);
    bytes += bytes_of_each;
  }
  return {text, bytes};
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
  RowPlace there = place;
  const std::vector<View>& views = plan_.tensors[tensor].views;
  if (is_open_ && place.slots.empty() && views.size() == 1 && views[0].ring)
    there.ring = views[0].ring->count * views[0].ring->granule;
  return places_.add(there, std::to_string(tensor), in_comment(own.name));
}

std::string Sources::places() const {
  return places_.definitions() + with_references(definitions_of_again_) + definitions_of_moving().first;
}

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
