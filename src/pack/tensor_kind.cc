#include "stowage/tensor_kind.h"

#include <array>

#include "base/names.h"

namespace stowage {
namespace {

constexpr std::array<base::Name<TensorKind>, 7> kinds{{{TensorKind::input, "input"},
                                                       {TensorKind::output, "output"},
                                                       {TensorKind::weight, "weight"},
                                                       {TensorKind::instruction, "instruction"},
                                                       {TensorKind::temporary, "temporary"},
                                                       {TensorKind::state, "state"},
                                                       {TensorKind::scratch, "scratch"}}};

}  // namespace

std::string_view name_of(TensorKind kind) { return base::name_in(kinds, kind); }

bool is_constant(TensorKind kind) { return kind == TensorKind::weight || kind == TensorKind::instruction; }

std::optional<TensorKind> tensor_kind_named(std::string_view name) { return base::value_in(kinds, name); }

}  // namespace stowage
