// Einsum. Every letter is an axis of a space, in which each operand has strides (0 on missing axes). An
// element of the output is the sum, over its missing letters, of the products of all operands. Cost: one
// product for each point of the space.

#include "kernels/onnx/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Labels of an operand's axes: letters, or the digits of an ellipsis.
using Labels = std::string;

/// The letters of a term, with an ellipsis written as the last `hidden` of ten digits.
Labels labels_of(std::string term, std::size_t hidden) {
  std::erase(term, ' ');
  const std::size_t dots = term.find("...");
  if (dots != std::string::npos) {
    if (hidden > 10) refuse("an ellipsis stands for {} axes", hidden);
    term.replace(dots, 3, std::string("0123456789").substr(10 - hidden));
  }
  for (const char letter : term) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) refuse("'{}' is no label", letter);
  }
  return term;
}

std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> terms(1);
  for (const char letter : text) {
    if (letter == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(letter);
    }
  }
  return terms;
}

/// The number of axes in the ellipsis of a term.
std::size_t hidden_axes(const std::string& term, std::size_t rank) {
  const auto letters = static_cast<std::size_t>(std::count_if(
      term.begin(), term.end(), [](unsigned char letter) { return std::isalpha(letter) != 0; }));
  if (term.find("...") == std::string::npos) return 0;
  if (letters > rank) refuse("term '{}' has more letters than rank {}", term, rank);
  return rank - letters;
}

/// Without an arrow, the output has the axes of ellipses and the letters that occur once, in order.
Labels implied_output(const std::vector<Labels>& operands) {
  std::map<char, int> counts;
  for (const Labels& labels : operands) {
    for (const char label : labels) ++counts[label];
  }
  Labels output;
  for (const auto& [label, count] : counts) {
    if (count == 1 || std::isdigit(static_cast<unsigned char>(label)) != 0) output.push_back(label);
  }
  return output;
}

}  // namespace

Space einsum_space(const Signature& signature) {
  std::string equation = signature.attributes.text("equation", "");
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string> terms = split_terms(equation.substr(0, arrow));
  if (terms.size() != signature.inputs.size())
    refuse("{} terms for {} inputs", terms.size(), signature.inputs.size());
  std::vector<Labels> operands;
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::size_t own = hidden_axes(terms[i], input_of(signature, i).shape.size());
    hidden = std::max(hidden, own);
    operands.push_back(labels_of(terms[i], own));
  }
  const Labels output =
      arrow == std::string::npos ? implied_output(operands) : labels_of(equation.substr(arrow + 2), hidden);
  Labels axes = output;
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = input_of(signature, i).shape;
    if (operands[i].size() != shape.size()) refuse("term '{}' is not of rank {}", terms[i], shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const char label = operands[i][d];
      if (axes.find(label) == std::string::npos) axes.push_back(label);
      const auto known = sizes.try_emplace(label, shape[d]).first;
      if (known->second == 1) known->second = shape[d];
      if (shape[d] != known->second && shape[d] != 1)
        refuse("'{}' is {} and {}", label, known->second, shape[d]);
    }
  }
  Space space{.sizes = {}, .kept = output.size(), .strides = {}};
  for (const char label : axes) {
    if (!sizes.contains(label)) refuse("'{}' is in no term", label);
    space.sizes.push_back(sizes[label]);
  }
  expect_shape(output_of(signature), Shape(space.sizes.begin(), space.sizes.begin() + extent(space.kept)),
               "the output");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = input_of(signature, i).shape;
    const Shape own = strides_of(shape);
    Shape strides(axes.size(), 0);
    // A repeated letter moves along the diagonal.
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != 1) strides[axes.find(operands[i][d])] += own[d];
    }
    space.strides.push_back(std::move(strides));
  }
  return space;
}

namespace {

/// Calls visit() for every point of the axes from `axis` up to `end`, and moves the operands' places along.
template <typename Visit>
void visit_points(const Space& space, std::size_t axis, std::size_t end, std::vector<std::int64_t>& places,
                  const Visit& visit) {
  if (axis == end) {
    visit();
    return;
  }
  for (std::int64_t i = 0; i < space.sizes[axis]; ++i) {
    visit_points(space, axis + 1, end, places, visit);
    for (std::size_t k = 0; k < places.size(); ++k) places[k] += space.strides[k][axis];
  }
  for (std::size_t k = 0; k < places.size(); ++k) places[k] -= space.strides[k][axis] * space.sizes[axis];
}

Kernel einsum(const Signature& signature) {
  const Argument& output = output_of(signature);
  for (std::size_t i = 0; i < signature.inputs.size(); ++i)
    expect_dtype(input_of(signature, i), output.dtype, "an input");
  const Space space = einsum_space(signature);
  return for_type(output.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [space](const Pointers& pointers) {
      auto* to = pointers.output<Element>(0);
      std::vector<std::int64_t> places(space.strides.size(), 0);
      visit_points(space, 0, space.kept, places, [&] {
        Value<Element> total{};
        visit_points(space, space.kept, space.sizes.size(), places, [&] {
          Value<Element> term{1};
          for (std::size_t i = 0; i < places.size(); ++i)
            term = product(term, value_of(pointers.input<Element>(i)[places[i]]));
          total = sum(total, term);
        });
        *to++ = element_of<Element>(total);
      });
    }};
  });
}

}  // namespace

TablePart einsum_kernels() { return {{"Einsum", einsum}}; }

}  // namespace stowage::kernels::onnx_ops
