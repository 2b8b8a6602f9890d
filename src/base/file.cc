#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "stowage/error.h"

namespace stowage::base {
namespace {

/// Standard input or output.
bool is_standard(const std::filesystem::path& file) { return file == "-"; }

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

/// "; did you mean 'DIRECTORY/NAME'?" for a file that does not exist: one beside it with the same extension and a
/// similar name, or with another extension and the same name. Nothing if there is none.
std::string similar_to(const std::filesystem::path& file) {
  constexpr std::size_t most_files = 10'000;
  std::vector<std::string> similar;
  std::vector<std::string> same;
  std::error_code error;
  const std::filesystem::path directory = file.has_parent_path() ? file.parent_path() : ".";
  std::size_t count = 0;
  for (std::filesystem::directory_iterator it(directory, error), end;
       !error && it != end && count < most_files; it.increment(error), ++count) {
    std::error_code ignored;
    const std::filesystem::path name = it->path().filename();
    if (!it->is_regular_file(ignored)) continue;
    if (name.extension() == file.extension()) similar.push_back(name.stem().string());
    if (name.stem() == file.stem()) same.push_back(name.string());
  }
  std::ranges::sort(similar);  // a directory has no order
  std::ranges::sort(same);
  std::filesystem::path found = file;
  if (const auto stem = nearest(file.stem().string(), similar)) {
    found.replace_filename(*stem + file.extension().string());
  } else if (!same.empty()) {
    found.replace_filename(same.front());
  } else {
    return "";
  }
  return fmt::format("; did you mean {}?", base::quoted(found.string()));
}

OutputError unwritable(const std::filesystem::path& file, const std::string& why) {
  return OutputError(file.string(), "cannot be written: " + why);
}

/// The file that receives the bytes: the target of symbolic links, even if it does not exist yet, so that the
/// links themselves stay.
std::filesystem::path target_of(std::filesystem::path file) {
  constexpr int longest_chain = 40;
  std::error_code error;
  for (int i = 0; i < longest_chain && std::filesystem::is_symlink(file, error); ++i) {
    file = file.parent_path() / std::filesystem::read_symlink(file, error);
  }
  return file;
}

void write_to(const std::filesystem::path& place, const OutputFile& output) {
  if (is_standard(output.file)) {
    output.write(std::cout);
    std::cout.flush();
    if (!std::cout && errno != EPIPE) throw unwritable("standard output", reason());
    return;
  }
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
    for (const auto& file : files_) std::filesystem::remove(file.temporary, ignored);
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  TemporaryFiles(TemporaryFiles&&) = delete;
  TemporaryFiles& operator=(TemporaryFiles&&) = delete;

  void write(const OutputFile& output) {
    const std::filesystem::path target = target_of(output.file);
    const std::filesystem::path temporary = create_beside(target, output.file);
    files_.push_back({temporary, target, output.file});
    write_to(temporary, output);
  }

  void rename_all() {
    for (const File& file : files_) {
      std::error_code error;
      std::filesystem::rename(file.temporary, file.target, error);
      if (error) throw unwritable(file.named, error.message());
    }
    files_.clear();
  }

 private:
  struct File {
    std::filesystem::path temporary;
    std::filesystem::path target;
    std::filesystem::path named;  ///< The user's name for it.
  };

  /// A new file with the permissions of the target, or of a new file.
  static std::filesystem::path create_beside(const std::filesystem::path& target,
                                             const std::filesystem::path& named) {
    constexpr mode_t for_all = 0666;  // the process's mask reduces it
    struct stat status {};
    const bool exists = ::stat(target.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) throw unwritable(named, reason());  // the later rename must not fail
    for (int attempt = 0;; ++attempt) {
      std::filesystem::path temporary =
          target.parent_path() / fmt::format(".stowage-{}-{}.tmp", ::getpid(), attempt);
      const Descriptor created(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, for_all));
      if (created.get() < 0 && errno == EEXIST) continue;
      if (created.get() < 0) throw unwritable(named, reason());
      if (exists) ::fchmod(created.get(), status.st_mode & for_all);
      return temporary;
    }
  }

  std::vector<File> files_;
};

/// Devices and pipes cannot be replaced by a rename: they are written directly.
bool is_stream(const std::filesystem::path& file) {
  std::error_code error;
  if (is_standard(file)) return true;
  return std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error);
}

std::string read_all(int descriptor, const std::filesystem::path& file) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  std::string content;
  for (;;) {
    const std::size_t size = content.size();
    content.resize(size + chunk);
    const ssize_t count = ::read(descriptor, content.data() + size, chunk);
    if (count < 0) throw Error("", "cannot be read: " + reason()).in_file(file.string());
    content.resize(size + static_cast<std::size_t>(count));
    if (count == 0) return content;
  }
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& file) {
  if (is_standard(file)) {
    static const std::string all =
        read_all(STDIN_FILENO, "standard input");  // a command looks at its model twice
    content_ = all;
    return;
  }
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) {
    const bool is_missing = errno == ENOENT;
    const std::string why = reason();
    throw Error("", "cannot be read: " + why + (is_missing ? similar_to(file) : "")).in_file(file.string());
  }
  if (!S_ISREG(status.st_mode)) {
    content_ = read_all(opened.get(), file);
    return;
  }
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.get(), 0);
  if (address == MAP_FAILED) throw Error("", "cannot be read: " + reason()).in_file(file.string());
  mapped_ = {static_cast<const char*>(address), size};
}

InputFile::~InputFile() {
  if (!mapped_.empty()) ::munmap(const_cast<char*>(mapped_.data()), mapped_.size());
}

std::string_view InputFile::bytes() const { return mapped_.empty() ? content_ : mapped_; }

void write_files(std::span<const OutputFile> outputs) {
  TemporaryFiles temporaries;
  for (const OutputFile& output : outputs) {
    std::error_code error;
    if (std::filesystem::is_directory(output.file, error)) throw unwritable(output.file, "it is a directory");
    if (!is_stream(output.file)) temporaries.write(output);
  }
  for (const OutputFile& output : outputs) {
    if (is_stream(output.file)) write_to(output.file, output);
  }
  temporaries.rename_all();
}

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  if (is_stream(a) || is_stream(b)) return false;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto canonical = [&](const std::filesystem::path& file) {
    return std::filesystem::weakly_canonical(target_of(file), error);
  };
  return canonical(a) == canonical(b);
}

}  // namespace stowage::base
