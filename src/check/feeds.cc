#include "check/feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "check/clocks.h"
#include "check/names.h"

namespace stowage::check {
namespace {

/// The places of the tensor: buffers and offsets.
std::set<std::pair<std::size_t, Bytes>> places_of(const PlannedTensor& tensor) {
  std::set<std::pair<std::size_t, Bytes>> places;
  for (const View& view : tensor.views) places.emplace(view.buffer, view.offset);
  return places;
}

/// Models agree on the place of a byte only if the tensor is whole.
void check_is_whole(const Plan& plan, std::size_t tensor, Faults& faults) {
  const std::vector<View>& views = plan.tensors[tensor].views;
  if (std::ranges::none_of(views, [](const View& view) { return view.ring || view.rows || view.block; }))
    return;
  faults.push_back(
      {FaultKind::accounting, fmt::format("{} is passed from model to model, but is stored in rows or blocks",
                                          name_with_model(plan, tensor))});
}

/// The caller neither hands over nor takes rows of what models pass to each other.
void check_passages(const Plan& plan, Faults& faults) {
  std::unordered_set<std::size_t> fed;
  std::unordered_set<std::size_t> feeding;
  for (const Feed& feed : plan.feeds) {
    fed.insert(feed.input);
    feeding.insert(feed.output);
  }
  for (const Feed& state : plan.states) {
    fed.insert(state.input);
    feeding.insert(state.output);
  }
  const auto fault = [&](std::size_t tensor, const char* how) {
    faults.push_back({FaultKind::order, fmt::format("{} {}", name_with_model(plan, tensor), how)});
  };
  std::unordered_set<std::size_t> seen;
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const arrive = std::get_if<Arrive>(&step);
      const auto* const leave = std::get_if<Leave>(&step);
      if (arrive != nullptr && fed.contains(arrive->tensor) && seen.insert(arrive->tensor).second)
        fault(arrive->tensor, "arrives, though another model feeds it or leaves its state there");
      if (leave != nullptr && feeding.contains(leave->tensor) && seen.insert(leave->tensor).second)
        fault(leave->tensor, "leaves, though it feeds another model or is state");
    }
  }
}

void check_places_of(const Plan& plan, const Feed& feed, Faults& faults) {
  if (plan.tensors[feed.input].tensor.bytes == 0) return;
  for (const std::size_t tensor : {feed.output, feed.input}) check_is_whole(plan, tensor, faults);
  const auto output = places_of(plan.tensors[feed.output]);
  const auto input = places_of(plan.tensors[feed.input]);
  if (output == input && output.size() <= 1) return;
  faults.push_back({FaultKind::accounting,
                    fmt::format("{} is fed with {}, but they are not in one place",
                                name_with_model(plan, feed.input), name_with_model(plan, feed.output))});
}

}  // namespace

void check_pair_form(const Plan& plan, const Feed& feed, const char* how, MayJoin may_join, Faults& faults) {
  if (feed.output >= plan.tensors.size() || feed.input >= plan.tensors.size()) {
    faults.push_back({FaultKind::format, fmt::format("tensor {} is {} tensor {}, there are {}", feed.input,
                                                     how, feed.output, plan.tensors.size())});
    return;
  }
  const PlannedTensor& output = plan.tensors[feed.output];
  const PlannedTensor& input = plan.tensors[feed.input];
  const auto fault = [&](const std::string& what) {
    faults.push_back({FaultKind::format, fmt::format("{} is {} {}, {}", name_with_model(plan, feed.input),
                                                     how, name_with_model(plan, feed.output), what)});
  };
  if (!may_join(output.tensor, input.tensor))
    fault(fmt::format("but has {} bytes, not {}", input.tensor.bytes, output.tensor.bytes));
  if (output.tensor.dtype != input.tensor.dtype) {
    fault(fmt::format("but has elements of type {}, not {}", stowage::name_of(input.tensor.dtype),
                      stowage::name_of(output.tensor.dtype)));
  }
}

