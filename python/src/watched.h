#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <stop_token>

#include "stowage/problem.h"

namespace stowage::python {

/// What a long computation looks at and reports to.
struct Watch {
  std::stop_token stop;
  Progress progress;  ///< Empty if nobody listens.
};

/// Runs `work` in a thread of its own without the GIL. Meanwhile this thread looks at signals: the first
/// KeyboardInterrupt requests a stop, a second one is raised once the work has ended, and so is any exception of
/// `listener(what, fraction)`, which is called now and then unless it is None. Exceptions of the work are rethrown.
void run_watched(const nanobind::object& listener, const std::function<void(const Watch&)>& work);

}  // namespace stowage::python
