// A tensor that must be whole is one buffer, which reserves only the bytes of live rows. Other tensors
// are rings, or split into granules:
//
//     whole   [r0 r1 r2 r3 r4 r5]   r0 reserved from its writing to its last reading, r1 ...
//     ring    [r3|r1|r2]            row r in slot r mod 3; as many slots as lives of rows overlap
//     apart   [r1] [r2] [r3]        each wherever there is room
//
// A ring is one block and simple to run. But a slot is empty from its row's last reading to the next row's
// writing, and the used slots are not always contiguous. Granules pack closer, sometimes by a third. All
// three forms reserve only bytes of live rows, except for a whole buffer of very many pieces.
//
// Scratch memory of an operator is one buffer, reserved in each of its steps.
//
// Tensors that take each other over share one buffer, of the last taker's size.
//
// Cost: linear in granules, times their runs if rows are not contiguous.

#include "stream/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/checked.h"
#include "base/unique_names.h"

namespace stowage::stream {
namespace {

/// In a buffer of more pieces than this, adjacent row blocks share a piece.
constexpr std::int64_t most_pieces = 1 << 11;

/// Tensors that take each other over.
struct Family {
  std::vector<std::size_t> members{};
  std::vector<Lifetime> lives{};  ///< Of the granules of the last taker.
  bool is_whole = false;
  bool are_alike = true;    ///< All have the same rows.
  bool is_by_rows = false;  ///< Some must be stored row by row.
};

class LayingOut {
 public:
  LayingOut(const Graph& graph, const RowModel& model, const RowProgram& program,
            const RowTimetable& timetable, const LayoutOptions& options)
      : graph_(graph), model_(model), program_(program), timetable_(timetable), options_(options) {
    for (const stowage::Tensor& tensor : graph.tensors) layout_.tensors.push_back({0, tensor, {}});
    layout_.sums.resize(model.operators.size());
  }

  Layout run() {
    for (const auto& [root, family] : families()) {
      if (model_.tensors[root].bytes_per_row == 0 || !model_.tensors[root].source) continue;
      const bool is_again = !model_.tensors[root].again.empty();
      const bool may_be_whole = family.are_alike && !family.is_by_rows && !is_again;
      if (graph_.tensors[*model_.tensors[root].source].kind == TensorKind::scratch) {
        add_scratch(root, family);
      } else if (least_slots(family) > 0 && family.are_alike) {
        add_ring(root, family);
      } else if (family.is_whole || (may_be_whole && family.lives.size() == 1)) {
        add_whole(root, family);
      } else if (is_ring(root, family)) {
        add_ring(root, family);
      } else {
        add_granules(root, family);
      }
    }
    for (std::size_t op = 0; op < model_.operators.size(); ++op) {
      if (timetable_.sums[op]) add_sums(op);
    }
    if (!timetable_.accesses.empty()) layout_.accesses.resize(layout_.buffers.size());
    for (auto& accesses : layout_.accesses) accesses = joined(std::move(accesses));
    return std::move(layout_);
  }

 private:
  /// Families by their last taker, in the order of tensors.
  std::vector<std::pair<std::size_t, Family>> families() const {
    std::vector<std::pair<std::size_t, Family>> found;
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (root_of(t) != t) continue;
      Family family{.lives = timetable_.lives[t], .is_whole = model_.tensors[t].is_whole};
      for (std::optional<std::size_t> member = t; member;) {
        add_member(t, *member, family);
        const auto& taken = model_.tensors[*member].takes_over;
        member = taken ? std::optional(taken->tensor) : std::nullopt;
      }
      found.emplace_back(t, std::move(family));
    }
    return found;
  }

  [[nodiscard]] std::size_t root_of(std::size_t t) const {
    return *program_.granules[program_.ranges[t].first].tensor;
  }

  void add_member(std::size_t root, std::size_t member, Family& family) const {
    const Tensor& own = model_.tensors[member];
    const Tensor& all = model_.tensors[root];
    family.members.push_back(member);
    family.is_whole = family.is_whole || own.is_whole;
    family.is_by_rows = family.is_by_rows || (own.takes_over && own.takes_over->by_rows);
    family.are_alike = family.are_alike && own.rows == all.rows && own.bytes_per_row == all.bytes_per_row;
    const std::size_t shift = first_in(root, member);
    for (std::size_t g = 0; g < timetable_.lives[member].size(); ++g) {
      Lifetime& life = family.lives[g + shift];
      life.lower = std::min(life.lower, timetable_.lives[member][g].lower);
      life.upper = std::max(life.upper, timetable_.lives[member][g].upper);
    }
  }

