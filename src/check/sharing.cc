// Every need with a place makes boxes: bytes of a buffer by time, one for each run of bytes, or for each fragment of
// the tensor's content. Overlapping boxes of one clock must have the same content (LiveContent).
//
// Boxes of one clock are compared by address. Needs of a branch may be in a buffer of a clock that forks it. They are
// compared on their own clock; then all of them together, for as long as the fork takes, are compared with what its
// parent and the fork's other branches have in that buffer:
//
//   clock 1, forked at 4       clock 0
//   position  0   1   2        position   3   4   5
//   8..16     a   a   a        8..16      a   a   a       outlives the branch
//   0..8      b   b   c        0..8       c   *           content of branch 1 alone
//
// A position has two halves. In the first, the caller and bodies hand over inputs; in the second, an operator
// runs. So two inputs cannot be in one place even if the operator at their first position writes over both.
//
// Views of rows may be longer than what steps need. So in plans by rows the bytes that no piece of a buffer reserves
// are boxes, too, of nobody's content (free_bytes.cc), and each buffer is a space of its own. Places of buffers do not
// overlap (places.cc).

#include "check/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/overlap.h"
#include "check/constants.h"
#include "check/content.h"
#include "check/free_bytes.h"
#include "check/names.h"
#include "model/motions.h"

namespace stowage::check {
namespace {

// Live content. A box knows the source of its bytes and, by its shift, which bytes of it: two boxes may
// overlap if source and shift are equal, because then every common byte is the same byte. One sweep over time
// keeps the live addresses as segments of one content each, and counts their holders:
//
//   address   0        8       12
//   concat    [ a, shift 0 | b, shift 8 ]
//   a         [ a, shift 0 ]                counts   2 ... 2  1 ... 1
//   other         [ c ]                     another source: refused
//
// Cost: n log n in boxes, plus the segments that each box spans; these are few unless many tensors overlap in
// many ways.

/// Content of a box: bytes of a source, moved by a shift.
struct Content {
  std::size_t source = 0;  ///< Numbered through all networks; higher numbers: unique content.
  Bytes shift = 0;         ///< Address minus offset in the source.

  auto operator<=>(const Content&) const = default;
};

/// Of bytes that are not reserved.
constexpr Content nobodys{std::numeric_limits<std::size_t>::max(), 0};

/// A need, and its network; no need: bytes that are not reserved.
struct Holder {
  std::size_t network = 0;
  const KeptBytes* need = nullptr;
};

struct HeldBox {
  Lifetime life;  ///< In halves of positions.
  Bytes begin = 0;
  Bytes end = 0;
  Content content{};
  Holder holder{};
  model::MotionId begin_motion = 0;  ///< How `begin` moves with open extents; all numbers are at the largest.
  model::MotionId end_motion = 0;
  model::MotionId shift_motion = 0;

  [[nodiscard]] bool moves() const { return begin_motion != 0 || shift_motion != 0; }
};

/// Two holders of different content in one byte at one position.
struct Conflict {
  Holder first{};
  Holder second{};
  Position at = 0;
};

[[nodiscard]] Position end_of(const Holder& holder) {
  return holder.need != nullptr ? holder.need->life.upper : 0;
}

/// Live bytes of a buffer, each with its content.
class LiveContent {
 public:
  /// The holder of other content in these bytes, if any; after a conflict, do not call this object again.
  std::optional<Holder> add(const HeldBox& box) {
    split_at(box.begin);
    split_at(box.end);
    Bytes done = box.begin;
    auto next = segments_.lower_bound(box.begin);
    while (done < box.end) {
      if (next == segments_.end() || next->first > done) {
        const Bytes end = next == segments_.end() ? box.end : std::min(box.end, next->first);
        segments_.emplace_hint(next, done, Segment{end, box.content, box.holder, 1});
        done = end;
        continue;
      }
      Segment& segment = next->second;
      if (segment.content != box.content) return segment.longest;
      if (end_of(segment.longest) < end_of(box.holder)) segment.longest = box.holder;
      ++segment.holders;
      done = segment.end;
      ++next;
    }
    return std::nullopt;
  }

  void remove(const HeldBox& box) {
    for (auto it = segments_.lower_bound(box.begin); it != segments_.end() && it->first < box.end;)
      it = --it->second.holders == 0 ? segments_.erase(it) : std::next(it);
  }

