// The manual page, and completion as each shell does it: all three have every option, and complete what a user begins.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_process;
using testing::run_stowage;
using testing::TemporaryDirectory;
using Names = std::set<std::string>;

constexpr int done = 0;
constexpr int wrong_usage = 2;

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool has_program(const std::string& name) {
  return run_process("/usr/bin/env", {"sh", "-c", "command -v " + name}).status == done;
}

class CliShells : public ::testing::Test {
 protected:
  [[nodiscard]] std::string output_of(const std::vector<std::string>& arguments) const {
    const ProcessResult result = run_stowage(directory.path(), arguments);
    EXPECT_EQ(result.status, done) << fmt::format("{}", fmt::join(arguments, " ")) << "\n" << result.errors;
    return result.output;
  }

  [[nodiscard]] std::string shell_output(const std::string& shell, const std::vector<std::string>& options,
                                         const std::string& script) const {
    std::vector<std::string> arguments{shell};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"-c", script});
    const ProcessResult result = run_process("/usr/bin/env", arguments, {.directory = directory.path()});
    EXPECT_EQ(result.errors, "") << script;
    return result.output;
  }

  /// The options of each command in the longest help it has, without those of earlier versions.
  [[nodiscard]] std::map<std::string, Names> options_in_help() const {
    static const std::regex command("\\n {2}([a-z]+) ");
    static const std::regex option("\\n {2}(?:-[a-z],)?--([a-z][a-z-]*)");
    std::map<std::string, Names> all;
    const std::string commands = output_of({"--help"});
    const std::string list = commands.substr(commands.find("\nSubcommands:"));
    for (std::sregex_iterator it(list.begin(), list.end(), command), end; it != end; ++it) {
      const std::string name = (*it)[1].str();
      std::string help = output_of({name, "--help"});
      if (says(help, "--help-all")) help = output_of({name, "--help-all"});
      const std::size_t accepted = help.find("\nStill accepted:");
      if (accepted != std::string::npos) help.erase(accepted, help.find("\n\n", accepted + 1) - accepted);
      for (std::sregex_iterator word(help.begin(), help.end(), option); word != end; ++word)
        all[name].insert((*word)[1].str());
    }
    EXPECT_GE(all.size(), 15U) << commands;
    EXPECT_GE(all["plan"].size(), 40U);
    return all;
  }

  TemporaryDirectory directory;
};

/// From the line that begins with `begin` to the next that begins with `next`.
std::string part_of(const std::string& text, const std::string& begin, const std::string& next) {
  const std::size_t first = text.find("\n" + begin);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find("\n" + next, first + 1) - first);
}

TEST_F(CliShells, ManualAndCompletionHaveAllOptions) {
  const std::string page = output_of({"help", "--man"});
  EXPECT_TRUE(page.starts_with(".TH STOWAGE 1"));
  const std::string bash = output_of({"completion", "bash"});
  const std::string zsh = output_of({"completion", "zsh"});
  const std::string fish = output_of({"completion", "fish"});
  for (const auto& [command, options] : options_in_help()) {
    const std::string in_page = part_of(page, fmt::format(".SS {}\n", command), ".S");
    const std::string in_zsh = part_of(zsh, fmt::format("    {}) options=(", command), "      '--quiet:");
    const std::string in_bash = part_of(bash, fmt::format("    {}) words=", command), "");
    for (const std::string& option : options) {
      const std::string in_roff = std::regex_replace("--" + option, std::regex("-"), "\\-");
      EXPECT_TRUE(says(in_page, in_roff + "\\fR")) << "the manual has no " << command << " --" << option;
      EXPECT_TRUE(says(fish, fmt::format("from {}' -l {} ", command, option))) << command << " " << option;
      if (command == "help" || command == "completion") continue;  // bash and zsh complete what follows them
      EXPECT_TRUE(says(in_bash, fmt::format("--{} ", option))) << command << " " << option;
      EXPECT_TRUE(says(in_zsh, fmt::format("'--{}:", option))) << command << " " << option;
    }
  }
  for (const std::string& script : {bash, zsh, fish, page})
    EXPECT_FALSE(says(script, "reuse-threshold")) << "of an earlier version";
  EXPECT_EQ(run_stowage(directory.path(), {"completion", "tcsh"}).status, wrong_usage);
}

