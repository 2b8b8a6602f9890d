// docs/onnx-operators.md says what is done with every operator of every set. For each, a small call of it is
// given to reader, planner, runner and generator: STOWAGE_WRITE_TABLES=1 writes their answers, otherwise they
// are compared.

#include <gtest/gtest.h>

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
#include "operator_answers.h"
#include "operators/facts.h"
#include "stowage/error.h"
#include "stowage/network.h"

namespace stowage {
namespace {

using testing::Answers;
using testing::Form;

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

/// Asks reader, planner, runner and generator about a call of the operator.
Answers answers_of(const std::string& type, int operator_set, bool has_rule, testing::GeneratedCalls& calls) {
  const auto model = testing::sample_of(type, operator_set);
  if (!model) return {.planned = has_rule ? "partly" : "-"};
  std::optional<Network> network;
  try {
    network = parse_network(model->SerializeAsString(), "x.onnx");
  } catch (const Error& error) {
    const bool is_open =
        std::string_view(error.what()).find("has no known dimension") != std::string_view::npos;
    return {.planned = is_open ? "partly" : "-"};
  }
  return testing::answers_about(*network, type, calls);
}

std::vector<Form> forms_of(const std::string& type, const std::vector<OperatorSet>& sets, bool has_rule,
                           testing::GeneratedCalls& calls) {
  std::vector<Form> forms;
  for (const OperatorSet& set : sets) {
    const std::string number = std::to_string(set.number) + (set.ends ? " (ended)" : "");
    forms.push_back({number, answers_of(type, set.number, has_rule, calls)});
  }
  return forms;
}

TEST(OnnxOperators, ThePageIsWhatTheProductAnswers) {
  if (testing::is_in_a_hurry()) GTEST_SKIP() << "is slow under sanitizers";
  const Types ruled = types_with(&operators::Facts::shape);
  std::string rows;
  testing::GeneratedCalls calls;
  for (const auto& [type, sets] : operator_sets())
    rows += testing::rows_of(type, forms_of(type, sets, ruled.contains(type), calls));
  calls.expect_right();
  testing::expect_page_has(STOWAGE_DOCS "/onnx-operators.md", "sets", rows);
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
