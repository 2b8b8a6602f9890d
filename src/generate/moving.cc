// Stays of rows. A row is in a view from the begin of its life to the end; if several are live, operators use the one in
// the fastest memory. Steps that copy a row read it where it comes from. So each row gets a list:
//
//     steps            0      4    6         20     23          row 0 of x: written by step 0, spilled by step 6,
//     SRAM + 96       [================)                         fetched by step 20, read by step 23
//     PSRAM + 0                    [==============)
//     SRAM + 480                             [==========)
//     stays            until 7          until 21   to the end
//
// Times between two uses do not matter, so a stay lasts until the next one begins. Rows that follow each other in all
// stays are one block.
//
// Cost: for each row, n log n in the views and copies that have it.

#include "generate/moving.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "generate/storage.h"

namespace stowage::generate {
namespace {

constexpr Position end_of_time = std::numeric_limits<Position>::max();

/// A copy of some rows of the tensor.
struct CopyAt {
  Position at = 0;
  const Copy* copy = nullptr;
};

class Follower {
 public:
  Follower(const Plan& plan, std::size_t tensor) : plan_(plan), own_(plan.tensors[tensor]) {
    const std::vector<Step>& steps = plan.clocks[0].steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const auto* const copy = std::get_if<Copy>(&steps[s]);
      if (copy != nullptr && copy->tensor == tensor) copies_.push_back({static_cast<Position>(s), copy});
    }
    for (const View& view : own_.views) {
      const auto axis = view.ring   ? std::optional(view.ring->axis)
                        : view.rows ? std::optional(view.rows->axis)
                                    : std::nullopt;
      if (axis && result_.axis && axis != result_.axis)
        misplace("{} has rows along two axes", own_.tensor.name);
      if (axis) result_.axis = axis;
    }
    result_.row_bytes = own_.tensor.bytes;
    if (!result_.axis) return;
    const bool has_whole =
        std::ranges::any_of(own_.views, [](const View& view) { return !view.ring && !view.rows; });
    if (has_whole && !is_outermost(own_.tensor, *result_.axis))
      misplace("{} is by rows and as a whole, whose rows are apart", own_.tensor.name);
    result_.rows = (*own_.tensor.shape)[*result_.axis];
    result_.row_bytes = bytes_of_row(own_.tensor, *result_.axis).value();
  }

  MovingRows follow(std::int64_t granule) {
    std::vector<std::vector<Stay>> rows;
    for (std::int64_t row = 0; row < result_.rows; ++row) rows.push_back(stays_of(row));
    const bool is_whole = result_.axis && is_outermost(own_.tensor, *result_.axis);
    if (is_whole && join(rows, result_.rows)) {
      result_.axis.reset();
      result_.rows = 1;
      result_.row_bytes = own_.tensor.bytes;
    } else if (!join(rows, granule)) {
      result_.blocks = std::move(rows);
    } else {
      result_.granule = granule;
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool has(const std::optional<RowRange>& rows, std::int64_t row) const {
    return !rows || (rows->begin <= row && row < rows->end);
  }

  [[nodiscard]] Stay stay_in(const View& view, std::int64_t row) const {
    return {end_of_time, plan_.places[view.buffer].memory, *address_in(plan_, view, row, result_.row_bytes)};
  }

  /// In a buffer at a position, or, without one, in the fastest memory. None if it is nowhere.
  [[nodiscard]] std::optional<Stay> place_at(std::int64_t row, Position at,
                                             const std::optional<std::size_t>& buffer) const {
    std::optional<Stay> best;
    for (const View& view : own_.views) {
      if (view.life.lower > at || view.life.upper <= at || !has(view.rows, row)) continue;
      if (buffer && *buffer != view.buffer) continue;
      const Stay stay = stay_in(view, row);
      if (best && best->memory == stay.memory && best->at != stay.at)
        misplace("row {} of {} has two places at a time", row, own_.tensor.name);
      if (!best || stay.memory < best->memory) best = stay;
    }
    return best;
  }

  [[nodiscard]] std::vector<Stay> stays_of(std::int64_t row) const {
    std::vector<Position> times;
    std::vector<CopyAt> copies;
    for (const View& view : own_.views)
      if (has(view.rows, row)) times.insert(times.end(), {view.life.lower, view.life.upper});
    for (const CopyAt& it : copies_) {
      if (!has(it.copy->rows, row)) continue;
      times.insert(times.end(), {it.at, it.at + 1});
      copies.push_back(it);
    }
    std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
    std::vector<Stay> stays;
    for (const Position time : times) {
      const auto copy = std::ranges::find(copies, time, &CopyAt::at);
      const auto place =
          place_at(row, time, copy == copies.end() ? std::nullopt : std::optional(copy->copy->from));
      if (!place) continue;
      const auto arrived = std::ranges::find(copies, time - 1, &CopyAt::at);
      if (arrived != copies.end() && place_at(row, time - 1, arrived->copy->to) != place)
        misplace("row {} of {} is copied to where it is not used next", row, own_.tensor.name);
      const bool is_new =
          stays.empty() || stays.back().memory != place->memory || stays.back().at != place->at;
      if (!is_new) continue;
      if (!stays.empty()) stays.back().until = time;
      stays.push_back(*place);
    }
    if (stays.empty()) misplace("row {} of {} has no place", row, own_.tensor.name);
    return stays;
  }

  /// Makes blocks of so many rows. False if their rows do not follow each other.
  bool join(const std::vector<std::vector<Stay>>& rows, std::int64_t granule) {
    const auto size = static_cast<std::size_t>(granule);
    std::vector<std::vector<Stay>> blocks;
    for (std::size_t begin = 0; begin < rows.size(); begin += size) {
      std::vector<Stay> next = rows[begin];
      for (std::size_t row = begin; row < std::min(begin + size, rows.size()); ++row) {
        if (rows[row] != next) return false;
        for (Stay& stay : next) stay.at += result_.row_bytes;
      }
      blocks.push_back(rows[begin]);
    }
    result_.blocks = std::move(blocks);
    return true;
  }

  const Plan& plan_;
  const PlannedTensor& own_;
  std::vector<CopyAt> copies_{};
  MovingRows result_{};
};

}  // namespace

MovingRows moving_rows(const Plan& plan, std::size_t tensor, std::int64_t granule) {
  return Follower(plan, tensor).follow(granule);
}

std::optional<MovingRows> staged_rows(const Plan& plan, std::size_t tensor) {
  const PlannedTensor& own = plan.tensors[tensor];
  std::vector<const View*> staged;
  for (const View& view : own.views) {
    if (plan.memories[plan.places[view.buffer].memory].memory.role == MemoryRole::weights) continue;
    if (view.rows || view.ring || view.block) return std::nullopt;
    staged.push_back(&view);
  }
  std::ranges::sort(staged, {}, [](const View* view) { return view->life.lower; });
  std::vector<Stay> stays{{end_of_time, memory_of_weights, 0}};
  for (const View* const view : staged) {
    const Place& place = plan.places[view->buffer];
    if (stays.size() > 1 && stays[stays.size() - 2].until > view->life.lower) return std::nullopt;
    stays.back().until = view->life.lower;
    stays.push_back({view->life.upper, place.memory, place.offset + view->offset});
    stays.push_back({end_of_time, memory_of_weights, 0});
  }
  if (staged.empty() || own.tensor.bytes == 0) return std::nullopt;
  return MovingRows{.row_bytes = own.tensor.bytes, .blocks = {std::move(stays)}};
}

}  // namespace stowage::generate
