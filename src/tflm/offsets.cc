// From a plan to the offsets that a file may give TensorFlow Lite Micro. The runtime takes offsets as they
// are and places around them what it plans itself: tensors without an offset, and scratch memory that kernels
// request, which no file mentions. So offsets for some can raise others. If all scratch is known, a
// simulation of the arena (runtime.h) is enough. Otherwise this keeps the runtime from deviating from its own
// plan, wherever scratch can matter:
//
//     unstable   tensors kept during an operator that may ask, and tensors that meet an unstable one placed
//                before them in the runtime's order: they may go anywhere. They are left to the runtime.
//     border     stable tensors that are kept at the same time as an unstable one. The runtime places them
//                before it, so their places do not depend on scratch. They get the runtime's own offsets, and
//                unstable ones are placed as without a plan.
//     inner      all others: they get the plan's offsets, except those that would collide with a border
//                tensor, or with another tensor that was moved for this reason: these also get the runtime's
//                own offsets.
//
//     | inner, as planned | border | unstable, border | scratch? |       time ->
//
// So whatever kernels request, unstable tensors and scratch lie where they would lie without a plan, and the
// arena is not larger as long as the others reach no higher than without a plan. If they do, or if operators
// are in another order, nothing is guaranteed, and the file gets no offsets. If a tensor is needed after its
// model has run, models cannot deviate: everything must be as planned.
//
// Cost: the square of the number of tensors at worst, as in the runtime.

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
#include "tflm/runtime.h"

namespace stowage::tflm {
namespace {

/// Number of tensors in the file: scratch from a list follows them.
std::size_t tensors_in_file(const Graph& graph) {
  std::size_t count = graph.tensors.size();
  while (count > 0 && graph.tensors[count - 1].kind == TensorKind::scratch) --count;
  return count;
}

/// The order of a model's operators in a plan; operators that it does not run follow in file order.
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
  if (!graph.ties.empty() || !plan.states.empty())
    refuse("keeps variables by itself, the plan ties an output to an input");
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.type == "ethos-u")
        refuse("gets commands for an accelerator that hold the addresses of a plan already (ethos-u)");
    }
  }
}

class Chooser {
 public:
  Chooser(const Graph& graph, const Plan& plan, std::size_t model, const KernelRequests& requests)
      : graph_(graph),
        plan_(plan),
        model_(model),
        count_(tensors_in_file(graph)),
        is_planned_(planned_tensors(graph)),
        askers_(requests.unknown),
        without_offset_(requests.without_offset.begin(), requests.without_offset.end()),
        why_(count_),
        own_orders_(file_orders(graph)),
        own_timeline_(timeline_of(graph, own_orders_)),
        orders_(orders_of(graph, plan, model)),
        timeline_(timeline_of(graph, orders_)),
        offsets_(count_) {
    while (first_ < plan.tensors.size() && plan.tensors[first_].model != model) ++first_;
  }

  TflmPlan run() {
    for (TensorId t = 0; t < count_; ++t) place(t);
    if (const auto kept = kept_tensor()) {
      expect_all_placed(*kept);
    } else if (!askers_.empty() || head() > own_head()) {
      keep_clear();
      if (head() > own_head()) give_up("the runtime's own plan is smaller");
    }
    TflmPlan result{.head = head(), .own_head = own_head(), .may_ask = askers_.size()};
    result.plan = {offsets_, orders_ == own_orders_ ? Orders{} : orders_};
    for (TensorId t = 0; t < count_; ++t) {
      if (!why_[t].empty()) result.left.push_back({t, why_[t]});
    }
    return result;
  }

 private:
  /// Gives a tensor the plan's offset, or notes the obstacle.
  void place(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    if (!is_planned_[t]) return;
    if (without_offset_.contains(t)) {
      why_[t] = "the runtime takes its offset for that of a body's variable";
      return;
    }
    if (timeline_.tensors[t].empty()) {  // no operator ever reads it
      offsets_[t] = 0;
      return;
    }
    const std::vector<View>& views = plan_.tensors.at(first_ + t).views;
    std::set<Bytes> addresses;
    for (const View& view : views) addresses.insert(plan_.places[view.buffer].offset + view.offset);
    if (addresses.size() != 1) {
      why_[t] = views.empty() ? "the plan has no place for it" : "the plan has several places for it";
    } else if (*addresses.begin() % tflm_alignment != 0) {
      throw UsageError(fmt::format("{} is at {}, TensorFlow Lite Micro expects multiples of {}",
                                   describe(graph_, t), *addresses.begin(), tflm_alignment));
    } else if (*addresses.begin() > std::numeric_limits<std::int32_t>::max()) {
      why_[t] = "its offset has more than 32 bits";
    } else if (runtime_bytes(tensor) != tensor.bytes) {
      why_[t] = fmt::format("the runtime does not pack elements of type {}", name_of(tensor.dtype));
    } else {
      offsets_[t] = *addresses.begin();
    }
  }

