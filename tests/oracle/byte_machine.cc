#include "oracle/byte_machine.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "oracle/naive_interpreter.h"

namespace stowage::oracle {
namespace {

using Byte = std::uint8_t;
using Memory = std::vector<Byte>;
using Hash = std::uint64_t;

Hash mix(Hash hash, Hash value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U);
  hash *= 0xbf58476d1ce4e5b9U;
  return hash ^ (hash >> 31U);
}

Byte byte_of(Hash hash, std::size_t index) {
  return static_cast<Byte>(mix(mix(hash, index), 0x94d049bb133111ebU) >> 56U);
}

/// The bytes of a tensor, in memory of its own and where the plan has it.
struct Spot {
  Memory* expected = nullptr;
  Memory* planned = nullptr;
  std::size_t begin = 0;  ///< In `planned`.
  std::size_t size = 0;

  void write(std::size_t i, Byte expected_byte, Byte planned_byte) const {
    (*expected)[i] = expected_byte;
    (*planned)[begin + i] = planned_byte;
  }
};

/// A byte as both runs know it; they agree until something is found.
struct Both {
  Hash expected = 0;
  Hash planned = 0;

  void add(Hash of_expected, Hash of_planned) {
    expected = mix(expected, of_expected);
    planned = mix(planned, of_planned);
  }
  void add(Hash both) { add(both, both); }
};

/// Kernels go through the elements in no order that anybody could rely on: this one goes down the odd ones
/// and up the even ones.
std::vector<std::size_t> order_of_elements(std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t i = count; i > 0; --i) {
    if (i % 2 == 0) order.push_back(i - 1);
  }
  for (std::size_t i = 0; i < count; i += 2) order.push_back(i);
  return order;
}

/// What is thrown when the runs differ for the first time.
struct Differs {
  std::string what;
};