  /// The first of a member's granules among those of the last taker.
  [[nodiscard]] std::size_t first_in(std::size_t root, std::size_t member) const {
    return program_.ranges[member].first - program_.ranges[root].first;
  }

  [[nodiscard]] Bytes bytes_of(std::size_t root, std::size_t granule) const {
    return program_.granules[program_.ranges[root].first + granule].bytes;
  }

  // Forms

  [[nodiscard]] bool is_ring(std::size_t root, const Family& family) const {
    if (!family.are_alike || options_.form == Form::granules || !model_.tensors[root].again.empty())
      return false;
    if (options_.form == Form::rings) return true;
    std::vector<std::pair<Position, Bytes>> changes;
    for (std::size_t g = 0; g < family.lives.size(); ++g) {
      changes.emplace_back(family.lives[g].lower, bytes_of(root, g));
      changes.emplace_back(family.lives[g].upper, -bytes_of(root, g));
    }
    std::sort(changes.begin(), changes.end());
    const Bytes ring = slots_of(family) * bytes_of(root, 0);
    Bytes live = 0;
    bool was_full = false;
    for (const auto& [at, bytes] : changes) {
      was_full = was_full || live == ring;
      live += bytes;
      // Once all slots are in use, rows may leave for good only at the end.
      if (was_full && live < ring - bytes_of(root, 0)) return at >= ascending(family.lives).back().lower;
    }
    return true;
  }

  /// Bytes that steps read and write in granules [first, first + count) of the last taker.
  [[nodiscard]] Bytes traffic_of(std::size_t root, const Family& family, std::size_t first,
                                 std::size_t count) const {
    Bytes sum = 0;
    for (const std::size_t member : family.members) {
      const std::vector<Bytes>& traffic = timetable_.traffic[member];
      const std::size_t shift = first_in(root, member);
      for (std::size_t g = 0; g < traffic.size(); ++g) {
        if (g + shift < first || g + shift >= first + count) continue;
        sum = sum_of(sum, traffic[g]);
      }
    }
    return sum;
  }

  /// That the options ask for; 0: it need not be a ring.
  [[nodiscard]] std::int64_t least_slots(const Family& family) const {
    std::int64_t least = 0;
    for (const std::size_t member : family.members) {
      const auto chosen = options_.slots.find(*model_.tensors[member].source);
      if (chosen != options_.slots.end()) least = std::max(least, chosen->second);
    }
    return least;
  }

  /// The lives of granules in the order of time: of rows that run backward, the last comes first.
  static std::vector<Lifetime> ascending(std::vector<Lifetime> lives) {
    if (lives.front().lower > lives.back().lower) std::reverse(lives.begin(), lives.end());
    return lives;
  }

  /// The fewest slots in which each granule is gone before the next one in its slot comes.
  static std::int64_t slots_of(const Family& family) {
    const std::vector<Lifetime> lives = ascending(family.lives);
    std::size_t slots = 1;
    std::size_t next = 0;
    for (std::size_t g = 0; g < lives.size(); ++g) {
      next = std::max(next, g + 1);
      while (next < lives.size() && lives[next].lower < lives[g].upper) ++next;
      slots = std::max(slots, next - g);
    }
    return static_cast<std::int64_t>(slots);
  }

  /// Row blocks of a whole tensor with these lives, `count` to a piece, in each of their runs.
  void add_pieces(const Tensor& tensor, std::span<const Lifetime> all, std::size_t count,
                  Buffer& buffer) const {
    const Bytes run = tensor.bytes_per_row / tensor.runs;
    const std::int64_t rows = tensor.rows / tensor.copies;
    for (std::int64_t r = 0; r < tensor.runs; ++r) {
      for (std::size_t g = 0; g < all.size(); g += count) {
        const auto lives = all.subspan(g, std::min(count, all.size() - g));
        const std::int64_t begin = static_cast<std::int64_t>(g) * tensor.granule;
        const std::int64_t end =
            std::min(rows, begin + static_cast<std::int64_t>(lives.size()) * tensor.granule);
        add_piece({(r * rows + begin) * run, (end - begin) * run, hull(lives)}, buffer);
      }
    }
  }

