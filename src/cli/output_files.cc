// What `generate` writes into a folder has common names: README.md, Makefile, CMakeLists.txt. So it also writes a
// list of its files with their hashes. A file that is not in that list, or has another hash, is the user's.

#include "cli/output_files.h"

#define XXH_INLINE_ALL  // no library
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "cli/models.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

/// Hashes of files by their paths in the folder.
using Written = std::map<std::string, std::string>;

constexpr const char* list_of_files = "stowage_files.txt";

std::string hash_of(std::string_view content) {
  return fmt::format("{:016x}", static_cast<std::uint64_t>(XXH3_64bits(content.data(), content.size())));
}

/// What the list in the folder says; nothing if there is none.
Written written_in(const std::filesystem::path& folder) {
  Written written;
  std::error_code error;
  if (!std::filesystem::is_regular_file(folder / list_of_files, error)) return written;
  const base::InputFile file(folder / list_of_files);
  std::istringstream lines{std::string(file.bytes())};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("  ");
    if (line.starts_with('#') || end == std::string::npos) continue;
    written[line.substr(end + 2)] = line.substr(0, end);
  }
  return written;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) throw OutputError(folder.string(), "cannot be made: " + problem.message());
}

std::string text_of(const Written& written) {
  std::string text =
      "# Files that `stowage generate` wrote here, and their hashes. It replaces these, but no file that was "
      "changed since.\n";
  for (const auto& [path, hash] : written) text += fmt::format("{}  {}\n", hash, path);
  return text;
}

}  // namespace

std::vector<std::string> files_of_models(const std::vector<std::string>& texts) {
  std::vector<std::string> files;
  for (const NamedFile& model : parse_models(texts)) files.push_back(model.file);
  return files;
}

void expect_different_files(const std::vector<std::string>& inputs, const std::vector<NamedOutput>& outputs) {
  const auto expect = [](const std::string& a, const std::string& b, const std::string& problem) {
    if (!a.empty() && !b.empty() && base::is_same_file(a, b)) {
      throw UsageError(
          fmt::format("{} and {} are the same file: {}", base::quoted(a), base::quoted(b), problem));
    }
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [flag, file] = outputs[i];
    for (const std::string& input : inputs)
      expect(file, input, fmt::format("{} would overwrite the input", flag));
    for (std::size_t j = 0; j < i; ++j) {
      if (file == "-" && outputs[j].second == "-")
        throw UsageError("two files are standard output, expected '-' once");
      expect(outputs[j].second, file, fmt::format("{} and {} need different files", outputs[j].first, flag));
    }
  }
}

void expect_own_files(const std::filesystem::path& folder, const Package& package) {
  const Written written = written_in(folder);
  std::string foreign;
  for (const GeneratedFile& file : package.files) {
    const std::filesystem::path path = folder / file.path;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) continue;  // a folder is an error when it is written
    const base::InputFile there(path);
    const auto known = written.find(file.path);
    const bool is_own = known != written.end() && known->second == hash_of(there.bytes());
    if (!is_own && there.bytes() != file.content) foreign += (foreign.empty() ? "" : ", ") + file.path;
  }
  if (foreign.empty()) return;
  throw UsageError(fmt::format(
      "{} has files that this command has not written, or that were changed since: {}. Choose another "
      "directory, or replace them with --force",
      base::quoted(folder.string()), foreign));
}

std::vector<std::string> sources_of_others(const std::filesystem::path& folder, const Package& package) {
  std::vector<std::string> others;
  for (const auto& [path, hash] : written_in(folder)) {
    const bool is_own = std::ranges::find(package.files, path, &GeneratedFile::path) != package.files.end();
    std::error_code error;
    if (!is_own && path.ends_with(".c") && std::filesystem::is_regular_file(folder / path, error))
      others.push_back(path);
  }
  return others;
}

void write_package(const std::filesystem::path& folder, const Package& package) {
  std::vector<base::OutputFile> outputs;
  std::set<std::filesystem::path> folders{folder};
  Written written = written_in(folder);
  for (const GeneratedFile& file : package.files) {
    const std::filesystem::path path = folder / file.path;
    folders.insert(path.parent_path());
    outputs.push_back({path, [&file](std::ostream& out) { out << file.content; }});
    written[file.path] = hash_of(file.content);
  }
  outputs.push_back({folder / list_of_files, [&written](std::ostream& out) { out << text_of(written); }});
  for (const std::filesystem::path& it : folders) make_folder(it);
  base::write_files(outputs);
}

}  // namespace stowage::cli
