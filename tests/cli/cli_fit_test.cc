// Whether a model fits a board: every number is that of the command beside it, and every command works when pasted. And what
// the command advises where a plan does not fit.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "process.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::ProcessResult;
using testing::run_process;
using testing::run_stowage;
using testing::TemporaryDirectory;
using testing::tflite_model;

const std::string classifier_file = STOWAGE_EXAMPLES "/classifier.onnx";

bool has_part(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string relu_chain() {
  return tflite_model({.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 64}},
                                                  {.name = "h", .shape = {1, 64}},
                                                  {.name = "y", .shape = {1, 64}}},
                                      .operators = {{.type = "RELU", .inputs = {0}, .outputs = {1}},
                                                    {.type = "RELU", .inputs = {1}, .outputs = {2}}},
                                      .inputs = {0},
                                      .outputs = {2}}}});
}

/// The command as a shell runs it, where `stowage` is the program.
ProcessResult run_pasted(const TemporaryDirectory& directory, const std::string& command) {
  return run_process("/bin/sh", {"-c", "stowage() { \"$0\" \"$@\"; }; " + command, STOWAGE_PROGRAM},
                     {.directory = directory.path()});
}

json ways_of(const TemporaryDirectory& directory, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"fit"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--effort", "300", "--json"});
  const ProcessResult result = run_stowage(directory.path(), all);
  EXPECT_TRUE(result.status == 0 || result.status == 1) << result.errors;
  return json::parse(result.output);
}

void expect_commands_work(const TemporaryDirectory& directory, const json& document) {
  for (const json& way : document.at("ways")) {
    const std::string command = way.at("command");
    if (command.empty()) continue;
    const ProcessResult result = run_pasted(directory, command);
    EXPECT_EQ(result.status, 0) << command << "\n" << result.errors;
    if (way.at("slow_bytes").is_null() && !has_part(command, "generate")) {
      EXPECT_TRUE(has_part(result.output, fmt::format("{} bytes", way.at("bytes").get<std::int64_t>())))
          << command << "\n"
          << result.output;
    }
  }
}

TEST(CliFit, EveryCommandForATfliteModelWorks) {
  const TemporaryDirectory directory;
  directory.write("a model.tflite", relu_chain());
  const json document = ways_of(directory, {"a model.tflite", "--board", "esp32s3"});
  EXPECT_EQ(document.at("ways").size(), 9U) << document.dump(1);
  for (const json& way : document.at("ways")) EXPECT_TRUE(way.at("fits")) << way.dump();
  expect_commands_work(directory, document);
}

TEST(CliFit, EveryCommandForAnOnnxModelWorks) {
  const TemporaryDirectory directory;
  const json document = ways_of(directory, {classifier_file, "--board", "npu"});
  ASSERT_EQ(document.at("ways").size(), 7U);
  EXPECT_FALSE(document.at("ways")[0].at("fits")) << "720 KiB in a scratchpad of 256";
  EXPECT_EQ(document.at("ways")[0].at("bytes"), 737280);
  EXPECT_TRUE(document.at("ways")[1].at("fits")) << "by rows";
  EXPECT_EQ(document.at("ways")[2].at("way"), "rows, also of inputs and outputs");
  EXPECT_LT(document.at("ways")[2].at("bytes"), document.at("ways")[1].at("bytes"));
  EXPECT_EQ(document.at("ways")[4].at("way"), "generated C, by rows in scratchpad and DRAM");
  EXPECT_TRUE(document.at("ways")[4].at("fits"));
  EXPECT_TRUE(document.at("ways")[5].at("fits")) << "in two memories";
  EXPECT_LE(document.at("ways")[5].at("bytes"), 262144);
  EXPECT_EQ(document.at("ways")[6].at("way"), "rows in scratchpad and DRAM");
  EXPECT_LT(document.at("ways")[6].at("slow_traffic"), document.at("ways")[5].at("slow_traffic"));
  expect_commands_work(directory, document);
}

