#include "oracle/row_machine.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace stowage::oracle {
namespace {

struct Difference : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whose byte it is: a tensor, or the sums of an operator (by a number behind those of tensors), or nobody.
using Tag = std::optional<std::pair<std::size_t, Bytes>>;
using Address = std::pair<std::size_t, Bytes>;  // memory and byte
using Row = std::pair<TensorId, std::int64_t>;

class Machine {
 public:
  Machine(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
    for (TensorId t = 0; t < graph.tensors.size(); ++t) axes_.push_back(axis_of(t));
    for (const Step& step : steps()) {
      if (const auto* const arrive = std::get_if<Arrive>(&step)) arrives_.insert(arrive->tensor);
      if (const auto* const leave = std::get_if<Leave>(&step)) leaves_.insert(leave->tensor);
    }
  }

  void run() {
    reserve();
    const auto& main = graph_.subgraphs[0];
    std::set<Row> given;
    for (const TensorId t : main.inputs) {
      for (std::int64_t r = 0; r < rows(t) && !arrives_.contains(t); ++r) given.insert({t, r});
    }
    for (const Row& row : given) write(row);
    for (; at_ < static_cast<Position>(steps().size()); ++at_) {
      if (at_ > 0) reserve();
      std::visit([&](const auto& step) { play(step); }, steps()[static_cast<std::size_t>(at_)]);
      for (const Row& row : given) {
        if (at_ == 0 && !replaced_.contains(row)) expect_there(row, "after the first step");
      }
    }
    --at_;
    for (const TensorId t : main.outputs) {
      for (std::int64_t r = 0; r < rows(t) && !leaves_.contains(t); ++r) expect_there({t, r}, "at the end");
      require(!leaves_.contains(t) || left_[t] == rows(t), "not all rows leave");
    }
    for (const TensorId t : arrives_) require(arrived_[t] == rows(t), "not all rows arrive");
    for (std::size_t o = 0; o < main.operators.size(); ++o) require(is_done(o), "an operator is not done");
    for (++at_; at_ < horizon(); ++at_) reserve();
  }

 private:
  static void require(bool condition, const std::string& what) {
    if (!condition) throw Difference(what);
  }
  [[nodiscard]] const std::vector<Step>& steps() const { return plan_.clocks[0].steps; }

  // Rows and bytes

  /// The axis that somebody writes, has or reads rows along.
  [[nodiscard]] std::optional<std::size_t> axis_of(TensorId t) const {
    for (const View& view : plan_.tensors[t].views) {
      if (view.ring) return view.ring->axis;
      if (view.rows) return view.rows->axis;
    }
    std::optional<std::size_t> read;
    for (const Step& step : steps()) {
      if (const auto* const run = std::get_if<Run>(&step); run != nullptr && run->rows) {
        const Operator& op = graph_.subgraphs[0].operators[run->path[1]];
        const bool sums = !op.sums_over.empty();
        for (const auto& output : op.outputs) {
          if (output == t && !sums) return run->rows->axis;
        }
        if (sums && op.inputs[0] == t && !read) read = run->rows->axis;
        for (const RowAxis& along : op.row_axes) {
          for (const RowRead& it : along.reads) {
            if (op.inputs[it.input] == t && along.axis == run->rows->axis && !read) read = it.axis;
          }
        }
      }
      const auto* const arrive = std::get_if<Arrive>(&step);
      if (arrive != nullptr && arrive->tensor == t && arrive->rows) return arrive->rows->axis;
      const auto* const leave = std::get_if<Leave>(&step);
      if (leave != nullptr && leave->tensor == t && leave->rows) return leave->rows->axis;
    }
    return read;
  }

  [[nodiscard]] std::int64_t rows(TensorId t) const {
    return axes_[t] ? (*graph_.tensors[t].shape)[*axes_[t]] : 1;
  }

  /// All bytes of a row, in the order of its elements: their numbers in the tensor. Elements are bytes.
  [[nodiscard]] std::vector<Bytes> bytes_of(const Row& row) const {
    std::vector<Bytes> bytes;
    const Tensor& tensor = graph_.tensors[row.first];
    for (Bytes b = 0; b < tensor.bytes; ++b) {
      if (coordinate(row.first, b) == row.second) bytes.push_back(b);
    }
    return bytes;
  }

