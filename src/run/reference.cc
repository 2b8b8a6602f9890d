// A plan by rows may add the terms of a sum in another order, so real numbers come out a little different. How
// different they may be depends on what was summed, not on what remains of it: 1000 - 999.99 keeps the error of 1000.
// An operator that follows passes the error on. No rule for each operator is needed to know how far: the network runs
// again with every real number that it makes changed at random by its tolerance, as rounding would change it. A tensor
// may differ by as much as these changes move it ("Monte Carlo arithmetic": D. S. Parker, 1997).
//
//     q (64 numbers, each changed by 1e-5 of itself)  ->  y = sum of q * w:  changes by 1e-5 * sqrt(sum of (q * w)^2)
//
// Cost: one run; a few pairs of runs as soon as a number differs by more than its own size allows. Unless all tensors
// are compared, the memory of a tensor is freed when its last reader has run.
//
// An operator of which a row comes first reads tensors whose rows are not all there yet. So the operators before it
// catch up: they run as wholes before they run in the plan.

#include "run/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/onnx/elements.h"
#include "run/interpreter.h"

namespace stowage::run {
namespace {

constexpr int most_changed_runs = 4;
/// Rounding errors of a long sum may add up to more than random changes of its terms do.
constexpr double margin = 4;

/// The allowed difference of two numbers of a type, relative to the largest number of their tensor; none for
/// types that must be equal.
std::optional<double> tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 1e-2;
    case DType::bfloat16:
      return 5e-2;
    case DType::float32:
    case DType::float64:
      return 1e-5;
    default:
      return std::nullopt;
  }
}

/// Calls `visit` with a number of that type as it lies in memory.
template <typename Visit>
auto visit_number(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::float16:
      return visit(kernels::onnx_ops::Half{});
    case DType::bfloat16:
      return visit(kernels::onnx_ops::BFloat{});
    case DType::float32:
      return visit(0.0F);
    default:
      return visit(0.0);
  }
}

double number_at(DType dtype, const std::byte* at) {
  return visit_number(dtype, [&]<typename Element>(Element element) {
    std::memcpy(&element, at, sizeof(Element));
    return static_cast<double>(kernels::onnx_ops::value_of(element));
  });
}

void set_number(DType dtype, std::byte* at, double number) {
  visit_number(dtype, [&]<typename Element>(Element element) {
    element = kernels::onnx_ops::element_of<Element>(number);
    std::memcpy(at, &element, sizeof(Element));
  });
}

bool is_close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

}  // namespace

Reference::Reference(const Program& program, const RunOptions& options, const BlockNetwork* blocks, Rule rule,
                     RunResult& result)
    : program_(program),
      options_{.seed = options.seed, .stop = options.stop},
      blocks_(blocks),
      rule_(rule),
      result_(result),
      home_(*program.graph),
      own_({.program = program, .home = home_, .options = options_, .result = ignored_}),
      producers_(program.graph->tensors.size()),
      calls_(calls_of(*program.graph, topological_orders(*program.graph), 0)),
      call_of_(program.graph->subgraphs[0].operators.size()),
      is_done_(program.graph->subgraphs[0].operators.size(), false),
      tolerances_(program.graph->tensors.size()) {
  for (std::size_t c = 0; c < calls_.size(); ++c) {
    call_of_[calls_[c].op] = c;
    for (const auto& output : program.op(calls_[c]).outputs) {
      if (output) producers_[*output] = calls_[c].op;
    }
  }
  if (options.check != RunCheck::tensors) waiting_ = readers();
}

std::vector<std::optional<std::size_t>> Reference::readers() const {
  const Graph& graph = *program_.graph;
  std::vector<std::optional<std::size_t>> readers(graph.tensors.size(), 0);
  const auto keep = [&](const auto& tensors) {
    for (const std::optional<TensorId> tensor : tensors) {
      if (tensor) readers[*tensor].reset();
    }
  };
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    if (s > 0) keep(graph.subgraphs[s].inputs);
    keep(graph.subgraphs[s].outputs);
    for (const Operator& op : graph.subgraphs[s].operators) {
      if (s == 0 && !is_control_flow(op)) continue;
      keep(op.inputs);
      keep(op.outputs);
    }
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].kind == TensorKind::state) readers[t].reset();
  }
  for (const StateTie& tie : graph.ties) {
    readers[tie.input].reset();
    readers[tie.output].reset();
  }
  for (const Call& call : calls_) {
    for (const auto& input : program_.op(call).inputs) {
      if (input && readers[*input]) ++*readers[*input];
    }
  }
  return readers;
}

void Reference::release_inputs_of(std::size_t op, std::vector<std::optional<std::size_t>>& readers,
                                  std::initializer_list<Home*> homes) const {
  if (readers.empty()) return;
  for (const auto& input : program_.graph->subgraphs[0].operators[op].inputs) {
    if (!input || !readers[*input] || *readers[*input] == 0 || --*readers[*input] > 0) continue;
    for (Home* const home : homes) home->release(*input);
  }
}

void Reference::give(TensorId tensor, std::span<const std::byte> value) {
  own_.give(tensor, value);
  if (rule_ == Rule::by_rows) given_[tensor].assign(value.begin(), value.end());
}

void Reference::run(const Call& call) {
  const std::size_t op =
      blocks_ == nullptr || call.subgraph != 0 ? call.op : blocks_->split_network().operators[call.op].of;
  const bool runs_bodies = is_control_flow(program_.graph->subgraphs[call.subgraph].operators[op]);
  if (call.subgraph == 0 && !runs_bodies) return catch_up(op);
  if (call.subgraph == 0) is_done_[op] = true;
  if (!runs_bodies) own_.run(call);  // bodies run beside those of the plan
}

