#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/device.h"
#include "run/home.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/run.h"
#include "stowage/units.h"

namespace stowage::run {

class Reference;

/// One row of a tensor.
struct Row {
  std::size_t axis = 0;
  std::int64_t index = 0;
};

/// A whole tensor, or one of its rows.
struct TensorPart {
  TensorId tensor = 0;
  std::optional<Row> row{};
};

/// Bytes of a tensor that are in memory.
struct PlacedBytes {
  std::byte* at = nullptr;
  Bytes offset = 0;  ///< In the tensor.
  Bytes size = 0;
};

/// The bytes of a part in order: elements of the tensor, or of the row.
using PlacedPart = std::vector<PlacedBytes>;

/// "row 3", "rows 3..4"
[[nodiscard]] std::string text_of(const RowRange& rows);

/// The size of a part.
[[nodiscard]] Bytes bytes_of(const Graph& graph, const TensorPart& part);

/// The runs of a tensor's bytes that form a part; `at` is not set.
[[nodiscard]] PlacedPart runs_of(const Graph& graph, const TensorPart& part);

/// The places of the tensors in a streamed plan of one network. Tensors without a place in it have memory of
/// their own.
class RowPlaces {
 public:
  /// Requires a plan that passed `expect_plan_of` and `check_tasks`.
  explicit RowPlaces(const Device& device);

  /// The present place of the part. Throws RunFault if it has none, or if its buffer does not hold the bytes.
  [[nodiscard]] PlacedPart find(const TensorPart& part, const std::string& who);
  /// A place in a buffer, if the buffer holds these bytes now.
  [[nodiscard]] std::byte* find(std::size_t buffer, Bytes offset, Bytes size, const std::string& who) const;

  /// "row 3 of tensor 'x'"
  [[nodiscard]] std::string describe(const TensorPart& part) const;
  /// The same for the row that has a byte of the tensor.
  [[nodiscard]] std::string describe_at(TensorId tensor, Bytes offset) const;
  /// "byte 17 of memory 'arena'"
  [[nodiscard]] std::string describe_byte(const std::byte* at) const;
  [[nodiscard]] Position now() const { return device_.position_of(0).value_or(0); }
  /// Raises `highest` to the end of the part in every memory; it has one entry per memory.
  void note_touched(const PlacedPart& part, std::vector<Bytes>& highest) const;

 private:
  /// How the views of a tensor cut it into rows.
  struct Layout {
    std::optional<std::size_t> axis{};  ///< None: all views have the whole tensor.
    std::int64_t rows = 1;
    Bytes inner = 0;                    ///< Bytes of a row that are consecutive in the whole tensor.
    std::vector<std::size_t> always{};  ///< Views of all rows.
    std::vector<std::vector<std::size_t>> of_row{};  ///< Views of some rows.
  };

  [[nodiscard]] Layout layout_of(TensorId tensor) const;
  [[nodiscard]] const View* view_now(TensorId tensor, std::int64_t row) const;
  [[nodiscard]] PlacedPart find_pieces(const TensorPart& part, const std::string& who);
  [[nodiscard]] PlacedPart find_outside(const TensorPart& part);

  const Device& device_;
  const Graph& graph_;
  OwnHome outside_;
  std::vector<Layout> layouts_{};  ///< Per tensor.
};

/// The byte at every address: its value, its number in that value, and the position of the step that wrote
/// it. The owner of a value numbers it.
class Contents {
 public:
  struct Held {
    std::size_t value = 0;
    Bytes offset = 0;  ///< Of the byte, in its value.
    Position written = 0;
  };
  /// A byte, and the value that it has instead of the requested one.
  struct Other {
    const std::byte* at = nullptr;
    std::optional<Held> held{};
  };

  /// Bytes [offset, offset + size) of a value are at this address now, and nothing else.
  void put(const std::byte* at, Bytes size, const Held& first);
  void remove(const std::byte* at, Bytes size);
  /// The first of these bytes that does not belong to the value; none if all do.
  [[nodiscard]] std::optional<Other> first_other(const std::byte* at, Bytes size, std::size_t value,
                                                 Bytes offset) const;

 private:
  struct Segment {
    const std::byte* end = nullptr;
    Held first{};
  };
  std::map<const std::byte*, Segment> segments_{};  ///< By their first bytes; they do not overlap.
};

/// The memory of a streamed plan: the places of rows, and which rows are still there.
class RowMemory {
 public:
  /// With `check`, tensors must equal the reference.
  RowMemory(Device& device, Reference* check);

  void move_to(Position at);
  /// Names the next step for messages. Writes before the first step are the caller's.
  void begin_step(const std::string& what) { steps_.push_back(what); }

  /// The part, which `who` reads now. Throws RunFault unless it is complete.
  [[nodiscard]] PlacedPart read(const TensorPart& part, const std::string& who);
  /// The same without comparing it.
  [[nodiscard]] PlacedPart find_written(const TensorPart& part, const std::string& who);
  /// The place where `who` must write the part.
  [[nodiscard]] PlacedPart room_for(const TensorPart& part, const std::string& who) {
    return places_.find(part, who);
  }
  /// `who` has written the part there.
  void wrote(const TensorPart& part, const PlacedPart& at, const std::string& who);

  /// The place of an operator's sums.
  [[nodiscard]] PlacedPart find_sums(const Sums& sums, Bytes size, const std::string& who) const;
  /// Throws RunFault unless the sums are still there.
  void expect_sums(std::size_t op, const PlacedPart& sums, const std::string& who) const;
  void added(std::size_t op, const PlacedPart& sums);

  /// Throws RunFault unless the part equals the reference.
  void compare(const TensorPart& part, const PlacedPart& at, Reference& reference, const std::string& who);

  [[nodiscard]] const RowPlaces& places() const { return places_; }

 private:
  /// Lower values are tensors.
  [[nodiscard]] std::size_t value_of_sums(std::size_t op) const {
    return device_.graph_of(0).tensors.size() + op;
  }
  [[nodiscard]] Position step() const { return static_cast<Position>(steps_.size()) - 1; }
  /// The first byte that does not belong to the value.
  [[nodiscard]] std::optional<Contents::Other> first_other(const PlacedPart& part, std::size_t value) const;
  [[noreturn]] void refuse(const Contents::Other& other, const std::string& name,
                           const std::string& who) const;
  /// The step and the value that overwrote it.
  [[nodiscard]] std::string describe(const Contents::Held& held) const;

  Device& device_;
  RowPlaces places_;
  Contents contents_{};
  Reference* check_;
  std::vector<std::string> steps_{};  ///< By position, up to now.
};

}  // namespace stowage::run
