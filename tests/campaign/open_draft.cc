#include "open_draft.h"

#include <algorithm>
#include <set>

namespace stowage::campaign {
namespace {

constexpr std::size_t world_count = 6;

void read_names(const std::vector<OpenNode>& nodes, std::set<std::string>& names) {
  for (const OpenNode& node : nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const OpenGraph& body : node.bodies) {
      read_names(body.nodes, names);
      names.insert(body.outputs.begin(), body.outputs.end());
    }
  }
}

}  // namespace

OpenDraft::OpenDraft(Random& random, OpenFormat format) : random_(random) {
  net_.format = format;
  net_.main.name = "main";
  for (std::size_t i = 0; i < world_count; ++i) worlds_.emplace_back(random.next(), i == 0);
  values_.resize(world_count);
}

OpenDrawn OpenDraft::draw() {
  const std::int64_t inputs = random_.between(1, 3);
  for (std::int64_t i = 0; i < inputs; ++i) draw_input();
  const std::int64_t operators = random_.between(2, 9);
  for (std::int64_t tries = 0; tries < 60; ++tries) {
    if (static_cast<std::int64_t>(net_.main.nodes.size()) >= operators) break;
    draw_operator();
  }
  while (net_.main.nodes.empty()) activate();
  choose_outputs();
  for (const auto& [name, value] : values_[0]) {
    net_.elements[name] = value.elements;
    net_.ranks[name] = value.shape.size();
  }
  net_.moved = worlds_[0].moved;
  declare();
  return {.net = std::move(net_), .worlds = std::move(worlds_)};
}

/// What a file can know: extents that no size changes.
void OpenDraft::declare() {
  const bool is_fixed = std::any_of(net_.symbols.begin(), net_.symbols.end(), [](const auto& symbol) {
    return symbol.second.least == symbol.second.most;
  });
  for (const auto& [name, shape] : worlds_[0].largest) {
    Shape& declared = net_.declared[name];
    declared = shape;
    for (std::size_t a = 0; a < shape.size(); ++a)
      for (const World& world : worlds_)
        if (is_fixed || world.largest.at(name)[a] != shape[a] || world.varying.at(name)[a]) declared[a] = -1;
  }
  for (const OpenInput& input : net_.main.inputs)
    for (std::size_t a = 0; a < input.dims.size(); ++a)
      net_.declared[input.name][a] = input.dims[a].symbol.empty() ? input.dims[a].size : -1;
}

OpenDim OpenDraft::draw_dim(const std::string& input, std::size_t axis) {
  if (random_.chance(45)) return {.size = random_.between(1, 4)};
  const bool is_named = is_onnx() && random_.chance(75);
  if (is_named && !symbols_.empty() && random_.chance(50))
    return {.symbol = random_.pick(symbols_), .is_named = true};
  OpenSymbol symbol{.most = random_.between(2, 8)};
  symbol.is_range = random_.chance(60);
  symbol.least = symbol.is_range ? random_.between(1, symbol.most) : symbol.most;
  const std::string name =
      is_named ? "d" + std::to_string(symbols_.size()) : input + "_" + std::to_string(axis);
  if (is_named) symbols_.push_back(name);
  net_.symbols[name] = symbol;
  for (World& world : worlds_) world.extents[name] = world.decide(name, symbol.least, symbol.most);
  return {.symbol = name, .is_named = is_named};
}

void OpenDraft::add_input(const OpenInput& input) {
  net_.main.inputs.push_back(input);
  for (std::size_t w = 0; w < worlds_.size(); ++w) {
    values_[w][input.name] = value_of(input, worlds_[w]);
    worlds_[w].record(input.name, values_[w][input.name].shape);
  }
  pool_.push_back(input.name);
}

void OpenDraft::draw_input() {
  OpenInput input{.name = "x" + std::to_string(names_++)};
  const std::int64_t rank = random_.between(1, 3);
  for (std::int64_t a = 0; a < rank; ++a)
    input.dims.push_back(draw_dim(input.name, static_cast<std::size_t>(a)));
  // Tensors of one shape come in pairs often.
  const auto first = net_.main.inputs.begin();
  if (!net_.main.inputs.empty() && random_.chance(50)) {
    input.dims = first->dims;
    for (std::size_t a = 0; a < input.dims.size(); ++a)
      if (!input.dims[a].symbol.empty() && (!input.dims[a].is_named || random_.chance(40)))
        input.dims[a] = draw_dim(input.name, a);
  }
  add_input(input);
}

