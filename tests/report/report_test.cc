// The page of a report: whole, harmless whatever names say, and with the plan's numbers; remedies that are true.

#include "stowage/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/random_problem.h"
#include "report/columns.h"
#include "report/page.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using nlohmann::json;
using Verdict = Remedy::Verdict;

std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string page_of(const Plan& plan, const std::string& command = {}) {
  std::ostringstream out;
  write_report(std::vector<ReportedPlan>{{.plan = plan}}, {.command = command, .version = "1"}, out);
  return out.str();
}

/// The JSON of the page, as a browser finds it: from the element to the next "</script".
json data_in(const std::string& page) {
  const std::string_view element = R"(<script type="application/json" id="stowage-data">)";
  const std::size_t begin = page.find(element) + element.size();
  return json::parse(page.substr(begin, page.find("</script", begin) - begin));
}

/// Reads base64 letter by letter and numbers bit by bit.
std::vector<std::int64_t> decoded(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<bool> bits;
  for (const char letter : text) {
    if (letter == '=') continue;
    for (int bit = 5; bit >= 0; --bit) bits.push_back((letters.find(letter) >> bit & 1U) != 0);
  }
  std::vector<std::int64_t> values;
  std::uint64_t zigzag = 0;
  unsigned shift = 0;
  std::uint64_t last = 0;
  for (std::size_t byte = 0; byte + 8 <= bits.size(); byte += 8) {
    for (unsigned bit = 0; bit < 7; ++bit) zigzag |= std::uint64_t{bits[byte + 7 - bit]} << (shift + bit);
    shift += 7;
    if (bits[byte]) continue;
    last += zigzag % 2 == 0 ? zigzag / 2 : ~(zigzag / 2);
    values.push_back(static_cast<std::int64_t>(last));
    zigzag = 0;
    shift = 0;
  }
  return values;
}

std::vector<std::string> texts_in(const json& plan) {
  const std::vector<std::int64_t> shared = decoded(plan["texts"]["shared"]);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < plan["texts"]["ends"].size(); ++i) {
    const std::string before = texts.empty() ? "" : texts.back();
    texts.push_back(before.substr(0, static_cast<std::size_t>(shared[i])) +
                    plan["texts"]["ends"][i].get<std::string>());
  }
  return texts;
}

Plan plan_of(const Input& input, PlanOptions options = {}) {
  options.solve.time_limit = std::chrono::seconds(1);
  const PlanResult result = make_plan(input, options);
  EXPECT_TRUE(result.faults.empty());
  return result.plan;
}

Plan plan_of_list(const std::string& csv) { return plan_of(parse_input(csv, "list.csv")); }

Plan plan_of(const Problem& problem) {
  return plan_of(Input{{"list", "list.csv", ModelFormat::csv}, problem},
                 {.solve = {.strategy = "greedy-by-size"}});
}

/// Two branches: the file runs both first operators, then both second ones; one branch after the other needs less.
Input two_branches() {
  return parse_input(
      R"({"format":"stowage-graph","version":1,"tensors":[{"name":"x","bytes":64},{"name":"a","bytes":640},)"
      R"({"name":"b","bytes":640},{"name":"c","bytes":64},{"name":"d","bytes":64},{"name":"y","bytes":64}],)"
      R"("subgraphs":[{"inputs":["x"],"outputs":["y"],"operators":[)"
      R"({"name":"one","type":"Grow","inputs":["x"],"outputs":["a"]},)"
      R"({"name":"two","type":"Grow","inputs":["x"],"outputs":["b"]},)"
      R"({"name":"three","type":"Shrink","inputs":["a"],"outputs":["c"]},)"
      R"({"name":"four","type":"Shrink","inputs":["b"],"outputs":["d"]},)"
      R"({"name":"five","type":"Join","inputs":["c","d"],"outputs":["y"]}]}]})",
      "branches.json");
}

