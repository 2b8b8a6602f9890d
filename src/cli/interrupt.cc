#include "cli/interrupt.h"

#include <csignal>
#include <ctime>

namespace stowage::cli {
namespace {

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/// Waits for a signal, which all threads block, until `done`.
void watch(const std::stop_token& done, std::stop_source interrupted) {
  constexpr timespec look_interval{0, 20'000'000};
  const sigset_t set = interrupts();
  while (!done.stop_requested()) {
    if (sigtimedwait(&set, nullptr, &look_interval) < 0) continue;
    interrupted.request_stop();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // the next one ends the program
    return;
  }
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([this](const std::stop_token& done) { watch(done, interrupted_); });
}

InterruptWatch::~InterruptWatch() {
  watcher_.request_stop();
  watcher_.join();
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace stowage::cli
