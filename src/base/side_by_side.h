#pragma once

#include <cstddef>
#include <functional>

namespace stowage::base {

/// Runs `work(task, thread)` for the tasks [begin, end), in the order in which threads get to them. There are
/// up to so many threads; thread 0 is the caller's, and always runs the first task. No other begins any more
/// once one returns false or throws. The first exception is thrown here, after all threads have ended.
void run_side_by_side(std::size_t begin, std::size_t end, std::size_t threads,
                      const std::function<bool(std::size_t task, std::size_t thread)>& work);

}  // namespace stowage::base
