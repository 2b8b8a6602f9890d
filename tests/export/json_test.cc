// Plan JSON and graph JSON, read and written.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "long_tests.h"
#include "operators/states.h"
#include "oracle/random_graph.h"
#include "oracle/random_problem.h"
#include "process.h"
#include "row_sketch.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

std::string json_of(const Plan& plan) {
  std::ostringstream out;
  write_json(plan, out);
  return out.str();
}

std::string json_of(const Graph& graph) {
  std::ostringstream out;
  write_graph(graph, out);
  return out.str();
}

Graph read_graph(const std::string& text) { return std::get<Graph>(parse_input(text, "graph.json").content); }

/// What the Error says; empty when there is none.
template <typename Read>
std::string error_of(const Read& read) {
  try {
    (void)read();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string plan_error(const std::string& text) {
  return error_of([&] { return parse_plan(text); });
}

std::string graph_error(const std::string& text) {
  return error_of([&] { return read_graph(text); });
}

void expect_says(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' does not say '" << part << "'";
  }
}

Plan plan_of(const Graph& graph, const PlanOptions& options = {}) {
  PlanResult result = make_plan({{"graph", "graph.json", ModelFormat::json}, graph}, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
  return std::move(result.plan);
}

Plan plan_of(const Problem& problem) {
  PlanResult result = make_plan({{"list", "list.csv", ModelFormat::csv}, problem});
  EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
  return std::move(result.plan);
}

/// A plan with one of everything that a plan can have; not one that could be executed.
Plan rich_plan() {
  Plan plan;
  plan.models = {{"net", "net.onnx", ModelFormat::onnx}, {"list", "list.csv", ModelFormat::csv}};
  plan.clocks = {
      {{Run{0, {0, 12}, std::nullopt}, Run{0, {0, 3, 1, 5}, RowRange{1, 2, 7}, Sums{0, 4}}, Copy{1, 0, 1},
        Arrive{0, RowRange{1, 0, 2}}, Leave{1, RowRange{2, 3, 4}}, Arrive{1}, Leave{0}, Fork{{1, 2}}}},
      {},
      {{Run{1, {0, 0}, std::nullopt}}}};
  plan.memories = {{{.name = "sram", .capacity = 4096, .alignment = 16, .cost = 1}, 96, 80, 0, {1, 3}},
                   {{.name = "flash", .alignment = 4, .cost = 10, .role = MemoryRole::weights}, 160, 150}};
  plan.buffers = {{.id = "a",
                   .size = 64,
                   .alignment = 16,
                   .pieces = {{0, 64, {0, 2}}, {8, 16, {2, 4}}},
                   .pinned = 32,
                   .kind = TensorKind::state,
                   .traffic = 192},
                  {.id = "b", .clock = 2, .size = 32, .pieces = {}, .kind = TensorKind::scratch}};
  plan.places = {{0, 32}, {1, 128}};
  plan.tunings = {{"size", true, TuningEnd::repeated, 4, 2, 1, 2, 3, 5}};
  plan.tensors = {{0,
                   {"x", TensorKind::input, DType::float32, Shape{1, 16}, 64},
                   {{0, 0, {0, 2}, std::nullopt},
                    {1, 4, {2, 4}, Ring{2, 3, 5}},
                    {1, 8, {4, 5}, std::nullopt, RowRange{1, 3, 4}}}},
                  {1, {"w", TensorKind::weight, DType::int4, std::nullopt, 17}, {}}};
  plan.copies_removed = {3, 4096};
  plan.copies_kept = {{0, 0, 1, "operator 1", 64, "its place"}};
  plan.feeds = {{0, 1}};
  plan.released = {1, 0};
  plan.interrupted = true;
  plan.left_out = {{Wish::io_rows, "they fit", "less memory"}};
  plan.claims = {
      {ClaimScope::offsets, 80, false}, {ClaimScope::order, 70, true}, {ClaimScope::rows, 6, false}};
  plan.streaming = {2, 88, 96, 1.5, 2, {{{0, 12}, 80, 96}}, {}, {{1, 1, 120}, {2, 1.5, 96, true}}};
  plan.order_profile = {{{88, 96}, "conv"}, {{80, 90}, "add"}, {{"add", 1, 0}}};
  plan.summary = {
      .naive = 96, .peak = 96, .lower_bound = 80, .strategy = "s", .order = "keep", .seconds = 0.25};
  return plan;
}

constexpr std::string_view rich_json = R"({"format":"stowage-plan","version":1,
 "models":[{"name":"net","source":"net.onnx","format":"onnx"},{"name":"list","source":"list.csv","format":"csv"}],
 "clocks":[{"steps":[{"run":{"model":0,"path":[0,12]}},
                     {"run":{"model":0,"path":[0,3,1,5],"axis":1,"rows":[2,7],"sums":{"buffer":"a","offset":4}}},
                     {"copy":{"tensor":1,"from":"a","to":"b"}},
                     {"arrive":{"tensor":0,"axis":1,"rows":[0,2]}},
                     {"leave":{"tensor":1,"axis":2,"rows":[3,4]}},
                     {"arrive":{"tensor":1}},
                     {"leave":{"tensor":0}},
                     {"fork":[1,2]}]},
           {"steps":[]},
           {"steps":[{"run":{"model":1,"path":[0,0]}}]}],
 "memories":[{"name":"sram","capacity":4096,"alignment":16,"cost":1,"peak":96,"lower_bound":80,
              "certificate":[1,3]},
             {"name":"flash","capacity":null,"alignment":4,"cost":10,"peak":160,"lower_bound":150,"role":"weights"}],
 "buffers":[{"id":"a","clock":0,"size":64,"alignment":16,"memory":"sram","offset":32,"kind":"state",
             "pieces":[{"offset":0,"size":64,"lower":0,"upper":2},{"offset":8,"size":16,"lower":2,"upper":4}],
             "pinned":32,"traffic":192},
            {"id":"b","clock":2,"size":32,"alignment":1,"memory":"flash","offset":128,"kind":"scratch","pieces":[]}],
 "tunings":[{"sort":"size","end":"repeated","round":4,"lowest_round":2,"all_high":true,
             "risks":{"high":1,"medium":2,"low":3,"none":5}}],
 "tensors":[{"model":0,"name":"x","kind":"input","dtype":"float32","shape":[1,16],"bytes":64,
             "views":[{"buffer":"a","offset":0,"lower":0,"upper":2},
                      {"buffer":"b","offset":4,"lower":2,"upper":4,"ring":{"axis":2,"granule":3,"count":5}},
                      {"buffer":"b","offset":8,"lower":4,"upper":5,"axis":1,"rows":[3,4]}]},
            {"model":1,"name":"w","kind":"weight","dtype":"int4","shape":null,"bytes":17,"views":[]}],
 "copies_removed":{"count":3,"bytes":4096},
 "copies_kept":[{"model":0,"subgraph":0,"operator":1,"operation":"operator 1","bytes":64,"why":"its place"}],
 "feeds":[{"output":0,"input":1}],"released":[1,0],
 "interrupted":true,
 "left_out":[{"what":"rows of inputs and outputs","why":"they fit","help":"less memory"}],
 "claims":[{"scope":"offsets","lower_bound":80,"proven_optimal":false},
           {"scope":"order","lower_bound":70,"proven_optimal":true},
           {"scope":"rows","lower_bound":6,"proven_optimal":false}],
 "streaming":{"granule":2,"load":88,"load_of_layers":96,"recomputed":1.5,"recompute_limit":2.0,
              "regions":[{"operators":[0,12],"load":80,"load_of_layers":96}],
              "curve":[{"limit":1.0,"recomputed":1.0,"peak":120},{"limit":2.0,"recomputed":1.5,"peak":96,"interrupted":true}]},
 "order_profile":{"own":{"loads":[88,96],"peak_operator":"conv"},
                  "planned":{"loads":[80,90],"peak_operator":"add"},"moved":[{"name":"add","from":1,"to":0}]},
 "summary":{"naive":96,"peak":96,"lower_bound":80,"strategy":"s","order":"keep","seconds":0.25}})";