void check_feeds_form(const Plan& plan, Faults& faults) {
  std::unordered_set<std::size_t> released;
  for (const std::size_t tensor : plan.released) {
    if (tensor >= plan.tensors.size()) {
      faults.push_back({FaultKind::format,
                        fmt::format("tensor {} is released, there are {}", tensor, plan.tensors.size())});
    } else if (!released.insert(tensor).second) {
      faults.push_back({FaultKind::format, name_with_model(plan, tensor) + " is released twice"});
    }
  }
  std::unordered_set<std::size_t> fed;
  for (const Feed& feed : plan.feeds) {
    const std::size_t before = faults.size();
    const auto are_equal = [](const Tensor& a, const Tensor& b) { return a.bytes == b.bytes; };
    check_pair_form(plan, feed, "fed with", are_equal, faults);
    if (faults.size() != before) return;
    if (plan.tensors[feed.output].model == plan.tensors[feed.input].model)
      faults.push_back({FaultKind::format,
                        fmt::format("{} is fed with {}, which is of the same model",
                                    name_with_model(plan, feed.input), name_with_model(plan, feed.output))});
    if (!fed.insert(feed.input).second)
      faults.push_back({FaultKind::format, name_with_model(plan, feed.input) + " is fed twice"});
  }
  if (!faults.empty() || feeds_from_their_sources(plan).size() == plan.feeds.size()) return;
  std::unordered_set<std::size_t> in_order;
  for (const Feed& feed : feeds_from_their_sources(plan)) in_order.insert(feed.input);
  for (const Feed& feed : plan.feeds) {
    if (!in_order.contains(feed.input))
      faults.push_back({FaultKind::format, name_with_model(plan, feed.input) + " is fed in a circle"});
  }
}

std::vector<Feed> feeds_from_their_sources(const Plan& plan) {
  std::unordered_map<std::size_t, std::vector<std::size_t>> fed_with;
  std::unordered_set<std::size_t> inputs;
  for (const Feed& feed : plan.feeds) {
    fed_with[feed.output].push_back(feed.input);
    inputs.insert(feed.input);
  }
  std::vector<Feed> ordered;
  const auto add_fed_with = [&](std::size_t output) {
    const auto it = fed_with.find(output);
    if (it == fed_with.end()) return;
    for (const std::size_t input : it->second) ordered.push_back({output, input});
    fed_with.erase(it);
  };
  for (const Feed& feed : plan.feeds) {
    if (!inputs.contains(feed.output)) add_fed_with(feed.output);
  }
  for (std::size_t i = 0; i < ordered.size(); ++i) add_fed_with(ordered[i].input);
  return ordered;
}

Faults check_feeds(const Plan& plan) {
  Faults faults;
  if (plan.feeds.empty() && plan.states.empty()) return faults;
  check_passages(plan, faults);
  const model::ClockTree tree(plan.clocks);
  const auto spans = spans_of(plan);
  // The last model with steps that has each tensor; a model without steps may pass it on at any time.
  std::unordered_map<std::size_t, std::size_t> had_by;
  for (const Feed& feed : feeds_from_their_sources(plan)) {
    const std::size_t writer = plan.tensors[feed.output].model;
    const std::size_t reader = plan.tensors[feed.input].model;
    if (spans[writer]) had_by[feed.output] = writer;
    const auto before = had_by.find(feed.output);
    if (before != had_by.end()) {
      if (spans[reader] &&
          tree.pausing_clock(spans[reader]->clock) != tree.pausing_clock(spans[before->second]->clock)) {
        faults.push_back(
            {FaultKind::order,
             fmt::format("{} is fed with {}, but one of {} and {} runs at pauses without the other",
                         name_with_model(plan, feed.input), name_with_model(plan, feed.output),
                         name_of_model(plan, reader), name_of_model(plan, before->second))});
      } else if (spans[reader] && !tree.is_before(*spans[before->second], *spans[reader])) {
        faults.push_back({FaultKind::order,
                          fmt::format("{} is fed with {}, but {} does not run after {}",
                                      name_with_model(plan, feed.input), name_with_model(plan, feed.output),
                                      name_of_model(plan, reader), name_of_model(plan, before->second))});
      }
      had_by.emplace(feed.input, before->second);
    }
    check_places_of(plan, feed, faults);
  }
  return faults;
}

}  // namespace stowage::check
