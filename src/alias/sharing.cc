// Two kinds of operators allow an output to share bytes with an input. One that passes bytes on
// (ByteCopy: reshape, concat, split, slice) then has nothing to do. One that computes element by element may
// write over an input that has no later reader (in place). Each such pair of tensors fixes their distance.
// The pairs are processed one after the other. Each joins two groups of tensors with fixed distances, unless
// a byte would then have two meanings at once (group.h).
//
//     a ──concat──> c ──split──> d, e         a, b in their slots of c, d and e in theirs: one group
//     b ──┘                                   c ──relu──> r : r over c, if c dies there
//
// A slot of a concat is a piece of its own, needed only after it is written: at no position are more bytes
// live than without sharing. But the larger, oddly shaped buffers may pack worse; only packing shows whether
// they do (plan/arrangement.cc).
//
// Results of bodies come first (results.cc). Then copies, larger ones before smaller, since each removes work; then updates in place in the order
// of steps. Refused are pairs of which one is not in the arena or must survive (weights, state, the caller's
// tensors), pairs of different subgraphs that are no results, and distances that would put a tensor that a kernel sees on an
// unaligned address. A tensor touched only by removed copies is invisible to kernels. If one of the copies
// stays after all, the decisions restart with that tensor marked visible.
//
// Cost: see group.cc; linear in operands where groups are small. Source: reshape, concat and split as in the
// document of free-list, paragraphs 150 to 171 (docs/aliasing.md); pieces, chains and in-place updates are
// ours.

#include "alias/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "alias/results.h"
#include "base/checked.h"
#include "model/ties.h"
#include "operators/facts.h"

namespace stowage::alias {
namespace {

using lifetime::OperatorId;
using lifetime::Residence;

/// A copy and the operator that makes it.
struct Candidate {
  OperatorId place;
  const ByteCopy* copy = nullptr;
  bool is_in_too_many_parts = false;  ///< Its output has too many.
};

/// Per output the number of bytes that are only passed on.
std::vector<Bytes> copied_bytes(const Operator& op) {
  std::vector<Bytes> copied(op.outputs.size(), 0);
  for (const ByteCopy& copy : op.copies) copied[copy.output] += copy.size;
  return copied;
}

/// Whether a group has inputs and results of repeated bodies. Results are handed over to the inputs one after
/// the other, so no result may share the place of an input.
struct Loops {
  bool has_input = false;
  bool has_result = false;

  Loops operator|(const Loops& other) const {
    return {has_input || other.has_input, has_result || other.has_result};
  }
};

std::vector<Loops> loops_of_tensors(const Graph& graph) {
  std::vector<Loops> loops(graph.tensors.size());
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.body_use != BodyUse::repeated) continue;
      for (const std::size_t body : op.bodies) {
        for (const TensorId input : graph.subgraphs[body].inputs) loops[input].has_input = true;
        for (const TensorId result : graph.subgraphs[body].outputs) loops[result].has_result = true;
      }
    }
  }
  return loops;
}

/// Tensors needed after their last reader: results, which are handed over when their subgraph ends, and
/// inputs of loops, which the next round expects in their place.
std::vector<bool> tensors_that_outlive_readers(const Graph& graph) {
  std::vector<bool> outlives(graph.tensors.size(), false);
  const auto mark = [&](const std::vector<TensorId>& tensors) {
    for (const TensorId tensor : tensors) outlives[tensor] = true;
  };
  for (const Subgraph& subgraph : graph.subgraphs) {
    mark(subgraph.outputs);
    for (const Operator& op : subgraph.operators) {
      if (op.body_use != BodyUse::repeated) continue;
      for (const std::size_t body : op.bodies) mark(graph.subgraphs[body].inputs);
    }
  }
  return outlives;
}

