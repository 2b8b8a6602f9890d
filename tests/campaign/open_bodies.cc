#include "open_draft.h"

namespace stowage::campaign {
namespace {

OpenInput named(const std::string& name, Elements elements) { return {.name = name, .elements = elements}; }

}  // namespace

/// A few operators that keep the rank of what they read. TFLite's bodies have it as an input.
OpenGraph OpenDraft::branch_body(const std::string& from) {
  OpenGraph body;
  body.name = "b" + std::to_string(names_++);
  std::string last = from;
  if (!is_onnx()) {
    last = fresh();
    body.inputs = {named(last, at(from).elements)};
  }
  const auto add = [&](OpenNode node) {
    node.outputs = {fresh()};
    last = node.outputs[0];
    body.nodes.push_back(std::move(node));
  };
  const std::string own = last;
  const auto rank = static_cast<std::int64_t>(at(from).shape.size());
  for (std::int64_t count = random_.between(1, 3); count > 0; --count) {
    switch (random_.index(5)) {
      case 0:
        add({.kind = OpenKind::concat, .inputs = {last, own}, .numbers = {0}});
        break;
      case 1: {
        OpenNode node{.kind = OpenKind::slice};
        std::vector<std::int64_t> starts(static_cast<std::size_t>(rank), 0);
        std::vector<std::int64_t> ends(static_cast<std::size_t>(rank), 1000);
        starts[0] = random_.between(0, 1);
        ends[0] = random_.pick(Numbers{1, 2, 1000, -1});
        node.inputs = {last, constant(starts), constant(ends)};
        for (std::int64_t a = 0; a < rank; ++a) node.numbers.push_back(a);
        node.numbers.resize(static_cast<std::size_t>(2 * rank), 1);
        add(std::move(node));
        break;
      }
      case 2:
        if (is_onnx() && rank == 1) {
          add({.kind = OpenKind::unique, .inputs = {last}});
          break;
        }
        [[fallthrough]];
      case 3:
        add({.kind = OpenKind::binary, .type = "Add", .inputs = {last, last}});
        break;
      default:
        add({.type = "Relu", .inputs = {last}});
    }
  }
  body.outputs = {last};
  return body;
}

void OpenDraft::draw_branch() {
  const auto from = pick(Elements::real, 1);
  if (!from) return;
  OpenInput condition{.name = "q" + std::to_string(names_++), .elements = Elements::truth};
  if (!is_onnx() || random_.chance(50)) condition.dims = {{.size = 1}};
  add_input(condition);
  const std::string made = fresh();
  OpenNode node{.kind = OpenKind::branch, .inputs = {condition.name}, .outputs = {made}};
  if (!is_onnx()) node.inputs.push_back(*from);
  node.bodies = {branch_body(*from), branch_body(*from)};
  attempt({node}, {made});
}

/// A value that grows or stays, and rows that are collected.
void OpenDraft::draw_loop() {
  const auto first = pick(Elements::real, 1);
  const auto outer = pick(Elements::real, 1);
  if (!first || !outer) return;
  std::string count = constant({random_.between(1, 4)}, true);
  if (random_.chance(50)) {
    OpenInput given{.name = "r" + std::to_string(names_++), .elements = Elements::whole, .most = 4};
    add_input(given);
    count = given.name;
  }
  OpenGraph body;
  body.name = "b" + std::to_string(names_++);
  const std::string round = fresh(), goes_on = fresh(), old = fresh();
  body.inputs = {named(round, Elements::whole), named(goes_on, Elements::truth), named(old, Elements::real)};
  const std::string goes_on_again = fresh(), next = fresh(), row = fresh();
  body.nodes.push_back({.type = "Identity", .inputs = {goes_on}, .outputs = {goes_on_again}});
  const bool grows = random_.chance(60);
  std::string active = old;
  if (random_.chance(60)) {
    active = fresh();
    body.nodes.push_back({.type = "Relu", .inputs = {old}, .outputs = {active}});
  }
  if (grows)
    body.nodes.push_back({.kind = OpenKind::concat,
                          .inputs = random_.chance(70) ? std::vector<std::string>{active, *outer}
                                                       : std::vector<std::string>{*outer, active},
                          .outputs = {next},
                          .numbers = {0}});
  else
    body.nodes.push_back({.type = "Tanh", .inputs = {active}, .outputs = {next}});
  OpenNode node{.kind = OpenKind::loop, .inputs = {count, *first}, .outputs = {fresh()}, .numbers = {1}};
  body.outputs = {goes_on_again, next};
  if (random_.chance(50)) {
    if (random_.chance(50) || !grows)
      body.nodes.push_back({.type = "Relu", .inputs = {grows ? *outer : next}, .outputs = {row}});
    else
      body.nodes.push_back({.kind = OpenKind::reduce, .inputs = {next}, .outputs = {row}, .numbers = {0, 1}});
    body.outputs.push_back(row);
    node.outputs.push_back(fresh());
  }
  const std::vector<std::string> made = node.outputs;
  node.bodies = {body};
  attempt({node}, made);
}

void OpenDraft::draw_scan() {
  const auto rows = pick(Elements::real, 2);
  if (!rows) return;
  const std::string start = fresh();
  Nodes nodes;
  nodes.push_back({.kind = OpenKind::reduce, .inputs = {*rows}, .outputs = {start}, .numbers = {0, 0}});
  OpenGraph body;
  body.name = "b" + std::to_string(names_++);
  const std::string state = fresh(), row = fresh(), next = fresh(), made = fresh();
  body.inputs = {named(state, Elements::real), named(row, Elements::real)};
  body.nodes.push_back({.kind = OpenKind::binary, .type = "Add", .inputs = {state, row}, .outputs = {next}});
  if (random_.chance(50))
    body.nodes.push_back({.type = "Relu", .inputs = {next}, .outputs = {made}});
  else
    body.nodes.push_back(
        {.kind = OpenKind::concat, .inputs = {next, row}, .outputs = {made}, .numbers = {0}});
  body.outputs = {next, made};
  OpenNode node{.kind = OpenKind::scan, .inputs = {start, *rows}, .outputs = {fresh(), fresh()}};
  node.bodies = {body};
  const std::vector<std::string> kept = node.outputs;
  nodes.push_back(node);
  attempt(nodes, kept);
}

/// A value that a WHILE of TFLite carries on.
void OpenDraft::draw_repeat() {
  const auto first = pick(Elements::real, 1);
  if (!first) return;
  OpenGraph condition;
  condition.name = "b" + std::to_string(names_++);
  OpenGraph body;
  body.name = "b" + std::to_string(names_++);
  const std::string counted = fresh(), seen = fresh(), is_less = fresh();
  condition.inputs = {named(counted, Elements::whole), named(seen, Elements::real)};
  condition.nodes.push_back({.kind = OpenKind::binary,
                             .type = "Less",
                             .inputs = {counted, constant({random_.between(1, 3)}, true)},
                             .outputs = {is_less}});
  condition.outputs = {is_less};
  const std::string number = fresh(), old = fresh(), more = fresh(), next = fresh();
  body.inputs = {named(number, Elements::whole), named(old, Elements::real)};
  body.nodes.push_back(
      {.kind = OpenKind::binary, .type = "Add", .inputs = {number, constant({1}, true)}, .outputs = {more}});
  if (random_.chance(60))
    body.nodes.push_back({.kind = OpenKind::concat, .inputs = {old, old}, .outputs = {next}, .numbers = {0}});
  else
    body.nodes.push_back({.type = "Relu", .inputs = {old}, .outputs = {next}});
  body.outputs = {more, next};
  OpenNode node{
      .kind = OpenKind::repeat, .inputs = {constant({0}, true), *first}, .outputs = {fresh(), fresh()}};
  node.bodies = {condition, body};
  const std::vector<std::string> made{node.outputs[1]};
  attempt({node}, made);
}

}  // namespace stowage::campaign
