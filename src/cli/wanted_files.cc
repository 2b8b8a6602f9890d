#include "cli/wanted_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

struct Extension {
  Holds holds;
  std::string_view text;
  std::string_view command;  ///< That writes it, for those who ask another one.
};

constexpr std::array<Extension, 7> extensions{{{Holds::json, ".json", "plan"},
                                               {Holds::csv, ".csv", "plan"},
                                               {Holds::svg, ".svg", "plan"},
                                               {Holds::header, ".h", "plan"},
                                               {Holds::page, ".html", "plan"},
                                               {Holds::tflite, ".tflite", "tflm"},
                                               {Holds::buffer_plan, ".c", "tflm"}}};

Holds kind_of(const std::string& file, std::initializer_list<Holds> known) {
  const std::string given = std::filesystem::path(file).extension().string();
  if (given.empty()) return *known.begin();
  const auto found = std::ranges::find(extensions, given, &Extension::text);
  if (found != extensions.end() && std::ranges::find(known, found->holds) != known.end()) return found->holds;
  std::vector<std::string_view> names;
  for (const Extension& it : extensions)
    if (std::ranges::find(known, it.holds) != known.end()) names.push_back(it.text);
  throw UsageError(fmt::format(
      "-o {}: the extension is {}, expected one of {}{}", base::quoted(file), given, fmt::join(names, ", "),
      found == extensions.end() ? "" : fmt::format("; `stowage {}` writes {}", found->command, given)));
}

}  // namespace

std::vector<NamedOutput> FileTexts::named() const {
  std::vector<NamedOutput> named;
  for (const std::string& file : outputs) named.emplace_back("-o", file);
  for (const WantedFile& it : accepted) named.emplace_back(it.flag, it.file);
  return named;
}

std::vector<WantedFile> wanted_files(const FileTexts& texts, std::initializer_list<Holds> known) {
  std::vector<WantedFile> files = texts.accepted;
  for (const std::string& file : texts.outputs) files.push_back({kind_of(file, known), file});
  return files;
}

std::vector<std::string> files_of(const std::vector<WantedFile>& files, Holds holds) {
  std::vector<std::string> names;
  for (const WantedFile& it : files)
    if (it.holds == holds) names.push_back(it.file);
  return names;
}

std::string example_of(Holds holds) {
  return fmt::format("FILE{}", std::ranges::find(extensions, holds, &Extension::holds)->text);
}

}  // namespace stowage::cli
