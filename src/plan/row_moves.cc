// pack/memories/spills.h chooses when each buffer of rows is in the fastest memory. This file says when buffers are used,
// and puts the choice into the plan: a buffer becomes one for each stay in the fastest memory, and one at home in a slow
// one. Rows go from one to the other by copies, which are steps of their own (stretched.h).
//
//     steps          a0   b0   copy   ...   copy   c0          row 0 of x: written by a, read by b and c
//     x[0]          [==========]                               its first stay, with a view of row 0
//     x[0]@PSRAM               [=====================]         home, from the spill to the fetch
//     x[0]@SRAM                             [=========]        its second stay
//
// A buffer that rows of several tensors have in turn, one written over the other, moves as one. Between two uses just one
// of its views must be live, for a copy names the rows of one tensor. Buffers of other forms (rings, whole tensors
// whose rows come and go, sums) are in one memory for their whole life, but which one is chosen with all others.
//
// Networks that run one after the other have one clock, so their rows compete for the fast memory like those of one.
// Buffers of whole operators, and of what networks pass to each other, are among the other forms.
//
// Home is the memory that the placing without moves chose, if that is slow, and else the first slow one.
//
// Weights compete with rows: one that many steps read may be staged in the fast memory. Home is the memory for weights,
// which has them from the start, so their buffers are there only while they are staged.
//
// Cost: the choice of stays; all else is n log n in views and steps.

#include "plan/row_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/unique_names.h"
#include "pack/life.h"
#include "pack/memories/memories.h"
#include "pack/memories/needs.h"
#include "pack/memories/prices.h"
#include "pack/memories/spills.h"
#include "pack/memories/stretched.h"
#include "pack/occupancy.h"
#include "plan/views_in_buffers.h"

namespace stowage::plan {
namespace {

using memories::FastStay;
using memories::FastStays;
using memories::life_on;
using memories::Need;
using memories::Needs;
using memories::Stretched;
using memories::Touch;

constexpr std::int64_t most_parts = 8;  ///< Of a weight.
constexpr Bytes least_part = 2048;
constexpr int rounds_of_estimate = 300;  // of prices

/// When the network of each model begins to run.
std::vector<Position> begins_of_models(const Plan& plan) {
  const std::vector<Step>& steps = plan.clocks[0].steps;
  std::vector<Position> begins(plan.models.size(), 0);
  for (std::size_t at = steps.size(); at-- > 0;) {
    std::optional<std::size_t> model;
    if (const auto* const run = std::get_if<Run>(&steps[at])) model = run->model;
    if (const auto* const arrive = std::get_if<Arrive>(&steps[at]))
      model = plan.tensors[arrive->tensor].model;
    if (model) begins[*model] = static_cast<Position>(at);
  }
  return begins;
}

class RowMover {
 public:
  RowMover(const BufferAccesses& accesses, const std::vector<Memory>& memories,
           const std::optional<StoredWeights>& weights, const pack::Control& control, Plan& plan)
      : accesses_(accesses),
        memories_(memories),
        control_(control),
        plan_(plan),
        first_weight_(plan.buffers.size()),
        working_(memories.size()) {
    if (weights && weights->memory.cost > memories[0].cost && plan.clocks.size() == 1) add_weights(*weights);
    views_in_ = views_in_buffers(plan);
    for (auto& views : views_in_) {
      std::ranges::sort(
          views, {}, [&](const ViewOf& it) { return std::pair(view(it).life.lower, view(it).life.upper); });
    }
  }

  std::optional<RowMoves> bound() {
    std::optional<RowMoves> result;
    if (find_needs() && memories::are_small(needs_)) {
      std::int64_t upper = 0;
      for (const Need& need : needs_.all) upper += memories::cost_of(needs_, need, {});
      // As many rounds for all plans that are compared: fewer prove less.
      result.emplace(RowMoves{
          .cost_bound = memories::find_prices(needs_, upper, control_.deadline, rounds_of_estimate).bound,
          .weights_cost = cost_of_weights()});
      if (control_.deadline.is_over()) result.reset();
    }
    drop_weights();
    return result;
  }

  std::optional<RowMoves> run() {
    std::optional<RowMoves> result = move();
    if (!is_applied_) drop_weights();
    return result;
  }

