// What changed from one plan to another. Buffers with one id are the same. Operators are the same if they compute tensors of
// the same names, since their numbers shift when a model gains one; steps are compared in order, without the buffers that
// they use and without operators that only one plan has.
//
// Row blocks of one tensor are one entry of a list, for a plan by rows has hundreds of them.
//
// Cost: n log n in buffers and steps.

#include "stowage/difference.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "base/percent.h"
#include "base/text.h"
#include "report/columns.h"
#include "report/difference_data.h"

namespace stowage {
namespace {

using exporting::Json;
using report::Table;

void add(PlanDifference& difference, std::string name, std::optional<std::int64_t> before,
         std::optional<std::int64_t> after) {
  if (before.value_or(0) == 0 && after.value_or(0) == 0 && name != "peak") return;
  difference.numbers.push_back({std::move(name), before, after});
}

/// Numbers of memories, by name.
void add_memories(const Plan& before, const Plan& after, PlanDifference& difference) {
  std::vector<std::string> names;
  std::map<std::string, const PlannedMemory*> old, now;
  for (const PlannedMemory& it : before.memories) {
    if (old.emplace(it.memory.name, &it).second) names.push_back(it.memory.name);
  }
  for (const PlannedMemory& it : after.memories) {
    if (now.emplace(it.memory.name, &it).second && !old.contains(it.memory.name))
      names.push_back(it.memory.name);
  }
  if (names.size() < 2) return;
  for (const std::string& name : names) {
    const auto number = [&](const auto& memories, Bytes PlannedMemory::*member) {
      const auto found = memories.find(name);
      return found == memories.end() ? std::optional<std::int64_t>()
                                     : std::optional((*found->second).*member);
    };
    add(difference, "peak of " + name, number(old, &PlannedMemory::peak), number(now, &PlannedMemory::peak));
    add(difference, "traffic of " + name, number(old, &PlannedMemory::traffic),
        number(now, &PlannedMemory::traffic));
  }
}

BufferPlace place_of(const Plan& plan, std::size_t b) {
  const Place& place = plan.places.at(b);
  return {plan.buffers[b].size, plan.memories.at(place.memory).memory.name, place.offset};
}

void add_buffers(const Plan& before, const Plan& after, PlanDifference& difference) {
  std::map<std::string_view, std::size_t> now;
  std::set<std::string_view> old;
  for (std::size_t b = 0; b < after.buffers.size(); ++b) now.emplace(after.buffers[b].id, b);
  for (std::size_t b = 0; b < before.buffers.size(); ++b) {
    const std::string& id = before.buffers[b].id;
    old.insert(id);
    if (!now.contains(id)) difference.buffers.push_back({.id = id, .before = place_of(before, b)});
  }
  for (std::size_t b = 0; b < before.buffers.size(); ++b) {
    const auto found = now.find(before.buffers[b].id);
    if (found == now.end()) continue;
    const ChangedBuffer both{before.buffers[b].id, place_of(before, b), place_of(after, found->second)};
    if (both.before != both.after) difference.buffers.push_back(both);
  }
  for (std::size_t b = 0; b < after.buffers.size(); ++b) {
    const std::string& id = after.buffers[b].id;
    if (!old.contains(id)) difference.buffers.push_back({.id = id, .after = place_of(after, b)});
  }
}

/// The tensor of a row block, "x" of "x[7]"; of all other buffers their own id.
std::string_view tensor_of(std::string_view id) {
  const std::size_t bracket = id.rfind('[');
  if (bracket == std::string_view::npos || bracket == 0 || !id.ends_with(']')) return id;
  const std::string_view number = id.substr(bracket + 1, id.size() - bracket - 2);
  const bool is_number =
      !number.empty() && std::ranges::all_of(number, [](char c) { return '0' <= c && c <= '9'; });
  return is_number ? id.substr(0, bracket) : id;
}

using TensorsInRows = std::map<std::string_view, std::pair<TensorBuffers, TensorBuffers>>;

/// Tensors with row blocks in either plan, and what changed of them.
void add_tensors_in_rows(const Plan& before, const Plan& after, PlanDifference& difference) {
  if (!is_streamed(before) && !is_streamed(after)) return;
  TensorsInRows tensors;
  for (const Plan* const plan : {&before, &after}) {
    for (const Buffer& it : plan->buffers)
      if (tensor_of(it.id) != it.id) tensors[tensor_of(it.id)];
  }
  const auto count = [&](const Plan& plan, TensorBuffers TensorsInRows::mapped_type::*side) {
    for (const Buffer& it : plan.buffers) {
      const auto found = tensors.find(tensor_of(it.id));
      if (found == tensors.end()) continue;
      TensorBuffers& buffers = found->second.*side;
      buffers.row_blocks += found->first != it.id ? 1U : 0U;
      buffers.bytes += it.size;
    }
  };
  count(before, &TensorsInRows::mapped_type::first);
  count(after, &TensorsInRows::mapped_type::second);
  std::set<std::string_view> changed;
  for (const ChangedBuffer& it : difference.buffers) changed.insert(tensor_of(it.id));
  for (const auto& [name, buffers] : tensors) {
    if (changed.contains(name))
      difference.in_rows.push_back({std::string(name), buffers.first, buffers.second});
  }
}

using Path = std::pair<std::size_t, std::vector<std::size_t>>;  ///< Model and path of an operator.

/// Names of operators by their paths: those of the tensors that begin to live while the operator runs. An operator whose
/// outputs are in no planned memory has none.
std::map<Path, std::string> operator_names(const Plan& plan) {
  std::map<Path, std::string> names;
  for (const PlannedTensor& it : plan.tensors) {
    const TensorKind kind = it.tensor.kind;
    if (it.views.empty() || it.tensor.name.empty() || is_constant(kind) || kind == TensorKind::input ||
        kind == TensorKind::state)
      continue;
    const View& view = it.views[0];
    const Clock& clock = plan.clocks.at(plan.buffers.at(view.buffer).clock);
    const auto at = static_cast<std::size_t>(view.life.lower);
    if (view.life.lower < 0 || at >= clock.steps.size()) continue;
    const auto* const run = std::get_if<Run>(&clock.steps[at]);
    if (run == nullptr || run->model != it.model) continue;
    std::string& name = names[{run->model, run->path}];
    name += (name.empty() ? "" : ", ") + it.tensor.name;
  }
  return names;
}

/// What a step runs, in words that mean the same in both plans.
struct NamedStep {
  std::size_t number = 0;  ///< Among all steps of the plan.
  std::string op{};        ///< Empty: it is no run of a named operator, and only its place counts.
  Step step{};             ///< Without buffers, paths and tensors.
};

std::vector<NamedStep> named_steps(const Plan& plan) {
  const std::map<Path, std::string> names = operator_names(plan);
  std::vector<NamedStep> steps;
  std::size_t number = 0;
  for (const Clock& clock : plan.clocks) {
    for (const Step& it : clock.steps) {
      NamedStep named{.number = number++, .step = it};
      if (auto* const run = std::get_if<Run>(&named.step)) {
        run->sums = {};
        run->carry = {};
        if (const auto found = names.find({run->model, run->path}); found != names.end()) {
          named.op = found->second;
          run->path = {};
        }
      }
      if (auto* const copy = std::get_if<Copy>(&named.step)) {
        named.op = plan.tensors.at(copy->tensor).tensor.name;
        *copy = {};
      }
      steps.push_back(std::move(named));
    }
  }
  return steps;
}

std::set<std::string> names_in(const std::vector<NamedStep>& steps) {
  std::set<std::string> names;
  for (const NamedStep& it : steps)
    if (!it.op.empty()) names.insert(it.op);
  return names;
}

/// Operators are the same if they compute tensors of the same names. Steps of others, which only one plan has, do not
/// count: they came or went.
void add_orders(const Plan& before, const Plan& after, PlanDifference& difference) {
  const std::vector<NamedStep> old = named_steps(before);
  const std::vector<NamedStep> now = named_steps(after);
  const std::set<std::string> old_names = names_in(old);
  const std::set<std::string> new_names = names_in(now);
  const auto is_common = [&](const NamedStep& it) {
    return it.op.empty() || (old_names.contains(it.op) && new_names.contains(it.op));
  };
  std::ranges::set_difference(new_names, old_names, std::back_inserter(difference.operators_came));
  std::ranges::set_difference(old_names, new_names, std::back_inserter(difference.operators_went));
  const auto next = [&](const std::vector<NamedStep>& steps, std::size_t& i) {
    while (i < steps.size() && !is_common(steps[i])) ++i;
    return i < steps.size() ? &steps[i] : nullptr;
  };
  for (std::size_t a = 0, b = 0;; ++a, ++b) {
    const NamedStep* const first = next(old, a);
    const NamedStep* const second = next(now, b);
    if (first == nullptr && second == nullptr) return;
    if (first != nullptr && second != nullptr && first->op == second->op && first->step == second->step)
      continue;
    difference.first_other_step = first != nullptr ? first->number : old.size();
    return;
  }
}

/// "the same, 1 operator came, 2 went"
std::string order_of(const PlanDifference& difference) {
  std::string text = difference.first_other_step
                         ? fmt::format("differs from step {} on", *difference.first_other_step)
                         : "the same";
  const std::size_t came = difference.operators_came.size();
  const std::size_t went = difference.operators_went.size();
  if (came > 0) text += fmt::format(", {} operator{} came", came, came == 1 ? "" : "s");
  if (went > 0)
    text += fmt::format(", {}{} went", went, came > 0 ? "" : went == 1 ? " operator" : " operators");
  return text;
}

std::string shown(const std::optional<std::int64_t>& number) {
  return number ? fmt::format("{}", *number) : "-";
}

/// "+8192, +1.11 %"
std::string change_of(const ChangedNumber& it) {
  if (!it.differs()) return "the same";
  const std::int64_t change = it.after.value_or(0) - it.before.value_or(0);
  if (it.before.value_or(0) == 0) return fmt::format("{:+}", change);
  return fmt::format("{:+}, {}{} %", change, change > 0 ? "+" : "",
                     base::in_percent(static_cast<double>(change) / static_cast<double>(*it.before)));
}

std::string shown(const BufferPlace& it) {
  return fmt::format("{} bytes at {} of {}", it.size, it.offset, base::visible(it.memory));
}

std::string shown(const ChangedBuffer& it) {
  if (!it.before) return "new: " + shown(*it.after);
  if (!it.after) return "gone: " + shown(*it.before);
  return shown(*it.before) + " -> " + shown(*it.after);
}

/// "9216 bytes", "8 row blocks, 1536 bytes"
std::string shown(const TensorBuffers& it) {
  if (it.bytes == 0) return "nothing";
  const std::string bytes = fmt::format("{} bytes", it.bytes);
  if (it.row_blocks == 0) return bytes + " as a whole";
  return fmt::format("{} row block{}, {}", it.row_blocks, it.row_blocks == 1 ? "" : "s", bytes);
}

std::string shown(const ChangedTensor& it) {
  return it.before == it.after ? shown(it.before) + ", moved" : shown(it.before) + " -> " + shown(it.after);
}

/// "3 came, 1 went, 2 of another size, 12 only moved"
std::string counts_of(const std::vector<ChangedBuffer>& buffers) {
  std::size_t came = 0, went = 0, resized = 0, moved = 0;
  for (const ChangedBuffer& it : buffers) {
    came += it.before ? 0U : 1U;
    went += it.after ? 0U : 1U;
    resized += it.is_resized() ? 1U : 0U;
    moved += it.before && it.after && !it.is_resized() ? 1U : 0U;
  }
  return fmt::format("{} came, {} went, {} of another size, {} only moved", came, went, resized, moved);
}

Bytes bytes_changed(const ChangedBuffer& it) {
  return std::abs((it.after ? it.after->size : 0) - (it.before ? it.before->size : 0));
}

/// An entry of a list: a buffer, or a tensor in row blocks.
struct Change {
  const ChangedBuffer* buffer = nullptr;
  const ChangedTensor* tensor = nullptr;
  Bytes bytes = 0;  ///< By which sizes differ.
};

std::string shown(const Change& it) { return it.tensor != nullptr ? shown(*it.tensor) : shown(*it.buffer); }

const std::string& name_of(const Change& it) {
  return it.tensor != nullptr ? it.tensor->name : it.buffer->id;
}

/// Buffers that are no row blocks, tensors in row blocks, and how many of them changed.
struct Changes {
  std::vector<Change> all{};  ///< Those whose sizes differ most first.
  std::string counts{};
};

Changes changes_of(const PlanDifference& difference) {
  Changes changes;
  std::vector<ChangedBuffer> others;
  std::set<std::string_view> in_rows;
  for (const ChangedTensor& it : difference.in_rows) {
    in_rows.insert(it.name);
    changes.all.push_back({.tensor = &it, .bytes = std::abs(it.after.bytes - it.before.bytes)});
  }
  for (const ChangedBuffer& it : difference.buffers) {
    if (in_rows.contains(tensor_of(it.id))) continue;
    others.push_back(it);
    changes.all.push_back({.buffer = &it, .bytes = bytes_changed(it)});
  }
  std::ranges::stable_sort(changes.all, std::ranges::greater{}, &Change::bytes);
  changes.counts = counts_of(others);
  if (const std::size_t count = difference.in_rows.size(); count > 0)
    changes.counts += fmt::format("; {} tensor{} in other row blocks", count, count == 1 ? "" : "s");
  return changes;
}

constexpr std::size_t most_in_text = 20;

void write_text(const PlanDifference& difference, std::ostream& out) {
  std::size_t width = 8;
  for (const ChangedNumber& it : difference.numbers) width = std::max(width, it.name.size());
  for (const ChangedNumber& it : difference.numbers)
    fmt::print(out, "{:{}}  {} -> {}  {}\n", base::visible(it.name), width, shown(it.before), shown(it.after),
               change_of(it));
  const Changes changes = changes_of(difference);
  fmt::print(out, "{:{}}  {}\n", "buffers", width, changes.counts);
  const std::size_t count = std::min(changes.all.size(), most_in_text);
  for (const Change& it : std::span(changes.all).first(count))
    fmt::print(out, "{:{}}  {}  {}\n", "", width, base::visible(name_of(it)), shown(it));
  if (count < changes.all.size())
    fmt::print(out, "{:{}}  and {} more\n", "", width, changes.all.size() - count);
  fmt::print(out, "{:{}}  {}\n", "order", width, order_of(difference));
}

/// A name in a table: no bars, and no backquotes within code.
std::string code(std::string_view name) {
  std::string text = base::visible(name);
  std::ranges::replace(text, '`', '\'');
  std::string escaped;
  for (const char letter : text) escaped += letter == '|' ? std::string("\\|") : std::string(1, letter);
  return "`" + escaped + "`";
}

void write_markdown(const PlanDifference& difference, std::ostream& out) {
  fmt::print(out, "| | before | after | change |\n|---|---:|---:|---|\n");
  for (const ChangedNumber& it : difference.numbers)
    fmt::print(out, "| {} | {} | {} | {} |\n", it.name == "peak" ? "**peak**" : code(it.name),
               shown(it.before), shown(it.after), change_of(it));
  const Changes changes = changes_of(difference);
  fmt::print(out, "\nBuffers: {}. Order: {}.\n", changes.counts, order_of(difference));
  if (changes.all.empty()) return;
  fmt::print(out, "\n| buffer | change |\n|---|---|\n");
  const std::size_t count = std::min(changes.all.size(), most_in_text);
  for (const Change& it : std::span(changes.all).first(count))
    fmt::print(out, "| {} | {} |\n", code(name_of(it)), shown(it));
  if (count < changes.all.size()) fmt::print(out, "\nand {} more\n", changes.all.size() - count);
}

Json json_of(const std::optional<BufferPlace>& it) {
  if (!it) return nullptr;
  return {{"size", it->size}, {"memory", it->memory}, {"offset", it->offset}};
}

Json json_of(const ChangedBuffer& it) {
  return {{"id", it.id}, {"before", json_of(it.before)}, {"after", json_of(it.after)}};
}

Json json_of(const TensorBuffers& it) { return {{"row_blocks", it.row_blocks}, {"bytes", it.bytes}}; }

Json json_of(const ChangedTensor& it) {
  return {{"name", it.name}, {"before", json_of(it.before)}, {"after", json_of(it.after)}};
}

Json numbers_of(const PlanDifference& difference) {
  const auto number = [](const std::optional<std::int64_t>& it) { return it ? Json(*it) : Json(nullptr); };
  Json numbers = Json::array();
  for (const ChangedNumber& it : difference.numbers)
    numbers.push_back({{"name", it.name}, {"before", number(it.before)}, {"after", number(it.after)}});
  return numbers;
}

using BufferNumbers = std::map<std::string_view, std::int64_t>;

BufferNumbers numbers_of(const Plan& plan) {
  BufferNumbers numbers;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    numbers.emplace(plan.buffers[b].id, static_cast<std::int64_t>(b));
  return numbers;
}

void write_json(const PlanDifference& difference, std::ostream& out) {
  Json buffers = Json::array();
  for (const ChangedBuffer& it : difference.buffers) buffers.push_back(json_of(it));
  Json in_rows = Json::array();
  for (const ChangedTensor& it : difference.in_rows) in_rows.push_back(json_of(it));
  Json document{{"format", "stowage-difference"},
                {"version", 1},
                {"growth", difference.growth()},
                {"numbers", numbers_of(difference)},
                {"buffers", std::move(buffers)},
                {"in_rows", std::move(in_rows)},
                {"operators_came", difference.operators_came},
                {"operators_went", difference.operators_went},
                {"first_other_step", nullptr}};
  if (difference.first_other_step) document["first_other_step"] = *difference.first_other_step;
  out << document.dump(1) << '\n';
}

}  // namespace

double PlanDifference::growth() const {
  if (numbers.empty()) return 0;
  const std::int64_t before = numbers[0].before.value_or(0);
  const std::int64_t after = numbers[0].after.value_or(0);
  if (after <= before) return 0;
  return before == 0 ? 1 : static_cast<double>(after - before) / static_cast<double>(before);
}

PlanDifference difference_of(const Plan& before, const Plan& after) {
  PlanDifference difference;
  const auto both = [&](std::string name, auto number) {
    add(difference, std::move(name), number(before), number(after));
  };
  both("peak", [](const Plan& plan) { return plan.summary.peak; });
  both("lower bound", [](const Plan& plan) { return plan.summary.lower_bound; });
  add_memories(before, after, difference);
  both("traffic cost", [](const Plan& plan) { return plan.summary.cost; });
  both("bytes of all tensors", [](const Plan& plan) { return plan.summary.naive; });
  both("number of buffers", [](const Plan& plan) { return static_cast<std::int64_t>(plan.buffers.size()); });
  both("copies removed", [](const Plan& plan) { return plan.copies_removed.count; });
  both("copies kept", [](const Plan& plan) { return static_cast<std::int64_t>(plan.copies_kept.size()); });
  add_buffers(before, after, difference);
  add_tensors_in_rows(before, after, difference);
  add_orders(before, after, difference);
  return difference;
}

void write_difference(const PlanDifference& difference, DifferenceForm form, std::ostream& out) {
  switch (form) {
    case DifferenceForm::text:
      return write_text(difference, out);
    case DifferenceForm::markdown:
      return write_markdown(difference, out);
    case DifferenceForm::json:
      return write_json(difference, out);
  }
}

exporting::Json report::data_of(const PlanDifference& difference, const Plan& before, const Plan& after) {
  const BufferNumbers old = numbers_of(before), now = numbers_of(after);
  std::map<std::string_view, std::vector<const ChangedBuffer*>> in_rows;
  for (const ChangedTensor& it : difference.in_rows) in_rows[it.name];
  for (const ChangedBuffer& it : difference.buffers) {
    if (const auto found = in_rows.find(tensor_of(it.id)); found != in_rows.end())
      found->second.push_back(&it);
  }
  Table entries{"tensor", "buffers"}, buffers{"before", "after"};
  Json tensors = Json::array();
  const auto add_buffer = [&](const ChangedBuffer& it) {
    buffers.add({it.before ? old.at(it.id) : -1, it.after ? now.at(it.id) : -1});
  };
  const Changes changes = changes_of(difference);
  for (const Change& it : changes.all) {
    if (it.tensor == nullptr) {
      entries.add({-1, 1});
      add_buffer(*it.buffer);
      continue;
    }
    const std::vector<const ChangedBuffer*>& own = in_rows.at(it.tensor->name);
    entries.add({static_cast<std::int64_t>(tensors.size()), static_cast<std::int64_t>(own.size())});
    tensors.push_back(json_of(*it.tensor));
    for (const ChangedBuffer* const buffer : own) add_buffer(*buffer);
  }
  return {{"numbers", numbers_of(difference)}, {"counts", changes.counts},  {"order", order_of(difference)},
          {"tensors", std::move(tensors)},     {"entries", entries.json()}, {"buffers", buffers.json()}};
}

}  // namespace stowage
