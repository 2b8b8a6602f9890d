// The program as its users meet it: exit statuses, messages, files, signals.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_models.h"
#include "process.h"
#include "stowage/graph.h"
#include "stowage/problem.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::node;
using testing::onnx_model;
using testing::OnnxParts;
using testing::ProcessResult;
using testing::run_process;
using testing::run_stowage;
using testing::TemporaryDirectory;
using testing::tensor_value;
using testing::tflite_model;
using testing::TfliteSpec;
using Arguments = std::vector<std::string>;
using Texts = std::vector<std::string>;

constexpr int done = 0;
constexpr int not_met = 1;
constexpr int wrong_usage = 2;
constexpr int rejected = 3;
constexpr int unwritable = 5;

constexpr std::string_view small_list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";  // peak 96
constexpr std::string_view list_header = "id,lower,upper,size\n";

Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void expect_says(const std::string& message, const Texts& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' does not say '" << part << "'";
  }
}

/// The list with a row: "id,lower,upper,size" and one buffer of 8 bytes, all right but for the row.
std::string list_with(std::string_view row, std::string_view header = list_header) {
  return std::string(header) + std::string(row) + "\n";
}

std::string operations(std::string_view rows) { return "op,name,size,alignment\n" + std::string(rows); }

/// Graph JSON: tensors x and y of 16 bytes, unless others are given, and one operator.
std::string graph_json(std::string_view tensors, std::string_view operators,
                       std::string_view inputs = "\"x\"", std::string_view outputs = "\"y\"",
                       std::string_view rest = "") {
  return fmt::format(
      R"({{"format":"stowage-graph","version":1,"tensors":[{}],"subgraphs":[{{"inputs":[{}],"outputs":[{}],)"
      R"("operators":[{}]}}]{}}})",
      tensors, inputs, outputs, operators, rest);
}

constexpr std::string_view two_tensors = R"({"name":"x","bytes":16},{"name":"y","bytes":16})";
constexpr std::string_view relu = R"({"type":"Relu","inputs":["x"],"outputs":["y"]})";

std::string small_graph() { return graph_json(two_tensors, relu); }

TfliteSpec small_tflite() {
  return {.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 8}}, {.name = "y", .shape = {1, 8}}},
                         .operators = {{.type = "RELU", .inputs = {0}, .outputs = {1}}},
                         .inputs = {0},
                         .outputs = {1}}}};
}

OnnxParts small_onnx() {
  return {.nodes = {node("Relu", {"x"}, {"h"}), node("Relu", {"h"}, {"y"})},
          .inputs = {tensor_value("x", {"N", 8})},
          .outputs = {tensor_value("y", {"N", 8})}};
}

std::string bytes_of_onnx(const OnnxParts& parts) { return onnx_model(parts).SerializeAsString(); }

std::string half(const std::string& bytes) { return bytes.substr(0, bytes.size() / 2); }