/// Windows over 8 rows, as in examples/windows.json.
Input windows_over_rows() {
  return parse_input(
      R"({"format":"stowage-graph","version":1,"tensors":[)"
      R"({"name":"x","dtype":"int8","shape":[8,16]},{"name":"a","dtype":"int8","shape":[8,32]},)"
      R"({"name":"b","dtype":"int8","shape":[4,32]},{"name":"y","dtype":"int8","shape":[4,8]}],)"
      R"("subgraphs":[{"inputs":["x"],"outputs":["y"],"operators":[)"
      R"({"type":"Conv","inputs":["x"],"outputs":["a"],"multiplies":12288,)"
      R"("row_axes":[{"axis":0,"reads":[{"input":0,"axis":0,"offset":-1,"taps":3}]}]},)"
      R"({"type":"Conv","inputs":["a"],"outputs":["b"],"multiplies":12288,)"
      R"("row_axes":[{"axis":0,"reads":[{"input":0,"axis":0,"scale":2,"taps":3}]}]},)"
      R"({"type":"Conv","inputs":["b"],"outputs":["y"],"multiplies":1024,)"
      R"("row_axes":[{"axis":0,"reads":[{"input":0,"axis":0}]}]}]}]})",
      "windows.json");
}

const Remedy* find(const std::vector<Remedy>& remedies, Verdict verdict, std::string_view what) {
  const auto it = std::ranges::find_if(remedies, [&](const Remedy& remedy) {
    return remedy.verdict == verdict && remedy.what.find(what) != std::string::npos;
  });
  return it == remedies.end() ? nullptr : &*it;
}

TEST(ReportColumn, KeepsEveryNumber) {
  const std::vector<std::int64_t> values{
      0, -1, 1, 63, -64,       64,        127,       128, largest_value, -largest_value,
      5, 5,  5, 0,  INT64_MAX, INT64_MIN, INT64_MAX, 3};
  for (std::size_t size = 0; size <= values.size(); ++size) {
    const std::vector<std::int64_t> some(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(size));
    report::Column column;
    for (const std::int64_t value : some) column.add(value);
    EXPECT_EQ(decoded(column.text()), some);
  }
}

TEST(ReportColumn, WritesBase64AsTheStandardHasIt) {
  EXPECT_EQ(report::base64(""), "");
  EXPECT_EQ(report::base64("f"), "Zg==");
  EXPECT_EQ(report::base64("fo"), "Zm8=");
  EXPECT_EQ(report::base64("foo"), "Zm9v");
  EXPECT_EQ(report::base64("foobar"), "Zm9vYmFy");
}

TEST(Report, IsOnePageThatLoadsNothing) {
  const std::string page = page_of(plan_of_list("id,lower,upper,size\na,0,2,64\n"));
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_EQ(count_of(report::page(), report::data_mark), 1U);
  EXPECT_EQ(count_of(page, report::data_mark), 0U);
  EXPECT_EQ(count_of(page, "<script"), 2U);
  EXPECT_EQ(count_of(page, "</script>"), 2U);
  EXPECT_EQ(count_of(page, " src="), 0U);
  EXPECT_EQ(count_of(page, "http://") + count_of(page, "https://"), 0U);
}

TEST(Report, HasTheNumbersOfThePlan) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Plan plan = plan_of(oracle::random_problem(
        seed, {.buffers = 40, .positions = 30, .largest_size = 9000, .percent_with_pieces = 30}));
    const json data = data_in(page_of(plan))["plans"][0];
    const std::vector<std::string> texts = texts_in(data);
    const std::vector<std::int64_t> names = decoded(data["buffers"]["name"]);
    const std::vector<std::int64_t> sizes = decoded(data["buffers"]["size"]);
    const std::vector<std::int64_t> offsets = decoded(data["buffers"]["offset"]);
    const std::vector<std::int64_t> counts = decoded(data["buffers"]["pieces"]);
    const std::vector<std::int64_t> lowers = decoded(data["pieces"]["lower"]);
    const std::vector<std::int64_t> uppers = decoded(data["pieces"]["upper"]);
    const std::vector<std::int64_t> pieces = decoded(data["pieces"]["size"]);
    ASSERT_EQ(sizes.size(), plan.buffers.size());
    std::size_t at = 0;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      EXPECT_EQ(texts.at(static_cast<std::size_t>(names[b])), plan.buffers[b].id);
      EXPECT_EQ(sizes[b], plan.buffers[b].size);
      EXPECT_EQ(offsets[b], plan.places[b].offset);
      std::int64_t alive = 0;
      for (const Piece& piece : plan.buffers[b].pieces) {
        if (!piece.is_ever_alive()) continue;
        ++alive;
        EXPECT_EQ(lowers.at(at), piece.life.lower);
        EXPECT_EQ(uppers.at(at), piece.life.upper);
        EXPECT_EQ(pieces.at(at++), piece.size);
      }
      EXPECT_EQ(counts[b], alive);
    }
    EXPECT_EQ(at, lowers.size());
    EXPECT_EQ(data["summary"]["peak"], plan.summary.peak);
  }
}