TEST(Json, PlansHaveJustTheseMembers) {
  EXPECT_EQ(json::parse(json_of(rich_plan())), json::parse(rich_json));
  EXPECT_EQ(parse_plan(rich_json), rich_plan());
}

TEST(Json, PlansOfProblemsComeBackAsTheyWere) {
  for (std::uint64_t seed = 0; seed < testing::cases_of(100); ++seed) {
    const Plan plan = plan_of(oracle::random_problem(seed));
    const std::string text = json_of(plan);
    ASSERT_EQ(parse_plan(text), plan) << text;
    ASSERT_EQ(json_of(parse_plan(text)), text);
  }
}

TEST(Json, PlansOfGraphsComeBackAsTheyWere) {
  for (std::uint64_t seed = 0; seed < testing::cases_of(300); ++seed) {
    const bool is_odd = seed % 2 == 1;
    const Graph graph = oracle::random_graph(seed, {.repeats_names = is_odd});
    const Plan plan = plan_of(graph, {.io = seed % 3 == 0 ? Io::external : Io::arena});
    const std::string text = json_of(plan);
    ASSERT_EQ(parse_plan(text), plan) << text;
    ASSERT_TRUE(check_plan(parse_plan(text), {&graph, 1}).empty());
  }
}

TEST(Json, NumbersComeBackAsTheyWere) {
  Plan plan = rich_plan();
  for (const double seconds : {0.0, 1e-9, 0.1, 1.0 / 3.0, 12345.678901234567, 1e8}) {
    plan.summary.seconds = seconds;
    EXPECT_EQ(parse_plan(json_of(plan)).summary.seconds, seconds);
  }
  plan.buffers[0].size = largest_value;
  plan.places[0].offset = largest_value;
  EXPECT_EQ(parse_plan(json_of(plan)), plan);
}

