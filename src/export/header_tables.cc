#include "export/header_tables.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "export/readable.h"

namespace stowage::exporting {
namespace {

/// The places of tensors when steps need them.
class Places {
 public:
  explicit Places(const Plan& plan);

  /// The place that an operator at this position reads or writes: the live view in the fastest memory, or
  /// else a view that ends there and is overwritten in place. None for tensors without a place.
  [[nodiscard]] std::optional<Place> at(std::size_t tensor, std::size_t clock, Position position) const;

  /// The clock and the position that fork a clock; none for the root.
  [[nodiscard]] std::optional<std::pair<std::size_t, Position>> fork_of(std::size_t clock) const {
    const auto& fork = forked_by_[clock];
    return fork ? std::optional(std::pair(fork->clock, fork->position)) : std::nullopt;
  }

  /// The address of a view.
  [[nodiscard]] Place of(const View& view) const;

  /// The view of a tensor in that buffer that is live at a position of the buffer's clock.
  [[nodiscard]] std::optional<Place> in(std::size_t tensor, std::size_t buffer, Position position) const;

 private:
  [[nodiscard]] std::optional<Position> seen_from(std::size_t outer, std::size_t clock,
                                                  Position position) const;

  struct Fork {
    std::size_t clock = 0;
    Position position = 0;
  };

  const Plan& plan_;
  std::vector<std::optional<Fork>> forked_by_;  // per clock; none for the root
};

Places::Places(const Plan& plan) : plan_(plan), forked_by_(plan.clocks.size()) {
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const Step& step = plan.clocks[c].steps[at];
      if (const auto* const pause = std::get_if<Pause>(&step))
        forked_by_[pause->clock] = Fork{c, static_cast<Position>(at)};
      const auto* const fork = std::get_if<stowage::Fork>(&step);
      if (fork == nullptr) continue;
      for (const std::size_t branch : fork->clocks) forked_by_[branch] = Fork{c, static_cast<Position>(at)};
    }
  }
}

std::optional<Position> Places::seen_from(std::size_t outer, std::size_t clock, Position position) const {
  while (clock != outer) {
    if (!forked_by_[clock]) return std::nullopt;
    position = forked_by_[clock]->position;
    clock = forked_by_[clock]->clock;
  }
  return position;
}

Place Places::of(const View& view) const {
  const Place& place = plan_.places[view.buffer];
  return {place.memory, place.offset + view.offset};
}

std::optional<Place> Places::at(std::size_t tensor, std::size_t clock, Position position) const {
  std::optional<Place> alive;
  std::optional<Place> ending;
  for (const View& view : plan_.tensors[tensor].views) {
    const auto now = seen_from(plan_.buffers[view.buffer].clock, clock, position);
    if (view.ring || view.rows || view.block) continue;  // a row of it has a place
    if (!now || *now < view.life.lower || *now > view.life.upper) continue;
    std::optional<Place>& found = *now < view.life.upper ? alive : ending;
    if (!found || of(view).memory < found->memory) found = of(view);
  }
  return alive ? alive : ending;
}

std::optional<Place> Places::in(std::size_t tensor, std::size_t buffer, Position position) const {
  for (const View& view : plan_.tensors[tensor].views) {
    if (view.buffer == buffer && view.life.lower <= position && position <= view.life.upper) return of(view);
  }
  return std::nullopt;
}

/// Rows of one table to which rows of another refer, by the address of the first.
class Pool {
 public:
  /// `empty` is a row for an empty table, which C does not allow.
  Pool(std::string type, std::string name, std::string empty)
      : type_(std::move(type)), name_(std::move(name)), empty_(std::move(empty)) {}

  /// The address of the next row.
  [[nodiscard]] std::string next() const { return fmt::format("{} + {}", name_, rows_.size()); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  void add(std::string row) { rows_.push_back(std::move(row)); }

  void write(std::string_view storage, std::ostream& out) const {
    fmt::print(out, "\n{}const {} {}[] = {{\n", storage, type_, name_);
    for (std::size_t i = 0; i < rows_.size(); ++i) fmt::print(out, "{}  {}", i == 0 ? "" : ",\n", rows_[i]);
    fmt::print(out, "{}\n}};\n", rows_.empty() ? "  " + empty_ : "");
  }

 private:
  std::string type_;
  std::string name_;
  std::string empty_;
  std::vector<std::string> rows_;
};

class TableWriter {
 public:
  TableWriter(const Plan& plan, std::span<const Graph> graphs, const HeaderOptions& options,
              const BucketTables& bucket, std::ostream& out)
      : plan_(plan),
        has_rows_(bucket.has_rows || is_streamed(plan)),
        graphs_(graphs),
        places_(plan),
        options_(options),
        prefix_(options.prefix),
        own_prefix_(bucket.name.empty() ? options.prefix : options.prefix + "_" + bucket.name),
        storage_(bucket.name.empty() ? "" : "static "),
        capitals_(macro_name(options.prefix)),
        nowhere_(capitals_ + "_NOWHERE"),
        out_(out) {
    for (std::size_t m = 0, first = 0; m < graphs.size(); ++m) {
      first_tensor_.push_back(first);
      first += graphs[m].tensors.size();
    }
  }

