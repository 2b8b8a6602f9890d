#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "stowage/error.h"
#include "stream/model.h"

namespace stowage::stream {

/// Index in RowProgram::instances.
using IterationId = std::uint32_t;
/// Index in RowProgram::granules.
using GranuleId = std::uint32_t;

/// The last iteration of an operator that reads a granule.
struct LastReader {
  std::size_t op = 0;
  std::int64_t index = 0;  ///< Iteration of that operator.
};

/// Some rows of a tensor and of those that it takes over, or an accumulator. One iteration writes it first;
/// it is gone after its last reader.
struct Granule {
  Bytes bytes = 0;
  std::optional<IterationId> writer{};     ///< None: there from the start.
  std::optional<std::size_t> tensor{};     ///< The last taker; none: an accumulator.
  std::vector<LastReader> last_readers{};  ///< One for each operator that reads it.
  bool stays = false;                      ///< Until the end.
};

/// So many iterations of an operator must have run.
struct Dependence {
  std::size_t op = 0;
  std::int64_t count = 0;
};

/// One step: some rows of one operator.
struct Iteration {
  std::size_t op = 0;
  std::int64_t index = 0;             ///< Among those of its operator.
  std::vector<Dependence> needs{};    ///< At most one for each operator that it waits for.
  std::vector<GranuleId> reads{};     ///< Ascending.
  std::vector<GranuleId> writes{};    ///< Ascending.
  std::vector<GranuleId> releases{};  ///< Granules that no later iteration of its operator reads; others may.
  Bytes bytes_written = 0;            ///< Of all it writes.
  Bytes bytes_dropped = 0;            ///< Of granules that it writes and no operator reads.
  /// Inputs that it may write over if no operator reads them afterwards: see Operator::may_overwrite.
  std::vector<GranuleId> may_overwrite{};
};

/// The consecutive granules of a tensor.
struct GranuleRange {
  GranuleId first = 0;
  std::int64_t count = 0;
};

/// A model, unrolled.
struct RowProgram {
  std::vector<Iteration> instances{};  ///< Operator by operator.
  std::vector<Granule> granules{};
  std::vector<IterationId> first{};    ///< Of each operator, and one beyond the last.
  Bytes resident = 0;                  ///< Bytes there from the start.
  Bytes unread = 0;                    ///< The same, but no operator reads them: gone after the first step.
  std::vector<GranuleRange> ranges{};  ///< Of each tensor; if taken over, inside the taker's.

  [[nodiscard]] std::size_t operators() const { return first.size() - 1; }
  [[nodiscard]] std::int64_t count(std::size_t op) const { return first[op + 1] - first[op]; }
  [[nodiscard]] IterationId at(std::size_t op, std::int64_t index) const {
    return first[op] + static_cast<IterationId>(index);
  }
};

struct UnrollOptions {
  std::int64_t limit = std::int64_t{1} << 26;  ///< Of granules, and of rows that iterations read.
  /// A granule that may lie alone is rounded up to this: the bytes that it takes in memory.
  Bytes alignment = 1;
  /// A tensor that is whole in every layout is rounded up to this: its last granule is so much larger.
  Bytes alignment_of_wholes = 1;
  base::Deadline deadline{};
};

/// A model has more rows than can be streamed.
class TooLarge : public Error {
 public:
  using Error::Error;
};

/// Unrolls a model. After the deadline the program is incomplete and useless. Throws Error if the model
/// contradicts itself (references, extents, order of operators), TooLarge if it exceeds the limit.
[[nodiscard]] RowProgram unroll(const RowModel& model, const UnrollOptions& options = {});

/// The progress of every operator, and the live bytes. This is the whole state of an execution: the live
/// bytes follow from the counters alone.
class State {
 public:
  /// Nothing has run.
  explicit State(const RowProgram& program)
      : program_(&program), done_(program.operators(), 0), live_(program.resident) {}

  /// Only the first operators have run; `live` bytes are live then.
  State(const RowProgram& program, std::size_t operators, Bytes live);

  [[nodiscard]] std::int64_t done(std::size_t op) const { return done_[op]; }
  [[nodiscard]] const std::vector<std::int32_t>& counters() const { return done_; }
  [[nodiscard]] Bytes live() const { return live_; }
  [[nodiscard]] bool is_finished(std::size_t op) const { return done_[op] == program_->count(op); }
  [[nodiscard]] const Iteration& next(std::size_t op) const {
    return program_->instances[program_->at(op, done_[op])];
  }

  /// Whether the operator's next iteration has all that it needs. It must have one.
  [[nodiscard]] bool is_ready(std::size_t op) const {
    for (const Dependence& need : next(op).needs) {
      if (done_[need.op] < need.count) return false;
    }
    return true;
  }

  /// Live bytes while the operator's next iteration runs, and after it.
  [[nodiscard]] Bytes load_of(std::size_t op) const { return live_ + next(op).bytes_written; }
  [[nodiscard]] Bytes live_after(std::size_t op) const;

  /// Runs the operator's next iteration, which must be ready.
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
