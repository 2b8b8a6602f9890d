/// Example: read a plan somebody wrote, check it, print its peak.
///
///     const stowage::Plan plan = stowage::parse_plan(R"({"format":"stowage-plan","version":1,
///         "models":[{"name":"m","source":"m.csv","format":"csv"}], "clocks":[{"steps":[]}],
///         "memories":[{"name":"arena","capacity":null,"alignment":1,"cost":1,"peak":8,"lower_bound":8}],
///         "buffers":[{"id":"a","clock":0,"size":8,"alignment":1,"memory":"arena","offset":0,
///                     "kind":"temporary","pieces":[{"offset":0,"size":8,"lower":0,"upper":1}]}],
///         "tensors":[], "copies_removed":{"count":0,"bytes":0}, "interrupted":false,
///         "claims":[{"scope":"offsets","lower_bound":8,"proven_optimal":true}],
///         "summary":{"naive":8,"peak":8,"lower_bound":8,"strategy":"by-hand","order":"keep","seconds":0}})");
///     return stowage::check_plan(plan).empty() && plan.summary.peak == 8 ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stowage/graph.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage {

/// Rows [begin, end) of a tensor along one of its axes.
struct RowRange {
  std::size_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const RowRange&) const = default;
};

/// Where an operator keeps its sums from its first rows to its last: see `bytes_of_sums`.
struct Sums {
  std::size_t buffer = 0;  ///< Index in Plan::buffers.
  Bytes offset = 0;        ///< In the buffer.

  bool operator==(const Sums&) const = default;
};

/// Run an operator. `path` is [subgraph, operator], and for an operator of a body goes on with
/// [.., subgraph, operator] from the operator that runs the body.
struct Run {
  std::size_t model = 0;
  std::vector<std::size_t> path{};
  /// Only these rows of its outputs; with sums, only these rows of its first input. All rows of an operator
  /// that sums up are run in ascending order.
  std::optional<RowRange> rows{};
  std::optional<Sums> sums{};  ///< Of an operator that sums up in steps.
  /// Of an operator that adds rows up (RowAxis::adds_rows): only these rows of the input that it reads by
  /// rows, along that input's axis. Steps with the other rows that it wants follow, in ascending order; its
  /// rows are there after the last of them. The first begins them.
  std::optional<RowRange> part{};

  bool operator==(const Run&) const = default;
};

/// Copy a tensor from one of its buffers to another, in another memory. The tensor stays in the first one,
/// too, as long as its view there says.
struct Copy {
  std::size_t tensor = 0;  ///< Index in Plan::tensors.
  std::size_t from = 0;    ///< Index in Plan::buffers.
  std::size_t to = 0;

  bool operator==(const Copy&) const = default;
};

/// Run other clocks at the same time, and go on when all of them are done.
struct Fork {
  std::vector<std::size_t> clocks{};

  bool operator==(const Fork&) const = default;
};

/// The caller hands over an input, or some of its rows, which are there from this step on.
struct Arrive {
  std::size_t tensor = 0;          ///< Index in Plan::tensors.
  std::optional<RowRange> rows{};  ///< None: all of it, as of a tensor that has no rows.

  bool operator==(const Arrive&) const = default;
};

/// The caller takes an output, or some of its rows; after this step they need not be there.
struct Leave {
  std::size_t tensor = 0;          ///< Index in Plan::tensors.
  std::optional<RowRange> rows{};  ///< None: all of it.

  bool operator==(const Leave&) const = default;
};

using Step = std::variant<Run, Copy, Fork, Arrive, Leave>;

/// A sequence of steps; position in it is time. An operator with bodies is followed by the steps
/// of its bodies, one body after the other.
struct Clock {
  std::vector<Step> steps{};

  bool operator==(const Clock&) const = default;
};

/// A streamed tensor in a place for `count` granules of rows, round and round: row r is row r % granule of
/// granule r / granule, which is in slot r / granule % count. Slots follow each other.
struct Ring {
  std::size_t axis = 0;
  std::int64_t granule = 1;
  std::int64_t count = 1;

  bool operator==(const Ring&) const = default;
};

