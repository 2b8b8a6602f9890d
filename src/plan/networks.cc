// Networks on one device, from graphs to places:
//
//   each alone      steps, lives, aliases and buffers on a clock of its own
//   together        the run expression makes common clocks, the buffers move there (composition.cc)
//   placed          clock by clock, branches as blocks (placement.cc)
//   moved           from memory to memory, if that is allowed (moves.cc)
//   weights         what is equal is stored once; offsets, if there is a memory for them (constants.cc)
//
// A network that is the only one is placed already when its aliases are decided.

#include "plan/networks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "plan/aliasing.h"
#include "plan/composition.h"
#include "plan/constants.h"
#include "plan/extent.h"
#include "plan/in_file.h"
#include "plan/least_cost.h"
#include "plan/moves.h"
#include "plan/placement.h"
#include "share/equal_data.h"
#include "share/feeds.h"
#include "share/run_expression.h"
#include "share/timeline.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

using lifetime::Residence;

std::vector<Memory> memories_for(MemoryRole role, const std::vector<Memory>& memories) {
  std::vector<Memory> chosen;
  std::copy_if(memories.begin(), memories.end(), std::back_inserter(chosen),
               [&](const Memory& memory) { return memory.role == role; });
  return chosen;
}

class NetworksPlanner {
 public:
  /// `alone` are the steps of each network.
  NetworksPlanner(std::span<const Input> inputs, const PlanOptions& options, std::vector<Clock> alone,
                  Plan& plan)
      : inputs_(inputs), options_(options), alone_(std::move(alone)), plan_(plan) {
    if (memories_for(MemoryRole::working, options_.memories).empty())
      options_.memories.insert(options_.memories.begin(), {.name = "arena"});
    if (options_.moves == Moves::allowed && memories_for(MemoryRole::working, options_.memories).size() == 1)
      throw UsageError("--moves: there is one memory to plan in, expected several");
    std::set<std::string_view> names;
    for (const Input& input : inputs_) {
      if (!names.insert(input.info.name).second)
        throw UsageError(fmt::format("two models are called {}", base::quoted(input.info.name)));
      names_.push_back(input.info.name);
      networks_.push_back({input.info.name, std::get<Graph>(input.content)});
    }
  }

  Outcome plan() {
    const share::Timeline timeline(share::parse_run_expression(options_.run, names_), alone_);
    const Passing passing = passing_on(timeline);
    arrange_all(timeline, passing);
    plan_.clocks = timeline.clocks();
    Composition together = compose_all(timeline, passing);
    Placement placement = placement_of(together.buffers);
    plan_.tensors = std::move(together.tensors);
    plan_.feeds = std::move(together.feeds);
    plan_.released = std::move(together.released);
    plan_.buffers = std::move(together.buffers);
    plan_.places = std::move(placement.places);
    plan_.slots = placement.slots;
    if (options_.moves == Moves::allowed) make_moves(placement);
    note_copies();
    fill_in(placement);
    share_constants();
    const auto is_too_small = [](const PlannedMemory& memory) {
      return memory.peak > memory.memory.capacity.value_or(largest_value);
    };
    return std::any_of(plan_.memories.begin(), plan_.memories.end(), is_too_small) ? Outcome::exceeds_capacity
                                                                                   : Outcome::fits;
  }

 private:
  [[nodiscard]] Bytes alignment_of(std::size_t model) const {
    return options_.alignment.value_or(default_alignment_of(inputs_[model].info.format));
  }

  /// The strictest of all networks.
  [[nodiscard]] Bytes alignment() const {
    Bytes alignment = 1;
    for (std::size_t m = 0; m < networks_.size(); ++m) alignment = std::max(alignment, alignment_of(m));
    return alignment;
  }

  [[nodiscard]] PlanOptions working_options() const {
    PlanOptions options = options_;
    options.memories = memories_for(MemoryRole::working, options_.memories);
    if (networks_.size() > 1) options.solve.time_limit /= static_cast<double>(networks_.size() + 1);
    return options;
  }

  [[nodiscard]] Passing passing_on(const share::Timeline& timeline) const {
    Passing passing{share::resolve_feeds(options_.feeds, networks_, timeline),
                    share::resolve_released(options_.released, networks_),
                    {}};
    passing.kept = share::kept_outputs(networks_, timeline, passing.feeds, passing.released, options_.io);
    return passing;
  }

