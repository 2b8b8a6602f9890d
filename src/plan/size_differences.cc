// A plan for ranges is made from readings of the model at some of their sizes. What is closed, constant or copied in all
// of these may still be otherwise at a size that was not read:
//
//     y = x * Where(Shape(x) == 777, 2, 1)      n=1..2000: k is 1, and y = x * k
//                                               n=777: k is 2
//
// So where a plan is used at a size, the model is read for this size and the largest alone. The largest is among all
// readings, so what agrees in these two is at this size as the plan has it.

#include "stowage/size_differences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stowage/tensor_kind.h"

namespace stowage {
namespace {

/// An axis of a tensor.
using Axis = std::pair<TensorId, std::size_t>;

std::string type_of(const Tensor& tensor) {
  return tensor.shape ? fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(*tensor.shape, ","))
                      : fmt::format("of {} bytes", tensor.bytes);
}

class Differences {
 public:
  Differences(const Graph& range, const Graph& two, const std::string& at)
      : range_(range), two_(two), at_(at), is_wrong_(range.tensors.size(), false) {}

  Faults find() {
    if (!has_same_operators()) {
      add(fmt::format(
          "the model has other tensors or operators at {} than for the range: a branch that sizes "
          "decide, or another model",
          at_));
      return std::move(faults_);
    }
    const auto orders = topological_orders(range_);
    for (std::size_t s = 0; s < orders.size(); ++s)
      for (const std::size_t o : orders[s]) compare_operator(s, o);
    for (TensorId t = 0; t < range_.tensors.size(); ++t) compare_tensor(t);
    return std::move(faults_);
  }

 private:
  void add(std::string what) {
    faults_.push_back({FaultKind::accounting,
                       std::move(what) + "; plan a smaller range, or read each size of it: --every-size"});
  }

  [[nodiscard]] bool has_same_operators() const {
    const auto is_same = [](const Operator& a, const Operator& b) {
      return a.type == b.type && a.inputs == b.inputs && a.outputs == b.outputs && a.bodies == b.bodies;
    };
    return range_.tensors.size() == two_.tensors.size() &&
           std::ranges::equal(range_.subgraphs, two_.subgraphs, [&](const Subgraph& a, const Subgraph& b) {
             return std::ranges::equal(a.operators, b.operators, is_same);
           });
  }

  void compare_operator(std::size_t s, std::size_t o) {
    const Operator& planned = range_.subgraphs[s].operators[o];
    const Operator& read = two_.subgraphs[s].operators[o];
    if (planned.folded && !read.folded) return not_constant(planned);
    if (read.folded) return;
    const auto stays = [&](const ByteCopy& copy) {
      return std::ranges::find(read.copies, copy) != read.copies.end();
    };
    if (!std::ranges::all_of(planned.copies, stays))
      add(fmt::format("{} copies other bytes at {} than at the sizes that were read for the plan",
                      describe(range_, s, o), at_));
  }

  void not_constant(const Operator& op) {
    const auto is_known = [&](const auto& input) { return input && is_wrong_[*input]; };
    const bool follows = std::ranges::any_of(op.inputs, is_known);
    for (const auto& output : op.outputs) {
      if (!output) continue;
      is_wrong_[*output] = true;
      if (!follows)
        add(fmt::format("{} is the same constant at all sizes that were read for the plan, but another at {}",
                        describe(range_, *output), at_));
    }
  }

  void compare_tensor(TensorId t) {
    const Tensor& planned = range_.tensors[t];
    const Tensor& read = two_.tensors[t];
    if (is_wrong_[t]) return;
    const bool is_same_kind = planned.kind == read.kind || is_constant(read.kind);
    if (!is_same_kind || planned.dtype != read.dtype) {
      add(fmt::format("{} is {} {} in the plan, but {} {} at {}", describe(range_, t), name_of(planned.kind),
                      name_of(planned.dtype), name_of(read.kind), name_of(read.dtype), at_));
      return;
    }
    if (!planned.shape) return;
    if (planned.shape != read.shape) {
      add(fmt::format("{} is {} in the plan, but {} at {}", describe(range_, t), type_of(planned),
                      type_of(read), at_));
      return;
    }
    for (std::size_t d = 0; d < planned.shape->size(); ++d) compare_extent({t, d});
  }

  void compare_extent(const Axis& axis) {
    const auto symbol = symbol_in(range_, axis);
    const auto read = symbol_in(two_, axis);
    if (!symbol) {
      if (read)
        add(
            fmt::format("{} has the same size along axis {} at all sizes that were read for the plan, but "
                        "another at {}",
                        describe(range_, axis.first), axis.second, at_));
      return;
    }
    const auto [first, is_first] = firsts_.try_emplace(*symbol, axis, read);
    if (!is_first && first->second.second != read)
      add(fmt::format("axis {} of {} and axis {} of {} are equal in the plan, but not at {}", axis.second,
                      describe(range_, axis.first), first->second.first.second,
                      describe(range_, first->second.first.first), at_));
  }

  [[nodiscard]] static std::optional<std::size_t> symbol_in(const Graph& graph, const Axis& axis) {
    const std::vector<OpenExtent>& open = graph.tensors[axis.first].open;
    const auto found = std::ranges::find(open, axis.second, &OpenExtent::axis);
    return found == open.end() ? std::nullopt : std::optional(found->symbol);
  }

  const Graph& range_;
  const Graph& two_;
  const std::string& at_;
  std::vector<bool> is_wrong_;  ///< By tensor: constants that are none.
  /// For each symbol of the range, the first axis that has it, and the symbol of that in the other reading.
  std::map<std::size_t, std::pair<Axis, std::optional<std::size_t>>> firsts_{};
  Faults faults_{};
};

}  // namespace

Faults size_differences(const Graph& range, const Graph& two, const std::string& at) {
  return Differences(range, two, at).find();
}

}  // namespace stowage
