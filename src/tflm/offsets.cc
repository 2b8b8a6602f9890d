// From a plan to the offsets that a file may give TensorFlow Lite Micro. The runtime takes offsets as they
// are and then places what it plans by itself around them: tensors without an offset, and the scratch memory
// that kernels ask for, of which no file tells. So offsets for some can make others go higher:
//
//     own plan          |x|y y y|          offsets for x, z    |x  z z|
//                       |s|  z z|          scratch s           |s s   |   <- above z, and the arena grows
//
// Tensors are left to the runtime where the plan says nothing of them or the runtime counts their size in
// another way, and, unless all scratch is known, where they are kept during an operator that may ask for
// some. What follows is tried out with a model of the runtime's planner (arena.h): with the scratch that is
// known, or with requests of several sizes from every operator that may ask. While the head of the arena is
// larger than without any plan, the tensors that are kept beside one that the runtime places are left to it,
// too; at worst all are, and the file has no plan. The result is never worse than the runtime's own as far as
// was tried, and exactly so when scratch is known.
//
// Cost: a simulation (arena.cc) for each size tried, of which there are few, and each round.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "stowage/error.h"
#include "stowage/tflm.h"
#include "tflm/arena.h"
#include "tflm/scopes.h"
#include "tflm/scratch.h"

namespace stowage::tflm {
namespace {

constexpr std::size_t most_sizes_tried = 24;
constexpr std::size_t most_requests = 10'000;

/// Tensors of the file: scratch that a list gives comes behind them.
std::size_t tensors_in_file(const Graph& graph) {
  std::size_t count = graph.tensors.size();
  while (count > 0 && graph.tensors[count - 1].kind == TensorKind::scratch) --count;
  return count;
}

/// The order in which a plan runs a model's operators; what it does not run follows as in the file.
Orders orders_of(const Graph& graph, const Plan& plan, std::size_t model) {
  Orders orders(graph.subgraphs.size());
  std::vector<std::vector<bool>> has(graph.subgraphs.size());
  for (std::size_t s = 0; s < has.size(); ++s) has[s].resize(graph.subgraphs[s].operators.size());
  const auto add = [&](std::size_t s, std::size_t op) {
    if (has[s][op]) return;
    has[s][op] = true;
    orders[s].push_back(op);
  };
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const run = std::get_if<Run>(&step);
      if (run != nullptr && run->model == model) add(run->path[run->path.size() - 2], run->path.back());
    }
  }
  for (std::size_t s = 0; s < has.size(); ++s) {
    for (std::size_t op = 0; op < has[s].size(); ++op) add(s, op);
  }
  return orders;
}

void expect_followable(const Graph& graph, const Plan& plan) {
  const auto refuse = [](const std::string& why) { throw UsageError("TensorFlow Lite Micro " + why); };
  if (plan.memories.size() != 1)
    refuse(fmt::format("has one arena, the plan {} memories", plan.memories.size()));
  if (plan.clocks.size() != 1) refuse("runs models one after the other, the plan some at the same time");
  if (!graph.ties.empty()) refuse("keeps variables by itself, the plan ties an output to an input");
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.type == "ethos-u")
        refuse("gets commands for an accelerator that hold the addresses of a plan already (ethos-u)");
    }
  }
}

class Chooser {
 public:
  Chooser(const Graph& graph, const Plan& plan, std::size_t model, KernelScratch scratch)
      : graph_(graph),
        plan_(plan),
        count_(tensors_in_file(graph)),
        why_(count_),
        own_orders_(file_orders(graph)),
        own_timeline_(timeline_of(graph, own_orders_)),
        orders_(orders_of(graph, plan, model)),
        timeline_(timeline_of(graph, orders_)),
        offsets_(count_) {
    while (first_ < plan.tensors.size() && plan.tensors[first_].model != model) ++first_;
    if (scratch == KernelScratch::unknown) find_askers();
  }

  TflmPlan take() {
    for (TensorId t = 0; t < count_; ++t) place(t);
    release_all_during(asking_, "kept while an operator runs whose kernel may ask for scratch memory");
    for (const Bytes size : sizes_to_try()) {
      const Bytes own = own_head(size);
      while (head(size) > own && release_neighbours()) {
      }
      if (head(size) > own) give_up();
    }
    TflmPlan result{.head = head(0), .own_head = own_head(0), .may_ask = askers_.size()};
    result.plan = {offsets_, orders_ == own_orders_ ? Orders{} : orders_};
    for (TensorId t = 0; t < count_; ++t) {
      if (!why_[t].empty()) result.left.push_back({t, why_[t]});
    }
    return result;
  }

 private:
  /// Gives a tensor the plan's offset, or notes why not.
  void place(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    if (!is_planned(tensor)) return;
    if (timeline_.tensors[t].empty()) {  // nobody ever looks at it
      offsets_[t] = 0;
      return;
    }
    const std::vector<View>& views = plan_.tensors.at(first_ + t).views;
    std::set<Bytes> addresses;
    for (const View& view : views) addresses.insert(plan_.places[view.buffer].offset + view.offset);
    if (addresses.size() != 1) {
      why_[t] = views.empty() ? "the plan has no place for it" : "the plan has several places for it";
    } else if (*addresses.begin() % arena_alignment != 0) {
      throw UsageError(fmt::format("{} is at {}, TensorFlow Lite Micro expects multiples of {}",
                                   describe(graph_, t), *addresses.begin(), arena_alignment));
    } else if (*addresses.begin() > std::numeric_limits<std::int32_t>::max()) {
      why_[t] = "its offset has more than 32 bits";
    } else if (runtime_bytes(tensor) != tensor.bytes) {
      why_[t] = fmt::format("the runtime does not pack elements of type {}", name_of(tensor.dtype));
    } else {
      offsets_[t] = *addresses.begin();
    }
  }