 private:
  std::optional<RowMoves> move() {
    if (!find_needs() || !memories::are_small(needs_)) return std::nullopt;
    memories::Spilling found = memories::choose_stays(needs_, control_);
    if (found.stays.empty()) return std::nullopt;
    RowMoves result{
        .cost_bound = found.cost_bound, .is_cut = found.is_cut, .weights_cost = cost_of_weights()};
    if (found.cost < present_cost()) {
      stays_ = std::move(found.stays);
      apply();
    }
    if (is_applied_) result.weights_cost = weights_at_home_ * memories_.back().cost;
    return result;
  }

  // Weights

  /// Of those that can be staged, as long as none is.
  [[nodiscard]] std::int64_t cost_of_weights() const {
    std::int64_t cost = 0;
    for (std::size_t b = first_weight_; b < plan_.buffers.size(); ++b)
      cost += plan_.buffers[b].traffic * memories_[working_].cost;
    return cost;
  }

  [[nodiscard]] bool is_weight(std::size_t b) const { return b >= first_weight_; }

  /// Buffers for each constant that is read more than once. No copy comes between the steps of a body, so what bodies read
  /// stays where it is.
  void add_weights(const StoredWeights& weights) {
    memories_.push_back(weights.memory);
    Bytes alignment = 1;
    for (const Buffer& buffer : plan_.buffers) alignment = std::max(alignment, buffer.alignment);
    const std::vector<Position> begins = begins_of_models(plan_);
    for (std::size_t t = 0; t < weights.reads.size(); ++t) {
      const ReadsOfConstant& reads = weights.reads[t];
      const Tensor& tensor = plan_.tensors[t].tensor;
      const auto most = base::checked_multiply(tensor.bytes, std::ssize(reads));
      if (reads.size() < 2 || tensor.bytes == 0 || !most || *most > largest_value - alignment) continue;
      if (std::ranges::any_of(reads, &ReadOfConstant::is_of_bodies)) continue;
      for (const std::optional<RowRange>& rows : parts_of_weight(tensor, reads)) {
        std::vector<stream::RowAccess> own;
        Bytes bytes = tensor.bytes;
        if (rows) bytes = *bytes_of_row(tensor, rows->axis) * (rows->end - rows->begin);
        for (const ReadOfConstant& it : reads) {
          if (it.at == begins[plan_.tensors[t].model])
            continue;  // no copy comes before a network's first step, for its inputs are there from then on
          if (!rows || !it.rows || *it.rows == *rows)
            own.push_back({it.at, it.at, rows ? bytes : it.bytes, false});
        }
        if (own.size() > 1) add_weight(t, rows, base::align_up(bytes, alignment), alignment, std::move(own));
      }
    }
  }

  void add_weight(std::size_t t, const std::optional<RowRange>& rows, Bytes size, Bytes alignment,
                  std::vector<stream::RowAccess> reads) {
    const Lifetime life{reads.front().first, reads.back().last + 1};
    Bytes traffic = 0;
    for (const stream::RowAccess& it : reads) traffic += it.bytes;
    plan_.tensors[t].views.push_back({.buffer = plan_.buffers.size(), .life = life, .rows = rows});
    plan_.places.push_back({working_, 0});
    plan_.buffers.push_back({.id = plan_.tensors[t].tensor.name,
                             .size = size,
                             .alignment = alignment,
                             .pieces = {{0, size, life}},
                             .kind = plan_.tensors[t].tensor.kind,
                             .traffic = traffic});
    accesses_.push_back(std::move(reads));
  }

