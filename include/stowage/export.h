/// Example: plan a list and write the plan as CSV.
///
///     const stowage::Input input = stowage::parse_input("id,lower,upper,size\na,0,2,64\n", "list.csv");
///     const stowage::PlanResult result = stowage::make_plan(input);
///     std::ostringstream csv;
///     stowage::write_csv(result.plan, csv);
///     return csv.str().find("a,0,2,64,1,0") != std::string::npos ? 0 : 1;
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "stowage/graph.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/sweep.h"

namespace stowage {

/// The plan as JSON, one row per line; read back by `parse_plan`.
void write_json(const Plan& plan, std::ostream& out);

/// The buffers as CSV with offsets; read as an input it pins every buffer where it is. Throws Error
/// for a buffer whose live bytes the format cannot say (two separate parts needed at one time), and for plans
/// of several clocks.
void write_csv(const Plan& plan, std::ostream& out);

/// The network as graph JSON, read back by `parse_input`.
void write_graph(const Graph& graph, std::ostream& out);

/// The arena as a picture: time to the right, addresses upwards, every piece of a buffer a rectangle,
/// coloured by its risk (docs/rectangle.md), with lines for the max load and the peak; one panel per memory.
/// What is smaller than a pixel is merged, so that a picture stays small however many buffers there are.
void write_svg(const Plan& plan, std::ostream& out);

/// The plan as a header for C99 and C++ without dependencies: sizes of memories, tensors and where they are,
/// steps and where their operands are. Names begin with the prefix. Graphs are in the order of the plan's
/// models. Throws UsageError for a prefix that is no C identifier, a streamed plan, or a plan of
/// a buffer list.
void write_header(const Plan& plan, std::span<const Graph> graphs, const std::string& prefix,
                  std::ostream& out);

/// How strategies compare, as a table for people and as one JSON document.
void write_comparison(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                      std::ostream& out);
void write_comparison_json(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                           std::ostream& out);

/// Traffic against the size of a memory, as a table for people, as one JSON document, and as a plot: a line
/// for each strategy, over what no plan avoids. At least one row. `memory` is the one whose size was swept.
void write_sweep(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                 std::ostream& out);
void write_sweep_json(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                      std::ostream& out);
void write_sweep_svg(std::span<const SweepRow> rows, const Memory& memory, std::ostream& out);

/// The array as an npy file, which `read_array` reads back. Element types that NumPy lacks are written as
/// integers of their bits. Throws Error for strings.
void write_npy(const Array& array, std::ostream& out);

/// The table a person wants: sizes, gap, strategy, time, and the largest buffers at the peak.
void write_summary(const Plan& plan, std::ostream& out);

}  // namespace stowage