  void write() const {
    write_memories();
    write_tensors();
    write_clocks();
    write_models();
  }

  void write_memories() const {
    Pool memories = table("memory", "memories");
    for (const PlannedMemory& memory : plan_.memories) {
      memories.add(fmt::format("{{{}, {}u, {}u, {}}}", literal(memory.memory.name), memory.peak,
                               memory.memory.alignment, memory.memory.role == MemoryRole::weights ? 1 : 0));
    }
    memories.write(storage_, out_);
  }

 private:
  [[nodiscard]] Pool table(std::string_view type, std::string_view name) const {
    return {fmt::format("{}_{}", prefix_, type), fmt::format("{}_{}", own_prefix_, name), ""};
  }

  [[nodiscard]] Pool pool(std::string_view type, std::string_view name, std::string empty) const {
    const bool is_number = type == "uint32_t";
    return {is_number ? std::string(type) : fmt::format("{}_{}", prefix_, type),
            fmt::format("{}_{}", own_prefix_, name), std::move(empty)};
  }

  /// A name as a string, or a null pointer where names are not wanted.
  [[nodiscard]] std::string name(const std::string& text) const {
    return options_.names ? literal(text) : "0";
  }

  /// Where a constant is in its file, and its quantization.
  [[nodiscard]] std::string details_of(std::size_t model, TensorId tensor) const {
    if (model >= options_.details.size() || tensor >= options_.details[model].data_at.size())
      return fmt::format("{}, 0.0f, 0", nowhere_);
    const ModelDetails& details = options_.details[model];
    const auto& data = details.data_at[tensor];
    const float scale = std::isfinite(details.scales[tensor]) ? details.scales[tensor] : 0.0F;
    return fmt::format("{}, {:.9e}f, {}", data ? fmt::format("{}u", *data) : nowhere_, scale,
                       details.zero_points[tensor]);
  }

  void write_tensors() const {
    Pool shapes = pool("bytes", "shapes", "0u");
    Pool views =
        pool("view", "views",
             has_rows_ ? "{0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}" : "{0u, 0u, 0u, 0u, 0u}");
    Pool tensors =
        pool("tensor", "tensors",
             fmt::format("{{\"\", 0u, {0}_KIND_WEIGHT, {0}_UNKNOWN, 0u, 0u, {1}, 0u, {2}, 0u, 0.0f, 0}}",
                         capitals_, shapes.next(), views.next()));
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      const PlannedTensor& planned = plan_.tensors[t];
      const Tensor& tensor = planned.tensor;
      const std::string shape = shapes.next();
      const std::string view = views.next();
      const Shape dimensions = tensor.shape.value_or(Shape{tensor.bytes});
      for (const std::int64_t dimension : dimensions) shapes.add(fmt::format("{}u", dimension));
      for (const View& it : planned.views) {
        const Place place = places_.of(it);
        views.add(fmt::format("{{{}u, {}u, {}u, {}u, {}u{}}}", place.memory, place.offset,
                              plan_.buffers[it.buffer].clock, it.life.lower, it.life.upper,
                              rows_of(it, tensor)));
      }
      tensors.add(fmt::format("{{{}, {}u, {}_KIND_{}, {}_{}, {}u, {}u, {}, {}u, {}, {}}}", name(tensor.name),
                              planned.model, capitals_, macro_name(name_of(tensor.kind)), capitals_,
                              macro_name(name_of(tensor.dtype)), tensor.bytes, dimensions.size(), shape,
                              planned.views.size(), view,
                              details_of(planned.model, t - first_tensor_.at(planned.model))));
    }
    shapes.write("static ", out_);
    views.write("static ", out_);
    tensors.write(storage_, out_);
  }

  /// An axis and a range along it, as members of a row of a table.
  [[nodiscard]] std::string range(const std::optional<RowRange>& rows) const {
    if (!rows) return fmt::format(", {}, 0u, 0u", nowhere_);
    return fmt::format(", {}u, {}u, {}u", rows->axis, rows->begin, rows->end);
  }

