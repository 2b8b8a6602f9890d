#include "open_interpret.h"

#include <algorithm>

namespace stowage::campaign {
namespace {

constexpr std::int64_t most_rounds = 5;

OpenValue filled(Elements elements, const Shape& shape, World& world) {
  OpenValue value{.elements = elements, .shape = shape};
  if (elements_of(shape) > most_elements) throw Misfit("too large");
  for (std::int64_t i = 0; i < elements_of(shape); ++i) value.names.push_back(world.fresh());
  return value;
}

void set(const std::string& name, const OpenValue& value, OpenValues& values, World& world) {
  if (name.empty()) return;
  world.record(name, value.shape);
  values[name] = value;
}

bool is_covered(const Shape& one, const Shape& other) {
  if (one.size() != other.size()) return false;
  for (std::size_t a = 0; a < one.size(); ++a)
    if (one[a] > other[a]) return false;
  return true;
}

void run_branch(const OpenNet& net, const OpenNode& node, OpenValues& values, World& world) {
  // Both, so that all tensors have been seen.
  for (const OpenGraph& body : node.bodies) {
    for (std::size_t k = 0; k < body.inputs.size(); ++k)
      set(body.inputs[k].name, find_value(net, node.inputs[1 + k], values, world), values, world);
    run_nodes(net, body.nodes, values, world);
  }
  const std::size_t chosen = chosen_body(node, world);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const OpenValue result = find_value(net, node.bodies[chosen].outputs[k], values, world);
    const OpenValue& other = find_value(net, node.bodies[1 - chosen].outputs[k], values, world);
    if (result.shape.size() != other.shape.size()) throw Misfit("branches of different ranks");
    if (world.is_largest() && !is_covered(other.shape, result.shape)) throw Misfit("no branch is larger");
    set(node.outputs[k], result, values, world);
  }
}

void run_loop(const OpenNet& net, const OpenNode& node, OpenValues& values, World& world) {
  const OpenGraph& body = node.bodies[0];
  const auto carried = static_cast<std::size_t>(node.numbers[0]);
  std::vector<OpenValue> state;
  for (std::size_t k = 0; k < carried; ++k)
    state.push_back(find_value(net, node.inputs[1 + k], values, world));
  std::vector<std::vector<OpenValue>> collected(node.outputs.size() - carried);
  const std::int64_t rounds = rounds_of(net, node, values, world);
  for (std::int64_t round = 0; round < rounds; ++round) {
    world.rounds.push_back(round);
    set(body.inputs[0].name, single(Elements::whole, round, world), values, world);
    set(body.inputs[1].name, single(Elements::truth, 1, world), values, world);
    for (std::size_t k = 0; k < carried; ++k) set(body.inputs[2 + k].name, state[k], values, world);
    run_nodes(net, body.nodes, values, world);
    for (std::size_t k = 0; k < carried; ++k) state[k] = find_value(net, body.outputs[1 + k], values, world);
    for (std::size_t k = 0; k < collected.size(); ++k)
      collected[k].push_back(find_value(net, body.outputs[1 + carried + k], values, world));
    world.rounds.pop_back();
  }
  for (std::size_t k = 0; k < carried; ++k) set(node.outputs[k], state[k], values, world);
  for (std::size_t k = 0; k < collected.size(); ++k)
    set(node.outputs[carried + k], stacked(collected[k]), values, world);
}

void run_scan(const OpenNet& net, const OpenNode& node, OpenValues& values, World& world) {
  const OpenGraph& body = node.bodies[0];
  OpenValue state = find_value(net, node.inputs[0], values, world);
  const OpenValue rows = find_value(net, node.inputs[1], values, world);
  std::vector<OpenValue> collected;
  for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
    world.rounds.push_back(row);
    set(body.inputs[0].name, state, values, world);
    set(body.inputs[1].name, row_of(rows, row), values, world);
    run_nodes(net, body.nodes, values, world);
    const OpenValue next = find_value(net, body.outputs[0], values, world);
    if (next.shape != state.shape) throw Misfit("a state that grows");
    state = next;
    collected.push_back(find_value(net, body.outputs[1], values, world));
    world.rounds.pop_back();
  }
  set(node.outputs[0], state, values, world);
  set(node.outputs[1], stacked(collected), values, world);
}

void run_repeat(const OpenNet& net, const OpenNode& node, OpenValues& values, World& world) {
  std::vector<OpenValue> state;
  for (const std::string& input : node.inputs) state.push_back(find_value(net, input, values, world));
  for (std::int64_t round = 0;; ++round) {
    world.rounds.push_back(round);
    for (std::size_t k = 0; k < state.size(); ++k)
      set(node.bodies[0].inputs[k].name, state[k], values, world);
    run_nodes(net, node.bodies[0].nodes, values, world);
    const OpenValue& goes_on = find_value(net, node.bodies[0].outputs[0], values, world);
    if (!goes_on.numbers || round > most_rounds) throw Misfit("a loop without end");
    const bool is_over = (*goes_on.numbers)[0] == 0;
    if (!is_over) {
      for (std::size_t k = 0; k < state.size(); ++k)
        set(node.bodies[1].inputs[k].name, state[k], values, world);
      run_nodes(net, node.bodies[1].nodes, values, world);
      for (std::size_t k = 0; k < state.size(); ++k)
        state[k] = find_value(net, node.bodies[1].outputs[k], values, world);
    }
    world.rounds.pop_back();
    if (is_over) break;
  }
  for (std::size_t k = 0; k < state.size(); ++k) set(node.outputs[k], state[k], values, world);
}

