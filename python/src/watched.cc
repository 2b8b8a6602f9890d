#include "watched.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace nb = nanobind;

namespace stowage::python {
namespace {

constexpr std::chrono::milliseconds look_interval{50};

/// What the thread that works and the one that waits both see.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::string what;
  double reported = 0;
};

class Watcher {
 public:
  Watcher(const Listener& listener, std::stop_source& stop) : listener_(listener), stop_(stop) {}

  /// With the GIL: looks at signals and calls the listener.
  void look(const std::string& what, double reported) {
    if (PyErr_CheckSignals() != 0) {
      stop_.request_stop();
      const bool is_first = !interrupted_ && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
      if (is_first) {
        interrupted_ = true;
        PyErr_Clear();
      } else {
        keep([] { nb::raise_python_error(); });
      }
    }
    if (listener_.call.is_none() || stop_.stop_requested()) return;
    fraction_ = std::max(fraction_, std::min(1.0, of_the_call(reported)));
    keep([&] {
      if (listener_.call(nb::str(what.data(), what.size()), fraction_).ptr() == Py_False)
        stop_.request_stop();
    });
  }

  void raise_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  [[nodiscard]] double of_the_call(double reported) const {
    if (!listener_.limit) return listener_.reports_whole ? reported : 0;
    const std::chrono::duration<double> taken = Clock::now() - begin_;
    return taken / std::max(taken, *listener_.limit);
  }

  /// Keeps what the call throws for later, and ends the work.
  template <typename Call>
  void keep(Call call) {
    try {
      call();
    } catch (...) {
      failure_ = std::current_exception();
      stop_.request_stop();
    }
  }

  using Clock = std::chrono::steady_clock;

  const Listener& listener_;
  std::stop_source& stop_;
  Clock::time_point begin_ = Clock::now();
  double fraction_ = 0;  ///< That the listener knows.
  bool interrupted_ = false;
  std::exception_ptr failure_;
};

}  // namespace

Listener listener_of(const nb::object& call, const SolveOptions& options) {
  Listener listener{.call = call, .reports_whole = false, .what = "reading and ordering"};
  if (!options.effort) listener.limit = options.time_limit;
  return listener;
}

void run_watched(const std::function<void(const Watch&)>& work) { run_watched({.call = nb::none()}, work); }

void run_watched(const Listener& listener, const std::function<void(const Watch&)>& work) {
  Shared shared;
  shared.what = listener.what;
  std::stop_source stop;
  Watch watch{stop.get_token(), {}};
  if (!listener.call.is_none()) {
    watch.progress = [&shared](std::string_view what, double fraction) {
      const std::scoped_lock lock(shared.mutex);
      shared.what = what;
      shared.reported = fraction;
    };
  }
  Watcher watcher(listener, stop);
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      work(watch);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::scoped_lock lock(shared.mutex);
    shared.done = true;
    shared.changed.notify_one();
  });
  {
    const nb::gil_scoped_release without_gil;
    std::unique_lock lock(shared.mutex);
    while (!shared.changed.wait_for(lock, look_interval, [&] { return shared.done; })) {
      const std::string what = shared.what;
      const double reported = shared.reported;
      lock.unlock();
      {
        const nb::gil_scoped_acquire with_gil;
        watcher.look(what, reported);
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  watcher.raise_failure();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stowage::python