  /// Which rows a view has, and how they lie; nothing if no view of the plan has rows.
  [[nodiscard]] std::string rows_of(const View& view, const Tensor& tensor) const {
    if (!has_rows_) return "";
    const std::optional<RowRange> block = view.block ? std::optional<RowRange>(*view.block) : std::nullopt;
    if (!view.ring && !view.rows) return fmt::format(", {}, 0u, 0u, 0u, 0u, 0u{}", nowhere_, range(block));
    const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
    const std::int64_t extent = (*tensor.shape)[axis];
    Bytes row = tensor.bytes / extent;
    if (block) row = row / (*tensor.shape)[block->axis] * (block->end - block->begin);
    const std::int64_t first = view.rows ? view.rows->begin : 0;
    const std::int64_t rows = view.rows ? view.rows->end - first : extent;
    return fmt::format(", {}u, {}u, {}u, {}u, {}u, {}u{}", axis, first, rows,
                       view.ring ? view.ring->granule : 0, view.ring ? view.ring->count : 0, row,
                       range(block));
  }

  /// The rows of a step; nothing if no step of the plan is of rows.
  [[nodiscard]] std::string rows_of(const Step& step) const {
    if (!has_rows_) return "";
    std::optional<RowRange> rows;
    std::optional<RowRange> part;
    std::optional<RowRange> block;
    std::optional<Sums> kept;
    const auto* const run = std::get_if<Run>(&step);
    if (run != nullptr) {
      if (run->rows) rows = *run->rows;
      if (run->part) part = *run->part;
      if (run->block) block = *run->block;
      if (run->sums) kept = *run->sums;
      if (run->carry) kept = *run->carry;
    }
    const auto take = [&](const auto* const passage) {
      if (passage == nullptr) return;
      rows = passage->rows;
      if (passage->block) block = *passage->block;
    };
    take(std::get_if<Arrive>(&step));
    take(std::get_if<Leave>(&step));
    const Place place = kept ? plan_.places[kept->buffer] : Place{};
    return fmt::format(
        "{}{}{}, {}, {}, {}u", range(rows), range(part), range(block), run != nullptr && run->sums ? 1 : 0,
        kept ? fmt::format("{}u", place.memory) : nowhere_, kept ? place.offset + kept->offset : 0);
  }

  [[nodiscard]] std::string operand(std::optional<std::size_t> tensor,
                                    const std::optional<Place>& place) const {
    const std::string index = tensor ? fmt::format("{}u", *tensor) : nowhere_;
    if (!place) return fmt::format("{{{}, {}, 0u}}", index, nowhere_);
    return fmt::format("{{{}, {}u, {}u}}", index, place->memory, place->offset);
  }

  void write_clocks() const {
    Pool operands = pool("operand", "operands", "{0u, 0u, 0u}");
    Pool branches = pool("uint32_t", "branches", "0u");
    Pool steps =
        pool("step", "steps", fmt::format("{{{}_RUN, \"\", 0u, 0u, 0u, 0u, 0u, 0u, 0, 0u, 0}}", capitals_));
    Pool clocks = table("clock", "clocks");
    for (std::size_t c = 0; c < plan_.clocks.size(); ++c) {
      std::string forked;
      if (has_rows_) {
        const auto fork = places_.fork_of(c);
        forked =
            fork ? fmt::format(", {}u, {}u", fork->first, fork->second) : fmt::format(", {0}, {0}", nowhere_);
      }
      clocks.add(fmt::format("{{{}u, {}{}}}", plan_.clocks[c].steps.size(), steps.next(), forked));
      for (std::size_t at = 0; at < plan_.clocks[c].steps.size(); ++at)
        steps.add(fmt::format("{{{}{}}}", step(c, static_cast<Position>(at), operands, branches),
                              rows_of(plan_.clocks[c].steps[at])));
    }
    operands.write("static ", out_);
    branches.write("static ", out_);
    steps.write("static ", out_);
    clocks.write(storage_, out_);
  }

