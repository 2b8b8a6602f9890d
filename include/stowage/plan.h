/// Example: read a plan, check it, and look at its peak.
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
#include "stowage/rare.h"
#include "stowage/units.h"

namespace stowage {

/// Rows [begin, end) of a tensor along one of its axes.
struct RowRange {
  std::size_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const RowRange&) const = default;
};

/// Where an operator keeps its partial sums from its first row to its last, or the buffer that it carries from
/// row to row. Size: see `bytes_of_sums` and `CarriedAxis`.
struct Sums {
  std::size_t buffer = 0;  ///< Index in Plan::buffers.
  Bytes offset = 0;        ///< In the buffer.

  bool operator==(const Sums&) const = default;
};

/// Run an operator. `path` is [subgraph, operator]. For an operator of a body, its [subgraph, operator]
/// follows the path of the operator that runs the body.
struct Run {
  std::size_t model = 0;
  std::vector<std::size_t> path{};
  /// Only these rows of its outputs; with `sums`, only these rows of its first input. An operator with sums
  /// runs its rows in ascending order.
  std::optional<RowRange> rows{};
  Rare<Sums> sums{};  ///< Only for an operator that sums up in steps.
  /// Only for an operator that computes rows with a buffer that it carries from row to row (CarriedAxis). If it
  /// first sums up, steps with `sums` for all rows of its first input come before those with `carry`.
  Rare<Sums> carry{};
  /// Only for an operator that adds rows up (RowAxis::adds_rows): only these rows of the input that it reads
  /// by rows, along the axis of that input. The first such step starts the output rows. Steps with the other
  /// input rows follow in ascending order. The output rows are complete after the last one.
  Rare<RowRange> part{};
  /// Only this block of its outputs: a range along another axis than that of the rows. All steps of an operator
  /// have blocks or none has, and the blocks do not overlap.
  Rare<RowRange> block{};

  bool operator==(const Run&) const = default;
};

/// Copy a tensor, or some of its rows, from one of its buffers to another one, in another memory. They stay in the
/// first buffer as long as their view there lives.
struct Copy {
  std::size_t tensor = 0;  ///< Index in Plan::tensors.
  std::size_t from = 0;    ///< Index in Plan::buffers.
  std::size_t to = 0;
  std::optional<RowRange> rows{};  ///< None: the whole tensor, or the whole block.
  Rare<RowRange> block{};          ///< Only this block of it: see Run::block.

  bool operator==(const Copy&) const = default;
};

/// Run other clocks at the same time, and continue when all of them are done.
struct Fork {
  std::vector<std::size_t> clocks{};

  bool operator==(const Fork&) const = default;
};

/// Another clock may run here from its begin to its end, once or more often, or not at all. Several steps of one clock may
/// name it. Between them it has nothing but its state.
struct Pause {
  std::size_t clock = 0;

  bool operator==(const Pause&) const = default;
};

/// The caller hands over an input, or some of its rows. They are available from this step on.
struct Arrive {
  std::size_t tensor = 0;          ///< Index in Plan::tensors.
  std::optional<RowRange> rows{};  ///< None: the whole tensor, which then has no rows.
  Rare<RowRange> block{};          ///< Only this block of it: see Run::block.

  bool operator==(const Arrive&) const = default;
};

/// The caller takes an output, or some of its rows. They are not needed after this step.
struct Leave {
  std::size_t tensor = 0;          ///< Index in Plan::tensors.
  std::optional<RowRange> rows{};  ///< None: the whole tensor.
  Rare<RowRange> block{};          ///< Only this block of it: see Run::block.

  bool operator==(const Leave&) const = default;
};

using Step = std::variant<Run, Copy, Fork, Arrive, Leave, Pause>;

/// A sequence of steps; a position in it is a time. The steps of an operator's bodies follow the operator,
/// one body after the other.
struct Clock {
  std::vector<Step> steps{};

  bool operator==(const Clock&) const = default;
};

