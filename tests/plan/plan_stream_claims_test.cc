// What a plan by rows, or one that was asked for rows and has none, says about itself: claims cover what was tried and
// no more, what was asked for and left out is named, and so is a search that was cut short.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "onnx_models.h"
#include "row_sketch.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/report.h"

namespace stowage {
namespace {

Input json_input(Graph graph) {
  Input input{.info = {"net", "net.json", ModelFormat::json}};
  input.content = std::move(graph);
  return input;
}

PlanOptions with_effort(std::int64_t effort, Io io = Io::rows, Bytes alignment = 1) {
  PlanOptions options;
  options.io = io;
  options.alignment = alignment;
  options.stream.emplace();
  options.solve.effort = effort;
  return options;
}

Plan sound_plan(const Input& input, const PlanOptions& options) {
  PlanResult result = make_plan(input, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
  return std::move(result.plan);
}

const Claim* claim_in(const Plan& plan, ClaimScope scope) {
  const auto found = std::ranges::find(plan.claims, scope, &Claim::scope);
  return found == plan.claims.end() ? nullptr : &*found;
}

std::string summary_of(const Plan& plan) {
  std::ostringstream out;
  write_summary(plan, out);
  return out.str();
}

std::string page_of(const Plan& plan) {
  const std::vector<ReportedPlan> plans{{.plan = plan}};
  std::ostringstream out;
  write_report(plans, {}, out);
  return out.str();
}

/// Windows of 3 rows over images of so many rows, one after the other.
Graph windows(std::int64_t rows, int count) {
  cases::RowSketch sketch;
  TensorId x = sketch.input("x", {rows, 8});
  for (int i = 0; i < count; ++i) {
    sketch.add("Conv", {x}, {rows, 8}).row_axes = {
        {.axis = 0, .reads = {{.rows = {.offset = -1, .taps = 3}}}, .is_windows = true}};
    x = sketch.last();
  }
  sketch.finish();
  return sketch.graph;
}

Graph one_relu() {
  cases::RowSketch sketch;
  sketch.elementwise("Relu", {sketch.input("x", {4, 2})}, 0);
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamClaims, NoLongerSearchRefutesAClaim) {
  for (const char* const file : {"heads.json", "windows.json"}) {
    const Input input = read_input(std::string(STOWAGE_EXAMPLES "/") + file);
    std::map<std::int64_t, Plan> plans;
    Bytes lowest = std::numeric_limits<Bytes>::max();
    for (const std::int64_t effort : {1, 3, 5, 10, 20, 35, 50, 200, 1000, 5000}) {
      const Plan plan = sound_plan(input, with_effort(effort));
      EXPECT_LE(plan.summary.peak, lowest) << file << ": more effort, a higher peak at " << effort;
      lowest = std::min(lowest, plan.summary.peak);
      plans.emplace(effort, plan);
    }
    for (const auto& [effort, plan] : plans) {
      const Claim* const claim = claim_in(plan, ClaimScope::stream);
      EXPECT_LE(claim == nullptr ? 0 : claim->lower_bound, lowest) << file << ", effort " << effort;
      if (plan.summary.peak > lowest) {
        EXPECT_TRUE(plan.interrupted) << file << ", effort " << effort;
        EXPECT_NE(summary_of(plan).find("cut short"), std::string::npos);
        EXPECT_TRUE(claim == nullptr || !claim->proven_optimal) << file << ", effort " << effort;
      }
    }
  }
}

/// A search with more effort begins with all that one with less does.
TEST(PlanStreamClaims, MoreEffortNeverRaisesThePeak) {
  int falls = 0;
  const auto try_all = [&](const Input& input, PlanOptions options) {
    Bytes least = largest_value;
    for (const std::int64_t effort : {1, 2, 4, 8, 15, 30, 60, 120, 180}) {
      options.solve = {.effort = effort, .threads = 1};
      const PlanResult result = make_plan(input, options);
      EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
      EXPECT_LE(result.plan.summary.peak, least) << input.info.name << " with " << effort;
      falls += result.plan.summary.peak < least && least < largest_value ? 1 : 0;
      least = std::min(least, result.plan.summary.peak);
    }
  };
  for (const Io io : {Io::arena, Io::rows}) {
    PlanOptions options;
    options.io = io;
    options.stream.emplace();
    for (const char* const file : {"classifier.onnx", "heads.json", "windows.json"})
      try_all(read_input(std::string(STOWAGE_EXAMPLES "/") + file), options);
    options.stream->recompute = 1.3;
    testing::Random random(11);
    for (int i = 0; i < 3; ++i) try_all(testing::random_images(random).input, options);
  }
  EXPECT_GT(falls, 4) << "the networks are too easy to tell";
}

/// A peak that is proven is not cut short, whatever the search still looked for.
TEST(PlanStreamClaims, ThatAreProvenAreNotCutShort) {
  Plan plan = make_plan(parse_input("id,lower,upper,size\na,0,2,64\nb,1,3,32\n", "list.csv")).plan;
  plan.interrupted = true;
  EXPECT_FALSE(is_cut_short(plan));
  EXPECT_NE(summary_of(plan).find("proven optimal\n"), std::string::npos) << summary_of(plan);
  EXPECT_EQ(summary_of(plan).find("cut short"), std::string::npos) << summary_of(plan);
  plan.summary.lower_bound = 1;
  EXPECT_TRUE(is_cut_short(plan));
  EXPECT_NE(summary_of(plan).find(", cut short\n"), std::string::npos) << summary_of(plan);
}

TEST(PlanStreamClaims, WholeOperatorsInsteadOfRowsSayWhy) {
  const Input input = json_input(windows(3000, 4));
  for (const Io io : {Io::arena, Io::rows}) {
    const Plan plan = sound_plan(input, with_effort(1, io, 64));
    ASSERT_FALSE(plan.streaming);
    EXPECT_TRUE(plan.interrupted);
    ASSERT_NE(left_out(plan, Wish::rows), nullptr);
    EXPECT_EQ(left_out(plan, Wish::io_rows) != nullptr, io == Io::rows);
    EXPECT_EQ(claim_in(plan, ClaimScope::stream), nullptr);
    const std::string text = summary_of(plan);
    EXPECT_NE(text.find("proven optimal for whole operators; the search for rows was cut short\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("left out     rows: the effort ended"), std::string::npos) << text;
    EXPECT_NE(text.find("may help: a higher --effort, --granule 8, --axes natural"), std::string::npos)
        << text;
    EXPECT_NE(text.find("cut short"), std::string::npos) << text;
    const std::string page = page_of(plan);
    EXPECT_NE(page.find(R"("proof":"operators")"), std::string::npos);
    EXPECT_NE(page.find("rows: the effort ended"), std::string::npos);
    std::ostringstream json;
    write_json(plan, json);
    EXPECT_EQ(parse_plan(json.str()), plan);
  }
}

TEST(PlanStreamClaims, WholeOperatorsThatFitSaySo) {
  const Input input = json_input(windows(50, 3));
  PlanOptions options = with_effort(2000, Io::arena);
  options.memories[0].capacity = 1'000'000;
  const Plan plan = sound_plan(input, options);
  ASSERT_FALSE(plan.streaming);
  ASSERT_NE(left_out(plan, Wish::rows), nullptr);
  EXPECT_EQ(left_out(plan, Wish::rows)->why, "whole operators fit the capacity");
  options.memories[0].capacity.reset();
  options.io = Io::external;
  const Plan outside = sound_plan(json_input(one_relu()), options);
  EXPECT_EQ(outside.summary.peak, 0);
  EXPECT_EQ(left_out(outside, Wish::rows)->why, "no rows with a lower peak were found");
  options.memories[0].capacity = 1'000'000;
  options.io = Io::rows;  // rows that arrive one by one are asked for whatever fits
  const Plan by_rows = sound_plan(input, options);
  EXPECT_TRUE(by_rows.streaming);
  EXPECT_EQ(left_out(by_rows, Wish::io_rows), nullptr);
}

TEST(PlanStreamClaims, RowsThatGainNothingLeaveAProofForAll) {
  const Input input = json_input(one_relu());
  PlanOptions options = with_effort(2000, Io::arena);
  const Plan plan = sound_plan(input, options);
  ASSERT_FALSE(plan.streaming);
  EXPECT_FALSE(plan.interrupted);
  ASSERT_NE(left_out(plan, Wish::rows), nullptr);
  ASSERT_NE(claim_in(plan, ClaimScope::stream), nullptr);
  EXPECT_TRUE(claim_in(plan, ClaimScope::stream)->proven_optimal);
  EXPECT_NE(summary_of(plan).find("gap          0 %, proven optimal\n"), std::string::npos)
      << summary_of(plan);
  options.stream->layout = StreamLayout::ring;
  const Plan rings = sound_plan(input, options);
  ASSERT_NE(left_out(rings, Wish::rings), nullptr);
  EXPECT_NE(left_out(rings, Wish::rings)->why.find("rings"), std::string::npos);
}

TEST(PlanStreamClaims, ACurveSaysWhichOfItsPlansWereCutShort) {
  const Input input = json_input(windows(60, 4));
  PlanOptions options = with_effort(300);
  options.stream->recompute_from = 1;
  options.stream->recompute = 2;
  const Plan plan = sound_plan(input, options);
  ASSERT_TRUE(plan.streaming);
  const auto& curve = plan.streaming->curve;
  EXPECT_EQ(plan.interrupted, std::ranges::any_of(curve, &RecomputePoint::interrupted));
  EXPECT_EQ(plan.streaming->recompute_limit, 2) << "no claim covers rows that more multiplies allow";
}

TEST(PlanStreamClaims, ComparisonsSayWhatIsLeftOut) {
  const Input input = json_input(windows(3000, 4));
  const std::vector<Comparison> all = compare(input, with_effort(0));
  for (const Comparison& it : all) {
    EXPECT_EQ(it.left_out.empty(), !it.obstacle.empty()) << it.strategy;
  }
  const std::vector<ModelInfo> models{input.info};
  std::ostringstream out;
  write_comparison(all, models, out);
  EXPECT_NE(out.str().find("without rows"), std::string::npos) << out.str();
}

TEST(PlanStreamClaims, ComparisonsSayWhatIsProvenAlthoughItWasCutShort) {
  const auto remark_on = [](Bytes peak) {
    const Comparison it{.strategy = "exact",
                        .summary = {.peak = peak, .lower_bound = 64, .strategy = "exact"},
                        .interrupted = true};
    std::ostringstream out;
    write_comparison({&it, 1}, {}, out);
    return out.str();
  };
  EXPECT_NE(remark_on(128).find("cut short"), std::string::npos) << remark_on(128);
  EXPECT_EQ(remark_on(64).find("cut short"), std::string::npos) << remark_on(64);
  EXPECT_NE(remark_on(64).find("proven for these buffers"), std::string::npos) << remark_on(64);
}

/// How often the most repeated row of each operator runs.
std::map<std::size_t, int> runs_of(const Plan& plan) {
  std::map<std::pair<std::size_t, std::int64_t>, int> runs;
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const run = std::get_if<Run>(&step);
    if (run != nullptr && run->rows && !run->part) ++runs[{run->path[1], run->rows->begin}];
  }
  std::map<std::size_t, int> most;
  for (const auto& [row, count] : runs) most[row.first] = std::max(most[row.first], count);
  return most;
}

/// A wide image of a narrow one, which windows of 3 rows read.
Graph expansion(std::optional<std::int64_t> multiplies) {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {12, 2});
  sketch.add("Conv", {x}, {12, 40}).row_axes = {{.axis = 0, .reads = {{}}, .is_windows = true}};
  const TensorId wide = sketch.last();
  sketch.add("Conv", {wide}, {12, 2}).row_axes = {
      {.axis = 0, .reads = {{.rows = {.offset = -1, .taps = 3}}}, .is_windows = true, .adds_rows = true}};
  sketch.finish();
  for (Operator& op : sketch.graph.subgraphs[0].operators) op.multiplies = multiplies;
  return sketch.graph;
}

TEST(PlanStreamClaims, OperatorsOfUnknownMultipliesRunOnce) {
  PlanOptions options = with_effort(3000);
  options.stream->recompute = 3;
  std::ostringstream text;
  write_graph(expansion(960), text);
  const Plan known = sound_plan(parse_input(text.str(), "known.json"), options);
  ASSERT_TRUE(known.streaming);
  EXPECT_GT(runs_of(known)[0], 1);
  EXPECT_GT(known.streaming->recomputed, 1);
  EXPECT_LE(known.streaming->recomputed, 3);
  EXPECT_EQ(left_out(known, Wish::recomputation), nullptr);
  std::ostringstream unsaid;
  write_graph(expansion({}), unsaid);
  const Plan unknown = sound_plan(parse_input(unsaid.str(), "unknown.json"), options);
  ASSERT_TRUE(unknown.streaming);
  for (const auto& [op, count] : runs_of(unknown)) EXPECT_EQ(count, 1) << op;
  ASSERT_NE(left_out(unknown, Wish::recomputation), nullptr);
  EXPECT_NE(left_out(unknown, Wish::recomputation)->why.find("2 of 2 operators"), std::string::npos);
}

TEST(PlanStreamClaims, LoadsCountWhatMemoryHolds) {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {5, 7});
  const TensorId scale = sketch.input("scale", {33});
  sketch.input("unread", {401});
  sketch.add("Conv", {x}, {5, 7}).row_axes = {
      {.axis = 0, .reads = {{.rows = {.offset = -1, .taps = 3}}}, .is_windows = true}};
  const TensorId made = sketch.last();
  sketch.add("Scale", {made, scale}, {5, 7}).row_axes = {{.axis = 0, .reads = {{}}}};
  sketch.finish();
  const Plan plan = sound_plan(json_input(sketch.graph), with_effort(3000, Io::arena, 16));
  ASSERT_TRUE(plan.streaming);
  const Claim* claim = claim_in(plan, ClaimScope::stream);
  if (claim == nullptr) claim = claim_in(plan, ClaimScope::rows);
  ASSERT_NE(claim, nullptr);
  EXPECT_GE(plan.streaming->load, 48 + 48 + 416) << "x, scale and what nobody reads";
  EXPECT_GE(plan.streaming->load, claim->lower_bound);
  EXPECT_LE(plan.streaming->load, plan.summary.peak);
}

TEST(PlanStreamClaims, AnAffineScheduleMayHaveLessLoad) {
  const Input input = read_input(STOWAGE_EXAMPLES "/windows.json");
  Plan plan = sound_plan(input, with_effort(2000, Io::rows, 16));
  ASSERT_TRUE(plan.streaming && plan.streaming->affine);
  plan.streaming->affine->is_followed = false;
  plan.streaming->affine->load = plan.streaming->load - 10;
  EXPECT_NE(summary_of(plan).find("this order needs more, by 10 bytes"), std::string::npos)
      << summary_of(plan);
}

TEST(PlanStreamClaims, AWindowOfTooManyRowsRunsAsAWhole) {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {40'000, 1});
  sketch.add("Conv", {x}, {40'000, 1}).row_axes = {
      {.axis = 0, .reads = {{.rows = {.offset = -20'000, .taps = 40'000}}}, .is_windows = true}};
  sketch.finish();
  const Input input = json_input(sketch.graph);
  for (const Io io : {Io::arena, Io::rows}) {
    const Plan plan = sound_plan(input, with_effort(1000, io));
    EXPECT_LE(plan.summary.peak, 80'000);
  }
}

/// The channels of an image change places: whole tensors lie over each other, and another order needs less.
TEST(PlanStreamClaims, HoldForOrdersThatWereNotAskedFor) {
  using testing::node;
  const onnx::ModelProto model = testing::onnx_model(
      {.nodes = {node("LeakyRelu", {"x"}, {"unread"}), node("Floor", {"x"}, {"floor"}),
                 node("Reshape", {"x", "split"}, {"apart"}),
                 node("Transpose", {"apart"}, {"turned"},
                      {testing::attribute("perm", std::vector<std::int64_t>{0, 2, 1, 3, 4})}),
                 node("Reshape", {"turned", "joined"}, {"shuffled"}), node("Neg", {"shuffled"}, {"y"})},
       .inputs = {testing::tensor_value("x", {1, 2, 12, 4})},
       .outputs = {testing::value_of_any_shape("floor"), testing::value_of_any_shape("y")},
       .initializers = {testing::vector_of("split", {1, 2, 1, 12, 4}),
                        testing::vector_of("joined", {1, 2, 12, 4})}});
  const Input input = parse_network(model.SerializeAsString(), "m.onnx", {}).input;
  PlanOptions rows = with_effort(300, Io::arena);
  rows.order = Order::keep;
  rows.alias = Alias::all;
  PlanOptions whole = rows;
  whole.stream.reset();
  whole.order = Order::search;
  const Bytes reached = sound_plan(input, whole).summary.peak;
  const Plan plan = sound_plan(input, rows);
  for (const Claim& claim : plan.claims) {
    if (claim.scope == ClaimScope::stream) {
      EXPECT_LE(claim.lower_bound, reached);
    }
  }
}

/// Rows apart may follow other axes than rows in place, and be lower there.
TEST(PlanStreamClaims, HoldForRowsApartWhereSharingWasAskedFor) {
  using testing::node;
  const onnx::ModelProto model = testing::onnx_model(
      {.nodes = {node("MatMul", {"x", "w"}, {"product"}), node("Abs", {"other"}, {"y"}),
                 node("Pad", {"product", "pads"}, {"padded"},
                      {testing::attribute("mode", std::string("edge"))}),
                 node("Transpose", {"padded"}, {"z"},
                      {testing::attribute("perm", std::vector<std::int64_t>{0, 1, 3, 2})})},
       .inputs = {testing::tensor_value("other", {1, 3, 4, 7}), testing::tensor_value("x", {1, 4, 5, 5})},
       .outputs = {testing::value_of_any_shape("y"), testing::value_of_any_shape("z")},
       .initializers = {testing::zeros("w", {5, 2}), testing::vector_of("pads", {0, 0, 1, 0, 0, 0, 0, 0})}});
  const Input input = parse_network(model.SerializeAsString(), "m.onnx", {}).input;
  PlanOptions rows = with_effort(250, Io::rows, 2);
  rows.stream->granule = 1;
  const Bytes reached = sound_plan(input, rows).summary.peak;
  rows.alias = Alias::all;
  const Plan plan = sound_plan(input, rows);
  const Claim* const claim = claim_in(plan, ClaimScope::stream);
  ASSERT_NE(claim, nullptr);
  EXPECT_LE(claim->lower_bound, reached);
}

/// Of orders of rows with the same load, one is packed better: it is found with other choices beside it, too.
TEST(PlanStreamClaims, ChoicesOfSharingGiveTheOrderThatNoSharingGives) {
  using testing::node;
  const onnx::ModelProto model = testing::onnx_model(
      {.nodes = {node("Concat", {"x", "x"}, {"twice"}, {testing::attribute("axis", std::int64_t{2})}),
                 node("Add", {"w", "x"}, {"sum"}), node("Max", {"sum", "sum"}, {"most"}),
                 node("Split", {"most", "sizes"}, {"y", "half"},
                      {testing::attribute("axis", std::int64_t{1})}),
                 node("Conv", {"half", "filter"}, {"z"},
                      {testing::attribute("auto_pad", std::string("SAME_LOWER")),
                       testing::attribute("kernel_shape", std::vector<std::int64_t>{3, 5})}),
                 node("Softmax", {"twice"}, {"u"}, {testing::attribute("axis", std::int64_t{3})})},
       .inputs = {testing::tensor_value("x", {1, 4, 7, 7})},
       .outputs = {testing::value_of_any_shape("y"), testing::value_of_any_shape("z"),
                   testing::value_of_any_shape("u")},
       .initializers = {testing::zeros("w", {1}), testing::vector_of("sizes", {2, 2}),
                        testing::zeros("filter", {3, 2, 3, 5})}});
  const Input input = parse_network(model.SerializeAsString(), "m.onnx", {}).input;
  PlanOptions rows = with_effort(250, Io::rows, 64);
  rows.stream->granule = 1;
  const Bytes chosen = sound_plan(input, rows).summary.peak;
  rows.alias = Alias::none;
  EXPECT_LE(chosen, sound_plan(input, rows).summary.peak);
}

/// x -> t of one row -> padded to 4 rows -> joined with x. Rows of padding need neither x nor t, but where these are
/// wholes along another axis, the search lets every row wait for them: what it proves holds for no other search.
TEST(PlanStreamClaims, SayNothingWhereRowsWaitForWholesThatTheyDoNotNeed) {
  const char* const text = R"({"format":"stowage-graph","version":1,"name":"rows","tensors":[
    {"name":"x","kind":"input","dtype":"int16","shape":[3,1,1],"bytes":6},
    {"name":"t","kind":"temporary","dtype":"int16","shape":[3,1,1],"bytes":6},
    {"name":"u","kind":"temporary","dtype":"int16","shape":[3,4,1],"bytes":24},
    {"name":"y","kind":"output","dtype":"int16","shape":[3,5,1],"bytes":30}],
    "subgraphs":[{"name":"main","inputs":["x"],"outputs":["y"],"operators":[
    {"name":"a","type":"Sub","inputs":["x","x"],"outputs":["t"],"multiplies":0,
     "row_axes":[{"axis":1,"reads":[{"input":0,"axis":1},{"input":1,"axis":1}]}]},
    {"name":"b","type":"Pad","inputs":["t"],"outputs":["u"],"multiplies":0,
     "row_axes":[{"axis":1,"reads":[{"input":0,"axis":1,"offset":-1,"kept_at":0}]}]},
    {"name":"c","type":"Concat","inputs":["u","x"],"outputs":["y"],"multiplies":0,
     "row_axes":[{"axis":1,"reads":[{"input":0,"axis":1,"kept_at":0},
      {"input":1,"axis":1,"offset":-4,"kept_at":0}]}]}]}],"state":[]})";
  const Plan plan = sound_plan(parse_input(text, "net.json"), with_effort(2000));
  ASSERT_TRUE(is_streamed(plan));
  const Claim* const claim = claim_in(plan, ClaimScope::stream);
  EXPECT_TRUE(claim == nullptr || claim->lower_bound <= 12);  // x and t; u in the place of t
}

}  // namespace
}  // namespace stowage