  [[nodiscard]] std::string step(std::size_t clock, Position at, Pool& operands, Pool& branches) const {
    const std::string operand = operands.next();
    const std::string branch = branches.next();
    const Step& step = plan_.clocks[clock].steps[static_cast<std::size_t>(at)];
    if (const auto* const run = std::get_if<Run>(&step)) {
      const Operator& op = add_operands(*run, clock, at, operands);
      return fmt::format("{}_RUN, {}, {}u, {}u, {}u, {}u, {}u, {}u, {}, 0u, {}", capitals_, name(op.type),
                         run->model, run->path[run->path.size() - 2], run->path.back(), op.inputs.size(),
                         op.outputs.size(), op.scratch.size(), operand, branch);
    }
    if (const auto* const copy = std::get_if<Copy>(&step)) {
      for (const std::size_t buffer : {copy->from, copy->to})
        operands.add(this->operand(copy->tensor, places_.in(copy->tensor, buffer, at)));
      return fmt::format("{}_COPY, \"\", {}u, 0u, 0u, 1u, 1u, 0u, {}, 0u, {}", capitals_,
                         plan_.tensors[copy->tensor].model, operand, branch);
    }
    if (const auto passing = passing_of(step)) {
      const auto& [tensor, leaves] = *passing;
      operands.add(this->operand(tensor, places_.at(tensor, clock, at)));
      return fmt::format("{}_{}, \"\", {}u, 0u, 0u, {}u, {}u, 0u, {}, 0u, {}", capitals_,
                         leaves ? "LEAVE" : "ARRIVE", plan_.tensors[tensor].model, leaves ? 1 : 0,
                         leaves ? 0 : 1, operand, branch);
    }
    const auto* const pause = std::get_if<Pause>(&step);
    const std::vector<std::size_t> forked =
        pause != nullptr ? std::vector{pause->clock} : std::get<Fork>(step).clocks;
    for (const std::size_t it : forked) branches.add(fmt::format("{}u", it));
    return fmt::format("{}_{}, \"\", 0u, 0u, 0u, 0u, 0u, 0u, {}, {}u, {}", capitals_,
                       pause != nullptr ? "PAUSE" : "FORK", operand, forked.size(), branch);
  }

  /// The tensor that arrives or leaves in a step, and whether it leaves.
  [[nodiscard]] static std::optional<std::pair<std::size_t, bool>> passing_of(const Step& step) {
    if (const auto* const arrive = std::get_if<Arrive>(&step)) return std::pair(arrive->tensor, false);
    if (const auto* const leave = std::get_if<Leave>(&step)) return std::pair(leave->tensor, true);
    return std::nullopt;
  }

  const Operator& add_operands(const Run& run, std::size_t clock, Position at, Pool& operands) const {
    const Operator& op =
        graphs_[run.model].subgraphs.at(run.path[run.path.size() - 2]).operators.at(run.path.back());
    const auto add = [&](const std::optional<TensorId>& tensor) {
      if (!tensor) {
        operands.add(operand(std::nullopt, std::nullopt));
        return;
      }
      const std::size_t index = first_tensor_[run.model] + *tensor;
      operands.add(operand(index, places_.at(index, clock, at)));
    };
    for (const auto& input : op.inputs) add(input);
    for (const auto& output : op.outputs) add(output);
    for (const TensorId scratch : op.scratch) add(scratch);
    return op;
  }

  void write_models() const {
    Pool ends = pool("uint32_t", "ends", "0u");
    Pool models = table("model", "models");
    for (std::size_t m = 0; m < graphs_.size(); ++m) {
      const Subgraph& main = graphs_[m].subgraphs[0];
      const auto add = [&](const std::vector<TensorId>& tensors) {
        const std::string first = ends.next();
        for (const TensorId tensor : tensors) ends.add(fmt::format("{}u", first_tensor_[m] + tensor));
        return first;
      };
      const std::string inputs = add(main.inputs);
      const std::string outputs = add(main.outputs);
      models.add(fmt::format("{{{}, {}u, {}u, {}, {}}}", name(plan_.models[m].name), main.inputs.size(),
                             main.outputs.size(), inputs, outputs));
    }
    ends.write("static ", out_);
    models.write(storage_, out_);
  }

  const Plan& plan_;
  bool has_rows_;  ///< Tables have columns for them.
  std::span<const Graph> graphs_;
  Places places_;
  const HeaderOptions& options_;
  std::string prefix_;
  std::string own_prefix_;  ///< Of the tables.
  std::string_view storage_;
  std::string capitals_;
  std::string nowhere_;
  std::ostream& out_;
  std::vector<std::size_t> first_tensor_;
};

}  // namespace

bool is_identifier(std::string_view text) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), is_part);
}

std::string macro_name(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x80 && std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return result;
}

std::string literal(const std::string& text) {
  constexpr std::size_t longest_text = 255;  // compilers need not support literals of more than 4095 bytes
  std::string result = "\"";
  for (const char c : shortened(text, longest_text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      result += {'\\', c};
    } else if (byte < 0x20 || byte > 0x7e) {
      result += fmt::format("\\{:03o}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

void write_memories(const Plan& plan, const HeaderOptions& options, std::ostream& out) {
  TableWriter(plan, {}, options, {}, out).write_memories();
}

void write_header_tables(const Plan& plan, std::span<const Graph> graphs, const HeaderOptions& options,
                         const BucketTables& bucket, std::ostream& out) {
  TableWriter(plan, graphs, options, bucket, out).write();
}

}  // namespace stowage::exporting
