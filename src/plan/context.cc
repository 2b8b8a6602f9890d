// Computes what many parts of planning need, once for each network and once for each order of its operators:
// live ranges, sharing of bytes, and the resulting buffers.

#include "plan/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/text.h"
#include "lifetime/lives.h"
#include "stowage/problem.h"

namespace stowage::plan {

NetworkFacts::NetworkFacts(const Input& input, std::size_t model, const PlanOptions& options,
                           std::vector<GivenPlace> places)
    : input_(&input),
      graph_(&std::get<Graph>(input.content)),
      model_(model),
      buffer_options_{.alignment = alignment_in(options, input.info.format),
                      .keeps_state = input.info.format != ModelFormat::tflite},
      alias_(options.alias),
      target_(options.target),
      places_(std::move(places)) {
  Clock clock = lifetime::keep_order(*graph_, model);
  residences_ = lifetime::residences_of(*graph_, lifetime::uses_of(*graph_, clock), options.io);
  own_ = schedule_of(std::move(clock));
}

SchedulePtr NetworkFacts::schedule_of(Clock clock) const {
  Schedule schedule{.operators = lifetime::operators_of(clock), .uses = lifetime::uses_of(*graph_, clock)};
  clock = {};  // it is large, and `operators` say the same
  schedule.shares = shares_of(schedule.operators, schedule.uses, residences_);
  schedule.load = max_load(schedule.shares->buffers.buffers);
  return std::make_shared<const Schedule>(std::move(schedule));
}

Clock NetworkFacts::clock_of(const Schedule& schedule) const {
  return lifetime::clock_of(*graph_, model_, schedule.operators);
}

SharesPtr NetworkFacts::shares_of(std::span<const lifetime::OperatorId> operators, const lifetime::Uses& uses,
                                  const Residences& residences, std::vector<bool> apart) const {
  if (!places_.empty()) apart.resize(graph_->tensors.size(), false);
  std::vector<TensorId> placed;
  for (const GivenPlace& place : places_) {
    apart[place.tensor] = true;
    placed.push_back(place.tensor);
  }
  alias::Sharing sharing = alias::share(*graph_, operators, uses, residences,
                                        {.alias = alias_,
                                         .target = target_,
                                         .alignment = buffer_options_.alignment,
                                         .apart = std::move(apart),
                                         .placed = std::move(placed),
                                         .model = model_});
  Shares shares{.removed = sharing.removed, .kept = std::move(sharing.kept)};
  for (const alias::Shared& group : sharing.groups) {
    if (group.members.size() < 2) continue;
    Joined& joined = shares.joined.emplace_back(Joined{.end = group.end});
    joined.tensors.reserve(group.members.size());
    for (const alias::Member& member : group.members) joined.tensors.push_back(member.tensor);
  }
  shares.buffers = alias::buffers_of(*graph_, uses, std::move(sharing), residences, buffer_options_);
  if (!places_.empty())
    assign_places(places_, alias::planned_tensors(*graph_, shares.buffers.held, model_),
                  shares.buffers.buffers);
  return std::make_shared<const Shares>(std::move(shares));
}

Context::Context(std::span<const Input> all_inputs, const PlanOptions& given, base::Deadline end)
    : inputs(all_inputs), options(given), deadline(std::move(end)) {
  working = working_memories(options);
  if (std::ranges::none_of(options.memories,
                           [](const Memory& memory) { return memory.role == MemoryRole::working; }))
    options.memories.insert(options.memories.begin(), working[0]);
  if (options.moves == Moves::allowed && working.size() == 1)
    throw UsageError("--moves: there is one memory to plan in, expected several");
  std::set<std::string_view> names;
  for (const Input& input : inputs) {
    if (!names.insert(input.info.name).second)
      throw UsageError(fmt::format("two models are called {}", base::quoted(input.info.name)));
  }
  for (std::size_t m = 0; m < inputs.size(); ++m)
    networks.push_back(in_file_of(
        inputs[m], [&] { return NetworkFacts(inputs[m], m, options, places_of(inputs, m, options)); }));
}

Bytes Context::alignment() const {
  Bytes strictest = 1;
  for (const NetworkFacts& network : networks)
    strictest = std::max(strictest, network.buffer_options().alignment);
  return strictest;
}

std::vector<ModelInfo> infos_of(std::span<const Input> inputs) {
  std::vector<ModelInfo> infos;
  for (const Input& input : inputs) infos.push_back(input.info);
  return infos;
}

Bytes alignment_in(const PlanOptions& options, ModelFormat format) {
  Bytes alignment = options.alignment.value_or(default_alignment_of(format));
  for (const Memory& memory : options.memories) {
    if (memory.granule < 1) throw UsageError("--memory: a granule has at least 1 byte");
    const auto multiple =
        base::checked_multiply(alignment, memory.granule / std::gcd(alignment, memory.granule));
    if (!multiple || *multiple > largest_value)
      throw UsageError(fmt::format("--memory: buffers cannot be multiples of {} and of {}, the granule of {}",
                                   alignment, memory.granule, base::quoted(memory.name)));
    alignment = *multiple;
  }
  return alignment;
}

Bytes default_alignment_of(ModelFormat format) {
  switch (format) {
    case ModelFormat::onnx:
    case ModelFormat::json:
      return 64;
    case ModelFormat::tflite:
      return 16;
    case ModelFormat::csv:
    case ModelFormat::ops:
    case ModelFormat::xla:
    case ModelFormat::executorch:
    case ModelFormat::vela:
      break;
  }
  return 1;
}

}  // namespace stowage::plan
