#include "variables.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <sstream>

#include "layers.h"
#include "ledger.h"
#include "open_judge.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/report.h"
#include "stowage/run.h"
#include "stowage/sweep.h"
#include "stowage/tflm.h"
#include "tflite_models.h"

namespace stowage::campaign {
namespace {

using testing::TfliteOperator;
using testing::TfliteSubgraph;

/// A network that keeps what it saw in variables, as a wake word does.
class VariablesDraft {
 public:
  explicit VariablesDraft(Random& random) : random_(random) {}

  std::string draw() {
    width_ = static_cast<std::int32_t>(random_.between(1, 6));
    main_.name = "main";
    pool_ = {tensor({rows(), width_})};
    main_.inputs = pool_;
    for (std::int64_t i = random_.between(1, 3); i > 0; --i) handle();
    if (random_.chance(70)) set_up();
    for (std::int64_t i = random_.between(2, 9); i > 0; --i) draw_operator();
    if (main_.operators.empty() || random_.chance(80)) main_.outputs.push_back(activate(pool_.back()));
    testing::TfliteSpec spec{.subgraphs = {main_}};
    if (has_set_up_) spec.subgraphs.push_back(set_up_);
    return testing::tflite_model(spec);
  }

 private:
  struct Variable {
    std::string name{};
    std::int32_t handle = 0;
    std::int32_t rows = 1;
  };

  [[nodiscard]] std::int32_t rows() { return static_cast<std::int32_t>(random_.between(1, 4)); }
  std::int32_t tensor(const std::vector<std::int32_t>& shape, DType dtype = DType::float32) {
    return add({.name = "t" + std::to_string(main_.tensors.size()), .shape = shape, .dtype = dtype}, main_);
  }
  static std::int32_t add(const testing::TfliteTensor& made, TfliteSubgraph& subgraph) {
    subgraph.tensors.push_back(made);
    return static_cast<std::int32_t>(subgraph.tensors.size() - 1);
  }
  [[nodiscard]] std::int32_t rows_of(std::int32_t t) const {
    return main_.tensors[static_cast<std::size_t>(t)].shape[0];
  }
  void op(const std::string& type, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
          std::vector<std::int32_t> numbers = {}) {
    main_.operators.push_back({.type = type,
                               .inputs = std::move(inputs),
                               .outputs = std::move(outputs),
                               .numbers = std::move(numbers)});
  }

  void handle() {
    Variable variable{.name = "v" + std::to_string(variables_.size()), .rows = rows()};
    variable.handle = tensor({1}, DType::resource);
    main_.operators.push_back(
        {.type = "VAR_HANDLE", .outputs = {variable.handle}, .shared_name = variable.name});
    variables_.push_back(variable);
  }

  /// A subgraph that gives the variables their first values, once.
  void set_up() {
    has_set_up_ = true;
    set_up_.name = "set_up";
    for (const Variable& variable : variables_) {
      const std::int32_t own =
          add({.name = variable.name + "_own", .shape = {1}, .dtype = DType::resource}, set_up_);
      const std::string zeros(static_cast<std::size_t>(4 * variable.rows * width_), '\0');
      const std::int32_t value =
          add({.name = variable.name + "_zeros", .shape = {variable.rows, width_}, .data = zeros}, set_up_);
      set_up_.operators.push_back({.type = "VAR_HANDLE", .outputs = {own}, .shared_name = variable.name});
      set_up_.operators.push_back({.type = "ASSIGN_VARIABLE", .inputs = {own, value}});
    }
    main_.operators.push_back({.type = "CALL_ONCE", .bodies = {1}});
  }

  std::int32_t activate(std::int32_t from) {
    const std::int32_t made = tensor({rows_of(from), width_});
    op(random_.chance(50) ? "RELU" : "LOGISTIC", {from}, {made});
    return made;
  }

  std::int32_t read(const Variable& variable) {
    const std::int32_t made = tensor({variable.rows, width_});
    op("READ_VARIABLE", {variable.handle}, {made});
    return made;
  }

