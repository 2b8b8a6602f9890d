#pragma once

#include <cstdint>
#include <vector>

#include "stream/program.h"

namespace stowage::stream {

/// How far every operator is, and the bytes that are live then. The whole state of an execution: what is live
/// follows from the counters alone.
class State {
 public:
  /// Nothing has run.
  explicit State(const Program& program)
      : program_(&program), done_(program.operators(), 0), live_(program.resident) {}

  /// The first operators have run, and no other; `live` bytes are live then.
  State(const Program& program, std::size_t operators, Bytes live);

  [[nodiscard]] std::int64_t done(std::size_t op) const { return done_[op]; }
  [[nodiscard]] const std::vector<std::int32_t>& counters() const { return done_; }
  [[nodiscard]] Bytes live() const { return live_; }
  [[nodiscard]] bool is_finished(std::size_t op) const { return done_[op] == program_->count(op); }
  [[nodiscard]] const Instance& next(std::size_t op) const {
    return program_->instances[program_->at(op, done_[op])];
  }

  /// Whether all that the operator's next instance reads is there. It must have one.
  [[nodiscard]] bool is_ready(std::size_t op) const {
    for (const Need& need : next(op).needs) {
      if (done_[need.op] < need.count) return false;
    }
    return true;
  }

  /// Bytes that are live while the operator's next instance runs, and after it.
  [[nodiscard]] Bytes load_of(std::size_t op) const { return live_ + next(op).bytes_written; }
  [[nodiscard]] Bytes live_after(std::size_t op) const;

  /// Runs the operator's next instance, which must be ready.
  void run(std::size_t op) {
    live_ = live_after(op);
    ++done_[op];
  }

 private:
  const Program* program_;
  std::vector<std::int32_t> done_;
  Bytes live_;
};

}  // namespace stowage::stream
