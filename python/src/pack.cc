// pack(lower, upper, size) and pack_partial(begin, end, size): offsets of buffers, from arrays and into an array.

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "cli/options.h"
#include "models.h"
#include "stowage/error.h"
#include "stowage/partial_lives.h"
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

/// What may be said of each buffer; empty: nothing.
struct Wishes {
  std::optional<Numbers> pinned;    ///< Its offset; negative: any.
  std::optional<Numbers> memories;  ///< The index of the memory that it must be in; negative: any.
  std::optional<Numbers> traffic;   ///< Bytes that are read and written.
};

Problem problem_of(const Numbers& lower, const Numbers& upper, const Numbers& size, const Numbers& alignment,
                   const Wishes& wishes, const std::vector<Memory>& memories) {
  Problem problem;
  problem.memories = memories;
  problem.buffers.resize(size.size());
  const bool is_common = alignment.size() == 1;
  for (std::size_t b = 0; b < size.size(); ++b) {
    Buffer& buffer = problem.buffers[b];
    buffer.id = id_of(b);
    buffer.size = size.data()[b];
    buffer.alignment = alignment.data()[is_common ? 0 : b];
    buffer.pieces.push_back({0, buffer.size, {lower.data()[b], upper.data()[b]}});
    if (wishes.pinned && wishes.pinned->data()[b] >= 0) buffer.pinned = wishes.pinned->data()[b];
    if (wishes.memories && wishes.memories->data()[b] >= 0)
      buffer.memories = {static_cast<std::size_t>(wishes.memories->data()[b])};
    if (wishes.traffic) buffer.traffic = wishes.traffic->data()[b];
  }
  return problem;
}

/// An array to fill; `values` is its memory.
nb::object new_array(std::size_t length, std::int64_t*& values) {
  values = new std::int64_t[length];
  const nb::capsule owner(values, [](void* data) noexcept { delete[] static_cast<std::int64_t*>(data); });
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(values, {length}, owner));
}

/// Offsets and memories as new arrays, and what else the solution says.
nb::tuple pack(const Numbers& lower, const Numbers& upper, const Numbers& size, const Numbers& alignment,
               const std::optional<Numbers>& pinned, const std::optional<Numbers>& memories,
               const std::optional<Numbers>& traffic, const nb::dict& options, const nb::object& listener) {
  const PlanOptions parsed = cli::parse_plan_options(texts_from(options).plan);
  std::int64_t* offsets = nullptr;
  std::int64_t* places = nullptr;
  const nb::object offset_array = new_array(size.size(), offsets);
  const nb::object place_array = new_array(size.size(), places);
  Solution solution;
  std::vector<Bytes> peaks;
  run_watched(listener_of(listener, parsed.solve), [&](const Watch& watch) {
    const Problem problem =
        problem_of(lower, upper, size, alignment, {pinned, memories, traffic}, parsed.memories);
    SolveOptions solving = parsed.solve;
    solving.stop = watch.stop;
    solving.progress = watch.progress;
    solution = solve(problem, solving);
    for (std::size_t m = 0; m < problem.memories.size(); ++m) peaks.push_back(peak_of(problem, solution, m));
    for (std::size_t b = 0; b < solution.places.size(); ++b) {
      offsets[b] = solution.places[b].offset;
      places[b] = static_cast<std::int64_t>(solution.places[b].memory);
    }
  });
  return nb::make_tuple(offset_array, place_array, peaks, solution.lower_bound, solution.strategy,
                        solution.interrupted, solution.outcome == Outcome::fits);
}

using Clocks = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// The same for lives by vector clocks: a row for each buffer. One memory.
nb::tuple pack_partial(const Clocks& begin, const Clocks& end, const Numbers& size, const Numbers& alignment,
                       const std::optional<Numbers>& pinned, const nb::dict& options,
                       const nb::object& listener) {
  const PlanOptions parsed = cli::parse_plan_options(texts_from(options).plan);
  std::int64_t* offsets = nullptr;
  const nb::object offset_array = new_array(size.size(), offsets);
  Solution solution;
  Bytes peak = 0;
  run_watched(listener_of(listener, parsed.solve), [&](const Watch& watch) {
    Problem problem{.memories = parsed.memories};
    std::vector<ClockLife> clocks;
    const std::size_t threads = begin.shape(1);
    const auto row = [&](const Clocks& rows, std::size_t b) {
      const std::int64_t* const first = rows.data() + b * threads;
      return std::vector<std::int64_t>(first, first + threads);
    };
    for (std::size_t b = 0; b < size.size(); ++b) {
      Buffer& buffer = problem.buffers.emplace_back();
      buffer.id = id_of(b);
      buffer.size = size.data()[b];
      buffer.alignment = alignment.data()[alignment.size() == 1 ? 0 : b];
      if (pinned && pinned->data()[b] >= 0) buffer.pinned = pinned->data()[b];
      clocks.push_back({row(begin, b), row(end, b)});
    }
    SolveOptions solving = parsed.solve;
    solving.stop = watch.stop;
    solving.progress = watch.progress;
    solution = solve(problem, PartialLives::of_clocks(clocks), solving);
    peak = peak_of(problem, solution, 0);
    for (std::size_t b = 0; b < solution.places.size(); ++b) offsets[b] = solution.places[b].offset;
  });
  return nb::make_tuple(offset_array, peak, solution.lower_bound, solution.is_least_peak,
                        solution.outcome == Outcome::fits);
}

}  // namespace

void bind_pack(nb::module_& module) {
  module.def("pack", &pack, nb::arg("lower"), nb::arg("upper"), nb::arg("size"), nb::arg("alignment"),
             nb::arg("pinned").none(), nb::arg("memories").none(), nb::arg("traffic").none(),
             nb::arg("options"), nb::arg("progress").none());
  module.def("pack_partial", &pack_partial, nb::arg("begin"), nb::arg("end"), nb::arg("size"),
             nb::arg("alignment"), nb::arg("pinned").none(), nb::arg("options"), nb::arg("progress").none());
}

}  // namespace stowage::python
