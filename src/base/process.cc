#include "base/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "stowage/error.h"

extern char** environ;  // POSIX wants each program to declare it

namespace stowage::base {
namespace {

/// Standard output and error go to a file; there is no input.
class Streams {
 public:
  explicit Streams(const std::filesystem::path& output) {
    constexpr mode_t mode = 0600;
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       mode);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~Streams() { ::posix_spawn_file_actions_destroy(&actions_); }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  Streams(Streams&&) = delete;
  Streams& operator=(Streams&&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Signals do what they do by themselves, whatever this program blocks or ignores.
class UsualSignals {
 public:
  UsualSignals() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&signals, signal);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    constexpr short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    ::posix_spawnattr_setflags(&attributes_, flags);
  }
  ~UsualSignals() { ::posix_spawnattr_destroy(&attributes_); }
  UsualSignals(const UsualSignals&) = delete;
  UsualSignals& operator=(const UsualSignals&) = delete;
  UsualSignals(UsualSignals&&) = delete;
  UsualSignals& operator=(UsualSignals&&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::string content_of(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return "";
  return std::string(InputFile(file).bytes());
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& words, const std::filesystem::path& through) {
  std::vector<std::string> texts = words;
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const Streams streams(through);
  const UsualSignals signals;
  pid_t process = 0;
  if (::posix_spawnp(&process, pointers[0], streams.get(), signals.get(), pointers.data(), environ) != 0)
    return {};
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  ProgramEnd end{.output = content_of(through)};
  std::error_code ignored;
  std::filesystem::remove(through, ignored);
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  end.interrupted = WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM);
  return end;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = (parent / "stowage-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    throw Error("", "no folder for temporary files can be made in it").in_file(parent.string());
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace stowage::base
