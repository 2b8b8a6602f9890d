// docs/onnx-operators.md says what is done with every operator. It is made from the tables in the code:
// STOWAGE_WRITE_TABLES=1 writes it, otherwise it is compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "generate/sources.h"
#include "import/onnx_copies.h"
#include "import/onnx_rules.h"
#include "kernels/kernels.h"
#include "model/in_place.h"
#include "model/row_rules.h"

namespace stowage {
namespace {

using Types = std::set<std::string, std::less<>>;

Types set_of(const std::vector<std::string_view>& types) { return {types.begin(), types.end()}; }

Types types_of(const kernels::KernelTable& table) {
  Types types;
  for (const auto& kernel : table) types.emplace(kernel.first);
  return types;
}

/// Operators that `stowage generate` writes as C.
Types generated_types() {
  Types types;
  for (const auto part : {generate::window_operators, generate::pool_operators, generate::element_operators,
                          generate::movement_operators, generate::reduction_operators,
                          generate::resizing_operators, generate::onnx_operators}) {
    for (const generate::EmitEntry& entry : part()) types.emplace(entry.type);
  }
  return types;
}

/// Operators with bodies, which are shaped and run by what their bodies do (import/onnx_shapes.cc, run/control.cc).
const Types shaped_by_body{"If", "Loop", "Scan"};
const Types run_by_body{"If", "Loop"};

/// The operator sets that define or change each operator of the standard. Those of a runtime have one: 1.
std::map<std::string, std::string> operator_sets() {
  std::map<std::string, std::string> all;
  std::ifstream file(STOWAGE_ORACLE "/onnx_versions.txt");
  EXPECT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.find(' ');
    std::string sets = line.substr(space + 1);
    for (std::size_t at = sets.find(' '); at != std::string::npos; at = sets.find(' ', at + 2))
      sets.replace(at, 1, ", ");
    if (sets.ends_with('x')) sets = sets.substr(0, sets.size() - 1) + " (ended)";
    all.emplace(line.substr(0, space), sets);
  }
  for (const std::string_view type : import::types_with_shape_rules()) all.emplace(type, "1");
  return all;
}

std::string table() {
  const Types shaped = set_of(import::types_with_shape_rules());
  const Types copied = set_of(import::types_with_copies());
  const Types in_place = set_of(model::types_updated_in_place());
  const Types with_rows = set_of(model::types_with_rows());
  const Types plain = types_of(kernels::onnx_kernels());
  const Types fast = types_of(kernels::dnnl_kernels());
  const Types generated = generated_types();
  std::ostringstream out;
  out << "| operator | sets | shaped | aliased | streamed | run | generated "
         "|\n|---|---|---|---|---|---|---|\n";
  for (const auto& [type, sets] : operator_sets()) {
    const bool is_shaped = shaped.contains(type) || shaped_by_body.contains(type);
    const bool is_run = plain.contains(type) || run_by_body.contains(type);
    out << "| " << type << " | " << sets << " | " << (is_shaped ? "yes" : "-") << " | "
        << (copied.contains(type)     ? "copy"
            : in_place.contains(type) ? "in place"
                                      : "-")
        << " | " << (with_rows.contains(type) ? "yes" : "-") << " | "
        << (fast.contains(type) ? "fast"
            : is_run            ? "yes"
                                : "-")
        << " | " << (generated.contains(type) ? "yes" : "-") << " |\n";
  }
  return out.str();
}

TEST(OnnxOperators, ThePageIsWhatTheTablesSay) {
  const std::string file = STOWAGE_DOCS "/onnx-operators.md";
  std::ifstream page(file);
  ASSERT_TRUE(page.is_open());
  std::ostringstream text;
  text << page.rdbuf();
  const std::size_t begin = text.str().find("| operator |");
  ASSERT_NE(begin, std::string::npos);
  const std::string expected = text.str().substr(0, begin) + table();
  if (std::getenv("STOWAGE_WRITE_TABLES") != nullptr) {
    std::ofstream(file) << expected;
    GTEST_SKIP() << file << " is written";
  }
  EXPECT_TRUE(text.str() == expected) << file << " is old: run this test with STOWAGE_WRITE_TABLES=1";
}

/// A kernel, a copy or rows for a type that no operator has: a misspelt name.
TEST(OnnxOperators, TablesNameOperatorsThatExist) {
  const auto sets = operator_sets();
  for (const Types& types : {types_of(kernels::onnx_kernels()), types_of(kernels::dnnl_kernels()),
                             set_of(import::types_with_copies())})
    for (const std::string& type : types) EXPECT_TRUE(sets.contains(type)) << type;
}

}  // namespace
}  // namespace stowage