/// The pauses at which a clock may run, all of them on one other clock.
struct Pausing {
  std::size_t clock = 0;   ///< It runs at the pauses.
  std::int64_t every = 1;  ///< At most so many steps run from one pause to the next.
  /// Positions of the clock with the pauses for which this holds: all steps of one model, or of several.
  Lifetime life{};
  Bytes carried = 0;  ///< Most live bytes of the clock with the pauses at one of them, in all memories.
  /// No other pauses that are as near to each other have fewer.
  Bytes least_carried = 0;

  bool operator==(const Pausing&) const = default;
};

/// A ring buffer for a streamed tensor: `count` slots of one row block (`granule` rows) each, one after the
/// other. Row r is row r % granule of row block r / granule, which is in slot r / granule % count.
struct Ring {
  std::size_t axis = 0;
  std::int64_t granule = 1;
  std::int64_t count = 1;

  bool operator==(const Ring&) const = default;
};

/// Bytes that grow with open extents of a network: `bytes` times the extents of all `symbols`.
struct OpenBytes {
  Bytes bytes = 0;                     ///< Not 0; may be negative.
  std::vector<std::size_t> symbols{};  ///< Of OpenExtent, in ascending order; one may come twice.

  bool operator==(const OpenBytes&) const = default;
};

/// Where a tensor is during a part of its live range. If several views of one tensor are live, operators use
/// the one in the fastest memory. A view of a whole tensor has its elements in row-major order. A view of
/// rows, or a ring, has them row by row, as if the axis of the rows were the first axis of the tensor. A view of
/// a block has it as if the block were a tensor of its own.
struct View {
  std::size_t buffer = 0;  ///< Index in Plan::buffers.
  Bytes offset = 0;        ///< In the buffer.
  Lifetime life{};         ///< On the buffer's clock.
  Rare<Ring> ring{};
  std::optional<RowRange> rows{};  ///< Its rows. None, and no ring: the whole tensor.
  /// Only this block of the tensor, and only its part of the rows: see Run::block.
  Rare<RowRange> block{};
  /// Only of a whole tensor: the view moves with open extents of its network, and `offset` is that at the largest
  /// ones. At others it begins earlier by as much as the sum of these is less than at the largest.
  Rare<std::vector<OpenBytes>> moves{};

  bool operator==(const View&) const = default;
};

/// A tensor of a model and its places. Without views it is not in planned memory.
struct PlannedTensor {
  std::size_t model = 0;
  Tensor tensor{};
  std::vector<View> views{};

  bool operator==(const PlannedTensor&) const = default;
};

/// The last three are plans of other programs: lists whose pins say where these have put the buffers.
enum class ModelFormat : std::uint8_t { onnx, tflite, csv, ops, json, xla, executorch, vela };

[[nodiscard]] std::string_view name_of(ModelFormat format);
[[nodiscard]] std::optional<ModelFormat> model_format_named(std::string_view name);

/// A size that the caller of the network chooses anew for each run: least, least + step, ..., most.
struct SizeSymbol {
  std::string name{};
  std::int64_t least = 1;
  std::int64_t most = 1;
  std::int64_t step = 1;

  bool operator==(const SizeSymbol&) const = default;
};

struct ModelInfo {
  std::string name{};
  std::string source{};  ///< The file it was read from.
  ModelFormat format = ModelFormat::json;
  std::vector<SizeSymbol>
      ranges{};  ///< Sizes that the plan is for a range of, with the names that --dim takes.

  bool operator==(const ModelInfo&) const = default;
};

/// An output of a model that is an input of a later model: the same bytes.
struct Feed {
  std::size_t output = 0;  ///< Index in Plan::tensors.
  std::size_t input = 0;

  bool operator==(const Feed&) const = default;
};

struct PlannedMemory {
  Memory memory{};
  Bytes peak = 0;  ///< Highest end of a buffer or of a pool of slots.
  Bytes lower_bound = 0;
  Bytes traffic = 0;  ///< Bytes that steps read from it and write to it.
  /// Positions of clock 0 that prove a lower bound above max load: the buffers that are live at these
  /// positions do not fit below it. Empty: live bytes, sizes and pins prove the bound.
  std::vector<Position> certificate{};

