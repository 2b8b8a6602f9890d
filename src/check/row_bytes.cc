// Idea. Rows, sums and constants are boxes in a buffer, bytes by time; so is all that no piece of the buffer
// reserves. One sweep over time finds the first overlap (model/overlap.h). If it is of two that hold bytes
// these clash, if it is with what is not reserved, bytes are missing:
//
//   bytes  12 |######| row 2  |######      #  not reserved
//           8 | row 0   |###| row 4 |
//           4 |   row 1         | row 3
//           0 +-----------------------> time
//
// A row that is scattered over a whole tensor is as many boxes; neighbouring rows with one life are one.

#include "check/row_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "check/constants.h"
#include "check/names.h"
#include "model/overlap.h"

namespace stowage::check {
namespace {

constexpr std::int64_t most_boxes = std::int64_t{1} << 23;

/// What pieces of a buffer leave free, as boxes of no holder. Pieces do not overlap.
class FreeBoxes {
 public:
  FreeBoxes(const Buffer& buffer, std::size_t holder) : holder_(holder) {
    if (buffer.size > 0) free_.emplace(0, Free{buffer.size, 0});
  }

  std::vector<model::Box> run(std::vector<Piece> pieces) {
    std::vector<std::pair<Position, const Piece*>> begins;
    std::vector<std::pair<Position, const Piece*>> ends;
    for (const Piece& piece : pieces) {
      if (!piece.is_ever_alive()) continue;
      begins.emplace_back(piece.life.lower, &piece);
      ends.emplace_back(piece.life.upper, &piece);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    auto end = ends.begin();
    for (const auto& [at, piece] : begins) {
      for (; end != ends.end() && end->first <= at; ++end)
        free_.emplace(end->second->offset, Free{end->second->offset + end->second->size, end->first});
      reserve(*piece, at);
    }
    for (; end != ends.end(); ++end)
      free_.emplace(end->second->offset, Free{end->second->offset + end->second->size, end->first});
    for (const auto& [begin, free] : free_) add(begin, free.end, free, std::numeric_limits<Position>::max());
    return std::move(boxes_);
  }

 private:
  struct Free {
    Bytes end = 0;
    Position since = 0;
  };

  void reserve(const Piece& piece, Position at) {
    const Bytes end = piece.offset + piece.size;
    auto it = free_.upper_bound(piece.offset);
    if (it != free_.begin()) --it;
    while (it != free_.end() && it->first < end) {
      const auto [begin, free] = *it;
      if (free.end <= piece.offset) {
        ++it;
        continue;
      }
      it = free_.erase(it);
      add(std::max(begin, piece.offset), std::min(free.end, end), free, at);
      if (begin < piece.offset) free_.emplace(begin, Free{piece.offset, free.since});
      if (free.end > end) free_.emplace(end, Free{free.end, free.since});
    }
  }

  void add(Bytes begin, Bytes end, const Free& free, Position until) {
    if (free.since < until) boxes_.push_back({{free.since, until}, begin, end, holder_});
  }

  std::size_t holder_;
  std::map<Bytes, Free> free_;  ///< By first byte.
  std::vector<model::Box> boxes_;
};

/// Boxes of pieces, and whether two of them overlap, which places.h finds.
bool pieces_overlap(const Buffer& buffer) {
  std::vector<model::Box> boxes;
  for (const Piece& piece : buffer.pieces)
    boxes.push_back({piece.life, piece.offset, piece.offset + piece.size, boxes.size()});
  return model::find_overlap(boxes).has_value();
}

class RowBytes {
 public:
  RowBytes(const Streamed& it, const std::vector<TensorRows>& rows, const Holders& holders, Faults& faults)
      : it_(it), rows_(rows), holders_(holders), faults_(faults) {}

  void check() {
    std::int64_t runs = 0;
    for (const PlacedRows& rows : holders_.rows) runs = std::min(runs + runs_of(rows), most_boxes + 1);
    if (runs > most_boxes) {
      faults_.push_back(
          {FaultKind::format,
           fmt::format("rows are scattered over more than {} runs of bytes; this version understands no more",
                       most_boxes)});
      return;
    }
    for (std::size_t h = 0; h < holders_.rows.size(); ++h) add_rows(h);
    for (std::size_t s = 0; s < holders_.sums.size(); ++s) add_sums(s);
    for (TensorId t = 0; t < it_.matched.size(); ++t) {
      if (it_.matched[t] != nullptr && is_constant(it_.graph.tensors[t].kind)) add_constant(t);
    }
    for (auto& [buffer, boxes] : boxes_) check_buffer(buffer, boxes);
  }

 private:
  void add(std::size_t buffer, const Lifetime& life, Bytes begin, Bytes end, std::size_t holder) {
    boxes_[buffer].push_back({life, begin, end, holder});
  }

  [[nodiscard]] bool are_all(const PlacedRows& rows) const {
    return rows.rows.second - rows.rows.first == rows_[rows.tensor].count;
  }