TEST_F(CliShells, TheManualIsRight) {
  if (!has_program("mandoc")) GTEST_SKIP() << "no mandoc";
  directory.write("stowage.1", output_of({"help", "--man"}));
  const ProcessResult result = run_process(
      "/usr/bin/env", {"mandoc", "-T", "lint", "-W", "error", "stowage.1"}, {.directory = directory.path()});
  EXPECT_EQ(result.status, done) << result.output << result.errors;
}

TEST_F(CliShells, BashCompletes) {
  if (!has_program("bash")) GTEST_SKIP() << "no bash";
  directory.write("complete.sh", output_of({"completion", "bash"}));
  const auto completed = [&](const std::string& words, int at) {
    return shell_output(
        "bash", {},
        fmt::format(". ./complete.sh; COMP_WORDS=({}); COMP_CWORD={}; _stowage; echo \"${{COMPREPLY[*]}}\"",
                    words, at));
  };
  EXPECT_EQ(completed("stowage pl", 1), "plan\n");
  EXPECT_EQ(completed("stowage plan --cap", 2), "--capacity\n");
  EXPECT_EQ(completed("stowage plan x.onnx --strategy ej", 4), "ejection\n");
  EXPECT_EQ(completed("stowage help sw", 2), "sweep\n");
  EXPECT_EQ(completed("stowage completion f", 2), "fish\n");
  EXPECT_EQ(completed("stowage plan li", 2), "\n") << "bash itself completes files";
}

/// What zsh's own functions are given; they alone need a terminal.
TEST_F(CliShells, ZshCompletes) {
  if (!has_program("zsh")) GTEST_SKIP() << "no zsh";
  directory.write("_stowage", output_of({"completion", "zsh"}));
  const auto offered = [&](const std::string& typed) {
    const std::string line = fmt::format(
        "_describe() {{ print -l -- ${{(P)@[-1]}} }}; compadd() {{ print -l -- $@ }}; "
        "_files() {{ print files }}; words=({}); CURRENT=$#words; . ./_stowage",
        typed);
    Names names;
    std::istringstream lines(shell_output("zsh", {"-f"}, line));
    for (std::string it; std::getline(lines, it);) names.insert(it.substr(0, it.find(':')));
    return names;
  };
  EXPECT_TRUE(offered("stowage pl").contains("plan"));
  EXPECT_TRUE(offered("stowage help sw").contains("sweep"));
  EXPECT_TRUE(offered("stowage plan --cap").contains("--capacity"));
  EXPECT_FALSE(offered("stowage verify --cap").contains("--capacity"));
  EXPECT_TRUE(offered("stowage plan x.onnx --strategy ej").contains("ejection"));
  EXPECT_EQ(offered("stowage completion f"), (Names{"bash", "zsh", "fish"}));
  EXPECT_EQ(offered("stowage plan li"), Names{"files"});
}

TEST_F(CliShells, FishCompletes) {
  if (!has_program("fish")) GTEST_SKIP() << "no fish";
  directory.write("stowage.fish", output_of({"completion", "fish"}));
  directory.write("list.csv", "");
  const auto completed = [&](const std::string& typed) {
    Names names;
    std::istringstream lines(
        shell_output("fish", {"--no-config"}, fmt::format("source stowage.fish; complete -C '{}'", typed)));
    for (std::string it; std::getline(lines, it);) names.insert(it.substr(0, it.find('\t')));
    return names;
  };
  EXPECT_EQ(completed("stowage pl"), Names{"plan"});
  EXPECT_TRUE(completed("stowage plan --cap").contains("--capacity"));
  EXPECT_FALSE(completed("stowage verify --cap").contains("--capacity"));
  EXPECT_EQ(completed("stowage plan x.onnx --strategy ej"), Names{"ejection"});
  EXPECT_EQ(completed("stowage help sw"), Names{"sweep"});
  EXPECT_EQ(completed("stowage completion f"), Names{"fish"});
  EXPECT_EQ(completed("stowage plan li"), Names{"list.csv"});
}

}  // namespace
}  // namespace stowage
