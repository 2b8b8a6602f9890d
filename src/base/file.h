#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace stowage::base {

/// A file's bytes: mapped into memory and read only when touched, or, for a pipe, read whole. "-" is standard input,
/// which is read once and kept. Throws Error, naming the file, if it cannot be read.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& file);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile(InputFile&&) = delete;
  InputFile& operator=(InputFile&&) = delete;

  [[nodiscard]] std::string_view bytes() const;

 private:
  std::string_view mapped_;
  std::string content_;
};

/// One file to write: its path, and a function that writes its content.
struct OutputFile {
  std::filesystem::path file;
  std::function<void(std::ostream&)> write;
};

/// Writes files whole or not at all; "-" is standard output. Each goes to a temporary file next to its place, and all are renamed
/// when they are complete. Throws OutputError, naming the file, if one cannot be written; then no temporary file is
/// left and the old files are untouched.
void write_files(std::span<const OutputFile> outputs);

/// Whether two names lead to one regular file, which need not exist yet.
[[nodiscard]] bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace stowage::base
