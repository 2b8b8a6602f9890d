#include "export/readable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/percent.h"
#include "model/clock_tree.h"

namespace stowage::exporting {

std::string in_units(Bytes bytes) {
  constexpr double kib = 1024;
  const auto value = static_cast<double>(bytes);
  if (value < 10 * kib) return fmt::format("{} bytes", bytes);
  if (value < 10 * kib * kib) return fmt::format("{:.1f} KiB", value / kib);
  if (value < 10 * kib * kib * kib) return fmt::format("{:.1f} MiB", value / (kib * kib));
  return fmt::format("{:.1f} GiB", value / (kib * kib * kib));
}

std::string readable(Bytes bytes) {
  const std::string exact = fmt::format("{} bytes", bytes);
  const std::string rough = in_units(bytes);
  return exact == rough ? exact : fmt::format("{} ({})", exact, rough);
}

std::string shortened(const std::string& name, std::size_t most) {
  constexpr std::string_view left_out = "…";
  if (name.size() <= most) return name;
  std::size_t begin = name.size() - most + 1;
  constexpr unsigned char continuation_mask = 0xC0;
  constexpr unsigned char continuation = 0x80;
  while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & continuation_mask) == continuation)
    ++begin;
  return std::string(left_out) + name.substr(begin);
}

std::optional<std::string> gap_in_percent(const Summary& summary) {
  const Bytes gap = summary.peak - summary.lower_bound;
  if (gap == 0) return "0";
  if (summary.lower_bound == 0) return std::nullopt;
  return base::in_percent(static_cast<double>(gap) / static_cast<double>(summary.lower_bound));
}

bool is_of_chosen_memories(const Plan& plan) {
  const auto works = [](const PlannedMemory& it) { return it.memory.role == MemoryRole::working; };
  const auto holds_for_all = [&](const Claim& it) {
    return it.scope == ClaimScope::memories && it.lower_bound >= plan.summary.lower_bound;
  };
  return std::ranges::count_if(plan.memories, works) > 1 && std::ranges::none_of(plan.claims, holds_for_all);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        // XML does not allow other control characters.
        result += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return result;
}

std::int64_t step_of_marks(std::int64_t range, std::int64_t count, std::int64_t base) {
  std::int64_t step = 1;
  while (range / step > count * base) step *= base;
  while (range / step > count) step *= 2;
  return step;
}

namespace {

/// Of the positions at which a branch runs, the first of those at which its clock has most bytes.
Position fullest_of(const Plan& plan, std::size_t clock, const model::Branch& branch) {
  if (branch.at.size() == 1) return branch.at[0];
  std::map<Position, Bytes> live;
  for (const Position at : branch.at) live[at] = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.clock != clock) continue;
    for (const Piece& piece : buffer.pieces) {
      for (auto at = live.lower_bound(piece.life.lower); at != live.end() && at->first < piece.life.upper;
           ++at)
        at->second += piece.size;
    }
  }
  const auto is_less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::ranges::max_element(live, is_less)->first;
}

/// Notes the start of each position of the clock and of the one after the last, which it returns.
Position lay_out(const Plan& plan, std::size_t clock, Position begin,
                 std::vector<std::vector<Position>>& starts) {
  std::map<Position, std::vector<std::size_t>> branches;  // by the position where they are shown
  for (const model::Branch& branch : model::branches_of(plan.clocks[clock]))
    branches[fullest_of(plan, clock, branch)].push_back(branch.clock);
  for (Position at = 0; at < std::ssize(plan.clocks[clock].steps); ++at) {
    starts[clock].push_back(begin);
    Position end = begin + 1;
    if (const auto found = branches.find(at); found != branches.end()) {
      for (const std::size_t branch : found->second)
        end = std::max(end, lay_out(plan, branch, begin, starts));
    }
    begin = end;
  }
  starts[clock].push_back(begin);
  return begin;
}

}  // namespace

std::vector<std::vector<Position>> starts_on_one_axis(const Plan& plan) {
  std::vector<std::vector<Position>> starts(plan.clocks.size());
  lay_out(plan, 0, 0, starts);
  return starts;
}

Position on_one_axis(const std::vector<std::vector<Position>>& all_starts, std::size_t clock, Position at) {
  const std::vector<Position>& starts = all_starts[clock];
  const auto last = static_cast<Position>(starts.size()) - 1;
  return at <= last ? starts[static_cast<std::size_t>(at)] : starts.back() + at - last;
}

std::vector<Buffer> on_one_axis(const Plan& plan) {
  std::vector<Buffer> buffers = plan.buffers;
  if (plan.clocks.size() == 1) return buffers;
  const std::vector<std::vector<Position>> starts = starts_on_one_axis(plan);
  for (Buffer& buffer : buffers) {
    for (Piece& piece : buffer.pieces)
      piece.life = {on_one_axis(starts, buffer.clock, piece.life.lower),
                    on_one_axis(starts, buffer.clock, piece.life.upper)};
  }
  return buffers;
}

}  // namespace stowage::exporting
