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
