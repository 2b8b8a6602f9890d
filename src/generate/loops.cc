// A plan that follows an affine schedule needs no table of steps: isl writes its loops (stream/loops.cc), and
// each statement of them becomes the call of an operator's function.
//
// Where rows come and go, the caller must get control in the midst of the loops. So the counters are in the state, and
// the loops are in a switch with a label for each place where they stop:
//
//     case 0:
//       for (state->c0 = 0; state->c0 <= 49; state->c0 += 1) {
//         if (state->c0 <= 47) {
//           state->stop = 1; ...
//           return NAME_WANTS_ROW;
//           case 1:;
//         }
//         conv_2d_0(memory, state->c0);
//
// A row of an output leaves behind the call that computes it. The order is compared with the plan's, step by step.
//
// Cost: that of the loops; n log n for n steps.

#include "generate/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <tuple>

#include "generate/text.h"
#include "stream/loops.h"

namespace stowage::generate {
namespace {

constexpr std::size_t most_stops = std::numeric_limits<std::uint8_t>::max() - 1;

/// A statement of the loops: a step of an operator or a row of an input. Rows of an output may leave behind it.
struct Statement {
  std::size_t number = 0;  ///< In Schedule::steps.
  std::optional<std::size_t> leaves{};
};

/// "S3(c0 - 1);" as 3 and "c0 - 1".
struct Call {
  std::size_t statement = 0;
  std::string row{};
};

std::optional<Call> call_in(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t open = line.find('(');
  if (begin == std::string_view::npos || line[begin] != 'S' || open == std::string_view::npos)
    return std::nullopt;
  const std::string digits(line.substr(begin + 1, open - begin - 1));
  return Call{std::stoul(digits), std::string(line.substr(open + 1, line.rfind(')') - open - 1))};
}

class LoopWriter {
 public:
  LoopWriter(const Network& network, const Plan& plan, const Schedule& schedule,
             const std::vector<Function>& functions, const std::string& name, const OpenRows* rows)
      : rows_(rows),
        network_(network),
        affine_(*plan.streaming->affine),
        schedule_(schedule),
        functions_(functions),
        name_(upper(name)) {}

