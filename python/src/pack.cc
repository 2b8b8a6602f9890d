// pack(lower, upper, size): offsets of buffers, from arrays and into an array.

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <charconv>
#include <optional>
#include <string>

#include "bindings.h"
#include "cli/options.h"
#include "models.h"
#include "stowage/error.h"
#include "stowage/problem.h"
#include "watched.h"

namespace nb = nanobind;

namespace stowage::python {
namespace {

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A number with the least work: there may be millions of buffers.
std::string id_of(std::size_t index) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, index).ptr;
  return {text, end};
}

Problem problem_of(const Numbers& lower, const Numbers& upper, const Numbers& size, const Numbers& alignment,
                   const std::optional<Numbers>& pinned, std::optional<Bytes> capacity) {
  Problem problem;
  problem.memories = {{.name = "arena", .capacity = capacity}};
  problem.buffers.resize(size.size());
  const bool is_common = alignment.size() == 1;
  for (std::size_t b = 0; b < size.size(); ++b) {
    Buffer& buffer = problem.buffers[b];
    buffer.id = id_of(b);
    buffer.size = size.data()[b];
    buffer.alignment = alignment.data()[is_common ? 0 : b];
    buffer.pieces.push_back({0, buffer.size, {lower.data()[b], upper.data()[b]}});
    if (pinned && pinned->data()[b] >= 0) buffer.pinned = pinned->data()[b];
  }
  return problem;
}

/// Offsets as a new array, and what else the solution says.
nb::tuple pack(const Numbers& lower, const Numbers& upper, const Numbers& size, const Numbers& alignment,
               const std::optional<Numbers>& pinned, const nb::dict& options, const nb::object& listener) {
  const PlanOptions parsed = cli::parse_plan_options(texts_from(options).plan);
  auto* const offsets = new std::int64_t[size.size()];
  const nb::capsule owner(offsets, [](void* data) noexcept { delete[] static_cast<std::int64_t*>(data); });
  Solution solution;
  Bytes peak = 0;
  run_watched(listener, [&](const Watch& watch) {
    const Problem problem = problem_of(lower, upper, size, alignment, pinned, parsed.memories[0].capacity);
    SolveOptions solving = parsed.solve;
    solving.stop = watch.stop;
    solving.progress = watch.progress;
    solution = solve(problem, solving);
    peak = peak_of(problem, solution, 0);
    for (std::size_t b = 0; b < solution.places.size(); ++b) offsets[b] = solution.places[b].offset;
  });
  const nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> array(offsets, {size.size()}, owner);
  return nb::make_tuple(nb::cast(array), peak, solution.lower_bound, solution.strategy, solution.interrupted,
                        solution.outcome == Outcome::fits);
}

}  // namespace

void bind_pack(nb::module_& module) {
  module.def("pack", &pack, nb::arg("lower"), nb::arg("upper"), nb::arg("size"), nb::arg("alignment"),
             nb::arg("pinned").none(), nb::arg("options"), nb::arg("progress").none());
}

}  // namespace stowage::python
