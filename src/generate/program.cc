// NAME.c: places of tensors, a function for each operator, and the steps: a list of calls, the loops of an affine
// schedule, or a table that a small driver walks through.

#include "generate/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "generate/text.h"
#include "model/ties.h"
#include "stowage/error.h"

namespace stowage::generate {
namespace {

std::string functions_text(const Model& model) {
  std::string text;
  for (std::size_t i = 0; i < model.functions.size(); ++i) {
    const Function& function = model.functions[i];
    if (function.text.empty()) continue;
    text += "\n" + function.callees + comment_of(model.graph(), model.schedule.operators[i]) +
            definition_of(function);
  }
  return text;
}

/// An array of the memories, with the caller's own buffers behind them.
std::string memories_text(const Model& model, const Sources& sources) {
  std::string list;
  for (const std::string& name : memory_names(*model.plan))
    list += fmt::format("{}(uint8_t *){}", list.empty() ? "" : ", ", name);
  const std::vector<Outlet> outlets = outlets_of(model);
  const std::vector<KeptTensor> kept = kept_tensors(*model.network, *model.plan);
  for (const TensorId tensor : sources.outside()) {
    const auto state = std::ranges::find(kept, tensor, &KeptTensor::tensor);
    if (state != kept.end()) {
      list += fmt::format("{}(uint8_t *)kept + {}", list.empty() ? "" : ", ", state->offset);
      continue;
    }
    const auto outlet = std::ranges::find(outlets, tensor, &Outlet::tensor);
    list += fmt::format(
        "{}(uint8_t *){}", list.empty() ? "" : ", ",
        outlet->is_input ? "(uintptr_t)(const void *)" + outlet->name : "(void *)" + outlet->name);
  }
  return fmt::format("  uint8_t *const memory[] = {{{}}};\n", list);
}

/// Copies an input into its place, or an output out of it.
std::string transfer_text(const Model& model, Sources& sources, const Outlet& outlet) {
  const PlannedTensor& planned = model.plan->tensors[outlet.tensor];
  const bool is_fixed = sources.is_constant(outlet.tensor);
  const Tensor& tensor = model.tensor(outlet.tensor);
  if (tensor.bytes == 0) return fmt::format("  (void){};\n", outlet.name);
  if (planned.views.empty() && !is_fixed) return "";
  if (is_fixed) {
    if (outlet.is_input) return "";
    sources.need("stowage_movement");
    return fmt::format("  stowage_copy_runs({}, 0, {}, 0, {}, 1);\n", sources.constant(outlet.tensor),
                       outlet.name, tensor.bytes);
  }
  const Storage storage = sources.storage_of_outlet(outlet.tensor, outlet.is_input);
  sources.need("stowage_movement");
  const auto pointer_to = [&](std::optional<std::size_t> axis, const std::string& row) {
    if (sources.moving(outlet.tensor) != nullptr)
      return sources
          .row_now(outlet.tensor, axis, "memory",
                   std::to_string(outlet.is_input ? 0 : model.schedule.steps.size()), row)
          .bytes();
    const RowPlace place = axis ? storage.by_rows(*axis) : storage.whole();
    return fmt::format("stowage_row(memory, &{}, {})", sources.place(place, outlet.tensor), row);
  };
  const auto call = [&](const std::string& here, const std::string& at, Bytes stride, Bytes run,
                        std::int64_t runs) {
    return outlet.is_input
               ? fmt::format("stowage_copy_runs({}, {}, {}, {}, {}, {});\n", at, stride, here, run, run, runs)
               : fmt::format("stowage_copy_runs({}, {}, {}, {}, {}, {});\n", here, run, at, stride, run,
                             runs);
  };
  if (storage.is_contiguous()) {
    return fmt::format("  if ({} != NULL) {}", outlet.name,
                       call(pointer_to(std::nullopt, "0"), outlet.name, 0, tensor.bytes, 1));
  }
  const std::size_t axis = *storage.axis();
  const std::int64_t rows = (*tensor.shape)[axis];
  const std::int64_t outer = kernels::count_of(*tensor.shape, 0, axis);
  const Bytes run = tensor.bytes / (rows * outer);
  const Bytes element = tensor.bytes / kernels::count_of(*tensor.shape);
  return fmt::format("  for (row = 0; {} != NULL && row < {}; row++)\n    {}", outlet.name, rows,
                     call(pointer_to(axis, "row"), fmt::format("{} + row * {}", outlet.name, run / element),
                          rows * run, run, outer));
}

std::string calls_text(const Model& model) {
  std::string text;
  for (const std::size_t step : model.schedule.steps)
    text += fmt::format("  {}(memory{});\n", model.functions[step].name, model.functions[step].part);
  return text;
}

// The driver of a table

std::string table_text(const Model& model) {
  const auto bytes_of = [](const std::vector<std::uint16_t>& numbers) {
    return std::as_bytes(std::span(numbers));
  };
  std::vector<std::uint16_t> steps(model.table.numbers.begin(), model.table.numbers.end());
  const std::size_t kinds = model.schedule.kinds();
  std::string text = fmt::format(
      "\n/* What runs when: numbers of operators{}, as pieces that are repeated.\n"
      " * The k-th time, an operator computes its row block k. */\n",
      model.has_ports() ? " and, behind them, of rows that come and go" : "");
  text += fmt::format("static const {} steps[{}] = {{\n{}}};\n", kinds <= 256 ? "uint8_t" : "uint16_t",
                      steps.size(), initialiser(DType::uint16, bytes_of(steps)));
  text += fmt::format(
      "static const struct {{\n  uint16_t first;\n  uint16_t length;\n  uint16_t times;\n}} periods[{}] = "
      "{{\n",
      model.table.periods.size());
  for (const Period& period : model.table.periods)
    text += fmt::format("    {{{}, {}, {}}},\n", period.first, period.length, period.times);
  text += "};\n";
  for (const auto& [number, blocks] : model.schedule.moved)
    text += fmt::format(
        "/* Row blocks that are moved, in the order of the steps. */\nstatic const uint16_t moved_{}[{}] = "
        "{{\n{}}};\n",
        model.schedule.operators[number].copy->tensor, blocks.size(),
        initialiser(DType::uint16, bytes_of(blocks)));
  text += "\nstatic void run_step(uint8_t *const *memory, ";
  if (model.counts_steps()) text += "int32_t now, ";
  text += model.has_repeats()
              ? fmt::format("const {} *done, unsigned step) {{\n  const int32_t n = done[step];\n",
                            model.schedule.counter())
              : "unsigned step, int32_t n) {\n";
  text += "  switch (step) {\n";
  for (std::size_t i = 0; i < model.functions.size(); ++i) {
    const StepKind& kind = model.schedule.operators[i];
    if (model.functions[i].name.empty()) continue;
    const bool repeats = !kind.copy && model.schedule.repeats.contains(kind.op);
    const std::string n = repeats     ? fmt::format("blocks_{}[n]", kind.op)
                          : kind.copy ? fmt::format("moved_{}[n]", kind.copy->tensor)
                                      : "n";
    text += fmt::format("    case {}: {}(memory{}{}{}{}); break;\n", i, model.functions[i].name,
                        model.functions[i].part, model.functions[i].reads_done ? ", done" : "",
                        model.functions[i].reads_now ? ", now" : "",
                        kind.axis ? ", " + n + (kind.adds_parts ? ", n" : "") : "");
  }
  const bool reads_n =
      std::ranges::any_of(model.schedule.operators, [](const StepKind& it) { return it.axis.has_value(); });
  const bool reads_now = std::ranges::any_of(model.functions, &Function::reads_now);
  return text + fmt::format("    default: break;\n  }}\n{}{}}}\n", reads_n ? "" : "  (void)n;\n",
                            model.counts_steps() && !reads_now ? "  (void)now;\n" : "");
}

std::string walk_text(const Model& model) {
  return fmt::format(
      "  for (period = 0; period < {}U; period++) {{\n"
      "    for (time = 0; time < periods[period].times; time++) {{\n"
      "      for (i = 0; i < periods[period].length; i++) {{\n"
      "        const unsigned step = steps[periods[period].first + i];\n"
      "        run_step(memory, {}{}\n"
      "      }}\n    }}\n  }}\n",
      model.table.periods.size(), model.counts_steps() ? "now++, " : "",
      model.has_repeats() ? "done, step);\n        done[step]++;" : "step, done[step]++);");
}

/// What the linked kernels want beyond the plan.
std::string wishes_text(const Model& model, const Sources& sources) {
  if (!model.has_wishes) return "";
  std::string text =
      fmt::format("\nint32_t {}_scratch_missing(void) {{\n  int32_t most = 0, missing;\n", model.name);
  for (const std::string& wish : sources.wishes())
    text += fmt::format("  missing = {};\n  if (missing > most) most = missing;\n", wish);
  return text + "  return most;\n}\n";
}

/// Gives what is kept from run to run its first values.
std::string reset_text(const Model& model, Sources& sources) {
  if (bytes_kept(model) == 0) return "";
  std::string text = fmt::format("\nvoid {}_reset(void *kept) {{\n", model.name);
  for (const KeptTensor& it : kept_tensors(*model.network, *model.plan)) {
    const Tensor& tensor = model.tensor(it.tensor);
    const std::byte fill = it.first_value.empty() ? std::byte{0} : it.first_value[0];
    if (std::ranges::all_of(it.first_value, [&](std::byte byte) { return byte == fill; })) {
      text += fmt::format("  memset((uint8_t *)kept + {}, {}, {});\n", it.offset, static_cast<int>(fill),
                          tensor.bytes);
    } else {
      const std::string first = sources.array(fmt::format("first_{}", it.tensor), in_comment(tensor.name),
                                              tensor.dtype, {it.first_value.begin(), it.first_value.end()});
      text += fmt::format("  memcpy((uint8_t *)kept + {}, {}, {});\n", it.offset, first, tensor.bytes);
    }
  }
  return text + "}\n";
}

/// Copies new states that are copied to the places of the old ones.
std::string copied_states_text(const Model& model, Sources& sources) {
  std::string text;
  for (const StateTie& tie : model::copied_ties(model.graph())) {
    const Bytes bytes = model.tensor(tie.output).bytes;
    if (bytes == 0) continue;
    sources.need("stowage_movement");
    const auto place = [&](TensorId tensor, bool is_input) {
      const Storage storage = sources.storage_of_outlet(tensor, is_input);
      if (!storage.is_contiguous() || sources.moving(tensor) != nullptr)
        throw Error("plan",
                    fmt::format("copies {} when it has run, of which no C is generated where it is not whole "
                                "in one place",
                                describe(model.graph(), tie.output)));
      return fmt::format("stowage_row(memory, &{}, 0)", sources.place(storage.whole(), tensor));
    };
    const std::string from = place(tie.output, false);
    text += fmt::format("  stowage_copy_runs({}, 0, {}, 0, {}, 1);\n", from, place(tie.input, true), bytes);
  }
  return text;
}

std::string run_text(const Model& model, Sources& sources) {
  std::string in;
  std::string out;
  for (const Outlet& outlet : outlets_of(model))
    (outlet.is_input ? in : out) += transfer_text(model, sources, outlet);
  std::string text = fmt::format("\nvoid {}_run({}) {{\n", model.name, run_parameters(model));
  text += memories_text(model, sources);
  if (model.is_stepped())
    text += fmt::format("  {} done[{}] = {{0}};\n  unsigned period, time, i;\n{}", model.schedule.counter(),
                        model.functions.size(), model.counts_steps() ? "  int32_t now = 0;\n" : "");
  if ((in + out).find("row = 0") != std::string::npos) text += "  int32_t row;\n";
  text += in;
  text += model.loops ? model.loops->text : (model.is_stepped() ? walk_text(model) : calls_text(model));
  if (model.schedule.steps.empty()) text += "  (void)memory;\n";
  return text + out + copied_states_text(model, sources) + "}\n";
}

/// Computes what depends on the size `n`, which must be in its range.
std::string open_numbers_text(const Model& model) {
  const SizeSymbol& size = model.open->rows->size;
  std::string text = fmt::format(
      "  if (n < {0} || n > {1}{2}) {{\n    state->stop = UINT8_MAX;\n    return {3}_WRONG_SIZE;\n  }}\n"
      "  state->n = n;\n",
      size.least, size.most,
      size.step == 1 ? "" : fmt::format(" || (n - {}) % {} != 0", size.least, size.step), upper(model.name));
  for (std::size_t i = 0; i < model.open->numbers.size(); ++i)
    text += fmt::format("  state->open[{}] = {};\n", i, text_of(model.open->numbers[i]));
  return text;
}

std::string begin_text(const Model& model) {
  const std::string& name = model.name;
  std::string text = fmt::format("\n{0}_status {0}_begin({0}_state *state", name);
  for (const std::string& memory : memory_names(*model.plan)) text += fmt::format(", void *{}", memory);
  const std::vector<KeptTensor> kept = kept_tensors(*model.network, *model.plan);
  if (!kept.empty()) text += ", void *kept";
  if (model.open) text += ", int32_t n";
  std::string start = model.counts_steps() ? "{NULL}, {0}, 0, 0, 0, 0, 0" : "{NULL}, {0}, 0, 0, 0, 0";
  if (model.loops) {
    start = "{NULL}, 0, 0, 0";
    for (std::size_t c = 0; c < model.loops->counters; ++c) start += ", 0";
    if (model.open) start += model.open->numbers.empty() ? ", 0" : ", 0, {0}";
  }
  text += fmt::format(") {{\n  const {}_state start = {{{}}};\n  *state = start;\n", name, start);
  const std::vector<std::string> memories = memory_names(*model.plan);
  for (std::size_t m = 0; m < memories.size(); ++m)
    text += fmt::format("  state->memory[{}] = (uint8_t *){};\n", m, memories[m]);
  for (std::size_t k = 0; k < kept.size(); ++k)
    text += fmt::format("  state->memory[{}] = (uint8_t *)kept + {};\n",
                        memories.size() + model.outside - kept.size() + k, kept[k].offset);
  if (model.open) text += open_numbers_text(model);
  return text + fmt::format("  return {}_advance(state);\n}}\n", name);
}

/// Goes through the table: a step of an operator runs, that of a port returns to the caller.
std::string advance_by_table(const Model& model) {
  const auto is_input = [](const Port& port) { return port.is_input; };
  const auto inputs = static_cast<std::size_t>(std::ranges::count_if(model.schedule.ports, is_input));
  const std::string& name = model.name;
  std::string text =
      fmt::format("\nenum {{ first_port = {0}, first_output = {1}, periods_in_all = {2} }};\n",
                  model.functions.size(), model.functions.size() + inputs, model.table.periods.size());
  text += fmt::format(
      "\nstatic unsigned current_step(const {0}_state *state) {{\n"
      "  return steps[periods[state->period].first + state->index];\n}}\n"
      "\nstatic void move_on({0}_state *state) {{\n"
      "  if (++state->index < periods[state->period].length) return;\n"
      "  state->index = 0;\n"
      "  if (++state->time < periods[state->period].times) return;\n"
      "  state->time = 0;\n"
      "  state->period++;\n}}\n",
      name);
  text += fmt::format(
      "\n{0}_status {0}_advance({0}_state *state) {{\n"
      "  while (state->period < periods_in_all) {{\n"
      "    const unsigned step = current_step(state);\n"
      "    if (step < first_port) {{\n"
      "      run_step(state->memory, {3}{2});\n"
      "    }} else if (!state->is_waiting) {{\n"
      "      state->is_waiting = 1;\n"
      "{5}"
      "      return step < first_output ? {1}_WANTS_ROW : {1}_HAS_ROW;\n"
      "    }} else {{\n"
      "      state->is_waiting = 0;\n"
      "    }}\n"
      "    state->done[step]++;\n{4}"
      "    move_on(state);\n"
      "  }}\n"
      "  return {1}_DONE;\n}}\n",
      name, upper(name), model.has_repeats() ? "state->done, step" : "step, state->done[step]",
      model.counts_steps() ? "state->now, " : "", model.counts_steps() ? "    state->now++;\n" : "",
      model.schedule.has_pauses
          ? fmt::format("      if (step == {}) return {}_PAUSES;\n", model.schedule.kinds() - 1, upper(name))
          : "");
  return text;
}

/// The loops, which go on where they have stopped.
std::string advance_by_loops(const Model& model) {
  return fmt::format(
      "\n/* What runs when: the loops of an affine schedule. They stop for each row that comes or goes, and "
      "go on "
      "behind\n * it; so their counters are in the state. */\n"
      "{0}_status {0}_advance({0}_state *state) {{\n"
      "  uint8_t *const *const memory = state->memory;\n"
      "{3}"
      "  switch (state->stop) {{\n"
      "    case 0:\n"
      "{2}"
      "      state->stop = UINT8_MAX;\n"
      "      break;\n"
      "    default: break;\n"
      "  }}\n"
      "  return {1}_DONE;\n}}\n",
      model.name, upper(model.name), model.loops->text,
      !model.open ? ""
      : std::ranges::any_of(model.functions, &Function::reads_open)
          ? "  const int32_t *const open = state->open;\n  const int32_t n = state->n;\n"
          : "  const int32_t n = state->n;\n");
}

std::string ports_text(const Model& model) {
  std::string places;
  for (const std::string& place : model.port_places)
    places += fmt::format("{}{}", places.empty() ? "" : ", ", place);
  const std::string& name = model.name;
  std::string text = fmt::format(
      "\n/* Where the rows of inputs and outputs are: the ports, inputs first. */\n"
      "static const stowage_place *const ports[{}] = {{{}}};\n",
      model.port_places.size(), places);
  text += fmt::format(
      "\n/* README.md says how large the state is. */\n"
      "typedef char {0}_state_has_the_size_it_should[sizeof(void *) != 4 || sizeof({0}_state) == {1} ? 1 : "
      "-1];\n",
      name, bytes_of_state(model));
  text += model.loops ? advance_by_loops(model) : advance_by_table(model);
  text += begin_text(model);
  const std::string port = model.loops ? "state->port" : "(int32_t)current_step(state) - first_port";
  const std::string block = model.loops ? "state->row" : "state->done[current_step(state)]";
  const std::int64_t granule = model.schedule.granule;
  text += fmt::format("\nint32_t {0}_port(const {0}_state *state) {{ return {1}; }}\n", name, port);
  text += fmt::format("\nint32_t {0}_row_number(const {0}_state *state) {{ return {1}{2}; }}\n", name, block,
                      granule == 1 ? "" : fmt::format(" * {}", granule));
  text += fmt::format("\nvoid *{0}_row(const {0}_state *state) {{\n", name);
  if (model.moving_ports.empty())
    return text +
           fmt::format(
               "  return stowage_row(state->memory, ports[{0}_port(state)], {0}_row_number(state));\n}}\n",
               name);
  text += fmt::format("  const int32_t port = {0}_port(state), row = {0}_row_number(state);\n", name);
  for (const auto& [number, row] : model.moving_ports)
    text += fmt::format("  if (port == {}) return {};\n", number, row);
  return text + "  return stowage_row(state->memory, ports[port], row);\n}\n";
}

/// Those that not all kernels include.
std::string headers_of_kernels(const Sources& sources) {
  std::string text;
  for (const std::string_view header :
       {"stowage_activation_s16", "stowage_dynamic", "stowage_q8", "stowage_recurrent"})
    if (std::ranges::any_of(sources.kernels(),
                            [&](const std::string& kernel) { return kernel.starts_with(header); }))
      text += fmt::format("#include \"{}.h\"\n", header);
  return text;
}

}  // namespace

std::string program_of(const Model& model, Sources& sources) {
  const std::string body = functions_text(model);
  std::string steps;
  if (model.is_stepped()) steps += table_text(model);
  steps += wishes_text(model, sources);
  steps += reset_text(model, sources) + (model.has_ports() ? ports_text(model) : run_text(model, sources));
  const std::string loops = model.loops ? model.loops->text : "";
  std::string text = fmt::format(
      "/* {0}: what runs when, and where. See {1}.h. */\n#include \"{1}.h\"\n\n{2}#include "
      "\"{1}_weights.h\"\n"
      "#include \"{3}.h\"\n{4}\n",
      in_comment(model.source()), model.name,
      (sources.needs_math() || has_special_literals(body) ? std::string("#include <math.h>\n\n") : "") +
          (bytes_kept(model) > 0 ? "#include <string.h>\n\n" : ""),
      model.calls_cmsis_nn ? "stowage_cmsis_nn" : "stowage_kernels", headers_of_kernels(sources));
  for (const auto& [word, definition] :
       {std::pair{"floord(", "#define floord(n, d) ((n) < 0 ? -((-(n) + (d)-1) / (d)) : (n) / (d))\n"},
        std::pair{"min(", "#define min(a, b) ((a) < (b) ? (a) : (b))\n"},
        std::pair{"max(", "#define max(a, b) ((a) > (b) ? (a) : (b))\n"}})
    if (loops.find(word) != std::string::npos) text += definition;
  return text +
         "/* Where tensors are: slots, offset, pitch, rows, ring, memory, whether slots are wide. */\n" +
         sources.places() + wrapped(sources.with_references(body + steps));
}

Bytes bytes_of_tables(const Model& model) {
  const std::size_t kinds = model.schedule.kinds();
  constexpr std::size_t bytes_of_a_period = 6;
  constexpr std::size_t bytes_of_a_port = 4;
  const std::size_t ports = model.port_places.size() * bytes_of_a_port;
  if (!model.is_stepped()) return static_cast<Bytes>(ports);
  constexpr std::size_t bytes_of_a_move = 2;
  std::size_t moves = 0;
  for (const auto& [number, blocks] : model.schedule.moved) moves += blocks.size() * bytes_of_a_move;
  return static_cast<Bytes>(moves + model.table.numbers.size() * (kinds <= 256 ? 1 : 2) +
                            model.table.periods.size() * bytes_of_a_period + ports);
}

Bytes bytes_kept(const Model& model) {
  const std::vector<KeptTensor> kept = kept_tensors(*model.network, *model.plan);
  return kept.empty() ? 0 : kept.back().offset + model.tensor(kept.back().tensor).bytes;
}

Bytes bytes_of_state(const Model& model) {
  if (!model.has_ports()) return 0;
  const std::size_t outside = bytes_kept(model) > 0 ? model.outside : 0;
  const std::size_t memories = (model.plan->memories.size() + outside) * 4;
  const std::size_t open = model.open ? 4 + model.open->numbers.size() * 4 : 0;
  if (model.loops) return static_cast<Bytes>(memories + model.loops->counters * 4 + open + 8);
  const std::size_t kinds = model.schedule.kinds();
  const std::size_t own = model.counts_steps() ? 10 : 8;
  const std::size_t bytes = memories + kinds * (model.schedule.counter() == "uint8_t" ? 1 : 2) + own;
  return static_cast<Bytes>((bytes + 3) / 4 * 4);
}

}  // namespace stowage::generate
