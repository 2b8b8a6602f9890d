#include "random_networks.h"

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <utility>

#include "share/timeline.h"

namespace stowage::testing {
namespace {

Tensor vector_of_reals(const std::string& name, std::int64_t count, TensorKind kind = TensorKind::temporary) {
  return {.name = name, .kind = kind, .dtype = DType::float32, .shape = Shape{count}, .bytes = 4 * count};
}

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

Network random_network(const std::string& name, std::size_t operators, Random& random) {
  NetworkMaker maker(name);
  std::vector<TensorId> values;
  for (std::size_t i = 0; i < 1 + below(random, 2); ++i)
    values.push_back(maker.input(std::int64_t{4} << below(random, 3)));
  std::map<TensorId, bool> is_read;
  for (std::size_t i = 0; i < 1 + below(random, operators); ++i) {
    const TensorId x = values[below(random, values.size())];
    const TensorId y = values[below(random, values.size())];
    is_read[x] = true;
    if (below(random, 3) == 0) {
      is_read[y] = true;
      values.push_back(maker.apply("Concat", {x, y}));
    } else if (maker.count_of(x) == maker.count_of(y) && below(random, 2) == 0) {
      is_read[y] = true;
      values.push_back(maker.apply("Add", {x, y}));
    } else {
      values.push_back(maker.apply(below(random, 2) == 0 ? "Relu" : "Neg", {x}));
    }
  }
  for (const TensorId value : values) {
    const bool is_input = maker.graph().tensors[value].kind == TensorKind::input;
    if (!is_input && (!is_read[value] || below(random, 4) == 0)) maker.output(value);
  }
  return maker.take();
}

/// Models [begin, end) of an order, together.
std::string random_expression(std::span<const std::string> names, bool has_pauses, Random& random) {
  if (names.size() == 1) return names[0];
  const std::size_t cut = 1 + below(random, names.size() - 1);
  const std::string first = random_expression(names.first(cut), has_pauses, random);
  const std::string second = random_expression(names.subspan(cut), has_pauses, random);
  if (has_pauses && first.find('|') == std::string::npos && below(random, 2) == 0)
    return "(" + first + ")^" + std::to_string(1 + below(random, 6)) + "(" + second + ")";
  return "(" + first + (below(random, 2) == 0 ? ");(" : ")|(") + second + ")";
}

}  // namespace

NetworkMaker::NetworkMaker(const std::string& name) {
  graph_.name = name;
  graph_.subgraphs = {{.name = "main"}};
  network_.details = {{}};
  network_.input.info = {name, name + ".onnx", ModelFormat::onnx};
}

TensorId NetworkMaker::input(std::int64_t count) {
  graph_.tensors.push_back(
      vector_of_reals("in" + std::to_string(graph_.tensors.size()), count, TensorKind::input));
  graph_.subgraphs[0].inputs.push_back(graph_.tensors.size() - 1);
  return graph_.tensors.size() - 1;
}

TensorId NetworkMaker::weight(const std::vector<float>& values) {
  graph_.tensors.push_back(vector_of_reals("w" + std::to_string(graph_.tensors.size()),
                                           static_cast<std::int64_t>(values.size()), TensorKind::weight));
  const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
  network_.input.constants.set(graph_.tensors.size() - 1,
                               std::vector<std::byte>(bytes, bytes + values.size() * sizeof(float)));
  return graph_.tensors.size() - 1;
}

TensorId NetworkMaker::apply(const std::string& type, const std::vector<TensorId>& operands) {
  Operator op{.name = "op" + std::to_string(graph_.tensors.size()), .type = type};
  OperatorDetails details{.version = 13};
  std::int64_t count = count_of(operands[0]);
  if (type == "Concat") {
    details.attributes.set("axis", std::int64_t{0});
    count = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      op.copies.push_back({i, 0, 0, 4 * count, 4 * count_of(operands[i])});
      count += count_of(operands[i]);
    }
  }
  graph_.tensors.push_back(vector_of_reals("t" + std::to_string(graph_.tensors.size()), count));
  for (const TensorId operand : operands) op.inputs.emplace_back(operand);
  op.outputs.emplace_back(graph_.tensors.size() - 1);
  graph_.subgraphs[0].operators.push_back(std::move(op));
  network_.details[0].push_back(std::move(details));
  return graph_.tensors.size() - 1;
}

void NetworkMaker::output(TensorId tensor) {
  graph_.subgraphs[0].outputs.push_back(tensor);
  graph_.tensors[tensor].kind = TensorKind::output;
}

Network NetworkMaker::take() {
  network_.quantizations.resize(graph_.tensors.size());
  network_.input.content = graph_;
  validate(graph_);
  return std::move(network_);
}

Scenario random_scenario(std::uint64_t seed, std::size_t operators, bool has_pauses) {
  Random random(seed);
  Scenario scenario;
  std::vector<std::string> names;
  for (std::size_t m = 0; m < 2 + below(random, 4); ++m) {
    names.push_back("m" + std::to_string(m));
    scenario.networks.push_back(random_network(names.back(), operators, random));
  }
  std::vector<std::string> order = names;
  std::shuffle(order.begin(), order.end(), random);
  PlanOptions& options = scenario.options;
  options.run = random_expression(order, has_pauses, random);
  options.alias = static_cast<Alias>(below(random, 3));
  options.io = static_cast<Io>(below(random, 2));
  if (below(random, 2) == 0) options.alignment = 16;
  const auto all = strategies();
  options.solve.strategy = all[below(random, all.size())].name;
  if (options.solve.strategy == "levels") options.solve.strategy = "auto";
  const share::Timeline timeline(share::parse_run_expression(options.run, names),
                                 std::vector<Clock>(names.size(), Clock{{Run{}}}));
  std::map<std::pair<std::size_t, TensorId>, bool> is_fed;
  for (std::size_t attempt = 0; attempt < 40; ++attempt) {
    const std::size_t from = below(random, names.size());
    const std::size_t to = below(random, names.size());
    if (!timeline.runs_before(from, to)) continue;
    const Graph& source = scenario.networks[from].graph();
    const Graph& target = scenario.networks[to].graph();
    const TensorId output = source.subgraphs[0].outputs[below(random, source.subgraphs[0].outputs.size())];
    const TensorId input = target.subgraphs[0].inputs[below(random, target.subgraphs[0].inputs.size())];
    if (source.tensors[output].bytes != target.tensors[input].bytes || is_fed[{to, input}]) continue;
    is_fed[{to, input}] = true;
    options.feeds.push_back(
        {names[from] + "." + source.tensors[output].name, names[to] + "." + target.tensors[input].name});
  }
  for (std::size_t m = 0; m < names.size(); ++m) {
    const Graph& graph = scenario.networks[m].graph();
    for (const TensorId output : graph.subgraphs[0].outputs) {
      if (below(random, 3) == 0) options.released.push_back(names[m] + "." + graph.tensors[output].name);
    }
  }
  return scenario;
}

}  // namespace stowage::testing
