#include "base/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stowage::base {

void run_side_by_side(std::size_t begin, std::size_t end, std::size_t threads,
                      const std::function<bool(std::size_t task, std::size_t thread)>& work) {
  if (begin >= end) return;
  std::atomic<std::size_t> next = begin + 1;
  std::mutex mutex;
  std::exception_ptr error;
  const auto run_tasks = [&](std::size_t thread) {
    try {
      for (std::size_t task = thread == 0 ? begin : next++; task < end; task = next++) {
        if (!work(task, thread)) next = end;
      }
    } catch (...) {
      next = end;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t thread = 1; thread < std::min(threads, end - begin); ++thread)
      helpers.emplace_back(run_tasks, thread);
    run_tasks(0);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace stowage::base
