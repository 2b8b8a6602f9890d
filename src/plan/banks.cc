// A memory of several banks serves all of them at the same time, but each bank only once. So operands of one
// operator should not touch the same bank. Buffers are placed one after the other. Each bank offers its lowest free
// offset; a buffer takes the one with the fewest clashes with buffers placed before, of equally good ones the
// lowest. Those that clash come earlier in the next pass, as a wheel that squeaks gets the oil.
//
//     bank 2   | c c c |               a step reads a and b and writes c: no two of them in one bank
//     bank 1   | b b | d d |           a step reads b and writes d: one clash
//     bank 0   | a a a |
//
// The peak does not count here, only the size of the whole memory.
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
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "pack/occupancy.h"
#include "pack/placing.h"
#include "plan/draft.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

constexpr std::int64_t most_banks = 1024;
constexpr std::size_t most_operands = 256;  ///< Of an operator: all pairs of them are listed.

/// Bytes of a buffer that a step reads or writes.
struct OperandBytes {
  std::size_t buffer = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// Two operands of one step, in different buffers.
struct OperandPair {
  OperandBytes first{};
  OperandBytes second{};
};

/// The operands of each step, one for each tensor.
std::vector<std::vector<OperandBytes>> operands_of(const Plan& plan, const Graph& graph) {
  std::vector<std::vector<OperandBytes>> steps;
  for (const Step& step : plan.clocks[0].steps) {
    const Run& run = std::get<Run>(step);
    const Operator& op = graph.subgraphs[0].operators[run.path.back()];
    std::vector<TensorId> tensors;
    for (const auto* const list : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *list) {
        if (tensor && std::ranges::find(tensors, *tensor) == tensors.end()) tensors.push_back(*tensor);
      }
    }
    std::vector<OperandBytes>& operands = steps.emplace_back();
    for (const TensorId tensor : tensors) {
      const PlannedTensor& planned = plan.tensors[tensor];
      if (planned.views.empty() || planned.tensor.bytes == 0) continue;
      operands.push_back({planned.views[0].buffer, planned.views[0].offset, planned.tensor.bytes});
    }
  }
  return steps;
}

std::vector<OperandPair> pairs_of(const std::vector<OperandBytes>& operands) {
  std::vector<OperandPair> pairs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (operands[i].buffer != operands[j].buffer) pairs.push_back({operands[j], operands[i]});
    }
  }
  return pairs;
}

/// Pairs of operands in different buffers that share a bank wherever they lie.
std::int64_t least_clashes(const std::vector<OperandBytes>& operands, const Banks& banks) {
  std::vector<std::size_t> buffers;
  std::int64_t occupied = 0;
  for (const OperandBytes& operand : operands) {
    if (std::ranges::find(buffers, operand.buffer) != buffers.end()) continue;
    buffers.push_back(operand.buffer);
    occupied += (operand.bytes + banks.size - 1) / banks.size;
  }
  const std::int64_t count = std::ssize(buffers);
  const std::int64_t in_each = count / banks.count;
  const std::int64_t fuller = count % banks.count;  // banks with one more
  const std::int64_t spread =
      fuller * (in_each + 1) * in_each / 2 + (banks.count - fuller) * in_each * (in_each - 1) / 2;
  return std::max<std::int64_t>(spread, occupied > banks.count && count > 1 ? 1 : 0);
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
    return std::ranges::count_if(pairs_, [&](const OperandPair& it) { return clash(it, places); });
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
      deadline_.spend(work_of_bank * banks_.count);
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
        if (is_placed_[other] && clash(pairs_[p], places)) ++added;
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

}  // namespace

void expect_options_of_banks(std::span<const Input> inputs, const PlanOptions& options) {
  if (!options.banks) return;
  const auto& [count, size] = *options.banks;
  if (inputs.size() != 1 || std::holds_alternative<Problem>(inputs[0].content))
    throw UsageError("--banks is for one model");
  if (options.stream) throw UsageError("--banks and --stream cannot be combined");
  if (!options.near.empty()) throw UsageError("--banks and --near cannot be combined");
  if (options.solve.strategy == "slots")
    throw NotApplicable("slots", "chooses offsets in pools of equal slots: it knows no banks");
  if (count < 1 || count > most_banks || size < 1)
    throw UsageError(
        fmt::format("--banks: {} of {} bytes, expected 1 to {} of at least 1 byte", count, size, most_banks));
  if (options.memories.size() != 1 || options.memories[0].capacity != base::checked_multiply(count, size))
    throw UsageError("--banks: the plan must have one memory, of the size of all banks");
  const auto& graph = std::get<Graph>(inputs[0].content);
  for (std::size_t o = 0; o < graph.subgraphs[0].operators.size(); ++o) {
    const Operator& op = graph.subgraphs[0].operators[o];
    if (!op.bodies.empty()) throw UsageError(fmt::format("--banks: {} has bodies", describe(graph, 0, o)));
    if (op.inputs.size() + op.outputs.size() > most_operands)
      throw UsageError(fmt::format("--banks: {} has {} operands, expected at most {}", describe(graph, 0, o),
                                   op.inputs.size() + op.outputs.size(), most_operands));
  }
}

std::optional<BankUse> spread_over_banks(Plan& plan, std::span<const Input> inputs,
                                         const PlanOptions& options, const base::Deadline& deadline) {
  const Banks& banks = *options.banks;
  std::vector<OperandPair> pairs;
  BankUse use;
  for (const std::vector<OperandBytes>& operands : operands_of(plan, std::get<Graph>(inputs[0].content))) {
    std::ranges::move(pairs_of(operands), std::back_inserter(pairs));
    use.least_clashes += least_clashes(operands, banks);
  }
  use.pairs = std::ssize(pairs);
  Spreader spreader(plan.buffers, std::move(pairs), banks, deadline);
  spreader.spread(plan.places, use.least_clashes);
  plan.interrupted = plan.interrupted || spreader.is_cut_short();
  if (!spreader.fits(plan.places)) return std::nullopt;
  use.clashes = spreader.clashes(plan.places);
  plan.slots.clear();  // of a plan by `auto`; the places are as good without their pools
  renew_peaks(plan);
  return use;
}

}  // namespace stowage::plan
