#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "import/json.h"
#include "import/plan_parts.h"
#include "model/ties.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using import::enumerator;
using import::Json;
using import::Names;

Shape read_shape(const Json& json) {
  Shape shape;
  for (const Json& dimension : json.elements()) shape.push_back(dimension.natural());
  return shape;
}

ModelInfo read_model(const Json& json) {
  ModelInfo model{json.at("name").string(), json.at("source").string(),
                  enumerator(json.at("format"), model_format_named)};
  if (const auto ranges = json.find("ranges")) {
    for (const Json& it : ranges->elements()) {
      model.ranges.push_back({it.at("name").string(), it.at("least").natural(), it.at("most").natural(),
                              it.at("step").natural()});
      if (model.ranges.back().step < 1 || model.ranges.back().least > model.ranges.back().most)
        throw it.error(
            "is no range of sizes, expected a step of at least 1, and the smallest before the largest");
    }
  }
  return model;
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

PlannedTensor read_tensor(const Json& json, const Names& buffers, const Plan& plan,
                          import::Repeated& repeated) {
  PlannedTensor tensor{.model = json.at("model").index()};
  tensor.tensor = {.name = json.at("name").string(),
                   .kind = enumerator(json.at("kind"), tensor_kind_named),
                   .dtype = enumerator(json.at("dtype"), dtype_named),
                   .bytes = json.at("bytes").natural()};
  if (const auto shape = json.find("shape")) tensor.tensor.shape = read_shape(*shape);
  if (const auto open = json.find("open")) tensor.tensor.open = import::read_open(*open);
  if (const auto value = json.find("value")) tensor.tensor.value = import::read_value(*value, tensor.tensor);
  for (const Json& view : json.at("views").elements())
    import::read_views(view, buffers, plan, tensor.views, repeated);
  return tensor;
}

Tuning read_tuning(const Json& json) {
  const Json risks = json.at("risks");
  return {.sort = json.at("sort").string(),
          .all_high = json.at("all_high").boolean(),
          .end = enumerator(json.at("end"), tuning_end_named),
          .round = json.at("round").natural(),
          .lowest_round = json.at("lowest_round").natural(),
          .high = risks.at("high").natural(),
          .medium = risks.at("medium").natural(),
          .low = risks.at("low").natural(),
          .none = risks.at("none").natural()};
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

void read_memories_and_buffers(const Json& document, Plan& plan, Names& buffers, import::Repeated& repeated) {
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
                            .life = import::read_life(pool)});
    }
  }
  if (const auto tunings = document.find("tunings")) {
    for (const Json& tuning : tunings->elements()) plan.tunings.push_back(read_tuning(tuning));
  }
  for (const Json& buffer : document.at("buffers").elements())
    import::read_buffers(buffer, memories, plan, buffers, repeated);
}

/// The kinds of the tensors say which states are copied, and each says so, too.
void expect_copied(const std::vector<Json>& states, const Plan& plan) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Feed& state = plan.states[i];
    if (std::max(state.output, state.input) >= plan.tensors.size()) continue;  // a fault of the plan
    const auto copied = states[i].find("copied");
    const bool is_copied = model::is_copied(plan, state);
    if ((copied && copied->boolean()) == is_copied) continue;
    throw states[i].error(fmt::format("is {} to be copied, but its input is {}of kind state",
                                      is_copied ? "not said" : "said", is_copied ? "" : "not "));
  }
}

}  // namespace

Plan import::read_plan(const Json& document) {
  import::expect_format(document, "stowage-plan");
  Plan plan;
  Names buffers;
  import::Repeated repeated;
  for (const Json& model : document.at("models").elements()) plan.models.push_back(read_model(model));
  read_memories_and_buffers(document, plan, buffers, repeated);
  for (const Json& clock : document.at("clocks").elements())
    plan.clocks.push_back({import::read_steps(clock.at("steps"), buffers, repeated)});
  if (const auto pauses = document.find("pauses")) {
    for (const Json& it : pauses->elements())
      plan.pauses.push_back({it.at("clock").index(),
                             it.at("every").natural(),
                             {it.at("lower").natural(), it.at("upper").natural()},
                             it.at("carried").natural(),
                             it.at("least_carried").natural()});
  }
  for (const Json& tensor : document.at("tensors").elements())
    plan.tensors.push_back(read_tensor(tensor, buffers, plan, repeated));
  plan.copies_removed = {document.at("copies_removed").at("count").natural(),
                         document.at("copies_removed").at("bytes").natural()};
  if (const auto kept = document.find("copies_kept")) {
    for (const Json& copy : kept->elements()) {
      plan.copies_kept.push_back({copy.at("model").index(), copy.at("subgraph").index(),
                                  copy.at("operator").index(), copy.at("operation").string(),
                                  copy.at("bytes").natural(), copy.at("why").string()});
    }
  }
  const auto read_feeds = [&](const char* name, std::vector<Feed>& into) {
    const auto feeds = document.find(name);
    if (!feeds) return;
    for (const Json& feed : feeds->elements())
      into.push_back({feed.at("output").index(), feed.at("input").index()});
  };
  read_feeds("feeds", plan.feeds);
  read_feeds("states", plan.states);
  if (const auto states = document.find("states")) expect_copied(states->elements(), plan);
  if (const auto released = document.find("released")) {
    for (const Json& output : released->elements()) plan.released.push_back(output.index());
  }
  if (const auto savings = document.find("savings")) plan.savings = read_savings(*savings);
  (void)document.find("remedies");  // for who reads the plan of `plan --json`
  plan.interrupted = document.at("interrupted").boolean();
  if (const auto left_out = document.find("left_out")) {
    for (const Json& it : left_out->elements())
      plan.left_out.push_back(
          {enumerator(it.at("what"), wish_named), it.at("why").string(), it.at("help").string()});
  }
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
  if (const auto streaming = document.find("streaming"))
    plan.streaming = import::read_streaming(*streaming, repeated);
  if (const auto profile = document.find("order_profile")) plan.order_profile = read_order_profile(*profile);
  plan.summary = read_summary(document.at("summary"));
  return plan;
}

Plan parse_plan(std::string_view text) {
  const Json::Value value = Json::parse(text);
  return import::read_plan(Json(value));
}

}  // namespace stowage