TEST(Json, NamesComeBackAsTheyWere) {
  for (const std::string& name :
       {std::string(), std::string("\"'\\/"), std::string("\n\t\x01\x7f"),
        std::string("\u00e4\u6f22\U0001f600"), std::string("a\0b", 3), std::string(100'000, 'n')}) {
    Plan plan = rich_plan();
    plan.buffers[0].id = name;
    plan.tensors[0].tensor.name = name;
    plan.models[0].source = name;
    EXPECT_EQ(parse_plan(json_of(plan)), plan);
  }
}

TEST(Json, NamesThatAreNotUtf8AreMendedOrRefusedOnTheWayIn) {
  Problem problem{{}, {{.name = "arena"}}};
  problem.buffers.push_back({.id = "\xff", .size = 8, .pieces = {{0, 8, {0, 1}}}});
  EXPECT_THROW(validate(problem), Error);
  const std::string wrong = "id,lower,upper,size\n\xff,0,1,8\n";
  EXPECT_THROW((void)parse_input(wrong, "list.csv"), Error);
}

/// Pointers to all values below one, itself first.
void collect(const json& value, const Pointer& at, std::vector<Pointer>& pointers) {
  pointers.push_back(at);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) collect(member, at / key, pointers);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) collect(value[i], at / i, pointers);
  }
}

std::vector<Pointer> pointers_in(const json& document) {
  std::vector<Pointer> pointers;
  collect(document, Pointer(), pointers);
  return pointers;
}

/// What an error calls a place.
std::string place_of(const Pointer& pointer) { return pointer.empty() ? "document" : pointer.to_string(); }

/// Members that a plan may leave out; a memory without limit and a tensor whose shape depends on data
/// may also have null there.
bool is_optional_member(const Pointer& at) {
  static const std::set<std::string> optional{
      "capacity", "shape",         "rows",        "ring",      "pinned",  "traffic",
      "role",     "certificate",   "copies_kept", "streaming", "sums",    "feeds",
      "released", "order_profile", "curve",       "tunings",   "left_out"};
  const std::string owner = at.parent_pointer().empty() ? "" : at.parent_pointer().back();
  if (at.back() == "interrupted") return !owner.empty();  // of a point of a curve
  return optional.contains(at.back()) && owner != "arrive" && owner != "leave";
}

TEST(Json, EveryMemberOfAPlanIsRequired) {
  const json document = json::parse(rich_json);
  int removed = 0;
  for (const Pointer& pointer : pointers_in(document)) {
    if (pointer.empty() || !document.at(pointer.parent_pointer()).is_object()) continue;
    json without = document;
    without.at(pointer.parent_pointer()).erase(pointer.back());
    const std::string message = plan_error(without.dump());
    const bool is_optional = is_optional_member(pointer);
    EXPECT_EQ(message == "", is_optional) << pointer.to_string() << ": " << message;
    if (is_optional) continue;
    ++removed;
    static const std::set<std::string> steps{"run", "copy", "fork", "arrive", "leave"};
    const bool is_step = steps.contains(pointer.back());
    expect_says(message, {place_of(pointer.parent_pointer()) + ": ", is_step ? "none of" : pointer.back()});
  }
  EXPECT_GT(removed, 80);
}

