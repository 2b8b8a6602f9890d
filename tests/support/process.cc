#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include "temporary.h"

namespace stowage::testing {
namespace {

void check(int error, const std::string& what) {
  if (error != 0) throw std::runtime_error(what + ": " + std::generic_category().message(error));
}

/// What becomes of the three standard streams and the directory.
class Actions {
 public:
  Actions() { check(::posix_spawn_file_actions_init(&actions_), "file actions"); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  Actions(Actions&&) = delete;
  Actions& operator=(Actions&&) = delete;

  void open(int descriptor, const std::string& file, int flags) {
    constexpr mode_t mode = 0600;
    check(::posix_spawn_file_actions_addopen(&actions_, descriptor, file.c_str(), flags, mode), file);
  }
  void use(int descriptor, int source) {
    check(::posix_spawn_file_actions_adddup2(&actions_, source, descriptor), "descriptor");
  }
  void go_to(const std::string& directory) {
    check(::posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str()), directory);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Signals as a fresh login has them, whatever started the tests.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    check(::posix_spawnattr_init(&attributes_), "attributes");
    sigset_t signals;
    sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) sigaddset(&signals, signal);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    constexpr int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    ::posix_spawnattr_setflags(&attributes_, static_cast<std::int16_t>(flags));
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  SpawnAttributes(SpawnAttributes&&) = delete;
  SpawnAttributes& operator=(SpawnAttributes&&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

pid_t start(const std::string& program, const std::vector<std::string>& arguments, const Actions& actions) {
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const SpawnAttributes attributes;
  pid_t process = 0;
  check(::posix_spawn(&process, program.c_str(), actions.get(), attributes.get(), pointers.data(), environ),
        program);
  return process;
}

/// Waits for the end, and sends signals meanwhile.
int wait_for(pid_t process, const ProcessOptions& options) {
  using Time = std::chrono::steady_clock;
  const Time::time_point begin = Time::now();
  bool is_sent = false;
  std::chrono::microseconds pause{200};
  constexpr std::chrono::microseconds longest_pause{2000};
  for (int status = 0;;) {
    if (::waitpid(process, &status, WNOHANG) == process) return status;
    const std::chrono::duration<double> running = Time::now() - begin;
    if (options.signal && !is_sent && options.signal->when(process, running)) {
      is_sent = true;
      ::kill(process, options.signal->signal);
    }
    if (running > options.most_time) ::kill(process, SIGKILL);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

/// A pipe's writing end, whose other end is closed.
int unread_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) check(errno, "pipe");
  ::close(ends[0]);
  return ends[1];
}

}  // namespace

ProcessResult run_process(const std::string& program, const std::vector<std::string>& arguments,
                          const ProcessOptions& options) {
  const TemporaryDirectory captured;
  const TemporaryDirectory fresh;
  Actions actions;
  actions.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  const int unread = options.is_read ? -1 : unread_pipe();
  constexpr int create = O_WRONLY | O_CREAT | O_TRUNC;
  if (options.is_read) {
    actions.open(STDOUT_FILENO, (captured / "output").string(), create);
  } else {
    captured.write("output", "");
    actions.use(STDOUT_FILENO, unread);
  }
  actions.open(STDERR_FILENO, (captured / "errors").string(), create);
  actions.go_to(options.directory.empty() ? fresh.path().string() : options.directory.string());
  const pid_t process = start(program, arguments, actions);
  if (unread >= 0) ::close(unread);
  const int status = wait_for(process, options);
  ProcessResult result{.output = captured.read("output"), .errors = captured.read("errors")};
  if (WIFEXITED(status)) {
    result.status = WEXITSTATUS(status);
  } else {
    result.signal = WTERMSIG(status);
  }
  return result;
}

ProcessResult run_stowage(const std::filesystem::path& directory, const std::vector<std::string>& arguments) {
  return run_process(STOWAGE_PROGRAM, arguments, {.directory = directory});
}

ProcessResult run_stowage_with(const std::vector<std::string>& variables,
                               const std::filesystem::path& directory,
                               const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"-i"};
  words.insert(words.end(), variables.begin(), variables.end());
  words.emplace_back(STOWAGE_PROGRAM);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_process("/usr/bin/env", words, {.directory = directory});
}

bool blocks(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  constexpr std::string_view label = "SigBlk:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(label)) continue;
    constexpr int hexadecimal = 16;
    const std::uint64_t mask = std::stoull(line.substr(label.size()), nullptr, hexadecimal);
    return ((mask >> (signal - 1)) & 1U) != 0;
  }
  return false;
}

}  // namespace stowage::testing