  bool operator==(const PlannedMemory&) const = default;
};

/// Copies (ByteCopy) that need no work, because both tensors have the bytes at the same place. An operator
/// that runs several times counts once.
struct CopiesRemoved {
  std::int64_t count = 0;
  Bytes bytes = 0;

  bool operator==(const CopiesRemoved&) const = default;
};

/// Bytes needed if no layer and no model shared with another, and bytes needed by the plan.
struct Saving {
  Bytes separate = 0;
  Bytes shared = 0;

  bool operator==(const Saving&) const = default;
};

/// What models save by sharing a device. Weights and instructions: equal data is stored once, wherever it is.
/// Working memory: the sum of the peaks of the models planned alone, and the peak of the plan; of one model, its peak.
struct Savings {
  Saving weights{};
  Saving instructions{};
  Saving working{};

  bool operator==(const Savings&) const = default;
};

/// A copy that the steps still make, although its output repeats bytes of an input.
struct KeptCopy {
  std::size_t model = 0;
  std::size_t subgraph = 0;
  std::size_t op = 0;       ///< Index of the operator in its subgraph.
  std::string operation{};  ///< The operator in words.
  Bytes bytes = 0;
  std::string why{};

  bool operator==(const KeptCopy&) const = default;
};

/// An operator that runs at another position than in the model's own order.
struct MovedOperator {
  std::string name{};    ///< Its type if it has no name.
  std::size_t from = 0;  ///< Position in the model's own order.
  std::size_t to = 0;    ///< Position in the plan's order.

  bool operator==(const MovedOperator&) const = default;
};

/// Live bytes of a network in one order of its operators, if all tensors that may share bytes do.
struct OrderLoads {
  std::vector<Bytes> loads{};   ///< Per position.
  std::string peak_operator{};  ///< Runs at the first position of the peak; its type if it has no name.

  bool operator==(const OrderLoads&) const = default;
};

/// How the plan's order compares with the model's own.
struct OrderProfile {
  OrderLoads own{};
  OrderLoads planned{};
  std::vector<MovedOperator> moved{};  ///< As few as possible, in the plan's order.

  bool operator==(const OrderProfile&) const = default;
};

/// What else may be chosen, so that no choice has a peak below the bound.
enum class ClaimScope : std::uint8_t {
  offsets,   ///< Other offsets of these buffers.
  memories,  ///< Other memories and offsets of these buffers.
  order,     ///< Another order of operators, each as a whole, and other buffers, memories and offsets.
  rows,  ///< Another order of rows along the axes, in the blocks and steps, of this plan: others were left out.
  stream  ///< Any way to stream that the options allow and the search knows.
};

[[nodiscard]] std::string_view name_of(ClaimScope scope);
[[nodiscard]] std::optional<ClaimScope> claim_scope_named(std::string_view name);

/// Claims that no choice within the scope has a peak below the bound, everything else unchanged.
struct Claim {
  ClaimScope scope = ClaimScope::offsets;
  Bytes lower_bound = 0;
  bool proven_optimal = false;

  bool operator==(const Claim&) const = default;
};

/// What options may ask for and a plan may not have.
enum class Wish : std::uint8_t {
  rows,           ///< Operators that run row by row.
  io_rows,        ///< Inputs that arrive, and outputs that leave, row by row.
  rings,          ///< Rows in rings, in an order that loops can run.
  granule,        ///< Steps of as few rows as may lower the peak.
  axes,           ///< Rows along all axes that may help.
  blocks,         ///< Blocks along all axes that may help.
  recomputation,  ///< Rows that are computed again, of all operators.
  some_rows       ///< Operators of one of several networks that run row by row.
};

[[nodiscard]] std::string_view name_of(Wish wish);
[[nodiscard]] std::optional<Wish> wish_named(std::string_view name);

