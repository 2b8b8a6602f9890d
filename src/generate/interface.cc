// NAME.h: sizes, shapes, scales, and the functions.

#include <fmt/format.h>

#include <algorithm>

#include "generate/program.h"
#include "generate/text.h"

namespace stowage::generate {
namespace {

std::string join(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", extent);
  return text;
}

/// The same where the number of rows depends on the size `n` of a run.
std::string macros_of_open_outlet(const Model& model, const Outlet& outlet, const std::string& prefix) {
  const Tensor& tensor = model.tensor(outlet.tensor);
  const std::size_t axis = *model.schedule.ports[*outlet.port].axis;
  const StepCount& rows = model.open->of_tensors.at(outlet.tensor);
  std::string shape;
  for (std::size_t d = 0; d < tensor.shape->size(); ++d)
    shape += fmt::format("{}{}", d == 0 ? "" : ", ",
                         d == axis ? prefix + "_ROWS(n)" : fmt::format("{}", (*tensor.shape)[d]));
  const std::int64_t extent = (*tensor.shape)[axis];
  std::string macro = text_of({rows.times, rows.plus, 1});
  macro.replace(macro.find('n'), 1, "(n)");
  return fmt::format(
      "/* Rows are along dimension {1}; how many depends on n. */\n"
      "#define {0}_ROWS(n) (({2}) / {3})\n#define {0}_SHAPE(n) {{{4}}}\n"
      "#define {0}_COUNT(n) ({0}_ROWS(n) * {5})\n#define {0}_BYTES(n) ({0}_ROWS(n) * {0}_ROW_BYTES)\n"
      "#define {0}_PORT {6}\n#define {0}_ROW_BYTES {7}\n",
      prefix, axis, macro, rows.over, shape, kernels::count_of(*tensor.shape) / extent, *outlet.port,
      tensor.bytes / extent);
}

std::string macros_of_outlet(const Model& model, const Outlet& outlet) {
  const Tensor& tensor = model.tensor(outlet.tensor);
  const std::string prefix = upper(model.name) + "_" + upper(outlet.name);
  std::string text = fmt::format("\n/* {} {}: {} */\n", outlet.is_input ? "Input" : "Output",
                                 in_comment(tensor.name), name_of(tensor.dtype));
  const bool is_open = model.open && outlet.port && model.open->of_tensors.contains(outlet.tensor);
  if (!is_open) {
    text += fmt::format("#define {}_SHAPE {{{}}}\n", prefix, join(*tensor.shape));
    text += fmt::format("#define {}_COUNT {}\n", prefix, kernels::count_of(*tensor.shape));
    text += fmt::format("#define {}_BYTES {}\n", prefix, tensor.bytes);
  }
  const auto& quantization = model.network->quantizations[outlet.tensor];
  if (quantization && quantization->scales.size() == 1) {
    text += fmt::format("#define {}_SCALE {}\n", prefix, literal(quantization->scales[0]));
    text += fmt::format("#define {}_ZERO_POINT {}\n", prefix, quantization->zero_points[0]);
  }
  if (is_open) return text + macros_of_open_outlet(model, outlet, prefix);
  if (!outlet.port) return text;
  const auto axis = model.schedule.ports[*outlet.port].axis;
  const std::int64_t rows = axis ? (*tensor.shape)[*axis] : 1;
  if (axis) text += fmt::format("/* Rows are along dimension {}. */\n", *axis);
  text += fmt::format("#define {}_PORT {}\n", prefix, *outlet.port);
  text += fmt::format("#define {}_ROWS {}\n", prefix, rows);
  return text + fmt::format("#define {}_ROW_BYTES {}\n", prefix, tensor.bytes / rows);
}

std::string memory_macros(const Model& model) {
  std::string text;
  const std::vector<std::string> names = memory_names(*model.plan);
  for (std::size_t m = 0; m < names.size(); ++m) {
    const PlannedMemory& memory = model.plan->memories[m];
    text += fmt::format("#define {}_{}_SIZE {}\n", upper(model.name), upper(names[m]), memory.peak);
    text += fmt::format("#define {}_{}_ALIGNMENT {}\n", upper(model.name), upper(names[m]),
                        memory.memory.alignment);
  }
  if (bytes_kept(model) > 0)
    text += fmt::format(
        "/* Kept from run to run, aligned like an arena. */\n"
        "#define {}_KEPT_SIZE {}\n",
        upper(model.name), bytes_kept(model));
  return text;
}

/// The range of the size of a run.
std::string size_macros(const Model& model) {
  if (!model.open) return "";
  const SizeSymbol& size = model.open->rows->size;
  return fmt::format(
      "\n/* n, the size of a run, is {1} of the model: from the least to the most, in these steps. */\n"
      "#define {0}_LEAST {2}\n#define {0}_MOST {3}\n#define {0}_STEP {4}\n",
      upper(model.name), in_comment(size.name), size.least, size.most, size.step);
}

std::string memory_parameters(const Model& model) {
  std::string text;
  for (const std::string& name : memory_names(*model.plan))
    text += fmt::format("{}void *{}", text.empty() ? "" : ", ", name);
  return text;
}

std::string reset_declaration(const Model& model) {
  if (bytes_kept(model) == 0) return "";
  return fmt::format("\n/* Forgets all runs; to be called before the first. */\nvoid {}_reset(void *kept);\n",
                     model.name);
}

std::string run_interface(const Model& model) {
  return reset_declaration(model) +
         fmt::format(
             "\n/* Runs the network once. An input or output that is planned in the arena may be "
             "null: then the input is\n"
             " * there already, and the output stays there, at the offset above. */\n"
             "void {}_run({});\n",
             model.name, run_parameters(model));
}

std::string offset_macros(const Model& model) {
  std::string text;
  const std::vector<std::string> memories = memory_names(*model.plan);
  for (const Outlet& outlet : outlets_of(model)) {
    const auto place = model.fixed_places.find(outlet.tensor);
    if (place == model.fixed_places.end()) continue;
    if (memories.size() > 1) text += fmt::format("/* In {}. */\n", memories[place->second.memory]);
    text +=
        fmt::format("#define {}_{}_OFFSET {}\n", upper(model.name), upper(outlet.name), place->second.offset);
  }
  if (text.empty()) return text;
  return (model.has_ports()
              ? "\n/* Inputs that must be there before a run, and outputs that are there after it. */\n"
              : "\n") +
         text;
}

/// What a run remembers between rows.
std::string state_text(const Model& model) {
  std::string members;
  if (model.loops) {
    for (std::size_t c = 0; c < model.loops->counters; ++c)
      members += fmt::format("  int32_t c{}; /* counts a loop */\n", c);
    members += "  int32_t row;\n  uint8_t port;\n  uint8_t stop;\n";
    if (model.open) members += "  int32_t n;\n";
    if (model.open && !model.open->numbers.empty())
      members += fmt::format("  int32_t open[{}]; /* numbers of rows */\n", model.open->numbers.size());
  } else {
    members = fmt::format(
        "  {} done[{}]; /* row blocks of each operator and port */\n"
        "  uint16_t period;\n  uint16_t time;\n  uint16_t index;\n{}  uint8_t is_waiting;\n",
        model.schedule.counter(), model.schedule.kinds(),
        model.counts_steps() ? "  uint16_t now; /* steps that have run */\n" : "");
  }
  return fmt::format(
      "/* A run that is under way. Its members are private. */\n"
      "typedef struct {{\n  uint8_t *memory[{}];\n{}}} {}_state;\n\n",
      memory_names(*model.plan).size() + (bytes_kept(model) > 0 ? model.outside : 0), members, model.name);
}

std::string row_interface(const Model& model) {
  const std::string& name = model.name;
  const std::string big = upper(name);
  std::string further;  // what else a run may say
  if (model.schedule.has_pauses)
    further +=
        fmt::format("  {}_PAUSES{} /* models that share its memory may run here, from begin to end */\n", big,
                    model.open ? "," : "");
  if (model.open) further += fmt::format("  {}_WRONG_SIZE /* n is not in its range; nothing runs */\n", big);
  std::string text = fmt::format(
      "\n/* A run by rows: the caller writes each row of the input to its place and takes each row of the "
      "output.\n"
      " *\n"
      " *   {0}_status status = {0}_begin(&state, {2});\n"
      " *   while (status != {1}_DONE) {{\n"
      " *     if (status == {1}_WANTS_ROW) read_camera_line({0}_row(&state));\n"
      " *     if (status == {1}_HAS_ROW) use_result({0}_row(&state));\n{5}"
      " *     status = {0}_advance(&state);\n"
      " *   }}\n"
      " */\n"
      "typedef enum {{\n"
      "  {1}_DONE,\n"
      "  {1}_WANTS_ROW, /* write the next row of an input to {0}_row() */\n"
      "  {1}_HAS_ROW{3} /* the next row of an output is at {0}_row() */\n"
      "{4}}} {0}_status;\n\n",
      name, big,
      fmt::format("{}{}{}", fmt::join(memory_names(*model.plan), ", "), bytes_kept(model) > 0 ? ", kept" : "",
                  model.open ? ", n" : ""),
      further.empty() ? "  " : ",", further,
      model.schedule.has_pauses ? fmt::format(" *     if (status == {}_PAUSES) run_others();\n", big) : "");
  text += state_text(model);
  text += fmt::format(
      "/* Begins a run and computes up to the first row that it wants or has. */\n"
      "{0}_status {0}_begin({0}_state *state, {1}{2}{3});\n"
      "/* Goes on after a row: computes all that it makes possible, then returns. */\n"
      "{0}_status {0}_advance({0}_state *state);\n"
      "/* Where the row is that the run wants or has, its number, and which input or output it is of: a "
      "..._PORT.\n * Not for a run that is done{4}. */\n"
      "void *{0}_row(const {0}_state *state);\n"
      "int32_t {0}_row_number(const {0}_state *state);\n"
      "int32_t {0}_port(const {0}_state *state);\n",
      name, memory_parameters(model), bytes_kept(model) > 0 ? ", void *kept" : "",
      model.open ? ", int32_t n" : "", model.schedule.has_pauses ? " or pauses" : "");
  return text + reset_declaration(model);
}

}  // namespace

std::vector<std::string> memory_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedMemory& memory : plan.memories) {
    std::string name = identifier(memory.memory.name);
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    names.push_back(name.empty() || (name[0] >= '0' && name[0] <= '9') ? "memory_" + name : name);
  }
  return names;
}