/// Where a tensor is during a part of its life. Where several views of one tensor are alive, operators read
/// and write the one in the fastest memory. A view of all of a tensor has its elements in row-major order.
/// One of rows, or a ring, has them row by row, as if the rows' axis were the tensor's first.
struct View {
  std::size_t buffer = 0;  ///< Index in Plan::buffers.
  Bytes offset = 0;        ///< In the buffer.
  Lifetime life{};         ///< On the buffer's clock.
  std::optional<Ring> ring{};
  std::optional<RowRange> rows{};  ///< Of what rows it is; none, and no ring: of all of the tensor.

  bool operator==(const View&) const = default;
};

/// A tensor of a model and where it is; without views it is not in the planned memory.
struct PlannedTensor {
  std::size_t model = 0;
  Tensor tensor{};
  std::vector<View> views{};

  bool operator==(const PlannedTensor&) const = default;
};

enum class ModelFormat : std::uint8_t { onnx, tflite, csv, ops, json };

[[nodiscard]] std::string_view name_of(ModelFormat format);
[[nodiscard]] std::optional<ModelFormat> model_format_named(std::string_view name);

struct ModelInfo {
  std::string name{};
  std::string source{};  ///< The file it was read from.
  ModelFormat format = ModelFormat::json;

  bool operator==(const ModelInfo&) const = default;
};

/// An output of a model that is an input of one that runs later: the same bytes.
struct Feed {
  std::size_t output = 0;  ///< Index in Plan::tensors.
  std::size_t input = 0;

  bool operator==(const Feed&) const = default;
};

struct PlannedMemory {
  Memory memory{};
  Bytes peak = 0;  ///< The highest end of a buffer or of a pool of slots.
  Bytes lower_bound = 0;
  Bytes traffic = 0;  ///< Bytes that steps read from it and write to it.
  /// Positions of clock 0 that prove a lower bound above loads: what is alive at these few does not fit below
  /// it, whatever there is at others. Empty: loads, sizes and pins prove the bound.
  std::vector<Position> certificate{};

  bool operator==(const PlannedMemory&) const = default;
};

/// Copies (ByteCopy) of operators that have nothing to do for them, since both tensors have the bytes at
/// one place. An operator that runs several times counts once.
struct CopiesRemoved {
  std::int64_t count = 0;
  Bytes bytes = 0;

  bool operator==(const CopiesRemoved&) const = default;
};

/// Bytes that would be needed if no layer and no model shared with another, and bytes that are.
struct Saving {
  Bytes separate = 0;
  Bytes shared = 0;

  bool operator==(const Saving&) const = default;
};

/// What models that share a device save. Weights and instructions: equal data is stored once, wherever it
/// lies. Working memory: the peaks of the models planned alone, added up, and the peak of the plan.
struct Savings {
  Saving weights{};
  Saving instructions{};
  Saving working{};

  bool operator==(const Savings&) const = default;
};

/// A copy that the steps still make, though its output repeats bytes of an input.
struct KeptCopy {
  std::size_t model = 0;
  std::size_t subgraph = 0;
  std::size_t op = 0;       ///< Index of the operator in its subgraph.
  std::string operation{};  ///< The operator in words.
  Bytes bytes = 0;
  std::string why{};

  bool operator==(const KeptCopy&) const = default;
};

enum class ClaimScope : std::uint8_t { offsets, order, stream };

[[nodiscard]] std::string_view name_of(ClaimScope scope);
[[nodiscard]] std::optional<ClaimScope> claim_scope_named(std::string_view name);

/// What is proven: that no choice of that scope has a peak below the bound, all else as given.
struct Claim {
  ClaimScope scope = ClaimScope::offsets;
  Bytes lower_bound = 0;
  bool proven_optimal = false;

  bool operator==(const Claim&) const = default;
};

/// What the search for a model's order of operators came to. Loads are the most live bytes of a step, with
/// aliases, before anything is placed. That no order has less than `lower_bound` is the planner's word: what
/// proves it is a search, which a checker could only repeat.
struct OrderSearch {
  std::size_t model = 0;    ///< Index in Plan::models.
  Bytes own_load = 0;       ///< Of the order of the model's file.
  Bytes load = 0;           ///< Of the order in the plan.
  Bytes lower_bound = 0;    ///< No order has a smaller load, whatever tensors share.
  std::int64_t states = 0;  ///< Sets of executed operators that were looked at.
  double seconds = 0;

  bool operator==(const OrderSearch&) const = default;
};

