// Idea. Operators that only pass bytes on (ByteCopy) make tensors that repeat others. Following the
// copies back to where the bytes were computed tells for every byte of every tensor what it is:
//
//     a = conv(..)   [a a a a]            two tensors may lie on the same addresses at the same time
//     b = conv(..)   [b b]                wherever they have the same byte of the same source there
//     c = concat     [a a a a|b b]
//     d = c[3:6]     [a|b b]
//
// Steps come in an order in which sources are known before those that repeat them, so one pass
// suffices. Cost: linear in fragments; a chain of concats, each longer by one part, has a quadratic
// number of them, which `most_fragments` bounds.

#include "alias/contents.h"

#include <algorithm>
#include <span>
#include <unordered_set>

namespace stowage::alias {
namespace {

using Contents = std::vector<std::vector<Fragment>>;

std::vector<Fragment> itself(const Graph& graph, TensorId tensor) {
  const Bytes bytes = graph.tensors[tensor].bytes;
  if (bytes == 0) return {};
  return {{0, bytes, tensor, 0}};
}

/// Appends the part [from, from + size) of what an input is, to lie at `to`.
void append_part(const std::vector<Fragment>& input, const ByteCopy& copy, std::vector<Fragment>& output) {
  auto fragment = std::upper_bound(input.begin(), input.end(), copy.from,
                                   [](Bytes at, const Fragment& it) { return at < it.end; });
  const Bytes end = copy.from + copy.size;
  for (; fragment != input.end() && fragment->begin < end; ++fragment) {
    const Bytes first = std::max(fragment->begin, copy.from);
    const Bytes last = std::min(fragment->end, end);
    output.push_back({copy.to + first - copy.from, copy.to + last - copy.from, fragment->source,
                      fragment->source_begin + first - fragment->begin});
  }
}

/// Joins neighbours that are one run of their source.
void join(std::vector<Fragment>& fragments) {
  std::size_t count = 0;
  for (const Fragment& fragment : fragments) {
    if (count > 0) {
      Fragment& last = fragments[count - 1];
      if (last.source == fragment.source &&
          last.source_begin + (last.end - last.begin) == fragment.source_begin) {
        last.end = fragment.end;
        continue;
      }
    }
    fragments[count++] = fragment;
  }
  fragments.resize(count);
}

/// What an output is, given its copies in rising order of where they go.
std::vector<Fragment> content_of(const Graph& graph, const Operator& op, std::size_t output,
                                 std::span<const ByteCopy> copies, const Contents& contents) {
  const TensorId tensor = *op.outputs[output];
  std::vector<Fragment> fragments;
  Bytes reach = 0;  // bytes up to here are known
  const auto compute_up_to = [&](Bytes end) {
    if (reach < end) fragments.push_back({reach, end, tensor, reach});
  };
  for (const ByteCopy& copy : copies) {
    compute_up_to(copy.to);
    append_part(contents[*op.inputs[copy.input]], copy, fragments);
    reach = copy.to + copy.size;
  }
  compute_up_to(graph.tensors[tensor].bytes);
  join(fragments);
  return fragments.size() <= most_fragments ? fragments : itself(graph, tensor);
}

void follow(const Graph& graph, const Operator& op, Contents& contents) {
  std::vector<ByteCopy> copies = op.copies;
  std::sort(copies.begin(), copies.end(), [](const ByteCopy& a, const ByteCopy& b) {
    return a.output != b.output ? a.output < b.output : a.to < b.to;
  });
  for (auto first = copies.begin(); first != copies.end();) {
    const std::size_t output = first->output;
    const auto last =
        std::find_if(first, copies.end(), [&](const ByteCopy& copy) { return copy.output != output; });
    contents[*op.outputs[output]] = content_of(graph, op, output, {first, last}, contents);
    first = last;
  }
}

}  // namespace

Contents contents_of(const Graph& graph, const Clock& clock) {
  Contents contents;
  contents.reserve(graph.tensors.size());
  for (TensorId t = 0; t < graph.tensors.size(); ++t) contents.push_back(itself(graph, t));
  std::unordered_set<const Operator*> followed;  // a body may run many times
  for (const Step& step : clock.steps) {
    const auto& path = std::get<Run>(step).path;
    const Operator& op = graph.subgraphs[path[path.size() - 2]].operators[path.back()];
    if (!op.copies.empty() && followed.insert(&op).second) follow(graph, op, contents);
  }
  return contents;
}

}  // namespace stowage::alias
