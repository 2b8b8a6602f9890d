#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "stowage/problem.h"

namespace stowage::python {

/// What a long computation looks at and reports to.
struct Watch {
  std::stop_token stop;
  Progress progress;  ///< Empty if nobody listens.
};

/// Who hears how far a call is.
struct Listener {
  nanobind::object call;  ///< `call(what, fraction)`; None: nobody.
  /// How much of the whole call is done: what the work reports, or the part of this time that is over.
  std::optional<std::chrono::duration<double>> limit{};
  /// Otherwise what the work reports is of its present task, which says nothing of the call.
  bool reports_whole = true;
  std::string what{"reading"};  ///< Until the work reports.
};

/// Of a call that plans or packs once: its time limit is known, the end of an effort is not.
[[nodiscard]] Listener listener_of(const nanobind::object& call, const SolveOptions& options);

/// Runs `work` in a thread of its own without the GIL. Meanwhile this thread looks at signals and calls the listener,
/// with a fraction that never falls. The first KeyboardInterrupt and a listener that returns False request a stop. A second
/// interrupt is raised once the work has ended, and so is any exception of the listener. Exceptions of the work are
/// rethrown.
void run_watched(const Listener& listener, const std::function<void(const Watch&)>& work);
/// The same if nobody listens.
void run_watched(const std::function<void(const Watch&)>& work);

}  // namespace stowage::python
