// Runs the calls one after the other, each in every home: in the plan's memories and, for a check, with
// separate memory for every tensor. Before an operator runs, its inputs must be written, held by their
// buffer, and equal in both homes. So the first reader of overwritten bytes finds the fault. Bytes that an
// operator only copies, and that are already in place, are not touched.

#include "run/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "base/text.h"
#include "run/footprint.h"
#include "run/sizes.h"
#include "stowage/error.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

/// Represents tensors without elements.
std::byte nothing{};

std::size_t element_size(DType dtype) {
  constexpr int bits_of_a_byte = 8;
  return static_cast<std::size_t>(std::max(bits_of(dtype).value_or(bits_of_a_byte) / bits_of_a_byte, 1));
}

}  // namespace

Interpreter::Interpreter(const Program& program, Places places, const RunOptions& options, RunResult& result)
    : program_(program),
      planned_(places.planned),
      own_(places.own),
      options_(options),
      result_(result),
      is_written_(program.graph->tensors.size(), false),
      scratch_(static_cast<std::size_t>(program.scratch)) {
  if (places.planned != nullptr) homes_.push_back(places.planned);
  if (places.own != nullptr) homes_.push_back(places.own);
}

void Interpreter::give(TensorId tensor, std::span<const std::byte> bytes) {
  settle(tensor);
  for (Home* const home : homes_)
    std::copy(bytes.begin(), bytes.end(), bytes_of(tensor, *home, "the caller"));
  hand_over(tensor, "the caller");
  touch(tensor, result_.touched);
}

std::span<const std::byte> Interpreter::read(TensorId tensor, const std::string& who) {
  expect_written(tensor, who);
  compare(tensor, who);
  touch(tensor, result_.touched);
  return {bytes_of(tensor, *homes_.front(), who), static_cast<std::size_t>(graph().tensors[tensor].bytes)};
}

void Interpreter::take(TensorId input, Interpreter& from, TensorId output) {
  const std::string who = "the feed of " + describe(input);
  from.expect_written(output, who);
  const auto size = static_cast<std::size_t>(graph().tensors[input].bytes);
  if (from.program_.constants[output].data() != nullptr) {
    give(input, from.program_.constants[output].first(size));
    return;
  }
  settle(input);
  const auto here = planned_->spot_of(input);
  const auto there = from.planned_->spot_of(output);
  const bool is_outside = !here && !there;
  const bool is_in_place = here && there && here->buffer == there->buffer && here->begin == there->begin;
  if (!is_outside && !is_in_place)
    throw RunFault{
        fmt::format("{} is fed by {}, but lies elsewhere", describe(input), from.describe(output))};
  if (is_outside)
    std::memcpy(bytes_of(input, *planned_, who), from.bytes_of(output, *from.planned_, who), size);
  if (own_ != nullptr) std::memcpy(bytes_of(input, *own_, who), from.bytes_of(output, *from.own_, who), size);
  mark_written(input);
  touch(input, result_.touched);
}

void Interpreter::run(const std::vector<Call>& calls) {
  for (const Call& call : calls) run(call);
}

void Interpreter::run(const Call& call) {
  if (options_.stop.stop_requested()) throw Interrupted{};
  const Operator& op = program_.op(call);
  std::string who = stowage::describe(graph(), call.subgraph, call.op);
  if (planned_ != nullptr) who += planned_->device().of_model(planned_->model());
  move_to(call.at);
  expect_readable(op, who);
  StepReport report = report_of(call.at, who);
  for (const auto& output : op.outputs) {
    if (output) settle(*output);
  }
  if (is_control_flow(op)) {
    result_.steps.push_back(std::move(report));
    run_control_flow(*this, call, who);
  } else {
    run_kernel(call, who, report);
    result_.steps.push_back(std::move(report));
  }
  for (const auto& output : op.outputs) {
    if (!output) continue;
    mark_written(*output);
    if (options_.check == RunCheck::tensors) compare(*output, who);
  }
}

