#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "stowage/error.h"

namespace stowage::base {
namespace {

std::string reason() { return std::generic_category().message(errno); }

/// Closes a file descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

Error unwritable(const std::filesystem::path& file, const std::string& why) {
  return Error("", "cannot be written: " + why).in_file(file.string());
}

/// Where the bytes go: behind a symbolic link, so that the link itself stays.
std::filesystem::path target_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(file, error);
  return error ? file : target;
}

void write_to(const std::filesystem::path& place, const OutputFile& output) {
  std::ofstream stream(place, std::ios::binary);
  if (!stream) throw unwritable(output.file, reason());
  output.write(stream);
  stream.close();
  if (!stream) throw unwritable(output.file, reason());
}

/// Temporary files that are removed unless they have been renamed to their final place.
class TemporaryFiles {
 public:
  TemporaryFiles() = default;
  ~TemporaryFiles() {
    std::error_code ignored;
    for (const auto& file : files_) std::filesystem::remove(file, ignored);
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  TemporaryFiles(TemporaryFiles&&) = delete;
  TemporaryFiles& operator=(TemporaryFiles&&) = delete;

  void write(const OutputFile& output) {
    std::string temporary = target_of(output.file).string() + ".XXXXXX";
    const Descriptor created(::mkstemp(temporary.data()));
    if (created.get() < 0) throw unwritable(output.file, reason());
    files_.emplace_back(temporary);
    constexpr mode_t readable_by_all = 0644;
    ::fchmod(created.get(), readable_by_all);
    write_to(temporary, output);
  }

  /// `outputs` are those that were written, in the same order.
  void rename_all(std::span<const OutputFile* const> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::error_code error;
      std::filesystem::rename(files_[i], target_of(outputs[i]->file), error);
      if (error) throw unwritable(outputs[i]->file, error.message());
    }
    files_.clear();
  }

 private:
  std::vector<std::filesystem::path> files_;
};

/// Devices and pipes cannot be replaced by a rename: they are written in place.
bool is_stream(const std::filesystem::path& file) {
  std::error_code missing;
  const auto status = std::filesystem::status(file, missing);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& file) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) {
    throw Error("", "cannot be read: " + reason()).in_file(file.string());
  }
  if (!S_ISREG(status.st_mode)) throw Error("", "cannot be read: not a regular file").in_file(file.string());
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.get(), 0);
  if (address == MAP_FAILED) throw Error("", "cannot be read: " + reason()).in_file(file.string());
  bytes_ = {static_cast<const char*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::string_view MappedFile::bytes() const { return bytes_; }

void write_files(std::span<const OutputFile> outputs) {
  TemporaryFiles temporaries;
  std::vector<const OutputFile*> replaced;
  for (const OutputFile& output : outputs) {
    if (std::filesystem::is_directory(output.file)) throw unwritable(output.file, "it is a directory");
    if (is_stream(output.file)) continue;
    temporaries.write(output);
    replaced.push_back(&output);
  }
  for (const OutputFile& output : outputs) {
    if (is_stream(output.file)) write_to(output.file, output);
  }
  temporaries.rename_all(replaced);
}

}  // namespace stowage::base
