// Each network is first arranged alone, from position 0 of a clock of its own. This file moves its
// buffers to the positions of its steps on the timeline. Three kinds of memory outlive their network:
//
//   state           on the root clock, all the time. What several networks share gets its buffer here
//   an output       from its producer to the last step that reads it, in any network, and to the end
//                   unless it is released (share/feeds.h). If its own clock covers all of that, its buffer
//                   there is kept longer. Otherwise it has a buffer on the clock that does, held from fork
//                   to fork
//   weights         are in constants.cc
//
// A fed input lies where its output does. If the network that reads it last runs by rows, each row is held until it has
// been read. Cost: linear in buffers, pieces and feeds; pieces of fed rows, times those of the buffer.

#include "plan/composition.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/checked.h"
#include "base/unique_names.h"
#include "model/ties.h"

namespace stowage::plan {
namespace {

using share::KeptOutput;
using share::ModelTensor;

/// Adds the parts of a piece that no other piece holds. Outputs may overlap.
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

class Composer {
 public:
  Composer(std::vector<Alone> networks, const share::Timeline& timeline, const Passing& passing,
           Bytes alignment)
      : networks_(std::move(networks)), timeline_(timeline), passing_(passing), alignment_(alignment) {}

  Composition compose() {
    for (std::size_t m = 0; m < networks_.size(); ++m) add_network(m);
    for (const KeptOutput& kept : passing_.kept) keep(kept);
    for (const share::SharedState& state : passing_.states) share(state);
    for (std::size_t m = 0; m < networks_.size(); ++m) note_copied(m);
    for (const share::ResolvedFeed& feed : passing_.feeds)
      result_.feeds.push_back({index_of(feed.output), index_of(feed.input)});
    for (const ModelTensor& output : passing_.released) result_.released.push_back(index_of(output));
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::size_t index_of(const ModelTensor& it) const {
    return first_tensor_[it.model] + it.tensor;
  }

  std::string unique_id(std::size_t model, const std::string& name) {
    return ids_.unique(networks_.size() == 1 ? name
                                             : fmt::format("{}.{}", networks_[model].network.name, name));
  }

  /// Maps a lifetime of a model arranged alone to positions of `clock`.
  [[nodiscard]] Lifetime moved(const Lifetime& life, std::size_t model, std::size_t clock) const {
    const share::Stage& stage = timeline_.stage_of(model);
    if (stage.clock == clock) return {life.lower + stage.begin, life.upper + stage.begin};
    const Position fork = timeline_.position_on(clock, {stage.clock, stage.begin});
    return {fork, fork + 1};
  }

  void add_network(std::size_t m) {
    Alone& own = networks_[m];
    const std::size_t first_buffer = result_.buffers.size();
    result_.first_buffer.push_back(first_buffer);
    first_tensor_.push_back(result_.tensors.size());
    result_.buffers.reserve(first_buffer + own.buffers.size());
    for (Buffer& buffer : own.buffers) {
      buffer.id = unique_id(m, buffer.id);
      const bool is_state = buffer.kind == TensorKind::state;
      buffer.clock = is_state ? 0 : timeline_.stage_of(m).clock;
      for (Piece& piece : buffer.pieces)
        piece.life = is_state ? Lifetime{0, timeline_.end_of(0)} : moved(piece.life, m, buffer.clock);
      result_.buffers.push_back(std::move(buffer));
    }
    for (PlannedTensor& tensor : own.tensors) {
      tensor.model = m;
      for (View& view : tensor.views) {
        view.buffer += first_buffer;
        view.life = life_of_view(view, m);
      }
    }
    if (m == 0) {
      result_.tensors = std::move(own.tensors);
    } else {
      std::ranges::move(own.tensors, std::back_inserter(result_.tensors));
    }
  }

  /// State that a network begins or ends with is also alive before or after the network.
  [[nodiscard]] Lifetime life_of_view(const View& view, std::size_t m) const {
    const Buffer& buffer = result_.buffers[view.buffer];
    Lifetime life = moved(view.life, m, buffer.clock);
    if (buffer.kind != TensorKind::state) return life;
    if (view.life.lower == 0 && life.lower > 0)
      life = {0,
              std::max(life.upper, life.lower + 1)};  // to the first step at least, which may write over it
    if (view.life.upper == networks_[m].end) life.upper = timeline_.end_of(0);
    return life;
  }

  /// Keeps an output for the networks that it feeds and for the caller.
  void keep(const KeptOutput& kept) {
    PlannedTensor& output = result_.tensors[index_of(kept.output)];
    if (output.tensor.bytes == 0) return;
    const Alone& writer = networks_[kept.output.model];
    const bool is_in_rows = writer.is_by_rows && (!output.views.empty() || writer.leaves[kept.output.tensor]);
    if (is_in_rows && kept.inputs.empty()) return keep_rows(kept.output.tensor, output);
    if (output.views.empty()) add_buffer_for(kept);
    View& view = output.views.back();  // that of a result of bodies has others before
    Buffer& buffer = result_.buffers[view.buffer];
    const Position end_alone = view.life.upper;
    Position end_of_whole = end_alone;  // until then all of it is needed
    for (const ModelTensor& input : kept.inputs) {
      View there = view;
      there.life = moved(life_alone(input), input.model, buffer.clock);
      view.life.upper = std::max(view.life.upper, there.life.upper);
      if (!networks_[input.model].fed.contains(input.tensor))
        end_of_whole = std::max(end_of_whole, there.life.upper);
      buffer.traffic = base::checked_add(buffer.traffic, traffic_of(input)).value_or(largest_value);
      result_.tensors[index_of(input)].views = {there};
    }
    if (!kept.lasting.empty()) view.life.upper = end_of_whole = timeline_.end_of(buffer.clock);
    for (const ModelTensor& lasting : kept.lasting)
      result_.tensors[index_of(lasting)].views.back().life.upper = view.life.upper;
    if (view.life.upper == end_alone) return;
    const bool is_at_the_end = base::align_up(view.offset + output.tensor.bytes, alignment_) == buffer.size;
    const Bytes size = is_at_the_end ? buffer.size - view.offset : output.tensor.bytes;
    hold({view.offset, size, {end_alone, end_of_whole}}, buffer.pieces);
    for (const ModelTensor& input : kept.inputs) hold_rows_read(input, view.offset, end_of_whole, buffer);
  }

  /// Keeps the rows of a fed tensor until its last reader, which runs by rows, has read them.
  void hold_rows_read(const ModelTensor& input, Bytes offset, Position since, Buffer& buffer) const {
    const auto fed = networks_[input.model].fed.find(input.tensor);
    if (fed == networks_[input.model].fed.end()) return;
    for (const Piece& piece : fed->second.pieces) {
      const Position end = moved(piece.life, input.model, buffer.clock).upper;
      hold({offset + piece.offset, piece.size, {since, end}}, buffer.pieces);
    }
  }

  /// When a network needs a tensor that it passes on, on a clock of its own.
  [[nodiscard]] Lifetime life_alone(const ModelTensor& it) const {
    const Alone& network = networks_[it.model];
    if (!network.is_by_rows) return network.uses.lives[it.tensor].front();
    const auto fed = network.fed.find(it.tensor);
    Lifetime life{0, network.end};
    if (fed != network.fed.end()) {
      life.upper = 1;
      for (const Piece& piece : fed->second.pieces) life.upper = std::max(life.upper, piece.life.upper);
    }
    return life;
  }

  /// Keeps the rows of an output that are there when its network has run, unless they have left. Rows that are computed
  /// again may end before.
  void keep_rows(TensorId tensor, PlannedTensor& output) {
    const std::vector<bool>& leaves = networks_[output.model].leaves;
    if (leaves[tensor]) return;
    const share::Stage& stage = timeline_.stage_of(output.model);
    const Position end_alone = stage.begin + networks_[output.model].end;
    const Position end = timeline_.end_of(stage.clock);
    if (end == end_alone) return;
    for (View& view : output.views) {
      if (view.life.upper < end_alone) continue;
      view.life.upper = end;
      Buffer& buffer = result_.buffers[view.buffer];
      hold({view.offset, buffer.size - view.offset, {end_alone, end}}, buffer.pieces);
    }
  }

  /// Adds the buffer of a state that several networks share.
  void share(const share::SharedState& state) {
    for (const share::ResolvedFeed& feed : state.becomes)
      result_.states.push_back({index_of(feed.output), index_of(feed.input)});
    const ModelTensor first = state.becomes.front().input;
    const Tensor& tensor = result_.tensors[index_of(first)].tensor;
    Bytes bytes = 0;
    for (const share::ResolvedFeed& feed : state.becomes) {
      for (const ModelTensor& it : {feed.output, feed.input})
        bytes = std::max(bytes, result_.tensors[index_of(it)].tensor.bytes);
    }
    if (bytes == 0) return;
    const Bytes size = base::align_up(bytes, alignment_);
    Buffer buffer{.id = unique_id(first.model, tensor.name),
                  .size = size,
                  .alignment = alignment_,
                  .pieces = {{0, size, {0, timeline_.end_of(0)}}},
                  .kind = TensorKind::state};
    View* written = nullptr;  // by the last network so far that writes it
    const auto hold = [&](const ModelTensor& it, const Lifetime& life) {
      buffer.traffic = base::checked_add(buffer.traffic, traffic_of(it)).value_or(largest_value);
      View& view = result_.tensors[index_of(it)].views.emplace_back();
      view = {.buffer = result_.buffers.size(), .life = life};
      return &view;
    };
    for (const share::StateUser& user : state.users) {
      const Lifetime all = moved({0, networks_[user.model].end}, user.model, 0);
      Lifetime read = all;
      Lifetime wrote = all;
      if (!networks_[user.model].is_by_rows && !user.is_copied) narrow(user, read, wrote);
      if (written != nullptr) written->life.upper = std::max(written->life.upper, all.lower + 1);
      if (written == nullptr) read.lower = 0;
      read.upper = std::max(read.upper, all.lower + 1);  // it may be written over at the first step
      View* const held = user.input ? hold({user.model, *user.input}, read) : nullptr;
      if (user.is_copied)
        written = held;  // from when its model has run
      else if (user.output)
        written = hold({user.model, *user.output}, {wrote.lower, all.upper});
    }
    written->life.upper = timeline_.end_of(0);
    result_.buffers.push_back(std::move(buffer));
  }

  /// The plan names new states that are copied, also those of one network.
  void note_copied(std::size_t m) {
    for (const StateTie& tie : model::copied_ties(networks_[m].network.graph)) {
      const Feed state{index_of({m, tie.output}), index_of({m, tie.input})};
      if (std::ranges::find(result_.states, state) == result_.states.end()) result_.states.push_back(state);
    }
  }

  /// To when operators read the old value of a state, and when they have written the new one. In one network, the new
  /// one is written over the old one.
  void narrow(const share::StateUser& user, Lifetime& read, Lifetime& wrote) const {
    const auto& lives = networks_[user.model].uses.lives;
    const Position end = networks_[user.model].end;
    Lifetime written{end, end};
    if (user.output && !lives[*user.output].empty()) written = lives[*user.output].front();
    if (user.output) wrote = moved(written, user.model, 0);
    if (!user.input) return;
    const Lifetime own = lives[*user.input].front();
    read = moved(user.output ? Lifetime{0, written.lower} : own, user.model, 0);
  }

  /// Adds a buffer on the clock that covers the whole lifetime of the output.
  void add_buffer_for(const KeptOutput& kept) {
    const ModelTensor& source = kept.output;
    PlannedTensor& output = result_.tensors[index_of(source)];
    const Bytes size = base::align_up(output.tensor.bytes, alignment_);
    const Lifetime life = moved(life_alone(source), source.model, kept.clock);
    output.views = {{result_.buffers.size(), 0, life, std::nullopt}};
    result_.buffers.push_back({.id = unique_id(source.model, output.tensor.name),
                               .clock = kept.clock,
                               .size = size,
                               .alignment = alignment_,
                               .pieces = {{0, size, life}},
                               .kind = TensorKind::output,
                               .traffic = traffic_of(source)});
  }

  [[nodiscard]] Bytes traffic_of(const ModelTensor& it) const {
    const Alone& network = networks_[it.model];
    if (const auto fed = network.fed.find(it.tensor); fed != network.fed.end()) return fed->second.traffic;
    const Bytes bytes = network.network.graph.tensors[it.tensor].bytes;
    const auto traffic = base::checked_multiply(bytes, network.uses.accesses[it.tensor]);
    return traffic && *traffic <= largest_value ? *traffic : largest_value;
  }

  std::vector<Alone> networks_;
  const share::Timeline& timeline_;
  const Passing& passing_;
  Bytes alignment_;
  std::vector<std::size_t> first_tensor_;  ///< Per network.
  base::UniqueNames ids_;
  Composition result_;
};

}  // namespace

Composition compose(std::vector<Alone> networks, const share::Timeline& timeline, const Passing& passing,
                    Bytes alignment) {
  return Composer(std::move(networks), timeline, passing, alignment).compose();
}

}  // namespace stowage::plan