  void arrange_all(const share::Timeline& timeline, const Passing& passing) {
    for (std::size_t m = 0; m < networks_.size(); ++m) {
      ArrangeOptions options{working_options(), buffer_options_of(inputs_[m], m, options_)};
      const auto arrange_it = [&] {
        return in_file_of(inputs_[m], [&] { return arrange(networks_[m].graph, alone_[m], options); });
      };
      options.fed = passed_tensors(m, timeline, passing);
      arrangements_.push_back(arrange_it());
      separate_ += arrangements_.back().cost.peak;
      if (options.fed.empty()) continue;
      separate_ -= arrangements_.back().cost.peak;
      for (auto& [tensor, residence] : options.fed)
        residence = Residence::arena;  // alone it shares none of them
      separate_ += arrange_it().cost.peak;
    }
  }

  /// Where the tensors are that a network passes to others or is passed by them, or leaves behind when its
  /// branch ends.
  static std::vector<std::pair<TensorId, Residence>> passed_tensors(std::size_t model,
                                                                    const share::Timeline& timeline,
                                                                    const Passing& passing) {
    std::vector<std::pair<TensorId, Residence>> passed;
    for (const share::KeptOutput& kept : passing.kept) {
      for (const share::ModelTensor& input : kept.inputs) {
        if (input.model == model) passed.emplace_back(input.tensor, Residence::feed);
      }
      if (kept.output.model != model) continue;
      const bool leaves = kept.clock != timeline.stage_of(model).clock;
      if (leaves || !kept.inputs.empty())
        passed.emplace_back(kept.output.tensor, leaves ? Residence::feed : Residence::arena);
    }
    return passed;
  }

  [[nodiscard]] Composition compose_all(const share::Timeline& timeline, const Passing& passing) const {
    std::vector<Alone> networks;
    for (std::size_t m = 0; m < networks_.size(); ++m)
      networks.push_back({networks_[m], arrangements_[m].uses, arrangements_[m].buffers});
    return compose(networks, timeline, passing, alignment());
  }

  [[nodiscard]] Placement placement_of(const std::vector<Buffer>& buffers) const {
    const PlanOptions working = working_options();
    if (networks_.size() > 1) return place(buffers, plan_.clocks, working.memories, working.solve);
    const Solution& solution = arrangements_[0].solution;
    std::vector<SlotPool> slots;
    if (solution.slots) slots.push_back(*solution.slots);
    return {.places = solution.places,
            .slots = std::move(slots),
            .lower_bound = working.memories.size() == 1 ? solution.lower_bound : 0,
            .certificate = solution.certificate,
            .cost_bound = solution.cost_bound,
            .strategy = solution.strategy,
            .interrupted = solution.interrupted};
  }

  /// Within what is left of the time, and only if everything fits as it is.
  void make_moves(Placement& placement) {
    PlanOptions working = working_options();
    const auto extents = extents_of(plan_.buffers, plan_.places, plan_.clocks, working.memories.size());
    for (std::size_t m = 0; m < extents.size(); ++m) {
      if (extents[m].peak > working.memories[m].capacity.value_or(largest_value)) return;
    }
    const auto elapsed = std::chrono::steady_clock::now() - begin_;
    working.solve.time_limit =
        std::max<std::chrono::duration<double>>(options_.solve.time_limit - elapsed, {});
    move_tensors(inputs_, working.memories, working.solve, plan_);
    placement.cost_bound = least_cost(inputs_, plan_, working.memories);
  }

  void note_copies() {
    for (Arrangement& arrangement : arrangements_) {
      plan_.copies_removed.count += arrangement.sharing.removed.count;
      plan_.copies_removed.bytes += arrangement.sharing.removed.bytes;
      std::move(arrangement.sharing.kept.begin(), arrangement.sharing.kept.end(),
                std::back_inserter(plan_.copies_kept));
    }
  }

