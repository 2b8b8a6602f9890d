#include "run/stream_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/row_places.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

/// Looks at the steps of a plan one by one.
class StepReader {
 public:
  StepReader(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  void read(std::size_t at) {
    at_ = at;
    const Step& step = plan_.clocks[0].steps[at];
    if (const Run* const run = std::get_if<Run>(&step)) {
      read_run(*run);
    } else if (const Arrive* const arrive = std::get_if<Arrive>(&step)) {
      read_passage(arrive->tensor, arrive->rows, graph_.subgraphs[0].inputs, "an input");
    } else if (const Leave* const leave = std::get_if<Leave>(&step)) {
      read_passage(leave->tensor, leave->rows, graph_.subgraphs[0].outputs, "an output");
    } else {
      refuse("anything that a streamed plan can have: it is a copy or a fork");
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const {
    throw RunFault{fmt::format("step {} is not {}", at_, expected)};
  }

  void read_run(const Run& run) const {
    const auto& operators = graph_.subgraphs[0].operators;
    if (run.model != 0 || run.path.size() != 2 || run.path[0] != 0 || run.path[1] >= operators.size() ||
        operators[run.path[1]].folded)
      refuse("an operator of the network that could run there");
    const Operator& op = operators[run.path[1]];
    if (!run.rows) {
      if (run.sums || run.part) refuse("of an operator that has rows to sum up");
      return;
    }
    const std::string who = stowage::describe(graph_, 0, run.path[1]);
    if (run.sums) {
      read_sums(op, run, who);
      return;
    }
    if (row_axis_of(op, run.rows->axis) == nullptr)
      refuse(fmt::format("of an operator with rows along axis {}: {}", run.rows->axis, who));
    if (run.part) read_part(op, run, who);
    for (const auto& output : op.outputs) {
      if (output) expect_rows(*output, *run.rows);
    }
  }

  void read_sums(const Operator& op, const Run& run, const std::string& who) const {
    if (run.part) refuse("of an operator that adds rows: " + who);
    if (std::ranges::find(op.sums_over, run.rows->axis) == op.sums_over.end())
      refuse(fmt::format("of an operator that sums up over axis {}: {}", run.rows->axis, who));
    expect_rows(*op.inputs[0], *run.rows);
    if (op.outputs.size() != 1 || !op.outputs[0]) refuse("of an operator with one output: " + who);
    const bool is_sound =
        run.sums->buffer < plan_.buffers.size() && run.sums->offset >= 0 && run.sums->offset <= largest_value;
    if (!is_sound) refuse("of an operator that has a place for its sums: " + who);
  }

  void read_part(const Operator& op, const Run& run, const std::string& who) const {
    const RowAxis& along = *row_axis_of(op, run.rows->axis);
    if (!along.adds_rows || along.reads[0].axis != run.part->axis)
      refuse(fmt::format("of an operator that adds rows along axis {}: {}", run.part->axis, who));
    expect_rows(*op.inputs[along.reads[0].input], *run.part);
  }

  void read_passage(std::size_t tensor, const std::optional<RowRange>& rows,
                    const std::vector<TensorId>& among, const std::string& what) const {
    if (tensor >= graph_.tensors.size() || std::ranges::find(among, tensor) == among.end())
      refuse(fmt::format("of {} of the network", what));
    if (rows) expect_rows(tensor, *rows);
  }

  void expect_rows(TensorId tensor, const RowRange& rows) const {
    const Tensor& own = graph_.tensors[tensor];
    const bool is_sound = bytes_of_row(own, rows.axis) && rows.begin >= 0 && rows.begin < rows.end &&
                          rows.end <= (*own.shape)[rows.axis];
    if (!is_sound)
      refuse(fmt::format("of rows that {} has: axis {}, {} to {}", stowage::describe(graph_, tensor),
                         rows.axis, rows.begin, rows.end));
  }

  const Graph& graph_;
  const Plan& plan_;
  std::size_t at_ = 0;
};

}  // namespace

void expect_sound_steps(const Graph& graph, const Plan& plan) {
  if (graph.subgraphs.size() != 1 || plan.clocks.size() != 1)
    throw RunFault{
        fmt::format("a streamed plan is of a network without bodies, on one clock: there are {} "
                    "subgraphs and {} clocks",
                    graph.subgraphs.size(), plan.clocks.size())};
  StepReader reader(graph, plan);
  for (std::size_t at = 0; at < plan.clocks[0].steps.size(); ++at) reader.read(at);
}

const RowAxis* row_axis_of(const Operator& op, std::size_t axis) {
  const auto found = std::ranges::find(op.row_axes, axis, &RowAxis::axis);
  return found == op.row_axes.end() ? nullptr : &*found;
}

std::string describe(const RowRange& rows) {
  return rows.begin + 1 == rows.end ? fmt::format("row {}", rows.begin)
                                    : fmt::format("rows {}..{}", rows.begin, rows.end - 1);
}

}  // namespace stowage::run