void Interpreter::run(const Copy& copy, Position at) {
  if (options_.stop.stop_requested()) throw Interrupted{};
  const Plan& plan = planned_->device().plan();
  const auto memory_of = [&](std::size_t buffer) {
    return base::quoted(plan.memories[plan.places[buffer].memory].memory.name);
  };
  move_to(at);
  StepReport report =
      report_of(at, fmt::format("copy of {} from {} to {}", planned_->device().describe(copy.tensor),
                                memory_of(copy.from), memory_of(copy.to)));
  report.highest.resize(plan.memories.size(), 0);
  planned_->copy(copy, report.what, report.highest);
  note_touched(report);
  if (options_.check == RunCheck::tensors) planned_->device().expect_unspoilt(report.what, planned_->time());
  report_progress();
  result_.steps.push_back(std::move(report));
}

StepReport Interpreter::report_of(Position at, const std::string& what) const {
  StepReport report{.position = at, .what = what};
  if (planned_ == nullptr) return report;
  report.clock = planned_->clock();
  report.live = planned_->device().live();
  return report;
}

void Interpreter::report_progress() const {
  if (options_.progress && planned_ != nullptr) options_.progress("running", planned_->device().progress());
}

void Interpreter::run_kernel(const Call& call, const std::string& who, StepReport& report) {
  using Clock = std::chrono::steady_clock;
  const Operator& op = program_.op(call);
  note_touched(op, report);
  const auto start = Clock::now();
  execute(call, *homes_.front(), who);
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (planned_ != nullptr && options_.check == RunCheck::tensors)
    planned_->device().expect_unspoilt(who, planned_->time());
  if (homes_.size() > 1) execute(call, *homes_.back(), who);
  report_progress();
}

void Interpreter::execute(const Call& call, Home& home, const std::string& who) {
  const Operator& op = program_.op(call);
  OperandPlaces operands = operands_of(op, home, who);
  if (&home == homes_.front()) {
    const std::vector<const std::byte*> inputs(operands.inputs.begin(), operands.inputs.end());
    expect_planned_shapes(program_, call.subgraph, call.op, inputs, who);
    count_copies(op, operands);
  }
  if (&home == planned_) {
    expect_apart(graph(), op, operands, who);
    overwrite(written_by(graph(), op, operands), op.outputs, who);
  }
  if (only_copies(graph(), op)) {
    make_copies(op, operands);
  } else {
    call_kernel(call, operands, home, who);
  }
}

void Interpreter::count_copies(const Operator& op, const OperandPlaces& operands) {
  for (const ByteCopy& copy : op.copies) {
    const bool has_nothing_to_do =
        operands.inputs[copy.input] + copy.from == operands.outputs[copy.output] + copy.to;
    CopiesRemoved& count = has_nothing_to_do ? result_.copies_skipped : result_.copies_made;
    ++count.count;
    count.bytes += copy.size;
  }
}

void Interpreter::make_copies(const Operator& op, const OperandPlaces& operands) {
  for (const ByteCopy& copy : op.copies) {
    const std::byte* const from = operands.inputs[copy.input] + copy.from;
    std::byte* const to = operands.outputs[copy.output] + copy.to;
    if (from != to) std::memmove(to, from, static_cast<std::size_t>(copy.size));
  }
}