TEST(CliFit, TableHasTheSameWays) {
  const TemporaryDirectory directory;
  const ProcessResult table =
      run_stowage(directory.path(), {"fit", classifier_file, "--board", "npu", "--effort", "300"});
  EXPECT_EQ(table.status, 0) << table.errors;
  for (const char* const part :
       {"no        737280", "yes", "whole operators", "generated C, by rows", " --stream"})
    EXPECT_TRUE(has_part(table.output, part)) << table.output;
}

TEST(CliFit, ReserveLeavesLess) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", relu_chain());
  const ProcessResult more =
      run_stowage(directory.path(), {"fit", "m.tflite", "--board", "nrf5340", "--reserve", "600K"});
  EXPECT_EQ(more.status, 2);
  EXPECT_TRUE(has_part(more.errors, "--reserve 600K is 614400 bytes, expected at most the 524288 of RAM"));
  const json document = ways_of(directory, {"m.tflite", "--board", "nrf5340", "--reserve", "512K"});
  EXPECT_EQ(document.at("room"), 0);
  for (const json& way : document.at("ways")) EXPECT_FALSE(way.at("fits"));
  EXPECT_EQ(run_stowage(directory.path(),
                        {"fit", "m.tflite", "--board", "nrf5340", "--reserve", "512K", "--effort", "9"})
                .status,
            1);
}

TEST(CliFit, SaysWhatTheBoardAndTheRestOfTheProgramLeave) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", relu_chain());
  directory.write("mine.json", R"({"format":"stowage-device","version":1,"name":"mine","title":"Mine",
    "memories":[{"name":"RAM","bytes":6000,"reserved":1000,"source":"me"}]})");
  const ProcessResult table =
      run_stowage(directory.path(), {"fit", "m.tflite", "--board", "mine.json", "--reserve", "2000"});
  EXPECT_TRUE(has_part(table.output, "RAM with 6000 bytes, 3000 reserved, 3000 left for the network\n"))
      << table.output;
}

TEST(CliDevice, GivesThePlanItsMemories) {
  const TemporaryDirectory directory;
  directory.write("mine.json", R"({"format":"stowage-device","version":1,"name":"mine","title":"Mine",
    "memories":[{"name":"FAST","bytes":263168,"reserved":1024,"granule":64,"bandwidth":1600,"source":"me"},
                {"name":"SLOW","bytes":4194304,"bandwidth":420,"source":"me"}]})");
  const std::vector<std::string> rest{"--stream", "--effort", "100", "--json"};
  const auto plan_with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", classifier_file});
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    const ProcessResult result = run_stowage(directory.path(), arguments);
    EXPECT_EQ(result.status, 0) << result.errors;
    return result.output;
  };
  EXPECT_EQ(plan_with({"--device", "mine.json"}),
            plan_with({"--memory", "FAST=256KiB@1,granule=64", "--memory", "SLOW=4MiB@4"}));
  EXPECT_EQ(plan_with({"--device", "ESP32-S3"}),
            plan_with({"--memory", "SRAM=512KiB", "--memory", "PSRAM=8MiB@10"}));
}

TEST(CliDevice, OneIsTheBeginningOfAFileOfOnesOwn) {
  const TemporaryDirectory directory;
  const ProcessResult shown = run_stowage(directory.path(), {"devices", "ESP32-S3", "--json"});
  EXPECT_EQ(shown.status, 0) << shown.errors;
  directory.write("mine.json", shown.output);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", classifier_file, "--device", "mine.json"}).status, 0);
  const ProcessResult listed = run_stowage(directory.path(), {"devices", "npu"});
  EXPECT_TRUE(has_part(listed.output, "scratchpad"));
  EXPECT_FALSE(has_part(listed.output, "esp32"));
  EXPECT_EQ(run_stowage(directory.path(), {"devices", "mine.json"}).status, 2);
}