  /// Takes over what each memory holds and what is proven. Places know working memories only so far.
  void fill_in(const Placement& placement) {
    const std::vector<Memory> working = memories_for(MemoryRole::working, options_.memories);
    const auto extents = extents_of(plan_.buffers, plan_.places, plan_.clocks, working.size());
    std::vector<std::size_t> index_of;
    for (const Memory& memory : options_.memories) {
      const std::size_t m = index_of.size();
      plan_.memories.push_back({.memory = memory});
      PlannedMemory& planned = plan_.memories.back();
      if (memory.role != MemoryRole::working) continue;
      planned.peak = extents[m].peak;
      for (const SlotPool& pool : placement.slots) {
        if (pool.place.memory == m) planned.peak = std::max(planned.peak, pool.end());
      }
      planned.lower_bound = std::max(extents[m].bound, placement.lower_bound);
      if (placement.lower_bound > extents[m].bound) planned.certificate = placement.certificate;
      index_of.push_back(plan_.memories.size() - 1);
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      plan_.places[b].memory = index_of[plan_.places[b].memory];
      PlannedMemory& memory = plan_.memories[plan_.places[b].memory];
      memory.traffic = base::checked_add(memory.traffic, plan_.buffers[b].traffic).value_or(largest_value);
    }
    for (SlotPool& pool : plan_.slots) pool.place.memory = index_of[pool.place.memory];
    for (PlannedMemory& memory : plan_.memories) {
      for (const Buffer& buffer : plan_.buffers)
        memory.memory.alignment = std::max(memory.memory.alignment, buffer.alignment);
    }
    summarize(placement);
  }

  void summarize(const Placement& placement) {
    Summary& summary = plan_.summary;
    summary = {.naive = naive_size(), .strategy = placement.strategy, .order = "keep"};
    for (const PlannedMemory& memory : plan_.memories) {
      summary.peak += memory.peak;
      summary.lower_bound += memory.lower_bound;
    }
    if (memories_for(MemoryRole::working, options_.memories).size() > 1) note_cost(placement);
    plan_.interrupted = placement.interrupted;
    plan_.claims = {{ClaimScope::offsets, summary.lower_bound, summary.peak == summary.lower_bound}};
  }

  /// What the choice among several memories costs.
  void note_cost(const Placement& placement) {
    std::int64_t& cost = plan_.summary.cost;
    for (const PlannedMemory& memory : plan_.memories) {
      const auto its_cost = base::checked_multiply(memory.traffic, memory.memory.cost);
      const auto sum = its_cost ? base::checked_add(cost, *its_cost) : std::nullopt;
      if (!sum) throw Error("", "the cost of all reads and writes overflows");
      cost = *sum;
    }
    plan_.summary.cost_bound = std::min(placement.cost_bound, cost);
  }

  /// Every tensor of the arena in memory of its own.
  [[nodiscard]] Bytes naive_size() const {
    Bytes naive = 0;
    for (const PlannedTensor& tensor : plan_.tensors) {
      if (!tensor.views.empty()) naive += base::align_up(tensor.tensor.bytes, alignment_of(tensor.model));
    }
    return naive;
  }

  void share_constants() {
    const bool are_planned =
        std::any_of(plan_.memories.begin(), plan_.memories.end(),
                    [](const auto& memory) { return memory.memory.role == MemoryRole::weights; });
    if (networks_.size() == 1 && !are_planned) return;
    share::EqualData classes = share::equal_data(inputs_);
    share::leave_unread_out(classes, inputs_);
    if (are_planned) place_constants(classes, alignment(), plan_);
    plan_.savings = Savings{share::saving_of(classes, inputs_, TensorKind::weight),
                            share::saving_of(classes, inputs_, TensorKind::instruction),
                            {separate_, plan_.summary.peak}};
  }

  std::span<const Input> inputs_;
  PlanOptions options_;
  std::vector<Clock> alone_;
  Plan& plan_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<std::string> names_;
  std::vector<share::NamedGraph> networks_;
  std::vector<Arrangement> arrangements_;
  Bytes separate_ = 0;  ///< The peaks of the networks planned alone.
};

}  // namespace

Outcome plan_networks(std::span<const Input> inputs, const PlanOptions& options, std::vector<Clock> alone,
                      Plan& plan) {
  return NetworksPlanner(inputs, options, std::move(alone), plan).plan();
}

alias::BufferOptions buffer_options_of(const Input& input, std::size_t model, const PlanOptions& options) {
  return {.alignment = options.alignment.value_or(default_alignment_of(input.info.format)),
          .keeps_state = input.info.format != ModelFormat::tflite,
          .model = model};
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
      break;
  }
  return 1;
}

}  // namespace stowage::plan
