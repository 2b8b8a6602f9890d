#include "machine.h"

#include <algorithm>

namespace stowage::campaign {

Machine::Machine(const Networks& networks, const Plan& plan, Findings& findings, ReplayTally& tally)
    : graphs_(networks.graphs),
      plan_(plan),
      findings_(findings),
      tally_(tally),
      names_(networks.graphs, plan, networks.constants),
      memory_(plan, findings) {
  for (std::size_t m = 0; m < graphs_.size(); ++m) {
    places_.push_back(places_in_plan(graphs_[m], m, plan));
    for (TensorId t = 0; t < places_[m].size(); ++t)
      if (places_[m][t]) tensors_[*places_[m][t]] = t;
  }
}

void Machine::fault(const std::string& group, const std::string& what) {
  if (findings_.size() < 20) findings_.push_back({"replay: " + group, what});
}

std::string Machine::describe_tensor(std::size_t model, TensorId tensor) const {
  return "'" + graphs_[model].tensors[tensor].name + "' of model " + std::to_string(model);
}

std::string Machine::describe_name(ByteName name) const {
  if (name == nobody) return "nothing";
  if (name >= Names::other(0)) return "scratch";
  const std::size_t model = (name >> 56U) - 1;
  const TensorId tensor = (name >> 32U & 0xffffffU) - 1;
  return "byte " + std::to_string(name & 0xffffffffU) + " of " + describe_tensor(model, tensor);
}

std::vector<Bytes> Machine::all_bytes(std::size_t model, TensorId tensor) const {
  std::vector<Bytes> bytes(static_cast<std::size_t>(graphs_[model].tensors[tensor].bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<Bytes>(i);
  return bytes;
}

std::vector<Bytes> Machine::bytes_of_rows(std::size_t model, TensorId tensor, std::size_t axis,
                                          const std::vector<std::int64_t>& rows) const {
  const auto layout = RowLayout::of(graphs_[model].tensors[tensor], axis);
  if (!layout) return all_bytes(model, tensor);
  std::vector<Bytes> bytes;
  for (const std::int64_t row : rows)
    for (Bytes at = 0; at < layout->row_bytes(); ++at) bytes.push_back(layout->byte_of(row, at));
  return bytes;
}

void Machine::read(std::size_t model, TensorId tensor, const std::vector<Bytes>& bytes,
                   const std::string& reader, Reading* reading, std::size_t input) {
  const auto place = places_[model][tensor];
  if (!place || plan_.tensors[*place].views.empty()) return;
  const Whereabouts where(memory_, plan_, plan_.tensors[*place]);
  const Whereabouts ending = Whereabouts::of_ending(memory_, plan_, plan_.tensors[*place]);
  std::vector<Whereabouts::Spot> spots;
  for (const Bytes byte : bytes) {
    where.find(byte, spots);
    // The view of what an operator writes over in place ends where that of its output begins.
    const bool is_ending = spots.empty() && reading != nullptr;
    if (is_ending) ending.find(byte, spots);
    if (spots.empty())
      return fault("no view", reader + " reads byte " + std::to_string(byte) + " of " +
                                  describe_tensor(model, tensor) + ", which is in no view then");
    const ByteName wanted = names_.of(model, tensor)[static_cast<std::size_t>(byte)];
    std::optional<Address> found;
    ByteName other = nobody;
    for (const auto& spot : spots) {
      if (!memory_.holds(spot.buffer, spot.offset)) continue;
      const Address address = memory_.address(spot.buffer, spot.offset);
      if (memory_.name_at(address) == wanted)
        found = address;
      else
        other = memory_.name_at(address);
    }
    if (!found) {
      const bool held = memory_.holds(spots[0].buffer, spots[0].offset);
      return fault(held ? "wrong bytes" : "not reserved",
                   reader + " reads byte " + std::to_string(byte) + " of " + describe_tensor(model, tensor) +
                       (held ? ", where there is " + describe_name(other) : ", which is not reserved then"));
    }
    if (spots.size() > 1 && other != nobody) ++tally_.ambiguous;
    ++tally_.bytes;
    if (reading != nullptr)
      reading->emplace(*found, Operand{.input = input, .byte = byte, .is_ending = is_ending});
  }
}

std::optional<Whereabouts::Spot> Machine::target(const PlannedTensor& tensor,
                                                 const std::vector<Whereabouts::Spot>& spots) const {
  if (spots.size() == 1) return spots[0];
  std::optional<Whereabouts::Spot> begun;
  for (const auto& spot : spots) {
    const View& view = tensor.views[spot.view];
    if (view.life.lower != memory_.position(plan_.buffers[view.buffer].clock)) continue;
    if (begun) return std::nullopt;
    begun = spot;
  }
  return begun;
}

void Machine::check_overwriting(std::size_t model, Address address, ByteName name, Bytes byte,
                                const Writing& writing, const std::string& writer) {
  if (writing.reading == nullptr) return;
  const auto [begin, end] = writing.reading->equal_range(address);
  for (auto it = begin; it != end; ++it) {
    const Operand& operand = it->second;
    const TensorId input = *writing.op->inputs[operand.input];
    if (names_.of(model, input)[static_cast<std::size_t>(operand.byte)] == name) continue;
    if (writing.output == 0 && operand.byte == byte &&
        is_elementwise(graphs_[model], *writing.op, operand.input)) {
      ++tally_.in_place;
      continue;
    }
    return fault("overwrites operand",
                 writer + " (" + writing.op->type + ") writes byte " + std::to_string(byte) + " over byte " +
                     std::to_string(operand.byte) + " of its input " + describe_tensor(model, input));
  }
}

void Machine::write(std::size_t model, TensorId tensor, const std::vector<Bytes>& bytes,
                    const std::string& writer, const Writing& writing) {
  const auto place = places_[model][tensor];
  if (!place || plan_.tensors[*place].views.empty()) return;
  const PlannedTensor& planned = plan_.tensors[*place];
  const Whereabouts where(memory_, plan_, planned);
  std::vector<Whereabouts::Spot> spots;
  for (const Bytes byte : bytes) {
    where.find(byte, spots);
    if (spots.empty())
      return fault("no view", writer + " writes byte " + std::to_string(byte) + " of " +
                                  describe_tensor(model, tensor) + ", which is in no view then");
    const auto spot = target(planned, spots);
    if (!spot)
      return fault("ambiguous view", writer + " writes byte " + std::to_string(byte) + " of " +
                                         describe_tensor(model, tensor) +
                                         ", for which there are several views");
    if (!memory_.holds(spot->buffer, spot->offset))
      return fault("not reserved", writer + " writes byte " + std::to_string(byte) + " of " +
                                       describe_tensor(model, tensor) + ", which is not reserved then");
    const Address address = memory_.address(spot->buffer, spot->offset);
    const ByteName name = names_.of(model, tensor)[static_cast<std::size_t>(byte)];
    written_.insert(address);
    if (memory_.name_at(address) == name) {
      ++tally_.kept;
      continue;
    }
    check_overwriting(model, address, name, byte, writing, writer);
    memory_.put(address, name);
  }
}

void Machine::check_endings(std::size_t model, const Operator& op, const Reading& reading,
                            const std::string& reader) {
  for (const auto& [address, operand] : reading)
    if (operand.is_ending && !written_.contains(address)) {
      fault("no view", reader + " reads byte " + std::to_string(operand.byte) + " of " +
                           describe_tensor(model, *op.inputs[operand.input]) + ", whose view has ended");
      break;
    }
  written_.clear();
}

void Machine::scribble(std::size_t model, TensorId scratch, const std::string& writer) {
  const auto place = places_[model][scratch];
  if (!place) return fault("no view", "scratch " + describe_tensor(model, scratch) + " is not in the plan");
  const bool is_callers = graphs_[model].tensors[scratch].kind != TensorKind::scratch;
  if (is_callers && plan_.tensors[*place].views.empty()) return;
  const Whereabouts where(memory_, plan_, plan_.tensors[*place]);
  std::vector<Whereabouts::Spot> spots;
  for (const Bytes byte : all_bytes(model, scratch)) {
    where.find(byte, spots);
    if (spots.size() != 1 || !memory_.holds(spots[0].buffer, spots[0].offset))
      return fault("no scratch", writer + " has no " + describe_tensor(model, scratch));
    memory_.put(memory_.address(spots[0].buffer, spots[0].offset), Names::other(++scribbled_));
  }
}

void Machine::give(std::size_t model, TensorId tensor) {
  const auto place = places_[model][tensor];
  if (!place) return;
  const PlannedTensor& planned = plan_.tensors[*place];
  const Whereabouts where(memory_, plan_, planned);
  const Whereabouts ending = Whereabouts::of_ending(memory_, plan_, planned);
  std::vector<Whereabouts::Spot> spots;
  for (const Bytes byte : all_bytes(model, tensor)) {
    where.find(byte, spots);
    if (spots.empty()) ending.find(byte, spots);
    if (spots.empty() && !planned.views.empty())
      return fault("no view", "the caller gives byte " + std::to_string(byte) + " of " +
                                  describe_tensor(model, tensor) + ", which is in no view then");
    for (const auto& spot : spots) {
      if (!memory_.holds(spot.buffer, spot.offset))
        return fault("not reserved", "the caller gives byte " + std::to_string(byte) + " of " +
                                         describe_tensor(model, tensor) + ", which is not reserved then");
      memory_.put(memory_.address(spot.buffer, spot.offset),
                  names_.of(model, tensor)[static_cast<std::size_t>(byte)]);
    }
  }
}

void Machine::copy(const Copy& copy) {
  const PlannedTensor& planned = plan_.tensors[copy.tensor];
  const TensorId tensor = tensors_.at(copy.tensor);
  const std::string writer = "the copy of " + describe_tensor(planned.model, tensor);
  const Whereabouts where(memory_, plan_, planned);
  std::vector<Bytes> bytes = all_bytes(planned.model, tensor);
  if (copy.rows) {
    std::vector<std::int64_t> rows;
    for (std::int64_t row = copy.rows->begin; row < copy.rows->end; ++row) rows.push_back(row);
    bytes = bytes_of_rows(planned.model, tensor, copy.rows->axis, rows);
  }
  for (const Bytes byte : bytes) {
    const ByteName name = names_.of(planned.model, tensor)[static_cast<std::size_t>(byte)];
    const std::optional<Bytes> from = where.find_in(copy.from, byte);
    const std::optional<Bytes> to = where.find_in(copy.to, byte);
    if (!from || !to) return fault("copy", writer + " has no view to copy from or to");
    if (!memory_.holds(copy.from, *from) || !memory_.holds(copy.to, *to))
      return fault("copy", writer + " goes through bytes that are not reserved");
    if (memory_.name_at(memory_.address(copy.from, *from)) != name)
      return fault("copy", writer + " does not find its bytes");
    memory_.put(memory_.address(copy.to, *to), name);
    ++tally_.bytes;
  }
}

}  // namespace stowage::campaign
