#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <string_view>
#include <utility>

namespace stowage::base {

/// A file's bytes, mapped into memory and read only when touched. Throws Error, naming the file,
/// when it is not a readable regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  [[nodiscard]] std::string_view bytes() const;

 private:
  std::string_view bytes_;
};

/// One file to write: where, and what writes its content.
struct OutputFile {
  std::filesystem::path file;
  std::function<void(std::ostream&)> write;
};

/// Writes files whole or not at all: each goes to a temporary file beside its place, and only when
/// all of them are complete are they renamed. Throws Error, naming the file, when one cannot be
/// written; then no temporary file is left and the old ones are untouched.
void write_files(std::span<const OutputFile> outputs);

}  // namespace stowage::base