/// Operators that run together, row by row.
struct StreamRegion {
  std::vector<std::size_t> operators{};  ///< Indices in the main subgraph.
  Bytes load = 0;                        ///< Most live bytes of its steps.
  Bytes load_of_layers = 0;              ///< The same, were its operators run one by one, as wholes.

  bool operator==(const StreamRegion&) const = default;
};

/// How a plan streams. Loads are live bytes before anything is placed.
struct Streaming {
  std::int64_t granule = 1;    ///< Rows of a step, at most.
  Bytes load = 0;              ///< Most live bytes of a step.
  Bytes load_of_layers = 0;    ///< The same, were operators run one by one, as wholes.
  double recomputed = 1;       ///< Multiplies that are run, as a multiple of those of the network.
  double recompute_limit = 1;  ///< The most `recomputed` was allowed to be.
  std::vector<StreamRegion> regions{};

  bool operator==(const Streaming&) const = default;
};

struct Summary {
  Bytes naive = 0;  ///< Every tensor of the arena in memory of its own.
  Bytes peak = 0;   ///< Sum over memories that are not for weights.
  Bytes lower_bound = 0;
  std::string strategy{};
  std::string order{};
  double seconds = 0;
  /// Bytes that steps read and write, each times the cost of its memory. 0 when nothing is known of them.
  std::int64_t cost = 0;
  /// No choice of memories, or of moves between them where these are allowed, has a smaller cost, all else as
  /// given.
  std::int64_t cost_bound = 0;

  bool operator==(const Summary&) const = default;
};

/// Everything a consumer needs to use or to check a plan. Clock 0 is the root.
struct Plan {
  std::vector<ModelInfo> models{};
  std::vector<Clock> clocks{};
  std::vector<PlannedMemory> memories{};
  std::vector<Buffer> buffers{};
  std::vector<Place> places{};  ///< One per buffer.
  std::vector<SlotPool>
      slots{};  ///< Of strategy `slots`: one for each part that it placed. See docs/slots.md.
  std::vector<PlannedTensor> tensors{};
  CopiesRemoved copies_removed{};
  std::vector<KeptCopy> copies_kept{};
  std::vector<Feed> feeds{};
  /// Outputs, by their index in `tensors`, that the caller takes when their model has run. All others are
  /// there until the plan ends.
  std::vector<std::size_t> released{};
  std::optional<Savings> savings{};  ///< Of several models, or where weights are planned.
  bool interrupted = false;
  std::vector<Claim> claims{};
  std::vector<OrderSearch> order_searches{};  ///< Of each model, in their order, or none.
  std::optional<Streaming> streaming{};       ///< Of the one model that has steps with rows.
  Summary summary{};

  bool operator==(const Plan&) const = default;
};

/// Reads plan JSON, made by anyone. Throws Error naming the place (a JSON pointer), the value and
/// what was expected. What it returns is well-formed, not yet correct: see `check_plan`.
[[nodiscard]] Plan parse_plan(std::string_view json);

enum class FaultKind : std::uint8_t {
  format,      ///< The plan contradicts itself or uses what this version does not understand.
  overlap,     ///< Two buffers or tensors hold the same byte at the same time.
  alignment,   ///< An offset is not a multiple of the buffer's alignment.
  pin,         ///< A pinned buffer is elsewhere.
  capacity,    ///< A memory is too small.
  claim,       ///< A peak, bound or claim is not true.
  accounting,  ///< A tensor is missing, has the wrong size, or is not where its bytes are needed.
  order,       ///< A step is missing, comes twice, or comes before what it depends on.
};

/// One thing that is wrong with a plan, in words that name the culprits.
struct Fault {
  FaultKind kind = FaultKind::format;
  std::string what{};
};

using Faults = std::vector<Fault>;

/// Checks a plan by itself: overlaps in time and space, alignment, pins, capacity, peaks, bounds,
/// and that views lie in live bytes of their buffers. No fault: empty. Cost: n log n in pieces.
[[nodiscard]] Faults check_plan(const Plan& plan);

/// Also checks it against the networks it is for, in the plan's order: every tensor is accounted
/// for with its right size, every operator runs once and after what it needs, and every tensor has
/// its bytes from when it is written until it is last read.
[[nodiscard]] Faults check_plan(const Plan& plan, std::span<const Graph> graphs);

/// Also checks that the plan has just the buffers of the list it is for.
[[nodiscard]] Faults check_plan(const Plan& plan, const Problem& list);

}  // namespace stowage