  [[nodiscard]] std::int64_t coordinate(TensorId t, Bytes byte) const {
    if (!axes_[t]) return 0;
    const Shape& shape = *graph_.tensors[t].shape;
    std::int64_t rest = byte;
    std::int64_t at_axis = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (d == *axes_[t]) at_axis = rest % shape[d];
      rest /= shape[d];
    }
    return at_axis;
  }

  static bool has(const View& view, std::int64_t row) {
    return !view.rows || (view.rows->begin <= row && row < view.rows->end);
  }

  /// The one view that has the row now; null if the caller has the tensor.
  [[nodiscard]] const View* view_of(const Row& row) const {
    const auto& views = plan_.tensors[row.first].views;
    if (is_elsewhere(row.first)) return nullptr;
    const View* found = nullptr;
    for (const View& view : views) {
      if (at_ < view.life.lower || at_ >= view.life.upper || !has(view, row.second)) continue;
      require(found == nullptr, "two views have a row");
      found = &view;
    }
    require(found != nullptr, "no view has a row of tensor " + graph_.tensors[row.first].name);
    return found;
  }

  [[nodiscard]] bool is_elsewhere(TensorId t) const {
    const auto& main = graph_.subgraphs[0];
    const auto contains = [&](const std::vector<TensorId>& those) {
      return std::find(those.begin(), those.end(), t) != those.end();
    };
    return plan_.tensors[t].views.empty() && !arrives_.contains(t) && !leaves_.contains(t) &&
           (contains(main.inputs) || contains(main.outputs));
  }

  /// Where byte i of a row lies.
  [[nodiscard]] Bytes offset_in(const View& view, const Row& row, Bytes i, Bytes byte) const {
    const Bytes row_bytes = graph_.tensors[row.first].bytes / rows(row.first);
    if (view.rows) return view.offset + (row.second - view.rows->begin) * row_bytes + i;
    if (!view.ring) return view.offset + byte;
    const std::int64_t slot = row.second / view.ring->granule % view.ring->count;
    return view.offset + (slot * view.ring->granule + row.second % view.ring->granule) * row_bytes + i;
  }

  struct Place {
    std::size_t buffer = 0;
    Bytes offset = 0;
    Bytes byte = 0;  ///< Of the tensor.
  };

