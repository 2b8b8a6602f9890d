#pragma once

#include <nanobind/nanobind.h>

#include "planned.h"

namespace stowage::python {

/// What the class Plan has of offsets as functions.
void bind_functions(nanobind::class_<Planned>& plan);
/// The functions `pack` and `pack_partial` of the module.
void bind_pack(nanobind::module_& module);
/// The function `run` of the module; the class Plan must be known.
void bind_run(nanobind::module_& module);

}  // namespace stowage::python
