#include "stowage/plan.h"

#include "model/names.h"

namespace stowage {
namespace {

using model::Name;

constexpr std::array<Name<ModelFormat>, 5> formats{{{ModelFormat::onnx, "onnx"},
                                                    {ModelFormat::tflite, "tflite"},
                                                    {ModelFormat::csv, "csv"},
                                                    {ModelFormat::ops, "ops"},
                                                    {ModelFormat::json, "json"}}};

constexpr std::array<Name<ClaimScope>, 3> scopes{
    {{ClaimScope::offsets, "offsets"}, {ClaimScope::order, "order"}, {ClaimScope::stream, "stream"}}};

}  // namespace

std::string_view name_of(ModelFormat format) { return model::name_in(formats, format); }

std::optional<ModelFormat> model_format_named(std::string_view name) {
  return model::value_in(formats, name);
}

std::string_view name_of(ClaimScope scope) { return model::name_in(scopes, scope); }

std::optional<ClaimScope> claim_scope_named(std::string_view name) { return model::value_in(scopes, name); }

}  // namespace stowage
