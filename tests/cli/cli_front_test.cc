// The command as people expect it: standard streams, sizes, what was probably meant, help in other forms, and messages that
// name the command to use instead.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::node;
using testing::onnx_model;
using testing::ProcessResult;
using testing::run_process;
using testing::run_stowage;
using testing::TemporaryDirectory;
using testing::tensor_value;
using Arguments = std::vector<std::string>;

constexpr int done = 0;
constexpr int not_met = 1;
constexpr int wrong_usage = 2;
constexpr int rejected = 3;
constexpr int unwritable = 5;

constexpr std::string_view small_list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";  // peak 96

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A command line as a shell runs it, with the program as $0.
ProcessResult run_shell(const TemporaryDirectory& directory, const std::string& line) {
  return run_process("/bin/sh", {"-c", line, STOWAGE_PROGRAM}, {.directory = directory.path()});
}

class CliFront : public ::testing::Test {
 protected:
  CliFront() {
    directory.write("list.csv", small_list);
    directory.write("open.onnx", onnx_model({.nodes = {node("Relu", {"image"}, {"out"})},
                                             .inputs = {tensor_value("image", {"batch", 8})},
                                             .outputs = {tensor_value("out", {"batch", 8})}})
                                     .SerializeAsString());
  }

  [[nodiscard]] ProcessResult run(const Arguments& arguments) const {
    return run_stowage(directory.path(), arguments);
  }

  static bool has_terminals() { return run_process("/usr/bin/env", {"script", "--version"}).status == done; }

  /// What the command prints on a wide terminal.
  [[nodiscard]] std::string on_terminal(const std::string& arguments,
                                        const std::string& variables = "") const {
    const std::string line =
        fmt::format("stty columns 200; {} TERM=xterm {} {}", variables, STOWAGE_PROGRAM, arguments);
    return run_process("/usr/bin/env", {"script", "-qec", line, "/dev/null"}, {.directory = directory.path()})
        .output;
  }

  TemporaryDirectory directory;
};

TEST_F(CliFront, ReadsStandardInput) {
  const ProcessResult list = run_shell(directory, "\"$0\" plan - < list.csv");
  EXPECT_EQ(list.status, done) << list.errors;
  EXPECT_TRUE(says(list.output, "96 bytes")) << list.output;
  const ProcessResult model = run_shell(directory, "cat open.onnx | \"$0\" plan - --dim batch=2 --json");
  ASSERT_EQ(model.status, done) << model.errors;
  EXPECT_EQ(json::parse(model.output).at("models")[0].at("name"), "stdin");
  const ProcessResult named =
      run_shell(directory, "cat open.onnx | \"$0\" plan net=- --dim batch=2 -o page.html");
  EXPECT_EQ(named.status, done) << named.errors << " the model is read more than once";
  const ProcessResult plan = run_shell(directory, "\"$0\" plan list.csv --json | \"$0\" verify -");
  EXPECT_EQ(plan.status, done) << plan.errors;
  EXPECT_TRUE(says(plan.output, "valid"));
  const ProcessResult facts = run_shell(directory, "\"$0\" inspect - < open.onnx");
  EXPECT_EQ(facts.status, done) << facts.errors;
  EXPECT_TRUE(says(facts.output, "batch")) << facts.output;
  const ProcessResult fit =
      run_shell(directory, "\"$0\" fit - --board esp32 --dim batch=2 --effort 9 < open.onnx");
  EXPECT_EQ(fit.status, done) << fit.errors;
  EXPECT_TRUE(says(fit.output, "stowage plan - --dim batch=2")) << fit.output;
  const ProcessResult nothing = run({"plan", "-"});
  EXPECT_EQ(nothing.status, rejected);
}

TEST_F(CliFront, WritesStandardOutput) {
  const ProcessResult plan = run({"plan", "list.csv", "-o", "-"});
  ASSERT_EQ(plan.status, done) << plan.errors;
  EXPECT_EQ(json::parse(plan.output).at("format"), "stowage-plan");
  EXPECT_TRUE(says(plan.errors, "96 bytes")) << "the summary goes where it is not in the way";
  const ProcessResult page = run_shell(directory, "\"$0\" plan list.csv --json | \"$0\" report - -o -");
  EXPECT_TRUE(page.output.starts_with("<!doctype html>"));
  const ProcessResult budget = run({"plan", "list.csv", "-o", "-", "--budget", "96"});
  EXPECT_EQ(json::parse(budget.output).at("format"), "stowage-plan");
  EXPECT_TRUE(says(budget.errors, "within budget"));
  EXPECT_EQ(run({"plan", "list.csv", "-o", "-", "--json"}).status, wrong_usage);
  EXPECT_EQ(run({"plan", "list.csv", "-o", "-", "-o", "-"}).status, wrong_usage);
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"list.csv", "open.onnx"}));
}

