// Runs steps one after the other: in the plan's memories and, for a check, in the reference, where every tensor
// has memory of its own. What an operator reads is compared before the reference runs it, and what it wrote after.
// So the first reader of overwritten bytes finds the fault. Bytes that an operator only copies, and that are
// already in place, are not touched.

#include "run/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "run/reference.h"
#include "stowage/error.h"

namespace stowage::run {

Interpreter* Interpreter::own() const {
  return setting_.reference == nullptr ? nullptr : &setting_.reference->own();
}

void Interpreter::give(TensorId tensor, std::span<const std::byte> value) {
  if (setting_.reference != nullptr) setting_.reference->give(tensor, value);
  if (rows_ != nullptr && rows_->arrives(tensor)) return rows_->expect(tensor, value);
  machine_.resume("the caller");
  machine_.write({.tensor = tensor}, value.data());
}

std::vector<std::byte> Interpreter::read(TensorId tensor) {
  if (rows_ != nullptr && rows_->leaves(tensor)) return rows_->what_left(tensor);
  machine_.resume("the caller");
  const TensorPart part{.tensor = tensor};
  const PlacedPart at = machine_.find_written(part);
  machine_.compare(part, at, "taken by");
  return bytes_of(at);
}

void Interpreter::take(TensorId input, Interpreter& from, TensorId output) {
  const auto size = static_cast<std::size_t>(graph().tensors[input].bytes);
  if (from.machine_.is_constant(output)) return give(input, from.program().constants[output].first(size));
  const TensorPart there{.tensor = output};
  machine_.resume("the feed of " + setting_.home.describe({.tensor = input}));
  from.machine_.resume(machine_.who());
  const PlacedPart read = from.machine_.find_written(there);
  from.machine_.compare(there, read, "passed to");
  take_from(read, input, from, output);
}

void Interpreter::take(TensorId input, Interpreter& from, TensorId output, const PlacedPart& copied) {
  machine_.resume("the feed of " + setting_.home.describe({.tensor = input}));
  from.setting_.home.expect_there({.tensor = output}, copied, machine_.who());
  take_from(copied, input, from, output);
}

void Interpreter::take_from(const PlacedPart& read, TensorId input, Interpreter& from, TensorId output) {
  const TensorPart there{.tensor = output};
  const TensorPart here{.tensor = input};
  const Bytes given = from.graph().tensors[output].bytes;
  const Bytes wanted = graph().tensors[input].bytes;
  if (given != wanted)
    throw Error(
        "", fmt::format("{} has {} bytes at these sizes, and {}, which it follows, {}; a round of several "
                        "models needs sizes at which they are equal",
                        setting_.home.describe(here), wanted, from.setting_.home.describe(there), given));
  const PlacedPart place = machine_.room(here);
  const bool is_outside = setting_.home.is_outside(input) && from.setting_.home.is_outside(output);
  if (!is_outside && !is_same_place(place, read))
    throw RunFault{fmt::format("{} is fed by {}, but lies elsewhere", setting_.home.describe(here),
                               from.setting_.home.describe(there))};
  const std::vector<std::byte> value = bytes_of(read);
  // What the plan made: sums of rows may differ a little from what the writer's reference made.
  if (own() != nullptr) setting_.reference->give(input, value);
  if (is_outside) {
    machine_.write(here, value.data());
  } else {
    machine_.wrote(here, place);
  }
}

PlacedPart Interpreter::copy_state(TensorId output, TensorId input) {
  const TensorPart part{.tensor = output};
  const std::vector<std::byte> value = read(output);
  const PlacedPart place = setting_.home.find_state(input, static_cast<Bytes>(value.size()),
                                                    "the new state " + setting_.home.describe(part));
  if (!value.empty()) std::ranges::copy(value, place.front().at);
  setting_.home.overwrite(place);
  setting_.home.wrote(part, place);
  return place;
}

void Interpreter::run(const std::vector<Call>& calls) {
  for (const Call& call : calls) run(call);
}

std::string Interpreter::describe(const Call& call) const {
  std::string who = stowage::describe(graph(), call.subgraph, call.op);
  const Device* const device = setting_.home.device();
  return device == nullptr ? who : who + device->of_model(setting_.home.model());
}

/// An operator that only needs a shape runs ahead of time, without its input.
Task Interpreter::task_of(const Call& call) {
  Task task{.subgraph = call.subgraph, .op = call.op};
  const Operator& op = program().op(call);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i] || (op.folded && !machine_.is_there(*op.inputs[i]))) continue;
    task.inputs.push_back({.index = i, .at = machine_.read({.tensor = *op.inputs[i]})});
  }
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (!op.outputs[o]) continue;
    setting_.home.settle(*op.outputs[o]);
    if (is_control_flow(op)) continue;  // bodies write it, where it has a place when they have run
    task.outputs.push_back({.index = o, .at = machine_.room({.tensor = *op.outputs[o]})});
  }
  return task;
}

