// One version: of the header, of CMake, of the command and of the Python package.

#include "stowage/version.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

std::string text_of_file(const std::string& name) {
  std::ifstream file(name);
  EXPECT_TRUE(file.is_open()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Version, IsOneInTheHeader) {
  EXPECT_EQ(version, fmt::format("{}.{}.{}", version_major, version_minor, version_patch));
}

TEST(Version, IsThatOfCMakeAndOfTheCommand) {
  EXPECT_EQ(version, STOWAGE_CMAKE_VERSION);
  const testing::TemporaryDirectory directory;
  const std::string printed = testing::run_stowage(directory.path(), {"--version"}).output;
  EXPECT_EQ(printed.substr(0, printed.find('\n')), version);
}

/// pyproject.toml has no version of its own: it names the header and the pattern to find it by.
TEST(Version, IsThatOfThePythonPackage) {
  const std::string project = text_of_file(STOWAGE_DOCS "/../pyproject.toml");
  EXPECT_FALSE(std::regex_search(project, std::regex("\nversion *=")));
  const std::string pattern = " version = \"(?P<value>[^\"]+)\"";
  EXPECT_NE(project.find("\ninput = \"include/stowage/version.h\"\nregex = '" + pattern + "'"),
            std::string::npos);
  std::smatch found;
  const std::string header = text_of_file(STOWAGE_DOCS "/../include/stowage/version.h");
  ASSERT_TRUE(std::regex_search(header, found, std::regex(" version = \"([^\"]+)\"")));
  EXPECT_EQ(version, found[1].str());
}

}  // namespace
}  // namespace stowage