TEST_F(CliFront, TakesSizesAsPeopleWriteThem) {
  for (const char* const size : {"96", "96B", "0.094 KiB", "0.1K", "0.096kB", "1 k", "0.1 kib"})
    EXPECT_EQ(run({"plan", "list.csv", "--capacity", size}).status, done) << size;
  for (const char* const size : {"95", "0.09KB", "0.0929KiB"})
    EXPECT_EQ(run({"plan", "list.csv", "--capacity", size}).status, not_met) << size;
  const ProcessResult wrong = run({"plan", "list.csv", "--capacity", "64 kilobytes"});
  EXPECT_EQ(wrong.status, wrong_usage);
  EXPECT_TRUE(says(wrong.errors, "1.5MB")) << wrong.errors;
}

TEST_F(CliFront, SaysWhatWasProbablyMeant) {
  struct Case {
    Arguments arguments;
    std::string says;
  };
  const std::vector<Case> cases{
      {{"plam", "list.csv"}, "there is no command 'plam'; did you mean 'plan'?"},
      {{"comapre", "list.csv"}, "did you mean 'compare'?"},
      {{"list.csv"}, "expected a command first: `stowage plan list.csv`"},
      {{"help", "sweap"}, "did you mean 'sweep'?"},
      {{"plan", "list.csv", "--capcity", "64"}, "plan has no option '--capcity'; did you mean '--capacity'?"},
      {{"verify", "p.json", "--modell=x"}, "verify has no option '--modell'; did you mean '--model'?"},
      {{"plan", "open.onnx", "--dim", "bacth=2"}, "did you mean 'batch'?"},
      {{"plan", "open.onnx", "--dim", "batch=2", "--shape", "imgae=1,8"}, "did you mean 'image'?"},
      {{"plan", "open.onnx", "--dim", "batch=2", "--state", "uot=image"}, "did you mean 'out'?"},
      {{"plan", "open.onnx", "--dim", "batch=2", "--place", "imgae=arena"}, "did you mean 'image'?"},
      {{"plan", "open.onnx", "--dim", "batch=2", "--stream=Rleu"}, "did you mean 'Relu'?"},
      {{"plan", "open.onnx", "--dim", "batch=2", "--release", "opne.out"}, "did you mean 'open.out'?"},
      {{"plan", "list.csv", "--strategy", "ejecton"}, "did you mean 'ejection'?"},
      {{"plan", "list.csv", "--strategy", "greedy"}, "did you mean 'greedy-by-size'?"},
  };
  for (const Case& it : cases) {
    const ProcessResult result = run(it.arguments);
    EXPECT_EQ(result.status, wrong_usage) << it.says;
    EXPECT_TRUE(says(result.errors, it.says)) << result.errors;
    EXPECT_EQ(result.output, "");
  }
  EXPECT_FALSE(says(run({"plan", "list.csv", "--xyzzy"}).errors, "did you mean"));
}

TEST_F(CliFront, NamesTheOptionOfAWrongSize) {
  struct Case {
    std::string size;
    std::string says;
  };
  for (const Case& it : {Case{"5..2", "--dim batch is '5..2', expected a range that ends at 5 or more"},
                         {"5..x", "--dim batch is 'x', expected a whole number of at least 0"},
                         {"abc", "--dim batch is 'abc', expected a whole number of at least 0"}}) {
    const ProcessResult result = run({"plan", "open.onnx", "--dim", "batch=" + it.size});
    EXPECT_EQ(result.status, wrong_usage) << it.size;
    EXPECT_TRUE(says(result.errors, it.says)) << result.errors;
  }
}

TEST_F(CliFront, SaysWhichFileWasProbablyMeant) {
  std::filesystem::create_directory(directory / "sub");
  directory.write("sub/person_detect.csv", small_list);
  const auto errors_of = [&](const std::string& file) {
    const ProcessResult result = run({"plan", file});
    EXPECT_EQ(result.status, rejected) << file;
    return result.errors;
  };
  EXPECT_TRUE(says(errors_of("sub/person_detection.csv"),
                   "No such file or directory; did you mean "
                   "'sub/person_detect.csv'?"));
  EXPECT_TRUE(says(errors_of("lst.csv"), "did you mean 'list.csv'?"));
  EXPECT_TRUE(says(errors_of("open.tflite"), "did you mean 'open.onnx'?"));
  EXPECT_FALSE(says(errors_of("xyzzy.csv"), "did you mean"));
  EXPECT_FALSE(says(errors_of("nowhere/list.csv"), "did you mean"));
}

