#include "columns.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>

namespace nb = nanobind;

namespace stowage::python {
namespace {

constexpr std::int64_t none = -1;

using Column = std::vector<std::int64_t>;

/// The array owns the values.
nb::object array_of(Column values) {
  auto* const owned = new Column(std::move(values));
  const nb::capsule owner(owned, [](void* column) noexcept { delete static_cast<Column*>(column); });
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

nb::str str_of(std::string_view text) { return nb::str(text.data(), text.size()); }

std::int64_t as_signed(std::size_t value) { return static_cast<std::int64_t>(value); }

template <typename Items, typename Value>
nb::object numbers(const Items& items, Value value) {
  Column column;
  column.reserve(items.size());
  for (const auto& item : items) column.push_back(value(item));
  return array_of(std::move(column));
}

template <typename Items, typename Value>
nb::list texts(const Items& items, Value value) {
  nb::list column;
  for (const auto& item : items) column.append(str_of(value(item)));
  return column;
}

/// From the first to the last position at which any piece lives.
Lifetime life_of(const Buffer& buffer) {
  if (buffer.pieces.empty()) return {};
  Lifetime life = buffer.pieces.front().life;
  for (const Piece& piece : buffer.pieces)
    life = {std::min(life.lower, piece.life.lower), std::max(life.upper, piece.life.upper)};
  return life;
}

/// What a row of the table of steps says.
struct StepRow {
  std::int64_t clock = 0;
  std::int64_t position = 0;
  std::string_view kind{};
  std::int64_t model = none;
  std::int64_t subgraph = none;
  std::int64_t op = none;
  std::string_view name{};
  std::string_view type{};
  std::int64_t tensor = none;
  std::int64_t row_begin = none;
  std::int64_t row_end = none;
};

void add_rows(const std::optional<RowRange>& rows, StepRow& row) {
  if (!rows) return;
  row.row_begin = rows->begin;
  row.row_end = rows->end;
}

void describe(const Run& run, const NamesOfModels& names, StepRow& row) {
  row.kind = "run";
  row.model = as_signed(run.model);
  add_rows(run.rows, row);
  if (run.path.size() < 2) return;
  const std::size_t subgraph = run.path[run.path.size() - 2];
  const std::size_t op = run.path.back();
  row.subgraph = as_signed(subgraph);
  row.op = as_signed(op);
  if (run.model >= names.size() || subgraph >= names[run.model].size()) return;
  const auto& operators = names[run.model][subgraph];
  if (op >= operators.size()) return;
  row.name = operators[op].name;
  row.type = operators[op].type;
}

void describe(const Copy& copy, const NamesOfModels&, StepRow& row) {
  row.kind = "copy";
  row.tensor = as_signed(copy.tensor);
}

void describe(const Fork&, const NamesOfModels&, StepRow& row) { row.kind = "fork"; }

void describe(const Pause&, const NamesOfModels&, StepRow& row) { row.kind = "pause"; }

void describe(const Arrive& arrive, const NamesOfModels&, StepRow& row) {
  row.kind = "arrive";
  row.tensor = as_signed(arrive.tensor);
  add_rows(arrive.rows, row);
}

void describe(const Leave& leave, const NamesOfModels&, StepRow& row) {
  row.kind = "leave";
  row.tensor = as_signed(leave.tensor);
  add_rows(leave.rows, row);
}

std::vector<StepRow> rows_of(const Plan& plan, const NamesOfModels& names) {
  std::vector<StepRow> rows;
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t p = 0; p < plan.clocks[c].steps.size(); ++p) {
      StepRow row{.clock = as_signed(c), .position = as_signed(p)};
      std::visit([&](const auto& step) { describe(step, names, row); }, plan.clocks[c].steps[p]);
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace

nb::dict buffer_columns(const Plan& plan) {
  Column memory;
  Column offset;
  for (const Place& place : plan.places) {
    memory.push_back(as_signed(place.memory));
    offset.push_back(place.offset);
  }
  const auto& buffers = plan.buffers;
  nb::dict columns;
  columns["id"] = texts(buffers, [](const Buffer& it) { return std::string_view(it.id); });
  columns["clock"] = numbers(buffers, [](const Buffer& it) { return as_signed(it.clock); });
  columns["memory"] = array_of(std::move(memory));
  columns["offset"] = array_of(std::move(offset));
  columns["size"] = numbers(buffers, [](const Buffer& it) { return it.size; });
  columns["alignment"] = numbers(buffers, [](const Buffer& it) { return it.alignment; });
  columns["lower"] = numbers(buffers, [](const Buffer& it) { return life_of(it).lower; });
  columns["upper"] = numbers(buffers, [](const Buffer& it) { return life_of(it).upper; });
  columns["pieces"] = numbers(buffers, [](const Buffer& it) { return as_signed(it.pieces.size()); });
  columns["traffic"] = numbers(buffers, [](const Buffer& it) { return it.traffic; });
  columns["kind"] = texts(buffers, [](const Buffer& it) { return name_of(it.kind); });
  return columns;
}

nb::dict tensor_columns(const Plan& plan) {
  const auto& tensors = plan.tensors;
  const auto from_first_view = [&](auto value) {
    return numbers(tensors,
                   [&](const PlannedTensor& it) { return it.views.empty() ? none : value(it.views[0]); });
  };
  nb::list shapes;
  for (const PlannedTensor& it : tensors) {
    if (!it.tensor.shape) {
      shapes.append(nb::none());
      continue;
    }
    nb::list shape;
    for (const std::int64_t extent : *it.tensor.shape) shape.append(extent);
    shapes.append(nb::tuple(shape));
  }
  nb::list opens;
  for (const PlannedTensor& it : tensors) {
    nb::list axes;
    for (const OpenExtent& open : it.tensor.open) axes.append(as_signed(open.axis));
    opens.append(nb::tuple(axes));
  }
  nb::dict columns;
  columns["model"] = numbers(tensors, [](const PlannedTensor& it) { return as_signed(it.model); });
  columns["name"] = texts(tensors, [](const PlannedTensor& it) { return std::string_view(it.tensor.name); });
  columns["kind"] = texts(tensors, [](const PlannedTensor& it) { return name_of(it.tensor.kind); });
  columns["dtype"] = texts(tensors, [](const PlannedTensor& it) { return name_of(it.tensor.dtype); });
  columns["shape"] = shapes;
  columns["open"] = opens;
  columns["bytes"] = numbers(tensors, [](const PlannedTensor& it) { return it.tensor.bytes; });
  columns["buffer"] = from_first_view([](const View& view) { return as_signed(view.buffer); });
  columns["memory"] =
      from_first_view([&](const View& view) { return as_signed(plan.places[view.buffer].memory); });
  columns["offset"] =
      from_first_view([&](const View& view) { return plan.places[view.buffer].offset + view.offset; });
  columns["lower"] = from_first_view([](const View& view) { return view.life.lower; });
  columns["upper"] = from_first_view([](const View& view) { return view.life.upper; });
  columns["views"] = numbers(tensors, [](const PlannedTensor& it) { return as_signed(it.views.size()); });
  return columns;
}

nb::dict step_columns(const Plan& plan, const NamesOfModels& names) {
  const std::vector<StepRow> rows = rows_of(plan, names);
  const auto column = [&](std::int64_t StepRow::*member) {
    return numbers(rows, [=](const StepRow& row) { return row.*member; });
  };
  const auto text = [&](std::string_view StepRow::*member) {
    return texts(rows, [=](const StepRow& row) { return row.*member; });
  };
  nb::dict columns;
  columns["clock"] = column(&StepRow::clock);
  columns["position"] = column(&StepRow::position);
  columns["kind"] = text(&StepRow::kind);
  columns["model"] = column(&StepRow::model);
  columns["subgraph"] = column(&StepRow::subgraph);
  columns["operator"] = column(&StepRow::op);
  columns["name"] = text(&StepRow::name);
  columns["type"] = text(&StepRow::type);
  columns["tensor"] = column(&StepRow::tensor);
  columns["row_begin"] = column(&StepRow::row_begin);
  columns["row_end"] = column(&StepRow::row_end);
  return columns;
}

}  // namespace stowage::python