  /// A tensor of the plan that is needed after its model has run: it feeds another one, or is not released.
  [[nodiscard]] std::optional<std::size_t> kept_tensor() const {
    std::vector<Position> ends(plan_.models.size(), 0);
    const std::vector<Step>& steps = plan_.clocks[0].steps;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (const auto* const run = std::get_if<Run>(&steps[at]))
        ends[run->model] = static_cast<Position>(at) + 1;
    }
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      const PlannedTensor& it = plan_.tensors[t];
      const bool is_kept = std::any_of(it.views.begin(), it.views.end(),
                                       [&](const View& view) { return view.life.upper > ends[it.model]; });
      if (is_kept && it.tensor.kind != TensorKind::state && !is_constant(it.tensor.kind)) return t;
    }
    return std::nullopt;
  }

  /// A model's kept tensors are safe from other models only if the runtime places nothing by itself.
  void expect_all_placed(std::size_t kept) const {
    const auto refuse = [&](const std::string& culprit, const std::string& why) {
      const PlannedTensor& it = plan_.tensors[kept];
      const std::string name = plan_.models[it.model].name + "." + it.tensor.name;
      const bool is_fed = std::any_of(plan_.feeds.begin(), plan_.feeds.end(),
                                      [&](const Feed& feed) { return feed.output == kept; });
      throw UsageError(fmt::format(
          "TensorFlow Lite Micro would place {}, perhaps over {}, which is kept when its model has run ({}): "
          "{}",
          culprit, base::quoted(name), is_fed ? "--feed" : "unless it is given to --release", why));
    };
    const auto left =
        std::find_if(why_.begin(), why_.end(), [](const std::string& why) { return !why.empty(); });
    const std::string& model = plan_.models[model_].name;
    if (left != why_.end()) {
      refuse(fmt::format("{} of {} by itself", describe(graph_, static_cast<TensorId>(left - why_.begin())),
                         model),
             *left);
    }
    if (const auto hit = scratch_over_kept()) {
      refuse("scratch memory", fmt::format("its kernels ask for {} bytes, which go to {}", hit->bytes,
                                           hit->offset.value_or(0)));
    }
    if (!askers_.empty()) {
      refuse("scratch memory", fmt::format("the kernel of {} of {} may ask for some",
                                           describe(graph_, askers_[0].subgraph, askers_[0].op), model));
    }
  }

  /// Scratch that the runtime places over what other models keep while this one runs.
  [[nodiscard]] std::optional<Request> scratch_over_kept() const {
    Position begin = static_cast<Position>(plan_.clocks[0].steps.size());
    Position end = 0;
    for (std::size_t at = 0; at < plan_.clocks[0].steps.size(); ++at) {
      const auto* const run = std::get_if<Run>(&plan_.clocks[0].steps[at]);
      if (run == nullptr || run->model != model_) continue;
      begin = std::min(begin, static_cast<Position>(at));
      end = static_cast<Position>(at) + 1;
    }
    std::vector<Request> requests = requests_of(graph_, offsets_, orders_, timeline_);
    const std::vector<Bytes> placed = placed_offsets(requests);
    for (const PlannedTensor& it : plan_.tensors) {
      if (it.model == model_) continue;
      for (const View& view : it.views) {
        if (view.life.upper <= begin || view.life.lower >= end) continue;
        const Bytes kept = plan_.places[view.buffer].offset + view.offset;
        for (std::size_t i = 0; i < requests.size(); ++i) {
          if (requests[i].tensor || placed[i] >= kept + it.tensor.bytes ||
              kept >= placed[i] + requests[i].bytes)
            continue;
          requests[i].offset = placed[i];
          return requests[i];
        }
      }
    }
    return std::nullopt;
  }

  /// Scopes that may have scratch.
  [[nodiscard]] Scopes scopes_of_scratch() const {
    Spans spans;
    const auto add = [&](const Spans& some) { spans.insert(spans.end(), some.begin(), some.end()); };
    for (const OperatorAt& it : askers_) add(timeline_.operators.at(it.subgraph).at(it.op));
    for (TensorId t = count_; t < graph_.tensors.size(); ++t) add(timeline_.tensors[t]);
    return Scopes(std::move(spans));
  }

  /// Ensures that tensors left to the runtime go where they would go without a plan.
  void keep_clear() {
    if (orders_ != own_orders_)
      return give_up("operators are in another order, in which scratch that is not known may need more");
    const OfflineOffsets nothing(count_);
    std::vector<Request> requests = requests_of(graph_, nothing, orders_, timeline_);
    std::erase_if(requests, [](const Request& request) { return !request.tensor; });
    for (const Request& request : requests) {
      if (timeline_.tensors[*request.tensor].size() > 1)
        return give_up("a body runs several times, beside scratch that is not known");
    }
    const std::vector<bool> is_unstable = unstable(requests);
    const std::vector<Bytes> own = placed_offsets(requests);
    Bytes own_top = 0;
    std::vector<std::size_t> stay;  // at the runtime's own offsets
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto meets = [&](std::size_t j) {
        return is_unstable[j] && requests[i].span.overlaps(requests[j].span);
      };
      if (is_unstable[i]) {
        leave(*requests[i].tensor,
              "kept while a kernel may ask for scratch memory, or beside what that moves");
        continue;
      }
      own_top = std::max(own_top, own[i] + requests[i].bytes);
      for (std::size_t j = 0; j < requests.size(); ++j) {
        if (!meets(j)) continue;
        stay.push_back(i);
        break;
      }
    }
    keep_where_they_are(requests, own, std::move(stay));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::optional<Bytes> offset = offsets_[*requests[i].tensor];
      if (!is_unstable[i] && *offset + requests[i].bytes > own_top)
        return give_up("the runtime's own plan is smaller");
    }
  }

  /// Requests whose places may depend on scratch.
  [[nodiscard]] std::vector<bool> unstable(const std::vector<Request>& requests) const {
    const Scopes scratch = scopes_of_scratch();
    std::vector<bool> is_unstable(requests.size(), false);
    std::vector<std::size_t> before;  // the unstable ones so far
    for (const std::size_t i : placing_order(requests)) {
      const TensorId tensor = *requests[i].tensor;
      const auto meets = [&](std::size_t j) { return requests[i].span.overlaps(requests[j].span); };
      is_unstable[i] = !offsets_[tensor] || scratch.meet(timeline_.tensors[tensor]) ||
                       std::any_of(before.begin(), before.end(), meets);
      if (is_unstable[i]) before.push_back(i);
    }
    return is_unstable;
  }

  /// Gives requests the runtime's own offsets, and then also those that would overlap them.
  void keep_where_they_are(const std::vector<Request>& requests, const std::vector<Bytes>& own,
                           std::vector<std::size_t> stay) {
    std::vector<bool> stays(requests.size(), false);
    for (const std::size_t i : stay) stays[i] = true;
    while (!stay.empty()) {
      const std::size_t i = stay.back();
      stay.pop_back();
      offsets_[*requests[i].tensor] = own[i];
      for (std::size_t j = 0; j < requests.size(); ++j) {
        const std::optional<Bytes>& other = offsets_[*requests[j].tensor];
        if (stays[j] || !other || !requests[i].span.overlaps(requests[j].span) ||
            own[i] >= *other + requests[j].bytes || *other >= own[i] + requests[i].bytes)
          continue;
        stays[j] = true;
        stay.push_back(j);
      }
    }
  }

  void leave(TensorId tensor, std::string_view why) {
    if (offsets_[tensor]) why_[tensor] = why;
    offsets_[tensor].reset();
  }

  /// No offsets, and the order of the file.
  void give_up(std::string_view why) {
    for (TensorId t = 0; t < count_; ++t) leave(t, why);
    orders_ = own_orders_;
    timeline_ = own_timeline_;
  }

  [[nodiscard]] Bytes head() const { return head_with(offsets_, orders_, timeline_); }
  [[nodiscard]] Bytes own_head() const {
    return head_with(OfflineOffsets(count_), own_orders_, own_timeline_);
  }

  [[nodiscard]] Bytes head_with(const OfflineOffsets& offsets, const Orders& orders,
                                const Timeline& timeline) const {
    return head_of(requests_of(graph_, offsets, orders, timeline));
  }

  const Graph& graph_;
  const Plan& plan_;
  std::size_t model_;
  std::size_t count_;
  std::vector<bool> is_planned_;
  std::vector<OperatorAt> askers_;  // operators that may ask for scratch that is not known
  std::set<TensorId> without_offset_;
  std::size_t first_ = 0;  // index of the model's first tensor in the plan
  std::vector<std::string> why_;
  Orders own_orders_;
  Timeline own_timeline_;
  Orders orders_;
  Timeline timeline_;
  OfflineOffsets offsets_;
};

}  // namespace
}  // namespace stowage::tflm

namespace stowage {

TflmPlan plan_for_tflm(const Graph& graph, const Plan& plan, std::size_t model,
                       const KernelRequests& requests) {
  tflm::expect_followable(graph, plan);
  return tflm::Chooser(graph, plan, model, requests).run();
}

Bytes tflm_head(const Graph& graph, const OfflineOffsets& offsets) {
  const tflm::Orders orders = tflm::file_orders(graph);
  return tflm::head_of(tflm::requests_of(graph, offsets, orders, tflm::timeline_of(graph, orders)));
}

Bytes tflm_head_bound(const Graph& graph, const OfflinePlan& plan) {
  const tflm::Orders orders = plan.orders.empty() ? tflm::file_orders(graph) : plan.orders;
  const OfflineOffsets nothing(plan.offsets.size());
  return tflm::most_kept(tflm::requests_of(graph, nothing, orders, tflm::timeline_of(graph, orders)));
}

std::vector<Bytes> tflm_buffers(const Graph& graph, const OfflineOffsets& offsets) {
  const tflm::Orders orders = tflm::file_orders(graph);
  return tflm::placed_offsets(tflm::requests_of(graph, offsets, orders, tflm::timeline_of(graph, orders)));
}

}  // namespace stowage