TEST_F(CliFront, SaysWhatIsMissing) {
  const auto errors_of = [&](const Arguments& arguments) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.status, wrong_usage);
    return result.errors;
  };
  EXPECT_TRUE(
      says(errors_of({}), "there is no command, expected one, for instance `stowage plan model.onnx`"));
  EXPECT_TRUE(says(errors_of({"plan"}), "plan needs models: Models (ONNX"));
  EXPECT_TRUE(says(errors_of({"report", "list.csv"}), "report needs --output: FILE for the page (HTML)"));
  EXPECT_TRUE(says(errors_of({"plan", "list.csv", "--capacity"}), "--capacity needs a value: SIZE"));
  EXPECT_TRUE(says(errors_of({"plan", "list.csv", "--effort", "1", "--effort", "2"}),
                   "--effort is given 2 times, expected once"));
  EXPECT_TRUE(
      says(errors_of({"verify", "a.json", "b.json", "c"}), "verify takes no more files, got 'b.json', 'c'"));
  EXPECT_TRUE(says(errors_of({"diff", "a.json"}), "diff needs after: A second plan file, model or list"));
  EXPECT_TRUE(says(errors_of({"fit", "m.tflite"}), "fit needs --board: NAME that `stowage devices` lists"));
}

TEST_F(CliFront, ReadsColumnsAsOthersCallThem) {
  directory.write("other.csv", "name,start,end,bytes\na,0,1,64\nb,1,2,32\n");
  const ProcessResult other = run({"plan", "other.csv"});
  EXPECT_EQ(other.status, done) << other.errors;
  EXPECT_TRUE(says(other.output, "96 bytes")) << other.output;
  directory.write("list.json", R"([{"id": "a", "lower": 0, "upper": 2, "size": 64}])");
  const ProcessResult array = run({"plan", "list.json"});
  EXPECT_EQ(array.status, rejected);
  EXPECT_TRUE(says(array.errors, "a list of buffers is CSV with the columns id,lower,upper,size"))
      << array.errors;
}

TEST_F(CliFront, NamesTheCommandForAnotherKindOfFile) {
  ASSERT_EQ(run({"plan", "list.csv", "-o", "a.json", "-o", "b.json"}).status, done);
  const ProcessResult report = run({"report", "open.onnx", "-o", "page.html"});
  EXPECT_EQ(report.status, rejected);
  EXPECT_TRUE(says(report.errors, "`stowage plan open.onnx -o plan.html`")) << report.errors;
  const ProcessResult plan = run({"plan", "a.json"});
  EXPECT_EQ(plan.status, rejected);
  EXPECT_TRUE(says(plan.errors, "is a plan, expected a model")) << plan.errors;
  EXPECT_TRUE(says(plan.errors, "`stowage report a.json -o plan.html`")) << plan.errors;
  directory.write("problem.json",
                  R"({"format": "stowage-problem", "version": 1, "memories": [{"name": "m"}],
                      "buffers": [{"id": "a", "size": 8}]})");
  directory.write("dsa.json", R"({"schema_version": 1, "buffers": [{"allowed_pools": [0]}]})");
  for (const std::string file : {"problem.json", "dsa.json"}) {
    const ProcessResult problem = run({"plan", file});
    EXPECT_EQ(problem.status, rejected);
    EXPECT_TRUE(says(problem.errors, "is a problem, expected a model or a list: `stowage pack " + file + "`"))
        << problem.errors;
  }
  directory.write("placed.csv", "id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,32,64\n");
  const ProcessResult placed = run({"verify", "placed.csv"});
  EXPECT_EQ(placed.status, rejected);
  EXPECT_TRUE(says(placed.errors, "`stowage plan placed.csv -o plan.json` checks the offsets"))
      << placed.errors;
  EXPECT_FALSE(says(run({"verify", "list.csv"}).errors, "offsets"));
  const ProcessResult compare = run({"compare", "a.json", "b.json"});
  EXPECT_EQ(compare.status, rejected);
  EXPECT_TRUE(says(compare.errors, "`stowage diff a.json b.json` compares plans")) << compare.errors;
}

