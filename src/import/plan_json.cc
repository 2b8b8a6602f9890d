#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <variant>

#include "base/checked.h"
#include "base/text.h"
#include "import/json.h"
#include "model/plan_format.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using import::enumerator;
using import::Json;

/// Names in the file, which refer to indices in the plan.
class Names {
 public:
  void add(const Json& name, std::size_t index) {
    if (!index_of_.emplace(name.string(), index).second)
      throw name.error(fmt::format("{} comes twice", name.shown()));
  }
  [[nodiscard]] std::size_t operator()(const Json& name) const {
    const auto it = index_of_.find(name.string());
    if (it == index_of_.end()) throw name.error(fmt::format("{} does not exist", name.shown()));
    return it->second;
  }

  /// The same of a name that an entry of the file implies.
  void add(const Json& entry, const std::string& name, std::size_t index) {
    if (!index_of_.emplace(name, index).second)
      throw entry.error(fmt::format("names {}, which comes twice", base::quoted(name)));
  }
  [[nodiscard]] std::size_t operator()(const Json& entry, const std::string& name) const {
    const auto it = index_of_.find(name);
    if (it == index_of_.end())
      throw entry.error(fmt::format("names {}, which does not exist", base::quoted(name)));
    return it->second;
  }

 private:
  std::unordered_map<std::string, std::size_t> index_of_;
};

Lifetime read_life(const Json& json) { return {json.at("lower").natural(), json.at("upper").natural()}; }

Shape read_shape(const Json& json) {
  Shape shape;
  for (const Json& dimension : json.elements()) shape.push_back(dimension.natural());
  return shape;
}

ModelInfo read_model(const Json& json) {
  return {json.at("name").string(), json.at("source").string(),
          enumerator(json.at("format"), model_format_named)};
}

RowRange read_rows(const Json& json) {
  const auto rows = json.at("rows");
  const auto range = rows.elements();
  if (range.size() != 2) throw rows.error("is not [begin, end]");
  return {json.at("axis").index(), range[0].natural(), range[1].natural()};
}

/// The rows of an input that arrives or an output that leaves; none: the whole tensor.
std::optional<RowRange> read_passing_rows(const Json& json) {
  return json.find("rows") || json.find("axis") ? std::optional(read_rows(json)) : std::nullopt;
}

/// A range along a second axis, if there is one.
std::optional<RowRange> read_block(const Json& json) {
  const auto block = json.find("block");
  return block ? std::optional(read_rows(*block)) : std::nullopt;
}

Step read_step(const Json& json, const Names& buffers) {
  if (const auto run = json.find("run")) {
    Run step{.model = run->at("model").index()};
    for (const Json& entry : run->at("path").elements()) step.path.push_back(entry.index());
    if (step.path.empty() || step.path.size() % 2 != 0)
      throw run->error("has a path that is not [subgraph, operator, ...]");
    if (run->find("rows")) step.rows = read_rows(*run);
    if (const auto sums = run->find("sums"))
      step.sums = Sums{buffers(sums->at("buffer")), sums->at("offset").natural()};
    if (const auto carry = run->find("carry"))
      step.carry = Sums{buffers(carry->at("buffer")), carry->at("offset").natural()};
    if (const auto part = run->find("part")) step.part = read_rows(*part);
    step.block = read_block(*run);
    return step;
  }
  if (const auto copy = json.find("copy")) {
    return Copy{copy->at("tensor").index(), buffers(copy->at("from")), buffers(copy->at("to"))};
  }
  if (const auto fork = json.find("fork")) {
    Fork step;
    for (const Json& clock : fork->elements()) step.clocks.push_back(clock.index());
    return step;
  }
  if (const auto arrive = json.find("arrive"))
    return Arrive{arrive->at("tensor").index(), read_passing_rows(*arrive)};
  if (const auto leave = json.find("leave"))
    return Leave{leave->at("tensor").index(), read_passing_rows(*leave)};
  throw json.error("is none of run, copy, fork, arrive and leave");
}

/// The rows of a step that moves on; null for one without rows.
RowRange* range_of(Step& step) {
  std::optional<RowRange>* rows = nullptr;
  if (auto* const run = std::get_if<Run>(&step)) rows = &run->rows;
  if (auto* const arrive = std::get_if<Arrive>(&step)) rows = &arrive->rows;
  if (auto* const leave = std::get_if<Leave>(&step)) rows = &leave->rows;
  return rows != nullptr && *rows ? &**rows : nullptr;
}