/// Kernels need operands aligned to their elements; if the plan's alignment is less, they work on copies.
void Interpreter::call_kernel(const Call& call, OperandPlaces& operands, Home& home, const std::string& who) {
  const Operator& op = program_.op(call);
  std::vector<ByteRange> allowed;
  std::vector<AlignedBytes> copies;
  const auto align = [&](const std::optional<TensorId>& tensor, auto& pointer, bool is_read) {
    if (!tensor || pointer == nullptr) return;
    const auto size = static_cast<std::size_t>(graph().tensors[*tensor].bytes);
    allowed.push_back({pointer, static_cast<Bytes>(size)});
    if (reinterpret_cast<std::uintptr_t>(pointer) % element_size(graph().tensors[*tensor].dtype) == 0) return;
    AlignedBytes& copy = copies.emplace_back(size);
    if (is_read) std::memcpy(copy.data(), pointer, size);
    pointer = copy.data();
  };
  const std::vector<std::byte*> outputs = operands.outputs;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) align(op.inputs[i], operands.inputs[i], true);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) align(op.outputs[i], operands.outputs[i], false);
  try {
    const kernels::Pointers pointers{operands.inputs, operands.outputs, scratch_.data()};
    if (&home == planned_) {
      const OnlyThese only(planned_->device(), allowed, who);
      program_.kernel(call).run(pointers);
    } else {
      program_.kernel(call).run(pointers);
    }
  } catch (const Error& error) {
    throw Error(who, error.what());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == operands.outputs[i]) continue;
    std::memcpy(outputs[i], operands.outputs[i],
                static_cast<std::size_t>(graph().tensors[*op.outputs[i]].bytes));
  }
}

OperandPlaces Interpreter::operands_of(const Operator& op, Home& home, const std::string& who) {
  OperandPlaces operands;
  for (const auto& input : op.inputs) {
    const bool is_there = input && (is_written_[*input] || program_.constants[*input].data() != nullptr);
    operands.inputs.push_back(is_there ? bytes_of(*input, home, who) : nullptr);
  }
  for (const auto& output : op.outputs) {
    operands.outputs.push_back(output ? bytes_of(*output, home, who) : nullptr);
  }
  return operands;
}

std::byte* Interpreter::bytes_of(TensorId tensor, Home& home, const std::string& who) const {
  if (graph().tensors[tensor].bytes == 0) return &nothing;
  const std::span<const std::byte> constant = program_.constants[tensor];
  // No operator writes to constants: only folded operators have them as outputs.
  if (constant.data() != nullptr) return const_cast<std::byte*>(constant.data());
  return home.bytes_of(tensor, who);
}

/// An operator that only needs a shape runs ahead of time, without its input.
void Interpreter::expect_readable(const Operator& op, const std::string& who) {
  if (op.folded) return;
  for (const auto& input : op.inputs) {
    if (!input) continue;
    expect_written(*input, who);
    if (options_.check == RunCheck::tensors) compare(*input, who);
  }
}

void Interpreter::mark_written(TensorId tensor) {
  is_written_[tensor] = true;
  if (planned_ != nullptr) planned_->mark_written(tensor);
}

void Interpreter::overwrite(std::span<const ByteRange> written,
                            std::span<const std::optional<TensorId>> outputs, const std::string& who) {
  std::vector<TensorId> own;
  for (const auto& output : outputs) {
    if (output) own.push_back(*output);
  }
  for (const ByteRange& range : written) planned_->overwrite(range.begin, range.size, own, who);
}

std::string Interpreter::describe(TensorId tensor) const {
  return planned_ != nullptr ? planned_->describe(tensor) : stowage::describe(graph(), tensor);
}

void Interpreter::expect_written(TensorId tensor, const std::string& who) {
  if (graph().tensors[tensor].bytes == 0 || program_.constants[tensor].data() != nullptr) return;
  if (!is_written_[tensor])
    throw RunFault{fmt::format("{} is read by {} before it is written", describe(tensor), who)};
  if (planned_ != nullptr) planned_->expect_value(tensor, who);
}

void Interpreter::compare(TensorId tensor, const std::string& who) {
  if (homes_.size() < 2) return;
  const std::byte* const planned = bytes_of(tensor, *homes_.front(), who);
  const std::byte* const own = bytes_of(tensor, *homes_.back(), who);
  const auto size = static_cast<std::size_t>(graph().tensors[tensor].bytes);
  if (planned == own || std::memcmp(planned, own, size) == 0) return;
  const auto byte = static_cast<std::size_t>(std::mismatch(planned, planned + size, own).first - planned);
  throw RunFault{fmt::format("{} differs from a run with memory of its own, first in element {}, at {}",
                             describe(tensor), byte / element_size(graph().tensors[tensor].dtype), who)};
}