std::string OpenDraft::constant(const Numbers& numbers, bool is_single) {
  const std::string name = "c" + std::to_string(names_++);
  OpenConstant& made = net_.constants[name];
  made = {.elements = Elements::whole, .numbers = numbers};
  if (!is_single) made.shape = {static_cast<std::int64_t>(numbers.size())};
  net_.elements[name] = Elements::whole;
  return name;
}

std::string OpenDraft::matrix(std::int64_t rows, std::int64_t columns) {
  const std::string name = "w" + std::to_string(names_++);
  net_.constants[name] = {.shape = {rows, columns}};
  net_.elements[name] = Elements::real;
  return name;
}

std::optional<std::string> OpenDraft::pick(Elements elements, std::size_t least_rank) {
  std::vector<std::string> found;
  for (const std::string& name : pool_)
    if (at(name).elements == elements && at(name).shape.size() >= least_rank && !at(name).numbers)
      found.push_back(name);
  if (found.empty()) return std::nullopt;
  // What came last is read next more often than not.
  return random_.chance(45) ? found.back() : random_.pick(found);
}

std::int64_t OpenDraft::axis_of(const std::string& name) {
  const std::size_t rank = at(name).shape.size();
  return rank == 0 || random_.chance(50) ? 0 : static_cast<std::int64_t>(random_.index(rank));
}

std::int64_t OpenDraft::least_extent(const std::string& name, std::int64_t axis) const {
  std::int64_t least = at(name).shape[static_cast<std::size_t>(axis)];
  for (const OpenValues& values : values_)
    least = std::min(least, values.at(name).shape[static_cast<std::size_t>(axis)]);
  return least;
}

bool OpenDraft::attempt(Nodes nodes, const std::vector<std::string>& kept) {
  std::vector<World> worlds = worlds_;
  std::vector<OpenValues> values = values_;
  try {
    for (std::size_t w = 0; w < worlds.size(); ++w) {
      run_nodes(net_, nodes, values[w], worlds[w]);
      for (const auto& [name, shape] : worlds[w].largest) {
        const Shape& most = worlds[0].largest.at(name);
        if (shape.size() != most.size()) return false;
        for (std::size_t a = 0; a < shape.size(); ++a)
          if (shape[a] > most[a]) return false;
      }
    }
  } catch (const Misfit&) {
    return false;
  }
  worlds_ = std::move(worlds);
  values_ = std::move(values);
  for (OpenNode& node : nodes) net_.main.nodes.push_back(std::move(node));
  pool_.insert(pool_.end(), kept.begin(), kept.end());
  return true;
}

void OpenDraft::choose_outputs() {
  std::set<std::string> read;
  read_names(net_.main.nodes, read);
  std::set<std::string> inputs;
  for (const OpenInput& input : net_.main.inputs) inputs.insert(input.name);
  for (const OpenNode& node : net_.main.nodes)
    for (const std::string& output : node.outputs)
      if (!read.contains(output) || random_.chance(15)) net_.main.outputs.push_back(output);
}

std::string OpenDraft::extent_nodes(Nodes& nodes, const std::string& from, std::int64_t axis) {
  const std::string shape = fresh();
  const std::string extent = fresh();
  nodes.push_back({.kind = OpenKind::shape, .inputs = {from}, .outputs = {shape}});
  nodes.push_back(
      {.kind = OpenKind::gather, .inputs = {shape, constant({axis})}, .outputs = {extent}, .numbers = {0}});
  return extent;
}

void OpenDraft::draw_operator() {
  using Draw = void (OpenDraft::*)();
  static const std::vector<Draw> both{
      &OpenDraft::activate,      &OpenDraft::activate,   &OpenDraft::combine,    &OpenDraft::combine,
      &OpenDraft::join,          &OpenDraft::join,       &OpenDraft::join,       &OpenDraft::join,
      &OpenDraft::part,          &OpenDraft::part,       &OpenDraft::cut,        &OpenDraft::cut,
      &OpenDraft::cut,           &OpenDraft::pick_rows,  &OpenDraft::refold,     &OpenDraft::refold,
      &OpenDraft::turn,          &OpenDraft::ones,       &OpenDraft::choose,     &OpenDraft::choose,
      &OpenDraft::choose,        &OpenDraft::draw_topk,  &OpenDraft::draw_range, &OpenDraft::grow,
      &OpenDraft::surround,      &OpenDraft::draw_tile,  &OpenDraft::fill_up,    &OpenDraft::draw_reduce,
      &OpenDraft::draw_multiply, &OpenDraft::draw_branch};
  static const std::vector<Draw> more{&OpenDraft::draw_loop, &OpenDraft::draw_scan};
  if (random_.chance(10)) return is_onnx() ? (this->*random_.pick(more))() : draw_repeat();
  (this->*random_.pick(both))();
}

}  // namespace stowage::campaign
