// -o, whose extensions say what is written; options of an earlier version; the two helps; tuning of strategies.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;
using Words = std::vector<std::string>;

constexpr std::string_view two_buffers = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";
constexpr std::string_view relu_network =
    R"({"format":"stowage-graph","version":1,"tensors":[{"name":"x","bytes":16},{"name":"y","bytes":16}],)"
    R"("subgraphs":[{"inputs":["x"],"outputs":["y"],"operators":[{"type":"Relu","inputs":["x"],"outputs":["y"]}]}]})";

class CliOutput : public ::testing::Test {
 protected:
  CliOutput() {
    directory_.write("f.csv", two_buffers);
    directory_.write("net.json", relu_network);
  }

  [[nodiscard]] ProcessResult run(const Words& words) const { return run_stowage(directory_.path(), words); }

  TemporaryDirectory directory_;
};

TEST_F(CliOutput, IsWhatTheExtensionSays) {
  const ProcessResult result = run({"plan", "net.json", "-o", "p.json", "-o", "p.csv", "-o", "p.svg", "-o",
                                    "p.h", "-o", "p.html", "--output", "again.json", "-o", "noextension"});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(nlohmann::json::parse(directory_.read("p.json")).at("format"), "stowage-plan");
  EXPECT_EQ(directory_.read("again.json"), directory_.read("p.json"));
  EXPECT_EQ(directory_.read("noextension"), directory_.read("p.json"));
  EXPECT_TRUE(directory_.read("p.csv").starts_with("id,lower,upper,size"));
  EXPECT_TRUE(directory_.read("p.svg").starts_with("<svg "));
  EXPECT_NE(directory_.read("p.h").find("#define STOWAGE_ARENA_SIZE"), std::string::npos);
  EXPECT_TRUE(directory_.read("p.html").starts_with("<!"));
}

TEST_F(CliOutput, RefusesOtherExtensionsAndListsItsOwn) {
  const Words before = directory_.names();
  for (const char* const file : {"p.txt", "p.jsonx", "p.JSON", "p.tar.xz"}) {
    const ProcessResult result = run({"plan", "f.csv", "-o", "good.json", "-o", file});
    EXPECT_EQ(result.status, 2) << file;
    EXPECT_NE(result.errors.find("expected one of .json, .csv, .svg, .h, .html"), std::string::npos)
        << result.errors;
    EXPECT_NE(result.errors.find(file), std::string::npos) << result.errors;
  }
  for (const char* const file : {"p.tflite", "p.c"})
    EXPECT_NE(run({"plan", "f.csv", "-o", file}).errors.find("`stowage tflm` writes"), std::string::npos)
        << file;
  EXPECT_EQ(run({"sweep", "f.csv", "--memory", "a=16..32", "-o", "p.csv"}).status, 2);
  EXPECT_EQ(directory_.names(), before);
}

TEST_F(CliOutput, OfTheEarlierVersionStillWorksAndSaysWhatToWrite) {
  ASSERT_EQ(run({"plan", "net.json", "-o", "a.csv", "-o", "a.svg", "-o", "a.h"}).status, 0);
  const ProcessResult old = run({"plan", "net.json", "--csv", "b.any", "--svg", "b.svg", "--header", "b.h",
                                 "--report", "b.html", "--json"});
  EXPECT_EQ(old.status, 0) << old.errors;
  EXPECT_EQ(directory_.read("a.csv"), directory_.read("b.any"));
  EXPECT_EQ(directory_.read("a.svg"), directory_.read("b.svg"));
  EXPECT_EQ(directory_.read("a.h"), directory_.read("b.h"));
  EXPECT_EQ(nlohmann::json::parse(old.output).at("format"), "stowage-plan")
      << "the note is on standard error";
  EXPECT_EQ(old.errors,
            "stowage: note: --csv is now -o FILE.csv, --svg is now -o FILE.svg, --header is now -o FILE.h, "
            "--report is now -o FILE.html; the old form still works in this version\n");
}

