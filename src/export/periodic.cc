// Idea. A streamed plan repeats itself: row after row the same operators run, and their row blocks differ in
// their number only. One entry of the file stands for all of them.
//
//     a[0] b[0] a[1] b[1] a[2] b[2] c[0]      ->  2 steps, 3 times, rows + 1;  c[0]
//
// Of all periods the one that saves the most steps is taken, from the first step on. Cost: linear in steps, times
// the longest period.

#include "export/periodic.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <variant>

#include "model/plan_format.h"

namespace stowage::exporting {
namespace {

constexpr std::size_t longest_period = 64;

const RowRange* range_of(const Step& step) {
  const std::optional<RowRange>* rows = nullptr;
  if (const auto* const run = std::get_if<Run>(&step)) rows = &run->rows;
  if (const auto* const arrive = std::get_if<Arrive>(&step)) rows = &arrive->rows;
  if (const auto* const leave = std::get_if<Leave>(&step)) rows = &leave->rows;
  return rows != nullptr && *rows ? &**rows : nullptr;
}

/// By how much rows move on from a step to one that is else the same; none if it is another.
std::optional<std::int64_t> advance_between(const Step& a, const Step& b) {
  const RowRange* const from = range_of(a);
  const RowRange* const to = range_of(b);
  if (a.index() != b.index() || (from == nullptr) != (to == nullptr)) return std::nullopt;
  if (from == nullptr) return a == b ? std::optional<std::int64_t>(0) : std::nullopt;
  if (from->axis != to->axis || from->end - from->begin != to->end - to->begin) return std::nullopt;
  const auto is_same = [&] {
    if (const auto* const run = std::get_if<Run>(&a)) {
      const Run& other = std::get<Run>(b);
      return run->model == other.model && run->path == other.path && run->sums == other.sums &&
             run->carry == other.carry && run->part == other.part && run->block == other.block;
    }
    if (const auto* const arrive = std::get_if<Arrive>(&a))
      return arrive->tensor == std::get<Arrive>(b).tensor;
    return std::get<Leave>(a).tensor == std::get<Leave>(b).tensor;
  };
  return is_same() ? std::optional(to->begin - from->begin) : std::nullopt;
}

/// The steps from `first` on with that period; a count of 1 if they do not repeat.
Repetition repetition_with(std::span<const Step> steps, std::size_t first, std::size_t period) {
  Repetition found{.first = first, .period = period, .advance = {}};
  for (std::size_t i = first; i < first + period; ++i) {
    const auto advance = advance_between(steps[i], steps[i + period]);
    if (!advance) return found;
    found.advance.push_back(*advance);
  }
  for (std::size_t i = first; i + period < steps.size(); ++i) {
    if (advance_between(steps[i], steps[i + period]) != found.advance[(i - first) % period]) break;
    found.count = (i + 1 - first) / period + 1;
  }
  return found;
}

/// "NAME[7]" as its name and number.
std::optional<std::pair<std::string_view, std::size_t>> block_of(std::string_view id) {
  const std::size_t open = id.rfind('[');
  if (open == std::string_view::npos || id.back() != ']') return std::nullopt;
  const std::string_view digits = id.substr(open + 1, id.size() - open - 2);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool has_leading_zero = digits.size() > 1 && digits.front() == '0';
  if (error != std::errc() || end != digits.data() + digits.size() || has_leading_zero) return std::nullopt;
  return std::pair(id.substr(0, open), number);
}

bool is_block(const Buffer& buffer) {
  return buffer.pieces.size() == 1 && buffer.pieces[0].offset == 0 && !buffer.pinned && buffer.traffic == 0;
}

bool are_alike(const Plan& plan, std::size_t a, std::size_t b) {
  const Buffer& one = plan.buffers[a];
  const Buffer& other = plan.buffers[b];
  return one.clock == other.clock && one.size == other.size && one.alignment == other.alignment &&
         one.kind == other.kind && plan.places[a].memory == plan.places[b].memory &&
         one.pieces[0].size == other.pieces[0].size;
}

/// Counts while `is_next(i)` holds of the i-th after the first and ids go on.
template <typename IdAt, typename IsNext>
std::optional<BlockRun> run_of(std::size_t most, const IdAt& id_at, const IsNext& is_next) {
  const auto first = block_of(id_at(0));
  if (!first) return std::nullopt;
  BlockRun run{.name = std::string(first->first), .index = first->second};
  for (; run.count < most; ++run.count) {
    const auto next = block_of(id_at(run.count));
    if (!next || next->first != first->first || next->second != run.index + run.count || !is_next(run.count))
      break;
  }
  return run.count > 1 ? std::optional(std::move(run)) : std::nullopt;
}

}  // namespace

std::vector<Repetition> repetitions_of(std::span<const Step> steps) {
  std::vector<Repetition> all;
  if (steps.size() > model::most_repeated_steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) all.push_back({.first = i});
    return all;
  }
  for (std::size_t first = 0; first < steps.size();) {
    Repetition best{.first = first};
    std::size_t saved = 1;  // an entry for a repetition takes as much as one step more
    for (std::size_t period = 1; period <= longest_period && first + 2 * period <= steps.size(); ++period) {
      Repetition found = repetition_with(steps, first, period);
      if (period * (found.count - 1) <= saved) continue;
      saved = period * (found.count - 1);
      best = std::move(found);
    }
    first += best.period * best.count;
    all.push_back(std::move(best));
  }
  return all;
}

std::optional<BlockRun> blocks_from(const Plan& plan, std::size_t first) {
  if (!plan.streaming || !is_block(plan.buffers[first])) return std::nullopt;
  return run_of(
      plan.buffers.size() - first,
      [&](std::size_t i) -> const std::string& { return plan.buffers[first + i].id; },
      [&](std::size_t i) { return is_block(plan.buffers[first + i]) && are_alike(plan, first, first + i); });
}

std::optional<BlockRun> views_from(const Plan& plan, std::span<const View> views, std::size_t first) {
  const View& begin = views[first];
  if (!begin.rows || begin.ring) return std::nullopt;
  const std::int64_t length = begin.rows->end - begin.rows->begin;
  return run_of(
      views.size() - first,
      [&](std::size_t i) -> const std::string& { return plan.buffers[views[first + i].buffer].id; },
      [&](std::size_t i) {
        const View& view = views[first + i];
        const auto shift = static_cast<std::int64_t>(i) * length;
        return view.rows && !view.ring && view.offset == begin.offset && view.block == begin.block &&
               view.rows->axis == begin.rows->axis && view.rows->begin == begin.rows->begin + shift &&
               view.rows->end == begin.rows->end + shift;
      });
}

}  // namespace stowage::exporting