/// Something that the options have asked for and the plan does not have, or has not tried to the end.
struct LeftOut {
  Wish what = Wish::rows;
  std::string why{};
  std::string help{};  ///< What may bring it; empty: nothing does.

  bool operator==(const LeftOut&) const = default;
};

/// Result of the search for the operator order of a model. A load is the most live bytes of a step, with
/// aliases, before placement. The checker cannot prove `lower_bound` without searching; it only checks that
/// the claim agrees with this report.
struct OrderSearch {
  std::size_t model = 0;    ///< Index in Plan::models.
  Bytes own_load = 0;       ///< Of the order of the model's file.
  Bytes load = 0;           ///< Of the order in the plan.
  Bytes lower_bound = 0;    ///< No order has a lower load, whatever tensors share.
  std::int64_t states = 0;  ///< Sets of executed operators that were searched.
  double seconds = 0;

  bool operator==(const OrderSearch&) const = default;
};

/// Operators that run together, row by row.
struct StreamRegion {
  std::vector<std::size_t> operators{};  ///< Indices in the main subgraph.
  Bytes load = 0;                        ///< Most live bytes of its steps.
  Bytes load_of_layers = 0;              ///< The same if its operators ran one by one, as wholes.

  bool operator==(const StreamRegion&) const = default;
};

/// When an operator computes its row blocks, or an input arrives, in an affine schedule: step i at time
/// scale * i + shift. Steps of one time run in the order of positions.
struct TimedSteps {
  std::optional<std::size_t> op{};      ///< Index in the main subgraph; none: the arrival of `tensor`.
  std::optional<std::size_t> tensor{};  ///< Index in Plan::tensors, of an input that arrives.
  bool sums = false;                    ///< Its steps add rows to sums (Run::sums).
  std::int64_t count = 1;               ///< Steps.
  std::int64_t scale = 1;
  std::int64_t shift = 0;
  std::int64_t position = 0;
  std::optional<RowRange> block{};  ///< Of the operator's outputs: see Run::block.

  bool operator==(const TimedSteps&) const = default;
};

/// The affine schedule of least load that was found: an order that loops can run.
struct AffineSchedule {
  Bytes load = 0;            ///< Most live bytes of a step.
  bool is_followed = false;  ///< The plan's steps have this order.
  std::vector<TimedSteps> operators{};

  bool operator==(const AffineSchedule&) const = default;
};

/// What more multiplies save: the lowest peak that was found within a limit.
struct RecomputePoint {
  double limit = 1;       ///< Multiplies that may run, as a multiple of those of the network.
  double recomputed = 1;  ///< Multiplies that run.
  Bytes peak = 0;
  bool interrupted = false;  ///< The search for this plan was cut short.

  bool operator==(const RecomputePoint&) const = default;
};

/// How a plan streams. Loads are live bytes before placement.
struct Streaming {
  std::int64_t granule = 1;    ///< Most rows of a step (a row block).
  Bytes load = 0;              ///< Most live bytes of a step.
  Bytes load_of_layers = 0;    ///< The same if operators ran one by one, as wholes.
  double recomputed = 1;       ///< Multiplies that run, as a multiple of those of the network.
  double recompute_limit = 1;  ///< The most that `recomputed` was allowed to be.
  std::vector<StreamRegion> regions{};
  std::optional<AffineSchedule> affine{};
  std::vector<RecomputePoint> curve{};  ///< By limit, if a range of limits was given.

  bool operator==(const Streaming&) const = default;
};

struct Summary {
  Bytes naive = 0;  ///< Every tensor of the arena in its own memory.
  Bytes peak = 0;   ///< Sum over memories that are not for weights.
  Bytes lower_bound = 0;
  std::string strategy{};
  std::string order{};
  double seconds = 0;
  /// Bytes that steps read and write, each times the cost of its memory. 0 if nothing is known about them.
  std::int64_t cost = 0;
  /// Lower bound of `cost` for every choice of memories, and of moves between them if these are allowed.
  std::int64_t cost_bound = 0;

  bool operator==(const Summary&) const = default;
};