TEST_F(CliOutput, TuningGoesToItsStrategy) {
  const auto plan_with = [&](const Words& options) {
    Words words{"plan", "f.csv", "--json", "--effort", "50"};
    words.insert(words.end(), options.begin(), options.end());
    const ProcessResult result = run(words);
    EXPECT_EQ(result.status, 0) << result.errors;
    return result;
  };
  const ProcessResult tuned = plan_with({"--strategy", "rectangle:sort=size*duration,-overlap,rounds=0"});
  EXPECT_EQ(tuned.errors, "");
  EXPECT_EQ(nlohmann::json::parse(tuned.output).at("tunings").at(0).at("sort"), "size*duration,-overlap");
  const ProcessResult old =
      plan_with({"--strategy", "rectangle", "--sort", "size*duration,-overlap", "--rounds", "0"});
  EXPECT_EQ(old.output, tuned.output);
  EXPECT_NE(old.errors.find("--rounds is now --strategy rectangle:rounds=N"), std::string::npos)
      << old.errors;
  plan_with({"--strategy", "free-list:reuse-threshold=1KiB"});
  plan_with({"--strategy", "auto:rounds=2,reuse-threshold=0"});
  for (const char* const wrong :
       {"rectangle:", "rectangle:rounds", "rectangle:rounds=", "rectangle:turns=2",
        "rectangle:reuse-threshold=1", "exact:rounds=1", "rectangle:rounds=1,rounds=2", "rectangle:rounds=x",
        "rectangle:sort=beauty", "none:rounds=1"})
    EXPECT_EQ(run({"plan", "f.csv", "--strategy", wrong}).status, 2) << wrong;
  EXPECT_EQ(run({"plan", "f.csv", "--strategy", "rectangle:rounds=1", "--rounds", "1"}).status, 2);
}

/// The names of options below a heading.
std::set<std::string> options_below(const std::string& help, const std::string& heading) {
  static const std::regex option("(--[a-z][a-z-]*)");
  const std::size_t begin = help.find("\n" + heading + "\n");
  if (begin == std::string::npos) return {};
  const std::string part = help.substr(begin, help.find("\n\n", begin + 1) - begin);
  std::set<std::string> names;
  static const std::regex own("\\n {2}(?:-[a-z],)?(--[a-z][a-z-]*)");
  for (std::sregex_iterator it(part.begin(), part.end(), heading.starts_with("More") ? option : own), end;
       it != end; ++it)
    names.insert((*it)[1].str());
  return names;
}

TEST_F(CliOutput, TheShortHelpHasTheUsualDozenAndNamesTheRest) {
  static const std::regex option("\\n {2}(?:-[a-z],)?(--[a-z][a-z-]*)");
  for (const char* const command : {"plan", "compare", "sweep", "tflm", "run", "generate"}) {
    const std::string help = run({command, "--help"}).output;
    const std::string all = run({command, "--help-all"}).output;
    const std::set<std::string> usual = options_below(help, "Options:");
    const std::set<std::string> more = options_below(help, "More, which --help-all describes:");
    EXPECT_TRUE(usual.contains("--strategy") && usual.contains("--help-all")) << command << "\n" << help;
    EXPECT_LE(usual.size(), 25U) << command;
    std::set<std::string> accepted = options_below(all, "Still accepted:");
    EXPECT_TRUE(accepted.contains("--rounds")) << all;
    EXPECT_EQ(help.find("Still accepted"), std::string::npos);
    for (std::sregex_iterator it(all.begin(), all.end(), option), end; it != end; ++it) {
      const std::string name = (*it)[1].str();
      if (accepted.contains(name)) continue;
      EXPECT_TRUE(usual.contains(name) || more.contains(name)) << command << " --help does not name " << name;
    }
  }
  EXPECT_LE(options_below(run({"plan", "--help"}).output, "Options:").size(), 14U);
}

}  // namespace
}  // namespace stowage