/// The steps of one repetition, all of its rows moved on `times` times.
void add_moved(std::vector<Step> steps, std::span<const Json> advance, std::int64_t times,
               std::vector<Step>& all) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    RowRange* const rows = range_of(steps[i]);
    const auto shift = base::checked_multiply(advance[i].integer(), times);
    if (rows != nullptr && (!shift || *shift > largest_value - rows->end || *shift < -rows->begin))
      throw advance[i].error("moves rows to where none are");
    if (rows == nullptr && advance[i].integer() != 0) throw advance[i].error("moves a step without rows");
    if (rows != nullptr) *rows = {rows->axis, rows->begin + *shift, rows->end + *shift};
    all.push_back(std::move(steps[i]));
  }
}

/// `repeated` counts the steps of all repetitions of the file.
void read_steps(const Json& json, const Names& buffers, std::vector<Step>& all, std::size_t& repeated) {
  const auto repeat = json.find("repeat");
  if (!repeat) {
    all.push_back(read_step(json, buffers));
    return;
  }
  std::vector<Step> steps;
  for (const Json& step : repeat->at("steps").elements()) steps.push_back(read_step(step, buffers));
  const Json advance = repeat->at("advance");
  const std::vector<Json> advances = advance.elements();
  if (advances.size() != steps.size()) throw advance.error("does not have one number for each step");
  const Json count = repeat->at("count");
  if (count.index() > (model::most_repeated_steps - repeated) / std::max<std::size_t>(1, steps.size()))
    throw count.error(fmt::format("repeats more than {} steps", model::most_repeated_steps));
  repeated += count.index() * steps.size();
  for (std::int64_t times = 0; times < count.natural(); ++times) add_moved(steps, advances, times, all);
}

PlannedMemory read_memory(const Json& json) {
  PlannedMemory memory;
  memory.memory.name = json.at("name").string();
  if (const auto capacity = json.find("capacity")) memory.memory.capacity = capacity->natural();
  memory.memory.alignment = json.at("alignment").natural();
  if (const auto granule = json.find("granule")) memory.memory.granule = granule->natural();
  memory.memory.cost = json.at("cost").natural();
  if (const auto role = json.find("role")) {
    if (role->string() != "weights")
      throw role->error(fmt::format("is {}, expected 'weights'", role->shown()));
    memory.memory.role = MemoryRole::weights;
  }
  memory.peak = json.at("peak").natural();
  memory.lower_bound = json.at("lower_bound").natural();
  if (const auto traffic = json.find("traffic")) memory.traffic = traffic->natural();
  if (const auto certificate = json.find("certificate")) {
    for (const Json& position : certificate->elements()) memory.certificate.push_back(position.natural());
  }
  return memory;
}

std::string block_name(const std::string& name, std::size_t number) {
  return fmt::format("{}[{}]", name, number);
}

/// The numbers of an entry that stands for several row blocks: one for each.
std::vector<std::int64_t> numbers_of_blocks(const Json& json, const std::string& key, std::size_t blocks) {
  std::vector<std::int64_t> numbers;
  const Json list = json.at(key);
  for (const Json& number : list.elements()) numbers.push_back(number.natural());
  if (numbers.size() != blocks)
    throw list.error(
        fmt::format("has {} numbers, expected one for each of {} blocks", numbers.size(), blocks));
  return numbers;
}

/// A piece, or several of one size.
void read_pieces(const Json& json, std::vector<Piece>& pieces) {
  const auto offsets = json.find("offsets");
  if (!offsets) {
    pieces.push_back({json.at("offset").natural(), json.at("size").natural(), read_life(json)});
    return;
  }
  const std::vector<Json> offset = offsets->elements();
  const auto lower = numbers_of_blocks(json, "lower", offset.size());
  const auto upper = numbers_of_blocks(json, "upper", offset.size());
  for (std::size_t i = 0; i < offset.size(); ++i)
    pieces.push_back({offset[i].natural(), json.at("size").natural(), {lower[i], upper[i]}});
}

Buffer read_buffer(const Json& json) {
  Buffer buffer{.id = json.at("id").string(),
                .clock = json.at("clock").index(),
                .size = json.at("size").natural(),
                .alignment = json.at("alignment").natural(),
                .kind = enumerator(json.at("kind"), tensor_kind_named)};
  for (const Json& piece : json.at("pieces").elements()) read_pieces(piece, buffer.pieces);
  if (const auto pinned = json.find("pinned")) buffer.pinned = pinned->natural();
  if (const auto traffic = json.find("traffic")) buffer.traffic = traffic->natural();
  return buffer;
}

