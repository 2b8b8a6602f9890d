// C for any number of rows. The package is written at a few sizes, and what differs between these is a number of rows:
//
//     n = 64   stowage_window(memory, &place_3, y - 1, 3, 1, rows);    place_3 = {.., 64 rows, ..}    if (y == 63) ..
//     n = 65   stowage_window(memory, &place_3, y - 1, 3, 1, rows);    place_3 = {.., 65 rows, ..}    if (y == 64) ..
//
// Rows are those of a tensor that the operator reads or writes, or a multiple of them and a constant. So functions get the
// numbers of rows, which `begin` computes, and take copies of places with these. A function that differs in any
// other way is refused, as are constants that differ.
//
// Cost: that of writing the package so many times.

#include "generate/open_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "generate/text.h"
#include "stowage/error.h"

namespace stowage::generate {

std::string text_of(const StepCount& count) {
  std::string text = count.times == 1 ? "n" : fmt::format("{} * n", count.times);
  if (count.plus != 0) text += fmt::format(" {} {}", count.plus < 0 ? '-' : '+', std::abs(count.plus));
  if (count.over == 1) return text;
  const bool is_sum = count.times != 1 || count.plus != 0;
  return fmt::format("{} / {}", is_sum ? "(" + text + ")" : text, count.over);
}

namespace {

/// Rows of tensors along the open axis. With steps of one row, an operator has as many steps as its output has rows, or,
/// if it sums up, its first input.
std::map<TensorId, StepCount> rows_of_tensors(const Graph& graph, const Plan& plan, const OpenRows& rows) {
  std::map<TensorId, StepCount> found;
  const std::vector<TimedSteps>& all = plan.streaming->affine->operators;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!rows.steps[i]) continue;
    if (all[i].tensor) {
      found.emplace(*all[i].tensor, *rows.steps[i]);
      continue;
    }
    for (const auto& output : graph.subgraphs[0].operators[*all[i].op].outputs) {
      const bool is_ring = output && std::ranges::any_of(plan.tensors[*output].views,
                                                         [](const View& it) { return it.ring.has_value(); });
      if (is_ring) found.emplace(*output, *rows.steps[i]);
    }
  }
  return found;
}

class Opening {
 public:
  Opening(std::span<const WrittenAt> all, const Plan& plan, const OpenRows& rows)
      : all_(all), model_(*all[0].model), rows_(rows) {
    model_.open = OpenModel{&rows, {}, rows_of_tensors(model_.graph(), plan, rows)};
  }

  void run() {
    expect_same_constants();
    open_places();
    for (std::size_t f = 0; f < model_.functions.size(); ++f) open_function(f);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error("plan", fmt::format("has open rows, but {} depends on {} in another way than by numbers of "
                                    "rows; give an exact size, as --dim {}=N",
                                    what, base::visible(rows_.size.name), base::visible(rows_.size.name)));
  }

  void expect_same_constants() const {
    for (const WrittenAt& it : all_) {
      const Model& other = *it.model;
      const auto has_same_ports = [](const Port& a, const Port& b) {
        return a.tensor == b.tensor && a.is_input == b.is_input && a.axis == b.axis;
      };
      if (other.functions.size() != model_.functions.size() ||
          !std::ranges::equal(other.schedule.ports, model_.schedule.ports, has_same_ports) ||
          other.port_places != model_.port_places)
        refuse("the list of operators");
      const auto& a = all_[0].sources->arrays();
      const auto& b = it.sources->arrays();
      const bool are_equal = std::ranges::equal(a, b, [](const ConstantArray& x, const ConstantArray& y) {
        return x.name == y.name && x.data == y.data;
      });
      if (!are_equal) refuse("a constant");
    }
  }

  void open_places() {
    const auto first = all_[0].sources->open_places().rows();
    for (const WrittenAt& it : all_) {
      const auto other = it.sources->open_places().rows();
      if (first.size() != other.size()) refuse("where tensors are");
      for (const auto& [name, rows] : first) {
        const auto there = other.find(name);
        if (there == other.end() || (there->second != rows && !numbers_of_place(name)))
          refuse("where tensors are");
      }
    }
    for (const auto& [name, rows] : first)
      if (const auto numbers = numbers_of_place(name)) open_places_.emplace(name, *numbers);
    for (const auto& [name, number] : open_places_) all_[0].sources->open_places().open_rows(name);
  }

  /// "place_17" is of tensor 17. None if its rows are not open.
  [[nodiscard]] std::optional<StepCount> numbers_of_place(const std::string& name) const {
    const std::size_t begin = name.find('_') + 1;
    const auto tensor = base::parse_integer(name.substr(begin, name.find('_', begin) - begin));
    const auto rows = model_.open->of_tensors.find(static_cast<TensorId>(tensor.value_or(0)));
    return rows == model_.open->of_tensors.end() ? std::nullopt : std::optional(rows->second);
  }

  /// "open[2]"
  std::string number(const StepCount& count) {
    std::vector<StepCount>& all = model_.open->numbers;
    auto known = std::ranges::find(all, count);
    if (known == all.end()) known = all.insert(all.end(), count);
    return fmt::format("open[{}]", known - all.begin());
  }

  /// Those of the tensors that the operator reads and writes.
  std::vector<StepCount> numbers_of(const Operator& op) const {
    std::vector<StepCount> numbers;
    for (const auto& operands : {op.outputs, op.inputs}) {
      for (const auto& operand : operands) {
        const auto rows = operand ? model_.open->of_tensors.find(*operand) : model_.open->of_tensors.end();
        if (rows != model_.open->of_tensors.end()) numbers.push_back(rows->second);
      }
    }
    return numbers;
  }