void Reference::finish() {
  for (const Call& call : calls_) catch_up(call.op);
}

void Reference::catch_up(std::size_t op) {
  if (is_done_[op] || !call_of_[op]) return;
  is_done_[op] = true;
  for (const auto& input : program_.graph->subgraphs[0].operators[op].inputs) {
    if (input) catch_up_to(*input);
  }
  own_.run(calls_[*call_of_[op]]);
  release_inputs_of(op, waiting_, {&home_});
}

void Reference::catch_up_to(TensorId tensor) {
  if (producers_[tensor]) catch_up(*producers_[tensor]);
}

std::byte* Reference::bytes_of(Home& home, TensorId tensor) const {
  const PlacedPart found = home.find({.tensor = tensor}, "");
  return found.empty() ? nullptr : found.front().at;
}

template <typename Visit>
void Reference::for_each_number(Home& home, TensorId tensor, const Visit& visit) const {
  const Tensor& own = program_.graph->tensors[tensor];
  if (!run::tolerance_of(own.dtype)) return;
  const std::byte* const bytes = bytes_of(home, tensor);
  const Bytes element = bytes_of_element(own.dtype);
  for (Bytes at = 0; at < own.bytes; at += element) visit(at, number_at(own.dtype, bytes + at));
}

double Reference::own_tolerance_of(TensorId tensor) {
  double& tolerance = tolerances_[tensor].own;
  if (tolerance < 0) {
    double largest = 0;
    for_each_number(home_, tensor, [&](Bytes, double number) {
      if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
    });
    tolerance = largest * *run::tolerance_of(program_.graph->tensors[tensor].dtype);
  }
  return tolerance;
}

double Reference::tolerance_of(TensorId tensor) {
  for (; changed_runs_ < most_changed_runs; ++changed_runs_) run_changed();
  return own_tolerance_of(tensor) + tolerances_[tensor].passed_on;
}

/// Two networks run side by side, one unchanged, so that neither needs all its tensors at once.
void Reference::run_changed() {
  std::mt19937_64 random(static_cast<std::uint64_t>(changed_runs_));
  Home home(*program_.graph);
  Home changed_home(*program_.graph);
  RunResult ignored;
  Interpreter unchanged({.program = program_, .home = home, .options = options_, .result = ignored});
  Interpreter changed({.program = program_, .home = changed_home, .options = options_, .result = ignored});
  std::vector<std::optional<std::size_t>> waiting = readers();
  const auto change = [&](TensorId tensor) {
    const DType dtype = program_.graph->tensors[tensor].dtype;
    std::byte* const bytes = bytes_of(changed_home, tensor);
    double& most = tolerances_[tensor].passed_on;
    for_each_number(home, tensor, [&](Bytes at, double number) {
      const double now = number_at(dtype, bytes + at);
      const double difference = std::abs(now - number);
      if (std::isfinite(difference)) most = std::max(most, margin * difference);
      const double relative = *run::tolerance_of(dtype);
      set_number(dtype, bytes + at, now * (random() % 2 == 0 ? 1 + relative : 1 - relative));
    });
  };
  for (const auto& [tensor, value] : given_) {
    unchanged.give(tensor, value);
    changed.give(tensor, value);
    change(tensor);
  }
  for (const Call& call : calls_) {
    unchanged.run(call);
    changed.run(call);
    for (const auto& output : program_.op(call).outputs) {
      if (output) change(*output);
    }
    release_inputs_of(call.op, waiting, {&home, &changed_home});
  }
}

std::optional<std::int64_t> Reference::first_difference(TensorId tensor, const PlacedPart& part) {
  if (blocks_ == nullptr) return first_difference_in_whole(tensor, part);
  return first_difference_in_whole(blocks_->whole_of(tensor), blocks_->in_whole(tensor, part));
}

std::optional<std::int64_t> Reference::first_difference_in_whole(TensorId tensor, const PlacedPart& part) {
  const Tensor& own = program_.graph->tensors[tensor];
  // Operators change state, and do so at once where the plan runs rows.
  if (rule_ == Rule::by_rows && own.kind == TensorKind::state) return std::nullopt;
  catch_up_to(tensor);
  const std::byte* const all = bytes_of(home_, tensor);
  const Bytes element = bytes_of_element(own.dtype);
  for (const PlacedBytes& bytes : part) {
    const std::byte* const expected = all + bytes.offset;
    if (std::memcmp(bytes.at, expected, static_cast<std::size_t>(bytes.size)) == 0) continue;
    for (Bytes at = 0; at < bytes.size; at += element) {
      if (std::memcmp(bytes.at + at, expected + at,
                      static_cast<std::size_t>(std::min(element, bytes.size - at))) == 0)
        continue;
      const std::int64_t index = (bytes.offset + at) / element;
      if (rule_ == Rule::exact || !run::tolerance_of(own.dtype)) return index;
      const double a = number_at(own.dtype, bytes.at + at);
      const double b = number_at(own.dtype, expected + at);
      double& largest = result_.largest_difference.emplace(result_.largest_difference.value_or(0));
      // A number and NaN are infinitely far apart; two NaN with other bits are the same.
      const double apart =
          std::isnan(a) != std::isnan(b) ? std::numeric_limits<double>::infinity() : std::abs(a - b);
      if (!std::isnan(apart)) largest = std::max(largest, apart);
      if (!is_close(a, b, own_tolerance_of(tensor)) && !is_close(a, b, tolerance_of(tensor))) return index;
    }
  }
  return std::nullopt;
}

RunFault difference(const std::string& part, std::int64_t element, const std::string& how) {
  return {fmt::format("{} differs from a run with memory of its own, first in element {} of its tensor, {}",
                      part, element, how)};
}

}  // namespace stowage::run
