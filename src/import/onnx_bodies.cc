// A body is inferred at the position of its operator. A value that a Loop or a Scan carries has one type
// in all rounds, or the user gives its largest shape before a round; its result is then the largest of the
// initial value and of what the body makes of that shape. Branches of an If may differ; then the user gives
// the largest. All this is at most: readings at other sizes (open_sizes.cc) draw how many rounds there are and
// which branch is taken.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "import/onnx_attributes.h"
#include "import/onnx_inference.h"
#include "import/open_sizes.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// Of two types of one value: the larger extents; unknown where one is.
Type larger_type(const Type& a, const Type& b) {
  Type larger = a;
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) {
    larger.dims.reset();
    return larger;
  }
  for (std::size_t d = 0; d < a.dims->size(); ++d) {
    Dim& dim = (*larger.dims)[d];
    dim = dim && (*b.dims)[d] ? Dim(std::max(*dim, *(*b.dims)[d])) : Dim();
  }
  return larger;
}

}  // namespace

void Inference::reject(std::size_t subgraph, std::size_t o, const std::string& problem) {
  throw Error(describe(graph(), subgraph, o), problem);
}

/// Throws Error if the shape that the user gives is smaller than one that the value has.
void Inference::expect_at_least(TensorId t, const Type& known, const std::string& what) {
  const Type& given = types_[t];
  if (reading_.number != 0 || !is_given(t) || !given.dims || !known.dims) return;
  bool is_enough = given.dims->size() == known.dims->size();
  for (std::size_t d = 0; is_enough && d < known.dims->size(); ++d) {
    const Dim& own = (*given.dims)[d];
    is_enough = !own || !(*known.dims)[d] || *own >= *(*known.dims)[d];
  }
  if (is_enough) return;
  throw Error(place(t), fmt::format("is at most {} by --shape, but {} is {}; give the largest",
                                    show_type(given), what, show_type(known)));
}

/// The branch that an If takes in every run; none if that is not known.
std::optional<std::size_t> Inference::known_branch(const Operator& op) const {
  if (!reading_.takes_branches || rounds_ > 0 || op.bodies.size() != 2 || op.inputs.empty() || !op.inputs[0])
    return std::nullopt;
  const std::optional<Value>& condition = values_[*op.inputs[0]];
  if (!condition || condition->integers.size() != 1) return std::nullopt;
  return condition->integers[0] != 0 ? 0 : 1;
}

/// Branches may differ in a dimension; then it stays open.
void Inference::infer_if(const Operator& op, std::size_t subgraph, std::size_t o) {
  if (const auto branch = known_branch(op)) {
    decided_.push_back({subgraph, o, *branch});
    infer(op.bodies[*branch]);
    const auto& results = graph().subgraphs[op.bodies[*branch]].outputs;
    for (std::size_t i = 0; i < op.outputs.size() && i < results.size(); ++i) {
      if (!op.outputs[i]) continue;
      learn(*op.outputs[i], types_[results[i]]);
      values_.set_number(*op.outputs[i], values_.number(results[i]));
    }
    return;
  }
  for (const std::size_t body : op.bodies) infer(body);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    const TensorId output = *op.outputs[i];
    std::optional<Type> common;
    std::vector<TensorId> results;
    for (const std::size_t body : op.bodies) {
      const auto& outputs = graph().subgraphs[body].outputs;
      if (i >= outputs.size()) throw Error(place(output), fmt::format("has no value from subgraph {}", body));
      results.push_back(outputs[i]);
      common = common ? common_type(*common, types_[outputs[i]]) : types_[outputs[i]];
    }
    if (!common) continue;
    if (reading_.number != 0 && !is_given(output)) {
      is_drawn_ = is_drawn_ || std::ranges::any_of(results, [&](TensorId t) {
                    return types_[t].dims != types_[results[0]].dims;
                  });
      common = types_[results[draw(reading_.number, output, results.size())]];
    }
    learn(output, *common);
    for (const TensorId result : results)
      expect_at_least(output, types_[result], "the result of a branch, " + place(result) + ",");
  }
}

