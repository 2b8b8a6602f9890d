// Losses of training, which some networks keep: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/indices.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

struct Loss {
  std::int64_t batches = 1;
  std::int64_t classes = 1;
  std::int64_t size = 1;  ///< Elements of a plane.
  std::string reduction{};
  bool ignores = false;
  std::int64_t ignored = 0;
  bool is_softmax = false;  ///< Of scores instead of logarithms of probabilities.
};

Loss loss_of(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& target = input_of(signature, 1);
  const Argument& output = output_of(signature);
  if (input.shape.size() < 2) refuse("the input {} has no classes", show(input.shape));
  Shape expected = input.shape;
  expected.erase(expected.begin() + 1);
  expect_shape(target, expected, "the target");
  const Loss loss{.batches = input.shape[0],
                  .classes = input.shape[1],
                  .size = count_of(input.shape, 2, input.shape.size()),
                  .reduction = signature.attributes.text("reduction", "mean"),
                  .ignores = signature.attributes.has("ignore_index"),
                  .ignored = signature.attributes.integer("ignore_index", 0),
                  .is_softmax = signature.type == "SoftmaxCrossEntropyLoss"};
  if (loss.reduction != "none" && loss.reduction != "mean" && loss.reduction != "sum")
    refuse("there is no reduction {}", loss.reduction);
  expect_shape(output, loss.reduction == "none" ? expected : Shape{}, "the output");
  expect_dtype(output, input.dtype, "the output");
  if (signature.has_input(2)) {
    expect_shape(*signature.inputs[2], {loss.classes}, "the weights");
    expect_dtype(*signature.inputs[2], input.dtype, "the weights");
  }
  if (signature.has_output(1)) expect_copy(input, *signature.outputs[1]);
  return loss;
}

/// The logarithm of the sum of e^x over the classes of a place.
template <typename Element>
double log_of_sum(const Element* from, const Loss& loss) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::int64_t c = 0; c < loss.classes; ++c)
    most = std::max(most, static_cast<double>(value_of(from[c * loss.size])));
  double total = 0;
  for (std::int64_t c = 0; c < loss.classes; ++c)
    total += std::exp(static_cast<double>(value_of(from[c * loss.size])) - most);
  return most + std::log(total);
}

template <typename Element, typename Index>
void compute(const Loss& loss, const Pointers& pointers) {
  const auto* const weights = pointers.input<Element>(2);
  auto* const to = pointers.output<Element>(0);
  auto* const logs = pointers.output<Element>(1);
  double total = 0;
  double total_weight = 0;
  for (std::int64_t i = 0; i < loss.batches * loss.size; ++i) {
    const std::int64_t start = i / loss.size * loss.classes * loss.size + i % loss.size;
    const auto* const from = pointers.input<Element>(0) + start;
    const double log = loss.is_softmax ? log_of_sum(from, loss) : 0;
    for (std::int64_t c = 0; c < loss.classes && logs != nullptr; ++c)
      logs[start + c * loss.size] =
          element_of<Element>(static_cast<double>(value_of(from[c * loss.size])) - log);
    const auto given = static_cast<std::int64_t>(pointers.input<Index>(1)[i]);
    double part = 0;
    if (!loss.ignores || given != loss.ignored) {
      const std::int64_t target = index_in(given, loss.classes, "NegativeLogLikelihoodLoss");
      const double weight = weights == nullptr ? 1 : static_cast<double>(value_of(weights[target]));
      part = (log - static_cast<double>(value_of(from[target * loss.size]))) * weight;
      total_weight += weight;
    }
    total += part;
    if (loss.reduction == "none") to[i] = element_of<Element>(part);
  }
  if (loss.reduction != "none")
    *to = element_of<Element>(loss.reduction == "mean" ? total / total_weight : total);
}

Kernel loss(const Signature& signature) {
  const Loss own = loss_of(signature);
  return for_indices(input_of(signature, 1), [&]<typename Index>() {
    return for_type(input_of(signature, 0).dtype, floats, [&]<typename Element>() -> Kernel {
      return {.run = [own](const Pointers& pointers) { compute<Element, Index>(own, pointers); }};
    });
  });
}

}  // namespace

TablePart loss_kernels() { return {{"NegativeLogLikelihoodLoss", loss}, {"SoftmaxCrossEntropyLoss", loss}}; }

}  // namespace stowage::kernels::onnx_ops