TEST_F(CliFront, HelpIsAlsoACommand) {
  EXPECT_EQ(run({"help", "plan"}).output, run({"plan", "--help"}).output);
  EXPECT_EQ(run({"help"}).output, run({"--help"}).output);
  for (const char* const command : {"plan", "verify", "pack"}) {
    const std::string text = run({"help", command}).output;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST_F(CliFront, QuietLeavesOutSummariesAndNotes) {
  for (const Arguments& arguments :
       {Arguments{"-q", "plan", "list.csv"}, Arguments{"plan", "list.csv", "--quiet"}}) {
    const ProcessResult plan = run(arguments);
    EXPECT_EQ(plan.status, done);
    EXPECT_EQ(plan.output + plan.errors, "");
  }
  const Arguments near{"plan", "list.csv", "--memory", "A", "--memory", "B"};
  EXPECT_TRUE(says(run(near).errors, "note: "));
  Arguments quiet = near;
  quiet.emplace_back("-q");
  EXPECT_EQ(run(quiet).errors, "");
  EXPECT_TRUE(says(run({"plan", "list.csv", "-q", "--budget", "64"}).output, "over budget"));
  EXPECT_TRUE(says(run({"plan", "list.csv", "-q", "--capacity", "64"}).errors, "the plan needs 96 bytes"));
  EXPECT_TRUE(says(run({"plan", "list.csv", "-q", "--json"}).output, "stowage-plan"));
}

TEST_F(CliFront, ColoursAreForTerminals) {
  EXPECT_FALSE(says(run({"plan", "nothing.onnx"}).errors, "\033"));
  if (!has_terminals()) GTEST_SKIP() << "no script";
  EXPECT_TRUE(says(on_terminal("plan nothing.onnx"), "\033[1;31mstowage:\033[0m nothing.onnx"));
  EXPECT_FALSE(says(on_terminal("plan nothing.onnx", "NO_COLOR=1"), "\033[1"));
}

TEST_F(CliFront, ProgressSaysWhatIsTriedAndWhatIsBest) {
  std::string list = "id,lower,upper,size\n";
  for (int i = 0; i < 3000; ++i)
    list += fmt::format("b{},{},{},{}\n", i, i, i + 2 + (i * 7919) % 97, 1 + (i * 37) % 101);
  directory.write("long.csv", list);
  const std::string command = "plan long.csv --time-limit 2";
  EXPECT_EQ(run({"plan", "long.csv", "--time-limit", "2"}).errors, "") << "progress is for terminals";
  if (!has_terminals()) GTEST_SKIP() << "no script";
  const std::string shown = on_terminal(command);
  for (const char* const part : {", best ", " bytes, bound ", " s left", "\r\033[K"})
    EXPECT_TRUE(says(shown, part)) << part << "\n" << shown;
  EXPECT_FALSE(says(shown, ", 0 %")) << "a number that stands still says nothing";
  EXPECT_FALSE(says(on_terminal(command + " -q"), "\r\033[K"));
}

TEST_F(CliFront, VerifyAndStrategiesPrintJson) {
  ASSERT_EQ(run({"plan", "list.csv", "-o", "a.json"}).status, done);
  const json valid = json::parse(run({"verify", "a.json", "--json"}).output);
  EXPECT_EQ(valid, (json{{"valid", true},
                         {"checked_with_model", false},
                         {"faults", json::array()},
                         {"buffers", 2},
                         {"tensors", 0},
                         {"peak", 96}}));
  json broken = json::parse(directory.read("a.json"));
  for (json& buffer : broken.at("buffers")) buffer["offset"] = 0;
  directory.write("b.json", broken.dump());
  const ProcessResult result = run({"verify", "b.json", "--json"});
  EXPECT_EQ(result.status, not_met);
  EXPECT_EQ(json::parse(result.output).at("valid"), false);
  EXPECT_FALSE(json::parse(result.output).at("faults").empty());
  const json strategies = json::parse(run({"strategies", "--json"}).output);
  EXPECT_EQ(strategies.at(0).at("name"), "auto");
  EXPECT_TRUE(strategies.at(0).contains("in_auto"));
}

TEST_F(CliFront, AnOutputThatCannotBeWrittenIsNoRejectedInput) {
  EXPECT_EQ(run({"plan", "list.csv", "-o", "missing/plan.json"}).status, unwritable);
  EXPECT_EQ(run_shell(directory, "\"$0\" plan list.csv > /dev/full").status, unwritable);
  EXPECT_EQ(run_shell(directory, "\"$0\" plan list.csv -o - > /dev/full").status, unwritable);
  EXPECT_EQ(run({"plan", "missing.csv"}).status, rejected);
}

TEST_F(CliFront, VersionHasPartsAndCommit) {
  const std::string text = run({"--version"}).output;
  EXPECT_TRUE(says(text, "\ncommit ")) << text;
  EXPECT_TRUE(says(text, "\nparts  ")) << text;
}

}  // namespace
}  // namespace stowage