  void find_askers() {
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) {
      for (std::size_t o = 0; o < graph_.subgraphs[s].operators.size(); ++o) {
        if (may_ask_for_scratch(graph_, graph_.subgraphs[s].operators[o])) askers_.emplace_back(s, o);
      }
    }
    for (const auto& [s, o] : askers_) {
      const Spans& spans = timeline_.operators[s][o];
      asking_.insert(asking_.end(), spans.begin(), spans.end());
    }
  }

  /// Leaves to the runtime what is kept at any of these scopes. Returns whether there was anything.
  bool release_all_during(const Spans& spans, std::string_view why) {
    const Scopes scopes(spans);
    bool has_released = false;
    for (TensorId t = 0; t < count_; ++t) {
      if (!offsets_[t] || !scopes.meet(timeline_.tensors[t])) continue;
      offsets_[t].reset();
      why_[t] = why;
      has_released = true;
    }
    return has_released;
  }

  bool release_neighbours() {
    Spans online = asking_;
    for (TensorId t = 0; t < timeline_.tensors.size(); ++t) {
      if (!is_planned(graph_.tensors[t]) || (t < count_ && offsets_[t])) continue;
      online.insert(online.end(), timeline_.tensors[t].begin(), timeline_.tensors[t].end());
    }
    return release_all_during(online, "kept beside what the runtime places, which would go higher");
  }

  /// No offsets, and the order of the file.
  void give_up() {
    for (TensorId t = 0; t < count_; ++t) {
      if (offsets_[t]) why_[t] = "the runtime's own plan is smaller";
    }
    offsets_.assign(count_, std::nullopt);
    orders_ = own_orders_;
    timeline_ = own_timeline_;
  }

  /// Requests that operators may make: none, and sizes about those of the tensors that compete with them.
  [[nodiscard]] std::vector<Bytes> sizes_to_try() const {
    if (askers_.empty()) return {0};
    std::set<Bytes> sizes;
    for (TensorId t = 0; t < count_; ++t) {
      if (is_planned(graph_.tensors[t]))
        sizes.insert(base::align_up(runtime_bytes(graph_.tensors[t]), arena_alignment));
    }
    if (sizes.empty()) return {0};
    const std::vector<Bytes> all(sizes.begin(), sizes.end());
    std::vector<Bytes> tried{0, arena_alignment};
    for (std::size_t i = 0; i < std::min(all.size(), most_sizes_tried); ++i) {
      const Bytes size = all[i * all.size() / std::min(all.size(), most_sizes_tried)];
      tried.insert(tried.end(), {size, size + arena_alignment});
    }
    tried.push_back(4 * all.back());
    return tried;
  }

  [[nodiscard]] Bytes head(Bytes asked) const { return head_with(offsets_, orders_, timeline_, asked); }

  [[nodiscard]] Bytes own_head(Bytes asked) const {
    return head_with(OfflineOffsets(count_), own_orders_, own_timeline_, asked);
  }

  [[nodiscard]] Bytes head_with(const OfflineOffsets& offsets, const Orders& orders, const Timeline& timeline,
                                Bytes asked) const {
    std::vector<Request> requests = requests_of(graph_, offsets, orders, timeline);
    if (requests.size() > most_requests)
      throw UsageError(fmt::format("{} tensors are more than TensorFlow Lite Micro is expected to plan, {}",
                                   requests.size(), most_requests));
    for (const auto& [s, o] : askers_) {
      const Spans& spans = timeline.operators[s][o];
      if (asked > 0 && !spans.empty()) requests.push_back({asked, spans.back(), std::nullopt});
    }
    return head_of(requests);
  }

  const Graph& graph_;
  const Plan& plan_;
  std::size_t count_;
  std::size_t first_ = 0;  // of the model's tensors in the plan
  std::vector<std::string> why_;
  Orders own_orders_;
  Timeline own_timeline_;
  Orders orders_;
  Timeline timeline_;
  OfflineOffsets offsets_;
  std::vector<std::pair<std::size_t, std::size_t>> askers_;  // subgraph and operator
  Spans asking_;
};

}  // namespace
}  // namespace stowage::tflm

namespace stowage {

TflmPlan plan_for_tflm(const Graph& graph, const Plan& plan, std::size_t model, KernelScratch scratch) {
  tflm::expect_followable(graph, plan);
  return tflm::Chooser(graph, plan, model, scratch).take();
}

Bytes tflm_head(const Graph& graph, const OfflineOffsets& offsets) {
  const tflm::Orders orders = tflm::file_orders(graph);
  return tflm::head_of(tflm::requests_of(graph, offsets, orders, tflm::timeline_of(graph, orders)));
}

}  // namespace stowage
