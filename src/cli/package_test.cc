// Runs the test that `generate` writes before anyone relies on the C. A compiler counts if it makes a small program that
// runs here: $CC may be that of a device.

#include "cli/package_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/process.h"

namespace stowage::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view test_ending = "_test.c";

/// One rounding for each operation, as our runner does it, and no warnings: those are for the user's own build.
constexpr std::array compiler_options{"-std=c99", "-O1", "-ffp-contract=off", "-w"};

constexpr const char* trial = R"(#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
int main(int count, char **words) { return count > 1 && strlen(words[1]) > 1 ? (int)expf((float)count) : 0; }
)";

/// What the user calls a compiler, "ccache gcc" for instance.
std::vector<Words> compilers() {
  std::vector<Words> all;
  if (const char* const own = std::getenv("CC")) {
    std::istringstream words{std::string(own)};
    Words given;
    for (std::string word; words >> word;) given.push_back(word);
    if (!given.empty()) all.push_back(given);
  }
  for (const char* const name : {"cc", "gcc", "clang"}) all.push_back({name});
  return all;
}

class Trying {
 public:
  explicit Trying(const Package& package) : package_(package) {}

  PackageTest run() {
    for (const GeneratedFile& file : package_.files) write(file.path, file.content);
    const std::optional<Words> compiler = find_compiler();
    if (!compiler)
      return {PackageTest::Verdict::not_run,
              ": there is no C compiler for this machine (cc, gcc, clang or $CC)"};
    std::set<std::string> objects;
    for (const std::string& source : sources()) {
      objects.insert(source + ".o");
      const base::ProgramEnd compiled = call(compile(*compiler, {source}, source + ".o", false));
      if (compiled.status != 0) return failure(source, "does not compile", compiled);
    }
    for (const std::string& model : models()) {
      std::set<std::string> parts = objects;
      parts.insert(model + std::string(test_ending));
      const base::ProgramEnd compiled = call(compile(*compiler, parts, model));
      if (compiled.status != 0) return failure(model, "does not compile", compiled);
      const base::ProgramEnd end = call({path(model)});
      if (end.status != 0) return failure(model, "fails its test", end);
    }
    return {PackageTest::Verdict::passed, fmt::format(" ({})", fmt::join(*compiler, " "))};
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  void write(const std::string& name, std::string_view content) const {
    const std::filesystem::path file = path(name);
    std::filesystem::create_directories(file.parent_path());
    base::write_files(std::array{base::OutputFile{file, [=](std::ostream& out) { out << content; }}});
  }

  [[nodiscard]] base::ProgramEnd call(const Words& words) const {
    return base::run_program(words, folder_.path() / "printed");
  }

  [[nodiscard]] Words compile(Words compiler, const std::set<std::string>& sources,
                              const std::string& program, bool is_linked = true) const {
    compiler.insert(compiler.end(), compiler_options.begin(), compiler_options.end());
    if (!is_linked) compiler.emplace_back("-c");
    for (const std::string& source : sources) compiler.push_back(path(source));
    compiler.insert(compiler.end(), {"-lm", "-o", path(program)});
    return compiler;
  }

  [[nodiscard]] std::optional<Words> find_compiler() const {
    write("trial.c", trial);
    for (const Words& compiler : compilers())
      if (call(compile(compiler, {"trial.c"}, "trial")).status == 0 && call({path("trial")}).status == 0)
        return compiler;
    return std::nullopt;
  }

  /// Prefixes of the files of each model.
  [[nodiscard]] Words models() const {
    Words names;
    for (const GeneratedFile& file : package_.files)
      if (file.path.ends_with(test_ending))
        names.push_back(file.path.substr(0, file.path.size() - test_ending.size()));
    return names;
  }

  /// All that is no test: programs of users have all of it.
  [[nodiscard]] std::set<std::string> sources() const {
    std::set<std::string> sources;
    for (const GeneratedFile& file : package_.files)
      if (file.path.ends_with(".c") && !file.path.ends_with(test_ending)) sources.insert(file.path);
    return sources;
  }

  static PackageTest failure(const std::string& model, std::string_view what, const base::ProgramEnd& end) {
    constexpr std::size_t most_shown = 2000;
    if (end.interrupted) return {PackageTest::Verdict::interrupted, ""};
    const std::string printed = end.output.substr(0, most_shown);
    return {PackageTest::Verdict::failed,
            fmt::format("the C of {} {}:\n{}{}", model, what, printed, printed.ends_with('\n') ? "" : "\n")};
  }

  const Package& package_;
  base::TemporaryFolder folder_{};
};

}  // namespace

PackageTest test_of(const Package& package) { return Trying(package).run(); }

}  // namespace stowage::cli
