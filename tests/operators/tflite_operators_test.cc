// docs/tflite-operators.md says what is done with every operator of TFLite. For each, a small call of it is given to
// reader, planner, runner and generator: STOWAGE_WRITE_TABLES=1 writes their answers, otherwise they are
// compared.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "long_tests.h"
#include "operator_answers.h"
#include "operators/facts.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "tflite_samples.h"

namespace stowage {
namespace {

using testing::Answers;
using testing::Form;

/// Their parts are in several subgraphs, which docs/tflite.md is about.
const std::set<std::string_view> of_several_subgraphs{"ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE",
                                                      "WHILE"};

/// Those with a row, and whether it has a rule for sizes.
std::map<std::string, bool> tflite_types() {
  std::map<std::string, bool> types;
  for (const operators::Facts* const row : operators::all_facts()) {
    if (!row->tflite.empty() && !of_several_subgraphs.contains(row->tflite))
      types.emplace(row->tflite, row->shape != nullptr);
  }
  return types;
}

Answers answers_of(const std::string& type, const testing::TfliteSample& sample,
                   testing::GeneratedCalls& calls) {
  try {
    return testing::answers_about(parse_network(sample.content, "x.tflite", sample.options), type, calls);
  } catch (const Error& error) {
    const std::string_view problem = error.what();
    const bool is_open = problem.find("has no known dimension") != std::string_view::npos ||
                         problem.find("--shape") != std::string_view::npos;
    EXPECT_TRUE(is_open) << type << ": " << problem;
    return {.planned = "partly"};
  }
}

std::vector<Form> forms_of(const std::string& type, bool has_rule, testing::GeneratedCalls& calls) {
  std::vector<Form> forms;
  for (const DType elements : {DType::float32, DType::int8, DType::uint8, DType::int16}) {
    if (const auto sample = testing::tflite_sample_of(type, elements))
      forms.push_back({std::string(name_of(elements)), answers_of(type, *sample, calls)});
  }
  if (forms.empty()) forms.push_back({"all", {.planned = has_rule ? "partly" : "-"}});
  return forms;
}

TEST(TfliteOperators, ThePageIsWhatTheProductAnswers) {
  if (testing::is_in_a_hurry()) GTEST_SKIP() << "is slow under sanitizers";
  std::string rows;
  testing::GeneratedCalls calls;
  for (const auto& [type, has_rule] : tflite_types())
    rows += testing::rows_of(type, forms_of(type, has_rule, calls));
  calls.expect_right();
  testing::expect_page_has(STOWAGE_DOCS "/tflite-operators.md", "elements", rows);
}

/// What runs has a call, so that the page shows it. DENSIFY needs a sparse constant.
TEST(TfliteOperators, EveryKernelHasASample) {
  const std::set<std::string_view> without{"DENSIFY", "BIDIRECTIONAL_SEQUENCE_LSTM",
                                           "BIDIRECTIONAL_SEQUENCE_RNN"};
  for (const auto& [type, kernel] : kernels::tflite_kernels()) {
    if (of_several_subgraphs.contains(type) || without.contains(type)) continue;
    const bool has_sample = testing::tflite_sample_of(type, DType::float32).has_value() ||
                            testing::tflite_sample_of(type, DType::int8).has_value();
    EXPECT_TRUE(has_sample) << type;
  }
}

}  // namespace
}  // namespace stowage
