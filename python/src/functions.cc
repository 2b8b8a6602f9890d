// OffsetFunctions: offsets as functions of open sizes.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "stowage/error.h"
#include "stowage/offset_functions.h"

namespace nb = nanobind;

namespace stowage::python {

void bind_functions(nb::module_& module) {
  nb::class_<OffsetFunctions>(module, "OffsetFunctions")
      .def("__init__",
           [](OffsetFunctions* functions, const nb::bytes& json, const std::string& name) {
             auto found = parse_offset_functions({json.c_str(), json.size()});
             if (!found)
               throw Error(name, "has no functions of offsets, expected a plan with --offsets symbolic");
             new (functions) OffsetFunctions(std::move(*found));
           })
      .def_prop_ro("symbols",
                   [](const OffsetFunctions& functions) {
                     nb::list all;
                     for (const SizeSymbol& it : functions.symbols)
                       all.append(nb::make_tuple(it.name, it.least, it.most, it.step));
                     return all;
                   })
      .def("at", [](const OffsetFunctions& functions, const std::vector<std::int64_t>& values) {
        const OffsetsAt at = offsets_at(functions, values);
        return nb::make_tuple(at.peak, at.offsets, at.sizes);
      });
}

}  // namespace stowage::python
