#include "open_memory.h"

#include <algorithm>

namespace stowage::campaign {
namespace {

/// Which of an operator's operands is the one at that place in the file's node. The reader may have others besides,
/// and one tensor may be several of them.
std::optional<std::size_t> index_in(const Graph& graph, const std::vector<std::optional<TensorId>>& operands,
                                    const std::vector<std::string>& names, std::size_t place) {
  auto before = std::count(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(place), names[place]);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i] && graph.tensors[*operands[i]].name == names[place] && before-- == 0) return i;
  return std::nullopt;
}

}  // namespace

OpenMemory::OpenMemory(const OpenNet& net, const Graph& graph, const Plan& plan, Findings& findings,
                       OpenTally& tally)
    : net_(net), graph_(graph), plan_(plan), findings_(findings), tally_(tally), memory_(plan, findings) {
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) places_.emplace(plan.tensors[i].tensor.name, i);
  for (TensorId t = 0; t < graph.tensors.size(); ++t) tensors_.emplace(graph.tensors[t].name, t);
}

void OpenMemory::fault(const std::string& group, const std::string& what) {
  if (findings_.size() < 8) findings_.push_back({"sizes: " + group, what});
}

void OpenMemory::go(std::size_t position) {
  memory_.go(0, static_cast<Position>(position));
  ++tally_.steps;
}

const PlannedTensor* OpenMemory::planned(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end() || plan_.tensors[found->second].views.empty()) return nullptr;
  return &plan_.tensors[found->second];
}

void OpenMemory::check_size(const std::string& name, const OpenValue& value) {
  const PlannedTensor* tensor = planned(name);
  if (tensor == nullptr) return;
  const auto bytes = static_cast<Bytes>(value.names.size()) * width(value);
  const Tensor& of = tensor->tensor;
  if (bytes < of.bytes) ++tally_.smaller;
  if (bytes > of.bytes)
    return fault("larger than planned", "'" + name + "' has " + std::to_string(bytes) +
                                            " bytes, planned are " + std::to_string(of.bytes));
  if (!of.shape) return;
  if (of.shape->size() != value.shape.size()) return fault("another rank", "'" + name + "'");
  for (std::size_t a = 0; a < value.shape.size(); ++a) {
    const std::int64_t extent = value.shape[a];
    const auto open = std::find_if(of.open.begin(), of.open.end(),
                                   [&](const OpenExtent& candidate) { return candidate.axis == a; });
    const std::string words = "'" + name + "' has an extent of " + std::to_string(extent) + " at " +
                              std::to_string(a) + ", planned is " + std::to_string((*of.shape)[a]);
    if (extent > (*of.shape)[a]) return fault("an extent above the planned one", words);
    if (open == of.open.end() && extent != (*of.shape)[a])
      return fault("an extent that is not said to be open", words);
    // Of bodies the same symbol has another extent in every round.
    if (open == of.open.end() || tensors_.find(name) == tensors_.end()) continue;
    const bool is_main =
        std::any_of(net_.main.nodes.begin(), net_.main.nodes.end(), [&](const OpenNode& node) {
          return std::find(node.outputs.begin(), node.outputs.end(), name) != node.outputs.end();
        });
    if (!is_main) continue;
    const auto [it, is_new] = extents_.emplace(open->symbol, extent);
    if (!is_new && it->second != extent)
      return fault("one symbol, two extents", words + ", another has " + std::to_string(it->second));
  }
}

std::optional<Address> OpenMemory::place_of_byte(const std::string& name, Bytes byte, bool is_read) const {
  const PlannedTensor& tensor = *planned(name);
  std::vector<Whereabouts::Spot> spots;
  Whereabouts(memory_, plan_, tensor).find(byte, spots);
  if (spots.empty() && is_read) Whereabouts::of_ending(memory_, plan_, tensor).find(byte, spots);
  if (spots.size() > 1 && !is_read) {
    std::vector<Whereabouts::Spot> begun;
    for (const auto& spot : spots)
      if (tensor.views[spot.view].life.lower == memory_.position(0)) begun.push_back(spot);
    if (begun.size() == 1) spots = begun;
  }
  if (spots.empty() || !memory_.holds(spots[0].buffer, spots[0].offset)) return std::nullopt;
  return memory_.address(spots[0].buffer, spots[0].offset);
}

