// Where an open extent ends, and so what lies behind it, is another place in each run. A byte of a tensor is at
// a fixed place if its indices are 0 up to the last open axis, or if all bytes in front of it are of parts of fixed
// size:
//
//     a [2,16] ──concat──> c [2+n,16]     a at byte 0 of c, b at byte 128: both fixed
//     b [n,16] ──┘
//     b [n,16] ──concat──> c [n+2,16]     b at byte 0 of c; where a begins depends on n
//     a [2,16] ──┘
//
// The parts are the operator's copies: those that continue each other from byte 0 on, from or to tensors without open
// extents, are of fixed size. Cost: copies * log(copies) for an operator with open extents.

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "stowage/graph.h"

namespace stowage {
namespace {

/// Bytes of one operand that copies join to another tensor.
struct CopiedPart {
  Bytes begin = 0;
  Bytes size = 0;
  TensorId other = 0;
};

/// How many first bytes of an operand are parts of fixed size.
Bytes fixed_front(const Graph& graph, std::vector<CopiedPart> parts) {
  std::ranges::sort(parts, {}, &CopiedPart::begin);
  Bytes end = 0;
  for (const CopiedPart& part : parts) {
    if (part.begin != end || is_open(graph.tensors[part.other])) break;
    end += part.size;
  }
  return end;
}

}  // namespace

std::vector<bool> fixed_copies(const Graph& graph, const Operator& op) {
  std::vector<bool> fixed(op.copies.size(), true);
  const auto keep_fixed = [&](const auto& operands, std::size_t ByteCopy::*operand, Bytes ByteCopy::*place,
                              const auto& others, std::size_t ByteCopy::*other) {
    std::map<std::size_t, std::vector<CopiedPart>> parts;  // of open operands
    for (const ByteCopy& copy : op.copies) {
      if (is_open(graph.tensors[*operands[copy.*operand]]))
        parts[copy.*operand].push_back({copy.*place, copy.size, *others[copy.*other]});
    }
    std::map<std::size_t, Bytes> fronts;
    for (auto& [i, of_operand] : parts) fronts[i] = fixed_front(graph, std::move(of_operand));
    for (std::size_t c = 0; c < fixed.size() && !fronts.empty(); ++c) {
      const ByteCopy& copy = op.copies[c];
      const auto front = fronts.find(copy.*operand);
      if (front != fronts.end() && copy.*place > front->second)
        fixed[c] = fixed[c] && is_at_fixed_place(graph.tensors[*operands[front->first]], copy.*place);
    }
  };
  keep_fixed(op.inputs, &ByteCopy::input, &ByteCopy::from, op.outputs, &ByteCopy::output);
  keep_fixed(op.outputs, &ByteCopy::output, &ByteCopy::to, op.inputs, &ByteCopy::input);
  return fixed;
}

}  // namespace stowage