  /// Of bytes that follow each other.
  [[nodiscard]] std::int64_t runs_of(const PlacedRows& rows) const {
    if (rows.rows.first >= rows.rows.second) return 0;
    return are_all(rows) ? 1 : rows.outer;
  }

  void add_rows(std::size_t h) {
    const PlacedRows& rows = holders_.rows[h];
    const Bytes size = (rows.rows.second - rows.rows.first) * rows.step * (are_all(rows) ? rows.outer : 1);
    for (std::int64_t i = 0; i < runs_of(rows); ++i) {
      const Bytes begin = rows.first + i * rows.stride;
      add(rows.view->buffer, rows.life, begin, begin + size, h);
    }
  }

  void add_sums(std::size_t s) {
    const SumsLife& sums = holders_.sums[s];
    const Buffer& buffer = it_.plan.buffers[sums.sums.buffer];
    if (sums.bytes > buffer.size - sums.sums.offset) {
      faults_.push_back(
          {FaultKind::format,
           fmt::format("{} take {} bytes at {}, outside the {} bytes of {}", name_of_sums(s), sums.bytes,
                       sums.sums.offset, buffer.size, name_of_buffer(it_.plan, sums.sums.buffer))});
      return;
    }
    add(sums.sums.buffer, sums.life, sums.sums.offset, sums.sums.offset + sums.bytes,
        holders_.rows.size() + s);
  }

  /// Constants are there all the time. Those with equal data may be in one place.
  void add_constant(TensorId t) {
    const Bytes bytes = it_.graph.tensors[t].bytes;
    for (const View& view : it_.matched[t]->views) {
      const auto [first, is_new] = constants_.try_emplace({view.buffer, view.offset}, t);
      if (!is_new && have_equal_data(first->second, t)) continue;
      const auto end = static_cast<Position>(it_.plan.clocks[0].steps.size());
      add(view.buffer, {-1, std::max<Position>(end, 1)}, view.offset, view.offset + bytes,
          first_constant() + t);
    }
  }

  [[nodiscard]] bool have_equal_data(TensorId a, TensorId b) {
    return equal_.are_equal({&it_.graph, holders_.constants, a}, {&it_.graph, holders_.constants, b});
  }

  [[nodiscard]] std::size_t first_constant() const { return holders_.rows.size() + holders_.sums.size(); }
  [[nodiscard]] std::size_t nobody() const { return first_constant() + it_.graph.tensors.size(); }

  void check_buffer(std::size_t b, std::vector<model::Box>& boxes) {
    const Buffer& buffer = it_.plan.buffers[b];
    if (pieces_overlap(buffer)) return;
    const std::vector<model::Box> free = FreeBoxes(buffer, nobody()).run(buffer.pieces);
    boxes.insert(boxes.end(), free.begin(), free.end());
    const auto overlap = model::find_overlap(boxes);
    if (!overlap) return;
    std::size_t first = boxes[overlap->first].holder;
    std::size_t second = boxes[overlap->second].holder;
    if (first > second) std::swap(first, second);
    const Position at = std::max<Position>(overlap->at, 0);
    const std::string where = fmt::format("{} at position {}", name_of_buffer(it_.plan, b), at);
    if (second == nobody()) {
      faults_.push_back(
          {FaultKind::accounting,
           fmt::format("{} in {}, but not all of the bytes are reserved then", name_of(first), where)});
    } else {
      faults_.push_back({FaultKind::overlap, fmt::format("{} and {} hold a byte of {} at the same time",
                                                         name_of(first), name_of(second), where)});
    }
  }

  [[nodiscard]] std::string name_of_sums(std::size_t s) const {
    return "the sums of " + describe(it_.graph, 0, holders_.sums[s].op);
  }

  [[nodiscard]] std::string name_of(std::size_t holder) const {
    if (holder >= first_constant()) return describe(it_.graph, holder - first_constant()) + " is";
    if (holder >= holders_.rows.size()) return name_of_sums(holder - holders_.rows.size()) + " are";
    const PlacedRows& rows = holders_.rows[holder];
    const std::string name = describe(it_.graph, rows.tensor);
    const std::string since =
        rows.life.lower < 0 ? "given at the start" : fmt::format("of step {}", rows.life.lower);
    if (!rows_[rows.tensor].axis) return fmt::format("{}, {},", name, since);
    return fmt::format("rows {} to {} of {}, {},", rows.rows.first, rows.rows.second, name, since);
  }

  const Streamed& it_;
  const std::vector<TensorRows>& rows_;
  const Holders& holders_;
  Faults& faults_;
  std::map<std::size_t, std::vector<model::Box>> boxes_;  ///< By buffer.
  std::map<std::pair<std::size_t, Bytes>, TensorId> constants_;
  EqualConstants equal_;
};

}  // namespace

void check_row_bytes(const Streamed& it, const std::vector<TensorRows>& rows, const Holders& holders,
                     Faults& faults) {
  RowBytes(it, rows, holders, faults).check();
}

}  // namespace stowage::check
