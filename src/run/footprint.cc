// Kernels visit their elements in any order. So an output may overlap an input only if the operator reads
// each element just before it writes it. A kernel that happens to compute another overlap correctly proves
// nothing: the overlap itself is the fault.

#include "run/footprint.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/poison.h"
#include "stowage/run.h"

#ifdef STOWAGE_HAS_SHADOW
#include <sanitizer/asan_interface.h>

#include <cstdio>
#endif

namespace stowage::run {
namespace {

bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.begin < b.begin + b.size && b.begin < a.begin + a.size;
}

/// The range of a copy that changes bytes: from the first that differs to the last. Other bytes are equal
/// because both tensors share a place, or because another operator has already copied them.
ByteRange changed_by(const std::byte* from, const std::byte* to, Bytes size) {
  if (from == to) return {to, 0};
  const std::byte* const first = std::mismatch(to, to + size, from).first;
  const auto is_same = [&](const std::byte* at) { return *at == *(from + (at - to)); };
  const std::byte* last = to + size;
  while (last > first && is_same(last - 1)) --last;
  return {first, last - first};
}

/// The bytes of an output, except those that copies leave unchanged.
std::vector<ByteRange> written_of(const Graph& graph, const Operator& op, const OperandPlaces& operands,
                                  std::size_t output) {
  std::vector<ByteRange> in_place;
  for (const ByteCopy& copy : op.copies) {
    if (copy.output != output) continue;
    const std::byte* const to = operands.outputs[output] + copy.to;
    const ByteRange changed = changed_by(operands.inputs[copy.input] + copy.from, to, copy.size);
    in_place.push_back({to, changed.begin - to});
    in_place.push_back({changed.begin + changed.size, to + copy.size - (changed.begin + changed.size)});
  }
  std::erase_if(in_place, [](const ByteRange& range) { return range.size == 0; });
  std::ranges::sort(in_place, {}, &ByteRange::begin);
  std::vector<ByteRange> written;
  const std::byte* at = operands.outputs[output];
  const std::byte* const end = at + graph.tensors[*op.outputs[output]].bytes;
  const auto write_until = [&](const std::byte* next) {
    if (at < next) written.push_back({at, next - at});
  };
  for (const ByteRange& range : in_place) {
    write_until(range.begin);
    at = range.begin + range.size;
  }
  write_until(end);
  return written;
}

bool is_tied(const Graph& graph, TensorId input, TensorId output) {
  return std::ranges::any_of(graph.ties,
                             [&](const StateTie& tie) { return tie.input == input && tie.output == output; });
}

bool may_write_over(const Graph& graph, const Operator& op, std::size_t input, std::size_t output,
                    const OperandPlaces& operands) {
  if (operands.inputs[input] != operands.outputs[output]) return false;
  return in_place_output(graph, op, input) == op.outputs[output] ||
         (updates_in_place(op, input) && is_tied(graph, *op.inputs[input], *op.outputs[output]));
}

}  // namespace

std::vector<ByteRange> written_by(const Graph& graph, const Operator& op, const OperandPlaces& operands) {
  std::vector<ByteRange> written;
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (!op.outputs[o]) continue;
    const auto part = written_of(graph, op, operands, o);
    written.insert(written.end(), part.begin(), part.end());
  }
  return written;
}

void expect_apart(const Graph& graph, const Operator& op, const OperandPlaces& operands,
                  const std::string& who) {
  const auto refuse_overlap = [&](const ByteRange& range, const std::byte* other, TensorId output,
                                  TensorId tensor) {
    if (!overlap(range, {other, graph.tensors[tensor].bytes})) return;
    throw RunFault{fmt::format("{} writes {} over {}, which it needs whole", who, describe(graph, output),
                               describe(graph, tensor))};
  };
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (!op.outputs[o]) continue;
    const auto written = written_of(graph, op, operands, o);
    for (const ByteRange& range : written) {
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (operands.inputs[i] == nullptr || may_write_over(graph, op, i, o, operands)) continue;
        refuse_overlap(range, operands.inputs[i], *op.outputs[o], *op.inputs[i]);
      }
      for (std::size_t other = 0; other < op.outputs.size(); ++other) {
        if (other != o && op.outputs[other])
          refuse_overlap(range, operands.outputs[other], *op.outputs[o], *op.outputs[other]);
      }
    }
  }
}

#ifdef STOWAGE_HAS_SHADOW

namespace {

// The sanitizer's callback has no argument for us, so it finds the device here.
thread_local const Device* reported_device = nullptr;
thread_local const std::string* reported_operator = nullptr;

void report(const char* /*text*/) {
  if (reported_device == nullptr) return;
  const auto* const address = static_cast<const std::byte*>(__asan_get_report_address());
  const std::string place = reported_device->describe(address);
  std::fprintf(stderr, "stowage: %s touches %s\n", reported_operator->c_str(), place.c_str());
  reported_device = nullptr;
}

}  // namespace

OnlyThese::OnlyThese(const Device& device, std::span<const ByteRange> allowed, const std::string& who)
    : device_(device) {
  for (const Arena& arena : device.arenas())
    __asan_poison_memory_region(arena.bytes(), static_cast<std::size_t>(arena.size()));
  for (const ByteRange& range : allowed)
    __asan_unpoison_memory_region(range.begin, static_cast<std::size_t>(range.size));
  reported_device = &device;
  reported_operator = &who;
  __asan_set_error_report_callback(report);
}

OnlyThese::~OnlyThese() {
  reported_device = nullptr;
  for (const Arena& arena : device_.arenas())
    __asan_unpoison_memory_region(arena.bytes(), static_cast<std::size_t>(arena.size()));
}

#else

OnlyThese::OnlyThese(const Device& device, std::span<const ByteRange> /*allowed*/, const std::string& /*who*/)
    : device_(device) {}

OnlyThese::~OnlyThese() = default;

#endif

}  // namespace stowage::run