/// Values that are wrong in place of this one.
std::vector<json> wrong_for(const json& value, const Pointer& at) {
  std::vector<json> wrong{json::object(), json::array(), "text", 5, 5.5, true, nullptr};
  const auto drop = [&](const auto& fits) { std::erase_if(wrong, fits); };
  if (value.is_object()) drop([](const json& other) { return other.is_object(); });
  if (value.is_array()) drop([](const json& other) { return other.is_array(); });
  if (value.is_boolean()) drop([](const json& other) { return other.is_boolean(); });
  if (value.is_number_float()) drop([](const json& other) { return other.is_number(); });
  const bool is_enumerator = at.back() == "format" || at.back() == "kind" || at.back() == "dtype" ||
                             at.back() == "scope" || at.back() == "role" || at.back() == "memory" ||
                             at.back() == "buffer" || at.back() == "from" || at.back() == "to" ||
                             at.back() == "end";
  if (value.is_string() && !is_enumerator) drop([](const json& other) { return other.is_string(); });
  if (value.is_number_integer() || value.is_null()) {
    drop([&](const json& other) { return other == 5; });
    for (const json& number :
         {json(-1), json(std::numeric_limits<std::int64_t>::min()), json(largest_value + 1),
          json(std::numeric_limits<std::uint64_t>::max()), json(1e300)}) {
      wrong.push_back(number);
    }
  }
  // In place of an optional member null is as good as nothing.
  if (is_optional_member(at)) drop([](const json& other) { return other.is_null(); });
  // A tensor's shape may be a scalar's.
  if (at.back() == "shape") drop([](const json& other) { return other.is_array(); });
  return wrong;
}

TEST(Json, EveryWrongValueInAPlanIsNamed) {
  const json document = json::parse(rich_json);
  int replaced = 0;
  for (const Pointer& pointer : pointers_in(document)) {
    if (pointer.empty()) continue;
    for (const json& value : wrong_for(document.at(pointer), pointer)) {
      json bad = document;
      bad.at(pointer) = value;
      const std::string message = plan_error(bad.dump());
      const std::string parent = pointer.parent_pointer().to_string();
      // A step's kind that is null is no step of that kind; a reference to a name may be told where it
      // stands.
      const bool is_step = parent.find("/steps/") != std::string::npos;
      ASSERT_TRUE(message.starts_with(pointer.to_string()) || (is_step && message.starts_with(parent)))
          << pointer.to_string() << " is " << value << ": '" << message << "'";
      ++replaced;
    }
  }
  EXPECT_GT(replaced, 900);
  for (const char* const text : {"", "[]", "5", "null", "\"plan\"", "{}"})
    EXPECT_NE(plan_error(text), "") << text;
}

TEST(Json, NamesThatPlansReferToAreUnique) {
  json document = json::parse(rich_json);
  document["buffers"][1]["id"] = "a";
  expect_says(plan_error(document.dump()), {"/buffers/1/id", "a"});
  document = json::parse(rich_json);
  document["memories"][1]["name"] = "sram";
  expect_says(plan_error(document.dump()), {"/memories/1/name", "sram"});
}

TEST(Json, PlansMaySayMoreThanWeRead) {
  json document = json::parse(rich_json);
  document["generator"] = {{"name", "someone else"}, {"options", {1, 2, 3}}};
  document["buffers"][0]["colour"] = "red";
  EXPECT_EQ(parse_plan(document.dump()), rich_plan());
  EXPECT_EQ(parse_plan("\xef\xbb\xbf \r\n" + document.dump(4) + "\n"), rich_plan());
}

TEST(Json, OtherVersionsAreRefused) {
  json document = json::parse(rich_json);
  document["version"] = 2;
  expect_says(plan_error(document.dump()), {"/version", "2", "1"});
  document["version"] = "1";
  expect_says(plan_error(document.dump()), {"/version"});
  document = json::parse(rich_json);
  document["format"] = "stowage-graph";
  expect_says(plan_error(document.dump()), {"/format", "stowage-graph"});
}

TEST(Json, PiecesOfDocumentsAreNoDocuments) {
  const std::string text = json_of(rich_plan());
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
    EXPECT_NE(plan_error(text.substr(0, size)), "") << size;
  }
  EXPECT_NE(plan_error(text + text), "");
  EXPECT_NE(plan_error(text + "x"), "");
  EXPECT_NE(plan_error("{'format':'stowage-plan'}"), "");
}

