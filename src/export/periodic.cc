// A streamed plan repeats itself: row after row the same operators run, and their row blocks differ in
// their number only. One entry of the file stands for all of them.
//
//     a[0] b[0] a[1] b[1] a[2] b[2] c[0]      ->  2 steps, 3 times, rows + 1;  c[0]
//
// Positions of row blocks repeat themselves as the steps do, if only the distance from one to the next is written.
// repetition.cc finds both.

#include "export/periodic.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <variant>

#include "model/plan_format.h"

namespace stowage::exporting {
namespace {

/// A step without the numbers that may move on.
class ItemMaker {
 public:
  Item item_of(const Step& step) {
    item_.kind.push_back(static_cast<std::int64_t>(step.index()));
    std::visit([&](const auto& it) { add(it); }, step);
    return std::move(item_);
  }

 private:
  void add_index(std::size_t index) { item_.kind.push_back(static_cast<std::int64_t>(index)); }

  void add_all(const std::vector<std::size_t>& indices) {
    add_index(indices.size());
    for (const std::size_t index : indices) add_index(index);
  }

  void add_moving(const std::optional<RowRange>& range) {
    add_index(range ? 1 : 0);
    if (!range) return;
    add_index(range->axis);
    item_.kind.push_back(range->end - range->begin);
    item_.numbers.push_back(range->begin);
  }

  void add_sums(const std::optional<Sums>& sums) {
    add_index(sums ? 1 : 0);
    if (!sums) return;
    add_index(sums->buffer);
    item_.kind.push_back(sums->offset);
  }

  void add(const Run& run) {
    add_index(run.model);
    add_all(run.path);
    add_moving(run.rows);
    add_moving(run.block);
    add_sums(run.sums);
    add_sums(run.carry);
    if (!run.part) return;
    add_index(run.part->axis);
    item_.kind.insert(item_.kind.end(), {run.part->begin, run.part->end});
  }
  void add(const Copy& copy) {
    add_all({copy.tensor, copy.from, copy.to});
    add_moving(copy.rows);
    add_moving(copy.block);
  }
  void add(const Fork& fork) { add_all(fork.clocks); }
  void add(const Pause& pause) { add_index(pause.clock); }
  void add(const Arrive& arrive) {
    add_index(arrive.tensor);
    add_moving(arrive.rows);
    add_moving(arrive.block);
  }
  void add(const Leave& leave) {
    add_index(leave.tensor);
    add_moving(leave.rows);
    add_moving(leave.block);
  }

  Item item_{};
};

Json list_json(const Repetition& it, std::span<const std::int64_t> differences) {
  if (it.count == 1) return differences[it.first];
  Json json{it.count};
  for (const Repetition& part : it.body) json.push_back(list_json(part, differences));
  return json;
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

/// Row blocks that follow each other, from the first view on.
std::optional<BlockRun> row_blocks_from(const Plan& plan, std::span<const View> views) {
  const View& begin = views[0];
  if (!begin.rows || begin.ring) return std::nullopt;
  const std::int64_t length = begin.rows->end - begin.rows->begin;
  return run_of(
      views.size(), [&](std::size_t i) -> const std::string& { return plan.buffers[views[i].buffer].id; },
      [&](std::size_t i) {
        const View& view = views[i];
        const auto shift = static_cast<std::int64_t>(i) * length;
        return view.rows && !view.ring && view.offset == begin.offset && view.block == begin.block &&
               view.rows->axis == begin.rows->axis && view.rows->begin == begin.rows->begin + shift &&
               view.rows->end == begin.rows->end + shift;
      });
}

/// Whether b is as a, of the block behind it.
bool has_next_block(const View& a, const View& b) {
  if (!a.block || !b.block) return false;
  const std::int64_t length = a.block->end - a.block->begin;
  const RowRange next{a.block->axis, a.block->end, a.block->end + length};
  return b.block == next && b.offset == a.offset && b.rows == a.rows && b.ring == a.ring;
}

}  // namespace

bool may_repeat(const Plan& plan) {
  std::size_t all = 0;
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) all += model::counted(step);
  }
  for (const Buffer& buffer : plan.buffers)
    all += model::counted(buffer.id.size()) + 3 * buffer.pieces.size();
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) all += model::counted(plan.buffers[view.buffer].id.size()) + 2;
  }
  if (plan.streaming && plan.streaming->affine) all += 3 * plan.streaming->affine->operators.size();
  return all <= model::most_repeated;
}

std::vector<Item> items_of(std::span<const Step> steps) {
  std::vector<Item> items;
  items.reserve(steps.size());
  for (const Step& step : steps) items.push_back(ItemMaker().item_of(step));
  return items;
}

Json list_of(std::span<const std::int64_t> numbers, bool repeats) {
  std::vector<std::int64_t> differences;
  std::int64_t before = 0;
  for (const std::int64_t number : numbers) {
    differences.push_back(number - before);
    before = number;
  }
  if (!repeats) return differences;
  std::vector<Item> items;
  for (const std::int64_t it : differences) items.push_back({.kind = {it}});
  Json json = Json::array();
  for (const Repetition& it : repetitions_of(std::move(items))) json.push_back(list_json(it, differences));
  return json;
}

std::optional<BlockRun> blocks_from(const Plan& plan, std::size_t first) {
  if (!plan.streaming || !is_block(plan.buffers[first])) return std::nullopt;
  return run_of(
      plan.buffers.size() - first,
      [&](std::size_t i) -> const std::string& { return plan.buffers[first + i].id; },
      [&](std::size_t i) { return is_block(plan.buffers[first + i]) && are_alike(plan, first, first + i); });
}

ViewRun views_from(const Plan& plan, std::span<const View> views) {
  const auto block = row_blocks_from(plan, views);
  const auto name_at = [&](std::size_t v) { return plan.buffers[views[v].buffer].id; };
  ViewRun run{.buffers = {block ? block->name : name_at(0)}};
  if (block) run.index = block->index;
  if (block) run.blocks = block->count;
  for (std::size_t v = run.blocks; v < views.size(); v += run.blocks) {
    if (!has_next_block(views[v - run.blocks], views[v])) break;
    const auto next = row_blocks_from(plan, views.subspan(v));
    const bool is_alike = block ? next && next->index == block->index && next->count == block->count : !next;
    if (!is_alike) break;
    run.buffers.push_back(next ? next->name : name_at(v));
  }
  return run;
}

}  // namespace stowage::exporting