  /// The last rows of old and new ones, as many as the variable has.
  std::int32_t last_rows(std::int32_t from, std::int32_t count) {
    const std::int32_t many = rows_of(from);
    if (many == count) return from;
    const auto constant = [&](std::int32_t row, std::int32_t column) {
      std::string data(8, '\0');
      std::memcpy(data.data(), &row, 4);
      std::memcpy(data.data() + 4, &column, 4);
      return add({.name = "c" + std::to_string(main_.tensors.size()),
                  .shape = {2},
                  .dtype = DType::int32,
                  .data = data},
                 main_);
    };
    const std::int32_t begin = constant(many - count, 0);
    const std::int32_t end = constant(many, width_);
    const std::int32_t step = constant(1, 1);
    const std::int32_t made = tensor({count, width_});
    op("STRIDED_SLICE", {from, begin, end, step}, {made}, {0, 0, 0, 0, 0, 0});
    return made;
  }

  void draw_operator() {
    const Variable& variable = random_.pick(variables_);
    const std::int32_t from = random_.chance(60) ? pool_.back() : random_.pick(pool_);
    switch (random_.index(5)) {
      case 0:
        pool_.push_back(activate(from));
        break;
      case 1:
        pool_.push_back(read(variable));
        break;
      case 2: {
        const std::int32_t old = read(variable);
        const std::int32_t both = tensor({variable.rows + rows_of(from), width_});
        op("CONCATENATION", {old, from}, {both}, {0, 0});
        op("ASSIGN_VARIABLE", {variable.handle, last_rows(both, variable.rows)}, {});
        pool_.push_back(both);
        break;
      }
      case 3:
        if (rows_of(from) >= variable.rows)
          op("ASSIGN_VARIABLE", {variable.handle, last_rows(from, variable.rows)}, {});
        break;
      default: {
        std::vector<std::int32_t> mates;
        for (const std::int32_t other : pool_)
          if (rows_of(other) == rows_of(from)) mates.push_back(other);
        const std::int32_t made = tensor({rows_of(from), width_});
        op("ADD", {from, random_.pick(mates)}, {made});
        pool_.push_back(made);
      }
    }
  }

  Random& random_;
  std::int32_t width_ = 1;
  TfliteSubgraph main_{};
  TfliteSubgraph set_up_{};
  bool has_set_up_ = false;
  std::vector<std::int32_t> pool_;
  std::vector<Variable> variables_;
};

bool changes_or_reads(const Operator& op) {
  return op.type == "READ_VARIABLE" || op.type == "ASSIGN_VARIABLE" || op.type == "CALL_ONCE";
}

/// What reads and writes variables keeps the file's order, and what is kept between runs lives always.
void check_state(const Graph& graph, const Plan& plan, Findings& findings) {
  std::size_t last = 0;
  std::size_t seen = 0;
  for (const Step& step : plan.clocks[0].steps) {
    const auto* run = std::get_if<Run>(&step);
    if (run == nullptr || run->path.size() != 2 || run->rows) continue;
    if (!changes_or_reads(graph.subgraphs[0].operators[run->path[1]])) continue;
    if (seen > 0 && run->path[1] < last)
      findings.push_back({"variables: another order",
                          "operator " + std::to_string(run->path[1]) + " after " + std::to_string(last)});
    last = run->path[1];
    ++seen;
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != TensorKind::state) continue;
    const auto end = static_cast<Position>(plan.clocks[0].steps.size());
    if (buffer.pieces.size() != 1 || buffer.pieces[0].life.lower > 0 || buffer.pieces[0].life.upper < end)
      findings.push_back({"variables: a state that does not live always", buffer.id});
  }
}

/// All that takes the network works, or says why not.
class Commands {
 public:
  Commands(const Case& drawn, Findings& findings, Tally& tally)
      : drawn_(drawn), findings_(findings), tally_(tally) {}

  void attempt(const std::string& name, const std::function<void()>& what) {
    try {
      what();
      ++tally_.compared["variables: " + name + " works"];
    } catch (const UsageError& error) {
      ++tally_.refusals["variables, " + name + ": " + reason_of(error.what())];
    } catch (const Error& error) {
      ++tally_.refusals["variables, " + name + ": " + reason_of(error.what())];
    } catch (const std::exception& error) {
      findings_.push_back({"variables: " + name + " throws " + reason_of(error.what()), error.what()});
    }
  }

