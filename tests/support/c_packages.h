/// Compiles generated packages with the compilers of the system and runs their test programs. Example:
///
///     Packages packages(folder);
///     packages.add("first", generate_package(network, plan, {.name = "first"}));
///     for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "process.h"
#include "stowage/generate.h"

namespace stowage::testing {

/// Compilers take turns: gcc and clang as C99, g++ as C++; all warnings are errors, address and undefined-behaviour
/// sanitizers are on.
class Packages {
 public:
  explicit Packages(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Names must differ. An array of weights that nothing reads is a fault.
  void add(const std::string& name, const Package& package);

  /// Compiles and runs all; says what went wrong.
  [[nodiscard]] std::vector<std::string> run() const;

  [[nodiscard]] std::size_t count() const { return names_.size(); }

 private:
  [[nodiscard]] std::string run_with(std::size_t compiler) const;

  std::filesystem::path folder_;
  std::vector<std::string> names_{};
  std::vector<std::string> faults_{};  ///< Of what was added.
};

/// Compiles all of a package with this program under sanitizers, and runs the tests of the package, and the program.
[[nodiscard]] ProcessResult run_with_main(const Package& package, const std::string& main);

}  // namespace stowage::testing
