/// Example: plan a list and write the plan as CSV.
///
///     const stowage::Input input = stowage::parse_input("id,lower,upper,size\na,0,2,64\n", "list.csv");
///     const stowage::PlanResult result = stowage::make_plan(input);
///     std::ostringstream csv;
///     stowage::write_csv(result.plan, csv);
///     return csv.str().find("a,0,2,64,1,0") != std::string::npos ? 0 : 1;
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/sweep.h"

namespace stowage {

/// How plan JSON says what repeats.
enum class PlanForm : std::uint8_t {
  compact,  ///< Once, with lists of numbers for what differs.
  expanded  ///< With an entry for each step, buffer, piece and view.
};

/// Writes the plan as JSON, one row per line. `parse_plan` reads it back.
void write_json(const Plan& plan, std::ostream& out, PlanForm form = PlanForm::compact);

/// Writes the buffers as CSV with offsets in bytes. Read as an input, the file pins every buffer to its
/// offset. Throws Error for plans of several clocks, and for a buffer that needs two separate parts at one
/// time, which the format cannot express.
void write_csv(const Plan& plan, std::ostream& out);

/// Writes the network as graph JSON. `parse_input` reads it back.
void write_graph(const Graph& graph, std::ostream& out);

/// Draws the arena as SVG: time to the right, addresses upwards, one panel per memory. Every piece of a
/// buffer is a rectangle, coloured by its risk (docs/rectangle.md). Lines show the max load and the peak.
/// Rectangles smaller than a pixel are merged, so the size of the file is bounded.
void write_svg(const Plan& plan, std::ostream& out);

/// A number for each operator of a graph.
enum class Overlay : std::uint8_t {
  live,    ///< Bytes that are live, in all memories, when it writes its output.
  offset,  ///< Of its output, in bytes.
  peak     ///< Bytes of its output, if that is live where most bytes are; else 0.
};

/// Writes these numbers as JSON that Model Explorer shows over the graph: operators are found by the names of their
/// outputs. Throws UsageError for plans of several models or of lists.
void write_overlay(const Plan& plan, Overlay overlay, std::ostream& out);

/// What a header says of a model's file.
struct ModelDetails {
  std::uint64_t hash = 0;  ///< XXH64 of the file, with seed 0.
  Bytes bytes = 0;         ///< Of the file.
  /// By tensor of the graph; empty if the file has no such things.
  std::vector<std::optional<Bytes>> data_at{};  ///< Where a constant's bytes begin in the file.
  /// One scale and zero point for the whole tensor, as TFLite has them; 0 for others.
  std::vector<float> scales{};
  std::vector<std::int64_t> zero_points{};
};

/// Details of a model's file; of formats other than TFLite only hash and size. Throws Error for a TFLite file
/// that cannot be read.
[[nodiscard]] ModelDetails model_details(std::string_view file);

struct HeaderOptions {
  std::string prefix = "stowage";       ///< Of all names.
  bool names = true;                    ///< Names of tensors, operators and models.
  std::vector<ModelDetails> details{};  ///< Of each model, or empty.
  std::optional<Bytes> tensor_arena{};  ///< Bytes of TensorFlow Lite Micro's arena.
};

/// Writes the plan as a header for C99 and C++ without dependencies: the sizes of memories, the places of
/// tensors, and the steps with the places of their operands. `graphs` are in the order of the plan's models. Of a buffer
/// list, which has no graph: the sizes of memories and the places of buffers. Throws UsageError if the prefix is not a C
/// identifier.
void write_header(const Plan& plan, std::span<const Graph> graphs, const HeaderOptions& options,
                  std::ostream& out);

/// Writes the loop nest of a streamed plan as C: a call `Sk(i);` for each row block i of the k-th entry of
/// Streaming::affine, in the order of the plan's steps. Comments say what the statements compute and where
/// rows lie. Throws Error for a plan that does not follow an affine schedule.
void write_loops(const Plan& plan, std::ostream& out);

/// Writes a comparison of strategies: as a table for people, or as one JSON document.
void write_comparison(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                      std::ostream& out);
void write_comparison_json(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                           std::ostream& out);

/// Writes traffic (bytes) against the size of a memory (bytes): as a table for people, as one JSON document,
/// or as a plot with one line per strategy above the unavoidable traffic. `rows` must not be empty. `memory`
/// is the memory whose size was swept.
void write_sweep(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                 std::ostream& out);
void write_sweep_json(std::span<const SweepRow> rows, const Memory& memory, std::span<const ModelInfo> models,
                      std::ostream& out);
void write_sweep_svg(std::span<const SweepRow> rows, const Memory& memory, std::ostream& out);

/// Writes the array as an npy file, which `read_array` reads back. An element type that NumPy lacks is
/// written as an integer with the same bits. Throws Error for strings.
void write_npy(const Array& array, std::ostream& out);

/// "proven optimal for whole operators; the search for rows was cut short": of what the peak is proven to be the least,
/// and what was not searched to the end.
[[nodiscard]] std::string proof_in_words(const Plan& plan);

/// Whether the search was cut short before the peak was proven to be the least of all that was asked for.
[[nodiscard]] bool is_cut_short(const Plan& plan);

/// Writes a table for people: sizes, gap, strategy, time, and the largest buffers at the peak.
void write_summary(const Plan& plan, std::ostream& out);

}  // namespace stowage
