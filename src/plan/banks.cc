// A memory of several banks serves all of them at the same time, but each bank only once. So operands of one
// operator should not touch the same bank. Buffers are placed one after the other. Each bank offers its lowest free
// offset; a buffer takes the one with the fewest clashes with buffers placed before, of equally good ones the
// lowest. Those that clash come earlier in the next pass, as a wheel that squeaks gets the oil.
//
//     bank 2   | c c c |               a step reads a and b and writes c: no two of them in one bank
//     bank 1   | b b | d d |           a step reads b and writes d: one clash
//     bank 0   | a a a |
//
// The peak does not count here, only the size of the whole memory. Of several memories the fastest has banks. With rows,
// what must lie apart are the parts of operands that a step reads and writes (operand_bytes.cc). What models that run at
// the same time do to each other is not known: only operands of one operator count.
//
// A bound: k operands of a step are at least in k banks, or some share one; evenly spread they clash least.
//
// Cost: passes, each of them placing every buffer once for each bank and looking at its pairs. Source: squeaky wheel optimization (Joslin &
// Clements, 1999).

#include "plan/banks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "pack/occupancy.h"
#include "pack/placing.h"
#include "plan/draft.h"
#include "plan/nearness.h"
#include "plan/one_clock.h"
#include "plan/operand_bytes.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

constexpr std::int64_t most_banks = 1024;
constexpr std::size_t most_operands = 256;  ///< Of an operator: all pairs of them are listed.
constexpr std::size_t most_pairs = 2'000'000;

/// Parts of two operands of one step, in different buffers, and how many steps have both.
struct OperandPair {
  OperandBytes first{};
  OperandBytes second{};
  std::int64_t steps = 1;
};

auto key_of(const OperandPair& pair) {
  const auto& [first, second, steps] = pair;
  return std::tuple(first.buffer, first.offset, first.bytes, second.buffer, second.offset, second.bytes);
}

/// Pairs that several steps have become one.
void join_equal(std::vector<OperandPair>& pairs) {
  std::ranges::sort(pairs, {}, key_of);
  std::size_t kept = 0;
  for (std::size_t p = 1; p < pairs.size(); ++p) {
    if (key_of(pairs[p]) == key_of(pairs[kept])) {
      pairs[kept].steps += pairs[p].steps;
    } else {
      pairs[++kept] = pairs[p];
    }
  }
  if (!pairs.empty()) pairs.resize(kept + 1);
}

void add_pairs(const std::vector<OperandParts>& operands, std::vector<OperandPair>& pairs) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (const OperandBytes& one : operands[i]) {
        for (const OperandBytes& other : operands[j]) {
          if (one.buffer < other.buffer) pairs.push_back({one, other});
          if (other.buffer < one.buffer) pairs.push_back({other, one});
        }
      }
    }
  }
}

/// Pairs of operands in different buffers that share a bank wherever they lie. Of each operand the largest part counts.
std::int64_t least_clashes(const std::vector<OperandParts>& operands, const Banks& banks) {
  std::vector<std::size_t> buffers;
  std::int64_t occupied = 0;
  for (const OperandParts& operand : operands) {
    const OperandBytes& part = *std::ranges::max_element(operand, {}, &OperandBytes::bytes);
    if (std::ranges::find(buffers, part.buffer) != buffers.end()) continue;
    buffers.push_back(part.buffer);
    occupied += (part.bytes + banks.size - 1) / banks.size;
  }
  const std::int64_t count = std::ssize(buffers);
  const std::int64_t in_each = count / banks.count;
  const std::int64_t fuller = count % banks.count;  // banks with one more
  const std::int64_t spread =
      fuller * (in_each + 1) * in_each / 2 + (banks.count - fuller) * in_each * (in_each - 1) / 2;
  return std::max<std::int64_t>(spread, occupied > banks.count && count > 1 ? 1 : 0);
}

/// The buffers of the memory that has banks, on one clock.
struct InBanks {
  std::vector<std::size_t> numbers{};                  ///< In the plan.
  std::vector<std::optional<std::size_t>> index_of{};  ///< Of each buffer of the plan.
  std::vector<Buffer> buffers{};
  std::vector<Place> places{};
};

bool has_banks(const PlannedMemory& memory) { return memory.memory.role == MemoryRole::working; }

/// Buffers that are where an earlier plan had them stay there.
InBanks in_banks(const Plan& plan, const PlanOptions& options) {
  const auto memory =
      static_cast<std::size_t>(std::ranges::find_if(plan.memories, has_banks) - plan.memories.begin());
  InBanks it{.index_of = std::vector<std::optional<std::size_t>>(plan.buffers.size())};
  const KeptPlaces kept = kept_places(plan, options.near);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.places[b].memory != memory) continue;
    it.index_of[b] = it.numbers.size();
    it.numbers.push_back(b);
    it.buffers.push_back(plan.buffers[b]);
    if (kept[b]) it.buffers.back().pinned = plan.places[b].offset;
    it.places.push_back({0, plan.places[b].offset});
  }
  if (plan.clocks.size() == 1) return it;
  auto together = on_one_clock(it.buffers, plan.clocks);
  if (!together) throw UsageError("--banks: too many buffers of models that run at the same time");
  it.buffers = std::move(*together);
  return it;
}

