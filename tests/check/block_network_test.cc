// The checker compares a network of blocks with the network that it stands for: right ones are, and every mutant that
// reads less, or permits more, is not.

#include "check/block_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "block_plans.h"
#include "model/blocks.h"
#include "rows_of_models.h"
#include "stowage/graph.h"

namespace stowage {
namespace {

using testing::Random;

struct Blocks {
  Graph graph{};
  model::SplitNetwork network{};
  Graph stored{};

  [[nodiscard]] std::vector<Operator>& operators() { return stored.subgraphs[0].operators; }
  [[nodiscard]] const Operator& own_of(std::size_t o) const {
    return graph.subgraphs[0].operators[network.operators[o].of];
  }
  [[nodiscard]] bool is_block(std::size_t o) const { return network.operators[o].block.has_value(); }
};

/// A random network in blocks; the operators of the network also wait for those that they read.
Blocks random_blocks(Random& random) {
  while (true) {
    const bool is_normed = random() % 3 == 0;
    Blocks it{
        .graph =
            (is_normed ? testing::random_normed_network(random) : testing::random_network(random)).graph()};
    auto& operators = it.graph.subgraphs[0].operators;
    for (std::size_t o = 1; o < operators.size(); ++o) {
      if (!operators[o].folded && !operators[o - 1].folded) operators[o].after.push_back(o - 1);
    }
    auto network = testing::try_split(it.graph, testing::random_splits(it.graph, random));
    if (!network || network->blocks.empty()) continue;
    it.network = *std::move(network);
    it.stored = model::stored(it.network);
    return it;
  }
}

std::string fault_of(const Blocks& it) {
  const Faults faults = check::check_block_network(it.graph, it.network, it.stored);
  return faults.empty() ? "" : faults[0].what;
}

TEST(BlockNetwork, OfSplitIsThatOfTheFacts) {
  Random random(1);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(fault_of(random_blocks(random)), "") << i;
}

/// Changes operator o for the worse, or returns false where there is nothing to change.
using Mutation = std::function<bool(Blocks& it, std::size_t o, Random& random)>;

bool is_variable(const Blocks& it, const std::optional<TensorId>& t) {
  return t && !is_constant(it.stored.tensors[*t].kind);
}

bool loses_input(Blocks& it, std::size_t o, Random& random) {
  auto& inputs = it.operators()[o].inputs;
  const std::size_t i = random() % inputs.size();
  if (!is_variable(it, inputs[i])) return false;
  inputs[i].reset();
  return true;
}

bool reads_what_is_not_written(Blocks& it, std::size_t o, Random& random) {
  auto& inputs = it.operators()[o].inputs;
  const std::size_t i = random() % inputs.size();
  if (!inputs[i] || !it.network.tensors[*inputs[i]].block || !is_variable(it, inputs[i])) return false;
  inputs[i] = it.network.tensors[*inputs[i]].of;
  return true;
}

bool reads_another_block(Blocks& it, std::size_t o, Random& random) {
  auto& inputs = it.operators()[o].inputs;
  const std::size_t i = random() % inputs.size();
  if (!inputs[i] || !it.network.tensors[*inputs[i]].block) return false;
  for (TensorId t = 0; t < it.network.tensors.size(); ++t) {
    if (it.network.tensors[t].of != it.network.tensors[*inputs[i]].of || t == *inputs[i] ||
        !it.network.tensors[t].block || std::ranges::count(inputs, std::optional(t)) > 0)
      continue;
    const RowRange& a = *it.network.tensors[t].block;
    const RowRange& b = *it.network.tensors[*inputs[i]].block;
    if (a.axis == b.axis && a.begin <= b.begin && a.end >= b.end) continue;
    inputs[i] = t;
    return true;
  }
  return false;
}

bool waits_for_less(Blocks& it, std::size_t o, Random& random) {
  auto& after = it.operators()[o].after;
  if (after.empty()) return false;
  after.erase(after.begin() + static_cast<std::ptrdiff_t>(random() % after.size()));
  return true;
}

bool writes_another_block(Blocks& it, std::size_t o, Random&) {
  for (std::size_t other = o + 1; it.is_block(o) && other < it.operators().size(); ++other) {
    if (it.network.operators[other].of != it.network.operators[o].of) continue;
    std::swap(it.operators()[o].outputs, it.operators()[other].outputs);
    return true;
  }
  return false;
}

bool stands_for_fewer_rows(Blocks& it, std::size_t o, Random&) {
  if (!it.is_block(o)) return false;
  --it.network.operators[o].block->end;
  return true;
}

bool is_of_another_size(Blocks& it, std::size_t o, Random&) {
  Tensor& tensor = it.stored.tensors[*it.operators()[o].outputs[0]];
  --tensor.bytes;
  return true;
}

bool is_missing(Blocks& it, std::size_t o, Random&) {
  it.operators().erase(it.operators().begin() + static_cast<std::ptrdiff_t>(o));
  it.network.operators.erase(it.network.operators.begin() + static_cast<std::ptrdiff_t>(o));
  return true;
}

/// An axis along which an operator reads rows; null if there is none.
RowAxis* any_rows(Operator& op, Random& random) {
  if (op.row_axes.empty()) return nullptr;
  RowAxis& rows = op.row_axes[random() % op.row_axes.size()];
  return rows.reads.empty() ? nullptr : &rows;
}

bool reads_other_rows(Blocks& it, std::size_t o, Random& random) {
  RowAxis* const rows = any_rows(it.operators()[o], random);
  if (rows == nullptr) return false;
  for (RowRead& read : rows->reads) ++read.rows.offset;
  return true;
}

bool reads_rows_of_what_it_reads_whole(Blocks& it, std::size_t o, Random& random) {
  Operator& op = it.operators()[o];
  if (op.row_axes.empty()) return false;
  RowAxis& rows = op.row_axes[random() % op.row_axes.size()];
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!is_variable(it, op.inputs[i]) || row_read(rows, i) != nullptr) continue;
    rows.reads.push_back({.input = i, .axis = it.stored.tensors[*op.inputs[i]].shape->size() - 1});
    return true;
  }
  return false;
}