/// Body: (iteration, condition, carried...) -> (condition, carried..., one row of each result...).
void Inference::infer_loop(const Operator& op, std::size_t subgraph, std::size_t o) {
  if (op.bodies.size() != 1 || op.inputs.size() < 2) reject(subgraph, o, "is a Loop without body or inputs");
  const std::size_t carried = op.inputs.size() - 2;
  const std::vector<TensorId> inputs = graph().subgraphs[op.bodies[0]].inputs;
  const std::vector<TensorId> results = graph().subgraphs[op.bodies[0]].outputs;
  if (inputs.size() != carried + 2 || results.size() < carried + 1 ||
      op.outputs.size() > results.size() - 1) {
    reject(subgraph, o,
           fmt::format("carries {} values but its body takes {} and returns {}", carried, inputs.size(),
                       results.size()));
  }
  learn(inputs[0], tensor_type(element::int64, Shape{}));
  learn(inputs[1], tensor_type(element::boolean, Shape{}));
  for (std::size_t i = 0; i < carried; ++i) {
    if (op.inputs[i + 2]) enter_body(*op.inputs[i + 2], inputs[i + 2]);
  }
  infer_rounds(op, std::span(inputs).subspan(2), std::span(results).subspan(1, carried));
  for (std::size_t i = 0; i < carried; ++i) {
    if (op.inputs[i + 2]) expect_same_after_round(*op.inputs[i + 2], inputs[i + 2], results[i + 1]);
  }
  std::optional<std::int64_t> rounds;
  if (op.inputs[0] && values_[*op.inputs[0]] && values_[*op.inputs[0]]->integers.size() == 1)
    rounds = values_[*op.inputs[0]]->integers[0];
  if (const auto counted = runs_all_rounds(op) ? std::nullopt : counted_rounds(op)) {
    rounds = counted;
  } else if (rounds && *rounds > 0 && !runs_all_rounds(op)) {
    is_drawn_ = true;
    const auto drawn =
        static_cast<std::int64_t>(draw(reading_.number, inputs[0], static_cast<std::size_t>(*rounds) + 1));
    if (reading_.number != 0) rounds = drawn;
    if (reading_.leaves_sizes_open) rounds.reset();
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    const bool is_carried = i < carried && op.inputs[i + 2].has_value();
    learn(*op.outputs[i], is_carried    ? carried_type(*op.inputs[i + 2], inputs[i + 2], results[i + 1])
                          : i < carried ? types_[inputs[i + 2]]
                                        : with_dimension(types_[results[i + 1]], 0, rounds));
  }
}

/// Whether the condition of a Loop stays true, so that it runs as many rounds as it is told.
bool Inference::runs_all_rounds(const Operator& op) const {
  const Subgraph& body = model_.graph.subgraphs[op.bodies[0]];
  const auto is_true = [&](TensorId t) {
    return values_[t] && values_[t]->integers.size() == 1 && values_[t]->integers[0] != 0;
  };
  TensorId condition = body.outputs[0];
  for (std::size_t steps = 0; steps <= body.operators.size(); ++steps) {
    if (condition == body.inputs[1]) return !op.inputs[1] || is_true(*op.inputs[1]);
    if (is_true(condition)) return true;
    const auto writer = std::ranges::find_if(body.operators, [&](const Operator& it) {
      return it.type == "Identity" && it.outputs.size() == 1 && it.outputs[0] == condition &&
             it.inputs.size() == 1;
    });
    if (writer == body.operators.end() || !writer->inputs[0]) return false;
    condition = *writer->inputs[0];
  }
  return false;
}

/// A value passed to a body; a shape that the user gave for the body's input may be larger. At smaller sizes the
/// extents that stay the same in all rounds are those of the value.
void Inference::enter_body(TensorId from, TensorId to) {
  if (!is_given(to)) {
    learn(to, types_[from]);
    return;
  }
  Type passed = tensor_type(types_[from].elem_type, types_[from].dims);
  for (std::size_t d = 0; passed.dims && d < passed.dims->size(); ++d) {
    if (is_decided_by_user(to, d, passed.dims->size())) (*passed.dims)[d].reset();
  }
  learn(to, reading_.own == nullptr ? tensor_type(types_[from].elem_type, std::nullopt) : passed);
  expect_at_least(to, types_[from], "its initial value, " + place(from) + ",");
}