void Interpreter::move_to(Position at) {
  for (Home* const home : homes_) home->move_to(at);
}

void Interpreter::enter(std::size_t subgraph) {
  for (const TensorId tensor : program_.tensors_of[subgraph]) is_written_[tensor] = false;
}

void Interpreter::settle(TensorId tensor) {
  if (program_.constants[tensor].data() != nullptr) return;
  for (Home* const home : homes_) home->settle(tensor);
}

void Interpreter::copy(TensorId from, TensorId to, Bytes offset, const std::string& who) {
  expect_written(from, who);
  const auto size = static_cast<std::size_t>(graph().tensors[from].bytes);
  for (Home* const home : homes_)
    std::memmove(bytes_of(to, *home, who) + offset, bytes_of(from, *home, who), size);
  hand_over(to, who);
}

void Interpreter::copy_all(std::span<const TensorId> from, std::span<const TensorId> to,
                           const std::string& who) {
  for (const TensorId tensor : from) {
    expect_written(tensor, who);
    if (options_.check == RunCheck::tensors) compare(tensor, who);
  }
  for (Home* const home : homes_) {
    std::vector<std::vector<std::byte>> values;
    for (const TensorId tensor : from) {
      const std::byte* const bytes = bytes_of(tensor, *home, who);
      values.emplace_back(bytes, bytes + graph().tensors[tensor].bytes);
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (!values[i].empty()) std::memcpy(bytes_of(to[i], *home, who), values[i].data(), values[i].size());
    }
  }
  for (const TensorId tensor : to) hand_over(tensor, who);
}

/// A tensor was written as a whole, but not by a kernel.
void Interpreter::hand_over(TensorId tensor, const std::string& who) {
  if (planned_ != nullptr) {
    const ByteRange range{bytes_of(tensor, *planned_, who), graph().tensors[tensor].bytes};
    const std::optional<TensorId> own = tensor;
    overwrite({&range, 1}, {&own, 1}, who);
  }
  mark_written(tensor);
}

std::int64_t Interpreter::scalar(TensorId tensor, const std::string& who) {
  expect_written(tensor, who);
  compare(tensor, who);
  std::int64_t value = 0;
  const auto size = std::min(static_cast<std::size_t>(graph().tensors[tensor].bytes), sizeof(value));
  std::memcpy(&value, bytes_of(tensor, *homes_.front(), who), size);
  return value;
}

void Interpreter::set_scalar(TensorId tensor, std::int64_t value, const std::string& who) {
  const auto size = std::min(static_cast<std::size_t>(graph().tensors[tensor].bytes), sizeof(value));
  for (Home* const home : homes_) std::memcpy(bytes_of(tensor, *home, who), &value, size);
  hand_over(tensor, who);
}

void Interpreter::note_touched(const Operator& op, StepReport& report) {
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const auto& tensor : *operands) {
      if (tensor) touch(*tensor, report.highest);
    }
  }
  note_touched(report);
}

void Interpreter::note_touched(const StepReport& report) {
  result_.touched.resize(std::max(result_.touched.size(), report.highest.size()), 0);
  for (std::size_t m = 0; m < report.highest.size(); ++m)
    result_.touched[m] = std::max(result_.touched[m], report.highest[m]);
}

/// Notes the end of the tensor in its memory.
void Interpreter::touch(TensorId tensor, std::vector<Bytes>& highest) {
  if (planned_ == nullptr) return;
  const std::size_t memories = planned_->device().arenas().size();
  highest.resize(memories, 0);
  result_.touched.resize(memories, 0);
  if (const auto spot = planned_->spot_of(tensor)) {
    Bytes& most = highest[spot->memory];
    most = std::max(most, spot->begin + graph().tensors[tensor].bytes);
  }
}

}  // namespace stowage::run