void OpenMemory::read(const std::string& name, const OpenValue& value, const std::string& reader) {
  if (planned(name) == nullptr || !is_right()) return;
  const auto bytes = static_cast<Bytes>(value.names.size()) * width(value);
  for (Bytes byte = 0; byte < bytes; ++byte) {
    const std::optional<Address> address = place_of_byte(name, byte, true);
    const std::string words = reader + " reads byte " + std::to_string(byte) + " of '" + name + "'";
    if (!address) return fault("not reserved", words + ", which is not reserved then");
    if (memory_.name_at(*address) != byte_of(value, byte)) return fault("wrong bytes", words);
    ++tally_.bytes;
  }
}

void OpenMemory::put(const std::string& name, const OpenValue& value, Bytes at, const std::string& writer) {
  if (planned(name) == nullptr || !is_right()) return;
  const Whereabouts where(memory_, plan_, *planned(name));
  const Whereabouts ending = Whereabouts::of_ending(memory_, plan_, *planned(name));
  const auto bytes = static_cast<Bytes>(value.names.size()) * width(value);
  std::vector<Whereabouts::Spot> spots;
  for (Bytes byte = 0; byte < bytes; ++byte) {
    where.find(at + byte, spots);
    // The view of what the first reader writes over in place ends where that of its output begins.
    if (spots.empty()) ending.find(at + byte, spots);
    bool is_held = false;
    for (const Whereabouts::Spot& spot : spots) {
      if (!memory_.holds(spot.buffer, spot.offset)) continue;
      memory_.put(memory_.address(spot.buffer, spot.offset), byte_of(value, byte));
      is_held = true;
    }
    if (!is_held)
      return fault("not reserved", writer + " writes byte " + std::to_string(at + byte) + " of '" + name +
                                       "', which is not reserved then");
  }
}

void OpenMemory::give(const std::string& name, const OpenValue& value) {
  check_size(name, value);
  put(name, value, 0, "the one who gives it");
}

void OpenMemory::give_row(const std::string& name, const OpenValue& row, std::int64_t number) {
  put(name, row, number * static_cast<Bytes>(row.names.size()) * width(row), "a round");
}

void OpenMemory::copy(const Copy& copy, const OpenValue& value) {
  const PlannedTensor& tensor = plan_.tensors[copy.tensor];
  const auto view_in = [&](std::size_t buffer) -> const View* {
    for (const View& view : tensor.views)
      if (view.buffer == buffer && memory_.is_alive(view)) return &view;
    return nullptr;
  };
  const View* from = view_in(copy.from);
  const View* to = view_in(copy.to);
  if (from == nullptr || to == nullptr) return fault("copy", "no view to copy from or to");
  const auto bytes = static_cast<Bytes>(value.names.size()) * width(value);
  for (Bytes byte = 0; byte < bytes; ++byte) {
    if (!memory_.holds(copy.from, from->offset + byte) || !memory_.holds(copy.to, to->offset + byte))
      return fault("copy", "a copy goes through bytes that are not reserved");
    const ByteName name = memory_.name_at(memory_.address(copy.from, from->offset + byte));
    if (name != byte_of(value, byte)) return fault("copy", "a copy does not find its bytes");
    memory_.put(memory_.address(copy.to, to->offset + byte), name);
  }
}

void OpenMemory::begin(const Operator& /*op*/, const OpenNode& /*node*/, const std::string& words) {
  reading_.clear();
  words_ = words;
}

void OpenMemory::operand(const std::string& name, const OpenValue& value, std::size_t input) {
  read(name, value, words_);
  if (planned(name) == nullptr || !is_right()) return;
  const auto bytes = static_cast<Bytes>(value.names.size()) * width(value);
  for (Bytes byte = 0; byte < bytes; ++byte)
    if (const std::optional<Address> address = place_of_byte(name, byte, true))
      reading_.emplace(*address, Read{input, byte, byte_of(value, byte)});
}