/// Infers a body that runs several times, with these carried values before and after a round. A branch that is taken in
/// one round is taken in all if what is known before is known after, too.
void Inference::infer_rounds(const Operator& op, std::span<const TensorId> before,
                             std::span<const TensorId> after) {
  const bool grows = std::ranges::any_of(before, [&](TensorId t) { return is_given(t); });
  const bool takes_none = grows || !reading_.takes_branches_of_rounds;
  const std::size_t decided = decided_.size();
  rounds_ += takes_none ? 1 : 0;
  infer(op.bodies[0]);
  rounds_ -= takes_none ? 1 : 0;
  if (decided_.size() == decided) return;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& dims = types_[before[i]].dims;
    const auto& later = types_[after[i]].dims;
    const auto stays = [](const Dim& was, const Dim& is) { return !was || was == is; };
    if (dims && (!later || !std::ranges::equal(*dims, *later, stays))) throw RoundsUnlike();
  }
}

void Inference::expect_same_after_round(TensorId initial, TensorId before, TensorId after) {
  if (is_given(before)) {
    // What is the same before, in and after all rounds needs no option.
    if (given_)
      given_->know(before, common_type(types_[initial], common_type(types_[before], types_[after])));
    given_rounds_.push_back({before, after});
    return;
  }
  if (is_compatible(types_[before], types_[after])) return;
  throw Error(
      place(before),
      fmt::format("is {0} before the loop and {1} after a round; give the largest before a round with "
                  "--shape {2}=N,... (at most N)",
                  show_type(types_[before]), show_type(types_[after]), graph().tensors[before].name));
}

/// The last value of one that is carried, which is the initial one if there are no rounds.
Type Inference::carried_type(TensorId initial, TensorId before, TensorId after) {
  if (!is_given(before)) return types_[before];
  is_drawn_ = is_drawn_ || types_[after].dims != types_[initial].dims;
  if (reading_.number == 0) return larger_type(types_[after], types_[initial]);
  return types_[draw(reading_.number, before, 2) == 0 ? after : initial];
}

/// Body: (state..., one slice of each scanned input...) -> (state..., one row of each result...).
void Inference::infer_scan(const Operator& op, const wire::NodeProto& node, std::size_t subgraph,
                           std::size_t o) {
  constexpr int first_without_batch = 9;
  const operators::NodeContext attributes(views_of(node), 0, 0, {}, {});
  const auto scanned =
      static_cast<std::size_t>(std::max<std::int64_t>(attributes.integer("num_scan_inputs", 0), 0));
  if (op.bodies.size() != 1 || scanned > op.inputs.size())
    reject(subgraph, o, "is a Scan without body or inputs");
  const auto version = shared_.versions.find("");
  if (version == shared_.versions.end() || version->second < first_without_batch)
    reject(subgraph, o, "is a Scan of operator set 8, expected 9 or later");
  const std::size_t states = op.inputs.size() - scanned;
  const std::vector<TensorId> inputs = graph().subgraphs[op.bodies[0]].inputs;
  const std::vector<TensorId> results = graph().subgraphs[op.bodies[0]].outputs;
  if (inputs.size() != op.inputs.size() || results.size() < states || op.outputs.size() > results.size()) {
    reject(subgraph, o,
           fmt::format("has {} inputs but its body takes {} and returns {}", op.inputs.size(), inputs.size(),
                       results.size()));
  }
  const Shape input_axes = attributes.integer_list("scan_input_axes").value_or(Shape(scanned, 0));
  const Shape output_axes = attributes.integer_list("scan_output_axes").value_or(Shape(op.outputs.size(), 0));
  std::optional<std::int64_t> length;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i]) continue;
    if (i < states) {
      enter_body(*op.inputs[i], inputs[i]);
    } else {
      const std::int64_t axis = i - states < input_axes.size() ? input_axes[i - states] : 0;
      length = dimension_at(types_[*op.inputs[i]], axis);
      learn(inputs[i], without_dimension(types_[*op.inputs[i]], axis));
    }
  }
  infer_rounds(op, std::span(inputs).first(states), std::span(results).first(states));
  for (std::size_t i = 0; i < states; ++i) {
    if (op.inputs[i]) expect_same_after_round(*op.inputs[i], inputs[i], results[i]);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    const std::int64_t axis = i >= states && i - states < output_axes.size() ? output_axes[i - states] : 0;
    if (i >= states) {
      learn(*op.outputs[i], with_dimension(types_[results[i]], axis, length));
    } else if (op.inputs[i]) {
      learn(*op.outputs[i], carried_type(*op.inputs[i], inputs[i], results[i]));
    } else {
      learn(*op.outputs[i], types_[inputs[i]]);
    }
  }
}

}  // namespace stowage::import