 private:
  struct Segment {
    Bytes end = 0;
    Content content{};
    Holder longest{};  ///< The holder that needs it longest.
    std::size_t holders = 0;
  };

  void split_at(Bytes address) {
    const auto after = segments_.lower_bound(address);
    if (after == segments_.begin()) return;
    Segment& segment = std::prev(after)->second;
    if (segment.end <= address) return;
    Segment upper = segment;
    segment.end = address;
    segments_.emplace_hint(after, address, upper);
  }

  std::map<Bytes, Segment> segments_;  ///< By first address.
};

/// A deque, because it grows without a second copy of the boxes.
using HeldBoxes = std::deque<HeldBox>;

/// Sorts the boxes by the begin of their live ranges.
std::optional<Conflict> find_conflict(HeldBoxes& boxes) {
  std::sort(boxes.begin(), boxes.end(), [](const HeldBox& a, const HeldBox& b) {
    const auto tensor = [](const Holder& it) {
      return it.need != nullptr ? it.need->tensor : std::numeric_limits<TensorId>::max();
    };
    return std::tuple(a.life.lower, a.begin, a.holder.network, tensor(a.holder)) <
           std::tuple(b.life.lower, b.begin, b.holder.network, tensor(b.holder));
  });
  using Ending = std::pair<Position, std::size_t>;  // end of a live range, box
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
  LiveContent live;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const HeldBox& box = boxes[b];
    if (box.life.lower >= box.life.upper || box.begin >= box.end) continue;
    for (; !endings.empty() && endings.top().first <= box.life.lower; endings.pop())
      live.remove(boxes[endings.top().second]);
    if (const auto other = live.add(box)) return Conflict{*other, box.holder, box.life.lower / 2};
    endings.emplace(box.life.upper, b);
  }
  return std::nullopt;
}

// Boxes that move. At the largest extents they are compared as all others. At smaller ones a box may reach what was apart
// from it, so each is compared with all boxes of its buffer that live at the same time. No piece of another buffer is
// near: pieces reserve all places of a view (places.cc). Cost: quadratic in the boxes of a buffer in which some move.

/// Two holders that may have different content in one byte at smaller extents.
std::optional<Conflict> find_moving_conflict(const model::Motions& motions,
                                             std::vector<const HeldBox*> boxes) {
  const auto is_below = [&](const HeldBox& a, const HeldBox& b) {
    return motions.is_never_behind(a.end, a.end_motion, b.begin, b.begin_motion);
  };
  std::ranges::stable_sort(boxes, {}, [](const HeldBox* it) { return it->life.lower; });
  std::vector<const HeldBox*> live;
  for (const HeldBox* const box : boxes) {
    if (box->life.lower >= box->life.upper) continue;
    std::erase_if(live, [&](const HeldBox* it) { return it->life.upper <= box->life.lower; });
    for (const HeldBox* const other : live) {
      const bool is_same = other->content == box->content && other->shift_motion == box->shift_motion;
      if (is_same || is_below(*other, *box) || is_below(*box, *other)) continue;
      return Conflict{other->holder, box->holder, box->life.lower / 2};
    }
    live.push_back(box);
  }
  return std::nullopt;
}

/// The same of all buffers in which some boxes move.
std::optional<Conflict> find_moving_conflict(const model::Motions& motions, const HeldBoxes& boxes) {
  std::map<std::size_t, std::vector<const HeldBox*>> moving;  // by buffer
  for (const HeldBox& box : boxes) {
    if (box.moves() && box.holder.need != nullptr) moving[box.holder.need->buffer];
  }
  if (moving.empty()) return std::nullopt;
  for (const HeldBox& box : boxes) {
    const auto of_buffer = box.holder.need == nullptr ? moving.end() : moving.find(box.holder.need->buffer);
    if (of_buffer != moving.end()) of_buffer->second.push_back(&box);
  }
  for (auto& [buffer, of_buffer] : moving) {
    if (const auto conflict = find_moving_conflict(motions, std::move(of_buffer))) return conflict;
  }
  return std::nullopt;
}

/// What the boxes hold at any time, as boxes with that live range. Bytes whose content changes get a content
/// of their own, numbered from `unique` on.
HeldBoxes held_together(std::span<const HeldBox> boxes, const Lifetime& life, std::size_t& unique) {
  using Event = std::tuple<Bytes, bool, std::size_t>;  // address, true if the box begins there, box
  std::vector<Event> events;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    if (boxes[b].life.lower >= boxes[b].life.upper || boxes[b].begin >= boxes[b].end) continue;
    events.emplace_back(boxes[b].begin, true, b);
    events.emplace_back(boxes[b].end, false, b);
  }
  std::sort(events.begin(), events.end());
  HeldBoxes together;
  struct Present {
    std::size_t boxes = 0;
    Holder holder{};
  };
  std::map<Content, Present> present;
  Bytes done = 0;
  for (const auto& [address, begins, b] : events) {
    if (!present.empty() && done < address) {
      const bool is_same = present.size() == 1;
      const Content content = is_same ? present.begin()->first : Content{unique++, 0};
      HeldBox* const last = together.empty() ? nullptr : &together.back();
      if (last != nullptr && is_same && last->end == done && last->content == content) {
        last->end = address;
      } else {
        together.push_back({life, done, address, content, present.begin()->second.holder});
      }
    }
    done = address;
    const auto it = present.try_emplace(boxes[b].content, Present{0, boxes[b].holder}).first;
    if (begins) {
      ++it->second.boxes;
    } else if (--it->second.boxes == 0) {
      present.erase(it);
    }
  }
  return together;
}

