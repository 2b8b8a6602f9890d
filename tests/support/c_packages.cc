// Starting a compiler takes longer than compiling a small network. So each network is one file that includes the
// others, many such files are one call of a compiler, and kernels are compiled once for each compiler.

#include "c_packages.h"

#include <algorithm>
#include <fstream>
#include <future>
#include <sstream>

#include "generate/kernel_files.h"
#include "process.h"

namespace stowage::testing {
namespace {

void write(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << content;
}

std::string folder_of(std::size_t compiler) { return "compiler" + std::to_string(compiler); }

/// Compiles files of a folder; what the compiler says if it fails.
std::string compile(const CCompiler& compiler, const std::filesystem::path& folder,
                    const std::vector<std::string>& arguments) {
  std::vector<std::string> all = compiler.options;
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ProcessResult result = run_process(compiler.program, all, {.directory = folder});
  return result.status == 0 ? "" : compiler.program + ": " + result.errors.substr(0, 2000);
}

/// CMSIS-NN is for other machines.
std::vector<generate::KernelFile> kernels_for_this_machine() {
  std::vector<generate::KernelFile> files;
  for (const generate::KernelFile& file : generate::kernel_files())
    if (file.name.find("cmsis_nn") == std::string_view::npos) files.push_back(file);
  return files;
}

/// What test programs print, without those that went well.
std::string complaints_in(const std::string& output) {
  std::istringstream lines(output);
  std::string complaints;
  for (std::string line; std::getline(lines, line);)
    if (!line.ends_with("as expected")) complaints += line + "\n";
  return complaints;
}

}  // namespace

const std::vector<CCompiler>& c_compilers() {
  static const std::vector<CCompiler> all = [] {
    const std::vector<std::string> strict{"-O1",
                                          "-g1",
                                          "-Wall",
                                          "-Wextra",
                                          "-Wconversion",
                                          "-Wshadow",
                                          "-pedantic",
                                          "-Werror",
                                          "-fsanitize=address,undefined",
                                          "-fno-sanitize-recover=all"};
    std::vector<CCompiler> compilers{{"/usr/bin/gcc", {"-std=c99"}},
                                     {"/usr/bin/clang-16", {"-std=c99"}},
                                     {"/usr/bin/g++", {"-std=c++11", "-x", "c++"}}};
    for (CCompiler& compiler : compilers)
      compiler.options.insert(compiler.options.begin(), strict.begin(), strict.end());
    return compilers;
  }();
  return all;
}

Packages::Packages(const std::filesystem::path& folder) : folder_(folder) {
  for (std::size_t c = 0; c < c_compilers().size(); ++c) {
    for (const generate::KernelFile& file : kernels_for_this_machine())
      write(folder_ / folder_of(c) / file.name, std::string(file.content));
  }
}

void Packages::add(const std::string& name, const Package& package) {
  const std::filesystem::path own = folder_ / folder_of(names_.size() % c_compilers().size());
  for (const GeneratedFile& file : package.files) {
    if (file.path.starts_with(name)) write(own / file.path, file.content);
  }
  const auto is_own = [&](const GeneratedFile& file) { return file.path == name + "_extern.c"; };
  const bool has_own = std::ranges::any_of(package.files, is_own);
  write(own / (name + "_all.c"), "#include \"" + name + ".c\"\n#include \"" + name + "_weights.c\"\n" +
                                     (has_own ? "#include \"" + name + "_extern.c\"\n" : "") +
                                     "#define main " + name + "_main\nint main(void);\n#include \"" + name +
                                     "_test.c\"\n");
  names_.push_back(name);
}

std::vector<std::string> Packages::run() const {
  const auto build_and_run = [&](std::size_t c) -> std::string {
    const CCompiler& compiler = c_compilers()[c];
    const std::filesystem::path own = folder_ / folder_of(c);
    std::vector<std::string> files{"-c"};
    std::vector<std::string> objects;
    std::string mains;
    std::string calls;
    for (std::size_t i = c; i < names_.size(); i += c_compilers().size()) {
      files.push_back(names_[i] + "_all.c");
      objects.push_back(names_[i] + "_all.o");
      mains += "int " + names_[i] + "_main(void);\n";
      calls += "  faults += " + names_[i] + "_main();\n";
    }
    if (objects.empty()) return "";
    for (const generate::KernelFile& file : kernels_for_this_machine()) {
      if (!file.name.ends_with(".c")) continue;
      files.emplace_back(file.name);
      objects.push_back(std::string(file.name.substr(0, file.name.size() - 1)) + "o");
    }
    write(own / "everything.c",
          mains + "int main(void) {\n  int faults = 0;\n" + calls + "  return faults;\n}\n");
    files.emplace_back("everything.c");
    objects.emplace_back("everything.o");
    if (const std::string problem = compile(compiler, own, files); !problem.empty()) return problem;
    std::vector<std::string> link = {"-fsanitize=address,undefined", "-o", "everything"};
    link.insert(link.end(), objects.begin(), objects.end());
    link.emplace_back("-lm");
    const ProcessResult linked = run_process(compiler.program, link, {.directory = own});
    if (linked.status != 0) return linked.errors.substr(0, 2000);
    const ProcessResult result = run_process((own / "everything").string(), {}, {.directory = own});
    return result.status == 0
               ? ""
               : compiler.program + ": " + complaints_in(result.output) + result.errors.substr(0, 3000);
  };
  std::vector<std::future<std::string>> running;
  for (std::size_t c = 0; c < c_compilers().size(); ++c)
    running.push_back(std::async(std::launch::async, build_and_run, c));
  std::vector<std::string> faults;
  for (auto& it : running)
    if (const std::string problem = it.get(); !problem.empty()) faults.push_back(problem);
  return faults;
}

}  // namespace stowage::testing