void read_buffers(const Json& json, const Names& memories, Plan& plan, Names& buffers) {
  const auto blocks = json.find("blocks");
  const std::size_t memory = memories(json.at("memory"));
  if (!blocks) {
    buffers.add(json.at("id"), plan.buffers.size());
    plan.buffers.push_back(read_buffer(json));
    plan.places.push_back({memory, json.at("offset").natural()});
    return;
  }
  const std::size_t count = blocks->index();
  const auto offsets = numbers_of_blocks(json, "offsets", count);
  const auto lower = numbers_of_blocks(json, "lower", count);
  const auto upper = numbers_of_blocks(json, "upper", count);
  const Json id = json.at("id");
  for (std::size_t i = 0; i < count; ++i) {
    Buffer buffer{.id = block_name(id.string(), json.at("first").index() + i),
                  .clock = json.at("clock").index(),
                  .size = json.at("size").natural(),
                  .alignment = json.at("alignment").natural(),
                  .pieces = {{0, json.at("bytes").natural(), {lower[i], upper[i]}}},
                  .kind = enumerator(json.at("kind"), tensor_kind_named)};
    buffers.add(id, buffer.id, plan.buffers.size());
    plan.buffers.push_back(std::move(buffer));
    plan.places.push_back({memory, offsets[i]});
  }
}

/// Views of row blocks that follow each other.
void read_block_views(const Json& json, std::size_t count, const Names& buffers, std::vector<View>& views) {
  const auto lower = numbers_of_blocks(json, "lower", count);
  const auto upper = numbers_of_blocks(json, "upper", count);
  const Json buffer = json.at("buffer");
  const RowRange rows = read_rows(json);
  if (rows.begin > rows.end ||
      (count > 0 && (rows.end - rows.begin) > (largest_value - rows.end) / static_cast<std::int64_t>(count)))
    throw json.at("rows").error("does not begin a sequence of row blocks");
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t shift = static_cast<std::int64_t>(i) * (rows.end - rows.begin);
    views.push_back({.buffer = buffers(buffer, block_name(buffer.string(), json.at("first").index() + i)),
                     .offset = json.at("offset").natural(),
                     .life = {lower[i], upper[i]},
                     .rows = RowRange{rows.axis, rows.begin + shift, rows.end + shift},
                     .block = read_block(json)});
  }
}

View read_view(const Json& json, const Names& buffers) {
  View view{buffers(json.at("buffer")), json.at("offset").natural(), read_life(json), std::nullopt};
  if (json.find("rows")) view.rows = read_rows(json);
  view.block = read_block(json);
  if (const auto ring = json.find("ring")) {
    view.ring = Ring{ring->at("axis").index(), ring->at("granule").natural(), ring->at("count").natural()};
  }
  return view;
}

PlannedTensor read_tensor(const Json& json, const Names& buffers) {
  PlannedTensor tensor{.model = json.at("model").index()};
  tensor.tensor = {.name = json.at("name").string(),
                   .kind = enumerator(json.at("kind"), tensor_kind_named),
                   .dtype = enumerator(json.at("dtype"), dtype_named),
                   .bytes = json.at("bytes").natural()};
  if (const auto shape = json.find("shape")) tensor.tensor.shape = read_shape(*shape);
  for (const Json& view : json.at("views").elements()) {
    if (const auto blocks = view.find("blocks")) {
      read_block_views(view, blocks->index(), buffers, tensor.views);
    } else {
      tensor.views.push_back(read_view(view, buffers));
    }
  }
  return tensor;
}

Summary read_summary(const Json& json) {
  Summary summary{json.at("naive").natural(),   json.at("peak").natural(), json.at("lower_bound").natural(),
                  json.at("strategy").string(), json.at("order").string(), json.at("seconds").number()};
  if (const auto cost = json.find("cost")) summary.cost = cost->natural();
  if (const auto bound = json.find("cost_bound")) summary.cost_bound = bound->natural();
  return summary;
}

Savings read_savings(const Json& json) {
  const auto read = [](const Json& saving) {
    return Saving{saving.at("separate").natural(), saving.at("shared").natural()};
  };
  return {read(json.at("weights")), read(json.at("instructions")), read(json.at("working"))};
}

OrderProfile read_order_profile(const Json& json) {
  const auto read = [](const Json& order) {
    OrderLoads result{.peak_operator = order.at("peak_operator").string()};
    for (const Json& load : order.at("loads").elements()) result.loads.push_back(load.natural());
    return result;
  };
  OrderProfile profile{.own = read(json.at("own")), .planned = read(json.at("planned"))};
  for (const Json& moved : json.at("moved").elements())
    profile.moved.push_back({moved.at("name").string(), moved.at("from").index(), moved.at("to").index()});
  return profile;
}

