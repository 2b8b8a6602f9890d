#include "run/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/onnx/elements.h"
#include "run/interpreter.h"

namespace stowage::run {
namespace {

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

double number_at(DType dtype, const std::byte* at) {
  const auto read = [&]<typename Element>(Element element) {
    std::memcpy(&element, at, sizeof(Element));
    return static_cast<double>(kernels::onnx_ops::value_of(element));
  };
  switch (dtype) {
    case DType::float16:
      return read(kernels::onnx_ops::Half{});
    case DType::bfloat16:
      return read(kernels::onnx_ops::BFloat{});
    case DType::float32:
      return read(0.0F);
    default:
      return read(0.0);
  }
}

bool is_close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

}  // namespace

Reference::Reference(const Program& program, const RunOptions& options,
                     const std::function<std::vector<std::byte>(TensorId)>& value, const BlockNetwork* blocks)
    : program_(program), blocks_(blocks), home_(*program.graph), tolerances_(program.graph->tensors.size()) {
  const Graph& graph = *program.graph;
  const RunOptions own{.seed = options.seed, .stop = options.stop};
  RunResult ignored;
  Interpreter interpreter(program, {.own = &home_}, own, ignored);
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].kind == TensorKind::state) interpreter.give(t, value(t));
  }
  for (const TensorId input : graph.subgraphs[0].inputs) {
    const TensorKind kind = graph.tensors[input].kind;
    if (kind != TensorKind::weight && kind != TensorKind::state) interpreter.give(input, value(input));
  }
  interpreter.run(calls_of(graph, topological_orders(graph), 0));
}

double Reference::tolerance_of(TensorId tensor) {
  const Tensor& own = program_.graph->tensors[tensor];
  if (!tolerances_[tensor]) {
    const Bytes element = *bits_of(own.dtype) / 8;
    double largest = 0;
    for (Bytes at = 0; at < own.bytes; at += element) {
      const double number = std::abs(number_at(own.dtype, home_.bytes_of(tensor, "") + at));
      if (std::isfinite(number)) largest = std::max(largest, number);
    }
    tolerances_[tensor] = largest * *run::tolerance_of(own.dtype);
  }
  return *tolerances_[tensor];
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
      const bool is_same = std::memcmp(bytes.at + at, expected + at, static_cast<std::size_t>(element)) == 0;
      if (is_same || (run::tolerance_of(own.dtype) &&
                      is_close(number_at(own.dtype, bytes.at + at), number_at(own.dtype, expected + at),
                               tolerance_of(tensor))))
        continue;
      return (bytes.offset + at) / element;
    }
  }
  return std::nullopt;
}

}  // namespace stowage::run
