#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stowage/generate.h"

namespace stowage::cli {

/// A file to write, with the option that requests it.
using NamedOutput = std::pair<std::string_view, std::string>;

/// Throws UsageError if an output would overwrite an input, or two outputs are one file. Empty names are no files.
void expect_different_files(const std::vector<std::string>& inputs, const std::vector<NamedOutput>& outputs);
/// The files of FILE and NAME=FILE.
[[nodiscard]] std::vector<std::string> files_of_models(const std::vector<std::string>& texts);

/// Throws UsageError if the folder has files with names of the package's that `write_package` has not written, or
/// that were changed since; they may be equal to the package's.
void expect_own_files(const std::filesystem::path& folder, const Package& package);
/// C files in the folder that `write_package` has written for other packages.
[[nodiscard]] std::vector<std::string> sources_of_others(const std::filesystem::path& folder,
                                                         const Package& package);
/// Writes the files of a package, and a list of them with their hashes, whole or not at all.
void write_package(const std::filesystem::path& folder, const Package& package);

}  // namespace stowage::cli