  /// Parts of a large weight are staged apart, as the first of them may be all that there is room for. They are rows
  /// along its first axis, such as output channels, so each is one run of bytes: those that blocks read, or some of all.
  /// A weight that is read in other parts has one part, without rows.
  static std::vector<std::optional<RowRange>> parts_of_weight(const Tensor& tensor,
                                                              const ReadsOfConstant& reads) {
    std::size_t axis = 0;
    while (tensor.shape && axis < tensor.shape->size() && (*tensor.shape)[axis] == 1) ++axis;
    const bool has_rows = tensor.shape && axis < tensor.shape->size() && bytes_of_row(tensor, axis);
    if (!has_rows) return {std::nullopt};
    std::set<std::pair<std::int64_t, std::int64_t>> blocks;
    for (const ReadOfConstant& it : reads) {
      if (it.rows && it.rows->axis != axis) return {std::nullopt};
      blocks.emplace(it.rows ? it.rows->begin : 0, it.rows ? it.rows->end : (*tensor.shape)[axis]);
    }
    std::vector<std::optional<RowRange>> parts;
    std::int64_t end = 0;
    for (const auto& [begin, of_block] : blocks) {
      if (begin < end) return {std::nullopt};  // blocks overlap
      end = of_block;
      parts.push_back(RowRange{axis, begin, end});
    }
    if (parts.size() > 1 || reads[0].rows) return parts;
    const std::int64_t count = std::min({most_parts, end, tensor.bytes / least_part});
    if (count < 2) return {std::nullopt};
    parts.clear();
    for (std::int64_t p = 0; p < count; ++p)
      parts.push_back(RowRange{axis, end * p / count, end * (p + 1) / count});
    return parts;
  }

  void drop_weights() {
    for (PlannedTensor& tensor : plan_.tensors) {
      if (!tensor.views.empty() && is_weight(tensor.views[0].buffer)) tensor.views.clear();
    }
    plan_.buffers.resize(first_weight_);
    plan_.places.resize(first_weight_);
  }

  [[nodiscard]] const View& view(const ViewOf& it) const { return plan_.tensors[it.tensor].views[it.view]; }

  [[nodiscard]] std::int64_t present_cost() const {
    std::int64_t cost = 0;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b)
      cost += plan_.buffers[b].traffic * memories_[plan_.places[b].memory].cost;
    return cost;
  }

  // Needs

  /// False if the first memory is not the only cheap one, or nothing is known about steps.
  bool find_needs() {
    const Memory& fast = memories_[0];
    const bool is_cheapest = std::all_of(memories_.begin() + 1, memories_.end(),
                                         [&](const Memory& memory) { return memory.cost > fast.cost; });
    if (!is_cheapest || !fast.capacity || plan_.clocks.size() != 1 ||
        accesses_.size() != plan_.buffers.size())
      return false;
    needs_.fast_cost = fast.cost;
    needs_.capacity = *fast.capacity;
    needs_.reserved = fast.reserved;
    needs_.end = std::max<Position>(1, std::ssize(plan_.clocks[0].steps));
    for (const Buffer& buffer : plan_.buffers) needs_.end = std::max(needs_.end, pack::life_of(buffer).upper);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].pinned) return false;
      homes_.push_back(home_of(b));
      needs_.all.push_back(need_of(b));
      can_move_.push_back(can_move(b));
      if (!needs_.all[b].may_be_fast && !needs_.all[b].may_be_slow) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t home_of(std::size_t b) const {
    const std::size_t memory = plan_.places[b].memory;
    if (memory != 0) return memory;
    for (std::size_t m = 1; m < working_; ++m) {
      if (may_be_in(b, m)) return m;
    }
    return 0;
  }

  [[nodiscard]] bool may_be_in(std::size_t b, std::size_t memory) const {
    const auto& allowed = plan_.buffers[b].memories;
    return allowed.empty() || std::ranges::find(allowed, memory) != allowed.end();
  }

  [[nodiscard]] Need need_of(std::size_t b) const {
    const Buffer& buffer = plan_.buffers[b];
    Need need{.size = buffer.size,
              .alignment = buffer.alignment,
              .slow_cost = memories_[std::max<std::size_t>(homes_[b], 1)].cost,
              .may_be_fast = may_be_in(b, 0) && buffer.size <= needs_.capacity,
              .may_be_slow = homes_[b] != 0};
    if (can_move(b)) {
      if (is_weight(b)) {
        const ViewOf& it = views_in_[b][0];
        need.stored = bytes_of(plan_, {.tensor = it.tensor, .rows = view(it).rows});
      }
      for (const stream::RowAccess& it : accesses_[b])
        need.touches.push_back({it.first, it.last, it.bytes, it.writes});
      for (std::size_t i = 0; i + 1 < need.touches.size(); ++i)
        need.carried.push_back(bytes_across(b, need, i));
      return need;
    }
    if (is_weight(b)) need.may_be_fast = false;
    const Lifetime life = pack::life_of(buffer);
    need.touches = {{life.lower, std::max(life.lower, life.upper - 1), buffer.traffic, true}};
    need.pieces = buffer.pieces;
    std::erase_if(need.pieces, [](const Piece& piece) { return !piece.is_ever_alive(); });
    return need;
  }