class ByteMachine {
 public:
  /// `branches` decides which body of an If runs, and how often a loop goes round; none: all, and two rounds.
  ByteMachine(const Graph& graph, const Plan& plan, std::optional<Hash> branches)
      : graph_(graph),
        plan_(plan),
        branches_(branches),
        spots_(graph.tensors.size()),
        memories_(plan.memories.size()) {
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      Memory& memory = memories_[plan.places[b].memory];
      const auto end = static_cast<std::size_t>(plan.places[b].offset + plan.buffers[b].size);
      memory.resize(std::max(memory.size(), end));
    }
    own_.resize(2 * graph.tensors.size());
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      own_[2 * t].resize(bytes(t));
      own_[2 * t + 1].resize(bytes(t));
    }
  }

  Trial run(const std::vector<Call>& calls) {
    Trial trial;
    try {
      start();
      for (const Call& call : calls) run_operator(call);
      reader_ = "the caller";
      for (const TensorId output : graph_.subgraphs[0].outputs) (void)read(output);
      for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
        if (graph_.tensors[t].kind == TensorKind::state) (void)read(t);
      }
    } catch (const Differs& differs) {
      trial.difference = differs.what;
    }
    for (const auto& [copy, is_removed] : is_removed_) {
      if (!is_removed) continue;
      ++trial.removed.count;
      trial.removed.bytes += copy->size;
    }
    return trial;
  }

 private:
  [[nodiscard]] std::size_t bytes(TensorId tensor) const {
    return static_cast<std::size_t>(graph_.tensors[tensor].bytes);
  }

  [[nodiscard]] bool is_constant(TensorId tensor) const {
    const TensorKind kind = graph_.tensors[tensor].kind;
    return kind == TensorKind::weight || kind == TensorKind::instruction;
  }

  void start() {
    move_to(0);
    reader_ = "the caller";
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (!is_constant(t)) continue;
      spots_[t] = Spot{&own_[2 * t], &own_[2 * t + 1], 0, bytes(t)};
      fill(t, {});
    }
    for (const TensorId input : graph_.subgraphs[0].inputs) fill_new(input, {});
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) fill_new(t, {});
    }
  }

  /// Poisons whatever nobody holds at that position.
  void move_to(Position at) {
    now_ = at;
    ++moment_;
    std::vector<Memory> held;
    for (const Memory& memory : memories_) held.emplace_back(memory.size(), Byte{0});
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      for (const Piece& piece : plan_.buffers[b].pieces) {
        if (at < piece.life.lower || at >= piece.life.upper) continue;
        const Place& place = plan_.places[b];
        const auto begin = held[place.memory].begin() + (place.offset + piece.offset);
        std::fill(begin, begin + piece.size, Byte{1});
      }
    }
    const Byte poison = byte_of(moment_, 0);
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      for (std::size_t i = 0; i < memories_[m].size(); ++i) {
        if (held[m][i] == 0) memories_[m][i] = static_cast<Byte>(poison + 37 * i);
      }
    }
  }

  /// From here on the tensor is where the plan has it now, for as long as it can be there.
  void settle(TensorId tensor) {
    const PlannedTensor& planned = plan_.tensors[tensor];
    Spot& spot = spots_[tensor];
    spot = Spot{&own_[2 * tensor], &own_[2 * tensor + 1], 0, bytes(tensor)};
    if (planned.views.empty() || spot.size == 0) return;
    const View* best = nullptr;
    for (const View& view : planned.views) {
      const bool is_there = view.life.lower <= now_ && now_ < std::max(view.life.upper, view.life.lower + 1);
      if (is_there && (best == nullptr || view.life.upper > best->life.upper)) best = &view;
    }
    if (best == nullptr) differ(tensor, "has no place to be written to");
    const Place& place = plan_.places[best->buffer];
    spot.planned = &memories_[place.memory];
    const Bytes begin = place.offset + best->offset;
    if (begin < 0 || begin + graph_.tensors[tensor].bytes > static_cast<Bytes>(spot.planned->size()))
      differ(tensor, "lies outside its memory");
    spot.begin = static_cast<std::size_t>(begin);
  }

  void fill(TensorId tensor, Both hash) {
    hash.add(tensor);
    hash.add(moment_);
    const Spot& spot = spots_[tensor];
    for (std::size_t i = 0; i < spot.size; ++i)
      spot.write(i, byte_of(hash.expected, i), byte_of(hash.planned, i));
  }

  void fill_new(TensorId tensor, const Both& hash) {
    settle(tensor);
    fill(tensor, hash);
  }

  [[noreturn]] void differ(TensorId tensor, const std::string& how) const {
    throw Differs{describe(graph_, tensor) + " " + how + ", for " + reader_ + " at position " +
                  std::to_string(now_)};
  }

  /// Looks at all of a tensor's bytes.
  Both read(TensorId tensor) const {
    const Spot& spot = spots_[tensor];
    if (spot.expected == nullptr) {
      if (bytes(tensor) == 0) return {};
      throw std::invalid_argument("tensor " + std::to_string(tensor) + " is read before it is written");
    }
    Both hash;
    for (std::size_t i = 0; i < spot.size; ++i) {
      const Byte expected = (*spot.expected)[i];
      const Byte planned = (*spot.planned)[spot.begin + i];
      if (expected != planned) differ(tensor, "has another byte " + std::to_string(i));
      hash.add(expected, planned);
    }
    return hash;
  }

  using Operands = std::vector<std::optional<TensorId>>;

  /// All of them, one after the other.
  Both read_all(const Operands& operands, std::vector<bool> left_out = {}) const {
    left_out.resize(operands.size(), false);
    Both hash;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i] || left_out[i]) continue;
      const Both part = read(*operands[i]);
      hash.add(part.expected, part.planned);
    }
    return hash;
  }

  void run_operator(const Call& call) {
    const Operator& op = *call.op;
    move_to(call.at);
    reader_ = op.name;
    (void)read_all(op.inputs);
    const auto sources = sources_of_outputs(graph_, op, 0);
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] && !sources[o]) settle(*op.outputs[o]);
    }
    for (const TensorId scratch : op.scratch) fill_new(scratch, {});
    if (op.bodies.empty()) {
      run_kernel(op);
    } else {
      run_bodies(call);
    }
    reader_ = op.name;
    for (const TensorId scratch : op.scratch) (void)read(scratch);
    (void)read_all(op.outputs);
    const bool computes = op.copies.empty() || !op.bodies.empty();
    for (const auto& input : op.inputs) {
      if (input && computes && graph_.tensors[*input].kind == TensorKind::state) fill(*input, {});
    }
  }

  /// Which inputs it reads element by element, each just before it writes that element.
  [[nodiscard]] std::vector<bool> inputs_by_element(const Operator& op) const {
    std::vector<bool> by_element(op.inputs.size(), false);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i]) continue;
      const bool replaces_state =
          updates_in_place(op, i) &&
          std::any_of(graph_.ties.begin(), graph_.ties.end(), [&](const StateTie& tie) {
            return tie.input == op.inputs[i] && std::find(op.outputs.begin(), op.outputs.end(),
                                                          std::optional(tie.output)) != op.outputs.end();
          });
      by_element[i] = replaces_state || in_place_output(graph_, op, i);
    }
    return by_element;
  }

  void run_kernel(const Operator& op) {
    const auto by_element = inputs_by_element(op);
    const Both whole = read_all(op.inputs, by_element);
    struct Moved {
      const ByteCopy* copy;
      std::vector<std::pair<Byte, Byte>> bytes;
    };
    std::vector<Moved> moved;
    std::vector<std::set<std::size_t>> passed_on(op.outputs.size());
    for (const ByteCopy& copy : op.copies) {
      const Spot& from = spots_[*op.inputs[copy.input]];
      const Spot& to = spots_[*op.outputs[copy.output]];
      moved.push_back({&copy, {}});
      for (std::size_t i = 0; i < static_cast<std::size_t>(copy.size); ++i) {
        const std::size_t at = static_cast<std::size_t>(copy.from) + i;
        moved.back().bytes.emplace_back((*from.expected)[at], (*from.planned)[from.begin + at]);
        passed_on[copy.output].insert(static_cast<std::size_t>(copy.to) + i);
      }
      const bool is_removed =
          from.planned == to.planned &&
          from.begin + static_cast<std::size_t>(copy.from) == to.begin + static_cast<std::size_t>(copy.to);
      const auto entry = is_removed_.try_emplace(&copy, true).first;
      entry->second = entry->second && is_removed;
    }
    compute(op, by_element, whole, passed_on);
    for (const Moved& it : moved) pass_on(op, *it.copy, it.bytes);
    (void)read_all(op.inputs, by_element);  // they must be there to the end
  }

  void pass_on(const Operator& op, const ByteCopy& copy, const std::vector<std::pair<Byte, Byte>>& bytes) {
    const Spot& from = spots_[*op.inputs[copy.input]];
    const Spot& to = spots_[*op.outputs[copy.output]];
    const bool has_nothing_to_do =
        from.planned == to.planned &&
        from.begin + static_cast<std::size_t>(copy.from) == to.begin + static_cast<std::size_t>(copy.to);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(copy.to) + i;
      (*to.expected)[at] = bytes[i].first;
      if (!has_nothing_to_do) (*to.planned)[to.begin + at] = bytes[i].second;
    }
  }

  /// Writes every byte that is not passed on, element by element of all outputs at once.
  void compute(const Operator& op, const std::vector<bool>& by_element, const Both& whole,
               const std::vector<std::set<std::size_t>>& passed_on) {
    std::size_t most = 0;
    for (const auto& output : op.outputs) most = std::max(most, output ? bytes(*output) : 0);
    for (const std::size_t i : order_of_elements(most)) {
      Both element = whole;
      element.add(moment_);
      for (std::size_t input = 0; input < op.inputs.size(); ++input) {
        if (!by_element[input]) continue;
        const Spot& spot = spots_[*op.inputs[input]];
        if (i < spot.size) element.add((*spot.expected)[i], (*spot.planned)[spot.begin + i]);
      }
      for (std::size_t output = 0; output < op.outputs.size(); ++output) {
        if (!op.outputs[output] || passed_on[output].contains(i)) continue;
        const Spot& spot = spots_[*op.outputs[output]];
        if (i >= spot.size) continue;
        spot.write(i, byte_of(mix(element.expected, output), i), byte_of(mix(element.planned, output), i));
      }
    }
  }

  void run_bodies(const Call& call) {
    const Operator& op = *call.op;
    write_outputs(op, {});  // the memory of results is theirs from the operator's position on
    if (op.body_use == BodyUse::once) {
      run_branches(call);
    } else {
      run_loop(call);
    }
    reader_ = op.name;
    (void)read_all(op.inputs);
    (void)read_all(op.outputs);
  }

  /// Those of which is not known where they come from.
  void write_outputs(const Operator& op, const Both& hash) {
    const auto sources = sources_of_outputs(graph_, op, 0);
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] && !sources[o]) fill(*op.outputs[o], hash);
    }
  }

  /// Copies the others from tensors of the body; reads all before it writes any.
  void hand_over(const Operator& op, std::size_t body) {
    const auto sources = sources_of_outputs(graph_, op, body);
    std::vector<std::pair<Memory, Memory>> values(sources.size());
    std::vector<Spot> from(sources.size());
    for (std::size_t o = 0; o < sources.size(); ++o) {
      if (!sources[o]) continue;
      (void)read(*sources[o]);
      from[o] = spots_[*sources[o]];
      for (std::size_t i = 0; i < from[o].size; ++i) {
        values[o].first.push_back((*from[o].expected)[i]);
        values[o].second.push_back((*from[o].planned)[from[o].begin + i]);
      }
    }
    for (std::size_t o = 0; o < sources.size(); ++o) {
      if (!sources[o]) continue;
      settle(*op.outputs[o]);
      const Spot& to = spots_[*op.outputs[o]];
      for (std::size_t i = 0; i < to.size; ++i) to.write(i, values[o].first[i], values[o].second[i]);
    }
  }

  /// The position of the last step of a body, which may be in a body of its own.
  static Position last_of(const std::vector<Call>& calls) {
    Position last = calls.back().at;
    for (const std::vector<Call>& body : calls.back().bodies) {
      if (!body.empty()) last = std::max(last, last_of(body));
    }
    return last;
  }

  /// Runs the body's operators and reads what it hands over.
  Both run_body(const Call& call, std::size_t b) {
    for (const Call& inner : call.bodies[b]) run_operator(inner);
    reader_ = call.op->name;
    const auto& outputs = graph_.subgraphs[call.op->bodies[b]].outputs;
    return read_all(Operands(outputs.begin(), outputs.end()));
  }

  /// Operands are copied into a branch's inputs as its first step begins; a branch without steps has only
  /// the position of the operator.
  void run_branches(const Call& call) {
    const auto enter = [&](std::size_t b) {
      reader_ = call.op->name;
      const Both operands = read_all(call.op->inputs);
      for (const TensorId input : graph_.subgraphs[call.op->bodies[b]].inputs) fill_new(input, operands);
    };
    std::optional<std::size_t> chosen;
    if (branches_) chosen = mix(*branches_, static_cast<Hash>(call.at)) % call.bodies.size();
    const auto runs = [&](std::size_t b) { return !chosen || chosen == b; };
    for (std::size_t b = 0; b < call.bodies.size(); ++b) {
      if (!runs(b) || !call.bodies[b].empty()) continue;
      enter(b);
      write_outputs(*call.op, run_body(call, b));
      hand_over(*call.op, b);
    }
    for (std::size_t b = 0; b < call.bodies.size(); ++b) {
      if (!runs(b) || call.bodies[b].empty()) continue;
      move_to(call.bodies[b].front().at);
      enter(b);
      write_outputs(*call.op, run_body(call, b));
      move_to(last_of(call.bodies[b]));
      hand_over(*call.op, b);
    }
  }

  void run_loop(const Call& call) {
    const Both operands = read_all(call.op->inputs);
    for (const std::size_t body : call.op->bodies) {
      for (const TensorId input : graph_.subgraphs[body].inputs) fill_new(input, operands);
    }
    const int rounds = branches_ ? static_cast<int>(mix(*branches_, static_cast<Hash>(call.at)) % 3) : 2;
    for (int round = 0; round < rounds; ++round) {
      Both results;
      for (std::size_t b = 0; b < call.bodies.size(); ++b) {
        const Both handed_over = run_body(call, b);
        results.add(handed_over.expected, handed_over.planned);
      }
      for (const std::size_t body : call.op->bodies) {
        for (const TensorId input : graph_.subgraphs[body].inputs) (void)read(input);
      }
      for (const std::size_t body : call.op->bodies) {
        for (const TensorId input : graph_.subgraphs[body].inputs) fill(input, results);
      }
      write_outputs(*call.op, results);
    }
    for (const std::vector<Call>& body : call.bodies) {
      if (!body.empty()) move_to(last_of(body));
    }
    reader_ = call.op->name;
    hand_over(*call.op, 0);
  }

  const Graph& graph_;
  const Plan& plan_;
  std::optional<Hash> branches_;
  std::vector<Spot> spots_;
  std::vector<Memory> memories_;
  std::vector<Memory> own_;  ///< Two for each tensor: as it should be, and where the plan has none.
  std::map<const ByteCopy*, bool> is_removed_;
  Position now_ = 0;
  std::size_t moment_ = 0;
  std::string reader_;
};

}  // namespace

Trial try_plan(const Graph& graph, const Plan& plan) {
  const std::vector<Call> program = program_of(graph, plan.clocks[0]);
  Trial trial = ByteMachine(graph, plan, std::nullopt).run(program);
  const bool has_bodies =
      std::any_of(program.begin(), program.end(), [](const Call& call) { return !call.bodies.empty(); });
  for (Hash branches = 0; has_bodies && branches < 4 && !trial.difference; ++branches)
    trial.difference = ByteMachine(graph, plan, branches).run(program).difference;
  return trial;
}

}  // namespace stowage::oracle
