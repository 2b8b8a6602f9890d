#include "watched.h"

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
  bool has_news = false;
  std::string what;
  double fraction = 0;
};

class Watcher {
 public:
  Watcher(const nb::object& listener, std::stop_source& stop) : listener_(listener), stop_(stop) {}

  /// With the GIL: looks at signals and passes news on.
  void look(bool has_news, const std::string& what, double fraction) {
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
    if (!has_news || failure_) return;
    keep([&] { listener_(what.c_str(), fraction); });
  }

  void raise_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
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

  const nb::object& listener_;
  std::stop_source& stop_;
  bool interrupted_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void run_watched(const nb::object& listener, const std::function<void(const Watch&)>& work) {
  Shared shared;
  std::stop_source stop;
  Watch watch{stop.get_token(), {}};
  if (!listener.is_none()) {
    watch.progress = [&shared](std::string_view what, double fraction) {
      const std::scoped_lock lock(shared.mutex);
      shared.has_news = true;
      shared.what = what;
      shared.fraction = fraction;
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
      const bool has_news = std::exchange(shared.has_news, false);
      const std::string what = shared.what;
      const double fraction = shared.fraction;
      lock.unlock();
      {
        const nb::gil_scoped_acquire with_gil;
        watcher.look(has_news, what, fraction);
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