void count_moves(const OpenNode& node, const std::vector<Made>& made, World& world) {
  for (std::size_t o = 0; o < made.size() && o < node.outputs.size(); ++o) {
    std::map<std::size_t, std::size_t> moved;
    for (const Origin& origin : made[o].sources)
      if (origin.input) ++moved[*origin.input];
    for (const auto& [input, count] : moved) {
      std::size_t& most = world.moved[node.outputs[o]][input];
      most = std::max(most, count);
    }
  }
}

}  // namespace

OpenValue value_of(const OpenConstant& constant, World& world) {
  OpenValue value = filled(constant.elements, constant.shape, world);
  if (constant.elements == Elements::whole) value.numbers = constant.numbers;
  return value;
}

OpenValue value_of(const OpenInput& input, World& world) {
  Shape shape;
  for (const OpenDim& dim : input.dims)
    shape.push_back(dim.symbol.empty() ? dim.size : world.extents.at(dim.symbol));
  OpenValue value = filled(input.elements, shape, world);
  if (input.most)
    value.numbers = std::vector<std::int64_t>(value.names.size(), world.decide(input.name, 1, *input.most));
  return value;
}

OpenValue single(Elements elements, std::int64_t number, World& world) {
  OpenValue value = filled(elements, {}, world);
  value.numbers = std::vector<std::int64_t>{number};
  return value;
}

OpenValue row_of(const OpenValue& value, std::int64_t row) {
  OpenValue part{.elements = value.elements, .shape = {value.shape.begin() + 1, value.shape.end()}};
  const std::int64_t size = elements_of(part.shape);
  const auto begin = value.names.begin() + row * size;
  part.names.assign(begin, begin + size);
  return part;
}

OpenValue stacked(const std::vector<OpenValue>& rows) {
  if (rows.empty()) throw Misfit("no rows");
  OpenValue whole{.elements = rows[0].elements, .shape = rows[0].shape};
  whole.shape.insert(whole.shape.begin(), static_cast<std::int64_t>(rows.size()));
  for (const OpenValue& row : rows) {
    if (row.shape != rows[0].shape) throw Misfit("rows of different shapes");
    whole.names.insert(whole.names.end(), row.names.begin(), row.names.end());
  }
  return whole;
}

const OpenValue& find_value(const OpenNet& net, const std::string& name, OpenValues& values, World& world) {
  if (const auto found = values.find(name); found != values.end()) return found->second;
  const auto constant = net.constants.find(name);
  if (constant == net.constants.end()) throw Misfit("no value " + name);
  return values[name] = value_of(constant->second, world);
}

std::size_t chosen_body(const OpenNode& node, World& world) {
  if (!world.is_largest()) return static_cast<std::size_t>(world.decide(node.outputs[0], 0, 1));
  const auto size = [&](std::size_t body) {
    return elements_of(world.largest.at(node.bodies[body].outputs[0]));
  };
  return size(1) > size(0) ? 1 : 0;
}

std::int64_t rounds_of(const OpenNet& net, const OpenNode& node, OpenValues& values, World& world) {
  const OpenValue& count = find_value(net, node.inputs[0], values, world);
  if (!count.numbers || (*count.numbers)[0] > most_rounds) throw Misfit("too many rounds");
  return (*count.numbers)[0];
}

void run_nodes(const OpenNet& net, const std::vector<OpenNode>& nodes, OpenValues& values, World& world) {
  for (const OpenNode& node : nodes) {
    if (node.kind == OpenKind::branch) {
      run_branch(net, node, values, world);
    } else if (node.kind == OpenKind::loop) {
      run_loop(net, node, values, world);
    } else if (node.kind == OpenKind::scan) {
      run_scan(net, node, values, world);
    } else if (node.kind == OpenKind::repeat) {
      run_repeat(net, node, values, world);
    } else {
      std::vector<const OpenValue*> inputs;
      for (const std::string& input : node.inputs) inputs.push_back(&find_value(net, input, values, world));
      const std::vector<Made> made = evaluate(node, inputs, world);
      // Of both formats only ONNX lets the data be larger than the shape says.
      if (net.format == OpenFormat::tflite && node.kind == OpenKind::expand &&
          made[0].value.shape != *inputs[1]->numbers)
        throw Misfit("data larger than BROADCAST_TO");
      count_moves(node, made, world);
      for (std::size_t k = 0; k < made.size() && k < node.outputs.size(); ++k)
        set(node.outputs[k], made[k].value, values, world);
    }
  }
}

}  // namespace stowage::campaign