/// Everything that a consumer needs to use or check a plan. Clock 0 is the root.
struct Plan {
  std::vector<ModelInfo> models{};
  std::vector<Clock> clocks{};
  std::vector<Pausing> pauses{};  ///< One for each clock that runs at pauses.
  std::vector<PlannedMemory> memories{};
  std::vector<Buffer> buffers{};
  std::vector<Place> places{};  ///< One per buffer.
  std::vector<SlotPool>
      slots{};  ///< Strategy `slots` only: one for each part that it placed. See docs/slots.md.
  std::vector<Tuning> tunings{};  ///< Strategy `rectangle` only: one for each part that it placed.
  std::vector<PlannedTensor> tensors{};
  CopiesRemoved copies_removed{};
  std::vector<KeptCopy> copies_kept{};
  std::vector<Feed> feeds{};
  /// Of state that several models share: outputs, and the inputs that they become, also of one model. All tensors
  /// that these join are in one place.
  std::vector<Feed> states{};
  /// Outputs, by their index in `tensors`, that the caller takes when their model has run. All others stay
  /// until the plan ends.
  std::vector<std::size_t> released{};
  std::optional<Savings> savings{};  ///< Only for several models, or if weights are planned.
  bool interrupted = false;
  std::vector<LeftOut> left_out{};
  std::vector<Claim> claims{};
  std::vector<OrderSearch> order_searches{};  ///< One for each model, in their order, or empty.
  /// Only for one network whose order was searched for and differs from the model's own.
  std::optional<OrderProfile> order_profile{};
  std::optional<Streaming> streaming{};  ///< Only for a streamed plan.
  Summary summary{};

  bool operator==(const Plan&) const = default;
};

/// Whether a plan runs operators row by row, or keeps tensors in rings or rows.
[[nodiscard]] bool is_streamed(const Plan& plan);
/// The same for one of its models, an index in Plan::models.
[[nodiscard]] bool is_streamed(const Plan& plan, std::size_t model);

/// The bytes that a copy moves. Requires a well-formed plan.
[[nodiscard]] Bytes bytes_of(const Plan& plan, const Copy& copy);

/// What the plan leaves out of that kind; null if it leaves nothing out.
[[nodiscard]] const LeftOut* left_out(const Plan& plan, Wish wish);

/// Reads plan JSON, made by any program. Throws Error that names the place (a JSON pointer), the value and
/// what was expected. The result is well-formed, but not checked: see `check_plan`.
[[nodiscard]] Plan parse_plan(std::string_view json);

enum class FaultKind : std::uint8_t {
  format,      ///< The plan contradicts itself or uses something unknown.
  overlap,     ///< Two buffers or tensors hold the same byte at the same time.
  alignment,   ///< An offset is not a multiple of the buffer's alignment.
  pin,         ///< A pinned buffer has another offset.
  capacity,    ///< A memory is too small.
  claim,       ///< A peak, bound or claim is false.
  accounting,  ///< A tensor is missing, has the wrong size, or lacks bytes.
  order,       ///< A step is missing, repeated, or before its dependences.
};

/// One fault of a plan, in words that name the tensors, buffers or steps.
struct Fault {
  FaultKind kind = FaultKind::format;
  std::string what{};
};

using Faults = std::vector<Fault>;

/// Checks a plan by itself: overlaps in time and space, alignment, pins, capacity, peaks, bounds, and that
/// views lie in live bytes of their buffers. The result is empty if there is no fault. Cost: n log n in
/// pieces.
[[nodiscard]] Faults check_plan(const Plan& plan);

/// Also checks it against its networks, in the order of the plan: every tensor is there with the right size;
/// every operator runs once and after its dependences; every tensor has its bytes from its write to its last
/// read.
[[nodiscard]] Faults check_plan(const Plan& plan, std::span<const Graph> graphs);

/// Also checks that the plan has exactly the buffers of its list.
[[nodiscard]] Faults check_plan(const Plan& plan, const Problem& list);

}  // namespace stowage