TEST(Report, KeepsHostileNamesAsText) {
  const std::vector<std::string> names{"</script><script>alert(1)</script>",
                                       "<!--<script>",
                                       "\"><img src=x onerror=alert(1)>",
                                       "quote\" and 'quote' & back\\slash",
                                       "😀 größer/日本",
                                       "😀 größer/日本語",
                                       "tab\tnew\nline",
                                       "@stowage-data@",
                                       std::string(10'000, 'x')};
  Problem problem;
  problem.memories = {{.name = "<b>arena</b></script>"}};
  for (const std::string& name : names)
    problem.buffers.push_back({.id = name, .size = 8, .pieces = {{0, 8, {0, 2}}}});
  Plan plan = plan_of(problem);
  plan.models[0].name = "</script>";
  const std::string page = page_of(plan, "stowage plan '</script><script>'");
  EXPECT_EQ(count_of(page, "<script"), 2U);
  EXPECT_EQ(count_of(page, "</script"), 2U);
  EXPECT_EQ(count_of(page, "<!--"), count_of(report::page(), "<!--"));
  const json data = data_in(page);
  EXPECT_EQ(data["command"], "stowage plan '</script><script>'");
  EXPECT_EQ(data["plans"][0]["models"][0]["name"], "</script>");
  const std::vector<std::string> texts = texts_in(data["plans"][0]);
  for (const std::string& name : names) EXPECT_NE(std::ranges::find(texts, name), texts.end()) << name;
}

TEST(Report, NamesOperatorsOfTheGraph) {
  const Input input = two_branches();
  std::ostringstream out;
  write_report(
      std::vector<ReportedPlan>{
          {.plan = plan_of(input), .graphs = {std::get<Graph>(input.content)}, .hashes = {0xabcU}}},
      {}, out);
  const json data = data_in(out.str())["plans"][0];
  const std::vector<std::string> texts = texts_in(data);
  for (const char* const name : {"one", "five", "Shrink"})
    EXPECT_NE(std::ranges::find(texts, name), texts.end());
  EXPECT_EQ(decoded(data["steps"]["at"]), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(data["models"][0]["hash"], "0000000000000abc");
  EXPECT_FALSE(data["own_loads"].get<std::string>().empty());
}

TEST(Report, ShowsPlansWithOtherOptionsInsteadOfTheirRemedies) {
  const Plan plan = plan_of(two_branches());
  const Remedy tried{Verdict::found, "Rows instead of whole tensors", "why", 640, "stowage plan x --stream"};
  const Curve curve{"Peak against rows of a step", {{"1 row", 64, true}, {"2 rows", 128, false}}};
  std::ostringstream out;
  write_report(std::vector<ReportedPlan>{{.plan = plan, .tried = {tried}, .curves = {curve}}}, {}, out);
  const json data = data_in(out.str())["plans"][0];
  EXPECT_EQ(data["remedies"][0]["verdict"], "found");
  EXPECT_EQ(data["remedies"][0]["bytes"], 640);
  EXPECT_EQ(std::ranges::count_if(data["remedies"], [&](const json& it) { return it["what"] == tried.what; }),
            1);
  EXPECT_EQ(data["curves"][0]["points"][1], (json{{"value", "2 rows"}, {"bytes", 128}, {"is_plan", false}}));
}

/// Of a plan of whole operators and one by rows, as the text of the difference has it: an entry for each tensor in row
/// blocks, with all its buffers.
TEST(Report, GroupsRowBlocksOfATensor) {
  const Input input = windows_over_rows();
  PlanOptions options{.alignment = 16};
  const Plan whole = plan_of(input, options);
  options.stream = StreamOptions{.layout = StreamLayout::granules};
  options.io = Io::rows;
  const Plan rows = plan_of(input, options);
  std::ostringstream out;
  write_report(std::vector<ReportedPlan>{{.plan = whole}, {.plan = rows}}, {.version = "1"}, out);
  const json difference = data_in(out.str())["difference"];
  EXPECT_EQ(difference["entries"]["rows"], 4);
  EXPECT_EQ(decoded(difference["entries"]["tensor"]), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_NE(difference["counts"].get<std::string>().find("; 4 tensors in other row blocks"),
            std::string::npos);
  const std::vector<std::int64_t> counts = decoded(difference["entries"]["buffers"]);
  const std::vector<std::int64_t> before = decoded(difference["buffers"]["before"]);
  const std::vector<std::int64_t> after = decoded(difference["buffers"]["after"]);
  std::size_t next = 0;
  for (std::size_t e = 0; e < counts.size(); ++e) {
    const json& tensor = difference["tensors"][e];
    const auto name = tensor["name"].get<std::string>();
    Bytes bytes = 0;
    for (std::int64_t i = 0; i < counts[e]; ++i, ++next) {
      EXPECT_TRUE(before[next] >= 0 || after[next] >= 0);
      if (before[next] >= 0) {
        EXPECT_EQ(whole.buffers[static_cast<std::size_t>(before[next])].id, name);
      }
      if (after[next] < 0) continue;
      const Buffer& block = rows.buffers[static_cast<std::size_t>(after[next])];
      EXPECT_TRUE(block.id.starts_with(name + "[")) << block.id;
      bytes += block.size;
    }
    EXPECT_EQ(bytes, tensor["after"]["bytes"]) << name;
  }
  EXPECT_EQ(next, before.size());
}

TEST(Report, ShowsOnePlanOrTwo) {
  const Plan plan = plan_of_list("id,lower,upper,size\na,0,2,64\n");
  std::ostringstream out;
  write_report(std::vector<ReportedPlan>{{.plan = plan, .title = "before"}, {.plan = plan, .title = "after"}},
               {}, out);
  EXPECT_EQ(data_in(out.str())["plans"][1]["title"], "after");
  EXPECT_THROW(write_report(std::vector<ReportedPlan>{}, {}, out), UsageError);
  EXPECT_THROW(write_report(std::vector<ReportedPlan>(3), {}, out), UsageError);
}

TEST(ReportRemedies, SayWhatProvesThePeak) {
  const Plan plan = plan_of_list("id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,3,4,16\n");
  const std::vector<Remedy> remedies = remedies_of(plan);
  const Remedy* const offsets = find(remedies, Verdict::impossible, "Other offsets");
  ASSERT_NE(offsets, nullptr);
  EXPECT_NE(offsets->why.find("position 1, 96 bytes"), std::string::npos) << offsets->why;
  EXPECT_EQ(remedies.size(), 1U);
}

TEST(ReportRemedies, GiveTheGapAndTheRunThatMayCloseIt) {
  Plan plan = plan_of_list("id,lower,upper,size\na,0,2,64\nb,1,3,32\n");
  plan.places[1].offset = 100;
  plan.memories[0].peak = plan.summary.peak = 132;
  const std::vector<Remedy> remedies = remedies_of(plan, "stowage plan list.csv");
  const Remedy* const offsets = find(remedies, Verdict::possible, "Other offsets");
  ASSERT_NE(offsets, nullptr);
  EXPECT_EQ(offsets->bytes, 36);
  EXPECT_EQ(plan_of_list("id,lower,upper,size\na,0,2,64\nb,1,3,32\n").summary.peak, 132 - 36);
  EXPECT_EQ(offsets->command, "stowage plan list.csv --time-limit 60");
  EXPECT_EQ(
      find(remedies_of(plan, "stowage plan list.csv --time-limit 9"), Verdict::possible, "offsets")->command,
      "");
}

TEST(ReportRemedies, SavingsOfTheOrderAreTrue) {
  const Input input = two_branches();
  const Plan searched = plan_of(input);
  const Plan kept = plan_of(input, {.order = Order::keep});
  const std::vector<Remedy> remedies = remedies_of(searched);
  const Remedy* const order = find(remedies, Verdict::done, "order");
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->bytes, kept.summary.peak - searched.summary.peak);
  EXPECT_GT(order->bytes, 0);
  EXPECT_NE(find(remedies, Verdict::impossible, "order"), nullptr);
  const std::vector<Remedy> of_kept = remedies_of(kept, "stowage plan branches.json");
  ASSERT_NE(find(of_kept, Verdict::possible, "order"), nullptr);
  EXPECT_EQ(find(of_kept, Verdict::possible, "order")->command, "stowage plan branches.json --order search");
}

TEST(ReportRemedies, NoOrderOfOperatorsIsLowerIfThatIsSaid) {
  const Input input = two_branches();
  const Plan searched = plan_of(input);
  ASSERT_NE(find(remedies_of(searched), Verdict::impossible, "order"), nullptr);
  const Graph& graph = std::get<Graph>(input.content);
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  std::size_t seen = 0;
  do {
    const auto at = [&](std::size_t op) { return std::ranges::find(order, op) - order.begin(); };
    if (at(0) > at(2) || at(1) > at(3) || std::max(at(2), at(3)) > at(4)) continue;
    Graph other = graph;
    for (std::size_t i = 0; i < order.size(); ++i)
      other.subgraphs[0].operators[i] = graph.subgraphs[0].operators[order[i]];
    EXPECT_GE(plan_of(Input{input.info, other}, {.order = Order::keep}).summary.peak, searched.summary.peak);
    ++seen;
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(seen, 6U);
}

TEST(ReportRemedies, NarrowerTypesSaveWhatIsPromised) {
  const std::string text =
      R"({"format":"stowage-graph","version":1,"tensors":[)"
      R"({"name":"x","dtype":"float32","shape":[100],"bytes":400},)"
      R"({"name":"a","dtype":"float32","shape":[250],"bytes":1000},)"
      R"({"name":"b","dtype":"float32","shape":[200],"bytes":800},)"
      R"({"name":"y","dtype":"float32","shape":[10],"bytes":40}],"subgraphs":[{"inputs":["x"],"outputs":["y"],)"
      R"("operators":[{"type":"One","inputs":["x"],"outputs":["a"]},{"type":"Two","inputs":["a"],"outputs":["b"]},)"
      R"({"type":"Three","inputs":["b"],"outputs":["y"]}]}]})";
  const Input input = parse_input(text, "chain.json");
  const PlanOptions options{.alignment = 1, .order = Order::keep};
  const Plan plan = plan_of(input, options);
  ASSERT_EQ(plan.summary.peak, 1800);
  const std::vector<Remedy> remedies = remedies_of(plan);
  const auto promised = [&](std::string_view what) {
    const Remedy* const remedy = find(remedies, Verdict::possible, what);
    EXPECT_NE(remedy, nullptr) << what;
    return remedy == nullptr ? 0 : *remedy->bytes;
  };
  /// The model, with some tensors of another type.
  const auto saved = [&](std::string_view names, DType type) {
    Graph graph = std::get<Graph>(input.content);
    for (Tensor& tensor : graph.tensors) {
      if (names.find(tensor.name) == std::string_view::npos) continue;
      tensor.dtype = type;
      tensor.bytes = bytes_of(type, *tensor.shape);
    }
    return plan.summary.peak - plan_of(Input{input.info, graph}, options).summary.peak;
  };
  EXPECT_EQ(promised("All float32 tensors as float16"), saved("xaby", DType::float16));
  EXPECT_EQ(promised("All float32 tensors as int8"), saved("xaby", DType::int8));
  EXPECT_EQ(promised("a as int8 instead of float32"), saved("a", DType::int8));
  // Without most of b, the first step is the fullest.
  EXPECT_EQ(promised("b as int8 instead of float32"), saved("b", DType::int8));
  EXPECT_EQ(promised("b as int8 instead of float32"), 400);
}

TEST(ReportRemedies, TensorsThatShareBytesChangeTheirTypeTogether) {
  const Input input = parse_input(
      R"({"format":"stowage-graph","version":1,"tensors":[)"
      R"({"name":"x","dtype":"float32","shape":[100],"bytes":400},{"name":"r","dtype":"float32","shape":[100],"bytes":400},)"
      R"({"name":"y","dtype":"int8","shape":[10],"bytes":10}],"subgraphs":[{"inputs":["x"],"outputs":["y"],)"
      R"("operators":[{"type":"Reshape","inputs":["x"],"outputs":["r"]},)"
      R"({"type":"End","inputs":["r"],"outputs":["y"]}]}]})",
      "reshape.json");
  Plan plan = plan_of(input, {.alignment = 1});
  std::vector<std::size_t> buffers;
  for (const PlannedTensor& planned : plan.tensors) buffers.push_back(planned.views.at(0).buffer);
  for (PlannedTensor& planned : plan.tensors) {
    if (planned.tensor.name == "r") planned.views = plan.tensors[0].views;
  }
  EXPECT_NE(find(remedies_of(plan), Verdict::possible, "x and one tensor that shares bytes with it as int8"),
            nullptr);
  plan.tensors[1].tensor.dtype = DType::int32;
  EXPECT_EQ(find(remedies_of(plan), Verdict::possible, "x and one"), nullptr);
}

TEST(ReportRemedies, InputsAndOutputsOfTheCallerSaveWhatIsPromised) {
  const Input input = parse_input(
      R"({"format":"stowage-graph","version":1,"tensors":[{"name":"x","bytes":6400},{"name":"a","bytes":640},)"
      R"({"name":"b","bytes":1280},{"name":"y","bytes":64}],"subgraphs":[{"inputs":["x"],"outputs":["y"],)"
      R"("operators":[{"type":"One","inputs":["x"],"outputs":["a"]},{"type":"Two","inputs":["a"],"outputs":["b"]},)"
      R"({"type":"Three","inputs":["b"],"outputs":["y"]}]}]})",
      "chain.json");
  const Plan plan = plan_of(input);
  const Remedy* const remedy = [&] {
    static std::vector<Remedy> remedies;
    remedies = remedies_of(plan);
    return find(remedies, Verdict::possible, "Inputs and outputs");
  }();
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(plan.summary.peak - plan_of(input, {.io = Io::external}).summary.peak, remedy->bytes);
  EXPECT_EQ(remedy->command, "stowage plan chain.json --io external");
}

TEST(ReportRemedies, OfRowsSayWhatTheProofSupposes) {
  Plan plan = plan_of(two_branches());
  plan.order_searches.clear();
  plan.streaming = Streaming{.granule = 2, .load = 100, .load_of_layers = 300};
  plan.claims = {{ClaimScope::stream, 100, true}};
  plan.summary.peak = plan.summary.lower_bound = 100;
  const auto proof = [&] { return data_in(page_of(plan))["plans"][0]["proof"].get<std::string>(); };
  EXPECT_EQ(find(remedies_of(plan), Verdict::done, "Rows")->bytes, 200);
  EXPECT_EQ(find(remedies_of(plan), Verdict::impossible, "rows")->why.find("computed again"),
            std::string::npos);
  EXPECT_NE(find(remedies_of(plan), Verdict::possible, "Fewer rows"), nullptr);
  EXPECT_NE(find(remedies_of(plan), Verdict::possible, "computed again"), nullptr);
  EXPECT_EQ(proof(), "rows");
  plan.streaming->recompute_limit = 1.5;
  plan.streaming->curve = {{1, 1, 120}, {1.5, 1.2, 90}};
  EXPECT_NE(find(remedies_of(plan), Verdict::impossible, "rows")->why.find("computed again"),
            std::string::npos);
  EXPECT_EQ(find(remedies_of(plan), Verdict::found, "1.200 times")->bytes, 10);
  EXPECT_EQ(proof(), "offsets");
  plan.claims = {{ClaimScope::stream, 90, false}};
  EXPECT_EQ(find(remedies_of(plan), Verdict::possible, "order of rows")->bytes, 10);
}

TEST(ReportRemedies, NameCopiesThatAreKept) {
  Plan plan = plan_of(two_branches());
  // At position 1 x and both tensors of the first branch are live; no position has more.
  const std::size_t fullest = std::get<stowage::Run>(plan.clocks[0].steps[1]).path[1];
  plan.copies_kept = {{.op = fullest, .operation = "full", .bytes = 64, .why = "because"},
                      {.op = 4, .operation = "last", .bytes = 32, .why = "so"}};
  const std::vector<Remedy> remedies = remedies_of(plan);
  ASSERT_NE(find(remedies, Verdict::possible, "Sharing of full"), nullptr);
  EXPECT_EQ(find(remedies, Verdict::possible, "Sharing of full")->bytes, 64);
  ASSERT_NE(find(remedies, Verdict::possible, "Sharing of last"), nullptr);
  EXPECT_EQ(find(remedies, Verdict::possible, "Sharing of last")->bytes, std::nullopt);
}

/// A reshape that copies, and the same model with a reshape that need not.
TEST(ReportRemedies, ACopyThatGoesSavesWhatIsPromised) {
  const auto planned = [](const std::string& copies) {
    const std::string text =
        R"({"format":"stowage-graph","version":1,"tensors":[{"name":"x","bytes":4},{"name":"a","bytes":64},)"
        R"({"name":"b","bytes":64},{"name":"y","bytes":4}],"subgraphs":[{"inputs":["x"],"outputs":["y"],)"
        R"("operators":[{"name":"grow","type":"Grow","inputs":["x"],"outputs":["a"]},)"
        R"({"name":"view","type":"Reshape","inputs":["a"],"outputs":["b"],)" +
        copies + R"(},{"name":"shrink","type":"Shrink","inputs":["b"],"outputs":["y"]}]}]})";
    return plan_of(parse_input(text, "reshape.json"), {.alignment = 1, .io = Io::external});
  };
  const Plan copying = planned(R"("must_copy":"its rows are padded")");
  const Plan sharing = planned(R"("copies":[{"input":0,"output":0,"from":0,"to":0,"size":64}])");
  const std::vector<Remedy> remedies = remedies_of(copying);
  const Remedy* const kept = find(remedies, Verdict::possible, "Sharing of");
  ASSERT_NE(kept, nullptr);
  EXPECT_NE(kept->why.find("its rows are padded"), std::string::npos) << kept->why;
  EXPECT_EQ(copying.summary.peak - sharing.summary.peak, kept->bytes);
}

TEST(ReportRemedies, ArePricedInTheSlowerMemory) {
  Problem problem;
  problem.memories = {{.name = "fast", .capacity = 96, .cost = 1}, {.name = "slow", .cost = 10}};
  problem.buffers = {{.id = "a", .size = 64, .pieces = {{0, 64, {0, 2}}}, .traffic = 128},
                     {.id = "b", .size = 32, .pieces = {{0, 32, {1, 3}}}, .traffic = 640}};
  Plan plan = plan_of_list("id,lower,upper,size\na,0,2,64\nb,1,3,32\n");
  plan.memories.push_back({.memory = {.name = "slow", .cost = 10}});
  plan.buffers = problem.buffers;
  plan.tensors.push_back({.tensor = {.name = "a", .bytes = 64}, .views = {{.buffer = 0, .life = {0, 2}}}});
  const std::vector<Remedy> remedies = remedies_of(plan);
  const Remedy* const moved = find(remedies, Verdict::possible, "a in slow");
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved->bytes, 64);
  EXPECT_NE(moved->why.find("read and write 128 bytes"), std::string::npos) << moved->why;
  // Without it, the rest takes as much less.
  EXPECT_EQ(plan_of_list("id,lower,upper,size\nb,1,3,32\n").summary.peak, 96 - *moved->bytes);
}

}  // namespace
}  // namespace stowage