bool keeps_rows_elsewhere(Blocks& it, std::size_t o, Random& random) {
  RowAxis* const rows = any_rows(it.operators()[o], random);
  if (rows == nullptr) return false;
  constexpr Bytes width = 4;
  RowRead& read = rows->reads[random() % rows->reads.size()];
  read.kept_at =
      read.kept_at.value_or(0) + (random() % 2 == 0 ? width : 1);  // all that is kept here begins at 0
  return true;
}

bool has_rows_along_its_blocks(Blocks& it, std::size_t o, Random&) {
  if (!it.is_block(o)) return false;
  it.operators()[o].row_axes.push_back({.axis = it.network.operators[o].block->axis});
  return true;
}

bool adds_rows(Blocks& it, std::size_t o, Random& random) {
  auto& rows = it.operators()[o].row_axes;
  if (rows.empty()) return false;
  RowAxis& along = rows[random() % rows.size()];
  if (along.adds_rows) return false;
  along.adds_rows = true;
  return true;
}

/// What a whole operator sums up and carries, said of one that does not have its first input as a whole.
bool carries_in_blocks(Blocks& it, std::size_t o, Random&) {
  Operator& op = it.operators()[o];
  const Operator& own = it.own_of(o);
  if (!it.is_block(o) && op.inputs[0] == own.inputs[0]) return false;
  if (own.carries.empty() && own.sums_over.empty()) return false;
  op.carries = own.carries;
  op.sums_over = own.sums_over;
  return true;
}

bool copies_what_it_computes(Blocks& it, std::size_t o, Random&) {
  Operator& op = it.operators()[o];
  if (!it.own_of(o).copies.empty()) return false;
  op.copies = {{.size = it.stored.tensors[*op.outputs[0]].bytes}};
  return true;
}

