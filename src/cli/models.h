#pragma once

#include <string>
#include <vector>

namespace stowage::cli {

/// A model's file and what the model is called in options and reports.
struct NamedFile {
  std::string name{};
  std::string file{};

  bool operator==(const NamedFile&) const = default;
};

/// Models as they are given, each FILE or NAME=FILE; a file that is called so literally is a FILE. Without a
/// name a model is called by its file's stem; where that is taken, `stem-2`, `stem-3` and so on. Throws
/// UsageError for a name that is given twice, or a name or file that is empty.
[[nodiscard]] std::vector<NamedFile> parse_models(const std::vector<std::string>& texts);

}  // namespace stowage::cli