TEST(CliDevice, SaysWhatIsWrong) {
  const TemporaryDirectory directory;
  struct Case {
    std::vector<std::string> arguments;
    std::string says;
    int status = 2;
  };
  const auto file_with = [&](const std::string& name, const std::string& memories) {
    directory.write(name, R"({"format":"stowage-device","version":1,"name":"m","title":"M","memories":[)" +
                              memories + "]}");
  };
  file_with("reserved.json", R"({"name":"A","bytes":5,"reserved":6,"source":"me"})");
  file_with("both.json", R"({"name":"A","bytes":5,"cost":1,"bandwidth":6,"source":"me"})");
  file_with("first.json",
            R"({"name":"A","bytes":5,"source":"me"},{"name":"B","bytes":5,"bandwidth":6,"source":"me"})");
  const std::vector<Case> cases{
      {{"--device", "esp32s"}, "did you mean 'esp32'"},
      {{"--device", "esp32", "--capacity", "1K"}, "--device gives the memories"},
      {{"--device", "esp32", "--memory", "A=1K"}, "--device gives the memories"},
      {{"--device", "reserved.json"}, "reserved.json: /memories/0: has fewer bytes than are reserved", 3},
      {{"--device", "both.json"}, "has a cost and a bandwidth", 3},
      {{"--device", "first.json"}, "/memories/1: has a bandwidth, and the first memory none", 3}};
  for (const Case& it : cases) {
    std::vector<std::string> arguments{"plan", classifier_file};
    arguments.insert(arguments.end(), it.arguments.begin(), it.arguments.end());
    const ProcessResult result = run_stowage(directory.path(), arguments);
    EXPECT_EQ(result.status, it.status) << it.says;
    EXPECT_TRUE(has_part(result.errors, it.says)) << it.says << "\n" << result.errors;
  }
}

