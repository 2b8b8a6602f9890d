#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generate/package.h"
#include "generate/sources.h"
#include "stowage/generate.h"
#include "stowage/plan.h"

namespace stowage::generate {

/// Packages that become one: files of several networks, or of one network at several sizes.
class Parts {
 public:
  /// Generates the next one. Its name is that of the options.
  void add(const Network& network, const Plan& plan, const GenerateOptions& options);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<Package>& packages() const { return packages_; }
  /// Weights, control tables and layers of all.
  [[nodiscard]] Bytes flash() const;
  /// Rows of a Markdown table: what each needs.
  [[nodiscard]] std::string table() const;
  /// Tables of the inputs and outputs of each.
  [[nodiscard]] std::string outlets() const;
  /// Functions that run each once.
  [[nodiscard]] std::string calls() const;

  /// All files: those of the parts, `own` ones, and what builds them. `own_sources` are among these.
  [[nodiscard]] Package package(const std::string& name, std::vector<GeneratedFile> own,
                                std::vector<std::string> own_sources = {}) &&;

 private:
  std::vector<std::string> names_{};
  std::vector<Package> packages_{};
  std::vector<GeneratedFile> files_{};
  std::set<std::string> paths_{};
  EqualArrays known_{};
};

/// Sizes and alignments of the memories that all of them share, as macros of NAME.
[[nodiscard]] std::string memory_macros(const Plan& plan, const std::string& name);

}  // namespace stowage::generate
