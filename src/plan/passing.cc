// What networks pass to each other and to the caller, by whole operators and by rows.
//
//     whole operators   a buffer of the network if it is on its clock, else one that composition.cc adds
//     rows              the same, but an input that no other network needs afterwards is in a buffer of its reader, whose
//                       pieces say when each row goes; composition.cc moves them to the buffer of the writer

#include "plan/passing.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "stowage/error.h"

namespace stowage::plan {
namespace {

using lifetime::Residence;

/// The input after which nobody needs the output any more; none if the caller does, or if it is on another clock than
/// the output. Rows of the output can go as it reads them.
std::optional<share::ModelTensor> last_reader(const share::KeptOutput& kept,
                                              const share::Timeline& timeline) {
  if (!kept.lasting.empty()) return std::nullopt;
  const auto begin_of = [&](const share::ModelTensor& input) {
    const share::Stage& stage = timeline.stage_of(input.model);
    return timeline.position_on(kept.clock, {stage.clock, stage.begin});
  };
  std::optional<share::ModelTensor> last;
  for (const share::ModelTensor& input : kept.inputs) {
    if (!last || begin_of(input) > begin_of(*last)) last = input;
  }
  return last && timeline.stage_of(last->model).clock == kept.clock ? last : std::nullopt;
}

}  // namespace

std::vector<share::NamedGraph> graphs_of(const Context& context) {
  std::vector<share::NamedGraph> graphs;
  for (const NetworkFacts& network : context.networks)
    graphs.push_back({network.input().info.name, network.graph()});
  return graphs;
}

share::Timeline timeline_of(const Context& context, std::vector<Clock> clocks) {
  std::vector<std::string> names;
  for (const NetworkFacts& network : context.networks) names.push_back(network.input().info.name);
  return {share::parse_run_expression(context.options.run, names), std::move(clocks)};
}

Passing passing_on(const Context& context, std::span<const share::NamedGraph> graphs,
                   const share::Timeline& timeline) {
  const PlanOptions& options = context.options;
  if (!timeline.paused().empty() && options.moves == Moves::allowed)
    throw UsageError("--moves: copies are steps, too, and would lie between those that ^ of --run counts");
  Passing passing{.feeds = share::resolve_feeds(options.feeds, graphs, timeline),
                  .released = share::resolve_released(options.released, graphs),
                  .states = share::resolve_states(options.states, graphs, timeline)};
  const std::set<share::ModelTensor> shared = share::tensors_of(passing.states);
  share::expect_no_state(passing.feeds, passing.released, shared, graphs);
  passing.kept = share::kept_outputs(graphs, timeline, passing.feeds, passing.released, shared, options.io);
  return passing;
}

PassedTensors passed_tensors(std::size_t model, const share::Timeline& timeline, const Passing& passing) {
  PassedTensors passed;
  for (const share::KeptOutput& kept : passing.kept) {
    for (const share::ModelTensor& input : kept.inputs) {
      if (input.model == model) passed.emplace_back(input.tensor, Residence::feed);
    }
    if (kept.output.model != model) continue;
    const bool leaves = kept.clock != timeline.stage_of(model).clock;
    if (leaves || !kept.inputs.empty())
      passed.emplace_back(kept.output.tensor, leaves ? Residence::feed : Residence::arena);
  }
  for (const share::ModelTensor& it : share::tensors_of(passing.states)) {
    if (it.model == model) passed.emplace_back(it.tensor, Residence::feed);
  }
  return passed;
}

namespace {

/// Of networks that run whole operators in their own orders.
share::Timeline timeline_of_own(const Context& context) {
  std::vector<Clock> clocks;
  for (const NetworkFacts& network : context.networks) clocks.push_back(network.clock_of(*network.own()));
  return timeline_of(context, std::move(clocks));
}

}  // namespace

bool rows_may_move(const Context& context) {
  if (context.options.moves != Moves::allowed) return false;
  const share::Timeline timeline = timeline_of_own(context);
  for (std::size_t m = 0; m < context.networks.size(); ++m) {
    if (timeline.stage_of(m).clock != 0) return false;
  }
  return true;
}

std::vector<stream::PassedIo> passed_by_rows(const Context& context, Io io) {
  const std::vector<share::NamedGraph> graphs = graphs_of(context);
  const share::Timeline timeline = timeline_of_own(context);
  const Passing passing = passing_on(context, graphs, timeline);
  std::vector<stream::PassedIo> passed(graphs.size());
  for (const share::KeptOutput& kept : passing.kept) {
    const bool leaves = kept.clock != timeline.stage_of(kept.output.model).clock;
    Io& of_output = passed[kept.output.model][kept.output.tensor];
    of_output = !leaves ? Io::arena : kept.inputs.empty() && io == Io::rows ? Io::rows : Io::external;
    if (!leaves && kept.inputs.empty()) passed[kept.output.model].erase(kept.output.tensor);
    for (const share::ModelTensor& input : kept.inputs) passed[input.model][input.tensor] = Io::external;
    if (const auto last = last_reader(kept, timeline)) passed[last->model][last->tensor] = Io::arena;
  }
  for (const share::ModelTensor& it : share::tensors_of(passing.states))
    passed[it.model][it.tensor] = Io::external;
  return passed;
}

}  // namespace stowage::plan
