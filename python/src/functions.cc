// Offsets of a plan as functions of open sizes.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings.h"
#include "stowage/offset_functions.h"

namespace nb = nanobind;

namespace stowage::python {
namespace {

/// Tuples (name, least, most, step); none if the plan has no functions.
nb::list symbols_of(const Planned& planned) {
  nb::list all;
  if (!planned.functions) return all;
  for (const SizeSymbol& it : planned.functions->symbols)
    all.append(nb::make_tuple(it.name, it.least, it.most, it.step));
  return all;
}

}  // namespace

void bind_functions(nb::class_<Planned>& plan) {
  plan.def_prop_ro("symbols", &symbols_of)
      .def("at", [](const Planned& planned, const std::vector<std::int64_t>& values) {
        const OffsetsAt at = offsets_at(planned.functions.value(), values);
        return nb::make_tuple(at.peak, at.offsets, at.sizes);
      });
}

}  // namespace stowage::python