  /// Whether just one view is live between any two uses, and the uses are the buffer's life.
  [[nodiscard]] bool can_move(std::size_t b) const {
    const auto& accesses = accesses_[b];
    const auto& pieces = plan_.buffers[b].pieces;
    if (accesses.empty() || pieces.size() != 1 || !pieces[0].is_ever_alive() || views_in_[b].empty())
      return false;
    const bool is_all =
        accesses.front().first == pieces[0].life.lower && accesses.back().last + 1 == pieces[0].life.upper;
    Bytes traffic = 0;
    for (const stream::RowAccess& it : accesses) traffic += it.bytes;
    if (!is_all || traffic != plan_.buffers[b].traffic || memories_.size() < 2 || homes_[b] == 0)
      return false;
    for (std::size_t i = 0; i + 1 < accesses.size(); ++i) {
      if (!view_across(b, accesses[i].last, accesses[i + 1].first)) return false;
    }
    return std::ranges::none_of(views_in_[b], [&](const ViewOf& it) { return view(it).ring.has_value(); });
  }

  /// The only view that is live at two positions; none if there is another number of them.
  [[nodiscard]] std::optional<ViewOf> view_across(std::size_t b, Position before, Position after) const {
    std::optional<ViewOf> found;
    for (const ViewOf& it : views_in_[b]) {
      const Lifetime& life = view(it).life;
      const bool is_before = life.lower <= before && before < life.upper;
      const bool is_after = life.lower <= after && after < life.upper;
      if (!is_before || !is_after) continue;
      if (found) return std::nullopt;
      found = it;
    }
    return found;
  }

  [[nodiscard]] Bytes bytes_across(std::size_t b, const Need& need, std::size_t gap) const {
    const ViewOf it = *view_across(b, need.touches[gap].last, need.touches[gap + 1].first);
    return bytes_of(plan_, {.tensor = it.tensor, .rows = view(it).rows, .block = view(it).block});
  }

  // The plan with moves

  /// One of the buffers that an old one becomes, while it has the bytes.
  struct Part {
    std::size_t memory = 0;
    Bytes offset = 0;
    Lifetime life{};  ///< On the new clock.
    Bytes traffic = 0;
    std::vector<View> views{};  ///< With their tensors, below.
    std::vector<std::size_t> tensors{};
    std::size_t number = 0;  ///< Of its buffer in the new plan.
  };

  /// A copy between the stay and home.
  struct Move {
    std::size_t buffer = 0;  ///< The old one.
    std::size_t stay = 0;
    bool is_spill = false;
    std::size_t which = 0;  ///< Of its kind before that step.
    Position before = 0;    ///< The old position of the step that follows.
  };

  void apply() {
    Stretched clock(needs_.end);
    for (std::size_t b = 0; b < stays_.size(); ++b) {
      const Need& need = needs_.all[b];
      for (std::size_t s = 0; s < stays_[b].size(); ++s) {
        const FastStay& stay = stays_[b][s];
        if (is_fetched(need, stay)) {
          const Position before = need.touches[stay.first].first;
          moves_.push_back({b, s, false, clock.add_fetch(before), before});
        }
        if (is_spilled(need, stay)) {
          const Position before = need.touches[stay.last].last + 1;
          moves_.push_back({b, s, true, clock.add_spill(before), before});
        }
      }
    }
    clock.finish();
    fetched_at_.resize(stays_.size());
    spilled_at_.resize(stays_.size());
    for (std::size_t b = 0; b < stays_.size(); ++b) {
      fetched_at_[b].resize(stays_[b].size());
      spilled_at_[b].resize(stays_[b].size());
    }
    for (const Move& move : moves_) {
      auto& at = (move.is_spill ? spilled_at_ : fetched_at_)[move.buffer][move.stay];
      at = move.is_spill ? clock.spill(move.before, move.which) : clock.fetch(move.before, move.which);
    }
    std::vector<std::vector<Part>> parts;
    for (std::size_t b = 0; b < stays_.size(); ++b) parts.push_back(parts_of(b, clock));
    put(parts, clock);
  }

