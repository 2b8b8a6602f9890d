#include "flat_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <variant>

namespace stowage::testing {
namespace {

using Values = std::vector<float>;

Values computed(const std::string& type, const std::vector<Values>& operands) {
  Values result;
  if (type == "Concat") {
    for (const Values& operand : operands) result.insert(result.end(), operand.begin(), operand.end());
    return result;
  }
  for (std::size_t i = 0; i < operands[0].size(); ++i) {
    const float x = operands[0][i];
    if (type == "Relu") {
      result.push_back(std::max(x, 0.0F));
    } else if (type == "Neg") {
      result.push_back(-x);
    } else if (type == "Add") {
      result.push_back(x + operands[1][i]);
    } else if (type == "Mul") {
      result.push_back(x * operands[1][i]);
    } else {
      throw std::invalid_argument("no such operator: " + type);
    }
  }
  return result;
}

class FlatRun {
 public:
  FlatRun(const std::vector<Network>& networks, const Plan& plan, std::uint64_t seed)
      : networks_(networks),
        plan_(plan),
        random_(seed),
        own_(plan.tensors.size()),
        outside_(plan.tensors.size()),
        steps_left_(networks.size(), 0) {
    std::size_t base = 0;
    for (const Network& network : networks) {
      bases_.push_back(base);
      base += network.graph().tensors.size();
    }
    for (const PlannedMemory& memory : plan.memories)
      memories_.emplace_back(static_cast<std::size_t>(memory.peak), std::byte{0xA5});
    for (const Clock& clock : plan.clocks) {
      for (const Step& step : clock.steps) {
        if (const auto* const run = std::get_if<Run>(&step)) ++steps_left_[run->model];
        if (const auto* const pause = std::get_if<Pause>(&step)) {
          for (const std::size_t model : models_of(pause->clock)) runs_at_pauses_[model] = true;
        }
      }
    }
    steps_of_ = steps_left_;
  }

  std::vector<std::string> run() {
    run_clock_and_others({0});
    for (std::size_t m = 0; m < networks_.size(); ++m) {
      if (!runs_at_pauses_[m]) read_outputs(m, false);
    }
    return std::move(lost_);
  }

 private:
  /// Clocks that run at the same time: one step of one of them after the other, forks within them as wholes.
  void run_clock_and_others(std::vector<std::size_t> clocks) {
    std::vector<std::size_t> next(plan_.clocks.size(), 0);
    while (!clocks.empty()) {
      const std::size_t clock = clocks[random_() % clocks.size()];
      const std::vector<Step>& steps = plan_.clocks[clock].steps;
      if (next[clock] == steps.size()) {
        std::erase(clocks, clock);
        continue;
      }
      const Step& step = steps[next[clock]++];
      if (const auto* const fork = std::get_if<Fork>(&step)) {
        run_clock_and_others(fork->clocks);
      } else if (const auto* const pause = std::get_if<Pause>(&step)) {
        for (auto times = random_() % 3; times > 0; --times) run_at_pause(pause->clock);
      } else {
        take(std::get<Run>(step));
      }
    }
  }

  /// The models of a clock and of those that it runs, with or without those that run at pauses of it.
  std::set<std::size_t> models_of(std::size_t clock, bool with_pauses = true) {
    std::set<std::size_t> models;
    const auto add = [&](std::size_t branch) { models.merge(models_of(branch, with_pauses)); };
    for (const Step& step : plan_.clocks[clock].steps) {
      if (const auto* const run = std::get_if<Run>(&step)) models.insert(run->model);
      const auto* const pause = std::get_if<Pause>(&step);
      if (pause != nullptr && with_pauses) add(pause->clock);
      if (const auto* const fork = std::get_if<Fork>(&step)) std::ranges::for_each(fork->clocks, add);
    }
    return models;
  }

  void run_at_pause(std::size_t clock) {
    for (const std::size_t model : models_of(clock)) {
      has_begun_.erase(model);
      steps_left_[model] = steps_of_[model];
    }
    run_clock_and_others({clock});
    for (const std::size_t model : models_of(clock, false)) read_outputs(model, false);
  }

