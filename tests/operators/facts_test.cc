// The rows of the table of operators: that each operator has one, and that what a row says fits together.

#include "operators/facts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "kernels/kernels.h"
#include "stowage/network.h"

namespace stowage {
namespace {

using operators::Facts;
using operators::Format;
using operators::InPlace;
using operators::Keeps;

std::string_view name_of(const Facts& row) { return row.onnx.empty() ? row.tflite : row.onnx; }

TEST(Facts, ANameOfAFormatHasOneRow) {
  std::map<std::string_view, int> onnx;
  std::map<std::string_view, int> tflite;
  for (const Facts* const row : operators::all_facts()) {
    EXPECT_FALSE(row->onnx.empty() && row->tflite.empty());
    ++onnx[row->onnx];
    ++tflite[row->tflite];
  }
  onnx.erase("");
  tflite.erase("");
  for (const auto& [name, rows] : onnx) EXPECT_EQ(rows, 1) << name;
  for (const auto& [name, rows] : tflite) EXPECT_EQ(rows, 1) << name;
  EXPECT_GT(onnx.size(), 270U);
  EXPECT_GT(tflite.size(), 140U);
}

/// Of a graph, whose format nobody knows, a name has the row of its format, but for these.
TEST(Facts, FewNamesAreInBothFormats) {
  std::set<std::string_view> both;
  for (const Facts* const row : operators::all_facts()) {
    if (row->tflite.empty()) continue;
    const operators::Named named = operators::facts_of(row->tflite);
    if (named.format == Format::onnx) {
      both.insert(row->tflite);
    } else {
      EXPECT_EQ(&named.facts, row) << row->tflite;
    }
  }
  EXPECT_EQ(both, (std::set<std::string_view>{"LSTM", "RNN"}));
}

/// What an operator multiplies, whose inputs have these shapes; an empty one is left out.
std::optional<std::int64_t> multiplies(const std::string& type, const std::vector<Shape>& inputs) {
  Graph graph;
  Operator op{.type = type};
  const auto add = [&](const Shape& shape) {
    Bytes bytes = 4;
    for (const std::int64_t extent : shape) bytes *= extent;
    graph.tensors.push_back({.name = "t" + std::to_string(graph.tensors.size()), .bytes = bytes});
    graph.tensors.back().shape = shape;
    return graph.tensors.size() - 1;
  };
  for (const Shape& shape : inputs)
    op.inputs.push_back(shape.empty() ? std::nullopt : std::optional<TensorId>(add(shape)));
  op.outputs.emplace_back(add(inputs[0]));
  graph.subgraphs.emplace_back().operators.push_back(op);
  Network network{.input = {.content = graph}, .details = {{OperatorDetails{}}}};
  network.quantizations.resize(graph.tensors.size());
  add_rows(network);
  return network.graph().subgraphs[0].operators[0].multiplies;
}

/// Each step multiplies each weight with the input or the state, for each element of the batch.
TEST(Facts, RecurrentOperatorsCountWhatTheyMultiply) {
  // 7 steps of a batch of 2; 3 inputs, 5 hidden
  const Shape sequence{7, 2, 3};
  EXPECT_EQ(multiplies("LSTM", {sequence, {1, 20, 3}, {1, 20, 5}, {1, 40}}), 7 * 2 * 20 * (3 + 5));
  EXPECT_EQ(multiplies("LSTM", {sequence, {2, 20, 3}, {2, 20, 5}}), 2 * 7 * 2 * 20 * (3 + 5));
  EXPECT_EQ(multiplies("GRU", {sequence, {1, 15, 3}, {1, 15, 5}}), 7 * 2 * 15 * (3 + 5));
  EXPECT_EQ(multiplies("RNN", {sequence, {1, 5, 3}, {1, 5, 5}}), 7 * 2 * 5 * (3 + 5));
  EXPECT_EQ(multiplies("com.microsoft.DynamicQuantizeLSTM", {sequence, {1, 3, 20}, {1, 5, 20}}),
            7 * 2 * 20 * (3 + 5));
  const Shape in{5, 3};
  const Shape of_state{5, 5};
  const Shape bias{5};
  EXPECT_EQ(
      multiplies("UNIDIRECTIONAL_SEQUENCE_LSTM", {sequence, in, in, in, in, of_state, of_state, of_state,
                                                  of_state, bias, bias, bias, bias, bias, bias, bias}),
      7 * 2 * 20 * (3 + 5));
  EXPECT_EQ(multiplies("UNIDIRECTIONAL_SEQUENCE_LSTM",
                       {sequence, {}, in, in, in, {}, of_state, of_state, of_state}),
            7 * 2 * 15 * (3 + 5));
  EXPECT_EQ(multiplies("LSTM", {{2, 3}, {2, 5}, {20, 8}, {20}, {2, 5}}), 2 * 20 * 8);
  EXPECT_EQ(multiplies("UNIDIRECTIONAL_SEQUENCE_RNN", {sequence, in, of_state, bias, {2, 5}}),
            7 * 2 * 5 * (3 + 5));
  EXPECT_EQ(multiplies("BIDIRECTIONAL_SEQUENCE_RNN",
                       {sequence, in, of_state, bias, {2, 5}, in, of_state, bias, {2, 5}}),
            2 * 7 * 2 * 5 * (3 + 5));
  EXPECT_EQ(multiplies("SVDF", {{2, 3}, {8, 3}, {8, 10}, {8}, {2, 80}}), 2 * 8 * (3 + 10));
}

/// In docs/onnx-operators.md and in the table of the standard's operator sets.
TEST(Facts, EveryOperatorOfOnnxHasARow) {
  std::ifstream sets(STOWAGE_ORACLE "/onnx_versions.txt");
  ASSERT_TRUE(sets.is_open());
  std::set<std::string> types;
  for (std::string line; std::getline(sets, line);) types.insert(line.substr(0, line.find(' ')));
  std::ifstream page(STOWAGE_DOCS "/onnx-operators.md");
  ASSERT_TRUE(page.is_open());
  const std::regex first(R"(^\| ([\w.]+) \| .*)");
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (std::regex_match(line, match, first)) types.insert(match[1]);
  }
  types.erase("operator");
  EXPECT_GT(types.size(), 200U);
  for (const std::string& type : types) EXPECT_NE(operators::find_facts(Format::onnx, type), nullptr) << type;
}

/// The runner has kernels for no operator that planners do not know.
TEST(Facts, EveryKernelHasARow) {
  for (const auto& [type, kernel] : kernels::onnx_kernels())
    EXPECT_NE(operators::find_facts(Format::onnx, type), nullptr) << type;
  for (const auto& [type, kernel] : kernels::tflite_kernels())
    EXPECT_NE(operators::find_facts(Format::tflite, type), nullptr) << type;
}

TEST(Facts, ARowFitsTogether) {
  for (const Facts* const row : operators::all_facts()) {
    const std::string_view name = name_of(*row);
    const bool has_rows = row->rows != nullptr;
    EXPECT_TRUE(has_rows || (!row->counts_rows && !row->splits && row->keeps == Keeps::nothing)) << name;
    EXPECT_TRUE(has_rows || row->sums == nullptr) << name;
    EXPECT_EQ(row->reduces != nullptr && row->sums == nullptr, false) << name;
    EXPECT_TRUE(!row->adds_taps || row->windows.weights != 0) << name;
    EXPECT_TRUE(row->windows.weights == 0 || row->windows.axis != 0) << name;
    EXPECT_TRUE(!row->is_left_alone || row->copies != nullptr) << name;
    EXPECT_TRUE(row->keeps != Keeps::elements || row->copies != nullptr) << name;
  }
}

/// A custom operator of a file may have the name of another one, whose facts do not hold for it.
TEST(Facts, CustomOperatorsHaveNone) {
  EXPECT_EQ(operators::facts_of("custom.RELU").facts.in_place, InPlace::never);
  EXPECT_EQ(operators::facts_of("MyOperator").facts.shape, nullptr);
}

}  // namespace
}  // namespace stowage
