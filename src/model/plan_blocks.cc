// A plan names operators and tensors of its network, and blocks of them. Checker and runner take a plan in which
// each block is an operator or a tensor of its own, for the network that `split` makes.

#include "model/plan_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::model {
namespace {

using Key = std::tuple<std::size_t, std::size_t, std::int64_t, std::int64_t>;

Key key_of(std::size_t of, const RowRange& block) { return {of, block.axis, block.begin, block.end}; }

std::map<Key, std::size_t> numbers_of(const std::vector<BlockOf>& all) {
  std::map<Key, std::size_t> numbers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].block) numbers.emplace(key_of(all[i].of, *all[i].block), i);
  }
  return numbers;
}

/// Numbers of the operators that stand for one of the network.
std::multimap<std::size_t, std::size_t> operators_for(const SplitNetwork& network) {
  std::multimap<std::size_t, std::size_t> all;
  for (std::size_t o = 0; o < network.operators.size(); ++o) all.emplace(network.operators[o].of, o);
  return all;
}

class Renaming {
 public:
  Renaming(const Plan& plan, std::size_t model, const SplitNetwork& network,
           std::span<const std::size_t> places)
      : model_(model),
        network_(network),
        places_(places.begin(), places.end()),
        blocks_(numbers_of(network.operators)),
        blocks_of_tensors_(numbers_of(network.tensors)),
        operators_(operators_for(network)),
        result_(plan) {}

  Plan run() {
    add_tensors();
    for_each_step([&](Step& step) {
      auto* const run = std::get_if<Run>(&step);
      if (run != nullptr && run->model == model_) rename(*run);
    });
    expect_leaving();
    move_views();
    for_each_step([&](Step& step) {
      if (auto* const copy = std::get_if<Copy>(&step)) rename(copy->tensor, copy->block);
      if (auto* const arrive = std::get_if<Arrive>(&step)) rename(arrive->tensor, arrive->block);
      if (auto* const leave = std::get_if<Leave>(&step)) rename(leave->tensor, leave->block);
    });
    if (result_.streaming) rename(*result_.streaming);
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> number_of(std::size_t op,
                                                     const std::optional<RowRange>& block) const {
    if (block) {
      const auto found = blocks_.find(key_of(op, *block));
      return found == blocks_.end() ? std::nullopt : std::optional(found->second);
    }
    const auto found = operators_.find(op);
    return found == operators_.end() ? std::nullopt : std::optional(found->second);
  }

  /// An operator that does not exist keeps a number that does not exist. The path of a step of a body begins with the
  /// operator that runs the body.
  void rename(Run& run) const {
    if (run.path.size() < 2 || run.path[0] != 0) return;
    run.path[1] = number_of(run.path[1], run.block).value_or(network_.operators.size() + run.path[1]);
    run.block.reset();
  }

  /// A block that does not exist becomes a tensor that does not exist.
  void rename(std::size_t& tensor, Rare<RowRange>& block) const {
    const auto place = std::ranges::find(places_, tensor);
    if (!block || place == places_.end()) return;
    const auto t = static_cast<std::size_t>(place - places_.begin());
    const auto number = blocks_of_tensors_.find(key_of(t, *block));
    tensor = number == blocks_of_tensors_.end() ? result_.tensors.size()
                                                : first_block_ + number->second - places_.size();
    block.reset();
  }

  /// Blocks of an output lie anywhere, so the caller takes each of them: all of them together are in no one place.
  void expect_leaving() {
    std::set<std::size_t> leaving;
    for_each_step([&](Step& step) {
      const auto* const leave = std::get_if<Leave>(&step);
      if (leave != nullptr && leave->block) leaving.insert(leave->tensor);
    });
    for (const auto& [t, blocks] : network_.blocks) {
      if (network_.graph.tensors[t].kind == TensorKind::output && !leaving.contains(places_[t]))
        throw Error(describe(network_.graph, t), "is made in blocks, but does not leave block by block");
    }
  }

  template <typename Visit>
  void for_each_step(const Visit& visit) {
    for (Clock& clock : result_.clocks) std::ranges::for_each(clock.steps, visit);
  }

  /// Each block has an entry behind the tensors of its model, also those that are constant or stored elsewhere.
  void add_tensors() {
    first_block_ = places_.size();
    for (std::size_t t = 0; t < result_.tensors.size(); ++t) {
      if (result_.tensors[t].model == model_) first_block_ = t + 1;
    }
    const std::size_t count = network_.tensors.size() - places_.size();
    std::vector<PlannedTensor> blocks;
    for (std::size_t b = 0; b < count; ++b)
      blocks.push_back({.model = model_, .tensor = network_.graph.tensors[places_.size() + b]});
    const auto at = result_.tensors.begin() + static_cast<std::ptrdiff_t>(first_block_);
    result_.tensors.insert(at, std::make_move_iterator(blocks.begin()),
                           std::make_move_iterator(blocks.end()));
    const auto shift = [&](std::size_t& tensor) { tensor += tensor >= first_block_ ? count : 0; };
    std::ranges::for_each(places_, shift);
    for_each_step([&](Step& step) {
      if (auto* const copy = std::get_if<Copy>(&step)) shift(copy->tensor);
      if (auto* const arrive = std::get_if<Arrive>(&step)) shift(arrive->tensor);
      if (auto* const leave = std::get_if<Leave>(&step)) shift(leave->tensor);
    });
    for (std::vector<Feed>* const feeds : {&result_.feeds, &result_.states}) {
      for (Feed& feed : *feeds) {
        shift(feed.output);
        shift(feed.input);
      }
    }
    std::ranges::for_each(result_.released, shift);
  }

  void move_views() {
    const std::size_t own = places_.size();
    const auto& numbers = blocks_of_tensors_;
    for (TensorId t = 0; t < own; ++t) {
      PlannedTensor& planned = result_.tensors[places_[t]];
      const bool is_split = network_.blocks.contains(t);
      for (const View& view : planned.views) {
        if (!view.block && !is_split) continue;
        const auto number = view.block ? numbers.find(key_of(t, *view.block)) : numbers.end();
        if (number == numbers.end() || !is_split)
          throw Error(describe(network_.graph, t), "has a view that is not of a block that a step writes");
        auto& views = result_.tensors[first_block_ + number->second - own].views;
        views.push_back(view);
        views.back().block.reset();
      }
      if (is_split) planned.views.clear();
    }
  }

  void rename(Streaming& streaming) const {
    for (StreamRegion& region : streaming.regions) {
      std::vector<std::size_t> all;
      for (const std::size_t op : region.operators) {
        const auto [begin, end] = operators_.equal_range(op);
        for (auto it = begin; it != end; ++it) all.push_back(it->second);
        if (begin == end) all.push_back(network_.operators.size() + op);
      }
      region.operators = std::move(all);
    }
    if (!streaming.affine) return;
    for (TimedSteps& steps : streaming.affine->operators) {
      if (steps.op) steps.op = number_of(*steps.op, steps.block);
      steps.block.reset();
    }
  }

  std::size_t model_;
  const SplitNetwork& network_;
  std::vector<std::size_t> places_;
  std::map<Key, std::size_t> blocks_;
  std::map<Key, std::size_t> blocks_of_tensors_;
  std::size_t first_block_ = 0;  ///< Of the plan's tensors.
  std::multimap<std::size_t, std::size_t> operators_;
  Plan result_;
};

}  // namespace

