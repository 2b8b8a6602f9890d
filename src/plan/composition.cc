// Idea. Every network is first looked at alone, from position 0 of a clock of its own. Here its buffers are
// moved to where its steps are on the timeline. Three kinds of memory outlive their network:
//
//   state           on the root clock, for all of it
//   a fed output    from its producer to the last step that reads it, in whatever network that is. If all
//                   of them are on one clock, its buffer there is kept longer; if not, it has a buffer on
//                   the innermost clock that all of them are on or in branches of, held from fork to fork:
//
//                     A | B; C, A feeds C     root   (fork)  c  c  c
//                                             A.out  |----------|
//   weights         are not here
//
// A fed input is where the output is. Cost: linear in buffers, pieces and feeds.

#include "plan/composition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/checked.h"

namespace stowage::plan {
namespace {

using share::ModelTensor;

/// Adds a piece but for what others hold already: outputs may lie in each other.
void hold(const Piece& wanted, std::vector<Piece>& pieces) {
  if (!wanted.is_ever_alive()) return;
  const Bytes end = wanted.offset + wanted.size;
  const auto held = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& it) {
    return it.offset < end && wanted.offset < it.offset + it.size && it.life.lower < wanted.life.upper &&
           wanted.life.lower < it.life.upper;
  });
  if (held == pieces.end()) {
    pieces.push_back(wanted);
    return;
  }
  const Piece other = *held;
  const Bytes low = std::max(wanted.offset, other.offset);
  const Bytes high = std::min(end, other.offset + other.size);
  hold({wanted.offset, low - wanted.offset, wanted.life}, pieces);
  hold({high, end - high, wanted.life}, pieces);
  hold({low, high - low, {wanted.life.lower, other.life.lower}}, pieces);
  hold({low, high - low, {other.life.upper, wanted.life.upper}}, pieces);
}

/// Every fed tensor, and the output whose bytes it has: an input that is passed on has those of another's.
std::map<ModelTensor, ModelTensor> sources_of(std::span<const share::ResolvedFeed> feeds) {
  std::map<ModelTensor, ModelTensor> fed_by;
  for (const share::ResolvedFeed& feed : feeds) fed_by.emplace(feed.input, feed.output);
  std::map<ModelTensor, ModelTensor> sources;
  for (const share::ResolvedFeed& feed : feeds) {
    ModelTensor source = feed.output;
    while (fed_by.contains(source)) source = fed_by.at(source);  // ends: each runs before the next
    sources.emplace(feed.input, source);
  }
  return sources;
}

class Composer {
 public:
  Composer(std::span<const Alone> networks, const share::Timeline& timeline,
           std::span<const share::ResolvedFeed> feeds, Bytes alignment)
      : networks_(networks), timeline_(timeline), feeds_(feeds), alignment_(alignment) {}