std::vector<Outlet> outlets_of(const Model& model) {
  const Subgraph& main = model.graph().subgraphs[0];
  std::vector<Outlet> all;
  const auto add = [&](const std::vector<TensorId>& tensors, bool is_input) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string word = is_input ? "input" : "output";
      Outlet outlet{tensors[i], is_input, tensors.size() == 1 ? word : fmt::format("{}_{}", word, i), {}};
      for (std::size_t p = 0; p < model.schedule.ports.size(); ++p) {
        const Port& port = model.schedule.ports[p];
        if (port.tensor == tensors[i] && port.is_input == is_input) outlet.port = p;
      }
      all.push_back(outlet);
    }
  };
  add(main.inputs, true);
  add(main.outputs, false);
  return all;
}

std::string run_parameters(const Model& model) {
  std::string text = memory_parameters(model);
  if (bytes_kept(model) > 0) text += ", void *kept";
  for (const Outlet& outlet : outlets_of(model))
    text += fmt::format(", {}{} *{}", outlet.is_input ? "const " : "",
                        c_type(model.tensor(outlet.tensor).dtype), outlet.name);
  return text.starts_with(", ") ? text.substr(2) : text;
}

std::string interface_of(const Model& model, const Sources& sources) {
  const std::string big = upper(model.name);
  std::string text = fmt::format(
      "/* {} as C, made by stowage; README.md says more.\n{}"
      " * No function allocates, recurses or keeps anything. */\n"
      "#ifndef {}_H\n#define {}_H\n\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "/* Memory that the caller provides, in bytes. */\n{}",
      in_comment(model.source()), model.origin, big, big, memory_macros(model));
  text += size_macros(model);
  for (const Outlet& outlet : outlets_of(model)) text += macros_of_outlet(model, outlet);
  text += offset_macros(model);
  text += model.has_ports() ? row_interface(model) : run_interface(model);
  if (model.has_wishes)
    text += fmt::format(
        "\n/* Bytes of scratch memory that this version of CMSIS-NN wants beyond those in the arena; it must "
        "be 0. */\nint32_t {}_scratch_missing(void);\n",
        model.name);
  text += sources.externs();
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace stowage::generate
