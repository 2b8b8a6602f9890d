// The module stowage._core: the public API of C++ with the options of the command, for the Python beside it.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "bindings.h"
#include "cli/commands.h"
#include "cli/frontier.h"
#include "cli/given_plan.h"
#include "cli/models.h"
#include "cli/open_sizes.h"
#include "cli/options.h"
#include "models.h"
#include "planned.h"
#include "stowage/buckets.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/report.h"
#include "stowage/sweep.h"
#include "stowage/version.h"
#include "watched.h"

namespace nb = nanobind;

namespace stowage::python {
namespace {

nb::str str_of(std::string_view text) { return nb::str(text.data(), text.size()); }

NamesOfModels names_of(const std::vector<Input>& inputs) {
  NamesOfModels names;
  for (const Input& input : inputs) {
    auto& model = names.emplace_back();
    const auto* const graph = std::get_if<Graph>(&input.content);
    if (graph == nullptr) continue;
    for (const Subgraph& subgraph : graph->subgraphs) {
      auto& operators = model.emplace_back();
      for (const Operator& op : subgraph.operators) operators.push_back({op.name, op.type});
    }
  }
  return names;
}

Planned make(const nb::list& models, const nb::dict& options, const nb::object& listener) {
  const std::vector<Source> sources = sources_from(models);
  const Texts texts = texts_from(options);
  PlanOptions planning = cli::parse_plan_options(texts.plan);
  planning.states = shared_states(sources, texts.model);
  Planned planned;
  run_watched(listener_of(listener, planning.solve), [&](const Watch& watch) {
    planning.solve.stop = watch.stop;
    planning.solve.progress = watch.progress;
    const std::vector<Input> inputs =
        read_inputs(sources, texts.model, plans_weights(planning.memories), planning.stream.has_value());
    planned.names = names_of(inputs);
    planned.result = make_plan(inputs, planning);
  });
  return planned;
}

/// Whether the models must be read with constants and with rows to check a plan.
std::vector<Input> inputs_for(const Plan& plan, const std::vector<Source>& sources,
                              const cli::ModelTexts& texts) {
  std::vector<Memory> memories;
  for (const PlannedMemory& memory : plan.memories) memories.push_back(memory.memory);
  return read_inputs(sources, texts, plans_weights(memories), is_streamed(plan));
}

Planned load(const nb::bytes& json, const std::string& name, const nb::list& models,
             const nb::dict& options) {
  const std::vector<Source> sources = sources_from(models);
  const Texts texts = texts_from(options);
  const std::string_view text(json.c_str(), json.size());
  Planned planned;
  run_watched([&](const Watch&) {
    try {
      cli::GivenPlan given = cli::parse_given_plan(text);
      planned.result.plan = std::move(given.plan);
      planned.functions = std::move(given.functions);
    } catch (const Error& error) {
      throw error.in_file(name);
    }
    if (sources.empty()) return;
    planned.texts = wanted_sizes(planned.given(), sources, texts.model).texts;
    planned.names = names_of(inputs_for(planned.result.plan, sources, planned.texts));
  });
  for (const PlannedMemory& memory : planned.result.plan.memories) {
    if (memory.peak > memory.memory.capacity.value_or(largest_value))
      planned.result.outcome = Outcome::exceeds_capacity;
  }
  return planned;
}

void expect_buckets(const nb::bytes& json, const std::string& name) {
  const std::string_view text(json.c_str(), json.size());
  try {
    if (!cli::has_buckets(text)) throw Error("", "has no plans for several sizes; load reads one plan");
    (void)parse_buckets(text);
  } catch (const Error& error) {
    throw error.in_file(name);
  }
}

std::vector<std::string> words_of(const Faults& faults) {
  std::vector<std::string> words;
  for (const Fault& fault : faults) words.push_back(fault.what);
  return words;
}

/// The plan is checked at the sizes that the options give within its ranges.
Faults check_with_models(const cli::GivenPlan& given, const std::vector<Source>& sources,
                         const cli::ModelTexts& texts) {
  const cli::WantedSizes sizes = wanted_sizes(given, sources, texts);
  const auto read = [&](const cli::ModelTexts& it) { return inputs_for(given.plan, sources, it); };
  std::vector<Input> inputs = read(sizes.texts);
  const cli::PlanAtSizes there = cli::plan_at_sizes(given, sizes, inputs, cli::ReadInputs(read));
  Faults faults = there.faults.empty() ? check_plan(there.plan, inputs) : there.faults;
  if (faults.empty()) expect_states(there.plan, sources, texts);
  return faults;
}

std::vector<std::string> verify(const Planned& planned, const nb::list& models, const nb::dict& options) {
  const std::vector<Source> sources = sources_from(models);
  const Texts texts = texts_from(options);
  Faults faults;
  run_watched([&](const Watch&) {
    const cli::GivenPlan given = planned.given();
    faults = cli::faults_of_functions(given);
    if (!faults.empty()) return;
    faults = sources.empty() ? check_plan(given.plan) : check_with_models(given, sources, texts.model);
  });
  return words_of(faults);
}

/// "rows, rings"
std::string names_of(const std::vector<LeftOut>& left_out) {
  std::string names;
  for (const LeftOut& it : left_out) names += (names.empty() ? "" : ", ") + std::string(name_of(it.what));
  return names;
}

/// A list of tuples (strategy, peak, lower bound, seconds, fits, interrupted, left out, obstacle, faults).
nb::list compare_strategies(const nb::list& models, const nb::dict& options, const nb::object& listener) {
  const std::vector<Source> sources = sources_from(models);
  const Texts texts = texts_from(options);
  PlanOptions planning = cli::parse_options_of_all(texts.plan);
  planning.states = shared_states(sources, texts.model);
  std::vector<Comparison> comparisons;
  run_watched({.call = listener}, [&](const Watch& watch) {
    planning.solve.stop = watch.stop;
    planning.solve.progress = watch.progress;
    comparisons = compare(
        read_inputs(sources, texts.model, plans_weights(planning.memories), planning.stream.has_value()),
        planning);
  });
  nb::list rows;
  for (const Comparison& it : comparisons) {
    const bool fits = it.obstacle.empty() && it.outcome == Outcome::fits;
    rows.append(nb::make_tuple(it.strategy, it.summary.peak, it.summary.lower_bound, it.summary.seconds, fits,
                               it.interrupted, names_of(it.left_out), it.obstacle, words_of(it.faults)));
  }
  return rows;
}

/// A list of tuples (size, strategy, moves, traffic, cost, fits, interrupted, unavoidable, obstacle, faults), without
/// strategies that apply at no size.
nb::list sweep_sizes(const nb::list& models, const nb::dict& options, std::size_t jobs,
                     const nb::object& listener) {
  const std::vector<Source> sources = sources_from(models);
  const Texts texts = texts_from(options);
  SweepOptions sweeping = cli::parse_sweep_options(texts.plan);
  sweeping.plan.states = shared_states(sources, texts.model);
  sweeping.jobs = jobs;
  std::vector<SweepRow> found;
  run_watched({.call = listener}, [&](const Watch& watch) {
    sweeping.plan.solve.stop = watch.stop;
    sweeping.plan.solve.progress = watch.progress;
    found = sweep(read_inputs(sources, texts.model, plans_weights(sweeping.plan.memories),
                              sweeping.plan.stream.has_value()),
                  sweeping);
  });
  nb::list rows;
  const auto serves = [&](std::size_t entry) {
    return std::ranges::any_of(found,
                               [&](const SweepRow& row) { return row.entries[entry].obstacle.empty(); });
  };
  for (const SweepRow& row : found) {
    for (std::size_t i = 0; i < row.entries.size(); ++i) {
      if (!serves(i)) continue;
      const SweepEntry& it = row.entries[i];
      const bool fits = it.obstacle.empty() && it.outcome == Outcome::fits;
      rows.append(nb::make_tuple(row.size, it.strategy, it.moves == Moves::allowed, it.slow_traffic, it.cost,
                                 fits, it.interrupted, row.unavoidable, it.obstacle, words_of(it.faults)));
    }
  }
  return rows;
}

/// A list of tuples (first size or None, largest size or None, smallest size that was asked for, peak, next size or
/// None, why it does not fit, larger sizes that fit alone, interrupted).
nb::list fit_sizes(const nb::list& models, const nb::dict& options, const std::string& names,
                   const nb::object& listener) {
  const std::vector<Source> sources = sources_from(models);
  if (sources.size() != 1) throw UsageError("fit is for one model");
  const Texts texts = texts_from(options);
  PlanOptions planning = cli::parse_plan_options(texts.plan);
  cli::FitQuestion question;
  std::vector<FrontierRow> found;
  run_watched(listener_of(listener, planning.solve), [&](const Watch& watch) {
    planning.solve.stop = watch.stop;
    planning.solve.progress = watch.progress;
    const auto read = [&](const cli::ModelTexts& model) {
      return read_inputs(sources, model, plans_weights(planning.memories), planning.stream.has_value())[0];
    };
    question = cli::fit_question(names, texts.model, read);
    found = cli::answers_to(question, read, planning);
  });
  const auto number = [](bool is_known, std::int64_t value) {
    return is_known ? nb::cast(value) : nb::none();
  };
  nb::list rows;
  for (const FrontierRow& row : found) {
    const SizeFit& fit = row.fit;
    const std::string why =
        fit.next ? cli::why_largest(fit, question.range, cli::limit_of(planning)) : row.rejected;
    nb::list larger;
    for (const std::int64_t size : fit.larger) larger.append(size);
    rows.append(nb::make_tuple(
        number(!question.first.empty(), row.first), number(fit.largest.has_value(), fit.largest.value_or(0)),
        *question.range.least, fit.peak, number(fit.next.has_value(), fit.next ? fit.next->size : 0), why,
        larger, fit.interrupted || fit.is_cut_short));
  }
  return rows;
}

template <typename Write>
std::string written(Write write) {
  const nb::gil_scoped_release without_gil;
  std::ostringstream out;
  write(out);
  return std::move(out).str();
}

std::string header_of(const Planned& planned, const nb::list& models, const nb::dict& options,
                      const std::string& prefix, bool names) {
  const std::vector<Source> sources = sources_from(models);
  const Texts texts = texts_from(options);
  return written([&](std::ostream& out) {
    const std::vector<Input> inputs = inputs_for(planned.result.plan, sources, texts.model);
    HeaderOptions header{.prefix = prefix, .names = names};
    std::vector<Graph> graphs;
    for (std::size_t m = 0; m < inputs.size(); ++m) {
      const auto* const graph = std::get_if<Graph>(&inputs[m].content);
      if (graph == nullptr) continue;
      graphs.push_back(*graph);
      header.details.push_back(sources[m].content ? model_details(*sources[m].content)
                                                  : model_details(base::InputFile(sources[m].file).bytes()));
    }
    write_header(planned.result.plan, graphs, header, out);
  });
}

int run_command(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return cli::run_command_line(static_cast<int>(arguments.size()), pointers.data());
}

/// Takes what the program prints.
class Captured {
 public:
  explicit Captured(std::ostream& stream) : stream_(stream), old_(stream.rdbuf(text_.rdbuf())) {}
  ~Captured() { stream_.rdbuf(old_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  Captured(Captured&&) = delete;
  Captured& operator=(Captured&&) = delete;
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* old_;
};

/// The command with these arguments: its status and what it prints to standard output and error.
nb::tuple captured_command(const std::vector<std::string>& arguments) {
  int status = 0;
  std::string out;
  std::string error;
  {
    const nb::gil_scoped_release without_gil;
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    const Captured captured_out(std::cout);
    const Captured captured_error(std::cerr);
    status = run_command(arguments);
    out = captured_out.text();
    error = captured_error.text();
  }
  return nb::make_tuple(status, out, error);
}

/// Raises an exception of stowage._errors with these arguments.
template <typename... Arguments>
void raise(const char* name, const Arguments&... arguments) {
  const nb::object type = nb::module_::import_("stowage._errors").attr(name);
  const nb::object error = type(str_of(arguments)...);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const NotApplicable& error) {
    raise("NotApplicable", std::string_view(error.what()), error.obstacle());
  } catch (const UsageError& error) {
    raise("UsageError", std::string_view(error.what()));
  } catch (const Error& error) {
    raise("Error", std::string_view(error.what()), error.file(), error.place(), error.problem());
  }
}

nb::dict summary_of(const Planned& planned) {
  const Plan& plan = planned.result.plan;
  nb::dict summary;
  summary["naive"] = plan.summary.naive;
  summary["peak"] = plan.summary.peak;
  summary["lower_bound"] = plan.summary.lower_bound;
  summary["strategy"] = plan.summary.strategy;
  summary["order"] = plan.summary.order;
  summary["seconds"] = plan.summary.seconds;
  summary["cost"] = plan.summary.cost;
  summary["cost_bound"] = plan.summary.cost_bound;
  summary["interrupted"] = plan.interrupted;
  summary["copies_removed"] = plan.copies_removed.count;
  summary["bytes_not_copied"] = plan.copies_removed.bytes;
  return summary;
}

nb::list memories_of(const Planned& planned) {
  nb::list memories;
  for (const PlannedMemory& it : planned.result.plan.memories) {
    nb::dict memory;
    memory["name"] = it.memory.name;
    memory["capacity"] = it.memory.capacity;
    memory["peak"] = it.peak;
    memory["lower_bound"] = it.lower_bound;
    memory["traffic"] = it.traffic;
    memory["role"] = it.memory.role == MemoryRole::weights ? "weights" : "working";
    memories.append(memory);
  }
  return memories;
}

/// Tuples of what was asked for and is not in the plan, why, and what may help.
nb::list left_out_of(const Planned& planned) {
  nb::list left_out;
  for (const LeftOut& it : planned.result.plan.left_out)
    left_out.append(nb::make_tuple(str_of(name_of(it.what)), str_of(it.why), str_of(it.help)));
  return left_out;
}

nb::list claims_of(const Planned& planned) {
  nb::list claims;
  for (const Claim& it : planned.result.plan.claims)
    claims.append(nb::make_tuple(str_of(name_of(it.scope)), it.lower_bound, it.proven_optimal));
  return claims;
}

/// What the command finds for a plan that needs more than this many bytes; the models are files.
std::vector<Remedy> remedies_beyond(Bytes capacity, const Planned& planned, const Texts& texts,
                                    const cli::PlanCommand& command, const Watch& watch) {
  const Plan& plan = planned.result.plan;
  PlanOptions planning = cli::parse_plan_options(texts.plan);
  planning.solve.stop = watch.stop;
  std::vector<Remedy> spills = spill_remedies(plan, capacity, planning.solve);
  // Of a plan that was read, the options may not be known.
  const bool can_plan = !command.inputs.empty() && planning.memories.size() == plan.memories.size();
  const bool has_graph = std::ranges::any_of(planned.names, [](const auto& it) { return !it.empty(); });
  planning.states = cli::shared_states(cli::parse_models(command.inputs), texts.model);
  return cli::remedies_for(command, can_plan && has_graph, planning, plan, plan.summary.peak,
                           {.tried = std::move(spills), .curves = {}, .faulty = {}});
}

/// What the plan proves about its peak, and what may lower it: (verdict, what, why, bytes or None, command or ""). With
/// a capacity that it exceeds, also what plans with other options reach; `typed` is the command that makes this one.
nb::list remedies_for(const Planned& planned, const nb::list& models, const nb::dict& options,
                      const std::string& typed, const std::optional<Bytes>& capacity) {
  static constexpr std::array<std::string_view, 4> verdicts{"found", "done", "possible", "impossible"};
  const Texts texts = texts_from(options);
  cli::PlanCommand command{.model = texts.model, .plan = texts.plan, .typed = typed};
  for (const Source& it : sources_from(models)) command.inputs.push_back(it.name + "=" + it.file);
  std::vector<Remedy> remedies;
  run_watched([&](const Watch& watch) {
    remedies = capacity && planned.result.plan.summary.peak > *capacity
                   ? remedies_beyond(*capacity, planned, texts, command, watch)
                   : remedies_of(planned.result.plan, typed);
  });
  nb::list rows;
  for (const Remedy& it : remedies)
    rows.append(nb::make_tuple(str_of(verdicts.at(static_cast<std::size_t>(it.verdict))), str_of(it.what),
                               str_of(it.why), it.bytes ? nb::cast(*it.bytes) : nb::none(),
                               str_of(it.command)));
  return rows;
}

/// Options as Python's, without those that nothing gives.
nb::dict texts_of(const Planned& planned) {
  nb::dict texts;
  const auto add = [&](const char* name, const std::vector<std::string>& values) {
    nb::list list;
    for (const std::string& value : values) list.append(nb::str(value.c_str(), value.size()));
    if (!values.empty()) texts[name] = list;
  };
  add("dim", planned.texts.dims);
  add("value", planned.texts.values);
  return texts;
}

nb::object enough_for(const Planned& planned) {
  if (!planned.result.enough) return nb::none();
  return nb::make_tuple(planned.result.enough->name, planned.result.enough->capacity.value_or(0));
}

void bind_plan(nb::module_& module) {
  const auto text = [](void (*write)(const Plan&, std::ostream&)) {
    return [write](const Planned& planned) {
      return written([&](std::ostream& out) { write(planned.result.plan, out); });
    };
  };
  nb::class_<Planned> plan(module, "Plan");
  bind_functions(plan);
  plan.def_prop_ro("summary", &summary_of)
      .def_prop_ro("memories", &memories_of)
      .def_prop_ro("claims", &claims_of)
      .def_prop_ro("left_out", &left_out_of)
      .def_prop_ro("fits", [](const Planned& it) { return it.result.outcome == Outcome::fits; })
      .def_prop_ro("enough", &enough_for)
      .def_prop_ro("texts", &texts_of)
      .def("remedies", &remedies_for, nb::arg("models"), nb::arg("options"), nb::arg("typed"),
           nb::arg("capacity").none())
      .def_prop_ro("faults", [](const Planned& it) { return words_of(it.result.faults); })
      .def_prop_ro("is_streamed", [](const Planned& it) { return is_streamed(it.result.plan); })
      .def("buffers", [](const Planned& it) { return buffer_columns(it.result.plan); })
      .def("tensors", [](const Planned& it) { return tensor_columns(it.result.plan); })
      .def("steps", [](const Planned& it) { return step_columns(it.result.plan, it.names); })
      .def(
          "json",
          [](const Planned& planned, bool expanded) {
            return written([&](std::ostream& out) {
              if (planned.functions) return write_json(planned.result.plan, *planned.functions, out);
              write_json(planned.result.plan, out, expanded ? PlanForm::expanded : PlanForm::compact);
            });
          },
          nb::arg("expanded") = false)
      .def("csv", text(&write_csv))
      .def("svg", text(&write_svg))
      .def("loops", text(&write_loops))
      .def("text", text(&write_summary));
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);
  nb::register_exception_translator(&translate);
  bind_plan(module);
  bind_pack(module);
  bind_run(module);
  module.attr("version") = version.data();
  module.def("plan", &make, nb::arg("models"), nb::arg("options"), nb::arg("progress").none());
  module.def("load", &load, nb::arg("json"), nb::arg("name"), nb::arg("models"), nb::arg("options"));
  module.def("has_buckets", [](const nb::bytes& json) {
    return cli::has_buckets({json.c_str(), json.size()});
  });
  module.def("expect_buckets", &expect_buckets, nb::arg("json"), nb::arg("name"));
  module.def("verify", &verify, nb::arg("plan"), nb::arg("models"), nb::arg("options"));
  module.def("compare", &compare_strategies, nb::arg("models"), nb::arg("options"),
             nb::arg("progress").none());
  module.def("fit", &fit_sizes, nb::arg("models"), nb::arg("options"), nb::arg("names"),
             nb::arg("progress").none());
  module.def("sweep", &sweep_sizes, nb::arg("models"), nb::arg("options"), nb::arg("jobs"),
             nb::arg("progress").none());
  module.def("header", &header_of, nb::arg("plan"), nb::arg("models"), nb::arg("options"), nb::arg("prefix"),
             nb::arg("names"));
  module.def("main", &run_command, nb::arg("arguments"));
  module.def("command", &captured_command, nb::arg("arguments"));
  module.def("options", &option_names);
  module.def("strategies", [] {
    nb::list rows;
    for (const StrategyInfo& it : strategies())
      rows.append(nb::make_tuple(str_of(it.name), str_of(it.summary), str_of(it.source)));
    return rows;
  });
}

}  // namespace stowage::python
