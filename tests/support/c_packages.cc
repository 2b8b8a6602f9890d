// Starting a compiler takes longer than compiling a small network. So each network is one file that includes the
// others, and many such files are one call of a compiler. Their code is not optimised: it calls kernels, which
// tests/CMakeLists.txt compiles once for all tests.

#include "c_packages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <future>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "temporary.h"

namespace stowage::testing {
namespace {

void write(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << content;
}

/// Compilers of the system; the build has written their options, and compiled kernels.
constexpr std::array<std::string_view, 3> c_compilers{"gcc", "clang-16", "g++"};

/// Whose code is compiled at once: with more, the compiler that has most to do ends later.
constexpr std::size_t networks_of_a_file = 16;

std::string file_of(std::size_t compiler, std::string_view ending) {
  return fmt::format("{}/{}{}", STOWAGE_C_KERNELS, c_compilers[compiler], ending);
}

ProcessResult call_compiler(std::size_t compiler, std::vector<std::string> arguments,
                            const std::filesystem::path& folder) {
  return run_process(fmt::format("/usr/bin/{}", c_compilers[compiler]), std::move(arguments),
                     {.directory = folder});
}

/// What test programs print, without those that went well.
std::string complaints_in(const std::string& output) {
  std::istringstream lines(output);
  std::string complaints;
  for (std::string line; std::getline(lines, line);)
    if (!line.ends_with("as expected")) complaints += line + "\n";
  return complaints;
}

/// What is known in one file only, where files of several packages are one: its name gets that of the package.
std::set<std::string> own_names(const std::string& name, const Package& package) {
  static const std::regex declared(
      R"(^static [^;={(]*?\b(\w+) *[\[=({;]|^#define (\w+)\(|^\} (\w+)|[{,] (\w+) = \d)");
  constexpr std::size_t longest = 200;  // lines of numbers are longer
  std::set<std::string> names;
  for (const GeneratedFile& file : package.files) {
    if (!file.path.starts_with(name) || !file.path.ends_with(".c") || file.path == name + "_weights.c")
      continue;
    std::istringstream lines(file.content);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("static ") && !line.starts_with("#define ") && !line.starts_with("} ") &&
          !line.starts_with("enum {"))
        continue;
      line.resize(std::min(line.size(), longest));
      for (std::sregex_iterator it(line.begin(), line.end(), declared), end; it != end; ++it)
        for (std::size_t group = 1; group < it->size(); ++group)
          if ((*it)[group].matched && (*it)[group] != "struct") names.insert((*it)[group]);
    }
  }
  return names;
}

/// Arrays of weights that nothing reads: flash is too dear for them.
std::string unread_weights(const std::string& name, const Package& package) {
  const auto content_of = [&](const std::string& path) -> std::string {
    const auto found = std::ranges::find(package.files, path, &GeneratedFile::path);
    return found == package.files.end() ? "" : found->content;
  };
  const std::string program = content_of(name + ".c");
  std::set<std::string> read;
  for (std::size_t at = program.find(name + "_"); at != std::string::npos;
       at = program.find(name + "_", at + 1)) {
    const std::size_t end = std::min(
        program.size(),
        program.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at));
    read.insert(program.substr(at, end - at));
  }
  std::istringstream lines(content_of(name + "_weights.c"));
  std::string unread;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t from = line.find(" " + name + "_");
    const std::size_t end = line.find('[');
    if (!line.starts_with("const ") || from == std::string::npos || end == std::string::npos) continue;
    const std::string array = line.substr(from + 1, end - from - 1);
    if (!read.contains(array)) unread += fmt::format("{}: nothing reads {}\n", name, array);
  }
  return unread;
}

}  // namespace