/// Whether a block is all of its tensor.
bool is_all(const Blocks& it, TensorId t) {
  return it.stored.tensors[t].bytes == it.graph.tensors[it.network.tensors[t].of].bytes;
}

/// An operator that writes over an input if it is as large, which here holds other rows.
bool writes_over_another_part(Blocks& it, std::size_t o, Random&) {
  Operator& op = it.operators()[o];
  if (!it.is_block(o)) return false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!is_variable(it, op.inputs[i]) ||
        it.stored.tensors[*op.inputs[i]].bytes != it.stored.tensors[*op.outputs[0]].bytes ||
        it.network.tensors[*op.inputs[i]].block == it.network.operators[o].block ||
        is_all(it, *op.outputs[0]))
      continue;
    op.type = "Add";
    return true;
  }
  return false;
}

TEST(BlockNetwork, MutantsAreFound) {
  const std::vector<std::pair<std::string, Mutation>> mutations{
      {"loses an input", loses_input},
      {"reads what is not written", reads_what_is_not_written},
      {"reads another block", reads_another_block},
      {"waits for less", waits_for_less},
      {"writes another block", writes_another_block},
      {"stands for fewer rows", stands_for_fewer_rows},
      {"is of another size", is_of_another_size},
      {"is missing", is_missing},
      {"reads other rows", reads_other_rows},
      {"reads rows of what it reads whole", reads_rows_of_what_it_reads_whole},
      {"keeps rows elsewhere", keeps_rows_elsewhere},
      {"has rows along its blocks", has_rows_along_its_blocks},
      {"adds rows", adds_rows},
      {"carries in blocks", carries_in_blocks},
      {"copies what it computes", copies_what_it_computes},
      {"writes over another part", writes_over_another_part},
  };
  Random random(2);
  for (const auto& [name, mutate] : mutations) {
    int mutants = 0;
    for (int i = 0; i < 2000 && mutants < 50; ++i) {
      Blocks it = random_blocks(random);
      if (!mutate(it, random() % it.operators().size(), random)) continue;
      ++mutants;
      EXPECT_NE(fault_of(it), "") << name << " " << i;
    }
    EXPECT_GT(mutants, 5) << name;
  }
}

/// The network of blocks is made before the bodies are known.
TEST(BlockNetwork, BodiesReadWholeTensors) {
  Random random(7);
  testing::ImageMaker images(random);
  const TensorId x = images.add_tensor(TensorKind::input, {1, 4, 8, 4});
  const TensorId y = images.apply("Relu", {x}, images.shape(x));
  static_cast<void>(images.apply("Tanh", {y}, images.shape(x)));
  Network network = images.take(0);
  static_cast<void>(testing::add_if(x, network));
  Blocks it{.graph = network.graph()};
  it.network = model::split(it.graph, {{0, {.axis = 1, .bounds = {0, 2, 4}}}});
  it.stored = model::stored(it.network);
  EXPECT_EQ(fault_of(it), "");
  Blocks other = it;
  other.stored.subgraphs[1].operators[0].inputs[0] = y;
  EXPECT_NE(fault_of(other), "") << "a body is changed";
  other.graph.subgraphs[1].operators[0].inputs[0] = y;
  EXPECT_NE(fault_of(other).find("a body reads"), std::string::npos) << fault_of(other);
  other = it;
  other.stored.subgraphs[1].outputs[0] = other.graph.subgraphs[1].outputs[0] = y;
  EXPECT_NE(fault_of(other).find("a body reads"), std::string::npos) << fault_of(other);
  other = it;
  other.stored.subgraphs.pop_back();
  EXPECT_NE(fault_of(other), "") << "a body is missing";
  other = it;
  for (Operator& op : other.operators()) {
    if (!op.bodies.empty()) op.inputs.push_back(x);
  }
  EXPECT_NE(fault_of(other).find("has bodies"), std::string::npos) << fault_of(other);
}

}  // namespace
}  // namespace stowage