  /// A buffer for each copy.
  void add_whole(std::size_t root, const Family& family) {
    const Tensor& tensor = model_.tensors[root];
    const auto copies = static_cast<std::size_t>(tensor.copies);
    for (std::size_t copy = 0; copy < copies; ++copy) {
      const auto of_copy = [&](std::span<const Lifetime> lives) {
        const std::size_t count = lives.size() / copies;
        return lives.subspan(copy * count, count);
      };
      const std::span<const Lifetime> lives = of_copy(family.lives);
      Buffer buffer = buffer_of(root, name_of(root), graph_.tensors[*tensor.source].bytes);
      buffer.traffic = traffic_of(root, family, copy * lives.size(), lives.size());
      if (tensor.runs > most_pieces) {
        buffer.pieces.push_back({0, buffer.size, hull(lives)});
      } else {
        const auto pieces = static_cast<std::size_t>(most_pieces / tensor.runs);
        add_pieces(tensor, lives, (lives.size() + pieces - 1) / pieces, buffer);
      }
      for (const std::size_t member : family.members) {
        add_view(member, {.buffer = layout_.buffers.size(), .life = hull(of_copy(timetable_.lives[member]))});
        if (family.lives.size() == 1 && tensor.runs <= most_pieces)
          add_accesses(layout_.buffers.size(), member, 0);
      }
      layout_.buffers.push_back(std::move(buffer));
    }
  }

  /// All rows have one place, at different times.
  void add_scratch(std::size_t root, const Family& family) {
    Buffer buffer = buffer_of(root, name_of(root), bytes_of(root, 0));
    buffer.traffic = traffic_of(root, family, 0, family.lives.size());
    for (const Lifetime& life : family.lives) {
      if (!buffer.pieces.empty() && buffer.pieces.back().life.upper == life.lower) {
        buffer.pieces.back().life.upper = life.upper;
      } else {
        buffer.pieces.push_back({0, bytes_of(root, 0), life});
      }
    }
    add_view(root, {.buffer = layout_.buffers.size(), .life = hull(family.lives)});
    layout_.buffers.push_back(std::move(buffer));
  }

  void add_ring(std::size_t root, const Family& family) {
    const Tensor& tensor = model_.tensors[root];
    const std::int64_t slots = std::max(slots_of(family), least_slots(family));
    const Bytes slot = bytes_of(root, 0);
    Buffer buffer = buffer_of(root, name_of(root), slots * slot);
    buffer.traffic = traffic_of(root, family, 0, family.lives.size());
    for (std::size_t g = 0; g < family.lives.size(); ++g)
      buffer.pieces.push_back(
          {static_cast<std::int64_t>(g) % slots * slot, bytes_of(root, g), family.lives[g]});
    for (const std::size_t member : family.members) {
      add_view(member, {.buffer = layout_.buffers.size(),
                        .life = hull(timetable_.lives[member]),
                        .ring = Ring{model_.tensors[member].axis.value(), tensor.granule, slots}});
    }
    layout_.buffers.push_back(std::move(buffer));
  }

  void add_granules(std::size_t root, const Family& family) {
    const std::size_t first = layout_.buffers.size();
    for (std::size_t g = 0; g < family.lives.size(); ++g) {
      Buffer buffer = buffer_of(root, fmt::format("{}[{}]", name_of(root), g), bytes_of(root, g));
      buffer.pieces.push_back({0, bytes_of(root, g), family.lives[g]});
      layout_.buffers.push_back(std::move(buffer));
    }
    add_traffic_of_granules(root, family, first);
    for (const std::size_t member : family.members) {
      const Tensor& tensor = model_.tensors[member];
      const std::size_t shift = first_in(root, member);
      for (std::size_t g = 0; g < timetable_.lives[member].size(); ++g) {
        add_view(member, {.buffer = first + shift + g,
                          .offset = offset_in(root, member),
                          .life = timetable_.lives[member][g],
                          .rows = rows_of(tensor, static_cast<std::int64_t>(g))});
        add_accesses(first + shift + g, member, g);
      }
    }
  }

  /// In the order of time; those that meet are one.
  static std::vector<RowAccess> joined(std::vector<RowAccess> all) {
    std::ranges::sort(all, {}, &RowAccess::first);
    std::vector<RowAccess> joined;
    for (const RowAccess& it : all) {
      if (joined.empty() || joined.back().last < it.first) {
        joined.push_back(it);
        continue;
      }
      joined.back().last = std::max(joined.back().last, it.last);
      joined.back().bytes = sum_of(joined.back().bytes, it.bytes);
      joined.back().writes = joined.back().writes || it.writes;
    }
    return joined;
  }