/// Copies whose tensors have the bytes at the same place, as planned: nobody makes them.
OpenMemory::Removed OpenMemory::removed_copies(const Operator& op, const OpenNode& node, std::size_t input,
                                               std::size_t output, const OpenValue& value) const {
  Removed removed;
  const std::string& from = node.inputs[input];
  const std::string& to = node.outputs[output];
  if (planned(from) == nullptr || planned(to) == nullptr) return removed;
  const std::optional<std::size_t> own_input = index_in(graph_, op.inputs, node.inputs, input);
  const std::optional<std::size_t> own_output = index_in(graph_, op.outputs, node.outputs, output);
  Bytes covered = 0;
  for (const ByteCopy& copy : op.copies) {
    if (copy.input != own_input || copy.output != own_output) continue;
    const auto source = place_of_byte(from, copy.from, true);
    const auto target = place_of_byte(to, copy.to, false);
    if (!source || !target || *source != *target) continue;
    covered += copy.size;
    removed.copies.push_back(copy);
  }
  const auto of_output = net_.moved.find(to);
  if (removed.copies.empty() || of_output == net_.moved.end()) return removed;
  const auto moved = of_output->second.find(input);
  removed.is_whole =
      moved != of_output->second.end() && covered >= static_cast<Bytes>(moved->second) * width(value);
  return removed;
}

namespace {

/// Whether element i of one is element i of the other: equal extents behind leading ones, which broadcasting adds.
bool has_elements_in_order_of(const OpenValue& a, const OpenValue& b) {
  const auto without_ones = [](const Shape& shape) {
    return Shape(std::ranges::find_if(shape, [](std::int64_t extent) { return extent != 1; }), shape.end());
  };
  return without_ones(a.shape) == without_ones(b.shape);
}

}  // namespace

void OpenMemory::write_byte(const std::string& name, const OpenNode& node,
                            const std::vector<const OpenValue*>& inputs, const OpenValue& value,
                            std::size_t output, Bytes byte) {
  const std::optional<Address> address = place_of_byte(name, byte, false);
  const std::string words = words_ + " writes byte " + std::to_string(byte) + " of '" + name + "'";
  if (!address) return fault("not reserved", words + ", which is not reserved then");
  const ByteName wanted = byte_of(value, byte);
  if (memory_.name_at(*address) == wanted) return;
  const auto [begin, end] = reading_.equal_range(*address);
  const bool is_by_element = node.kind == OpenKind::unary || node.kind == OpenKind::binary;
  for (auto it = begin; it != end; ++it) {
    const Read& read = it->second;
    if (read.name == wanted) continue;
    if (is_by_element && output == 0 && read.byte == byte &&
        has_elements_in_order_of(*inputs[read.input], value) && width(*inputs[read.input]) == width(value)) {
      ++tally_.in_place;
      continue;
    }
    return fault("overwrites operand", words + " over byte " + std::to_string(read.byte) + " of its input '" +
                                           node.inputs[read.input] + "'");
  }
  memory_.put(*address, wanted);
}

void OpenMemory::write_results(const Operator& op, const OpenNode& node,
                               const std::vector<const OpenValue*>& inputs, const std::vector<Made>& made) {
  for (std::size_t o = 0; o < made.size() && o < node.outputs.size() && is_right(); ++o) {
    const OpenValue& value = made[o].value;
    if (planned(node.outputs[o]) == nullptr) continue;
    std::vector<Removed> removed;
    for (std::size_t k = 0; k < inputs.size(); ++k) removed.push_back(removed_copies(op, node, k, o, value));
    for (Bytes byte = 0; byte < static_cast<Bytes>(value.names.size()) * width(value) && is_right(); ++byte) {
      const Origin& origin = made[o].sources[static_cast<std::size_t>(byte / width(value))];
      if (origin.input) {
        const Removed& copies = removed[*origin.input];
        const Bytes from = static_cast<Bytes>(origin.element) * width(value) + byte % width(value);
        const bool is_removed =
            copies.is_whole ||
            std::any_of(copies.copies.begin(), copies.copies.end(), [&](const ByteCopy& copy) {
              return byte >= copy.to && byte < copy.to + copy.size && byte - from == copy.to - copy.from;
            });
        if (is_removed) {
          ++tally_.removed;
          continue;
        }
      }
      write_byte(node.outputs[o], node, inputs, value, o, byte);
    }
  }
}

}  // namespace stowage::campaign
