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

}  // namespace

bool is_streamed(const Plan& plan) {
  const auto has_rows = [](const auto& list) {
    return std::any_of(list.begin(), list.end(), [](const auto& it) { return is_of_rows(it); });
  };
  return std::any_of(plan.clocks.begin(), plan.clocks.end(),
                     [&](const Clock& clock) { return has_rows(clock.steps); }) ||
         std::any_of(plan.tensors.begin(), plan.tensors.end(),
                     [&](const PlannedTensor& tensor) { return has_rows(tensor.views); });
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