// From needs to boxes

constexpr std::int64_t most_boxes = std::int64_t{1} << 23;

/// True for all rows of a whole view, whose bytes are consecutive.
bool is_one_run(const NetworkSteps& part, const KeptBytes& need) {
  return part.outer_of(need) == 1 || need.count() == part.rows_of(need.tensor).count;
}

/// Number of runs of consecutive bytes.
std::int64_t runs_of(const NetworkSteps& part, const KeptBytes& need) {
  return is_one_run(part, need) ? 1 : part.outer_of(need);
}

Bytes bytes_of_run(const NetworkSteps& part, const KeptBytes& need) {
  return need.count() * need.step * (is_one_run(part, need) ? part.outer_of(need) : 1);
}

/// Boxes of one clock, by the memory, or in plans with rows the buffer, in which they have addresses.
using BoxesBySpace = std::map<std::size_t, HeldBoxes>;

/// Boxes by the rank of their clocks, forked clocks first.
using BoxesByClock = std::map<std::size_t, BoxesBySpace, std::greater<>>;

/// Makes the boxes of all needs.
class BoxMaker {
 public:
  BoxMaker(const Plan& plan, const model::ClockTree& tree, std::span<const Network> networks,
           Sources& sources, bool has_rows)
      : plan_(plan),
        tree_(tree),
        networks_(networks),
        sources_(sources),
        has_rows_(has_rows),
        users_(plan.buffers.size()) {
    std::size_t sums = 2 * sources.size();
    for (const Network& network : networks) {
      first_sums_.push_back(sums);
      sums += network.graph().subgraphs[0].operators.size();
    }
  }

  BoxesByClock make() {
    for (std::size_t n = 0; n < networks_.size(); ++n) {
      for (const KeptBytes& need : networks_[n].needs.all) {
        note_user(need.buffer, source_of({n, &need}));
      }
    }
    for (std::size_t n = 0; n < networks_.size(); ++n) {
      for (const KeptBytes& need : networks_[n].needs.all) {
        add_need({n, &need});
      }
    }
    if (has_rows_) add_free_boxes();
    return std::move(boxes_);
  }

 private:
  struct Users {
    std::optional<std::size_t> first{};
    bool are_several = false;
  };

  void note_user(std::size_t buffer, std::size_t source) {
    Users& users = users_[buffer];
    users.are_several = users.are_several || (users.first && *users.first != source);
    users.first = source;
  }

  /// Sums and rows that are stored row by row are contents of their own.
  [[nodiscard]] std::size_t source_of(const Holder& holder) const {
    const KeptBytes& need = *holder.need;
    if (need.sums_of) return first_sums_[holder.network] + *need.sums_of;
    const std::size_t source = sources_.of_all({holder.network, need.tensor});
    const bool is_row_major = need.is_in_whole_view || part_of(holder).rows_of(need.tensor).outer == 1;
    return is_row_major ? source : sources_.size() + source;
  }