  /// FastStays in their order, then home if it is needed.
  [[nodiscard]] std::vector<Part> parts_of(std::size_t b, const Stretched& clock) {
    std::vector<Part> parts;
    for (std::size_t s = 0; s < stays_[b].size(); ++s) parts.push_back(part_of_stay(b, s, clock));
    Part home = home_part(b, clock);
    if (is_weight(b)) {  // it is there anyway
      weights_at_home_ += home.traffic;
      return parts;
    }
    const bool is_needed = home.life.lower < home.life.upper || parts.empty();
    if (is_needed) parts.push_back(std::move(home));
    return parts;
  }

  [[nodiscard]] Part part_of_stay(std::size_t b, std::size_t s, const Stretched& clock) const {
    const Need& need = needs_.all[b];
    const FastStay& stay = stays_[b][s];
    const Touch& first = need.touches[stay.first];
    const Touch& last = need.touches[stay.last];
    Part part{.offset = stay.offset, .life = {clock.of(first.first), clock.of(last.last) + 1}};
    if (const auto& at = fetched_at_[b][s]) {
      part.life.lower = *at;
      part.traffic += bytes_fetched(need, stay);
    }
    if (const auto& at = spilled_at_[b][s]) {
      part.life.upper = *at + 1;
      part.traffic += need.carried[stay.last];
    }
    for (std::size_t i = stay.first; i <= stay.last; ++i) part.traffic += need.touches[i].bytes;
    for (const ViewOf& it : views_in_[b]) {
      const Lifetime& life = view(it).life;
      if (!can_move_[b]) {  // it has all of them, also those that are written over where they begin
        add_view(it, life_of_still_view(b, it, clock), part);
        continue;
      }
      if (is_weight(b)) {
        add_view(it, part.life, part);
        continue;
      }
      if (life.lower > last.last || life.upper <= first.first) continue;
      const Position lower = life.lower < first.first ? part.life.lower : clock.of(life.lower);
      const Position upper = life.upper > last.last + 1 ? part.life.upper : clock.upper(life.upper);
      add_view(it, {lower, upper}, part);
    }
    return part;
  }

  /// Of a view in a buffer that does not move. One that is written over lasts until then, also across copies.
  [[nodiscard]] Lifetime life_of_still_view(std::size_t b, const ViewOf& it, const Stretched& clock) const {
    Lifetime life = life_on(clock, view(it).life);
    if (is_written_over(plan_, views_in_[b], it)) life.upper = clock.of(view(it).life.upper);
    return life;
  }

  void add_view(const ViewOf& it, const Lifetime& life, Part& part) const {
    part.views.push_back(view(it));
    part.views.back().life = life;
    part.tensors.push_back(it.tensor);
  }

  /// Home has each value from the touch or spill that brings it to the last touch there or fetch.
  [[nodiscard]] Part home_part(std::size_t b, const Stretched& clock) const {
    const Need& need = needs_.all[b];
    Part home{.memory = homes_[b]};
    std::vector<std::optional<std::size_t>> stay_of(need.touches.size());
    for (std::size_t s = 0; s < stays_[b].size(); ++s) {
      for (std::size_t i = stays_[b][s].first; i <= stays_[b][s].last; ++i) stay_of[i] = s;
    }
    for (std::size_t i = 0; i < need.touches.size(); ++i) {
      if (!stay_of[i]) home.traffic += need.touches[i].bytes;
    }
    for (std::size_t s = 0; s < stays_[b].size(); ++s) {
      if (fetched_at_[b][s]) home.traffic += bytes_fetched(need, stays_[b][s]);
      if (spilled_at_[b][s]) home.traffic += need.carried[stays_[b][s].last];
    }
    for (const ViewOf& it : views_in_[b]) {
      const auto life = life_at_home(b, it, stay_of, clock);
      if (!life) continue;
      add_view(it, *life, home);
      extend(*life, home.life);
    }
    if (stays_[b].empty())
      home.life = life_on(clock, pack::life_of(plan_.buffers[b]));  // also of sums, which have no view
    return home;
  }

