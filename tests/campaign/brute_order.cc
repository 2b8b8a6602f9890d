#include "brute_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "brute_pack.h"
#include "facts.h"

namespace stowage::campaign {
namespace {

constexpr std::size_t most_operators = 6;
constexpr std::size_t most_orders = 800;
constexpr std::size_t most_candidates = 9;
constexpr std::size_t most_trials = 40'000;

/// Two tensors that may lie over each other: the second begins at that offset in the first.
struct Candidate {
  TensorId base = 0;
  TensorId other = 0;
  Bytes offset = 0;
};

class OrderSearcher {
 public:
  OrderSearcher(const Graph& graph, Bytes alignment, Io io)
      : graph_(graph),
        main_(graph.subgraphs[0]),
        alignment_(alignment),
        io_(io),
        names_(graphs_of(graph), Plan(), {}, KeptRows::ignored) {}

  std::optional<BruteOrder> run(Alias alias) {
    if (main_.operators.size() > most_operators || graph_.subgraphs.size() > 1 || !graph_.ties.empty())
      return std::nullopt;
    find_planned();
    find_before();
    std::vector<std::size_t> order;
    std::vector<bool> is_done(main_.operators.size());
    list_orders(order, is_done);
    if (orders_.empty() || orders_.size() > most_orders) return std::nullopt;
    if (alias != Alias::none) find_candidates();
    while (candidates_.size() > 1 && (orders_.size() << candidates_.size()) > most_trials)
      candidates_.pop_back();
    best_.load = std::numeric_limits<Bytes>::max();
    for (const auto& one : orders_) try_order(one);
    return best_;
  }

 private:
  static std::span<const Graph> graphs_of(const Graph& graph) { return {&graph, 1}; }

  void find_planned() {
    is_planned_.assign(graph_.tensors.size(), false);
    const auto plan_it = [&](std::optional<TensorId> tensor) {
      if (!tensor) return;
      const Tensor& of = graph_.tensors[*tensor];
      const bool is_io = of.kind == TensorKind::input || of.kind == TensorKind::output;
      if (is_constant(of.kind) || of.bytes == 0 || (io_ == Io::external && is_io)) return;
      is_planned_[*tensor] = true;
    };
    for (const TensorId input : main_.inputs) plan_it(input);
    for (const Operator& op : main_.operators) {
      for (const auto& output : op.outputs) plan_it(output);
      for (const TensorId scratch : op.scratch) plan_it(scratch);
    }
  }

  void find_before() {
    const std::vector<Operator>& operators = main_.operators;
    before_.assign(operators.size(), std::vector<bool>(operators.size()));
    for (std::size_t o = 0; o < operators.size(); ++o)
      for (std::size_t p = 0; p < operators.size(); ++p) {
        for (const auto& output : operators[p].outputs)
          if (output && std::find(operators[o].inputs.begin(), operators[o].inputs.end(), output) !=
                            operators[o].inputs.end())
            before_[o][p] = true;
        if (std::find(operators[o].after.begin(), operators[o].after.end(), p) != operators[o].after.end())
          before_[o][p] = true;
        if (p < o && operators[o].stateful && operators[p].stateful) before_[o][p] = true;
      }
  }

  void list_orders(std::vector<std::size_t>& order, std::vector<bool>& is_done) {
    if (orders_.size() > most_orders) return;
    if (order.size() == is_done.size()) {
      orders_.push_back(order);
      return;
    }
    for (std::size_t o = 0; o < is_done.size(); ++o) {
      if (is_done[o]) continue;
      bool is_ready = true;
      for (std::size_t p = 0; p < is_done.size(); ++p) is_ready = is_ready && (!before_[o][p] || is_done[p]);
      if (!is_ready) continue;
      is_done[o] = true;
      order.push_back(o);
      list_orders(order, is_done);
      order.pop_back();
      is_done[o] = false;
    }
  }

  void add_candidate(TensorId base, TensorId other, Bytes offset) {
    if (base == other || !is_planned_[base] || !is_planned_[other] || offset % alignment_ != 0) return;
    if (candidates_.size() == most_candidates) return;
    for (const Candidate& known : candidates_)
      if (known.base == base && known.other == other && known.offset == offset) return;
    candidates_.push_back({.base = base, .other = other, .offset = offset});
  }

  void find_candidates() {
    for (const Operator& op : main_.operators) {
      for (const ByteCopy& copy : op.copies)
        if (op.inputs[copy.input] && op.outputs[copy.output])
          add_candidate(*op.outputs[copy.output], *op.inputs[copy.input], copy.to - copy.from);
      for (std::size_t k = 0; k < op.inputs.size(); ++k)
        if (is_elementwise(graph_, op, k)) add_candidate(*op.outputs[0], *op.inputs[k], 0);
    }
  }

  void find_lives(const std::vector<std::size_t>& order) {
    position_.assign(order.size(), 0);
    for (std::size_t p = 0; p < order.size(); ++p) position_[order[p]] = static_cast<Position>(p);
    lives_.assign(graph_.tensors.size(), {});
    for (const TensorId input : main_.inputs) lives_[input] = {0, 1};
    for (std::size_t o = 0; o < order.size(); ++o) {
      const Operator& op = main_.operators[o];
      for (const auto& output : op.outputs)
        if (output) lives_[*output] = {position_[o], std::max(lives_[*output].upper, position_[o] + 1)};
      for (const auto& input : op.inputs)
        if (input) lives_[*input].upper = std::max(lives_[*input].upper, position_[o] + 1);
      for (const TensorId scratch : op.scratch) lives_[scratch] = {position_[o], position_[o] + 1};
    }
    for (const TensorId output : main_.outputs) lives_[output].upper = static_cast<Position>(order.size());
  }

