#pragma once

#include <nanobind/nanobind.h>

namespace stowage::python {

/// The class OffsetFunctions of the module.
void bind_functions(nanobind::module_& module);
/// The functions `pack` and `pack_partial` of the module.
void bind_pack(nanobind::module_& module);
/// The function `run` of the module; the class Plan must be known.
void bind_run(nanobind::module_& module);

}  // namespace stowage::python
