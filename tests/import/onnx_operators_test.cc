// docs/onnx-operators.md says what is done with every operator of every set. For each, a small call of it is
// given to reader, planner, runner and generator: STOWAGE_WRITE_TABLES=1 writes their answers, otherwise they
// are compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"
#include "long_tests.h"
#include "onnx_samples.h"
#include "operators/facts.h"
#include "run/program.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using Types = std::set<std::string, std::less<>>;

/// The operators of ONNX that have a row with this fact.
template <typename Fact>
Types types_with(Fact operators::Facts::*fact) {
  Types types;
  for (const operators::Facts* const row : operators::all_facts()) {
    if (!row->onnx.empty() && row->*fact) types.emplace(row->onnx);
  }
  return types;
}

Types types_of(const kernels::KernelTable& table) {
  Types types;
  for (const auto& kernel : table) types.emplace(kernel.first);
  return types;
}

/// An operator set that defines or changes an operator.
struct OperatorSet {
  int number;
  bool ends;  ///< The operator.
};

/// Those of each operator of the standard. Operators of a runtime have one: 1.
std::map<std::string, std::vector<OperatorSet>> operator_sets() {
  std::map<std::string, std::vector<OperatorSet>> all;
  std::ifstream file(STOWAGE_ORACLE "/onnx_versions.txt");
  EXPECT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string type;
    words >> type;
    for (std::string set; words >> set;) all[type].push_back({std::stoi(set), set.ends_with('x')});
  }
  for (const std::string& type : types_with(&operators::Facts::shape))
    all.try_emplace(type, std::vector<OperatorSet>{{1, false}});
  return all;
}

/// What is done with an operator of one set.
struct Answers {
  std::string shaped = "-";
  std::string aliased = "-";
  std::string streamed = "-";
  std::string run = "-";
  std::string generated = "-";

  bool operator==(const Answers&) const = default;
};

template <typename Try>
bool succeeds(const Try& attempt) {
  try {
    attempt();
    return true;
  } catch (const Error&) {
  } catch (const UsageError&) {
  } catch (const kernels::Unsupported&) {
  }
  return false;
}

std::string aliased(const Graph& graph, const Operator& op) {
  if (!op.copies.empty()) return "copy";
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (in_place_output(graph, op, i)) return "in place";
  }
  return "-";
}

std::string run_by(const Network& network, std::size_t op) {
  const std::string& type = network.graph().subgraphs[0].operators[op].type;
  std::optional<run::Program> program;
  if (!succeeds([&] { program = run::make_program(network, {.kernels = KernelSet::plain}); })) return "-";
  const auto fast = kernels::dnnl_kernels().find(type);
  const bool is_fast = fast != kernels::dnnl_kernels().end() &&
                       succeeds([&] { (void)fast->second(run::signature_of(network, *program, 0, op)); });
  return is_fast ? "fast" : "yes";
}

/// Asks reader, planner, runner and generator about a call of the operator.
Answers answers_of(const std::string& type, int operator_set, bool has_rule) {
  Answers answers;
  const auto model = testing::sample_of(type, operator_set);
  if (!model) return {.shaped = has_rule ? "partly" : "-"};
  std::optional<Network> network;
  try {
    network = parse_network(model->SerializeAsString(), "x.onnx");
  } catch (const Error& error) {
    const bool is_open =
        std::string_view(error.what()).find("has no known dimension") != std::string_view::npos;
    return {.shaped = is_open ? "partly" : "-"};
  }
  const Graph& graph = network->graph();
  const auto& operators = graph.subgraphs[0].operators;
  auto found = std::ranges::find(operators, type, &Operator::type);
  if (found == operators.end()) {  // it becomes several, of which the first one answers
    EXPECT_GT(operators.size(), 1U) << type;
    found = operators.begin();
  }
  answers.shaped = "yes";
  answers.aliased = aliased(graph, *found);
  const bool has_rows = !found->row_axes.empty() || !found->sums_over.empty() || !found->carries.empty();
  answers.streamed = has_rows ? "yes" : "-";
  answers.run = run_by(*network, static_cast<std::size_t>(found - operators.begin()));
  const bool is_generated = !found->folded && succeeds([&] {
    (void)generate_package(*network, make_plan(network->input).plan, {.name = "sample"});
  });
  answers.generated = is_generated ? "yes" : "-";
  return answers;
}

/// Neighbouring sets with the same answers.
struct SetsAlike {
  std::string sets;
  Answers answers;
};

std::vector<SetsAlike> answers_by_sets(const std::string& type, const std::vector<OperatorSet>& sets,
                                       bool has_rule) {
  std::vector<SetsAlike> all;
  for (const OperatorSet& set : sets) {
    const std::string number = std::to_string(set.number) + (set.ends ? " (ended)" : "");
    const Answers answers = answers_of(type, set.number, has_rule);
    if (!all.empty() && all.back().answers == answers) {
      all.back().sets += ", " + number;
    } else {
      all.push_back({number, answers});
    }
  }
  return all;
}

std::string table() {
  const Types ruled = types_with(&operators::Facts::shape);
  std::ostringstream out;
  out << "| operator | sets | shaped | aliased | streamed | run | generated "
         "|\n|---|---|---|---|---|---|---|\n";
  for (const auto& [type, sets] : operator_sets()) {
    for (const SetsAlike& it : answers_by_sets(type, sets, ruled.contains(type))) {
      out << "| " << type << " | " << it.sets << " | " << it.answers.shaped << " | " << it.answers.aliased
          << " | " << it.answers.streamed << " | " << it.answers.run << " | " << it.answers.generated
          << " |\n";
    }
  }
  return out.str();
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in.is_open()) << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(OnnxOperators, ThePageIsWhatTheProductAnswers) {
  if (testing::is_in_a_hurry()) GTEST_SKIP() << "is slow under sanitizers";
  const std::string file = STOWAGE_DOCS "/onnx-operators.md";
  const std::string page = text_of(file);
  const std::size_t begin = page.find("| operator |");
  ASSERT_NE(begin, std::string::npos);
  const std::string expected = page.substr(0, begin) + table();
  if (std::getenv("STOWAGE_WRITE_TABLES") != nullptr) {
    std::ofstream(file) << expected;
    GTEST_SKIP() << file << " is written";
  }
  EXPECT_TRUE(page == expected) << file << " is old: run this test with STOWAGE_WRITE_TABLES=1";
}

/// A kernel, a copy or rows for a type that no operator has: a misspelt name.
TEST(OnnxOperators, TablesNameOperatorsThatExist) {
  const auto sets = operator_sets();
  for (const Types& types : {types_of(kernels::onnx_kernels()), types_of(kernels::dnnl_kernels()),
                             types_with(&operators::Facts::copies)})
    for (const std::string& type : types) EXPECT_TRUE(sets.contains(type)) << type;
}

}  // namespace
}  // namespace stowage
