#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stowage::base {

struct ProgramEnd {
  std::optional<int> status{};  ///< None if it could not be started, or a signal ended it.
  bool interrupted = false;     ///< SIGINT or SIGTERM ended it.
  std::string output{};         ///< Of standard output and standard error.
};

/// Runs a program with arguments, without a shell, and waits for its end. A name without '/' is looked for in PATH.
/// What it prints goes through a file, which is made and removed.
[[nodiscard]] ProgramEnd run_program(const std::vector<std::string>& words,
                                     const std::filesystem::path& through);

/// A new folder for temporary files, which is removed with all that is in it.
class TemporaryFolder {
 public:
  /// Throws Error, naming the folder, if none can be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  TemporaryFolder(TemporaryFolder&&) = delete;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stowage::base