  Composition compose() {
    for (std::size_t m = 0; m < networks_.size(); ++m) add_network(m);
    std::map<ModelTensor, std::vector<ModelTensor>> readers;
    for (const auto& [input, source] : sources_of(feeds_)) readers[source].push_back(input);
    for (const auto& [source, inputs] : readers) keep_for(source, inputs);
    for (const share::ResolvedFeed& feed : feeds_)
      result_.feeds.push_back({index_of(feed.output), index_of(feed.input)});
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::size_t index_of(const ModelTensor& it) const {
    return first_tensor_[it.model] + it.tensor;
  }

  std::string unique_id(std::size_t model, const std::string& name) {
    std::string id = networks_.size() == 1 ? name : fmt::format("{}.{}", networks_[model].network.name, name);
    while (!ids_.insert(id).second) id += "#";
    return id;
  }

  [[nodiscard]] Position root_end() const {
    return std::max<Position>(static_cast<Position>(timeline_.clocks()[0].steps.size()), 1);
  }

  /// Moves a lifetime of a model alone to where the model runs, seen from `clock`.
  [[nodiscard]] Lifetime moved(const Lifetime& life, std::size_t model, std::size_t clock) const {
    const share::Stage& stage = timeline_.stage_of(model);
    if (stage.clock == clock) return {life.lower + stage.begin, life.upper + stage.begin};
    const Position fork = timeline_.position_on(clock, {stage.clock, stage.begin});
    return {fork, fork + 1};
  }

  void add_network(std::size_t m) {
    const alias::Buffers& own = networks_[m].buffers;
    const std::size_t first_buffer = result_.buffers.size();
    first_tensor_.push_back(result_.tensors.size());
    for (Buffer buffer : own.buffers) {
      buffer.id = unique_id(m, buffer.id);
      const bool is_state = buffer.kind == TensorKind::state;
      buffer.clock = is_state ? 0 : timeline_.stage_of(m).clock;
      for (Piece& piece : buffer.pieces)
        piece.life = is_state ? Lifetime{0, root_end()} : moved(piece.life, m, buffer.clock);
      result_.buffers.push_back(std::move(buffer));
    }
    for (PlannedTensor tensor : own.tensors) {
      tensor.model = m;
      for (View& view : tensor.views) {
        view.buffer += first_buffer;
        view.life = life_of_view(view, m);
      }
      result_.tensors.push_back(std::move(tensor));
    }
  }

  /// A state is there before its network begins, or after it has ended.
  [[nodiscard]] Lifetime life_of_view(const View& view, std::size_t m) const {
    const Buffer& buffer = result_.buffers[view.buffer];
    Lifetime life = moved(view.life, m, buffer.clock);
    if (buffer.kind != TensorKind::state) return life;
    if (view.life.lower == 0) life.lower = 0;
    if (view.life.upper == networks_[m].uses.end) life.upper = root_end();
    return life;
  }

  /// Keeps a fed output for those that it is fed to.
  void keep_for(const ModelTensor& source, const std::vector<ModelTensor>& inputs) {
    PlannedTensor& output = result_.tensors[index_of(source)];
    if (output.tensor.bytes == 0) return;
    if (output.views.empty()) add_buffer_for(source, inputs);
    View& view = output.views.front();
    Buffer& buffer = result_.buffers[view.buffer];
    const Position end_alone = view.life.upper;
    for (const ModelTensor& input : inputs) {
      const Lifetime& alone = networks_[input.model].uses.lives[input.tensor].front();
      View there = view;
      there.life = moved(alone, input.model, buffer.clock);
      view.life.upper = std::max(view.life.upper, there.life.upper);
      buffer.traffic = base::checked_add(buffer.traffic, traffic_of(input)).value_or(largest_value);
      result_.tensors[index_of(input)].views = {there};
    }
    if (view.life.upper == end_alone) return;
    const bool is_at_the_end = base::align_up(view.offset + output.tensor.bytes, alignment_) == buffer.size;
    const Bytes size = is_at_the_end ? buffer.size - view.offset : output.tensor.bytes;
    hold({view.offset, size, {end_alone, view.life.upper}}, buffer.pieces);
  }

  /// A buffer on the clock that all of them are on, from where the output is written.
  void add_buffer_for(const ModelTensor& source, const std::vector<ModelTensor>& inputs) {
    std::size_t clock = timeline_.stage_of(source.model).clock;
    for (const ModelTensor& input : inputs)
      clock = timeline_.common_clock(clock, timeline_.stage_of(input.model).clock);
    PlannedTensor& output = result_.tensors[index_of(source)];
    const Bytes size = base::align_up(output.tensor.bytes, alignment_);
    const Lifetime life =
        moved(networks_[source.model].uses.lives[source.tensor].front(), source.model, clock);
    output.views = {{result_.buffers.size(), 0, life, std::nullopt}};
    result_.buffers.push_back({.id = unique_id(source.model, output.tensor.name),
                               .clock = clock,
                               .size = size,
                               .alignment = alignment_,
                               .pieces = {{0, size, life}},
                               .kind = TensorKind::output,
                               .traffic = traffic_of(source)});
  }

  [[nodiscard]] Bytes traffic_of(const ModelTensor& it) const {
    const Alone& network = networks_[it.model];
    const Bytes bytes = network.network.graph.tensors[it.tensor].bytes;
    const auto traffic = base::checked_multiply(bytes, network.uses.accesses[it.tensor]);
    return traffic && *traffic <= largest_value ? *traffic : largest_value;
  }

  std::span<const Alone> networks_;
  const share::Timeline& timeline_;
  std::span<const share::ResolvedFeed> feeds_;
  Bytes alignment_;
  std::vector<std::size_t> first_tensor_;  ///< Per network.
  std::unordered_set<std::string> ids_;
  Composition result_;
};

}  // namespace

Composition compose(std::span<const Alone> networks, const share::Timeline& timeline,
                    std::span<const share::ResolvedFeed> feeds, Bytes alignment_of_feeds) {
  return Composer(networks, timeline, feeds, alignment_of_feeds).compose();
}

bool outlives_clock(const ModelTensor& output, const share::Timeline& timeline,
                    std::span<const share::ResolvedFeed> feeds) {
  const std::size_t clock = timeline.stage_of(output.model).clock;
  for (const auto& [input, source] : sources_of(feeds)) {
    if (source == output && timeline.common_clock(clock, timeline.stage_of(input.model).clock) != clock)
      return true;
  }
  return false;
}

}  // namespace stowage::plan
