#include "element_machine.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <variant>
#include <vector>

namespace stowage::oracle {
namespace {

using Place = std::vector<std::int64_t>;  // an element's coordinates

struct Held {
  TensorId tensor = 0;
  std::int64_t byte = 0;
  bool operator==(const Held&) const = default;
};

using Memory = std::vector<std::optional<Held>>;

bool is_variable(const Tensor& tensor) {
  return tensor.kind == TensorKind::input || tensor.kind == TensorKind::output ||
         tensor.kind == TensorKind::temporary;
}

template <typename Visit>
void for_each_place(const Shape& shape, const Visit& visit) {
  Place place(shape.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) place[d] = rest % shape[d];
    visit(place);
  }
}

std::int64_t number_of(const Shape& shape, const Place& place) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + place[d];
  return number;
}

class Machine {
 public:
  Machine(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
    memories_.resize(plan.memories.size());
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      Memory& memory = memories_[plan.places[b].memory];
      memory.resize(
          std::max(memory.size(), static_cast<std::size_t>(plan.places[b].offset + plan.buffers[b].size)));
    }
  }

  std::optional<std::string> run() {
    const auto& steps = plan_.clocks[0].steps;
    for (const TensorId input : graph_.subgraphs[0].inputs) {
      if (is_variable(graph_.tensors[input]) && !passes<Arrive>(input)) write_all(input);
    }
    for (; at_ < static_cast<Position>(steps.size()) && wrong_.empty(); ++at_) {
      forget();
      take(steps[static_cast<std::size_t>(at_)]);
    }
    --at_;
    for (const TensorId output : graph_.subgraphs[0].outputs) {
      if (passes<Leave>(output)) continue;
      for_each_place(shape(output), [&](const Place& place) { expect(output, place); });
    }
    return wrong_.empty() ? std::nullopt : std::optional(wrong_);
  }

 private:
  [[nodiscard]] const Shape& shape(TensorId t) const { return *graph_.tensors[t].shape; }
  template <typename Passage>
  [[nodiscard]] bool passes(TensorId t) const {
    return std::ranges::any_of(plan_.clocks[0].steps, [&](const Step& step) {
      const auto* const passage = std::get_if<Passage>(&step);
      return passage != nullptr && passage->tensor == t;
    });
  }

  void fail(const std::string& what) {
    if (wrong_.empty()) wrong_ = "step " + std::to_string(at_) + ": " + what;
  }

  void forget() {
    std::vector<std::vector<bool>> held;
    for (const Memory& memory : memories_) held.emplace_back(memory.size(), false);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      for (const Piece& piece : plan_.buffers[b].pieces) {
        if (at_ < piece.life.lower || at_ >= piece.life.upper) continue;
        const Bytes begin = plan_.places[b].offset + piece.offset;
        auto& own = held[plan_.places[b].memory];
        for (Bytes byte = begin; byte < begin + piece.size && byte < static_cast<Bytes>(own.size()); ++byte)
          own[static_cast<std::size_t>(byte)] = true;
      }
    }
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      for (std::size_t i = 0; i < memories_[m].size(); ++i) {
        if (!held[m][i]) memories_[m][i].reset();
      }
    }
  }

  static std::int64_t element_bytes(const Tensor& tensor) { return *bits_of(tensor.dtype) / 8; }

  /// The first byte of an element in a view; none if the view does not have it now.
  [[nodiscard]] std::optional<std::pair<std::size_t, Bytes>> at(const View& view, TensorId t,
                                                                Place place) const {
    if (at_ < view.life.lower || at_ >= view.life.upper) return std::nullopt;
    Shape own = shape(t);
    if (view.block) {
      const auto [axis, begin, end] = *view.block;
      if (place[axis] < begin || place[axis] >= end) return std::nullopt;
      place[axis] -= begin;
      own[axis] = end - begin;
    }
    Bytes number = number_of(own, place);
    if (view.rows || view.ring) {
      const std::size_t axis = view.rows ? view.rows->axis : view.ring->axis;
      const std::int64_t row = place[axis];
      if (view.rows && (row < view.rows->begin || row >= view.rows->end)) return std::nullopt;
      const std::int64_t slot = view.rows ? row - view.rows->begin
                                          : row / view.ring->granule % view.ring->count * view.ring->granule +
                                                row % view.ring->granule;
      std::int64_t row_size = 1;
      for (std::size_t d = 0; d < own.size(); ++d) row_size *= d == axis ? 1 : own[d];
      own.erase(own.begin() + static_cast<std::ptrdiff_t>(axis));
      place.erase(place.begin() + static_cast<std::ptrdiff_t>(axis));
      number = slot * row_size + number_of(own, place);
    }
    return std::pair(plan_.places[view.buffer].memory, plan_.places[view.buffer].offset + view.offset +
                                                           number * element_bytes(graph_.tensors[t]));
  }

  [[nodiscard]] bool holds(TensorId t, const Place& place, std::size_t memory, Bytes begin) const {
    const Bytes first = number_of(shape(t), place) * element_bytes(graph_.tensors[t]);
    for (Bytes i = 0; i < element_bytes(graph_.tensors[t]); ++i) {
      const auto byte = static_cast<std::size_t>(begin + i);
      if (byte >= memories_[memory].size() || memories_[memory][byte] != Held{t, first + i}) return false;
    }
    return true;
  }

  void expect(TensorId t, const Place& place) {
    if (!is_variable(graph_.tensors[t])) return;
    for (const View& view : plan_.tensors[t].views) {
      const auto where = at(view, t, place);
      if (where && holds(t, place, where->first, where->second)) return;
    }
    std::string text = "element";
    for (const std::int64_t i : place) text += " " + std::to_string(i);
    fail(text + " of " + graph_.tensors[t].name + " is not there");
  }

  void write(TensorId t, const Place& place, std::set<std::pair<std::size_t, Bytes>>& written) {
    const Bytes first = number_of(shape(t), place) * element_bytes(graph_.tensors[t]);
    bool is_somewhere = false;
    for (const View& view : plan_.tensors[t].views) {
      const auto where = at(view, t, place);
      if (!where) continue;
      is_somewhere = true;
      for (Bytes i = 0; i < element_bytes(graph_.tensors[t]); ++i) {
        const auto byte = static_cast<std::size_t>(where->second + i);
        if (byte >= memories_[where->first].size()) return fail("a byte outside of the memory");
        if (!written.insert({where->first, where->second + i}).second) fail("a byte is written twice");
        memories_[where->first][byte] = Held{t, first + i};
      }
    }
    if (!is_somewhere) fail("an element of " + graph_.tensors[t].name + " has no place");
  }

  void write_all(TensorId t) {
    std::set<std::pair<std::size_t, Bytes>> written;
    for_each_place(shape(t), [&](const Place& place) { write(t, place, written); });
  }

  static bool is_in(const std::optional<RowRange>& rows, const Place& place) {
    return !rows || (place[rows->axis] >= rows->begin && place[rows->axis] < rows->end);
  }

  /// Whether an element of the output that has this place along the range's axis reads that element of the input.
  static bool reads(const Operator& op, std::size_t input, const std::optional<RowRange>& rows,
                    const Shape& in, const Place& out, const Place& place) {
    if (!rows) return true;
    const auto along = std::ranges::find(op.row_axes, rows->axis, &RowAxis::axis);
    if (along == op.row_axes.end()) return true;
    const auto read = std::ranges::find(along->reads, input, &RowRead::input);
    if (read == along->reads.end()) return true;
    bool is_read = false;
    for_each_row(read->rows, in[read->axis], out[rows->axis],
                 [&](std::int64_t row) { is_read = is_read || row == place[read->axis]; });
    return is_read;
  }

  void take(const Step& step) {
    if (const auto* const arrive = std::get_if<Arrive>(&step)) {
      std::set<std::pair<std::size_t, Bytes>> written;
      for_each_place(shape(arrive->tensor), [&](const Place& place) {
        if (is_in(arrive->rows, place)) write(arrive->tensor, place, written);
      });
    } else if (const auto* const leave = std::get_if<Leave>(&step)) {
      for_each_place(shape(leave->tensor), [&](const Place& place) {
        if (is_in(leave->rows, place)) expect(leave->tensor, place);
      });
    } else if (const auto* const run = std::get_if<Run>(&step)) {
      take(*run);
    }
  }

  void take(const Run& run) {
    const Operator& op = graph_.subgraphs[0].operators[run.path[1]];
    const TensorId output = *op.outputs[0];
    std::vector<Place> made;
    for_each_place(shape(output), [&](const Place& place) {
      if (is_in(run.rows, place) && is_in(run.block, place)) made.push_back(place);
    });
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i] || !is_variable(graph_.tensors[*op.inputs[i]])) continue;
      const Shape& in = shape(*op.inputs[i]);
      for_each_place(in, [&](const Place& place) {
        const bool is_read = std::ranges::any_of(made, [&](const Place& out) {
          return reads(op, i, run.rows, in, out, place) && reads(op, i, run.block, in, out, place);
        });
        if (is_read) expect(*op.inputs[i], place);
      });
    }
    std::set<std::pair<std::size_t, Bytes>> written;
    for (const Place& place : made) write(output, place, written);
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<Memory> memories_{};
  Position at_ = 0;
  std::string wrong_{};
};

}  // namespace

std::optional<std::string> difference_by_elements(const Graph& graph, const Plan& plan) {
  return Machine(graph, plan).run();
}

}  // namespace stowage::oracle