  void run_all(Network& network, const PlanResult& result) {
    const Plan& plan = result.plan;
    const std::vector<Input> inputs{network.input};
    std::ostringstream text;
    attempt("plan JSON", [&] {
      std::ostringstream json;
      write_json(plan, json);
      const Plan again = parse_plan(json.str());
      if (again != plan) findings_.push_back({"a plan is not what is read of it", ""});
      if (!check_plan(again, inputs).empty())
        findings_.push_back({"variables: verify", "a written plan has faults"});
    });
    attempt("graph JSON", [&] {
      std::ostringstream json;
      write_graph(network.graph(), json);
      const Input again = parse_input(json.str(), "again.json");
      if (std::get<Graph>(again.content).tensors.size() != network.graph().tensors.size())
        findings_.push_back({"variables: another graph is read", ""});
    });
    attempt("csv", [&] { write_csv(plan, text); });
    attempt("svg", [&] { write_svg(plan, text); });
    attempt("summary", [&] { write_summary(plan, text); });
    const std::vector<Graph> graphs{network.graph()};
    attempt("header", [&] {
      write_header(plan, graphs, {.details = {model_details(drawn_.sources[0].content)}}, text);
    });
    attempt("report", [&] {
      const std::vector<ReportedPlan> plans{{.plan = plan, .graphs = graphs, .tried = remedies_of(plan)}};
      write_report(plans, {}, text);
    });
    PlanOptions quick = drawn_.options;
    quick.solve.time_limit = std::chrono::milliseconds(20);
    attempt("compare", [&] { (void)compare(inputs, quick); });
    attempt("sweep", [&] {
      SweepOptions options{.plan = quick, .sizes = {64, 256}};
      options.plan.memories = {{.name = "fast"}, {.name = "slow", .cost = 10}};
      options.plan.stream.reset();
      (void)sweep(inputs, options);
    });
    attempt("run", [&] {
      const RunResult run = run_plan(network, plan, {.check = RunCheck::tensors});
      if (run.fault) findings_.push_back({"variables: fault of a run", run.fault->what});
    });
    attempt("generate", [&] { (void)generate_package(network, plan, {}); });
    attempt("tflm", [&] { run_tflm(network); });
  }

 private:
  void run_tflm(Network& network) {
    const std::string& file = drawn_.sources[0].content;
    const KernelRequests requests = kernel_requests(file, tflm_32);
    PlanOptions options = drawn_.options;
    options.target = Target::tflm;
    options.stream.reset();
    options.alignment.reset();
    options.io = Io::arena;
    const PlanResult result = make_plan(network.input, options);
    for (const Fault& fault : result.faults)
      findings_.push_back({"own checker, tflm: " + reason_of(fault.what), fault.what});
    const TflmPlan plan =
        no_larger(file, network.graph(), plan_for_tflm(network.graph(), result.plan, 0, requests), tflm_32);
    if (plan.head > plan.own_head) findings_.push_back({"variables: tflm head above that without plan", ""});
    const std::string with = with_offline_plan(without_unread_parts(file), plan.plan);
    (void)read_offline_offsets(with);
    (void)tflm_arena({{.file = with, .head = plan.head}}, tflm_32);
  }

  const Case& drawn_;
  Findings& findings_;
  Tally& tally_;
};

}  // namespace

void draw_variables(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  drawn.sources = {{.name = "variables.tflite", .content = VariablesDraft(random).draw()}};
  draw_common_options(drawn, random);
  if (random.chance(25)) {
    drawn.options.stream = StreamOptions();
    if (drawn.options.io == Io::arena && random.chance(50)) drawn.options.io = Io::rows;
  }
}

Findings judge_variables(const Case& drawn, Tally& tally) {
  Findings findings;
  Tally::OfFamily& family = tally.families[drawn.family];
  Commands commands(drawn, findings, tally);
  commands.attempt("plan", [&] {
    Network network = parse_network(drawn.sources[0].content, drawn.sources[0].name);
    const PlanResult result = make_plan(network.input, drawn.options);
    count_plan(result, family);
    for (const Fault& fault : result.faults)
      findings.push_back({"own checker: " + reason_of(fault.what), fault.what});
    const Networks networks{.graphs = {network.graph()}, .constants = {network.input.constants}};
    for (Finding& finding : check_ledger(networks, result, drawn.options))
      findings.push_back(std::move(finding));
    if (!result.plan.streaming) {
      ReplayTally replayed;
      for (Finding& finding : replay(networks, result.plan, drawn.number, replayed))
        findings.push_back(std::move(finding));
      tally.replayed.steps += replayed.steps;
      tally.replayed.bytes += replayed.bytes;
    }
    check_state(network.graph(), result.plan, findings);
    commands.run_all(network, result);
  });
  return findings;
}

}  // namespace stowage::campaign