  static void extend(const Lifetime& by, Lifetime& life) {
    life = life.lower == life.upper
               ? by
               : Lifetime{std::min(life.lower, by.lower), std::max(life.upper, by.upper)};
  }

  /// None: the view is never at home.
  [[nodiscard]] std::optional<Lifetime> life_at_home(std::size_t b, const ViewOf& it,
                                                     const std::vector<std::optional<std::size_t>>& stay_of,
                                                     const Stretched& clock) const {
    if (stays_[b].empty()) return life_of_still_view(b, it, clock);
    const Need& need = needs_.all[b];
    const Lifetime& own = view(it).life;
    std::optional<Lifetime> life;
    const auto use = [&](Position lower, Position upper) {
      if (!life) life = Lifetime{lower, upper};
      life->upper = std::max(life->upper, upper);
    };
    for (std::size_t i = 0; i < need.touches.size(); ++i) {
      const Touch& touch = need.touches[i];
      if (touch.last < own.lower || touch.first >= own.upper) continue;
      const Position from = std::max(own.lower, touch.first);
      const Position to = std::min(own.upper, touch.last + 1);
      const auto& stay = stay_of[i];
      if (!stay) {
        use(clock.of(from), clock.upper(to));
        continue;
      }
      const bool comes_from_before = own.lower < touch.first;
      const bool goes_on_behind = own.upper > touch.last + 1;
      const auto& fetch = fetched_at_[b][*stay];
      const auto& spill = spilled_at_[b][*stay];
      if (i == stays_[b][*stay].first && fetch && comes_from_before) use(*fetch, *fetch + 1);
      if (i == stays_[b][*stay].last && spill && goes_on_behind) use(*spill, *spill + 1);
    }
    return life;
  }

  void put(std::vector<std::vector<Part>>& parts, const Stretched& clock) {
    std::vector<Buffer> buffers;
    std::vector<Place> places;
    base::UniqueNames ids;
    for (const Buffer& buffer : plan_.buffers) ids.reserve(buffer.id);
    for (std::size_t b = 0; b < parts.size(); ++b) {
      for (std::size_t p = 0; p < parts[b].size(); ++p) {
        Part& part = parts[b][p];
        Buffer buffer = plan_.buffers[b];
        buffer.traffic = part.traffic;
        if (p > 0 || is_weight(b))
          buffer.id = ids.unique(fmt::format("{}@{}", buffer.id, memories_[part.memory].name));
        if (can_move_[b]) {
          buffer.pieces = {{0, buffer.pieces[0].size, part.life}};
        } else {
          memories::stretch(clock, buffer.pieces);
        }
        part.number = buffers.size();
        buffers.push_back(std::move(buffer));
        places.push_back({part.memory, part.offset});
      }
    }
    if (!place_slow(buffers, places)) return;
    put_steps(parts, clock);
    put_views(parts);
    plan_.buffers = std::move(buffers);
    plan_.places = std::move(places);
    is_applied_ = true;
  }

  /// Finds offsets in the slow memories. False if they are too small.
  [[nodiscard]] bool place_slow(const std::vector<Buffer>& buffers, std::vector<Place>& places) const {
    for (std::size_t m = 1; m < memories_.size(); ++m) {
      std::vector<std::size_t> set = memories::set_of(places, m);
      std::ranges::stable_sort(set, std::greater<>(), [&](std::size_t b) { return buffers[b].size; });
      pack::Occupancy occupancy(buffers);
      for (const ByteRange& range : memories_[m].reserved) {
        const Bytes size = range.end - range.begin;
        occupancy.reserve({.size = size, .pieces = {{0, size, whole_life(buffers)}}}, range.begin);
      }
      for (const std::size_t b : set) {
        const bool is_alive = std::ranges::any_of(buffers[b].pieces, &Piece::is_ever_alive);
        places[b].offset = is_alive ? occupancy.lowest_fit(buffers[b]) : 0;
        if (places[b].offset + buffers[b].size > pack::capacity_of(memories_[m])) return false;
        if (is_alive) occupancy.reserve(buffers[b], places[b].offset);
      }
    }
    return true;
  }