/// Whether names in a graph say which tensor is meant.
bool has_unique_names(const Graph& graph) {
  std::set<std::string> names;
  return std::all_of(graph.tensors.begin(), graph.tensors.end(),
                     [&](const Tensor& tensor) { return names.insert(tensor.name).second; });
}

TEST(Json, GraphsComeBackAsTheyWere) {
  int unique = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const bool is_odd = seed % 2 == 1;
    Graph graph = oracle::random_graph(seed, {.has_ties = seed % 4 == 0, .repeats_names = is_odd});
    if (graph.name.empty()) graph.name = "graph";  // as the file is called
    (void)operators::settle_states(graph);         // as reading does
    const std::string text = json_of(graph);
    Graph again = read_graph(text);
    validate(again);
    ASSERT_EQ(json_of(again), text);
    if (has_unique_names(graph)) {
      ++unique;
    } else {  // the format makes them so
      ASSERT_TRUE(has_unique_names(again)) << text;
      for (TensorId t = 0; t < graph.tensors.size(); ++t) again.tensors[t].name = graph.tensors[t].name;
    }
    ASSERT_EQ(again, graph) << text;
  }
  EXPECT_GE(unique, 100);
}

TEST(Json, RowsOfOperatorsComeBackAsTheyWere) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    oracle::Choices choices(seed);
    Graph graph = cases::random_row_graph(choices);
    graph.name = "graph";
    for (Operator& op : graph.subgraphs[0].operators) {
      for (RowAxis& along : op.row_axes) along.is_windows = choices.chance(50);  // adds_rows are random, too
    }
    ASSERT_EQ(read_graph(json_of(graph)), graph) << json_of(graph);
  }
}

TEST(Json, GraphsNeedSayLittle) {
  const Graph graph = read_graph(
      R"({"format":"stowage-graph","version":1,
          "tensors":[{"name":"x","dtype":"float32","shape":[2,3]},{"name":"w","kind":"weight","bytes":8},
                     {"name":"h","bytes":5},{"name":"y","dtype":"int4","shape":[3],"bytes":2}],
          "subgraphs":[{"inputs":["x"],"outputs":["y"],
                        "operators":[{"type":"Conv","inputs":["x","w",null],"outputs":["h"]},
                                     {"type":"Relu","inputs":["h"],"outputs":["y"]}]}]})");
  ASSERT_EQ(graph.tensors.size(), 4);
  EXPECT_EQ(graph.name, "graph");
  EXPECT_EQ(graph.tensors[0], (Tensor{"x", TensorKind::input, DType::float32, Shape{2, 3}, 24}));
  EXPECT_EQ(graph.tensors[1], (Tensor{"w", TensorKind::weight, DType::unknown, std::nullopt, 8}));
  EXPECT_EQ(graph.tensors[2], (Tensor{"h", TensorKind::temporary, DType::unknown, std::nullopt, 5}));
  EXPECT_EQ(graph.tensors[3], (Tensor{"y", TensorKind::output, DType::int4, Shape{3}, 2}));
  EXPECT_EQ(graph.subgraphs[0].operators[0].inputs.size(), 3);
  EXPECT_EQ(graph.subgraphs[0].operators[0].inputs[2], std::nullopt);
}

TEST(Json, EveryWrongValueInAGraphIsNamed) {
  const json document = json::parse(
      R"({"format":"stowage-graph","version":1,"name":"net",
          "tensors":[{"name":"x","kind":"input","dtype":"int8","shape":[16],"bytes":16},
                     {"name":"y","kind":"output","dtype":"int8","shape":[16],"bytes":16},
                     {"name":"s","kind":"scratch","bytes":4}],
          "subgraphs":[{"name":"main","inputs":["x"],"outputs":["y"],
                        "operators":[{"name":"op","type":"Relu","inputs":["x"],"outputs":["y"],"scratch":["s"],
                                      "bodies":[],"after":[],"folded":false,"stateful":false,"body_use":"once","sums_over":[0],
                                      "row_axes":[{"axis":0,"is_windows":false,
                                                   "reads":[{"input":0,"axis":0,"divisor":1,
                                                             "taps":1,"dilation":1,"kept_at":0}]}]}]}],
          "state":[{"output":"y","input":"x"}]})");
  ASSERT_EQ(graph_error(document.dump()), "");
  for (const Pointer& pointer : pointers_in(document)) {
    if (pointer.empty()) continue;
    for (const json& value :
         {json::object(), json(5.5), json(-3), json(true), json("no such thing"), json::array()}) {
      if (value.type() == document.at(pointer).type()) continue;
      json bad = document;
      bad.at(pointer) = value;
      const std::string message = graph_error(bad.dump());
      // An empty shape is a scalar's, with another size.
      const bool is_said_of_size = pointer.back() == "shape" && message.find("/bytes") != std::string::npos;
      EXPECT_TRUE(is_said_of_size || message.find(pointer.to_string()) != std::string::npos)
          << pointer.to_string() << " is " << value << ": '" << message << "'";
    }
  }
}

