// docs/cli.md has every option of every command, and no other: it is compared with what --help prints, or
// --help-all where there is one.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;
using Names = std::set<std::string>;

/// The program itself, as a key beside its commands.
const std::string program = "stowage";

/// The first group of every match in the text.
Names matches_of(const std::string& text, const std::regex& pattern) {
  Names found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    found.insert((*it)[1].str());
  return found;
}

std::string help_of(const std::string& command) {
  const TemporaryDirectory directory;
  ProcessResult result = command == program ? run_stowage(directory.path(), {"--help"})
                                            : run_stowage(directory.path(), {command, "--help"});
  if (result.output.find("--help-all") != std::string::npos)
    result = run_stowage(directory.path(), {command, "--help-all"});
  EXPECT_EQ(result.status, 0) << command;
  return result.output;
}

/// Lines such as "  -o,--output TEXT     FILE for the plan" or "  --check{outputs}     Run again".
Names options_in_help(const std::string& help) {
  static const std::regex option("\\n {2}(?:-[a-z],)?(--[a-z][a-z-]*)");
  return matches_of(help, option);
}

/// Lines such as "  plan      Plan memory", below "Subcommands:".
Names commands_in_help(const std::string& help) {
  static const std::regex command("\\n {2}([a-z]+) ");
  const std::size_t begin = help.find("\nSubcommands:");
  if (begin == std::string::npos) return {};
  return matches_of(help.substr(begin), command);
}

/// The options of each command in docs/cli.md. A heading names commands in backticks; each item below that
/// begins with an option ("- `--csv FILE`: ...") is about these. No option is described twice for a command.
std::map<std::string, Names> options_in_document(const Names& commands) {
  static const std::regex quoted("`([a-z]+)`");
  static const std::regex option("[`](?:-[a-z]\\b)?(--[a-z][a-z-]*)");
  std::map<std::string, Names> options;
  Names current;
  std::ifstream file(STOWAGE_DOCS "/cli.md");
  EXPECT_TRUE(file.is_open());
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("##")) {
      current.clear();
      for (const std::string& name : matches_of(line, quoted)) {
        EXPECT_TRUE(commands.contains(name)) << "docs/cli.md: heading about `" << name << "`, no command";
        current.insert(name);
      }
    } else if (line.starts_with("- `-")) {
      EXPECT_FALSE(current.empty()) << "docs/cli.md: which command has this? " << line;
      const Names names = matches_of(line.substr(0, line.find(": ")), option);
      EXPECT_EQ(names.size(), 1U) << line;
      for (const std::string& command : current) {
        for (const std::string& name : names)
          EXPECT_TRUE(options[command].insert(name).second)
              << command << " " << name << " stands there twice";
      }
    }
  }
  return options;
}

TEST(CliDocs, HaveEveryOptionOfEveryCommandAndNoOther) {
  Names commands = commands_in_help(help_of(program));
  EXPECT_TRUE(commands.contains("plan"));
  commands.insert(program);
  std::map<std::string, Names> documented = options_in_document(commands);
  for (const std::string& command : commands) {
    const Names in_help = options_in_help(help_of(command));
    EXPECT_TRUE(in_help.contains("--help")) << command;
    for (const std::string& name : in_help)
      EXPECT_TRUE(documented[command].contains(name)) << "docs/cli.md lacks " << command << " " << name;
    for (const std::string& name : documented[command])
      EXPECT_TRUE(in_help.contains(name)) << "docs/cli.md has " << command << " " << name << ", --help not";
  }
}

TEST(CliDocs, HaveASectionForEveryCommand) {
  std::ifstream file(STOWAGE_DOCS "/cli.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const std::string& command : commands_in_help(help_of(program)))
    EXPECT_NE(text.str().find("\n## `" + command + "`\n"), std::string::npos) << command;
}

}  // namespace
}  // namespace stowage
