#include "stowage/plan.h"

#include <algorithm>
#include <variant>

#include "base/names.h"

namespace stowage {
namespace {

using base::Name;

constexpr std::array<Name<ModelFormat>, 8> formats{{{ModelFormat::onnx, "onnx"},
                                                    {ModelFormat::tflite, "tflite"},
                                                    {ModelFormat::csv, "csv"},
                                                    {ModelFormat::ops, "ops"},
                                                    {ModelFormat::json, "json"},
                                                    {ModelFormat::xla, "xla"},
                                                    {ModelFormat::executorch, "executorch"},
                                                    {ModelFormat::vela, "vela"}}};

constexpr std::array<Name<ClaimScope>, 5> scopes{{{ClaimScope::offsets, "offsets"},
                                                  {ClaimScope::order, "order"},
                                                  {ClaimScope::stream, "stream"},
                                                  {ClaimScope::memories, "memories"},
                                                  {ClaimScope::rows, "rows"}}};

constexpr std::array<Name<Wish>, 8> wishes{{{Wish::rows, "rows"},
                                            {Wish::io_rows, "rows of inputs and outputs"},
                                            {Wish::rings, "rings"},
                                            {Wish::granule, "fewer rows in a step"},
                                            {Wish::axes, "other axes"},
                                            {Wish::blocks, "other blocks"},
                                            {Wish::recomputation, "recomputation"},
                                            {Wish::some_rows, "rows of a network"}}};

bool is_of_rows(const Step& step) {
  const Run* const run = std::get_if<Run>(&step);
  return run == nullptr ? std::holds_alternative<Arrive>(step) || std::holds_alternative<Leave>(step)
                        : run->rows || run->sums || run->carry || run->part || run->block;
}

bool is_of_rows(const View& view) { return view.ring || view.rows || view.block; }

/// Whether a step of rows or a tensor in rows is one of those that are asked for.
template <typename IsItsModel>
bool is_streamed_where(const Plan& plan, const IsItsModel& is_its_model) {
  const auto is_its_tensor = [&](std::size_t t) {
    return t < plan.tensors.size() && is_its_model(plan.tensors[t].model);
  };
  const auto is_its_step = [&](const Step& step) {
    if (const auto* const run = std::get_if<Run>(&step)) return is_its_model(run->model);
    if (const auto* const arrive = std::get_if<Arrive>(&step)) return is_its_tensor(arrive->tensor);
    const auto* const leave = std::get_if<Leave>(&step);
    return leave != nullptr && is_its_tensor(leave->tensor);
  };
  const auto has_rows = [&](const Clock& clock) {
    return std::ranges::any_of(clock.steps,
                               [&](const Step& step) { return is_of_rows(step) && is_its_step(step); });
  };
  return std::ranges::any_of(plan.clocks, has_rows) ||
         std::ranges::any_of(plan.tensors, [&](const PlannedTensor& tensor) {
           return is_its_model(tensor.model) &&
                  std::ranges::any_of(tensor.views, [](const View& view) { return is_of_rows(view); });
         });
}

}  // namespace

bool is_streamed(const Plan& plan) {
  return is_streamed_where(plan, [](std::size_t) { return true; });
}

bool is_streamed(const Plan& plan, std::size_t model) {
  return is_streamed_where(plan, [&](std::size_t it) { return it == model; });
}

Bytes bytes_of(const Plan& plan, const Copy& copy) {
  const Tensor& tensor = plan.tensors[copy.tensor].tensor;
  Bytes bytes = tensor.bytes;
  for (const auto& part : {copy.rows, std::optional<RowRange>(copy.block)}) {
    if (part) bytes = bytes / (*tensor.shape)[part->axis] * (part->end - part->begin);
  }
  return bytes;
}

std::string_view name_of(ModelFormat format) { return base::name_in(formats, format); }

std::optional<ModelFormat> model_format_named(std::string_view name) { return base::value_in(formats, name); }

std::string_view name_of(ClaimScope scope) { return base::name_in(scopes, scope); }

std::optional<ClaimScope> claim_scope_named(std::string_view name) { return base::value_in(scopes, name); }

std::string_view name_of(Wish wish) { return base::name_in(wishes, wish); }

std::optional<Wish> wish_named(std::string_view name) { return base::value_in(wishes, name); }

const LeftOut* left_out(const Plan& plan, Wish wish) {
  const auto found = std::ranges::find(plan.left_out, wish, &LeftOut::what);
  return found == plan.left_out.end() ? nullptr : &*found;
}

}  // namespace stowage
