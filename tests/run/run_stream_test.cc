// Operators that run row by row: in whatever order, and wherever their rows lie, they give what they give
// alone. Every type of operator that has rows is here, told whatever may decide which rows it reads.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/kernels.h"
#include "long_tests.h"
#include "operators/facts.h"
#include "row_calls.h"

namespace stowage {
namespace {

using testing::Call;
using testing::expect_planned_stream;
using testing::expect_streams;

/// Types with rows that no kernel runs.
const std::set<std::string, std::less<>> without_kernels{"ATAN2", "BITWISE_XOR", "RIGHT_SHIFT", "SIGN"};

/// Every so many of the calls: types have one to thirty each, in a row.
std::vector<Call> some_of(std::vector<Call> calls, std::size_t every) {
  std::size_t seen = 0;
  std::erase_if(calls, [&](const Call&) { return seen++ % every != 0; });
  return calls;
}

/// All calls, or a fifth of them in a hurry.
std::vector<Call> calls_for_the_time(std::vector<Call> calls) {
  return some_of(std::move(calls), testing::is_in_a_hurry() ? 5 : 1);
}

/// All calls if there is time, else a third of them, or a fifth in a hurry: each is planned.
std::vector<Call> calls_to_plan() {
  return some_of(testing::all_row_calls(), testing::is_in_a_hurry() ? 5 : testing::has_time() ? 1 : 3);
}

/// Each type counts something. In a hurry, when not all calls of a type are tried, some type does.
void expect_each_type(const std::map<std::string, int>& counts) {
  int all = 0;
  for (const auto& [type, count] : counts) {
    all += count;
    if (testing::is_in_a_hurry()) continue;
    EXPECT_GT(count, 0) << type;
  }
  EXPECT_GT(all, 0);
}

void expect_all_stream(const std::vector<Call>& all) {
  std::map<std::string, int> plans;
  const std::vector<Call> calls = calls_for_the_time(all);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(calls[i].type + ", call " + std::to_string(i));
    plans[calls[i].type] += expect_streams(calls[i]);
  }
  expect_each_type(plans);
}

TEST(RunStream, Elementwise) { expect_all_stream(testing::elementwise_calls()); }

TEST(RunStream, OnnxWindows) { expect_all_stream(testing::onnx_window_calls()); }

TEST(RunStream, OnnxResizing) { expect_all_stream(testing::onnx_resize_calls()); }

TEST(RunStream, OnnxRows) { expect_all_stream(testing::onnx_row_calls()); }

TEST(RunStream, TfliteRows) { expect_all_stream(testing::tflite_row_calls()); }

TEST(RunStream, AlongAxes) { expect_all_stream(testing::calls_along_axes()); }

TEST(RunStream, RowsChangeOnlyWithRowsThatTheyRead) {
  std::map<std::string, int> pairs;
  for (const Call& call : calls_for_the_time(testing::all_row_calls()))
    pairs[call.type] += testing::expect_honest(call);
  expect_each_type(pairs);
}

TEST(RunStream, StatesComeFromRowsBefore) {
  std::map<std::string, int> pairs;
  for (const Call& call : testing::calls_along_axes())
    pairs[call.type] += testing::expect_honest_states(call);
  for (const char* const type : {"RNN", "GRU", "LSTM"}) EXPECT_GT(pairs[type], 0) << type;
}

/// Each type of norm over its rows, and each network that runs through a sequence, streams along that axis.
TEST(RunStream, RowsThatCarryABufferRunAsPlanned) {
  std::map<std::string, int> twice;
  std::map<std::string, int> states;
  for (const Call& call : testing::calls_along_axes()) {
    const Network network = testing::network_of(call);
    for (const CarriedAxis& along : network.graph().subgraphs[0].operators[0].carries)
      ++(along.reads_twice ? twice : states)[call.type];
  }
  for (const char* const type : {"InstanceNormalization", "GroupNormalization", "LayerNormalization",
                                 "RMSNormalization", "Softmax", "LogSoftmax", "LpNormalization"})
    EXPECT_GT(twice[type], 0) << type;
  for (const char* const type : {"RNN", "GRU", "LSTM"}) EXPECT_GT(states[type], 0) << type;
  EXPECT_EQ(states.size(), 3);
}

/// Sums have 32 bits. Integers may wrap around in them, unless something is made of the total.
TEST(RunStream, IntegersAreSummedUpOnlyForTheirTotal) {
  for (const char* const type : {"ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceMean",
                                 "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) {
    const std::string name = type;
    const bool is_total =
        name == "ReduceSum" || name == "ReduceProd" || name == "ReduceL1" || name == "ReduceSumSquare";
    for (const DType dtype : {DType::float32, DType::float16, DType::int32, DType::int8}) {
      const bool is_real = dtype == DType::float32 || dtype == DType::float16;
      const Network network = testing::network_of({.type = type,
                                                   .data = {{5, 3}},
                                                   .constants = {testing::integers({0})},
                                                   .output = {1, 3},
                                                   .version = 18,
                                                   .dtypes = {dtype},
                                                   .output_dtype = dtype});
      EXPECT_EQ(network.graph().subgraphs[0].operators[0].sums_over.empty(), !is_total && !is_real) << type;
    }
  }
}

TEST(RunStream, EveryTypeWithRowsIsRun) {
  std::set<std::string, std::less<>> run = without_kernels;
  for (const Call& call : testing::all_row_calls()) run.insert(call.type);
  for (const operators::Facts* const row : operators::all_facts()) {
    if (row->rows == nullptr) continue;
    for (const std::string_view type : {row->onnx, row->tflite})
      EXPECT_TRUE(type.empty() || run.contains(type)) << type;
  }
  for (const std::string& type : without_kernels) {
    EXPECT_FALSE(kernels::tflite_kernels().contains(type)) << type;
    EXPECT_FALSE(kernels::onnx_kernels().contains(type)) << type;
  }
}

/// All ways to plan a network, or one after the other where there is no time for all. Returns how many of the
/// plans run rows.
int expect_planned(const Network& network, std::size_t& next, const std::string& what) {
  const std::size_t ways = testing::has_time() ? testing::ways_to_plan : 1;
  int count = 0;
  for (std::size_t i = 0; i < ways; ++i)
    count += expect_planned_stream(network, next++ % testing::ways_to_plan, what) ? 1 : 0;
  return count;
}

TEST(RunStream, PlannedByTheirOwn) {
  int count = 0;
  std::size_t next = 0;
  for (const Call& call : calls_to_plan()) count += expect_planned(network_of(call), next, call.type);
  EXPECT_GT(count, 0);
}

TEST(RunStream, PlannedBetweenConvolutions) {
  int count = 0;
  std::size_t next = 0;
  for (const Call& call : calls_to_plan()) {
    if (const auto network = network_between_convolutions(call))
      count += expect_planned(*network, next, "convolutions around " + call.type);
  }
  if (!testing::is_in_a_hurry()) {  // else there may be no time to find rows
    EXPECT_GT(count, 0);
  }
}

}  // namespace
}  // namespace stowage