  [[nodiscard]] std::vector<Place> places_of(const Row& row) const {
    std::vector<Place> places;
    const View* const view = view_of(row);
    if (view == nullptr) return places;
    const std::vector<Bytes> bytes = bytes_of(row);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      places.push_back({view->buffer, offset_in(*view, row, static_cast<Bytes>(i), bytes[i]), bytes[i]});
    }
    return places;
  }

  // Memory

  [[nodiscard]] Address address(const Place& place) const {
    const auto& at = plan_.places[place.buffer];
    return {at.memory, at.offset + place.offset};
  }

  [[nodiscard]] Position horizon() const {
    Position end = static_cast<Position>(steps().size());
    for (const Buffer& buffer : plan_.buffers) {
      for (const Piece& piece : buffer.pieces) end = std::max(end, piece.life.upper);
    }
    return end;
  }

  /// Whose buffer has which byte now. What changes hands is forgotten.
  void reserve() {
    std::map<Address, std::size_t> owners;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      for (const Piece& piece : plan_.buffers[b].pieces) {
        if (at_ < piece.life.lower || at_ >= piece.life.upper) continue;
        for (Bytes i = piece.offset; i < piece.offset + piece.size; ++i)
          require(owners.emplace(address({b, i, 0}), b).second, "pieces overlap");
      }
    }
    std::erase_if(tags_, [&](const auto& entry) {
      const auto old_owner = owners_.find(entry.first);
      const auto owner = owners.find(entry.first);
      return owner == owners.end() || old_owner == owners_.end() || owner->second != old_owner->second;
    });
    owners_ = std::move(owners);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) check_views(t);
  }

  void check_views(TensorId t) const {
    const auto& views = plan_.tensors[t].views;
    for (std::int64_t r = 0; r < rows(t); ++r) {
      const auto count = std::count_if(views.begin(), views.end(), [&](const View& view) {
        return view.life.lower <= at_ && at_ < view.life.upper && has(view, r);
      });
      require(count <= 1, "two views have a row");
    }
  }

  void set(const Place& place, const Tag& tag) {
    const auto owner = owners_.find(address(place));
    require(owner != owners_.end() && owner->second == place.buffer,
            "a byte is written that is not reserved");
    tags_[address(place)] = tag;
  }

  [[nodiscard]] Tag tag_at(const Place& place) const {
    const auto tag = tags_.find(address(place));
    return tag == tags_.end() ? std::nullopt : tag->second;
  }

  void spoil(const Row& row) {
    for (const Place& place : places_of(row)) set(place, std::nullopt);
  }

  void write(const Row& row) {
    for (const Place& place : places_of(row)) set(place, Tag({row.first, place.byte}));
    written_[row] = view_of(row);
  }

  void expect_there(const Row& row, const std::string& when) const {
    const std::string name = graph_.tensors[row.first].name + " row " + std::to_string(row.second) + " " +
                             when + " at " + std::to_string(at_);
    const auto written = written_.find(row);
    require(written != written_.end(), name + " has not been written");
    require(written->second == view_of(row), name + " is in another view");
    for (const Place& place : places_of(row))
      require(tag_at(place) == Tag({row.first, place.byte}), name + " has lost a byte");
  }

  // Steps

  void play(const Copy&) { throw Difference("copy"); }
  void play(const Fork&) { throw Difference("fork"); }
  void play(const Pause&) { throw Difference("pause"); }

  void play(const Arrive& arrive) {
    const auto [begin, end] = passing(arrive);
    require(std::exchange(arrived_[arrive.tensor], end) == begin, "arrives out of turn");
    const auto& inputs = graph_.subgraphs[0].inputs;
    require(std::find(inputs.begin(), inputs.end(), arrive.tensor) != inputs.end(), "no input arrives");
    for (std::int64_t r = begin; r < end; ++r) write({arrive.tensor, r});
    for (std::int64_t r = begin; r < end; ++r) expect_there({arrive.tensor, r}, "arriving");
  }

  void play(const Leave& leave) {
    const auto [begin, end] = passing(leave);
    require(std::exchange(left_[leave.tensor], end) == begin, "leaves out of turn");
    const auto& outputs = graph_.subgraphs[0].outputs;
    require(std::find(outputs.begin(), outputs.end(), leave.tensor) != outputs.end(), "no output leaves");
    for (std::int64_t r = begin; r < end; ++r) expect_there({leave.tensor, r}, "leaving");
  }

  /// Rows that arrive or leave: all of them if none are named.
  template <typename Passage>
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> passing(const Passage& passage) const {
    if (!passage.rows) return {0, rows(passage.tensor)};
    return {passage.rows->begin, passage.rows->end};
  }

  struct Done {
    std::set<std::int64_t> rows{};
    bool all = false;
    bool backward = false;  ///< The last row was the first to run.
    std::int64_t summed = 0;
    std::int64_t of = 0;
    std::optional<Sums> sums{};
  };

  [[nodiscard]] bool is_done(std::size_t o) const {
    const auto it = done_.find(o);
    return it != done_.end() && it->second.all && it->second.summed == it->second.of && !adding_.contains(o);
  }

  void play(const Run& run) {
    const std::size_t o = run.path[1];
    const Operator& op = graph_.subgraphs[0].operators[o];
    const bool sums = run.rows && !op.sums_over.empty();
    std::set<Row> reads;
    std::set<Row> writes;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      for (const std::int64_t r : rows_read(op, i, run)) reads.insert({*op.inputs[i], r});
    }
    const auto adding = adding_.find(o);
    require(adding == adding_.end() || (run.part && run.rows == adding->second.rows),
            "runs while its rows are added up");
    if (run.part) return add_part(op, o, run, reads);
    take_turn(op, o, run);
    for (const auto& output : op.outputs) {
      for (std::int64_t r = 0; r < rows(*output); ++r) {
        const bool is_run =
            sums ? done_[o].summed == done_[o].of : !run.rows || (run.rows->begin <= r && r < run.rows->end);
        if (is_run) writes.insert({*output, r});
      }
    }
    for (const Row& row : reads) expect_there(row, "read by " + op.type);
    if (sums && run.rows->begin > 0) expect_sums(o, run);
    replaced_.clear();
    for (const Row& row : reads) {
      if (is_replaced(op, run, row, writes)) replaced_.insert(row);
    }
    std::set<Row> all = writes;
    for (const TensorId scratch : op.scratch) {
      for (std::int64_t r = 0; r < rows(scratch); ++r) all.insert({scratch, r});
    }
    for (const Row& row : all) spoil(row);
    if (sums && run.rows->begin == 0) {
      for (const Place& place : sums_of(o, run)) set(place, std::nullopt);
    }
    for (const Row& row : reads) {
      if (!replaced_.contains(row)) expect_there(row, "read by " + op.type + ", which spoils it,");
    }
    if (sums && run.rows->begin > 0) expect_sums(o, run);
    for (const Place& place : sums ? sums_of(o, run) : std::vector<Place>()) set(place, sums_tag(o, place));
    for (const Row& row : all) write(row);
    for (const Row& row : all) expect_there(row, "written by " + op.type);
    if (sums) expect_sums(o, run);
  }

  /// Of some rows: those of the input that are wanted and have not been added.
  struct Adding {
    std::optional<RowRange> rows{};
    std::set<std::int64_t> missing{};
    std::set<std::int64_t> added{};
  };

  void add_part(const Operator& op, std::size_t o, const Run& run, std::set<Row> reads) {
    const RowAxis* along = nullptr;
    for (const RowAxis& it : op.row_axes) {
      if (it.axis == run.rows->axis && it.adds_rows) along = &it;
    }
    require(along != nullptr && op.sums_over.empty() && along->reads[0].axis == run.part->axis,
            "does not add rows");
    const RowRead& read = along->reads[0];
    const TensorId from = *op.inputs[read.input];
    const TensorId to = *op.outputs[0];
    const std::int64_t extent = (*graph_.tensors[from].shape)[read.axis];
    require(run.rows->end <= (*graph_.tensors[to].shape)[run.rows->axis], "runs rows that are not there");
    const bool is_first = !adding_.contains(o);
    Adding& adding = adding_[o];
    if (is_first) {
      adding.rows = run.rows;
      for (std::int64_t r = run.rows->begin; r < run.rows->end; ++r)
        for_each_row(read.rows, extent, r, [&](std::int64_t row) { adding.missing.insert(row); });
      Run start = run;
      start.part.reset();
      check_turn(start, o);
    }
    require(run.part->end <= extent, "adds rows that are not there");
    require(!adding.missing.empty() && *adding.missing.begin() >= run.part->begin, "adds rows out of turn");
    const auto is_in_part = [&](std::int64_t row) { return run.part->begin <= row && row < run.part->end; };
    require(is_in_part(*adding.missing.begin()), "adds nothing");
    if (axes_[from] == read.axis) {
      std::erase_if(reads, [&](const Row& row) {
        return row.first == from && !(is_in_part(row.second) && adding.missing.contains(row.second));
      });
    }
    std::erase_if(adding.missing, is_in_part);
    for (std::int64_t row = run.part->begin; row < run.part->end; ++row)
      require(adding.added.insert(row).second, "adds a row twice");
    for (const Row& row : reads) expect_there(row, "read by " + op.type);
    std::vector<Place> places;
    for (std::int64_t r = run.rows->begin; r < run.rows->end; ++r) {
      const auto own = places_of({to, r});
      places.insert(places.end(), own.begin(), own.end());
      if (is_first) views_[{to, r}] = view_of({to, r});
      require(views_[{to, r}] == view_of({to, r}), "rows that are added up change their view");
    }
    for (const TensorId scratch : op.scratch) {
      for (std::int64_t r = 0; r < rows(scratch); ++r) write({scratch, r});
    }
    for (const Place& place : places) {
      require(is_first || tag_at(place) == sums_tag(o, place), "rows that are added up are lost");
      set(place, sums_tag(o, place));
    }
    for (const Row& row : reads) expect_there(row, "read by " + op.type + ", which spoils it,");
    for (const Place& place : places)
      require(tag_at(place) == sums_tag(o, place), "rows that are added up lie over each other");
    for (const TensorId scratch : op.scratch) {
      for (std::int64_t r = 0; r < rows(scratch); ++r) expect_there({scratch, r}, "used by " + op.type);
    }
    if (is_first) {
      for (std::int64_t r = run.rows->begin; r < run.rows->end; ++r) written_.erase({to, r});
    }
    replaced_.clear();
    if (!adding.missing.empty()) return;
    adding_.erase(o);
    Run end = run;
    end.part.reset();
    take_turn(op, o, end);
    for (std::int64_t r = run.rows->begin; r < run.rows->end; ++r) write({to, r});
  }

  /// Rows before these have been run; if the operator began with its last row, those behind them.
  void check_turn(const Run& run, std::size_t o) {
    Done& done = done_[o];
    const Operator& op = graph_.subgraphs[0].operators[o];
    const std::int64_t extent = (*graph_.tensors[*op.outputs[0]].shape)[run.rows->axis];
    if (done.rows.empty()) done.backward = run.rows->begin > 0 && run.rows->end == extent;
    const std::int64_t first = done.backward ? run.rows->end : 0;
    const std::int64_t end = done.backward ? extent : run.rows->begin;
    for (std::int64_t r = first; r < end; ++r)
      require(done.all || done.rows.contains(r), "runs a row before another");
  }

  /// Rows are run in ascending or descending order, and again at will once they have been run; sums from the first row
  /// on.
  void take_turn(const Operator& op, std::size_t o, const Run& run) {
    Done& done = done_[o];
    if (!run.rows) {
      require(done.all || done.rows.empty(), "runs as a whole in the middle of its rows");
      require(done.summed == done.of, "runs as a whole in the middle of its sums");
      done.all = true;
      return;
    }
    const TensorId t = op.sums_over.empty() ? *op.outputs[0] : *op.inputs[0];
    const std::int64_t extent = (*graph_.tensors[t].shape)[run.rows->axis];
    require(run.rows->end <= extent, "runs rows that are not there");
    if (op.sums_over.empty()) {
      check_turn(run, o);
      for (std::int64_t r = run.rows->begin; r < run.rows->end; ++r) done.rows.insert(r);
      done.all = done.all || done.rows.size() == static_cast<std::size_t>(extent);
      return;
    }
    if (done.summed == done.of && run.rows->begin == 0) done.summed = 0;
    done.of = extent;
    require(done.summed == run.rows->begin, "sums up out of turn");
    require(run.sums.has_value(), "has no sums");
    require(run.rows->begin == 0 || run.sums == done.sums, "has its sums elsewhere");
    done.sums = run.sums;
    done.summed = run.rows->end;
    done.all = done.all || done.summed == extent;
  }

  [[nodiscard]] std::set<std::int64_t> rows_read(const Operator& op, std::size_t i, const Run& run) const {
    const TensorId t = *op.inputs[i];
    std::set<std::int64_t> all;
    for (std::int64_t r = 0; r < rows(t); ++r) all.insert(r);
    if (!run.rows) return all;
    std::set<std::int64_t> some;
    if (!op.sums_over.empty()) {
      if (i > 0 || axes_[t] != run.rows->axis) return all;
      for (std::int64_t r = run.rows->begin; r < run.rows->end; ++r) some.insert(r);
      return some;
    }
    const RowRead* const read = read_of(op, i, run.rows->axis);
    if (read == nullptr || read->axis != axes_[t]) return all;
    for (std::int64_t r = run.rows->begin; r < run.rows->end; ++r)
      for_each_row(read->rows, rows(t), r, [&](std::int64_t row) { some.insert(row); });
    return some;
  }

  static const RowRead* read_of(const Operator& op, std::size_t i, std::size_t axis) {
    for (const RowAxis& along : op.row_axes) {
      if (along.axis != axis) continue;
      for (const RowRead& read : along.reads) {
        if (read.input == i) return &read;
      }
    }
    return nullptr;
  }

  // In place

  /// Whether every input of the operator that is the row's tensor lets the row be written over where it lies.
  [[nodiscard]] bool is_replaced(const Operator& op, const Run& run, const Row& row,
                                 const std::set<Row>& writes) const {
    if (op.outputs.size() != 1 || is_elsewhere(row.first)) return false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != row.first) continue;
      const bool is = std::any_of(writes.begin(), writes.end(), [&](const Row& output) {
        return !is_elsewhere(output.first) &&
               (may_replace(op, i, run, row, output) || may_replace_all(op, i, run, row, output));
      });
      if (!is) return false;
    }
    return true;
  }

  [[nodiscard]] bool may_replace(const Operator& op, std::size_t i, const Run& run, const Row& input,
                                 const Row& output) const {
    const auto axis = run.rows ? std::optional(run.rows->axis) : axes_[output.first];
    const RowRead* const read = axis ? read_of(op, i, *axis) : nullptr;
    if (read == nullptr || axes_[input.first] != read->axis) return false;
    const auto in = places_of(input);
    const auto out = places_of(output);
    if (in[0].buffer != out[0].buffer) return false;
    std::set<std::int64_t> made_of;
    for_each_row(read->rows, rows(input.first), output.second, [&](std::int64_t r) { made_of.insert(r); });
    if (made_of != std::set{input.second}) return false;
    const auto lies_at = [&](std::size_t from) {
      for (std::size_t b = 0; b < in.size(); ++b) {
        if (from + b >= out.size() || in[b].offset != out[from + b].offset) return false;
      }
      return true;
    };
    const RowMap& map = read->rows;
    const bool is_same_row = map.scale == 1 && map.divisor == 1 && map.offset == 0 && map.taps == 1;
    if (is_same_row && in_place_output(graph_, op, i) && in.size() == out.size() && lies_at(0)) return true;
    const auto is_run = [](const std::vector<Place>& places) {
      return places.back().offset - places[0].offset + 1 == static_cast<Bytes>(places.size());
    };
    return read->kept_at && is_run(in) && is_run(out) && lies_at(static_cast<std::size_t>(*read->kept_at));
  }

  /// Both are whole, at one place, and every byte stays or is replaced by the same one.
  [[nodiscard]] bool may_replace_all(const Operator& op, std::size_t i, const Run& run, const Row& input,
                                     const Row& output) const {
    const View& in = *view_of(input);
    const View& out = *view_of(output);
    if (run.rows || in.ring || in.rows || out.ring || out.rows) return false;
    if (in.buffer != out.buffer || in.offset != out.offset) return false;
    if (graph_.tensors[input.first].bytes != graph_.tensors[output.first].bytes) return false;
    return in_place_output(graph_, op, i) || (!op.row_axes.empty() && op.row_axes[0].reads[0].kept_at == 0);
  }

  // Sums

  [[nodiscard]] std::vector<Place> sums_of(std::size_t o, const Run& run) const {
    std::vector<Place> places;
    const TensorId output = *graph_.subgraphs[0].operators[o].outputs[0];
    for (Bytes b = 0; run.sums && b < 4 * graph_.tensors[output].bytes; ++b)
      places.push_back({run.sums->buffer, run.sums->offset + b, b});
    return places;
  }

  [[nodiscard]] Tag sums_tag(std::size_t o, const Place& place) const {
    return Tag({graph_.tensors.size() + o, place.byte});
  }

  void expect_sums(std::size_t o, const Run& run) const {
    for (const Place& place : sums_of(o, run)) require(tag_at(place) == sums_tag(o, place), "sums are lost");
  }

  const Graph& graph_;
  const Plan& plan_;
  Position at_ = 0;
  std::vector<std::optional<std::size_t>> axes_;
  std::map<Address, Tag> tags_;
  std::map<Address, std::size_t> owners_;
  std::map<Row, const View*> written_;
  std::map<Row, const View*> views_;  ///< Of rows that are added up.
  std::map<std::size_t, Adding> adding_;
  std::set<Row> replaced_;  ///< Of the present step's inputs.
  std::set<TensorId> arrives_;
  std::set<TensorId> leaves_;
  std::map<TensorId, std::int64_t> arrived_;
  std::map<TensorId, std::int64_t> left_;
  std::map<std::size_t, Done> done_;
};

}  // namespace

std::optional<std::string> difference_by_rows(const Graph& graph, const Plan& plan) {
  try {
    Machine(graph, plan).run();
    return std::nullopt;
  } catch (const Difference& difference) {
    return difference.what();
  }
}

}  // namespace stowage::oracle