class Sharer {
 public:
  Sharer(const Graph& graph, std::span<const OperatorId> operators, const lifetime::Uses& uses,
         const std::vector<Residence>& residences, const Options& options)
      : graph_(graph),
        uses_(uses),
        residences_(residences),
        options_(options),
        operators_(operators),
        places_(graph),
        contents_(contents_of(graph, operators, places_)),
        owners_(owners_of(graph)),
        outlives_readers_(tensors_that_outlive_readers(graph)),
        is_seen_(seen_by_kernels()),
        stays_(options.placed.begin(), options.placed.end()) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      stays_.insert(subgraph.inputs.begin(), subgraph.inputs.end());
      stays_.insert(subgraph.outputs.begin(), subgraph.outputs.end());
    }
  }

  Sharing run() {
    do {
      start_over();
      if (options_.alias == Alias::none) break;
      share_results();
      share_copies();
      share_in_place();
    } while (has_seen_more());
    return result();
  }

 private:
  const Operator& operator_at(const OperatorId& place) const {
    return graph_.subgraphs[place.subgraph].operators[place.op];
  }

  void start_over() {
    groups_.clear();
    phases_.clear();
    loops_of_.clear();
    staying_.clear();
    const std::vector<Loops> loops = loops_of_tensors(graph_);
    groups_.reserve(graph_.tensors.size());
    group_of_.assign(graph_.tensors.size(), std::nullopt);
    offsets_.assign(graph_.tensors.size(), 0);
    motions_.assign(graph_.tensors.size(), 0);
    lives_ = uses_.lives;
    seen_lives_.clear();
    whys_.clear();
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (residences_[t] != Residence::arena) continue;
      group_of_[t] = groups_.size();
      groups_.emplace_back(t, contents_[t], lives_[t], std::vector<Lifetime>(), table());
      staying_.push_back(stays_.contains(t) ? std::optional<model::MotionId>(0) : std::nullopt);
      phases_.push_back(is_seen_[t] ? std::optional<Bytes>(0) : std::nullopt);
      loops_of_.push_back(loops[t]);
    }
  }

  /// Null if nothing moves.
  [[nodiscard]] model::Motions* table() { return places_.is_any() ? &places_.motions() : nullptr; }

  /// All operands of operators, except those that are only copied.
  [[nodiscard]] std::vector<bool> seen_by_kernels() const {
    std::vector<bool> seen(graph_.tensors.size(), false);
    for (const OperatorId& place : operators_) see_operands(operator_at(place), seen);
    for (const Subgraph& subgraph : graph_.subgraphs) {
      for (const auto* tensors : {&subgraph.inputs, &subgraph.outputs}) {
        for (const TensorId tensor : *tensors) seen[tensor] = true;
      }
    }
    return seen;
  }

  /// Marks the operands that an operator's kernel sees if all its copies are removed.
  void see_operands(const Operator& op, std::vector<bool>& seen) const {
    const std::vector<Bytes> copied = copied_bytes(op);
    std::vector<bool> is_copied(op.inputs.size(), false);
    for (const ByteCopy& copy : op.copies) is_copied[copy.input] = true;
    bool only_copies = true;
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (!op.outputs[o] || copied[o] == graph_.tensors[*op.outputs[o]].bytes) continue;
      only_copies = false;
      seen[*op.outputs[o]] = true;
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] && !(only_copies && is_copied[i])) seen[*op.inputs[i]] = true;
    }
  }

  /// Inner operators first: their results may be those of the bodies around them.
  void share_results() {
    if (options_.target == Target::tflm) return;  // its kernels copy them in any case
    std::map<std::pair<std::size_t, std::size_t>, std::vector<const lifetime::RunOfBodies*>> runs;
    for (const lifetime::RunOfBodies& run : uses_.runs) runs[{run.op.subgraph, run.op.op}].push_back(&run);
    for (const OperatorId& place : std::views::reverse(operators_)) {
      const Operator& op = operator_at(place);
      if (op.bodies.empty()) continue;
      std::map<TensorId, std::vector<operators::Result>> results;
      for (const operators::Result& it : results_made_in_bodies(graph_, owners_, residences_, op))
        results[it.to].push_back(it);
      for (auto& [output, of_output] : results)
        share_result(op, runs[{place.subgraph, place.op}], output, of_output);
    }
  }

  /// Nothing clashes: the group of a result has bytes only while its body runs, and the output only afterwards and in
  /// other bodies.
  void share_result(const Operator& op, std::span<const lifetime::RunOfBodies* const> runs, TensorId output,
                    std::vector<operators::Result>& results) {
    const std::size_t group = *group_of_[output];
    Loops loops = loops_of_[group];
    std::vector<bool> in_place(op.bodies.size(), false);
    std::erase_if(results, [&](const operators::Result& it) {
      const Loops both = loops | loops_of_[*group_of_[it.from]];
      if (lives_[it.from].size() != runs.size() || (both.has_input && both.has_result)) return true;
      loops = both;
      in_place[it.body] = true;
      return false;
    });
    if (results.empty() || is_apart(output) || lives_[output].size() != runs.size()) return;
    ResultLives lives = lives_of_result(lives_[output], runs, op.body_use == BodyUse::repeated, in_place);
    groups_[group] = Group(output, contents_[output], lives.after, lives.held, table());
    lives_[output] = std::move(lives.after);
    seen_lives_[output] = std::move(lives.seen);
    for (const operators::Result& it : results) (void)try_join(it.from, output, 0, std::nullopt);
  }

  void share_copies() {
    std::vector<Candidate> candidates;
    for (const OperatorId& place : operators_) {
      const Operator& op = operator_at(place);
      const std::vector<Bytes> copied = copied_bytes(op);
      for (const ByteCopy& copy : op.copies)
        candidates.push_back(
            {place, &copy, is_in_too_many_parts(*op.outputs[copy.output], copied[copy.output])});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.copy->size > b.copy->size; });
    for (const Candidate& candidate : candidates) {
      const Operator& op = operator_at(candidate.place);
      const TensorId input = *op.inputs[candidate.copy->input];
      const TensorId output = *op.outputs[candidate.copy->output];
      std::string why = is_apart(output) ? "would raise the peak" : why_strangers(input, output);
      if (why.empty() && !is_left_alone(op)) why = "kernels of TensorFlow Lite Micro copy it in any case";
      if (why.empty() && candidate.is_in_too_many_parts)
        why = fmt::format("{} has more than {} parts", describe(graph_, output), most_fragments);
      if (why.empty()) why = try_join(input, output, distance_of(op, *candidate.copy), std::nullopt);
      if (!why.empty()) whys_.emplace(candidate.copy, std::move(why));
    }
  }

  /// Whether the kernel does nothing if its output has the address of its input. A reshape compares the
  /// addresses, and an expansion copies element by element onto itself. Source: reshape.cc and
  /// expand_dims.cc among the kernels of TensorFlow Lite Micro.
  [[nodiscard]] bool is_left_alone(const Operator& op) const {
    return options_.target == Target::any || operators::is_left_alone(op);
  }

  void share_in_place() {
    if (options_.target == Target::tflm) return;  // which kernels allow it depends on their build
    for (const OperatorId& place : operators_) {
      const Operator& op = operator_at(place);
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const auto output = in_place_output(graph_, op, i);
        if (!output || is_apart(*output) || !may_overwrite(op, *op.inputs[i], *output)) continue;
        if (try_join(*op.inputs[i], *output, 0, *op.inputs[i]).empty()) break;
      }
    }
  }

  /// A tensor made of copies alone is its own source only if it exceeded `most_fragments`.
  [[nodiscard]] bool is_in_too_many_parts(TensorId output, Bytes copied) const {
    return copied == graph_.tensors[output].bytes && contents_[output].front().source == output;
  }

  [[nodiscard]] bool is_apart(TensorId tensor) const {
    return !options_.apart.empty() && options_.apart[tensor];
  }

  /// Why two tensors cannot be in one buffer, whatever their lives.
  [[nodiscard]] std::string why_strangers(TensorId input, TensorId output) const {
    for (const TensorId tensor : {input, output}) {
      switch (residences_[tensor]) {
        case Residence::arena:
          break;
        case Residence::state:
          return describe(graph_, tensor) + " is state";
        case Residence::weights:
          return describe(graph_, tensor) + " is a weight";
        case Residence::caller:
          return describe(graph_, tensor) + " is in the caller's memory";
        case Residence::feed:
          return describe(graph_, tensor) + " is kept for other models, or when its branch has ended";
        case Residence::nowhere:
          return describe(graph_, tensor) + " is never written";
      }
    }
    if (owners_[input] != owners_[output] || uses_.lives[input].size() != uses_.lives[output].size())
      return describe(graph_, input) + " is of another subgraph";
    return "";
  }

  /// Whether the operator reads the input last, in every run, and only through operands that it updates.
  [[nodiscard]] bool may_overwrite(const Operator& op, TensorId input, TensorId output) const {
    if (graph_.tensors[input].bytes == 0 || outlives_readers_[input] || !why_strangers(input, output).empty())
      return false;
    if (!operators::may_write_over(graph_, op, input, output)) return false;
    for (std::size_t run = 0; run < lives_[input].size(); ++run) {
      if (lives_[input][run].upper != lives_[output][run].lower + 1) return false;
    }
    return true;
  }

  /// From the output to the input, if both have the bytes of the copy at one place.
  [[nodiscard]] Distance distance_of(const Operator& op, const ByteCopy& copy) {
    const MovingCopy moves = places_.of(graph_, op, copy);
    return {copy.from - copy.to, places_.motions().difference(moves.from, moves.to)};
  }

  [[nodiscard]] std::string try_join(TensorId input, TensorId output, const Distance& distance,
                                     std::optional<TensorId> overwritten) {
    model::Motions& motions = places_.motions();
    std::size_t into = *group_of_[input];
    std::size_t from = *group_of_[output];
    Distance shift(offsets_[input] + distance.bytes - offsets_[output],
                   motions.difference(motions.sum(motions_[input], distance.motion), motions_[output]));
    if (into == from) {
      if (shift.bytes == 0 && shift.motion == 0 && !overwritten) return "";
      return fmt::format("{} has another place in the buffer of {} already", describe(graph_, input),
                         describe(graph_, output));
    }
    if (groups_[into].size() < groups_[from].size()) {
      std::swap(into, from);
      shift = {-shift.bytes, motions.difference(0, shift.motion)};
    }
    if (!agree_on_alignment(into, from, shift)) {
      return fmt::format("{} would be {} bytes from {}{}, which breaks the alignment of {}",
                         describe(graph_, output), std::abs(distance.bytes), describe(graph_, input),
                         distance.motion != 0 ? ", at other sizes fewer" : "", options_.alignment);
    }
    if (staying_[into] && staying_[from] && *staying_[into] != motions.sum(*staying_[from], shift.motion)) {
      return fmt::format(
          "the place of {} in {} moves with open extents, and tensors that the caller or a body "
          "knows stay where they are",
          describe(graph_, input), describe(graph_, output));
    }
    const Loops loops = loops_of_[into] | loops_of_[from];
    if (loops.has_input && loops.has_result)
      return "the result of a loop's body would lie in the place of its input, which is handed over after it";
    if (const auto clash = groups_[into].clash_with(groups_[from], shift, overwritten)) {
      return fmt::format("{} and {} would hold the same bytes at position {}", describe(graph_, clash->first),
                         describe(graph_, clash->second), clash->at);
    }
    for (const Member& member : groups_[from].members()) {
      group_of_[member.tensor] = into;
      offsets_[member.tensor] += shift.bytes;
      motions_[member.tensor] = motions.sum(motions_[member.tensor], shift.motion);
    }
    if (!staying_[into] && staying_[from]) staying_[into] = motions.sum(*staying_[from], shift.motion);
    groups_[into].join(groups_[from], shift);
    loops_of_[into] = loops;
    if (!phases_[into] && phases_[from]) phases_[into] = phase(*phases_[from] + shift.bytes);
    if (overwritten) {
      groups_[into].shorten(*overwritten, lives_[*overwritten]);
      for (Lifetime& life : lives_[*overwritten]) --life.upper;
    }
    return "";
  }

  [[nodiscard]] Bytes phase(Bytes offset) const {
    const Bytes rest = offset % options_.alignment;
    return rest < 0 ? rest + options_.alignment : rest;
  }

  /// A tensor that no kernel sees may become visible, so whatever moves does so by multiples of the alignment.
  [[nodiscard]] bool agree_on_alignment(std::size_t into, std::size_t from, const Distance& shift) {
    const bool are_multiples = std::ranges::all_of(places_.motions()[shift.motion], [&](const OpenBytes& it) {
      return it.bytes % options_.alignment == 0;
    });
    return are_multiples &&
           (!phases_[into] || !phases_[from] || *phases_[into] == phase(*phases_[from] + shift.bytes));
  }

  /// The state that this tensor is written over.
  [[nodiscard]] std::optional<StateTie> tie_of(TensorId output) const {
    const auto tie = std::ranges::find(graph_.ties, output, &StateTie::output);
    if (tie == graph_.ties.end() || model::is_copied(graph_, *tie)) return std::nullopt;
    return *tie;
  }

  /// Whether both tensors have the bytes at one place.
  [[nodiscard]] bool is_removed(const Operator& op, const ByteCopy& copy) {
    const TensorId input = *op.inputs[copy.input];
    const TensorId output = *op.outputs[copy.output];
    if (const auto tie = tie_of(output); tie && tie->input == input) return copy.from == copy.to;
    return group_of_[input] && group_of_[input] == group_of_[output] &&
           offsets_[input] + copy.from == offsets_[output] + copy.to &&
           places_.motions().sum(motions_[input], distance_of(op, copy).motion) == motions_[output];
  }

  /// Marks the operands of copies that stay, since kernels make these copies. If one was not marked before,
  /// its alignment must be known from the beginning.
  bool has_seen_more() {
    bool has_more = false;
    for (const OperatorId& place : operators_) {
      const Operator& op = operator_at(place);
      const auto is_gone = [&](const ByteCopy& copy) { return is_removed(op, copy); };
      if (std::all_of(op.copies.begin(), op.copies.end(), is_gone)) continue;
      for (const auto* operands : {&op.inputs, &op.outputs}) {
        for (const auto& tensor : *operands) {
          if (!tensor || is_seen_[*tensor] || !group_of_[*tensor]) continue;
          auto& aligned = phases_[*group_of_[*tensor]];
          if (!aligned) aligned = phase(offsets_[*tensor]);
          has_more = has_more || phase(offsets_[*tensor]) != *aligned;
          is_seen_[*tensor] = true;
        }
      }
    }
    return has_more;
  }

  Sharing result() {
    Sharing sharing;
    sharing.spared.assign(graph_.tensors.size(), 0);
    std::vector<bool> is_laid_out(groups_.size(), false);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (!group_of_[t] || is_laid_out[*group_of_[t]]) continue;
      is_laid_out[*group_of_[t]] = true;
      sharing.groups.push_back(laid_out(*group_of_[t]));
    }
    if (places_.is_any()) {
      for (const model::MotionId motion : motions_) sharing.moves.push_back(places_.motions()[motion]);
    }
    for (const OperatorId& place : operators_) account(place, sharing);
    sharing.lives = std::move(lives_);
    for (auto& [output, seen] : seen_lives_) {
      std::vector<Lifetime> lives;
      for (std::size_t run = 0; run < seen.size(); ++run) {
        Position& upper = seen[run].back().upper;
        upper = std::max(upper, sharing.lives[output][run].upper);
        lives.insert(lives.end(), seen[run].begin(), seen[run].end());
      }
      sharing.lives[output] = std::move(lives);
    }
    return sharing;
  }

  /// Makes one motion of a group the one that stays; all others become relative to it.
  void hold(Group& group, model::MotionId staying) {
    for (const Member& member : group.members())
      motions_[member.tensor] = places_.motions().difference(motions_[member.tensor], staying);
  }

  /// The motion of a group that stays: that of tensors that others know, or else of those with which the fewest bytes are
  /// reserved, times steps.
  [[nodiscard]] model::MotionId staying_in(std::size_t index) const {
    if (staying_[index]) return *staying_[index];
    const Group& group = groups_[index];
    constexpr std::size_t most_work = 1000000;
    constexpr std::size_t most_tried = 64;
    std::set<model::MotionId> tried;
    model::MotionId best = motions_[group.members()[0].tensor];
    std::optional<double> least;
    for (const Member& member : group.members()) {
      const model::MotionId motion = motions_[member.tensor];
      if (tried.size() >= std::min(most_tried, most_work / group.size() + 1) || !tried.insert(motion).second)
        continue;
      double area = 0;
      for (const Piece& it : Group(group).pieces(motion))
        area += static_cast<double>(it.size) * static_cast<double>(it.life.upper - it.life.lower);
      if (least && *least <= area) continue;
      least = area;
      best = motion;
    }
    return best;
  }

  /// The group with its first byte, or the aligned address before it, at 0. Uses the group up.
  [[nodiscard]] Shared laid_out(std::size_t index) {
    Group& group = groups_[index];
    const model::MotionId staying = places_.is_any() ? staying_in(index) : 0;
    hold(group, staying);
    Bytes begin = group.members().front().offset;
    Shared shared{group.members(), std::move(group).pieces(staying)};
    for (const Member& member : shared.members) begin = std::min(begin, member.offset);
    for (const Piece& piece : shared.pieces) begin = std::min(begin, piece.offset);
    begin -= phase(begin - phases_[index].value_or(begin));
    for (Member& member : shared.members) {
      member.offset -= begin;
      shared.end = std::max(shared.end, member.offset + graph_.tensors[member.tensor].bytes);
    }
    for (Piece& piece : shared.pieces) {
      piece.offset -= begin;
      shared.end = std::max(shared.end, piece.offset + piece.size);
    }
    return shared;
  }

  /// Of a new state, the bytes of the old one that the operator leaves where they are.
  [[nodiscard]] Bytes bytes_in_place(const Operator& op, TensorId output) const {
    const auto tie = tie_of(output);
    const bool is_read = tie && std::ranges::find(op.inputs, std::optional(tie->input)) != op.inputs.end();
    return is_read ? graph_.tensors[tie->input].bytes : 0;
  }

  void account(const OperatorId& place, Sharing& sharing) {
    const Operator& op = operator_at(place);
    const auto keep = [&](Bytes bytes, std::string why) {
      sharing.kept.push_back({options_.model, place.subgraph, place.op,
                              describe(graph_, place.subgraph, place.op), bytes, std::move(why)});
    };
    if (!op.must_copy.empty()) {
      Bytes bytes = 0;
      for (const auto& output : op.outputs)
        bytes += output ? graph_.tensors[*output].bytes - bytes_in_place(op, *output) : 0;
      keep(bytes, op.must_copy);
    }
    std::vector<Bytes> read(op.inputs.size(), 0);
    std::vector<Bytes> written(op.outputs.size(), 0);
    for (const ByteCopy& copy : op.copies) {
      if (!is_removed(op, copy)) {
        const auto why = whys_.find(&copy);
        keep(copy.size, why != whys_.end() ? why->second : "aliasing is off");
        continue;
      }
      ++sharing.removed.count;
      sharing.removed.bytes += copy.size;
      read[copy.input] += copy.size;
      written[copy.output] += copy.size;
    }
    for (std::size_t i = 0; i < read.size(); ++i) spare(op.inputs[i], read[i], sharing);
    for (std::size_t o = 0; o < written.size(); ++o) spare(op.outputs[o], written[o], sharing);
  }

  /// Counts `bytes` of an operand as no longer touched, in every run of the operator.
  void spare(const std::optional<TensorId>& tensor, Bytes bytes, Sharing& sharing) const {
    if (!tensor || bytes == 0) return;
    const auto runs = static_cast<std::int64_t>(lives_[*tensor].size());
    const auto all = base::checked_multiply(std::min(bytes, graph_.tensors[*tensor].bytes), runs);
    sharing.spared[*tensor] =
        base::checked_add(sharing.spared[*tensor], all.value_or(largest_value)).value_or(largest_value);
  }

  const Graph& graph_;
  const lifetime::Uses& uses_;
  const std::vector<Residence>& residences_;
  const Options& options_;
  std::span<const OperatorId> operators_;  ///< Those that run.
  MovingPlaces places_;
  std::vector<std::vector<Fragment>> contents_;
  std::vector<std::optional<std::size_t>> owners_;
  std::vector<bool> outlives_readers_;
  std::vector<bool> is_seen_;  ///< By some kernel, which expects an aligned address.
  std::set<TensorId> stays_;   ///< The caller, or what runs a body, knows one place of each.
  std::vector<Group> groups_;
  /// Per group, the remainder of aligned addresses, if a kernel sees a tensor of it.
  std::vector<std::optional<Bytes>> phases_;
  std::vector<Loops> loops_of_;                          ///< Per group.
  std::vector<std::optional<model::MotionId>> staying_;  ///< Per group, the motion of tensors of `stays_`.
  std::vector<std::optional<std::size_t>> group_of_;
  std::vector<Bytes> offsets_;              ///< Per tensor, in its group.
  std::vector<model::MotionId> motions_{};  ///< Per tensor, in its group; then in its buffer.
  std::vector<std::vector<Lifetime>> lives_;
  std::map<TensorId, std::vector<std::vector<Lifetime>>>
      seen_lives_;                                         ///< Of results in place: ResultLives::seen.
  std::unordered_map<const ByteCopy*, std::string> whys_;  ///< Why a copy could not be removed.
};

}  // namespace

Sharing share(const Graph& graph, std::span<const OperatorId> operators, const lifetime::Uses& uses,
              const std::vector<lifetime::Residence>& residences, const Options& options) {
  return Sharer(graph, operators, uses, residences, options).run();
}

}  // namespace stowage::alias