TEST(CliFit, TakesAFileAndRefusesWhatIsNone) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", relu_chain());
  directory.write("mine.json", R"({"format":"stowage-device","version":1,"name":"mine","title":"Mine",
    "memories":[{"name":"RAM","bytes":600,"source":"me"}],"flash":{"bytes":100,"source":"me"}})");
  const json document = ways_of(directory, {"m.tflite", "--board", "mine.json"});
  EXPECT_EQ(document.at("room"), 600);
  EXPECT_FALSE(document.at("ways")[0].at("fits"));
  struct Case {
    std::string content;
    std::string says;
  };
  for (
      const Case& it :
      {Case{"{", "no JSON"},
       {"[]", "no object"},
       {R"({"format":"x"})", "stowage-device"},
       {R"({"format":"stowage-device","version":1,"name":"a","title":"b","memories":[]})", "/memories"},
       {R"({"format":"stowage-device","version":1,"name":"a","title":"b","ram":3})", "'ram'"},
       {R"({"format":"stowage-device","version":1,"name":"a","title":"b","memories":[{"name":"R","bytes":0,"source":"s"}]})",
        "'bytes'"}}) {
    directory.write("bad.json", it.content);
    const ProcessResult result = run_stowage(directory.path(), {"fit", "m.tflite", "--board", "bad.json"});
    EXPECT_EQ(result.status, 3) << it.content;
    EXPECT_TRUE(has_part(result.errors, it.says)) << result.errors;
  }
  for (const std::string board : {"ESP32-S3", "esp32_s3"}) {
    const ProcessResult same = run_stowage(directory.path(), {"fit", "m.tflite", "--board", board});
    EXPECT_FALSE(has_part(same.errors, "--board")) << same.errors;
  }
  const ProcessResult unknown = run_stowage(directory.path(), {"fit", "m.tflite", "--board", "epsr32"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(has_part(run_stowage(directory.path(), {"fit", "m.tflite", "--board", "esp32s"}).errors,
                       "did you mean 'esp32"));
  directory.write("list.csv", "id,lower,upper,size\na,0,2,64\n");
  EXPECT_EQ(run_stowage(directory.path(), {"fit", "list.csv", "--board", "esp32"}).status, 2);
}

TEST(CliFit, DevicesHaveASourceForEachNumber) {
  const TemporaryDirectory directory;
  const json devices = json::parse(run_stowage(directory.path(), {"devices", "--json"}).output);
  EXPECT_GE(devices.size(), 8U);
  const std::string table = run_stowage(directory.path(), {"devices"}).output;
  for (const json& device : devices) {
    EXPECT_TRUE(has_part(table, device.at("title").get<std::string>()));
    for (const json& memory : device.at("memories"))
      EXPECT_FALSE(memory.at("source").get<std::string>().empty());
  }
}

/// person_detect on an ESP32 is 82300 bytes, as others have measured.
TEST(CliFit, PersonDetectIsAsMeasured) {
  std::string model;
  if (std::filesystem::exists(STOWAGE_DATA_DIR))
    for (const auto& it : std::filesystem::recursive_directory_iterator(STOWAGE_DATA_DIR))
      if (it.path().filename() == "person_detect.tflite") model = it.path().string();
  if (model.empty()) GTEST_SKIP() << "the model is not there";
  const TemporaryDirectory directory;
  const json document = ways_of(directory, {model, "--board", "esp32"});
  EXPECT_NEAR(document.at("ways")[0].at("bytes").get<double>(), 82300, 16);
}

TEST(CliAdvice, AListSaysWhatToKeepElsewhere) {
  const TemporaryDirectory directory;
  directory.write("list.csv", "id,lower,upper,size\na,0,9,64\nb,1,3,32\nc,4,6,16\n");
  const ProcessResult result = run_stowage(directory.path(), {"plan", "list.csv", "--capacity", "80"});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(has_part(result.errors,
                       "Keep elsewhere, or let live shorter, buffers of 32 bytes (no choice has fewer): 'b'"))
      << result.errors;
  const ProcessResult shorter =
      run_stowage(directory.path(), {"plan", "list.csv", "--budget", "64", "-o", "page.html"});
  EXPECT_TRUE(has_part(shorter.errors, "'b', 'c'")) << shorter.errors;
  EXPECT_TRUE(has_part(directory.read("page.html"), "Keep elsewhere, or let live shorter"));
}

TEST(CliAdvice, CommandsOfAPlanWithLittleEffortWork) {
  const TemporaryDirectory directory;
  std::string list = "id,lower,upper,size\n";
  for (int i = 0; i < 400; ++i)
    list += fmt::format("b{},{},{},{}\n", i, i, i + 2 + (i * 7919) % 97, 1 + (i * 37) % 101);
  directory.write("list.csv", list);
  const ProcessResult result =
      run_stowage(directory.path(), {"plan", "list.csv", "--capacity", "999", "--effort", "1"});
  const std::string begin = "less: stowage plan list.csv --capacity 999 --time-limit 60";
  EXPECT_TRUE(has_part(result.errors, begin)) << result.errors << "not beside --effort, which it excludes";
}

TEST(CliAdvice, JsonHasItToo) {
  const TemporaryDirectory directory;
  directory.write("list.csv", "id,lower,upper,size\na,0,9,64\nb,1,3,32\n");
  const ProcessResult result =
      run_stowage(directory.path(), {"plan", "list.csv", "--capacity", "80", "--json"});
  EXPECT_EQ(result.status, 1);
  const json plan = json::parse(result.output);
  EXPECT_TRUE(has_part(plan.at("remedies")[0].at("what").get<std::string>(), "'b'"))
      << plan.at("remedies").dump();
  directory.write("plan.json", result.output);
  EXPECT_FALSE(has_part(run_stowage(directory.path(), {"verify", "plan.json"}).errors, "unknown member"));
  EXPECT_FALSE(
      json::parse(run_stowage(directory.path(), {"plan", "list.csv", "--json"}).output).contains("remedies"));
}

TEST(CliAdvice, ATfliteModelHasTheRuntimesBytes) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", relu_chain());
  const ProcessResult plan = run_stowage(directory.path(), {"plan", "m.tflite"});
  EXPECT_TRUE(has_part(plan.output, "\n\nTensorFlow Lite Micro needs a tensor_arena of ")) << plan.output;
  EXPECT_TRUE(has_part(plan.output, "`stowage tflm m.tflite` plans for it"));
  const ProcessResult rows = run_stowage(directory.path(), {"plan", "m.tflite", "--stream"});
  EXPECT_FALSE(has_part(rows.output, "TensorFlow Lite Micro needs")) << "it runs no rows";
  EXPECT_FALSE(has_part(run_stowage(directory.path(), {"tflm", "m.tflite"}).output, "by itself"));
}