  std::optional<Loops> write() {
    if (!find_statements() || !has_order_of_plan()) return std::nullopt;
    constexpr unsigned long most_effort = 200'000'000;
    std::vector<stream::LoopStatement> statements;
    for (std::size_t s = 0; s < statements_.size(); ++s) {
      const TimedSteps& it = affine_.operators[s];
      statements.push_back({fmt::format("S{}", s), it.count, it.scale, it.shift, it.position});
      if (rows_ != nullptr) statements.back().open = rows_->steps[s];
    }
    const auto loops =
        stream::loop_nest(statements, most_effort, rows_ == nullptr ? SizeSymbol() : rows_->size);
    if (!loops) return std::nullopt;
    for (std::size_t at = 0; at < loops->size();) {
      const std::size_t end = loops->find('\n', at);
      write_line(std::string_view(*loops).substr(at, end - at));
      at = end + 1;
    }
    if (stops_ > most_stops) return std::nullopt;
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool has_ports() const { return !schedule_.ports.empty(); }

  [[nodiscard]] std::optional<std::size_t> port_of(TensorId tensor, bool is_input) const {
    for (std::size_t p = 0; p < schedule_.ports.size(); ++p) {
      const Port& port = schedule_.ports[p];
      if (port.tensor == tensor && port.is_input == is_input) return functions_.size() + p;
    }
    return std::nullopt;
  }

  bool find_statements() {
    for (const TimedSteps& it : affine_.operators) {
      if (it.block) return false;
      if (!it.op) {
        const auto port = port_of(*it.tensor, true);
        if (!port) return false;
        statements_.push_back({*port, std::nullopt});
        continue;
      }
      const auto kind = std::ranges::find(schedule_.operators, *it.op, &StepKind::op);
      if (kind == schedule_.operators.end() || kind->is_first_pass) return false;
      Statement statement{static_cast<std::size_t>(kind - schedule_.operators.begin()), std::nullopt};
      for (const auto& output : network_.graph().subgraphs[0].operators[*it.op].outputs)
        if (output && port_of(*output, false)) statement.leaves = port_of(*output, false);
      statements_.push_back(statement);
    }
    return true;
  }

  [[nodiscard]] bool has_order_of_plan() const {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>> times;
    for (std::size_t s = 0; s < statements_.size(); ++s) {
      const TimedSteps& it = affine_.operators[s];
      for (std::int64_t i = 0; i < it.count; ++i) times.emplace_back(it.scale * i + it.shift, it.position, s);
    }
    std::ranges::sort(times);
    std::vector<std::size_t> steps;
    for (const auto& [time, position, s] : times) {
      steps.push_back(statements_[s].number);
      if (statements_[s].leaves) steps.push_back(*statements_[s].leaves);
    }
    return steps == schedule_.steps;
  }

  void write_line(std::string_view line) {
    const std::size_t depth = line.find_first_not_of(' ');
    const std::string indent(depth + (has_ports() ? 6 : 2), ' ');
    const auto call = call_in(line);
    if (!call) {
      result_.text += indent + with_counters(std::string(line.substr(depth))) + "\n";
      return;
    }
    const Statement& it = statements_[call->statement];
    const std::string row = with_counters(call->row);
    std::string text;
    if (it.number < functions_.size()) {
      const Function& function = functions_[it.number];
      const bool has_row = schedule_.operators[it.number].axis.has_value();
      text = fmt::format("{}{}(memory{}{}{});\n", indent, function.name, function.part,
                         function.reads_open ? ", open" : "", has_row ? ", " + row : "");
      if (it.leaves) text += stop(*it.leaves, row, indent);
    } else {
      text = stop(it.number, row, indent);
    }
    const bool is_alone = result_.text.ends_with(")\n");  // behind a condition, or the head of a loop
    const bool needs_braces = is_alone && std::ranges::count(text, '\n') > 1;
    if (needs_braces) result_.text.insert(result_.text.size() - 1, " {");
    result_.text += text;
    if (needs_braces) result_.text += indent.substr(2) + "}\n";
  }

  /// c0 of the loops is a member of the state if they stop.
  std::string with_counters(std::string text) {
    constexpr std::string_view type = "int c";
    const std::size_t declared = text.find(type);
    if (has_ports() && declared != std::string::npos) text.erase(declared, type.size() - 1);
    std::string result;
    for (const std::string& word : words_of(text)) {
      const bool is_counter = word.size() == 2 && word[0] == 'c' && word[1] >= '0' && word[1] <= '9';
      if (is_counter)
        result_.counters = std::max(result_.counters, static_cast<std::size_t>(word[1] - '0') + 1);
      result += is_counter && has_ports() ? "state->" + word : word;
    }
    return result;
  }

  /// Returns to the caller, who then has the row of a port.
  std::string stop(std::size_t number, const std::string& row, const std::string& indent) {
    const std::size_t port = number - functions_.size();
    ++stops_;
    return fmt::format(
        "{0}state->stop = {1};\n{0}state->port = {2};\n{0}state->row = {3};\n{0}return {4}_{5}_ROW;\n"
        "{0}case {1}:;\n",
        indent, stops_, port, schedule_.ports[port].axis ? row : "0", name_,
        schedule_.ports[port].is_input ? "WANTS" : "HAS");
  }

  const OpenRows* rows_;
  const Network& network_;
  const AffineSchedule& affine_;
  const Schedule& schedule_;
  const std::vector<Function>& functions_;
  std::string name_;
  std::vector<Statement> statements_{};
  std::size_t stops_ = 0;
  Loops result_{};
};

}  // namespace

std::optional<Loops> loops_of(const Network& network, const Plan& plan, const Schedule& schedule,
                              const std::vector<Function>& functions, const std::string& name,
                              const OpenRows* rows) {
  const bool counts_steps = std::ranges::any_of(functions, &Function::reads_now);
  if (!schedule.repeats.empty() || counts_steps) return std::nullopt;
  if (!plan.streaming || !plan.streaming->affine || !plan.streaming->affine->is_followed) return std::nullopt;
  return LoopWriter(network, plan, schedule, functions, name, rows).write();
}

}  // namespace stowage::generate
