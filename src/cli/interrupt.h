#pragma once

#include <stop_token>
#include <thread>

namespace stowage::cli {

/// While it exists, the first SIGINT or SIGTERM requests a stop instead of ending the program; a second one
/// ends it. Create it before any other thread.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  InterruptWatch(InterruptWatch&&) = delete;
  InterruptWatch& operator=(InterruptWatch&&) = delete;

  [[nodiscard]] std::stop_token stop() const { return interrupted_.get_token(); }

 private:
  std::stop_source interrupted_;
  std::jthread watcher_;
};

}  // namespace stowage::cli
