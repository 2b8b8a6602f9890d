// Operands of one operator in different banks, against all placings of small networks; and what banks exclude.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "oracle/random_graph.h"
#include "problems.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

/// Operators of one or two inputs, on tensors of 1 to 3 bytes.
Graph small_network(std::uint64_t seed) {
  oracle::Choices choices(seed);
  oracle::Sketch sketch;
  std::vector<std::string> names{"t0"};
  const std::size_t operators = 2 + choices.below(2);
  sketch.subgraph({"t0"}, {"t" + std::to_string(operators)});
  for (std::size_t i = 1; i <= operators; ++i) {
    std::vector<std::string> inputs{names.back()};
    if (choices.chance(50)) inputs.push_back(choices.one_of(names));
    names.push_back("t" + std::to_string(i));
    sketch.add(0, "Mix", inputs, {names.back()});
  }
  for (const std::string& name : names) {
    Tensor& tensor = sketch.tensor(name);
    tensor.bytes = choices.between(1, 3);
    tensor.shape = Shape{tensor.bytes};
    tensor.dtype = DType::int8;
  }
  return sketch.graph();
}

PlanOptions options_for(const Banks& banks) {
  PlanOptions options{.alignment = 1, .order = Order::keep, .alias = Alias::none, .banks = banks};
  options.memories[0].capacity = banks.count * banks.size;
  options.solve.time_limit = std::chrono::hours(1);
  return options;
}

/// Counts clashes byte by byte. Buffers have the ids of their only tensors.
std::int64_t clashes_of(const Graph& graph, const std::vector<Buffer>& buffers,
                        const std::vector<Bytes>& offsets, const Banks& banks) {
  const auto share_a_bank = [&](std::size_t a, std::size_t b) {
    for (Bytes i = 0; i < buffers[a].size; ++i) {
      for (Bytes j = 0; j < buffers[b].size; ++j) {
        if ((offsets[a] + i) / banks.size == (offsets[b] + j) / banks.size) return true;
      }
    }
    return false;
  };
  std::int64_t clashes = 0;
  for (const Operator& op : graph.subgraphs[0].operators) {
    std::vector<std::string> names;
    for (const auto& tensor : op.inputs) names.push_back(graph.tensors[*tensor].name);
    for (const auto& tensor : op.outputs) names.push_back(graph.tensors[*tensor].name);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const auto index = [&](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(buffers, name, &Buffer::id) - buffers.begin());
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) clashes += share_a_bank(index(names[i]), index(names[j])) ? 1 : 0;
    }
  }
  return clashes;
}

/// The fewest clashes of all placings within the banks.
std::int64_t fewest_clashes(const Graph& graph, const std::vector<Buffer>& buffers, const Banks& banks) {
  std::vector<Bytes> offsets(buffers.size());
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  const std::function<void(std::size_t)> place = [&](std::size_t b) {
    if (fewest == 0) return;
    if (b == buffers.size()) {
      fewest = std::min(fewest, clashes_of(graph, buffers, offsets, banks));
      return;
    }
    for (offsets[b] = 0; offsets[b] + buffers[b].size <= banks.count * banks.size; ++offsets[b]) {
      const auto overlaps = [&](std::size_t a) {
        const Lifetime& one = buffers[a].pieces[0].life;
        const Lifetime& other = buffers[b].pieces[0].life;
        return one.lower < other.upper && other.lower < one.upper &&
               offsets[a] < offsets[b] + buffers[b].size && offsets[b] < offsets[a] + buffers[a].size;
      };
      bool is_free = true;
      for (std::size_t a = 0; a < b; ++a) is_free = is_free && !overlaps(a);
      if (is_free) place(b + 1);
    }
  };
  place(0);
  return fewest;
}

TEST(Banks, HaveFewClashesAndATrueBound) {
  int plans = 0;
  int optimal = 0;
  int clashing = 0;
  int at_bound = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = small_network(seed);
    const Banks banks{.count = 2 + static_cast<std::int64_t>(seed % 2),
                      .size = 3 + static_cast<Bytes>(seed % 3)};
    const PlanResult result = make_plan(Input{.content = graph}, options_for(banks));
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    EXPECT_EQ(result.bank_use.has_value(), result.outcome == Outcome::fits);
    if (result.outcome != Outcome::fits) continue;
    ++plans;
    const BankUse& use = *result.bank_use;
    EXPECT_EQ(use.clashes,
              clashes_of(graph, result.plan.buffers, testing::offsets_of(result.plan.places), banks));
    const std::int64_t fewest = fewest_clashes(graph, result.plan.buffers, banks);
    EXPECT_LE(use.least_clashes, fewest);
    EXPECT_LE(fewest, use.clashes);
    optimal += use.clashes == fewest ? 1 : 0;
    clashing += fewest > 0 ? 1 : 0;
    at_bound += use.least_clashes == fewest ? 1 : 0;
  }
  EXPECT_GT(plans, 200);
  EXPECT_GT(clashing, plans / 10) << "the networks are too easy to tell";
  EXPECT_GT(optimal, plans * 9 / 10);
  EXPECT_GT(at_bound, plans / 2);
}

TEST(Banks, AreForModelsInAMemoryOfTheirSize) {
  const Input model{.content = small_network(1)};
  const Input list{.content = testing::problem_of({testing::whole("a", 4, 0, 2)})};
  const PlanOptions options = options_for({2, 64});
  EXPECT_NO_THROW((void)make_plan(model, options));
  EXPECT_THROW((void)make_plan(list, options), UsageError);
  PlanOptions of_another_size = options;
  of_another_size.memories[0].capacity = 127;
  EXPECT_THROW((void)make_plan(model, of_another_size), UsageError);
  PlanOptions of_weights = options;
  of_weights.memories.insert(of_weights.memories.begin(), {.name = "flash", .role = MemoryRole::weights});
  EXPECT_NO_THROW((void)make_plan(model, of_weights));
  std::swap(of_weights.memories[0].role, of_weights.memories[1].role);
  EXPECT_THROW((void)make_plan(model, of_weights), UsageError) << "the working memory has no banks";
  oracle::Sketch concat;
  std::vector<std::string> many(256, "x");
  concat.subgraph({"x"}, {"y"});
  concat.add(0, "Concat", many, {"y"});
  EXPECT_THROW((void)make_plan(Input{.content = concat.graph()}, options), UsageError) << "257 operands";
  for (const Banks& banks : {Banks{2, 0}, Banks{0, 64}, Banks{1025, 1}, Banks{-2, -32}}) {
    PlanOptions wrong = options_for(banks);
    EXPECT_THROW((void)make_plan(model, wrong), UsageError);
  }
  for (const Comparison& it : compare(model, options)) EXPECT_TRUE(it.faults.empty()) << it.strategy;
}

}  // namespace
}  // namespace stowage