  /// The op that may write `later` over `earlier` where it lies.
  [[nodiscard]] bool is_replaced(TensorId earlier, TensorId later, Bytes distance) const {
    const bool is_output =
        std::find(main_.outputs.begin(), main_.outputs.end(), earlier) != main_.outputs.end();
    if (distance != 0 || is_output) return false;
    for (std::size_t o = 0; o < main_.operators.size(); ++o) {
      const Operator& op = main_.operators[o];
      if (op.outputs.empty() || op.outputs[0] != later || lives_[earlier].upper != position_[o] + 1) continue;
      bool is_only = true;
      bool is_read = false;
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] != earlier) continue;
        is_read = true;
        is_only = is_only && is_elementwise(graph_, op, k);
      }
      if (is_read && is_only) return true;
    }
    return false;
  }

  [[nodiscard]] bool may_overlap(TensorId a, TensorId b) const {
    const Bytes begin = std::max(offset_[a], offset_[b]);
    const Bytes end = std::min(offset_[a] + graph_.tensors[a].bytes, offset_[b] + graph_.tensors[b].bytes);
    if (begin >= end || lives_[a].lower >= lives_[b].upper || lives_[b].lower >= lives_[a].upper) return true;
    bool is_same = true;
    for (Bytes at = begin; at < end && is_same; ++at)
      is_same = names_.of(0, a)[static_cast<std::size_t>(at - offset_[a])] ==
                names_.of(0, b)[static_cast<std::size_t>(at - offset_[b])];
    return is_same || is_replaced(a, b, offset_[b] - offset_[a]) ||
           is_replaced(b, a, offset_[a] - offset_[b]);
  }

  /// Puts tensors at the distances that the chosen candidates say. False where these contradict each other.
  bool group(std::uint64_t chosen) {
    group_.resize(graph_.tensors.size());
    std::iota(group_.begin(), group_.end(), TensorId{0});
    offset_.assign(graph_.tensors.size(), 0);
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if ((chosen >> c & 1U) == 0) continue;
      const Candidate& candidate = candidates_[c];
      const Bytes wanted = offset_[candidate.base] + candidate.offset;
      const TensorId from = group_[candidate.other];
      const TensorId to = group_[candidate.base];
      if (from == to) {
        if (offset_[candidate.other] != wanted) return false;
        continue;
      }
      const Bytes shift = wanted - offset_[candidate.other];
      for (TensorId t = 0; t < group_.size(); ++t)
        if (group_[t] == from) {
          group_[t] = to;
          offset_[t] += shift;
        }
    }
    return true;
  }

  [[nodiscard]] bool is_sound() const {
    for (TensorId a = 0; a < group_.size(); ++a)
      for (TensorId b = 0; b < a; ++b)
        if (group_[a] == group_[b] && !may_overlap(a, b)) return false;
    return true;
  }

  [[nodiscard]] std::vector<PackItem> items() const {
    std::vector<PackItem> found;
    for (TensorId g = 0; g < group_.size(); ++g) {
      PackItem item{.alignment = alignment_};
      Bytes least = std::numeric_limits<Bytes>::max();
      for (TensorId t = 0; t < group_.size(); ++t)
        if (group_[t] == g && is_planned_[t]) least = std::min(least, offset_[t]);
      for (TensorId t = 0; t < group_.size(); ++t) {
        if (group_[t] != g || !is_planned_[t]) continue;
        const Bytes size = (graph_.tensors[t].bytes + alignment_ - 1) / alignment_ * alignment_;
        item.pieces.push_back({.offset = offset_[t] - least, .size = size, .life = lives_[t]});
        item.size = std::max(item.size, item.pieces.back().offset + size);
      }
      if (!item.pieces.empty()) found.push_back(std::move(item));
    }
    return found;
  }

  void try_order(const std::vector<std::size_t>& order) {
    find_lives(order);
    for (std::uint64_t chosen = 0; chosen < (std::uint64_t{1} << candidates_.size()); ++chosen) {
      if (!group(chosen) || !is_sound()) continue;
      const std::vector<PackItem> packed = items();
      const Bytes load = load_of(packed);
      if (load < best_.load) {
        best_.load = load;
        best_.load_witness = words_for(order, chosen);
      }
      if (best_.peak && load >= *best_.peak) continue;
      const std::optional<Bytes> peak = least_peak(packed);
      if (!peak || (best_.peak && *peak >= *best_.peak)) continue;
      best_.peak = peak;
      best_.peak_witness = words_for(order, chosen);
    }
  }

  [[nodiscard]] std::string words_for(const std::vector<std::size_t>& order, std::uint64_t chosen) const {
    std::string words = "order";
    for (const std::size_t o : order) words += " " + main_.operators[o].name;
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      if ((chosen >> c & 1U) != 0)
        words += ", " + graph_.tensors[candidates_[c].other].name + " at " +
                 std::to_string(candidates_[c].offset) + " of " + graph_.tensors[candidates_[c].base].name;
    return words;
  }

  const Graph& graph_;
  const Subgraph& main_;
  Bytes alignment_;
  Io io_;
  Names names_;
  std::vector<bool> is_planned_;
  std::vector<std::vector<bool>> before_;
  std::vector<std::vector<std::size_t>> orders_;
  std::vector<Candidate> candidates_;
  std::vector<Position> position_;
  std::vector<Lifetime> lives_;
  std::vector<TensorId> group_;
  std::vector<Bytes> offset_;
  BruteOrder best_;
};

}  // namespace

std::optional<BruteOrder> best_order(const Graph& graph, Bytes alignment, Io io, Alias alias) {
  return OrderSearcher(graph, alignment, io).run(alias);
}

}  // namespace stowage::campaign
