#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output_files.h"

namespace stowage::cli {

/// What is in a file that a command writes.
enum class Holds : std::uint8_t { json, csv, svg, header, page, tflite, buffer_plan };

struct WantedFile {
  Holds holds = Holds::json;
  std::string file{};  ///< For TFLite files of several models, a directory.
  std::string_view flag = "-o";
};

/// The files that the options of a command ask for.
struct FileTexts {
  std::vector<std::string> outputs{};  ///< Of -o: their extensions say what they hold.
  std::vector<WantedFile> accepted{};  ///< Of options of an earlier version.

  [[nodiscard]] std::vector<NamedOutput> named() const;
};

/// All files to write. A name without an extension, such as /dev/null, is of the first kind that the command writes.
/// Throws UsageError, with the extensions that it knows, for others.
[[nodiscard]] std::vector<WantedFile> wanted_files(const FileTexts& texts,
                                                   std::initializer_list<Holds> known);

/// The names of files of one kind.
[[nodiscard]] std::vector<std::string> files_of(const std::vector<WantedFile>& files, Holds holds);

/// "FILE.csv", for help and messages.
[[nodiscard]] std::string example_of(Holds holds);

}  // namespace stowage::cli
