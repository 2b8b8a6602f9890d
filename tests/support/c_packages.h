/// Compiles generated packages with the compilers of the system and runs their test programs. Example:
///
///     Packages packages(folder);
///     packages.add("first", generate_package(network, plan, {.name = "first"}));
///     for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stowage/generate.h"

namespace stowage::testing {

/// A compiler with its options.
struct CCompiler {
  std::string program{};
  std::vector<std::string> options{};
};

/// gcc and clang as C99, g++ as C++; all warnings are errors, address and undefined-behaviour sanitizers are on.
[[nodiscard]] const std::vector<CCompiler>& c_compilers();

class Packages {
 public:
  explicit Packages(const std::filesystem::path& folder);

  /// Names must differ; compilers take turns.
  void add(const std::string& name, const Package& package);

  /// Compiles and runs all; says what went wrong.
  [[nodiscard]] std::vector<std::string> run() const;

  [[nodiscard]] std::size_t count() const { return names_.size(); }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_{};
};

}  // namespace stowage::testing