std::string garbage() {
  std::string bytes;
  std::uint32_t state = 12345;
  for (int i = 0; i < 2000; ++i) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

/// A file that is wrong, or arguments that are, and what the program has to say about it.
struct Row {
  std::string file;
  std::string content;
  Arguments more_arguments;  ///< After "plan FILE".
  int status = rejected;
  Texts says;
};

/// Nothing is printed on standard output, and nothing is written.
void expect_refused(const Row& row) {
  constexpr std::size_t shown = 200;
  SCOPED_TRACE(row.file + " " + ::testing::PrintToString(row.content.substr(0, shown)) + " " +
               ::testing::PrintToString(row.more_arguments));
  const TemporaryDirectory directory;
  directory.write(row.file, row.content);
  const ProcessResult result = run_stowage(
      directory.path(), joined({"plan", row.file, "-o", "out.json", "-o", "out.csv"}, row.more_arguments));
  EXPECT_EQ(result.status, row.status) << "signal " << result.signal << " " << result.errors;
  expect_says(result.errors, row.says);
  if (row.status == rejected) expect_says(result.errors, {row.file});
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(directory.names(), Texts{row.file});
}

void expect_all_refused(const std::vector<Row>& rows) {
  for (const Row& row : rows) expect_refused(row);
}

/// Plans and verifies, and returns the plan.
json expect_planned(const TemporaryDirectory& directory, const std::string& file,
                    const Arguments& more_arguments = {}, const Arguments& model_arguments = {}) {
  const ProcessResult result = run_stowage(
      directory.path(), joined(joined({"plan", file, "-o", "plan.json"}, more_arguments), model_arguments));
  EXPECT_EQ(result.status, done) << result.errors;
  EXPECT_EQ(result.errors, "");
  const ProcessResult verified =
      run_stowage(directory.path(), joined({"verify", "plan.json", "--model", file}, model_arguments));
  EXPECT_EQ(verified.status, done) << verified.output << verified.errors;
  return json::parse(directory.read("plan.json"), nullptr, false);
}

TEST(Cli, RefusesWrongBufferLists) {
  const std::string gap_header = "id,lower,upper,size,gaps\n";
  expect_all_refused({
      {"f.csv", "", {}, rejected, {"header"}},
      {"f.csv", garbage(), {}, rejected, {}},
      {"f.csv", "id,lower,upper,size\na,0,2", {}, rejected, {"line 2"}},
      {"f.csv", "id,lower,upper,size\na,0,2,\"6", {}, rejected, {"line 2"}},
      {"f.csv", list_with("a,0,2,64,9"), {}, rejected, {"line 2"}},
      {"f.csv", "id,lower,upper,size,colour\na,0,2,64,red\n", {}, rejected, {"line 1", "colour"}},
      {"f.csv", "id,lower,upper\na,0,2\n", {}, rejected, {"line 1", "size"}},
      {"f.csv", "lower,upper,size\n0,2,64\n", {}, rejected, {"line 1", "id"}},
      {"f.csv", "id,upper,size\na,2,64\n", {}, rejected, {"line 1", "lower"}},
      {"f.csv", "id,lower,size\na,0,64\n", {}, rejected, {"line 1", "upper", "end"}},
      {"f.csv", "id,lower,upper,end,size\na,0,2,1,64\n", {}, rejected, {"line 1", "upper", "end"}},
      {"f.csv", "id,lower,upper,size,size\na,0,2,64,64\n", {}, rejected, {"line 1", "size"}},
      {"f.csv", list_with("a,0,2,many"), {}, rejected, {"line 2", "size", "many"}},
      {"f.csv", list_with("a,0,2,6.5"), {}, rejected, {"line 2", "size", "6.5"}},
      {"f.csv", list_with("a,0,2,0x40"), {}, rejected, {"line 2", "size", "0x40"}},
      {"f.csv", list_with("a,0,2,"), {}, rejected, {"line 2", "size"}},
      {"f.csv", list_with("a,,2,64"), {}, rejected, {"line 2", "lower"}},
      {"f.csv", list_with(",0,2,64"), {}, rejected, {"line 2", "id"}},
      {"f.csv", list_with("a,0,2,-64"), {}, rejected, {"line 2", "size", "-64"}},
      {"f.csv", list_with("a,0,2,99999999999999999999"), {}, rejected, {"line 2", "99999999999999999999"}},
      {"f.csv", list_with("a,0,2,9223372036854775807"), {}, rejected, {"'a'", "9223372036854775807"}},
      {"f.csv", list_with("a,0,9223372036854775807,8"), {}, rejected, {"'a'", "9223372036854775807"}},
      {"f.csv",
       list_with("a,0,9223372036854775807,8", "id,lower,end,size\n"),
       {},
       rejected,
       {"line 2", "9223372036854775807"}},
      {"f.csv", list_with("a,-1,2,64"), {}, rejected, {"line 2", "'a'", "-1"}},
      {"f.csv", list_with("a,3,2,64"), {}, rejected, {"line 2", "'a'", "3", "2"}},
      {"f.csv", list_with("a,0,2,64\n\nb,3,2,64"), {}, rejected, {"line 4", "'b'"}},
      {"f.csv", list_with("a,0,2,64\na,3,4,64"), {}, rejected, {"'a'"}},
      {"f.csv",
       list_with("a,0,2,2000000000000000000\nb,0,2,2000000000000000000"),
       {},
       rejected,
       {"'b'", "2000000000000000000"}},
      {"f.csv", "id,lower,upper,size,alignment\na,0,2,64,0\n", {}, rejected, {"'a'", "alignment", "0"}},
      {"f.csv", "id,lower,upper,size,alignment\na,0,2,64,-8\n", {}, rejected, {"'a'", "alignment", "-8"}},
      {"f.csv", "id,lower,upper,size,offset\na,0,2,64,-8\n", {}, rejected, {"'a'", "-8"}},
      {"f.csv", "id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,64,63\n", {}, rejected, {"'a'", "'b'", "63"}},
      {"f.csv", "id,lower,upper,size,alignment,offset\na,0,2,64,16,24\n", {}, rejected, {"'a'", "24", "16"}},
      {"f.csv", list_with("a,2,6,64,1-3", gap_header), {}, rejected, {"line 2", "1-3"}},
      {"f.csv", list_with("a,2,6,64,3-7", gap_header), {}, rejected, {"line 2", "3-7"}},
      {"f.csv", list_with("a,2,6,64,5-3", gap_header), {}, rejected, {"line 2", "5-3"}},
      {"f.csv", list_with("a,2,9,64,3-5 4-6", gap_header), {}, rejected, {"line 2", "4"}},
      {"f.csv", list_with("a,2,9,64,4-6 3-5", gap_header), {}, rejected, {"line 2", "4"}},
      {"f.csv", list_with("a,2,9,64,3", gap_header), {}, rejected, {"line 2", "'3'"}},
      {"f.csv", list_with("a,2,9,64,3-x", gap_header), {}, rejected, {"line 2", "'3-x'"}},
      {"f.csv", list_with("a,2,9,64,3-4-5", gap_header), {}, rejected, {"line 2", "'3-4-5'"}},
      {"f.csv", list_with("a,2,9,64,3-5@8", gap_header), {}, rejected, {"line 2", "'3-5@8'"}},
      {"f.csv", list_with("a,2,9,64,3-5@", gap_header), {}, rejected, {"line 2", "'3-5@'"}},
      {"f.csv", list_with("a,2,9,64,3-5@8:65", gap_header), {}, rejected, {"line 2", "64"}},
      {"f.csv", list_with("a,2,9,64,3-5@9:8", gap_header), {}, rejected, {"line 2", "3-5@9:8"}},
      {"f.csv", list_with("a,2,9,64,3-99999999999999999999", gap_header), {}, rejected, {"line 2"}},
  });
}

TEST(Cli, RefusesWrongSequences) {
  expect_all_refused({
      {"f.csv", operations("free,a,8,1\n"), {}, rejected, {"line 2", "'a'"}},
      {"f.csv", operations("alloc,a,8,1\nalloc,a,8,1\n"), {}, rejected, {"line 3", "'a'"}},
      {"f.csv", operations("alloc,a,8,1\nfree,a,8,1\nfree,a,8,1\n"), {}, rejected, {"line 4", "'a'"}},
      {"f.csv", operations("grow,a,8,1\n"), {}, rejected, {"line 2", "grow"}},
      {"f.csv", operations("alloc,a,8,1\nfree,a,9,1\n"), {}, rejected, {"line 3", "'a'", "9", "8"}},
      {"f.csv", operations("alloc,a,-8,1\n"), {}, rejected, {"line 2", "-8"}},
      {"f.csv", operations("alloc,a,,1\n"), {}, rejected, {"line 2", "size"}},
      {"f.csv", operations("alloc,a,eight,1\n"), {}, rejected, {"line 2", "eight"}},
      {"f.csv", operations("alloc,,8,1\n"), {}, rejected, {"line 2", "name"}},
      {"f.csv", operations("alloc,a,8,0\n"), {}, rejected, {"'a'", "alignment", "0"}},
      {"f.csv", operations("alloc,a,8,-1\n"), {}, rejected, {"'a'", "alignment", "-1"}},
      {"f.csv", operations("alloc,a,99999999999999999999,1\n"), {}, rejected, {"line 2"}},
      {"f.csv", operations("alloc,a,8"), {}, rejected, {"line 2"}},
      {"f.csv", "op,name\nalloc,a\n", {}, rejected, {"line 1", "size"}},
      {"f.csv", "op,size\nalloc,8\n", {}, rejected, {"line 1", "name"}},
      {"f.csv", "op,name,size,colour\nalloc,a,8,red\n", {}, rejected, {"line 1", "colour"}},
      {"f.csv",
       operations("alloc,a,2000000000000000000,1\nalloc,b,2000000000000000000,1\n"),
       {},
       rejected,
       {"'b'", "2000000000000000000"}},
  });
}

TEST(Cli, RefusesWrongGraphs) {
  const auto tensors = [](std::string_view list) { return graph_json(list, relu); };
  const auto operators = [](std::string_view list) { return graph_json(two_tensors, list); };
  const std::string cycle = graph_json(
      R"({"name":"x","bytes":16},{"name":"p","bytes":16},{"name":"q","bytes":16},{"name":"y","bytes":16})",
      R"({"type":"Add","inputs":["x","q"],"outputs":["p"]},{"type":"Relu","inputs":["p"],"outputs":["q"]},)"
      R"({"type":"Relu","inputs":["q"],"outputs":["y"]})");
  expect_all_refused({
      {"f.json", "", {}, rejected, {"JSON"}},
      {"f.json", garbage(), {}, rejected, {"JSON"}},
      {"f.json", half(small_graph()), {}, rejected, {"JSON", "line"}},
      {"f.json", "[]", {}, rejected, {"object"}},
      {"f.json", R"({"format":"stowage-plan","version":1})", {}, rejected, {"is a plan", "stowage report"}},
      {"f.json", R"({"format":"stowage-plans","version":1})", {}, rejected, {"/format", "stowage-plans"}},
      {"f.json", R"({"format":"stowage-graph","version":2})", {}, rejected, {"/version", "2"}},
      {"f.json", R"({"format":"stowage-graph","version":1})", {}, rejected, {"tensors"}},
      {"f.json", cycle, {}, rejected, {"cycle"}},
      {"f.json", operators(std::string(relu) + "," + std::string(relu)), {}, rejected, {"'y'", "producers"}},
      {"f.json", operators(R"({"type":"Relu","inputs":["x"],"outputs":["x"]})"), {}, rejected, {"'x'"}},
      {"f.json", operators(R"({"type":"Relu","inputs":["z"],"outputs":["y"]})"), {}, rejected, {"'\"z\"'"}},
      {"f.json", graph_json(two_tensors, "", "", R"("y")"), {}, rejected, {"'y'"}},
      {"f.json", graph_json(two_tensors, relu, ""), {}, rejected, {"'x'"}},
      {"f.json",
       tensors(R"({"name":"x","bytes":-16},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"/bytes", "-16"}},
      {"f.json",
       tensors(R"({"name":"x","bytes":16.5},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"/bytes", "16.5"}},
      {"f.json",
       tensors(R"({"name":"x","bytes":"16"},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"/tensors/0/bytes"}},
      {"f.json",
       tensors(R"({"name":"x","bytes":99999999999999999999},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"/tensors/0/bytes"}},
      {"f.json",
       tensors(R"({"name":"x","bytes":2000000000000000000},{"name":"y","bytes":2000000000000000000})"),
       {},
       rejected,
       {"'y'", "2000000000000000000"}},
      {"f.json",
       tensors(R"({"name":"x","dtype":"int8","shape":[4294967296,4294967296]},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"/tensors/0"}},
      {"f.json",
       tensors(R"({"name":"x","dtype":"int8","shape":[-4]},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"/tensors/0/shape/0", "-4"}},
      {"f.json",
       tensors(R"({"name":"x","dtype":"int8","shape":[4],"bytes":5},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"/tensors/0/bytes", "5", "4"}},
      {"f.json",
       tensors(R"({"name":"x","dtype":"int9","bytes":5},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"int9"}},
      {"f.json",
       tensors(R"({"name":"x","kind":"sauce","bytes":5},{"name":"y","bytes":16})"),
       {},
       rejected,
       {"sauce"}},
      {"f.json",
       tensors(R"({"name":"x","bytes":5},{"name":"x","bytes":5})"),
       {},
       rejected,
       {"/tensors/1/name"}},
      {"f.json",
       operators(R"({"type":"If","inputs":["x"],"outputs":["y"],"bodies":[0]})"),
       {},
       rejected,
       {"If", "body 0"}},
      {"f.json",
       operators(R"({"type":"If","inputs":["x"],"outputs":["y"],"bodies":[7]})"),
       {},
       rejected,
       {"If", "body 7"}},
      {"f.json",
       operators(R"({"type":"Relu","inputs":["x"],"outputs":["y"],"after":[0]})"),
       {},
       rejected,
       {"Relu", "cycle"}},
      {"f.json",
       graph_json(two_tensors, relu, "\"x\"", "\"y\"", R"(,"state":[{"output":"x","input":"y"}])"),
       {},
       rejected,
       {"'x'"}},
  });
}

TEST(Cli, RefusesWrongTfliteModels) {
  TfliteSpec cycle = small_tflite();
  cycle.subgraphs[0].tensors.push_back({.name = "p", .shape = {1, 8}});
  cycle.subgraphs[0].operators = {{.type = "ADD", .inputs = {0, 1}, .outputs = {2}},
                                  {.type = "RELU", .inputs = {2}, .outputs = {1}}};
  TfliteSpec two_producers = small_tflite();
  two_producers.subgraphs[0].operators.push_back({.type = "RELU", .inputs = {0}, .outputs = {1}});
  TfliteSpec no_producer = small_tflite();
  no_producer.subgraphs[0].tensors.push_back({.name = "lost", .shape = {1, 8}});
  no_producer.subgraphs[0].operators[0].inputs = {0, 2};
  TfliteSpec negative = small_tflite();
  negative.subgraphs[0].tensors[0].shape = {1, -8};
  TfliteSpec huge = small_tflite();
  huge.subgraphs[0].tensors[0].shape = {2147483647, 2147483647, 2147483647};
  TfliteSpec huge_sum = small_tflite();
  for (std::int32_t i = 0; i < 10; ++i) {
    huge_sum.subgraphs[0].tensors.push_back(
        {.name = fmt::format("large {}", i), .shape = {2147483647, 33554432}});
    huge_sum.subgraphs[0].operators.push_back({.type = "FILL", .inputs = {0}, .outputs = {i + 2}});
  }
  TfliteSpec out_of_range = small_tflite();
  out_of_range.subgraphs[0].operators[0].inputs = {5};
  const std::string good = tflite_model(small_tflite());
  expect_all_refused({
      {"f.tflite", "", {}, rejected, {"TFL3"}},
      {"f.tflite", garbage(), {}, rejected, {"TFL3"}},
      {"f.tflite", half(good), {}, rejected, {"truncated"}},
      {"f.tflite", good.substr(0, 8), {}, rejected, {"truncated"}},
      {"f.tflite", tflite_model(cycle), {}, rejected, {"cycle"}},
      {"f.tflite", tflite_model(two_producers), {}, rejected, {"'y'", "producers"}},
      {"f.tflite", tflite_model(no_producer), {}, rejected, {"'lost'"}},
      {"f.tflite", tflite_model(negative), {}, rejected, {"'x'", "-8"}},
      {"f.tflite", tflite_model(huge), {}, rejected, {"'x'"}},
      {"f.tflite", tflite_model(huge_sum), {}, rejected, {"'large 8'", "sum"}},
      {"f.tflite", tflite_model(out_of_range), {}, rejected, {"5"}},
  });
}

TEST(Cli, RefusesWrongOnnxModels) {
  OnnxParts cycle = small_onnx();
  cycle.nodes = {node("Add", {"x", "y"}, {"h"}), node("Relu", {"h"}, {"y"})};
  OnnxParts two_producers = small_onnx();
  two_producers.nodes.push_back(node("Neg", {"x"}, {"h"}));
  OnnxParts no_producer = small_onnx();
  no_producer.nodes[0] = node("Add", {"x", "lost"}, {"h"});
  OnnxParts no_output = small_onnx();
  no_output.outputs.push_back(tensor_value("never", {8}));
  OnnxParts negative = small_onnx();
  negative.inputs = {tensor_value("x", {-3, 8})};
  OnnxParts huge = small_onnx();
  huge.inputs = {tensor_value("x", {4294967296, 4294967296})};
  huge.outputs = {tensor_value("y", {4294967296, 4294967296})};
  OnnxParts huge_sum = small_onnx();
  for (int i = 0; i < 10; ++i)
    huge_sum.inputs.push_back(tensor_value(fmt::format("large {}", i), {2147483647, 33554432}));
  const std::string good = bytes_of_onnx(small_onnx());
  const Arguments batch{"--dim", "N=1"};
  expect_all_refused({
      {"f.onnx", "", {}, rejected, {"graph"}},
      {"f.onnx", garbage(), {}, rejected, {}},
      {"f.onnx", half(good), batch, rejected, {}},
      {"f.onnx", good, {}, rejected, {"'N'"}},
      {"f.onnx", bytes_of_onnx(cycle), batch, rejected, {"cycle"}},
      {"f.onnx", bytes_of_onnx(two_producers), batch, rejected, {"'h'"}},
      {"f.onnx", bytes_of_onnx(no_producer), batch, rejected, {"'lost'"}},
      {"f.onnx", bytes_of_onnx(no_output), batch, rejected, {"'never'"}},
      {"f.onnx", bytes_of_onnx(negative), batch, rejected, {"'x'", "-3"}},
      {"f.onnx", bytes_of_onnx(huge), {}, rejected, {"'x'"}},
      {"f.onnx", bytes_of_onnx(huge_sum), batch, rejected, {"'large 8'", "sum"}},
  });
}

TEST(Cli, RefusesFilesOfNoKnownKind) {
  expect_all_refused({
      {"f", "", {}, rejected, {"format"}},
      {"f", garbage(), {}, rejected, {}},
      {"f.txt", "hello\n", {}, rejected, {"format"}},
  });
}

TEST(Cli, RefusesWrongUsage) {
  const std::string list(small_list);
  const std::string onnx = bytes_of_onnx(small_onnx());
  const std::string tflite = tflite_model(small_tflite());
  std::vector<Row> rows{
      {"f.csv", list, {"--strategy", "magic"}, wrong_usage, {"magic", "greedy-by-size"}},
      {"f.csv", list, {"--capacity", "64", "--memory", "sram=64"}, wrong_usage, {"--capacity", "--memory"}},
      {"f.csv", list, {"--memory", "sram=64", "--memory", "sram"}, wrong_usage, {"--memory", "'sram'"}},
      {"f.csv", list, {"--memory", "flash=64:weights"}, wrong_usage, {"--memory", "weights"}},
      {"f.csv", list, {"--memory", "=64"}, wrong_usage, {"--memory"}},
      {"f.csv", list, {"--memory", "sram=64,granule=0"}, wrong_usage, {"granule", "at least 1"}},
      {"f.csv", list, {"--memory", "sram,granule=x"}, wrong_usage, {"granule of --memory 'sram'"}},
      {"f.csv", list, {"--memory", "sram=64,granule=8"}, wrong_usage, {"--memory", "no granule"}},
      {"f.csv", list, {"--memory", "sram=lots"}, wrong_usage, {"--memory", "lots"}},
      {"f.csv", list, {"--memory", "sram@cheap"}, wrong_usage, {"--memory", "cheap"}},
      {"f.csv", list, {"--memory", "sram@-1"}, wrong_usage, {"--memory", "-1"}},
      {"f.csv", list, {"f.csv"}, wrong_usage, {"f.csv"}},
      {"f.csv", list, {"--capacity", "-1"}, wrong_usage, {"--capacity", "-1"}},
      {"f.csv", list, {"--capacity", "64 KBB"}, wrong_usage, {"--capacity", "64 KBB"}},
      {"f.csv", list, {"--capacity", "1.5.5KiB"}, wrong_usage, {"--capacity", "1.5.5KiB"}},
      {"f.csv", list, {"--capacity", "KiB"}, wrong_usage, {"--capacity", "KiB"}},
      {"f.csv", list, {"--capacity", "9999999999GiB"}, wrong_usage, {"--capacity", "9999999999GiB"}},
      {"f.csv", list, {"--align", "0"}, wrong_usage, {"--align", "0"}},
      {"f.csv", list, {"--align", "-16"}, wrong_usage, {"--align", "-16"}},
      {"f.csv", list, {"--align", "wide"}, wrong_usage, {"--align", "wide"}},
      {"f.csv", list, {"--time-limit", "-1"}, wrong_usage, {"--time-limit", "-1"}},
      {"f.csv", list, {"--time-limit", "soon"}, wrong_usage, {"--time-limit", "soon"}},
      {"f.csv", list, {"--time-limit", "3s"}, wrong_usage, {"--time-limit", "3s"}},
      {"f.csv", list, {"--time-limit", "nan"}, wrong_usage, {"--time-limit", "nan"}},
      {"f.csv", list, {"--time-limit", "inf"}, wrong_usage, {"--time-limit", "inf"}},
      {"f.csv", list, {"--effort", "-1"}, wrong_usage, {"--effort", "-1"}},
      {"f.csv", list, {"--effort", "1", "--time-limit", "1"}, wrong_usage, {"--effort and --time-limit"}},
      {"f.csv", list, {"--threads", "0"}, wrong_usage, {"--threads", "0"}},
      {"f.csv", list, {"--seed", "-1"}, wrong_usage, {"--seed", "-1"}},
      {"f.csv", list, {"--reuse-threshold", "few"}, wrong_usage, {"--reuse-threshold", "few"}},
      {"f.csv", list, {"--rounds", "-1"}, wrong_usage, {"--rounds", "-1"}},
      {"f.csv",
       list,
       {"--strategy", "rectangle", "--reuse-threshold", "4"},
       wrong_usage,
       {"--reuse-threshold", "free-list", "rectangle"}},
      {"f.csv",
       list,
       {"--strategy", "exact", "--sort", "size"},
       wrong_usage,
       {"--sort", "rectangle", "exact"}},
      {"f.csv",
       list,
       {"--strategy", "free-list", "--rounds", "2"},
       wrong_usage,
       {"--rounds", "rectangle", "free-list"}},
      {"f.csv", list, {"--io", "rows"}, wrong_usage, {"--io", "rows", "--stream"}},
      {"f.csv", list, {"--io", "columns"}, wrong_usage, {"--io", "columns", "rows"}},
      {"f.csv", list, {"--stream"}, wrong_usage, {"--stream", "list"}},
      {"f.csv", list, {"--granule", "2"}, wrong_usage, {"--granule", "--stream"}},
      {"f.csv", list, {"--recompute", "2"}, wrong_usage, {"--recompute", "--stream"}},
      {"f.csv", list, {"--stream", "--granule", "0"}, wrong_usage, {"--granule", "0"}},
      {"f.csv", list, {"--stream", "--recompute", "0.5"}, wrong_usage, {"--recompute", "0.5"}},
      {"f.csv", list, {"--stream", "--recompute", "1.5..1.2"}, wrong_usage, {"--recompute", "1.5", "1.2"}},
      {"f.csv", list, {"--stream", "--recompute", "1.."}, wrong_usage, {"--recompute", "''"}},
      {"f.csv", list, {"--io", "external"}, wrong_usage, {"external"}},
      {"f.csv", list, {"--order", "fastest"}, wrong_usage, {"--order", "fastest"}},
      {"f.csv", list, {"--alias", "some"}, wrong_usage, {"--alias", "some"}},
      {"f.csv", list, {"--sort", "beauty"}, wrong_usage, {"--sort", "beauty"}},
      {"f.csv",
       list,
       {"--memory", "a", "--memory", "b", "--strategy", "two-stack"},
       wrong_usage,
       {"two-stack"}},
      {"f.csv", list, {"--dim", "N=1"}, wrong_usage, {"--dim"}},
      {"f.csv", list, {"--shape", "x=1"}, wrong_usage, {"--shape"}},
      {"f.csv", list, {"--bound", "x=1"}, wrong_usage, {"--bound"}},
      {"f.csv", list, {"--state", "y=x"}, wrong_usage, {"--state"}},
      {"f.json", small_graph(), {"--dim", "N=1"}, wrong_usage, {"--dim"}},
      {"f.json", small_graph(), {"--state", "z=x"}, wrong_usage, {"--state", "'z'"}},
      {"f.json", small_graph(), {"--state", "y=z"}, wrong_usage, {"--state", "'z'"}},
      {"f.json", small_graph(), {"--state", "y"}, wrong_usage, {"--state", "'y'"}},
      {"f.onnx", onnx, {"--dim", "N=1", "--dim", "M=2"}, wrong_usage, {"--dim", "'M'"}},
      {"f.onnx", onnx, {"--dim", "N"}, wrong_usage, {"--dim", "'N'"}},
      {"f.onnx", onnx, {"--dim", "N=-1"}, wrong_usage, {"--dim", "-1"}},
      {"f.onnx", onnx, {"--dim", "N=big"}, wrong_usage, {"--dim", "big"}},
      {"f.onnx", onnx, {"--dim", "N=1", "--dim", "N=2"}, wrong_usage, {"--dim", "'N'"}},
      {"f.onnx", onnx, {"--dim", "N=1", "--shape", "z=1,8"}, wrong_usage, {"--shape", "'z'"}},
      {"f.onnx", onnx, {"--shape", "x=1,,8"}, wrong_usage, {"--shape"}},
      {"f.onnx", onnx, {"--shape", "x=1;8"}, wrong_usage, {"--shape"}},
      {"f.onnx", onnx, {"--dim", "N=1", "--bound", "z=64"}, wrong_usage, {"--bound", "'z'"}},
      {"f.onnx", onnx, {"--dim", "N=1", "--state", "y=z"}, wrong_usage, {"--state", "'z'"}},
      {"f.tflite", tflite, {"--shape", "z=1,8"}, wrong_usage, {"--shape", "'z'"}},
      {"f.tflite", tflite, {"--bound", "z=64"}, wrong_usage, {"--bound", "'z'"}},
      {"f.tflite", tflite, {"--dim", "N=1"}, wrong_usage, {"--dim"}},
      {"f.tflite", tflite, {"--state", "y=z"}, wrong_usage, {"--state", "'z'"}},
  };
  for (const char* const flag : {"--tflite", "--run", "--feed", "--release", "--frobnicate", "-x"}) {
    rows.push_back({"f.csv", list, {flag, "1"}, wrong_usage, {flag}});
  }
  expect_all_refused(rows);
}

TEST(Cli, AnEmptyValueIsNoValue) {
  // As from an unset variable of a script: to plan without a limit would be a silent surprise.
  for (const char* const flag : {"--capacity", "--align", "--time-limit", "--effort", "--strategy", "--io",
                                 "--memory", "--dim", "--scratch", "--order", "--alias"}) {
    expect_refused({"f.csv", std::string(small_list), {flag, ""}, wrong_usage, {flag}});
  }
  const TemporaryDirectory directory;
  directory.write("f.csv", small_list);
  for (const char* const flag : {"-o", "--csv"}) {
    EXPECT_EQ(run_stowage(directory.path(), {"plan", "f.csv", flag, ""}).status, wrong_usage) << flag;
  }
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "f.csv", "-o", "plan.json"}).status, done);
  EXPECT_EQ(run_stowage(directory.path(), {"verify", "plan.json", "--model", ""}).status, wrong_usage);
}

TEST(Cli, WrongUsageOfTheProgramItself) {
  const TemporaryDirectory directory;
  const std::vector<Arguments> wrong{{},
                                     {"frobnicate"},
                                     {"plan"},
                                     {"verify"},
                                     {"sweep", "f.onnx"},
                                     {"sweep"},
                                     {"--json"},
                                     {"strategies", "1"},
                                     {"verify", "--model", "f.csv"},
                                     {"plan", "--strategy"}};
  for (const Arguments& arguments : wrong) {
    const ProcessResult result = run_stowage(directory.path(), arguments);
    EXPECT_EQ(result.status, wrong_usage) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.output, "");
    EXPECT_NE(result.errors, "");
  }
}

TEST(Cli, HelpAndVersionAreNoErrors) {
  const TemporaryDirectory directory;
  for (const Arguments& arguments :
       std::vector<Arguments>{{"--help"}, {"plan", "--help"}, {"verify", "--help"}, {"--version"}}) {
    const ProcessResult result = run_stowage(directory.path(), arguments);
    EXPECT_EQ(result.status, done);
    EXPECT_NE(result.output, "");
    EXPECT_EQ(result.errors, "");
  }
}

TEST(Cli, ListsStrategiesThatCanBeChosen) {
  const TemporaryDirectory directory;
  directory.write("f.csv", small_list);
  const ProcessResult listed = run_stowage(directory.path(), {"strategies"});
  EXPECT_EQ(listed.status, done);
  EXPECT_EQ(listed.errors, "");
  EXPECT_EQ(std::count(listed.output.begin(), listed.output.end(), '\n'),
            static_cast<std::ptrdiff_t>(strategies().size()) + 2);
  const std::string lines = "\n" + listed.output;
  const std::size_t by_name = lines.find("\nby name alone");
  ASSERT_NE(by_name, std::string::npos);
  for (const StrategyInfo& strategy : strategies()) {
    expect_says(listed.output, {std::string(strategy.name), std::string(strategy.source)});
    EXPECT_EQ(lines.find("\n" + std::string(strategy.name) + " ") > by_name, !strategy.is_in_auto)
        << strategy.name;
    Arguments arguments{"--strategy", std::string(strategy.name)};
    if (strategy.name == "levels") arguments = joined(arguments, {"--memory", "fast=96", "--memory", "slow"});
    const json plan = expect_planned(directory, "f.csv", arguments);
    if (strategy.name != "auto") {
      EXPECT_EQ(plan.at("summary").at("strategy"), strategy.name);
    }
    // Two slots, each as large as the largest buffer.
    EXPECT_EQ(plan.at("summary").at("peak"), strategy.name == "slots" ? 128 : 96);
  }
}

TEST(Cli, InputsThatCannotBeRead) {
  const TemporaryDirectory directory;
  directory.write("secret.csv", small_list);
  std::filesystem::create_directory(directory / "folder.csv");
  std::filesystem::create_symlink("loop.csv", directory / "loop.csv");
  std::filesystem::permissions(directory / "secret.csv", std::filesystem::perms::none);
  std::vector<std::string> unreadable{"missing.csv", "missing/f.csv", "folder.csv", "loop.csv",
                                      std::string(5000, 'x') + ".csv"};
  if (::geteuid() != 0) unreadable.emplace_back("secret.csv");
  for (const std::string& file : unreadable) {
    const ProcessResult planned = run_stowage(directory.path(), {"plan", file, "-o", "out.json"});
    EXPECT_EQ(planned.status, rejected) << file;
    expect_says(planned.errors, {file, "cannot be read"});
    const ProcessResult verified = run_stowage(directory.path(), {"verify", file});
    EXPECT_EQ(verified.status, rejected) << file;
    expect_says(verified.errors, {file});
  }
  EXPECT_EQ(directory.names(), (Texts{"folder.csv", "loop.csv", "secret.csv"}));
}

/// Outputs that cannot be written, in a directory with an old file that must stay as it is.
class CliOutputs : public ::testing::Test {
 protected:
  CliOutputs() {
    directory_.write("f.csv", small_list);
    directory_.write("old.json", "old");
    std::filesystem::create_directory(directory_ / "folder");
    std::filesystem::create_symlink("loop", directory_ / "loop");
  }

  void expect_nothing_written(const Arguments& outputs, const std::string& culprit) const {
    const Texts before = directory_.names();
    const ProcessResult result = run_stowage(directory_.path(), joined({"plan", "f.csv"}, outputs));
    EXPECT_EQ(result.status, unwritable) << "signal " << result.signal << " " << result.errors;
    expect_says(result.errors, {culprit, "cannot be written"});
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(directory_.names(), before);
    EXPECT_EQ(directory_.read("old.json"), "old");
    EXPECT_TRUE(std::filesystem::is_empty(directory_ / "folder"));
  }

  [[nodiscard]] static Texts unwritable_files() {
    return {"missing/out.json", "folder", "f.csv/out.json", "loop", "/dev/full", std::string(5000, 'x')};
  }

  TemporaryDirectory directory_;
};

TEST_F(CliOutputs, ThatCannotBeWritten) {
  for (const std::string& file : unwritable_files()) {
    SCOPED_TRACE(file.substr(0, 30));
    expect_nothing_written({"-o", file}, file);
    expect_nothing_written({"--csv", file}, file);
  }
}

TEST_F(CliOutputs, AreAllWrittenOrNone) {
  for (const std::string& file : unwritable_files()) {
    SCOPED_TRACE(file.substr(0, 30));
    expect_nothing_written({"-o", "old.json", "--csv", file}, file);
    expect_nothing_written({"-o", file, "--csv", "old.json"}, file);
    expect_nothing_written({"-o", "new.json", "--csv", file}, file);
  }
}

TEST_F(CliOutputs, InAReadOnlyFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::permissions(directory_ / "folder",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expect_nothing_written({"-o", "folder/out.json"}, "folder/out.json");
  expect_nothing_written({"-o", "old.json", "-o", "folder/out.csv"}, "folder/out.csv");
  std::filesystem::permissions(directory_ / "folder", std::filesystem::perms::owner_all);
}

TEST_F(CliOutputs, AreNotWrittenForWrongUsage) {
  const Texts before = directory_.names();
  for (const char* const csv : {"old.json", "./old.json", "folder/../old.json"}) {
    const ProcessResult result =
        run_stowage(directory_.path(), {"plan", "f.csv", "-o", "old.json", "--csv", csv});
    EXPECT_EQ(result.status, wrong_usage) << csv;
  }
  EXPECT_EQ(directory_.names(), before);
  EXPECT_EQ(directory_.read("old.json"), "old");
}

TEST_F(CliOutputs, ReplaceOldFiles) {
  const ProcessResult result =
      run_stowage(directory_.path(), {"plan", "f.csv", "-o", "old.json", "-o", "out.csv"});
  EXPECT_EQ(result.status, done) << result.errors;
  EXPECT_EQ(json::parse(directory_.read("old.json")).at("format"), "stowage-plan");
  EXPECT_TRUE(directory_.read("out.csv").starts_with("id,lower,upper,size"));
  EXPECT_EQ(directory_.names(), (Texts{"f.csv", "folder", "loop", "old.json", "out.csv"}));
}

TEST_F(CliOutputs, GoToDevices) {
  const ProcessResult result =
      run_stowage(directory_.path(), {"plan", "f.csv", "-o", "/dev/null", "--csv", "/dev/null"});
  EXPECT_TRUE(result.status == done || result.status == wrong_usage) << result.errors;
  EXPECT_EQ(run_stowage(directory_.path(), {"plan", "f.csv", "-o", "/dev/null"}).status, done);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(CliOutputs, GoThroughSymbolicLinks) {
  std::filesystem::create_symlink("../old.json", directory_ / "folder/link");
  std::filesystem::create_symlink("fresh.json", directory_ / "dangling");
  EXPECT_EQ(run_stowage(directory_.path(), {"plan", "f.csv", "-o", "folder/link"}).status, done);
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "folder/link"));
  EXPECT_TRUE(directory_.read("old.json").starts_with("{"));
  EXPECT_EQ(run_stowage(directory_.path(), {"plan", "f.csv", "-o", "dangling"}).status, done);
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "dangling")) << "the link was replaced by a file";
  EXPECT_TRUE(std::filesystem::is_regular_file(directory_ / "fresh.json"));
}

TEST_F(CliOutputs, MayHaveTheLongestName) {
  const std::string longest(255, 'x');
  EXPECT_EQ(run_stowage(directory_.path(), {"plan", "f.csv", "-o", longest}).status, done);
  EXPECT_TRUE(std::filesystem::exists(directory_ / longest));
}

TEST_F(CliOutputs, AreAsPrivateAsTheUserWants) {
  constexpr mode_t only_me = 077;
  const mode_t before = ::umask(only_me);
  EXPECT_EQ(run_stowage(directory_.path(), {"plan", "f.csv", "-o", "mine.json"}).status, done);
  ::umask(before);
  constexpr auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  EXPECT_EQ(std::filesystem::status(directory_ / "mine.json").permissions() & others,
            std::filesystem::perms::none);
}

TEST_F(CliOutputs, LeaveNothingBehindWhenNobodyReads) {
  std::string list(list_header);
  for (int i = 0; i < 10'000; ++i)
    list += fmt::format("b{},{},{},8\n", i, i, i + 1);  // more than a pipe holds
  directory_.write("f.csv", list);
  const Texts before = directory_.names();
  (void)run_process(STOWAGE_PROGRAM, {"plan", "f.csv", "-o", "new.json", "--csv", "/dev/stdout"},
                    {.directory = directory_.path(), .is_read = false});
  EXPECT_EQ(directory_.names(), before);
  const ProcessResult result = run_process(STOWAGE_PROGRAM, {"plan", "f.csv", "--json"},
                                           {.directory = directory_.path(), .is_read = false});
  EXPECT_EQ(result.status, done);
  EXPECT_EQ(result.errors, "");
}

TEST(Cli, PlansWhatIsNearlyNothing) {
  const TemporaryDirectory directory;
  directory.write("header.csv", list_header);
  directory.write("ops.csv", "op,name,size,alignment\n");
  directory.write("nothing.json", graph_json("", "", "", ""));
  directory.write("empty.csv", list_with("zero,0,4,0\nnever,3,3,64\nboth,2,2,0"));
  directory.write("zero.json", graph_json(R"({"name":"x","bytes":0},{"name":"y","bytes":0})", relu));
  for (const char* const file : {"header.csv", "ops.csv", "nothing.json", "zero.json"}) {
    SCOPED_TRACE(file);
    const json plan = expect_planned(directory, file, {"-o", "plan.csv"});
    EXPECT_EQ(plan.at("summary").at("peak"), 0);
    EXPECT_EQ(plan.at("summary").at("lower_bound"), 0);
    EXPECT_EQ(plan.at("claims").at(0).at("proven_optimal"), true);
    EXPECT_TRUE(directory.read("plan.csv").starts_with("id,lower,upper,size"));
    EXPECT_EQ(run_stowage(directory.path(), {"plan", "plan.csv", "--capacity", "0"}).status, done);
  }
  const json plan = expect_planned(directory, "empty.csv");
  EXPECT_EQ(plan.at("buffers").size(), 3);
  EXPECT_EQ(plan.at("summary").at("naive"), 64);
  EXPECT_EQ(plan.at("summary").at("peak"), 64);  // it is never alive, but has its place
}

TEST(Cli, CapacityIsMetOrMissedByTheByte) {
  const TemporaryDirectory directory;
  directory.write("f.csv", small_list);
  for (const Arguments& flags : std::vector<Arguments>{{"--capacity", "95"}, {"--memory", "sram=95@3"}}) {
    const ProcessResult missed =
        run_stowage(directory.path(), joined({"plan", "f.csv", "-o", "plan.json"}, flags));
    EXPECT_EQ(missed.status, not_met);
    expect_says(missed.errors, {"96", "1 more", "95"});
    const json plan = json::parse(directory.read("plan.json"));
    EXPECT_EQ(plan.at("summary").at("peak"), 96);
    EXPECT_EQ(plan.at("memories").at(0).at("capacity"), 95);
    const ProcessResult verified = run_stowage(directory.path(), {"verify", "plan.json"});
    EXPECT_EQ(verified.status, not_met);
    expect_says(verified.output, {"fault", "'b'", "95"});
  }
  const json met = expect_planned(directory, "f.csv", {"--capacity", "96"});
  EXPECT_EQ(met.at("memories").at(0).at("capacity"), 96);
}

TEST(Cli, SizesHaveUnits) {
  const TemporaryDirectory directory;
  directory.write("f.csv", small_list);
  const std::vector<std::pair<std::string, std::int64_t>> sizes{
      {"2KB", 2'000},         {"2KiB", 2'048},         {"3MB", 3'000'000}, {"3MiB", 3'145'728},
      {"1GB", 1'000'000'000}, {"1GiB", 1'073'741'824}, {"100", 100}};
  for (const auto& [text, bytes] : sizes) {
    EXPECT_EQ(expect_planned(directory, "f.csv", {"--capacity", text}).at("memories").at(0).at("capacity"),
              bytes);
    const json memory =
        expect_planned(directory, "f.csv", {"--memory", "sram=" + text + "@7"}).at("memories").at(0);
    EXPECT_EQ(memory.at("name"), "sram");
    EXPECT_EQ(memory.at("capacity"), bytes);
    EXPECT_EQ(memory.at("cost"), 7);
  }
  const json unbounded = expect_planned(directory, "f.csv", {"--memory", "dram"}).at("memories").at(0);
  EXPECT_EQ(unbounded.at("capacity"), nullptr);
  EXPECT_EQ(unbounded.at("cost"), 1);
}

TEST(Cli, JsonIsAllThereIsOnStandardOutput) {
  const TemporaryDirectory directory;
  directory.write("f.csv", small_list);
  directory.write("f.json", small_graph());
  for (const char* const file : {"f.csv", "f.json"}) {
    const ProcessResult result = run_stowage(directory.path(), {"plan", file, "--json", "-o", "plan.json"});
    EXPECT_EQ(result.status, done);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(result.output, directory.read("plan.json"));
    const json plan = json::parse(result.output, nullptr, false);  // refuses anything after the document
    ASSERT_FALSE(plan.is_discarded()) << result.output;
    EXPECT_EQ(plan.at("format"), "stowage-plan");
    EXPECT_EQ(plan.at("models").at(0).at("source"), file);
  }
  const ProcessResult missed = run_stowage(directory.path(), {"plan", "f.csv", "--json", "--capacity", "1"});
  EXPECT_EQ(missed.status, not_met);
  EXPECT_FALSE(json::parse(missed.output, nullptr, false).is_discarded());
  const ProcessResult failed = run_stowage(directory.path(), {"plan", "missing.csv", "--json"});
  EXPECT_EQ(failed.output, "");
}

TEST(Cli, DefaultAlignments) {
  const TemporaryDirectory directory;
  directory.write("f.csv", "id,lower,upper,size,alignment\na,0,2,64,\nb,1,3,32,8\n");
  directory.write("f.json", small_graph());
  directory.write("f.onnx", bytes_of_onnx(small_onnx()));
  directory.write("f.tflite", tflite_model(small_tflite()));
  const auto alignment = [&](const std::string& file, const Arguments& model, const Arguments& more) {
    return expect_planned(directory, file, more, model).at("buffers").at(0).at("alignment").get<int>();
  };
  EXPECT_EQ(alignment("f.csv", {}, {}), 1);
  EXPECT_EQ(alignment("f.json", {}, {}), 64);
  EXPECT_EQ(alignment("f.onnx", {"--dim", "N=2"}, {}), 64);
  EXPECT_EQ(alignment("f.tflite", {}, {}), 16);
  EXPECT_EQ(alignment("f.tflite", {}, {"--align", "128"}), 128);
  EXPECT_EQ(expect_planned(directory, "f.csv").at("buffers").at(1).at("alignment"), 8);
}

TEST(Cli, OptionsThatSayWhatAModelLeavesOpen) {
  const TemporaryDirectory directory;
  directory.write("f.onnx", bytes_of_onnx(small_onnx()));
  directory.write("f.tflite", tflite_model(small_tflite()));
  directory.write("scratch.csv", "operator,bytes\n0,48\n");
  const auto naive = [](const json& plan) { return plan.at("summary").at("naive").get<int>(); };
  EXPECT_EQ(naive(expect_planned(directory, "f.onnx", {}, {"--dim", "N=4"})), 3 * 128);
  EXPECT_EQ(naive(expect_planned(directory, "f.onnx", {}, {"--shape", "x=2,8"})), 3 * 64);
  EXPECT_EQ(naive(expect_planned(directory, "f.tflite")), 64);
  EXPECT_EQ(naive(expect_planned(directory, "f.tflite", {}, {"--scratch", "scratch.csv"})), 64 + 48);
  EXPECT_EQ(naive(expect_planned(directory, "f.tflite", {"--io", "external"})), 0);
  const json stateful = expect_planned(directory, "f.onnx", {}, {"--dim", "N=4", "--state", "y=x"});
  EXPECT_EQ(stateful.at("buffers").size(), 2);
}

TEST(Cli, ScratchLists) {
  const TemporaryDirectory directory;
  directory.write("f.tflite", tflite_model(small_tflite()));
  const auto expect_status = [&](std::string_view content, int status, const Texts& says) {
    directory.write("scratch.csv", content);
    const ProcessResult result =
        run_stowage(directory.path(), {"plan", "f.tflite", "--scratch", "scratch.csv"});
    EXPECT_EQ(result.status, status) << content << result.errors;
    expect_says(result.errors, says);
  };
  expect_status("operator,bytes\n1,48\n", wrong_usage, {"--scratch", "1"});
  expect_status("operator,bytes,subgraph\n0,48,1\n", wrong_usage, {"--scratch", "subgraph 1"});
  expect_status("operator,bytes\n0,-48\n", rejected, {"scratch.csv", "line 2", "-48"});
  expect_status("operator,bytes\n0,many\n", rejected, {"scratch.csv", "line 2", "many"});
  expect_status("operator\n0\n", rejected, {"scratch.csv", "bytes"});
  expect_status("operator,colour\n0,1\n", rejected, {"scratch.csv", "line 1", "colour"});
  expect_status("", rejected, {"scratch.csv"});
  expect_status("operator,bytes\n", done, {});
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "f.tflite", "--scratch", "missing.csv"}).status, rejected);
}

TEST(Cli, VerifyRefusesWhatIsNoPlan) {
  const TemporaryDirectory directory;
  directory.write("f.csv", small_list);
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "f.csv", "-o", "plan.json"}).status, done);
  const std::string good = directory.read("plan.json");
  for (const std::string& content :
       {std::string(), garbage(), half(good), good + "{}", std::string(small_list), small_graph()}) {
    directory.write("bad.json", content);
    const ProcessResult result = run_stowage(directory.path(), {"verify", "bad.json"});
    EXPECT_EQ(result.status, rejected) << content.substr(0, 100);
    EXPECT_EQ(result.output, "");
    expect_says(result.errors, {"bad.json"});
  }
  EXPECT_EQ(run_stowage(directory.path(), {"verify", "plan.json", "--model", "missing.csv"}).status,
            rejected);
  EXPECT_EQ(run_stowage(directory.path(), {"verify", "plan.json", "plan.json"}).status, wrong_usage);
  EXPECT_EQ(run_stowage(directory.path(), {"verify", "plan.json", "--capacity", "5"}).status, wrong_usage);
  EXPECT_EQ(run_stowage(directory.path(), {"verify", "plan.json", "--dim", "N=5"}).status, wrong_usage)
      << "options of a model that is not given";
}

TEST(Cli, VerifyFindsFaults) {
  const TemporaryDirectory directory;
  directory.write("f.csv", small_list);
  directory.write("other.csv", list_with("a,0,2,64"));
  directory.write("f.json", small_graph());
  const json good = expect_planned(directory, "f.csv");
  const auto expect_fault = [&](const std::string& pointer, const json& value, const Texts& says) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    directory.write("bad.json", bad.dump());
    const ProcessResult result = run_stowage(directory.path(), {"verify", "bad.json"});
    EXPECT_EQ(result.status, not_met) << pointer << result.errors;
    expect_says(result.output, {"fault"});
    expect_says(result.output, says);
    EXPECT_EQ(result.errors, "");
  };
  expect_fault("/buffers/1/offset", good.at("buffers").at(0).at("offset"), {"'a'", "'b'"});
  expect_fault("/buffers/1/alignment", 128, {"'b'", "128"});
  expect_fault("/summary/peak", 95, {"95", "96"});
  expect_fault("/memories/0/peak", 97, {"97", "96"});
  expect_fault("/memories/0/lower_bound", 97, {"97"});
  expect_fault("/memories/0/capacity", 80, {"80"});
  for (const char* const model : {"other.csv", "f.json"}) {
    const ProcessResult result = run_stowage(directory.path(), {"verify", "plan.json", "--model", model});
    EXPECT_EQ(result.status, not_met) << model;
    expect_says(result.output, {"fault"});
  }
}

TEST(Cli, SameInputSamePlan) {
  const TemporaryDirectory directory;
  std::string list(list_header);
  for (int i = 0; i < 150; ++i)
    list += fmt::format("b{},{},{},{}\n", i, i * 7 % 101, i * 7 % 101 + i % 13, 1 + i * 31 % 97);
  directory.write("f.csv", list);
  const auto plan = [&] {
    json result = expect_planned(directory, "f.csv", {"--effort", "200"});
    result.at("summary").erase("seconds");
    return result;
  };
  EXPECT_EQ(plan(), plan());
}

TEST(Cli, NamesNeedNoPlainText) {
  const TemporaryDirectory directory;
  directory.write("f.csv", list_with("\"a,\"\"b\"\"\",0,1,8\n\u00e4\u6f22,0,1,8\n'x',0,1,8"));
  const json plan = expect_planned(directory, "f.csv", {"-o", "out.csv"});
  EXPECT_EQ(plan.at("buffers").at(1).at("id"), "\u00e4\u6f22");
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "out.csv"}).status, done);
  directory.write("f.csv", list_with("\xff,0,2,64\n"));
  expect_says(run_stowage(directory.path(), {"plan", "f.csv"}).errors, {"f.csv", "UTF-8"});
}

TEST(Cli, FilesNeedNoPlainNames) {
  const TemporaryDirectory directory;
  for (const char* const file : {"a b.csv", "[a]", "-x.csv", "%%", "{}", "a,b", "\xff.csv"}) {
    SCOPED_TRACE(file);
    directory.write(file, small_list);
    const ProcessResult result = run_stowage(directory.path(), {"plan", "-o", "plan.json", "--", file});
    EXPECT_EQ(result.status, done) << result.errors;
  }
}

TEST(Cli, NoTimeIsEnoughForAPlan) {
  const TemporaryDirectory directory;
  std::string list(list_header);
  for (int i = 0; i < 2000; ++i)
    list += fmt::format("b{},{},{},{}\n", i, i * 7 % 1009, i * 7 % 1009 + 1 + i % 13, 1 + i * 31 % 97);
  directory.write("f.csv", list);
  const json plan = expect_planned(directory, "f.csv", {"--time-limit", "0"});
  EXPECT_EQ(plan.at("buffers").size(), 2000);
}

/// Enough buffers to keep every strategy busy for a while.
std::string large_list() {
  std::string list(list_header);
  constexpr std::uint64_t count = 60'000;
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % limit;
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t lower = below(150'000);
    list += fmt::format("{},{},{},{}\n", i, lower, lower + 1 + below(2'000), 1 + below(5'000));
  }
  return list;
}

TEST(Cli, AnInterruptKeepsTheBestPlan) {
  const TemporaryDirectory directory;
  directory.write("f.csv", large_list());
  constexpr int most_tries = 20;
  bool is_interrupted = false;
  for (int attempt = 0; attempt < most_tries && !is_interrupted; ++attempt) {
    // As soon as the first thread leaves the signal to another one, planning begins.
    const double delay = 0.05 * attempt;
    double begin = -1;
    const auto is_planning = [&](pid_t process, std::chrono::duration<double> running) {
      if (begin < 0 && testing::blocks(process, SIGINT)) begin = running.count();
      return begin >= 0 && running.count() >= begin + delay;
    };
    const ProcessResult result =
        run_process(STOWAGE_PROGRAM, {"plan", "f.csv", "--time-limit", "1000", "-o", "plan.json"},
                    {.directory = directory.path(), .signal = testing::SignalPlan{SIGINT, is_planning}});
    if (result.signal == SIGINT) continue;  // all was done already
    ASSERT_EQ(result.status, done) << "signal " << result.signal << " " << result.errors;
    EXPECT_EQ(directory.names(), (Texts{"f.csv", "plan.json"}));
    const std::string plan = directory.read("plan.json");
    is_interrupted = plan.find("\n\"interrupted\":true") != std::string::npos;
    if (is_interrupted) expect_says(result.errors, {"interrupted"});
  }
  ASSERT_TRUE(is_interrupted);
  const ProcessResult verified = run_stowage(directory.path(), {"verify", "plan.json", "--model", "f.csv"});
  EXPECT_EQ(verified.status, done) << verified.output << verified.errors;
}

}  // namespace
}  // namespace stowage
