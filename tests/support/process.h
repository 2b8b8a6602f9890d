/// Runs programs as a user would, but without a shell.
///
///     const ProcessResult result = run_process("/bin/echo", {"hello"});
///     return result.status == 0 && result.output == "hello\n" ? 0 : 1;
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stowage::testing {

/// A signal to send once, as soon as `when` holds; it is asked again and again.
struct SignalPlan {
  int signal = 0;
  std::function<bool(pid_t process, std::chrono::duration<double> running)> when{};
};

struct ProcessOptions {
  std::filesystem::path directory{};  ///< Where it runs; empty: in a fresh directory that is gone afterwards.
  std::optional<SignalPlan> signal{};
  bool is_read = true;                  ///< Otherwise its output goes to a pipe that nobody reads.
  std::chrono::seconds most_time{300};  ///< Then it is killed.
};

struct ProcessResult {
  std::optional<int> status{};  ///< None: a signal ended it.
  int signal = 0;               ///< The signal that ended it, or 0.
  std::string output{};
  std::string errors{};
};

/// Neither output is a terminal, the input is empty, and no signal is blocked or ignored. Throws
/// std::runtime_error when the program cannot be started.
[[nodiscard]] ProcessResult run_process(const std::string& program, const std::vector<std::string>& arguments,
                                        const ProcessOptions& options = {});

/// Runs the stowage program in a directory, for instance `run_stowage(directory.path(), {"strategies"})`.
[[nodiscard]] ProcessResult run_stowage(const std::filesystem::path& directory,
                                        const std::vector<std::string>& arguments);

/// The same with an environment of these variables only, for instance {"PATH=/usr/bin"}.
[[nodiscard]] ProcessResult run_stowage_with(const std::vector<std::string>& variables,
                                             const std::filesystem::path& directory,
                                             const std::vector<std::string>& arguments);

/// Whether the first thread of a process blocks a signal: it is about to be handled by another one.
[[nodiscard]] bool blocks(pid_t process, int signal);

}  // namespace stowage::testing