  /// The first of these texts, with numbers of rows in place of what differs; none if something else differs.
  std::optional<std::string> opened(const std::vector<std::string>& texts, const Operator& op) {
    std::vector<std::vector<std::string>> words;
    for (const std::string& text : texts) {
      words.push_back(words_of(text));
      if (words.back().size() != words[0].size()) return std::nullopt;
    }
    std::string result;
    for (std::size_t w = 0; w < words[0].size(); ++w) {
      const auto differs = [&](const auto& other) { return other[w] != words[0][w]; };
      if (std::ranges::none_of(words, differs)) {
        result += words[0][w];
        continue;
      }
      std::vector<std::int64_t> values;
      for (const auto& other : words) {
        const auto value = base::parse_integer(other[w]);
        if (!value) return std::nullopt;
        values.push_back(*value);
      }
      const auto expression = expression_of(values, numbers_of(op));
      if (!expression) return std::nullopt;
      const bool is_real = w + 2 < words[0].size() && words[0][w + 1] == ".";  // 64.0F
      if (is_real) result += words[0][w + 2].ends_with('F') ? "(float)" : "(double)";
      result += *expression;
      if (is_real) w += 2;
    }
    return result;
  }

  /// What all packages have of a function, or of one of its layers.
  template <typename TextOf>
  std::vector<std::string> texts(const TextOf& text_of) const {
    std::vector<std::string> all;
    for (const WrittenAt& it : all_) all.push_back(text_of(*it.model));
    return all;
  }

  void open_function(std::size_t f) {
    Function& function = model_.functions[f];
    const Operator& op = op_of(model_.graph(), model_.schedule.operators[f]);
    const auto refuse_it = [&] {
      refuse(fmt::format("the C of {}", describe(model_.graph(), 0, model_.schedule.operators[f].op)));
    };
    for (const WrittenAt& it : all_) {
      const Function& other = it.model->functions[f];
      const auto has_same_name = [](const LayerConstant& a, const LayerConstant& b) {
        return a.type == b.type && a.name == b.name;
      };
      if (!std::ranges::equal(function.layers, other.layers, has_same_name) || function.name != other.name ||
          function.callees != other.callees || function.tables != other.tables)
        refuse_it();
    }
    const auto body = opened(texts([&](const Model& it) { return it.functions[f].text; }), op);
    if (!body) refuse_it();
    std::string text = *body;
    std::string declarations = copy_places(text);
    for (std::size_t l = function.layers.size();
         l-- > 0;) {  // one that depends on rows is made in the function
      const LayerConstant layer = function.layers[l];
      const auto fields =
          opened(texts([&](const Model& it) { return it.functions[f].layers[l].fields; }), op);
      if (!fields) refuse_it();
      if (*fields == layer.fields) continue;
      declarations += fmt::format("  const {} {} = {{{}}};\n", layer.type, layer.name, *fields);
      function.layers.erase(function.layers.begin() + static_cast<std::ptrdiff_t>(l));
    }
    text.insert(text.find("{\n") + 2, declarations);
    const std::string memory = "(uint8_t *const *memory";
    function.reads_open = text.find("open[") != std::string::npos;
    if (function.reads_open) text.insert(text.find(memory) + memory.size(), ", const int32_t *open");
    function.text = text;
  }

  /// The values as a multiple of a number of rows, and a constant.
  std::optional<std::string> expression_of(const std::vector<std::int64_t>& values,
                                           const std::vector<StepCount>& numbers) {
    for (const StepCount& count : numbers) {
      std::vector<std::int64_t> rows;
      for (const WrittenAt& it : all_) rows.push_back(steps_at(count, it.size));
      const auto other = std::ranges::find_if(rows, [&](std::int64_t it) { return it != rows[0]; });
      if (other == rows.end()) continue;
      const auto at = static_cast<std::size_t>(other - rows.begin());
      const std::int64_t factor = (values[at] - values[0]) / (rows[at] - rows[0]);
      const std::int64_t plus = values[0] - factor * rows[0];
      bool fits = true;
      for (std::size_t i = 0; i < rows.size(); ++i) fits = fits && values[i] == factor * rows[i] + plus;
      if (!fits) continue;
      std::string text = (factor == 1 ? "" : fmt::format("{} * ", factor)) + number(count);
      if (plus != 0) text += fmt::format(" {} {}", plus < 0 ? '-' : '+', std::abs(plus));
      return factor == 1 && plus == 0 ? text : "(" + text + ")";
    }
    return std::nullopt;
  }

  /// Places whose rows the function needs become copies with the open number. The address of a row does not need it.
  std::string copy_places(std::string& text) {
    std::string copies;
    for (const auto& [name, count] : open_places_) {
      const std::string reference = "&" + name + ",";
      const std::string of_row = "stowage_row(memory, ";
      for (std::size_t at = text.find(reference); at != std::string::npos;
           at = text.find(reference, at + 1)) {
        if (at >= of_row.size() && text.compare(at - of_row.size(), of_row.size(), of_row) == 0) continue;
        const std::string copy = "rows_of_" + name;
        text.replace(at, reference.size(), "&" + copy + ",");
        const std::string line = fmt::format("  const stowage_place {} = stowage_with_rows(&{}, {});\n", copy,
                                             name, number(count));
        if (copies.find(line) == std::string::npos) copies += line;
      }
    }
    return copies;
  }

  std::span<const WrittenAt> all_;
  Model& model_;
  const OpenRows& rows_;
  std::map<std::string, StepCount> open_places_{};
};

}  // namespace

void open_rows(std::span<const WrittenAt> all, const Plan& plan, const OpenRows& rows) {
  Opening(all, plan, rows).run();
}

}  // namespace stowage::generate
