// A plan by rows may add the terms of a sum in another order, so real numbers come out a little different. How
// different they may be depends on what was summed, not on what remains of it: 1000 - 999.99 keeps the error of 1000.
// An operator that follows passes the error on. No rule for each operator is needed to know how far: the network runs
// again with every real number that it makes changed at random by its tolerance, as rounding would change it. A tensor
// may differ by as much as these changes move it ("Monte Carlo arithmetic": D. S. Parker, 1997).
//
//     q (64 numbers, each changed by 1e-5 of itself)  ->  y = sum of q * w:  changes by 1e-5 * sqrt(sum of (q * w)^2)
//
// Cost: one run; a few more as soon as a number differs by more than its own size allows.

#include "run/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

Reference::Reference(const Program& program, const RunOptions& options,
                     const std::function<std::vector<std::byte>(TensorId)>& value, const BlockNetwork* blocks)
    : program_(program),
      options_{.seed = options.seed, .stop = options.stop},
      value_(value),
      blocks_(blocks),
      home_(*program.graph),
      tolerances_(program.graph->tensors.size()) {
  run_in(home_, [](TensorId) {});
}

template <typename Change>
void Reference::run_in(OwnHome& home, const Change& change) const {
  const Graph& graph = *program_.graph;
  RunResult ignored;
  Interpreter interpreter(program_, {.own = &home}, options_, ignored);
  const auto give = [&](TensorId tensor) {
    interpreter.give(tensor, value_(tensor));
    change(tensor);
  };
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].kind == TensorKind::state) give(t);
  }
  for (const TensorId input : graph.subgraphs[0].inputs) {
    const TensorKind kind = graph.tensors[input].kind;
    if (kind != TensorKind::weight && kind != TensorKind::state) give(input);
  }
  for (const Call& call : calls_of(graph, topological_orders(graph), 0)) {
    interpreter.run(call);
    for (const auto& output : program_.op(call).outputs) {
      if (output) change(*output);
    }
  }
}

template <typename Visit>
void Reference::for_each_number(TensorId tensor, const Visit& visit) {
  const Tensor& own = program_.graph->tensors[tensor];
  if (!run::tolerance_of(own.dtype)) return;
  const std::byte* const bytes = home_.bytes_of(tensor, "");
  if (bytes == nullptr) return;
  const Bytes element = *bits_of(own.dtype) / 8;
  for (Bytes at = 0; at < own.bytes; at += element) visit(at, number_at(own.dtype, bytes + at));
}

double Reference::own_tolerance_of(TensorId tensor) {
  double& tolerance = tolerances_[tensor].own;
  if (tolerance < 0) {
    double largest = 0;
    for_each_number(tensor, [&](Bytes, double number) {
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

void Reference::run_changed() {
  std::mt19937_64 random(static_cast<std::uint64_t>(changed_runs_));
  OwnHome changed(*program_.graph);
  run_in(changed, [&](TensorId tensor) {
    const DType dtype = program_.graph->tensors[tensor].dtype;
    std::byte* const bytes = changed.bytes_of(tensor, "");
    if (bytes == nullptr) return;
    double& most = tolerances_[tensor].passed_on;
    for_each_number(tensor, [&](Bytes at, double number) {
      const double now = number_at(dtype, bytes + at);
      const double difference = std::abs(now - number);
      if (std::isfinite(difference)) most = std::max(most, margin * difference);
      const double relative = *run::tolerance_of(dtype);
      set_number(dtype, bytes + at, now * (random() % 2 == 0 ? 1 + relative : 1 - relative));
    });
  });
}

std::optional<std::int64_t> Reference::first_difference(TensorId tensor, const PlacedPart& part) {
  if (blocks_ == nullptr) return first_difference_in_whole(tensor, part);
  return first_difference_in_whole(blocks_->whole_of(tensor), blocks_->in_whole(tensor, part));
}

std::optional<std::int64_t> Reference::first_difference_in_whole(TensorId tensor, const PlacedPart& part) {
  const Tensor& own = program_.graph->tensors[tensor];
  const Bytes element = std::max(bits_of(own.dtype).value_or(8) / 8, 1);
  for (const PlacedBytes& bytes : part) {
    const std::byte* const expected = home_.bytes_of(tensor, "") + bytes.offset;
    if (std::memcmp(bytes.at, expected, static_cast<std::size_t>(bytes.size)) == 0) continue;
    for (Bytes at = 0; at < bytes.size; at += element) {
      if (std::memcmp(bytes.at + at, expected + at, static_cast<std::size_t>(element)) == 0) continue;
      if (!run::tolerance_of(own.dtype)) return (bytes.offset + at) / element;
      const double a = number_at(own.dtype, bytes.at + at);
      const double b = number_at(own.dtype, expected + at);
      if (!is_close(a, b, own_tolerance_of(tensor)) && !is_close(a, b, tolerance_of(tensor)))
        return (bytes.offset + at) / element;
    }
  }
  return std::nullopt;
}

}  // namespace stowage::run