/// The runtime has the shapes of the file: with others, its bytes say nothing.
TEST(CliAdvice, TheRuntimesBytesSayWhatAPlanGains) {
  const TemporaryDirectory directory;
  directory.write(
      "m.tflite",
      tflite_model({.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 64}, .signature = {-1, 64}},
                                               {.name = "y", .shape = {1, 64}, .signature = {-1, 64}}},
                                   .operators = {{.type = "RELU", .inputs = {0}, .outputs = {1}}},
                                   .inputs = {0},
                                   .outputs = {1}}}}));
  const auto output_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"plan", "m.tflite"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult plan = run_stowage(directory.path(), arguments);
    EXPECT_EQ(plan.status, 0) << plan.errors;
    return plan.output;
  };
  EXPECT_TRUE(has_part(output_of({}), "`stowage tflm m.tflite` plans for it: nothing gained\n"))
      << output_of({});
  EXPECT_FALSE(has_part(output_of({"--shape", "x=4,64"}), "tensor_arena"));
}

/// Bytes that are compared count the same: all that the runtime keeps, against all that C keeps.
TEST(CliAdvice, OfTensorFlowLiteMicroCountsWhatItKeeps) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", relu_chain());
  const ProcessResult plan =
      run_stowage(directory.path(), {"tflm", "m.tflite", "--capacity", "16", "--json"});
  EXPECT_EQ(plan.status, 1);
  std::smatch found;
  const std::regex needs("the arena needs (\\d+) bytes");
  ASSERT_TRUE(std::regex_search(plan.errors, found, needs)) << plan.errors;
  const auto arena = std::stoll(found[1]);
  const std::regex advice(
      "C that runs the network row by row, with (\\d+) bytes for tensors and no runtime, (\\d+) bytes less");
  ASSERT_TRUE(std::regex_search(plan.errors, found, advice)) << plan.errors;
  EXPECT_EQ(std::stoll(found[1]) + std::stoll(found[2]), arena);
}

/// More time tries what was left out. Fewer choices only give their time to others.
TEST(CliAdvice, OnlyMoreTimeHelpsAgainstChoicesThatWereNotTried) {
  const TemporaryDirectory directory;
  const ProcessResult plan =
      run_stowage(directory.path(), {"plan", classifier_file, "--stream", "--io", "rows", "--effort", "100"});
  EXPECT_TRUE(has_part(plan.output,
                       "left out     other blocks: the effort ended before all were tried; "
                       "may help: a higher --effort\n"))
      << plan.output;
}

TEST(CliAdvice, ASearchThatStoppedBecauseThePlanFitsSaysSo) {
  const TemporaryDirectory directory;
  const ProcessResult plan =
      run_stowage(directory.path(), {"plan", classifier_file, "--stream", "--capacity", "200KiB"});
  EXPECT_EQ(plan.status, 0);
  EXPECT_TRUE(
      has_part(plan.output, "stopped      it fits its memory; without a limit of that the search goes on"))
      << plan.output;
  EXPECT_FALSE(has_part(run_stowage(directory.path(), {"plan", classifier_file, "--capacity", "1MiB"}).output,
                        "stopped"));
}

}  // namespace
}  // namespace stowage