void Interpreter::run(const Call& call) {
  const Operator& op = program().op(call);
  const std::string who = describe(call);
  move_to(call.at);
  machine_.begin(who);
  const Task task = task_of(call);
  if (is_control_flow(op)) {
    if (setting_.reference != nullptr) setting_.reference->run(call);
    run_control_flow(*this, call, who);
    return;
  }
  machine_.compute_only(task);
  machine_.expect_unspoilt();
  if (setting_.reference != nullptr) setting_.reference->run(call);
  machine_.wrote_outputs_of(task);
  machine_.end();
  machine_.count_multiplies(op, std::nullopt);
}

void Interpreter::run_rows(const Step& step) { rows_->run(step); }

void Interpreter::run(const Copy& copy) {
  const Plan& plan = setting_.home.device()->plan();
  const auto memory_of = [&](std::size_t buffer) {
    return base::quoted(plan.memories[plan.places[buffer].memory].memory.name);
  };
  machine_.begin(fmt::format("copy of {} from {} to {}", setting_.home.device()->describe(copy.tensor),
                             memory_of(copy.from), memory_of(copy.to)));
  const std::string who = "the " + machine_.who();
  const TensorId tensor = copy.tensor - setting_.home.device()->first_tensor_of(setting_.home.model());
  if (machine_.is_constant(tensor)) {
    for (const PlacedPart& part : setting_.home.stage(copy, program().constants[tensor], who))
      machine_.note_touched(part);
  } else {
    for (const PlacedPart& part : setting_.home.copy(copy, who)) machine_.note_touched(part);
  }
  machine_.end();
}

// Control flow

void Interpreter::enter(std::size_t subgraph) {
  machine_.forget(subgraph);
  if (own() != nullptr) own()->enter(subgraph);
}

void Interpreter::copy(TensorId from, TensorId to, Bytes offset) {
  const std::vector<std::byte> value = machine_.value_of(from);
  if (own() != nullptr) own()->copy(from, to, offset);
  const PlacedPart place = machine_.room({.tensor = to});
  const auto size = static_cast<Bytes>(value.size());
  for (const PlacedBytes& bytes : place) {
    const Bytes begin = std::max(offset, bytes.offset);
    const Bytes end = std::min(offset + size, bytes.offset + bytes.size);
    if (begin < end)
      std::memcpy(bytes.at + (begin - bytes.offset), value.data() + (begin - offset),
                  static_cast<std::size_t>(end - begin));
  }
  setting_.home.overwrite(place);
  machine_.note_written({.tensor = to}, place);
}

void Interpreter::copy_part(TensorId from, Bytes offset, TensorId to) {
  const std::vector<std::byte> value = machine_.value_of(from);
  if (own() != nullptr) own()->copy_part(from, offset, to);
  machine_.write({.tensor = to}, value.data() + offset);
}

void Interpreter::copy_all(std::span<const TensorId> from, std::span<const TensorId> to) {
  std::vector<PlacedPart> places;
  std::vector<std::vector<std::byte>> values;
  for (const TensorId tensor : from) {
    places.push_back(machine_.read({.tensor = tensor}));
    values.push_back(bytes_of(places.back()));
  }
  if (own() != nullptr) own()->copy_all(from, to);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const TensorPart part{.tensor = to[i]};
    const PlacedPart room = machine_.room(part);
    if (is_same_place(room, places[i])) {
      machine_.wrote(part, room);
    } else {
      machine_.write(part, values[i].data());
    }
  }
}

std::int64_t Interpreter::scalar(TensorId tensor) {
  const TensorPart part{.tensor = tensor};
  const PlacedPart at = machine_.read(part);
  machine_.compare(part, at, "read by");
  std::int64_t value = 0;
  for (const PlacedBytes& bytes : at) {
    if (bytes.offset < static_cast<Bytes>(sizeof(value)))
      std::memcpy(reinterpret_cast<std::byte*>(&value) + bytes.offset, bytes.at,
                  std::min(static_cast<std::size_t>(bytes.size),
                           sizeof(value) - static_cast<std::size_t>(bytes.offset)));
  }
  return value;
}

void Interpreter::set_scalar(TensorId tensor, std::int64_t value) {
  if (own() != nullptr) own()->set_scalar(tensor, value);
  machine_.write({.tensor = tensor}, reinterpret_cast<const std::byte*>(&value));
}

}  // namespace stowage::run