void Packages::add(const std::string& name, const Package& package) {
  const std::filesystem::path own = folder_ / std::string(c_compilers[names_.size() % c_compilers.size()]);
  for (const GeneratedFile& file : package.files) {
    if (file.path.starts_with(name)) write(own / file.path, file.content);
  }
  const auto is_own = [&](const GeneratedFile& file) { return file.path == name + "_extern.c"; };
  const bool has_own = std::ranges::any_of(package.files, is_own);
  std::string renamed, restored;
  for (const std::string& it : own_names(name, package)) {
    renamed += fmt::format("#define {0} own_{1}_{0}\n", it, name);
    restored += fmt::format("#undef {}\n", it);
  }
  write(own / (name + "_all.c"),
        fmt::format("{1}#include \"{0}.c\"\n#include \"{0}_weights.c\"\n{2}"
                    "#define main {0}_main\nint main(void);\n"
                    "#include \"{0}_test.c\"\n#undef main\n{3}",
                    name, renamed, has_own ? fmt::format("#include \"{}_extern.c\"\n", name) : "", restored));
  if (std::string unread = unread_weights(name, package); !unread.empty())
    faults_.push_back(std::move(unread));
  names_.push_back(name);
}

std::string Packages::run_with(std::size_t compiler) const {
  const std::filesystem::path own = folder_ / c_compilers[compiler];
  std::vector<std::string> sources;
  std::vector<std::string> objects;
  std::vector<std::string> parts;  // of the file that is compiled next
  std::string mains;
  std::string calls;
  const auto end_file = [&] {
    if (parts.empty()) return;
    const std::string name = fmt::format("networks_{}", sources.size());
    write(own / (name + ".c"), fmt::format("{}", fmt::join(parts, "")));
    sources.push_back(name + ".c");
    objects.push_back(name + ".o");
    parts.clear();
  };
  for (std::size_t i = compiler; i < names_.size(); i += c_compilers.size()) {
    parts.push_back("#include \"" + names_[i] + "_all.c\"\n");
    if (parts.size() == networks_of_a_file) end_file();
    mains += "int " + names_[i] + "_main(void);\n";
    calls += "  faults += " + names_[i] + "_main();\n";
  }
  end_file();
  if (objects.empty()) return "";
  write(own / "everything.c",
        mains + "int main(void) {\n  int faults = 0;\n" + calls + "  return faults;\n}\n");
  sources.emplace_back("everything.c");
  objects.emplace_back("everything.o");
  std::vector<std::string> compile{"@" + file_of(compiler, ".options"), "-O0", "-c"};
  compile.insert(compile.end(), sources.begin(), sources.end());
  std::vector<std::string> link{"-fsanitize=address,undefined", "-o", "everything"};
  link.insert(link.end(), objects.begin(), objects.end());
  link.insert(link.end(), {file_of(compiler, ".a"), "-lm"});
  for (const auto& arguments : {compile, link}) {
    const ProcessResult made = call_compiler(compiler, arguments, own);
    if (made.status != 0) return fmt::format("{}: {}", c_compilers[compiler], made.errors.substr(0, 2000));
  }
  const ProcessResult result = run_process((own / "everything").string(), {}, {.directory = own});
  if (result.status == 0) return "";
  return fmt::format("{}: {}{}", c_compilers[compiler], complaints_in(result.output),
                     result.errors.substr(0, 3000));
}

std::vector<std::string> Packages::run() const {
  std::vector<std::future<std::string>> running;
  for (std::size_t c = 0; c < c_compilers.size(); ++c)
    running.push_back(std::async(std::launch::async, [this, c] { return run_with(c); }));
  std::vector<std::string> faults = faults_;
  for (auto& it : running)
    if (const std::string problem = it.get(); !problem.empty()) faults.push_back(problem);
  return faults;
}

ProcessResult run_with_main(const Package& package, const std::string& main) {
  const TemporaryDirectory folder;
  std::vector<std::string> arguments{"-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I.", "main.c"};
  for (const GeneratedFile& file : package.files) {
    folder.write(file.path, file.content);
    if (file.path.ends_with(".c") && !file.path.ends_with("_test.c")) arguments.push_back(file.path);
  }
  folder.write("main.c", main);
  arguments.insert(arguments.end(), {"-fsanitize=address,undefined", "-lm", "-o", "all"});
  const auto compiled = run_process("/usr/bin/gcc", arguments, {.directory = folder.path()});
  if (compiled.status != 0) return compiled;
  const auto made = run_process("/usr/bin/make", {"test"}, {.directory = folder.path()});
  if (made.status != 0) return made;
  return run_process((folder / "all").string(), {});
}

}  // namespace stowage::testing