  [[nodiscard]] const NetworkSteps& part_of(const Holder& holder) const {
    return networks_[holder.network].part;
  }

  void add_need(const Holder& holder) {
    const KeptBytes& need = *holder.need;
    const bool is_weight = is_constant(networks_[holder.network].graph().tensors[need.tensor].kind);
    add_boxes(holder, is_weight ? plan_.buffers[need.buffer].clock : part_of(holder).span.clock,
              {2 * need.life.lower + (need.is_given || need.handing == Handing::done ? 0 : 1),
               2 * need.life.upper + (need.is_written_over ? 1 : 0)});
    for (const model::Stretch& stretch : networks_[holder.network].played.beyond_of(need))
      add_boxes(holder, stretch.clock, {2 * stretch.life.lower, 2 * stretch.life.upper});
  }

  void add_boxes(const Holder& holder, std::size_t clock, const Lifetime& halves) {
    const KeptBytes& need = *holder.need;
    const bool is_by_rows = part_of(holder).is_by_rows;
    const Place& place = plan_.places[need.buffer];
    HeldBoxes& boxes = boxes_[tree_.rank_of(clock)][has_rows_ ? need.buffer : place.memory];
    const Bytes first = need.first + (has_rows_ ? 0 : place.offset);
    // Rows that are added up or computed again change bytes that copies of them repeat.
    const auto fragments =
        is_by_rows ? std::span<const Fragment>() : sources_.of({holder.network, need.tensor});
    const model::MotionId moved =
        need.view != nullptr && need.view->moves ? sources_.motion_in(holder.network, *need.view->moves) : 0;
    if (!fragments.empty() && users_[need.buffer].are_several) {
      for (const Fragment& part : fragments) {
        const Bytes begin = first + part.begin;
        boxes.push_back({halves,
                         begin,
                         begin + part.size,
                         {part.source, begin - part.from},
                         holder,
                         sources_.sum_of(moved, part.begin_motion),
                         sources_.sum_of(moved, part.end_motion),
                         sources_.sum_of(moved, part.shift_motion)});
      }
      return;
    }
    const Tensor& tensor = networks_[holder.network].graph().tensors[need.tensor];
    const bool may_end_early = !is_by_rows && need.view != nullptr && is_open(tensor);
    const model::MotionId end_motion =
        may_end_early ? sources_.sum_of(moved, sources_.motion_in(holder.network, end_of(tensor))) : moved;
    const Bytes shift = first - need.rows.first * need.step;
    const Bytes size = bytes_of_run(part_of(holder), need);
    for (std::int64_t i = 0; i < runs_of(part_of(holder), need); ++i) {
      const Bytes begin = first + i * need.step * part_of(holder).rows_of(need.tensor).count;
      boxes.push_back(
          {halves, begin, begin + size, {source_of(holder), shift}, holder, moved, end_motion, moved});
    }
  }

  /// How its end moves if its begin stays; if that is not known, it is taken to stay where it is at the largest extents.
  static model::Motion end_of(const Tensor& tensor) {
    return model::motion_of_end(tensor).value_or(model::Motion());
  }

  void add_free_boxes() {
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      HeldBoxes& boxes = boxes_[tree_.rank_of(plan_.buffers[b].clock)][b];
      for (const base::Box& free : free_bytes(plan_.buffers[b])) {
        const Lifetime halves{2 * free.life.lower, 2 * free.life.upper};
        boxes.push_back({halves, free.begin, free.end, nobodys, {}});
      }
    }
  }

  const Plan& plan_;
  const model::ClockTree& tree_;
  std::span<const Network> networks_;
  Sources& sources_;
  bool has_rows_;                        ///< Boxes are by buffer, and free bytes are boxes, too.
  std::vector<std::size_t> first_sums_;  ///< Of each network: the content of its first sums.
  BoxesByClock boxes_;
  std::vector<Users> users_;  ///< Of each buffer.
};

