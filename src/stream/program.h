#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "stream/model.h"

namespace stowage::stream {

/// Index in RowProgram::instances.
using IterationId = std::uint32_t;
/// Index in RowProgram::granules.
using GranuleId = std::uint32_t;

/// The readers of a granule that are one operator: the last of them is what matters.
struct LastReader {
  std::size_t op = 0;
  std::int64_t index = 0;  ///< Iteration of that operator.
};

/// Some rows of a tensor and of those that it takes over, or an accumulator: written first by one instance,
/// and gone after its last reader.
struct Granule {
  Bytes bytes = 0;
  std::optional<IterationId> writer{};     ///< None: there from the start.
  std::optional<std::size_t> tensor{};     ///< The one that nothing takes over; none: an accumulator.
  std::vector<LastReader> last_readers{};  ///< One for each operator that reads it.
  bool stays = false;                      ///< Until the end.
};

/// That many instances of an operator must have run.
struct Dependence {
  std::size_t op = 0;
  std::int64_t count = 0;
};

/// One step: some rows of one operator.
struct Iteration {
  std::size_t op = 0;
  std::int64_t index = 0;           ///< Among those of its operator.
  std::vector<Dependence> needs{};  ///< At most one for each operator that it waits for.
  std::vector<GranuleId> reads{};   ///< Ascending.
  std::vector<GranuleId> writes{};  ///< Ascending.
  std::vector<GranuleId>
      releases{};           ///< What no later instance of its operator reads; it may be that of others.
  Bytes bytes_written = 0;  ///< Of all it writes.
  Bytes bytes_dropped = 0;  ///< Of what it writes and nobody reads.
  /// What it reads and may write over, if nobody reads it afterwards: see Operator::may_overwrite.
  std::vector<GranuleId> may_overwrite{};
};

/// The granules of a tensor, which follow each other.
struct GranuleRange {
  GranuleId first = 0;
  std::int64_t count = 0;
};

/// A model, unrolled.
struct RowProgram {
  std::vector<Iteration> instances{};  ///< Operator by operator.
  std::vector<Granule> granules{};
  std::vector<IterationId> first{};    ///< Of each operator, and one beyond the last.
  Bytes resident = 0;                  ///< What is there from the start.
  std::vector<GranuleRange> ranges{};  ///< Of each tensor; those that are taken over are in their takers'.

  [[nodiscard]] std::size_t operators() const { return first.size() - 1; }
  [[nodiscard]] std::int64_t count(std::size_t op) const { return first[op + 1] - first[op]; }
  [[nodiscard]] IterationId at(std::size_t op, std::int64_t index) const {
    return first[op] + static_cast<IterationId>(index);
  }
};

struct UnrollOptions {
  std::int64_t limit = std::int64_t{1} << 26;  ///< Of reads of granules by instances.
  /// What a granule is rounded up to that may lie by itself: the bytes that it takes in memory.
  Bytes alignment = 1;
  base::Deadline deadline{};
};

/// Unrolls a model; over the deadline the program is incomplete and of no use. Throws Error where the model
/// contradicts itself (references, extents, order of operators) or exceeds the limit.
[[nodiscard]] RowProgram unroll(const RowModel& model, const UnrollOptions& options = {});

/// How far every operator is, and the bytes that are live then. The whole state of an execution: what is live
/// follows from the counters alone.
class State {
 public:
  /// Nothing has run.
  explicit State(const RowProgram& program)
      : program_(&program), done_(program.operators(), 0), live_(program.resident) {}

  /// The first operators have run, and no other; `live` bytes are live then.
  State(const RowProgram& program, std::size_t operators, Bytes live);

  [[nodiscard]] std::int64_t done(std::size_t op) const { return done_[op]; }
  [[nodiscard]] const std::vector<std::int32_t>& counters() const { return done_; }
  [[nodiscard]] Bytes live() const { return live_; }
  [[nodiscard]] bool is_finished(std::size_t op) const { return done_[op] == program_->count(op); }
  [[nodiscard]] const Iteration& next(std::size_t op) const {
    return program_->instances[program_->at(op, done_[op])];
  }

  /// Whether all that the operator's next instance reads is there. It must have one.
  [[nodiscard]] bool is_ready(std::size_t op) const {
    for (const Dependence& need : next(op).needs) {
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
  const RowProgram* program_;
  std::vector<std::int32_t> done_;
  Bytes live_;
};

}  // namespace stowage::stream