  void take(const Run& run) {
    if (!has_begun_.contains(run.model)) give_inputs(run.model);
    has_begun_[run.model] = true;
    const Operator& op = networks_[run.model].graph().subgraphs[0].operators.at(run.path.at(1));
    std::vector<Values> planned;
    std::vector<Values> own;
    for (const auto& input : op.inputs) {
      planned.push_back(read(run.model, *input));
      own.push_back(own_[bases_[run.model] + *input]);
    }
    write(run.model, *op.outputs[0], computed(op.type, planned));
    own_[bases_[run.model] + *op.outputs[0]] = computed(op.type, own);
    if (--steps_left_[run.model] == 0) read_outputs(run.model, true);
  }

  void give_inputs(std::size_t model) {
    const Graph& graph = networks_[model].graph();
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].kind != TensorKind::weight) continue;
      const auto data = networks_[model].input.constants.of(t);
      Values values(data.size() / sizeof(float));
      std::memcpy(values.data(), data.data(), data.size());
      own_[bases_[model] + t] = values;
      outside_[bases_[model] + t] = values;
    }
    for (const TensorId input : graph.subgraphs[0].inputs) {
      const std::size_t tensor = bases_[model] + input;
      const auto feed = std::ranges::find(plan_.feeds, tensor, &Feed::input);
      if (feed != plan_.feeds.end()) {  // its bytes are there
        own_[tensor] = own_[feed->output];
        if (plan_.tensors[tensor].views.empty()) outside_[tensor] = outside_[feed->output];
        continue;
      }
      Values values(static_cast<std::size_t>(graph.tensors[input].bytes) / sizeof(float));
      for (float& value : values) value = static_cast<float>(random_() % 2001) - 1000;
      own_[tensor] = values;
      write(model, input, values);
    }
  }

  [[nodiscard]] std::byte* address_of(std::size_t tensor) {
    const std::vector<View>& views = plan_.tensors[tensor].views;
    if (views.empty()) return nullptr;
    if (views.size() > 1) throw std::invalid_argument("a tensor with several views");
    const Place& place = plan_.places[views[0].buffer];
    return memories_[place.memory].data() + place.offset + views[0].offset;
  }

  Values read(std::size_t model, TensorId t) {
    const std::size_t tensor = bases_[model] + t;
    const std::byte* const address = address_of(tensor);
    if (address == nullptr) return outside_[tensor];
    Values values(static_cast<std::size_t>(plan_.tensors[tensor].tensor.bytes) / sizeof(float));
    std::memcpy(values.data(), address, values.size() * sizeof(float));
    return values;
  }

  void write(std::size_t model, TensorId t, const Values& values) {
    std::byte* const address = address_of(bases_[model] + t);
    if (address == nullptr) {
      outside_[bases_[model] + t] = values;
    } else {
      std::memcpy(address, values.data(), values.size() * sizeof(float));
    }
  }

  void read_outputs(std::size_t model, bool are_released) {
    const Graph& graph = networks_[model].graph();
    for (const TensorId output : graph.subgraphs[0].outputs) {
      const std::size_t tensor = bases_[model] + output;
      const bool is_released = std::ranges::find(plan_.released, tensor) != plan_.released.end();
      if (is_released == are_released && read(model, output) != own_[tensor])
        lost_.push_back(plan_.models[model].name + "." + graph.tensors[output].name);
    }
  }

  const std::vector<Network>& networks_;
  const Plan& plan_;
  std::mt19937_64 random_;
  std::vector<std::size_t> bases_{};  ///< Per model: index of its first tensor in the plan.
  std::vector<std::vector<std::byte>> memories_{};
  std::vector<Values> own_;      ///< Per tensor of the plan: what it should be.
  std::vector<Values> outside_;  ///< What has no place in the plan.
  std::vector<std::size_t> steps_left_;
  std::vector<std::size_t> steps_of_{};
  std::map<std::size_t, bool> has_begun_{};
  std::map<std::size_t, bool> runs_at_pauses_{};
  std::vector<std::string> lost_{};
};

}  // namespace

std::vector<std::string> lost_outputs(const std::vector<Network>& networks, const Plan& plan,
                                      std::uint64_t seed) {
  return FlatRun(networks, plan, seed).run();
}

}  // namespace stowage::testing