  static Lifetime whole_life(const std::vector<Buffer>& buffers) {
    Lifetime life{};
    for (const Buffer& buffer : buffers) extend(pack::life_of(buffer), life);
    return life;
  }

  void put_steps(const std::vector<std::vector<Part>>& parts, const Stretched& clock) {
    std::vector<Step>& old = plan_.clocks[0].steps;
    std::vector<Step> steps(old.size() + moves_.size());
    for (std::size_t at = 0; at < old.size(); ++at) {
      if (auto* const run = std::get_if<Run>(&old[at])) {
        for (auto* const sums : {&run->sums, &run->carry}) {
          if (*sums) (*sums)->buffer = parts[(*sums)->buffer][0].number;
        }
      }
      steps[static_cast<std::size_t>(clock.of(static_cast<Position>(at)))] = std::move(old[at]);
    }
    for (const Move& move : moves_) {
      const Need& need = needs_.all[move.buffer];
      const FastStay& stay = stays_[move.buffer][move.stay];
      const std::size_t fast = parts[move.buffer][move.stay].number;
      const auto& moved_at = (move.is_spill ? spilled_at_ : fetched_at_)[move.buffer][move.stay];
      if (is_weight(move.buffer)) {  // its home is not yet in the plan
        const ViewOf& it = views_in_[move.buffer][0];
        steps[static_cast<std::size_t>(*moved_at)] = Copy{it.tensor, fast, fast, view(it).rows};
        continue;
      }
      const std::size_t gap = move.is_spill ? stay.last : stay.first - 1;
      const ViewOf it = *view_across(move.buffer, need.touches[gap].last, need.touches[gap + 1].first);
      const std::size_t home = parts[move.buffer].back().number;
      steps[static_cast<std::size_t>(*moved_at)] = Copy{
          it.tensor, move.is_spill ? fast : home, move.is_spill ? home : fast, view(it).rows, view(it).block};
    }
    plan_.clocks[0].steps = std::move(steps);
  }

  void put_views(const std::vector<std::vector<Part>>& parts) {
    for (PlannedTensor& tensor : plan_.tensors) tensor.views.clear();
    for (const auto& of_buffer : parts) {
      for (const Part& part : of_buffer) {
        for (std::size_t v = 0; v < part.views.size(); ++v) {
          View own = part.views[v];
          own.buffer = part.number;
          plan_.tensors[part.tensors[v]].views.push_back(std::move(own));
        }
      }
    }
  }

  BufferAccesses accesses_;
  std::vector<Memory> memories_;  ///< Those for tensors that change, and that for weights if these move.
  const pack::Control& control_;
  Plan& plan_;
  std::size_t first_weight_;                   ///< Buffers from here on are of weights.
  std::size_t working_;                        ///< Memories for tensors that change.
  std::vector<std::vector<ViewOf>> views_in_;  ///< Of each buffer, in the order of time.
  std::vector<std::size_t> homes_;             ///< The slow memory of each buffer; 0: none.
  std::vector<bool> can_move_;                 ///< Of each buffer.
  Needs needs_;
  std::vector<FastStays> stays_;
  std::vector<Move> moves_;
  Bytes weights_at_home_ = 0;  ///< That steps and copies read in the memory for weights.
  bool is_applied_ = false;
  std::vector<std::vector<std::optional<Position>>>
      fetched_at_;  ///< Of each stay of each buffer, on the new clock.
  std::vector<std::vector<std::optional<Position>>> spilled_at_;
};

}  // namespace

std::optional<RowMoves> least_cost_of_moves(const BufferAccesses& accesses,
                                            const std::vector<Memory>& memories,
                                            const std::optional<StoredWeights>& weights,
                                            const pack::Control& control, Plan& plan) {
  return RowMover(accesses, memories, weights, control, plan).bound();
}

std::optional<RowMoves> move_rows(const BufferAccesses& accesses, const std::vector<Memory>& memories,
                                  const std::optional<StoredWeights>& weights, const pack::Control& control,
                                  Plan& plan) {
  return RowMover(accesses, memories, weights, control, plan).run();
}

}  // namespace stowage::plan