  void add_accesses(std::size_t buffer, std::size_t member, std::size_t granule) {
    if (timetable_.accesses.empty()) return;
    if (layout_.accesses.size() <= buffer) layout_.accesses.resize(buffer + 1);
    auto& all = layout_.accesses[buffer];
    const auto& more = timetable_.accesses[member][granule];
    all.insert(all.end(), more.begin(), more.end());
  }

  void add_traffic_of_granules(std::size_t root, const Family& family, std::size_t first) {
    for (const std::size_t member : family.members) {
      const std::size_t shift = first_in(root, member);
      for (std::size_t g = 0; g < timetable_.traffic[member].size(); ++g) {
        Bytes& traffic = layout_.buffers[first + shift + g].traffic;
        traffic = sum_of(traffic, timetable_.traffic[member][g]);
      }
    }
  }

  static Bytes sum_of(Bytes a, Bytes b) {
    return std::min(base::checked_add(a, b).value_or(largest_value), largest_value);
  }

  /// The offset of a member's rows in those of the last taker.
  [[nodiscard]] Bytes offset_in(std::size_t root, std::size_t member) const {
    Bytes offset = 0;
    for (std::size_t t = root; t != member; t = model_.tensors[t].takes_over->tensor)
      offset += model_.tensors[t].takes_over->offset;
    return offset;
  }

  void add_sums(std::size_t op) {
    const Operator& keeper = model_.operators[op];
    const Bytes bytes = keeper.accumulator;
    // A first pass writes nothing; the second follows it.
    const bool is_first = keeper.carrying == Carrying::first_pass;
    const std::size_t output = model_.operators[is_first ? op + 1 : op].writes[0];
    const char* const what = keeper.carrying == Carrying::state ? " (state)" : " (sums)";
    Buffer buffer = buffer_of(output, name_of(output) + what, bytes);
    buffer.kind = TensorKind::scratch;
    const auto accesses = 2 * std::ssize(timetable_.summing[op]) - 1;  // the first step only writes
    buffer.traffic = std::min(base::checked_multiply(bytes, accesses).value_or(largest_value), largest_value);
    buffer.pieces.push_back({0, bytes, *timetable_.sums[op]});
    layout_.sums[op] = Sums{layout_.buffers.size(), 0};
    layout_.buffers.push_back(std::move(buffer));
  }

  // Parts of the result

  [[nodiscard]] Buffer buffer_of(std::size_t t, std::string name, Bytes bytes) {
    return {.id = names_.unique(std::move(name)),
            .size = base::align_up(bytes, options_.alignment),
            .alignment = options_.alignment,
            .kind = graph_.tensors[*model_.tensors[t].source].kind};
  }

  [[nodiscard]] std::string name_of(std::size_t t) const {
    const std::string& name = model_.tensors[t].name;
    return name.empty() ? fmt::format("tensor{}", *model_.tensors[t].source) : name;
  }

  static void add_piece(const Piece& piece, Buffer& buffer) {
    if (!buffer.pieces.empty()) {
      Piece& last = buffer.pieces.back();
      if (last.life == piece.life && last.offset + last.size == piece.offset) {
        last.size += piece.size;
        return;
      }
    }
    buffer.pieces.push_back(piece);
  }

  void add_view(std::size_t t, View view) {
    layout_.tensors[*model_.tensors[t].source].views.push_back(std::move(view));
  }

  static Lifetime hull(std::span<const Lifetime> lives) {
    Lifetime all = lives.front();
    for (const Lifetime& life : lives)
      all = {std::min(all.lower, life.lower), std::max(all.upper, life.upper)};
    return all;
  }

  const Graph& graph_;
  const RowModel& model_;
  const RowProgram& program_;
  const RowTimetable& timetable_;
  LayoutOptions options_;
  base::UniqueNames names_{};
  Layout layout_{};
};

}  // namespace

Layout lay_out(const Graph& graph, const RowModel& model, const RowProgram& program,
               const RowTimetable& timetable, const LayoutOptions& options) {
  return LayingOut(graph, model, program, timetable, options).run();
}

}  // namespace stowage::stream
