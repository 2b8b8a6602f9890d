// Numbers over a graph: those of the plan, by names of tensors.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

/// x 16 -> a 64 -> b 32 -> y 16: the peak is while b is written.
Plan numbered_chain() {
  const std::string graph = R"({"format": "stowage-graph", "version": 1,
    "tensors": [{"name": "x", "bytes": 16}, {"name": "a", "bytes": 64}, {"name": "b", "bytes": 32},
                {"name": "y", "bytes": 16}],
    "subgraphs": [{"inputs": ["x"], "outputs": ["y"],
                   "operators": [{"type": "Run", "inputs": ["x"], "outputs": ["a"]},
                                 {"type": "Run", "inputs": ["a"], "outputs": ["b"]},
                                 {"type": "Run", "inputs": ["b"], "outputs": ["y"]}]}]})";
  PlanOptions options;
  options.alignment = 1;
  return make_plan(parse_input(graph, "chain.json"), options).plan;
}

nlohmann::json overlay_of(const Plan& plan, Overlay overlay) {
  std::ostringstream out;
  write_overlay(plan, overlay, out);
  return nlohmann::json::parse(out.str());
}

TEST(Overlay, HasNumbersOfThePlan) {
  const Plan plan = numbered_chain();
  const nlohmann::json live = overlay_of(plan, Overlay::live).at("results");
  EXPECT_EQ(live.at("a").at("value"), 80);
  EXPECT_EQ(live.at("b").at("value"), 96);
  EXPECT_EQ(live.at("y").at("value"), 48);
  const nlohmann::json peak = overlay_of(plan, Overlay::peak).at("results");
  EXPECT_EQ(peak.at("a").at("value"), 64);
  EXPECT_EQ(peak.at("b").at("value"), 32);
  EXPECT_EQ(peak.at("y").at("value"), 0);
  EXPECT_TRUE(peak.at("a").contains("bgColor"));
  EXPECT_FALSE(peak.at("y").contains("bgColor"));
  const nlohmann::json offset = overlay_of(plan, Overlay::offset).at("results");
  for (const PlannedTensor& it : plan.tensors) {
    const View& view = it.views.at(0);
    EXPECT_EQ(offset.at(it.tensor.name).at("value"), plan.places[view.buffer].offset + view.offset);
  }
}

TEST(Overlay, IsForOneModel) {
  const Plan listed = make_plan(parse_input("id,lower,upper,size\na,0,2,64\n", "list.csv")).plan;
  EXPECT_THROW(static_cast<void>(overlay_of(listed, Overlay::live)), UsageError);
}

}  // namespace
}  // namespace stowage