/// The operands of each step that lie in the banks, by their number there.
std::vector<std::vector<OperandParts>> operands_in(const InBanks& inside, const Plan& plan,
                                                   std::span<const Input> inputs) {
  std::vector<std::vector<OperandParts>> steps = operands_of(plan, inputs);
  for (std::vector<OperandParts>& operands : steps) {
    for (OperandParts& operand : operands) {
      std::erase_if(operand, [&](const OperandBytes& it) { return !inside.index_of[it.buffer]; });
      for (OperandBytes& part : operand) part.buffer = *inside.index_of[part.buffer];
    }
    std::erase_if(operands, [](const OperandParts& it) { return it.empty(); });
  }
  return steps;
}

class Spreader {
 public:
  Spreader(std::span<const Buffer> buffers, std::vector<OperandPair> pairs, const Banks& banks,
           const base::Deadline& deadline)
      : buffers_(buffers),
        pairs_(std::move(pairs)),
        banks_(banks),
        deadline_(deadline),
        pairs_with_(buffers.size()) {
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      pairs_with_[pairs_[p].first.buffer].push_back(p);
      pairs_with_[pairs_[p].second.buffer].push_back(p);
    }
  }

  [[nodiscard]] bool is_cut_short() const { return is_cut_short_; }

  /// Whether all buffers lie in the banks.
  [[nodiscard]] bool fits(std::span<const Place> places) const {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (places[b].offset + buffers_[b].size > banks_.count * banks_.size) return false;
    }
    return true;
  }

  [[nodiscard]] std::int64_t clashes(std::span<const Place> places) const {
    std::int64_t sum = 0;
    for (const OperandPair& it : pairs_) sum += clash(it, places) ? it.steps : 0;
    return sum;
  }

  /// Lowers the clashes to `least`, or as far as the passes and the deadline allow.
  void spread(std::vector<Place>& best, std::int64_t least) {
    std::vector<std::int64_t> urgency(buffers_.size());
    std::int64_t fewest = fits(best) ? clashes(best) : std::numeric_limits<std::int64_t>::max();
    for (int pass = 0; pass < most_passes && fewest > least; ++pass) {
      std::vector<Place> places(buffers_.size());
      const auto left_out = place(order_by(urgency), places);
      if (is_cut_short_) return;
      if (left_out) {
        urgency[*left_out] += oil_without_room;
        continue;
      }
      for (const OperandPair& pair : pairs_) {
        if (!clash(pair, places)) continue;
        urgency[pair.first.buffer] += oil;
        urgency[pair.second.buffer] += oil;
      }
      const std::int64_t found = clashes(places);
      if (found < fewest) best = std::move(places);
      fewest = std::min(fewest, found);
    }
  }

 private:
  static constexpr int most_passes = 300;
  static constexpr std::int64_t work_of_bank = 1000;  ///< To find the place of a buffer in it.
  static constexpr std::int64_t work_of_pair = 10;    ///< To see whether it clashes.
  static constexpr std::int64_t oil = 1;
  static constexpr std::int64_t oil_without_room = 10;

  /// Whether a bank holds bytes of both.
  [[nodiscard]] bool clash(const OperandPair& pair, std::span<const Place> places) const {
    const auto [begin, end] = banks_of(pair.first, places[pair.first.buffer].offset);
    const auto [other_begin, other_end] = banks_of(pair.second, places[pair.second.buffer].offset);
    return begin <= other_end && other_begin <= end;
  }

  /// The first and the last bank that the operand touches.
  [[nodiscard]] std::pair<Bytes, Bytes> banks_of(const OperandBytes& operand, Bytes offset) const {
    const Bytes begin = offset + operand.offset;
    return {begin / banks_.size, (begin + operand.bytes - 1) / banks_.size};
  }

  /// The most urgent first, of equally urgent ones the larger.
  [[nodiscard]] std::vector<std::size_t> order_by(const std::vector<std::int64_t>& urgency) const {
    std::vector<std::size_t> order(buffers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t b) { return std::pair(urgency[b], buffers_[b].size); });
    return order;
  }

  /// Places all buffers unless the deadline is over, or returns the first that finds no room in the memory.
  std::optional<std::size_t> place(const std::vector<std::size_t>& order, std::vector<Place>& places) {
    pack::Occupancy taken(buffers_);
    is_placed_.assign(buffers_.size(), false);
    const auto put = [&](std::size_t b, Bytes offset) {
      places[b].offset = offset;
      is_placed_[b] = true;
      taken.reserve(buffers_[b], offset);
    };
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].pinned) put(b, *buffers_[b].pinned);
    }
    for (const std::size_t b : order) {
      if (is_placed_[b]) continue;
      deadline_.spend((work_of_bank + work_of_pair * std::ssize(pairs_with_[b])) * banks_.count);
      is_cut_short_ = deadline_.is_over();
      if (is_cut_short_) return std::nullopt;
      const std::optional<Bytes> offset = best_offset(b, taken, places);
      if (!offset) return b;
      put(b, *offset);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Bytes> best_offset(std::size_t b, pack::Occupancy& taken,
                                                 std::vector<Place>& places) const {
    const Buffer& buffer = buffers_[b];
    std::optional<std::pair<std::int64_t, Bytes>> best;
    for (std::int64_t bank = 0; bank < banks_.count; ++bank) {
      const Bytes offset = taken.lowest_fit(buffer, bank * banks_.size);
      if (offset > banks_.count * banks_.size - buffer.size) break;
      places[b].offset = offset;
      std::int64_t added = 0;
      for (const std::size_t p : pairs_with_[b]) {
        const std::size_t other =
            pairs_[p].first.buffer == b ? pairs_[p].second.buffer : pairs_[p].first.buffer;
        if (is_placed_[other] && clash(pairs_[p], places)) added += pairs_[p].steps;
      }
      if (!best || std::pair(added, offset) < *best) best = {added, offset};
    }
    return best ? std::optional(best->second) : std::nullopt;
  }

  std::span<const Buffer> buffers_;
  std::vector<OperandPair> pairs_;
  Banks banks_;
  const base::Deadline& deadline_;
  std::vector<std::vector<std::size_t>> pairs_with_;  ///< Per buffer.
  std::vector<bool> is_placed_;
  bool is_cut_short_ = false;
};