bool has_blocks(const Plan& plan) {
  for (std::size_t model = 0; model < plan.models.size(); ++model) {
    if (has_blocks(plan, model)) return true;
  }
  return false;
}

bool has_blocks(const Plan& plan, std::size_t model) {
  const auto is_of_model = [&](std::size_t tensor) {
    return tensor < plan.tensors.size() && plan.tensors[tensor].model == model;
  };
  const auto runs_block = [&](const Step& step) {
    if (const auto* const arrive = std::get_if<Arrive>(&step))
      return arrive->block && is_of_model(arrive->tensor);
    if (const auto* const leave = std::get_if<Leave>(&step))
      return leave->block && is_of_model(leave->tensor);
    const auto* const run = std::get_if<Run>(&step);
    return run != nullptr && run->model == model && run->block;
  };
  return std::ranges::any_of(
             plan.clocks, [&](const Clock& clock) { return std::ranges::any_of(clock.steps, runs_block); }) ||
         std::ranges::any_of(plan.tensors, [&](const PlannedTensor& tensor) {
           return tensor.model == model &&
                  std::ranges::any_of(tensor.views, [](const View& view) { return view.block.has_value(); });
         });
}

namespace {

/// Blocks that follow each other. `refuse` gets why they do not.
template <typename Refuse>
Blocks blocks_of(const std::set<Key>& keys, const Refuse& refuse) {
  Blocks blocks{.axis = std::get<1>(*keys.begin()), .bounds = {0}};
  for (const auto& [of, axis, begin, end] : keys) {
    if (axis != blocks.axis) refuse("along two axes");
    if (begin != blocks.bounds.back() || end <= begin) refuse("they overlap or leave rows out");
    blocks.bounds.push_back(end);
  }
  return blocks;
}

}  // namespace

Splits splits_of(const Plan& plan, std::size_t model, const Graph& graph) {
  std::map<std::size_t, std::set<Key>> blocks;
  std::set<std::size_t> wholes;
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const run = std::get_if<Run>(&step);
      if (run == nullptr || run->model != model || run->path.size() != 2 || run->path[0] != 0) continue;
      if (run->block) blocks[run->path[1]].insert(key_of(0, *run->block));
      if (!run->block) wholes.insert(run->path[1]);
    }
  }
  Splits splits;
  for (const auto& [op, keys] : blocks) {
    if (op >= graph.subgraphs[0].operators.size())
      throw Error(graph.name, fmt::format("has no operator {} that could run in blocks", op));
    const auto refuse = [&, number = op](const char* why) {
      throw Error(describe(graph, 0, number), std::string("is split into blocks, but ") + why);
    };
    if (wholes.contains(op)) refuse("a step runs it without");
    splits[op] = blocks_of(keys, refuse);
  }
  return splits;
}

InputBlocks input_blocks_of(const Plan& plan, std::span<const std::size_t> places) {
  std::map<std::size_t, std::set<Key>> blocks;
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const arrive = std::get_if<Arrive>(&step);
      if (arrive != nullptr && arrive->block) blocks[arrive->tensor].insert(key_of(0, *arrive->block));
    }
  }
  InputBlocks inputs;
  for (const auto& [tensor, keys] : blocks) {
    const auto place = std::ranges::find(places, tensor);
    if (place == places.end()) continue;
    inputs[static_cast<TensorId>(place - places.begin())] =
        blocks_of(keys, [&, name = plan.tensors[tensor].tensor.name](const char* why) {
          throw Error(base::quoted(name), std::string("arrives in blocks, but ") + why);
        });
  }
  return inputs;
}

Plan plan_of_blocks(const Plan& plan, std::size_t model, const SplitNetwork& network,
                    std::span<const std::size_t> places) {
  return Renaming(plan, model, network, places).run();
}

}  // namespace stowage::model