/// Passes what a branch has in buffers of clocks that fork it up to these clocks.
void hand_up(const Plan& plan, const model::ClockTree& tree, std::size_t clock, const BoxesBySpace& boxes,
             bool has_rows, std::size_t& unique, BoxesByClock& all) {
  const model::Stretch& fork = *tree.fork_of(clock);
  std::map<std::size_t, std::vector<HeldBox>> by_buffer;
  for (const auto& [memory, of_memory] : boxes) {
    for (const HeldBox& box : of_memory) {
      if (box.holder.need == nullptr) continue;  // free bytes
      const std::size_t buffer = box.holder.need->buffer;
      if (plan.buffers[buffer].clock != clock) by_buffer[buffer].push_back(box);
    }
  }
  for (const auto& [buffer, of_buffer] : by_buffer) {
    const HeldBoxes together = held_together(of_buffer, {2 * fork.life.lower, 2 * fork.life.upper}, unique);
    HeldBoxes& parents = all[tree.rank_of(fork.clock)][has_rows ? buffer : plan.places[buffer].memory];
    parents.insert(parents.end(), together.begin(), together.end());
  }
}

std::string name_of(const Network& network, const KeptBytes& need) {
  if (need.sums_of) return "the sums of " + describe(network.graph(), 0, *need.sums_of);
  const std::string name = describe(network.graph(), need.tensor);
  if (!network.part.is_by_rows || is_constant(network.graph().tensors[need.tensor].kind)) return name;
  const std::string since = need.is_given ? "given at the start" : fmt::format("of step {}", need.life.lower);
  if (!network.part.rows_of(need.tensor).axis) return fmt::format("{}, {},", name, since);
  return fmt::format("rows {} to {} of {}, {},", need.rows.first, need.rows.second, name, since);
}

void check_content(const Plan& plan, const model::ClockTree& tree, std::span<const Network> networks,
                   std::span<const Joined> joined, Faults& faults) {
  const auto name = [&](const Holder& holder) { return name_of(networks[holder.network], *holder.need); };
  const auto in_buffer_of = [&](const Holder& a, const Holder& b) {
    return a.need->buffer == b.need->buffer ? " in " + name_of_buffer(plan, a.need->buffer) : "";
  };
  Sources sources(networks, joined);
  const bool has_rows =
      std::ranges::any_of(networks, [](const Network& network) { return network.part.is_by_rows; });
  std::size_t unique = 2 * sources.size();
  for (const Network& network : networks) unique += network.graph().subgraphs[0].operators.size();
  BoxesByClock all = BoxMaker(plan, tree, networks, sources, has_rows).make();
  while (!all.empty()) {
    const std::size_t clock = tree.clock_of_rank(all.begin()->first);
    BoxesBySpace boxes = std::move(all.begin()->second);
    all.erase(all.begin());
    for (auto& [space, of_space] : boxes) {
      auto conflict = find_conflict(of_space);
      const bool is_at_smaller = !conflict;
      if (!conflict) conflict = find_moving_conflict(sources.motions(), of_space);
      if (!conflict) continue;
      const auto& [first, second, at] = *conflict;
      if (first.need == nullptr || second.need == nullptr) {
        const Holder& holder = first.need == nullptr ? second : first;
        faults.push_back({FaultKind::accounting,
                          fmt::format("not all of the bytes are reserved for {} in {} at position {}",
                                      name(holder), name_of_buffer(plan, holder.need->buffer), at)});
      } else {
        faults.push_back(
            {FaultKind::overlap,
             fmt::format("{} and {} {}need the same bytes for different content{} at position {}{}{}",
                         name(first), name(second), is_at_smaller ? "may " : "", in_buffer_of(first, second),
                         at, of_clock(clock), is_at_smaller ? ", where open extents are smaller" : "")});
      }
    }
    if (clock != 0) hand_up(plan, tree, clock, boxes, has_rows, unique, all);
  }
}

}  // namespace

void check_sharing(const Plan& plan, const model::ClockTree& tree, std::span<const Network> networks,
                   std::span<const Joined> joined, Faults& faults) {
  std::int64_t runs = 0;
  for (const Network& network : networks) {
    if (!network.part.is_by_rows) continue;
    for (const KeptBytes& need : network.needs.all)
      runs = std::min(runs + runs_of(network.part, need), most_boxes + 1);
  }
  if (runs > most_boxes) {
    faults.push_back(
        {FaultKind::format,
         fmt::format("rows are scattered over more than {} runs of bytes; this version understands no more",
                     most_boxes)});
    return;
  }
  check_content(plan, tree, networks, joined, faults);
}

}  // namespace stowage::check