void expect_operands_of_banks(const Graph& graph) {
  for (std::size_t g = 0; g < graph.subgraphs.size(); ++g) {
    for (std::size_t o = 0; o < graph.subgraphs[g].operators.size(); ++o) {
      const Operator& op = graph.subgraphs[g].operators[o];
      const std::size_t operands = op.inputs.size() + op.outputs.size();
      if (operands > most_operands)
        throw UsageError(fmt::format("--banks: {} has {} operands, expected at most {}",
                                     describe(graph, g, o), operands, most_operands));
    }
  }
}

}  // namespace

void expect_options_of_banks(std::span<const Input> inputs, const PlanOptions& options) {
  if (!options.banks) return;
  const auto& [count, size] = *options.banks;
  for (const Input& input : inputs) {
    if (std::holds_alternative<Problem>(input.content))
      throw UsageError("--banks: a buffer list does not say who reads and writes");
  }
  if (options.solve.strategy == "slots")
    throw NotApplicable("slots", "chooses offsets in pools of equal slots: it knows no banks");
  if (count < 1 || count > most_banks || size < 1)
    throw UsageError(
        fmt::format("--banks: {} of {} bytes, expected 1 to {} of at least 1 byte", count, size, most_banks));
  const auto memory = std::ranges::find(options.memories, MemoryRole::working, &Memory::role);
  if (memory == options.memories.end() || memory->capacity != base::checked_multiply(count, size))
    throw UsageError("--banks: the fastest memory must have the size of all banks");
  for (const Input& input : inputs) expect_operands_of_banks(std::get<Graph>(input.content));
}

std::optional<BankUse> spread_over_banks(Plan& plan, std::span<const Input> inputs,
                                         const PlanOptions& options, const base::Deadline& deadline) {
  const Banks& banks = *options.banks;
  InBanks inside = in_banks(plan, options);
  std::vector<OperandPair> pairs;
  std::size_t next_join = most_pairs;
  BankUse use;
  for (const std::vector<OperandParts>& operands : operands_in(inside, plan, inputs)) {
    const std::size_t before = pairs.size();
    add_pairs(operands, pairs);
    use.pairs += std::ssize(pairs) - static_cast<std::int64_t>(before);
    use.least_clashes += least_clashes(operands, banks);
    if (pairs.size() < next_join) continue;
    join_equal(pairs);
    if (pairs.size() > most_pairs) throw UsageError("--banks: the steps have too many pairs of operands");
    next_join = pairs.size() + most_pairs;
  }
  join_equal(pairs);
  Spreader spreader(inside.buffers, std::move(pairs), banks, deadline);
  spreader.spread(inside.places, use.least_clashes);
  plan.interrupted = plan.interrupted || spreader.is_cut_short();
  if (!spreader.fits(inside.places)) return std::nullopt;
  use.clashes = spreader.clashes(inside.places);
  for (std::size_t i = 0; i < inside.numbers.size(); ++i)
    plan.places[inside.numbers[i]].offset = inside.places[i].offset;
  plan.slots.clear();  // of a plan by `auto`; the places are as good without their pools
  renew_peaks(plan);
  return use;
}

}  // namespace stowage::plan