TEST(Json, HostileNumbers) {
  for (const char* const number :
       {"1e400", "-1e400", "1e-400", "99999999999999999999999999999999999999999", "2305843009213693953",
        "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809", "-0.0",
        "1e2", "16.0", "0x10", "NaN", "Infinity", "01", "+1", "1."}) {
    const std::string graph =
        fmt::format(R"({{"format":"stowage-graph","version":1,"tensors":[{{"name":"x","bytes":{}}}],)"
                    R"("subgraphs":[{{"inputs":[],"outputs":[],"operators":[]}}]}})",
                    number);
    EXPECT_NE(graph_error(graph), "") << number;
  }
  json document = json::parse(rich_json);
  document["clocks"][0]["steps"][0]["run"]["path"] = {1'000'000'000'000'000'000, 5};
  EXPECT_NO_THROW((void)check_plan(parse_plan(document.dump())));
  document["clocks"][0]["steps"][3]["fork"] = {0, 0, 1'000'000'000'000'000'000};
  EXPECT_NO_THROW((void)check_plan(parse_plan(document.dump())));
}

TEST(Json, AMemberThatComesTwiceIsRefused) {
  // Readers differ in which of the two they take: the plan that is checked must be the plan that is used.
  const std::string graph =
      R"({"format":"stowage-graph","version":1,"tensors":[],"tensors":[{"name":"x","bytes":8}],)"
      R"("subgraphs":[{"inputs":[],"outputs":[],"operators":[]}]})";
  expect_says(graph_error(graph), {"tensors"});
  std::string plan(rich_json);
  const std::string offset = "\"offset\":32,";
  plan.replace(plan.find(offset), offset.size(), "\"offset\":32,\"offset\":48,");
  expect_says(plan_error(plan), {"offset"});
}

/// In a process of its own: it must not crash.
void expect_rejected_or_done(const std::string& content) {
  const testing::TemporaryDirectory directory;
  directory.write("f.json", content);
  for (const char* const command : {"plan", "verify"}) {
    const testing::ProcessResult result = testing::run_stowage(directory.path(), {command, "f.json"});
    EXPECT_TRUE(result.status == 0 || result.status == 3)
        << command << ": signal " << result.signal << " " << content.substr(0, 50) << result.errors;
  }
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(Json, DeepNesting) {
  const std::size_t depth = testing::is_in_a_hurry() ? 30'000 : 300'000;
  const std::string arrays = repeated("[", depth) + repeated("]", depth);
  const std::string objects = repeated("{\"a\":", depth) + "1" + repeated("}", depth);
  for (const std::string& deep : {arrays, objects}) {
    expect_rejected_or_done(deep);
    expect_rejected_or_done(deep.substr(0, depth));
    for (const char* const format : {"stowage-graph", "stowage-plan"}) {
      const std::string head = fmt::format(R"({{"format":"{}","version":1,)", format);
      const std::string rest =
          R"("name":"n","subgraphs":[{"inputs":[],"outputs":[],"operators":[]}],"models":[])";
      expect_rejected_or_done(head + "\"tensors\":" + deep + "," + rest + "}");
      expect_rejected_or_done(head + "\"x\":" + deep + ",\"tensors\":[]," + rest + "}");
      expect_rejected_or_done(head + "\"tensors\":[]," + rest + ",\"x\":" + deep + "}");
    }
  }
}

// In quadratic time, this would not be done before the time of the test is over.
TEST(Json, ManyMembersTakeNoQuadraticTime) {
  const int count = testing::is_in_a_hurry() ? 40'000 : 400'000;
  std::string text = R"({"format":"stowage-graph","version":1)";
  for (int i = 0; i < count; ++i) text += fmt::format(",\"k{}\":0", i);
  text += "}";
  EXPECT_NE(graph_error(text), "");
}

}  // namespace
}  // namespace stowage