AffineSchedule read_affine(const Json& json) {
  AffineSchedule affine{.load = json.at("load").natural(), .is_followed = json.at("followed").boolean()};
  for (const Json& entry : json.at("operators").elements()) {
    TimedSteps steps{.count = entry.at("steps").natural(),
                     .scale = entry.at("scale").natural(),
                     .shift = entry.at("shift").integer(),
                     .position = entry.at("position").natural()};
    if (const auto op = entry.find("operator")) steps.op = op->index();
    steps.block = read_block(entry);
    if (const auto tensor = entry.find("arrives")) steps.tensor = tensor->index();
    if (const auto sums = entry.find("sums")) steps.sums = sums->boolean();
    affine.operators.push_back(steps);
  }
  return affine;
}

Streaming read_streaming(const Json& json) {
  Streaming streaming{.granule = json.at("granule").natural(),
                      .load = json.at("load").natural(),
                      .load_of_layers = json.at("load_of_layers").natural(),
                      .recomputed = json.at("recomputed").number(),
                      .recompute_limit = json.at("recompute_limit").number()};
  for (const Json& entry : json.at("regions").elements()) {
    StreamRegion region{.load = entry.at("load").natural(),
                        .load_of_layers = entry.at("load_of_layers").natural()};
    for (const Json& op : entry.at("operators").elements()) region.operators.push_back(op.index());
    streaming.regions.push_back(std::move(region));
  }
  if (const auto affine = json.find("affine")) streaming.affine = read_affine(*affine);
  const auto curve = json.find("curve");
  for (const Json& it : curve ? curve->elements() : std::vector<Json>{})
    streaming.curve.push_back(
        {it.at("limit").number(), it.at("recomputed").number(), it.at("peak").natural()});
  return streaming;
}

void read_memories_and_buffers(const Json& document, Plan& plan, Names& buffers) {
  Names memories;
  for (const Json& memory : document.at("memories").elements()) {
    memories.add(memory.at("name"), plan.memories.size());
    plan.memories.push_back(read_memory(memory));
  }
  if (const auto slots = document.find("slots")) {
    for (const Json& pool : slots->elements()) {
      plan.slots.push_back({.clock = pool.at("clock").index(),
                            .place = {memories(pool.at("memory")), pool.at("offset").natural()},
                            .size = pool.at("size").natural(),
                            .count = pool.at("count").natural(),
                            .life = read_life(pool)});
    }
  }
  for (const Json& buffer : document.at("buffers").elements()) read_buffers(buffer, memories, plan, buffers);
}

}  // namespace

Plan parse_plan(std::string_view text) {
  const Json::Value value = Json::parse(text);
  const Json document(value);
  import::expect_format(document, "stowage-plan");
  Plan plan;
  Names buffers;
  for (const Json& model : document.at("models").elements()) plan.models.push_back(read_model(model));
  read_memories_and_buffers(document, plan, buffers);
  std::size_t repeated = 0;
  for (const Json& clock : document.at("clocks").elements()) {
    plan.clocks.emplace_back();
    for (const Json& step : clock.at("steps").elements())
      read_steps(step, buffers, plan.clocks.back().steps, repeated);
  }
  for (const Json& tensor : document.at("tensors").elements())
    plan.tensors.push_back(read_tensor(tensor, buffers));
  plan.copies_removed = {document.at("copies_removed").at("count").natural(),
                         document.at("copies_removed").at("bytes").natural()};
  if (const auto kept = document.find("copies_kept")) {
    for (const Json& copy : kept->elements()) {
      plan.copies_kept.push_back({copy.at("model").index(), copy.at("subgraph").index(),
                                  copy.at("operator").index(), copy.at("operation").string(),
                                  copy.at("bytes").natural(), copy.at("why").string()});
    }
  }
  if (const auto feeds = document.find("feeds")) {
    for (const Json& feed : feeds->elements())
      plan.feeds.push_back({feed.at("output").index(), feed.at("input").index()});
  }
  if (const auto released = document.find("released")) {
    for (const Json& output : released->elements()) plan.released.push_back(output.index());
  }
  if (const auto savings = document.find("savings")) plan.savings = read_savings(*savings);
  plan.interrupted = document.at("interrupted").boolean();
  for (const Json& claim : document.at("claims").elements()) {
    plan.claims.push_back({enumerator(claim.at("scope"), claim_scope_named),
                           claim.at("lower_bound").natural(), claim.at("proven_optimal").boolean()});
  }
  if (const auto searches = document.find("order_searches")) {
    for (const Json& search : searches->elements()) {
      plan.order_searches.push_back({search.at("model").index(), search.at("own_load").natural(),
                                     search.at("load").natural(), search.at("lower_bound").natural(),
                                     search.at("states").natural(), search.at("seconds").number()});
    }
  }
  if (const auto streaming = document.find("streaming")) plan.streaming = read_streaming(*streaming);
  if (const auto profile = document.find("order_profile")) plan.order_profile = read_order_profile(*profile);
  plan.summary = read_summary(document.at("summary"));
  return plan;
}

}  // namespace stowage
