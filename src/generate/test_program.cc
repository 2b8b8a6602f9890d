// NAME_test.c: runs the network on inputs whose outputs our own runner has computed, in memory of exactly the planned
// size, and looks whether anything around it was written.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "generate/program.h"
#include "generate/text.h"

namespace stowage::generate {
namespace {

std::string data_name(const Outlet& outlet, std::size_t number) {
  return fmt::format("{}_of_case_{}", outlet.name, number);
}

/// The values of all cases.
std::string data_text(const Model& model, const Graph& graph, const std::vector<TestCase>& cases,
                      std::size_t first = 0) {
  std::string text;
  const std::vector<Outlet> outlets = outlets_of(model);
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (std::size_t i = 0; i < outlets.size(); ++i) {
      const Tensor& tensor = graph.tensors[outlets[i].tensor];
      if (tensor.bytes == 0 || i >= cases[c].size()) continue;
      const auto axis = outlets[i].port ? model.schedule.ports[*outlets[i].port].axis : std::nullopt;
      text += fmt::format("static const {} {}[{}] = {{\n{}}};\n", c_type(tensor.dtype),
                          data_name(outlets[i], first + c), kernels::count_of(*tensor.shape),
                          initialiser(tensor.dtype, in_order_of_port(tensor, cases[c][i], axis)));
    }
  }
  return text;
}

/// Pointers to these values, per case: of inputs, or of what is expected of outputs.
std::string pointers_text(const Model& model, std::size_t cases, bool is_input, bool is_known) {
  std::string rows;
  std::size_t count = 0;
  for (std::size_t c = 0; c < cases; ++c) {
    std::string row;
    count = 0;
    for (const Outlet& outlet : outlets_of(model)) {
      if (outlet.is_input != is_input) continue;
      const bool is_empty = model.tensor(outlet.tensor).bytes == 0 || !is_known;
      row += fmt::format("{}{}", row.empty() ? "" : ", ", is_empty ? "NULL" : data_name(outlet, c));
      ++count;
    }
    rows += fmt::format("    {{{}}},\n", row.empty() ? "NULL" : row);
  }
  return fmt::format("static const void *const {}[][{}] = {{\n{}}};\n", is_input ? "inputs" : "expected",
                     std::max<std::size_t>(count, 1), rows);
}

/// A condition: whether an output is other than expected.
std::string differs(DType dtype, const std::string& at, const std::string& expected,
                    const std::string& bytes) {
  if (dtype == DType::float32) return fmt::format("stowage_differs_f32({}, {}, {})", at, expected, bytes);
  if (dtype == DType::float64) return fmt::format("stowage_differs_f64({}, {}, {})", at, expected, bytes);
  return fmt::format("memcmp({}, {}, {}) != 0", at, expected, bytes);
}

/// The same of a row of the current port.
std::string row_differs(const Model& model) {
  std::vector<std::string> conditions;
  std::string text;
  bool is_one = true;
  for (std::size_t p = 0; p < model.schedule.ports.size(); ++p) {
    const Port& port = model.schedule.ports[p];
    if (port.is_input) continue;
    const std::string condition =
        differs(model.tensor(port.tensor).dtype, model.name + "_row(&state)", "there", "bytes");
    is_one = is_one && (text.empty() || condition == text);
    text = condition;
    conditions.push_back(fmt::format("port == {} ? {}", p, condition));
  }
  if (text.empty()) return "0";
  if (is_one) return text;
  conditions.back() = text;
  return fmt::format("({})", fmt::join(conditions, "\n        : "));
}

std::string memory_text(const Model& model) {
  std::string text;
  if (bytes_kept(model) > 0) text += fmt::format("static uint64_t kept[({} + 7) / 8];\n", bytes_kept(model));
  for (const std::string& name : memory_names(*model.plan))
    text += fmt::format(
        "static unsigned char {0}_memory[{1}_{2}_SIZE + {1}_{2}_ALIGNMENT + 2 * stowage_guard];\n", name,
        upper(model.name), upper(name));
  return text;
}

std::string whole_case_text(const Model& model, const std::string& arguments, bool is_known) {
  std::string text;
  std::string call = arguments;
  std::string compare;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  for (const Outlet& outlet : outlets_of(model)) {
    const Tensor& tensor = model.tensor(outlet.tensor);
    const std::string_view type = c_type(tensor.dtype);
    if (outlet.is_input) {
      call += fmt::format(", (const {} *)inputs[number][{}]", type, inputs++);
      continue;
    }
    text += fmt::format("static {} {}_memory[{}];\n", type, outlet.name,
                        std::max<std::int64_t>(kernels::count_of(*tensor.shape), 1));
    call += fmt::format(", {}_memory", outlet.name);
    if (tensor.bytes > 0 && is_known)
      compare +=
          fmt::format("  if ({}) return \"an output differs\";\n",
                      differs(tensor.dtype, outlet.name + "_memory",
                              fmt::format("expected[number][{}]", outputs), std::to_string(tensor.bytes)));
    ++outputs;
  }
  return text +
         "\n/* What is wrong; NULL if nothing is. */\nstatic const char *run_case(unsigned number) "
         "{\n@MEMORY@  stowage_usage usage;\n" +
         fmt::format("  stowage_begin_usage(&usage);\n  {}_run({});\n  stowage_end_usage(&usage);\n",
                     model.name, call) +
         compare + "@GUARDS@  return NULL;\n}\n";
}

/// Copies inputs that are no ports to their places, and compares such outputs.
std::pair<std::string, std::string> fixed_text(const Model& model, bool is_known) {
  std::pair<std::string, std::string> texts;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  for (const Outlet& outlet : outlets_of(model)) {
    const std::size_t own = outlet.is_input ? inputs++ : outputs++;
    const auto place = model.fixed_places.find(outlet.tensor);
    if (place == model.fixed_places.end()) continue;
    const std::string at =
        fmt::format("{} + {}", memory_names(*model.plan)[place->second.memory], place->second.offset);
    const Bytes bytes = model.tensor(outlet.tensor).bytes;
    if (outlet.is_input) {
      texts.first += fmt::format("  memcpy({}, inputs[number][{}], {});\n", at, own, bytes);
    } else if (is_known) {
      texts.second += fmt::format("  if ({}) return \"an output differs\";\n",
                                  differs(model.tensor(outlet.tensor).dtype, at,
                                          fmt::format("expected[number][{}]", own), std::to_string(bytes)));
    }
  }
  return texts;
}

/// The text with the size of the case for `n`.
std::string with_size_of_case(std::string text) { return text.replace(text.find('n'), 1, "sizes[number]"); }

/// C that counts the rows of ports, if how many there are is open.
struct RowCounts {
  std::string begin{};
  std::string row{};
  std::string end{};
};

RowCounts row_counts_text(const Model& model, const std::string& arguments) {
  if (!model.open) return {};
  RowCounts text{.row = "    if (rows_left[port]-- == 0) return \"there are too many rows\";\n"};
  text.begin = fmt::format(
      "  if ({0}_begin(&state, {1}, {2}_MOST + 1) != {2}_WRONG_SIZE || {0}_advance(&state) != {2}_DONE)\n"
      "    return \"a size out of range runs\";\n",
      model.name, arguments, upper(model.name));
  for (std::size_t p = 0; p < model.schedule.ports.size(); ++p) {
    const auto rows = model.open->of_tensors.find(model.schedule.ports[p].tensor);
    text.begin += fmt::format(
        "  rows_left[{}] = {};\n", p,
        !model.schedule.ports[p].axis ? "1"
        : rows == model.open->of_tensors.end()
            ? std::to_string(
                  (*model.tensor(model.schedule.ports[p].tensor).shape)[*model.schedule.ports[p].axis])
            : with_size_of_case(text_of(rows->second)));
    text.end += fmt::format("  if (rows_left[{}] != 0) return \"there are too few rows\";\n", p);
  }
  return text;
}

std::string row_case_text(const Model& model, const std::string& arguments, bool is_known) {
  std::string sizes;
  for (const Port& port : model.schedule.ports) {
    const Tensor& tensor = model.tensor(port.tensor);
    const std::int64_t rows = port.axis ? (*tensor.shape)[*port.axis] : 1;
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", tensor.bytes / rows);
  }
  // Ports need not be in the order of the network's inputs and outputs.
  std::string data;
  for (std::size_t p = 0; p < model.schedule.ports.size(); ++p) {
    std::size_t own = 0;
    for (const Outlet& outlet : outlets_of(model)) {
      if (outlet.is_input != model.schedule.ports[p].is_input) continue;
      if (outlet.port == p)
        data += fmt::format("{}{}[number][{}]", data.empty() ? "" : ", ",
                            outlet.is_input ? "inputs" : "expected", own);
      ++own;
    }
  }
  const auto fixed = fixed_text(model, is_known);
  const std::string size = model.open ? ", sizes[number]" : "";
  const RowCounts counts = row_counts_text(model, arguments);
  const std::string rows_begin =
      model.open ? fmt::format("  int32_t rows_left[{}];\n", model.schedule.ports.size()) : "";
  const std::int64_t granule = model.schedule.granule;
  std::string count;
  if (granule > 1) {
    std::string rows;
    for (const Port& port : model.schedule.ports)
      rows += fmt::format("{}{}", rows.empty() ? "" : ", ",
                          port.axis ? (*model.tensor(port.tensor).shape)[*port.axis] : 1);
    sizes +=
        fmt::format("}};\nstatic const int32_t rows_of_port[{}] = {{{}", model.schedule.ports.size(), rows);
    count = fmt::format(" * (rows_of_port[port] - row < {0} ? (size_t)(rows_of_port[port] - row) : {0})",
                        granule);
  }
  return fmt::format(
      "\nstatic const size_t row_bytes[{0}] = {{{1}}};\n"
      "\n/* What is wrong; NULL if nothing is. */\nstatic const char *run_case(unsigned number) {{\n"
      "  const void *const data[{0}] = {{{2}}};\n"
      "  {3}_state state;\n"
      "  {3}_status status;\n"
      "@MEMORY@  stowage_usage usage;\n{12}{7}"
      "{13}  stowage_begin_usage(&usage);\n"
      "  status = {3}_begin(&state, {4}{14});\n"
      "  for (; status != {5}_DONE; status = {3}_advance(&state)) {{\n{17}"
      "    const int32_t port = {3}_port(&state);\n"
      "    const int32_t row = {3}_row_number(&state);\n"
      "    const unsigned char *const there = {10}(const unsigned char *)data[port] + (size_t)row * "
      "row_bytes[port];\n"
      "    const size_t bytes = row_bytes[port]{6};\n{15}"
      "    if (status == {5}_WANTS_ROW) {{\n"
      "      memcpy({3}_row(&state), there, bytes);\n"
      "    }} else if ({8}{11}) {{\n"
      "      return \"a row of an output differs\";\n"
      "    }}\n"
      "  }}\n"
      "  stowage_end_usage(&usage);\n{16}{9}"
      "@GUARDS@  return NULL;\n}}\n",
      model.schedule.ports.size(), sizes, data, model.name, arguments, upper(model.name), count, fixed.first,
      is_known ? "" : "there != NULL && ", fixed.second,
      is_known ? "" : "data[port] == NULL ? NULL : ", row_differs(model), rows_begin, counts.begin, size,
      counts.row, counts.end,
      model.schedule.has_pauses ? fmt::format("    if (status == {}_PAUSES) continue;\n", upper(model.name))
                                : "");
}

void replace(std::string& text, std::string_view mark, const std::string& by) {
  const std::size_t at = text.find(mark);
  if (at != std::string::npos) text.replace(at, mark.size(), by);
}

}  // namespace

std::vector<std::byte> in_order_of_port(const Tensor& tensor, const std::vector<std::byte>& data,
                                        std::optional<std::size_t> axis) {
  if (!axis) return data;
  const auto outer = static_cast<std::size_t>(kernels::count_of(*tensor.shape, 0, *axis));
  const auto rows = static_cast<std::size_t>((*tensor.shape)[*axis]);
  if (outer == 0 || rows == 0) return data;
  const std::size_t run = data.size() / (outer * rows);
  std::vector<std::byte> ordered;
  ordered.reserve(data.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < outer; ++o) {
      const auto begin = data.begin() + static_cast<std::ptrdiff_t>((o * rows + row) * run);
      ordered.insert(ordered.end(), begin, begin + static_cast<std::ptrdiff_t>(run));
    }
  }
  return ordered;
}

namespace {

/// With the values of `count` cases.
std::string program_of_cases(const Model& model, const std::string& data, std::size_t count, bool is_known) {
  std::string arguments;
  std::string memory;
  std::string guards;
  for (const std::string& name : memory_names(*model.plan)) {
    const std::string macro = upper(model.name) + "_" + upper(name);
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", name);
    memory += fmt::format(
        "  unsigned char *const {0} = stowage_guarded({0}_memory, {1}_SIZE, {1}_ALIGNMENT);\n", name, macro);
    guards +=
        fmt::format("  if (stowage_is_spoilt({}, {}_SIZE)) return \"memory around the arena is written\";\n",
                    name, macro);
  }
  if (bytes_kept(model) > 0) {
    arguments += ", kept";
    memory += fmt::format("  {}_reset(kept);\n", model.name);
  }
  std::string code = model.has_ports() ? row_case_text(model, arguments, is_known)
                                       : whole_case_text(model, arguments, is_known);
  if (code.find("expected[number]") == std::string::npos) memory += "  (void)expected;\n";
  if (code.find("inputs[number]") == std::string::npos) memory += "  (void)inputs;\n";
  replace(code, "@MEMORY@", memory);
  replace(code, "@GUARDS@", guards);
  return fmt::format(
             "/* Runs {0} on inputs whose outputs are known. Returns 0 if all are as expected, bit for bit. "
             "*/\n"
             "#include \"{1}.h\"\n\n{2}#include \"stowage_test.h\"\n\n",
             in_comment(model.source()), model.name,
             has_special_literals(data) ? "#include <math.h>\n\n" : "") +
         data + pointers_text(model, count, true, true) + pointers_text(model, count, false, is_known) +
         memory_text(model) + code +
         fmt::format(
             "\nint main(void) {{\n  unsigned number;\n{2}  for (number = 0; number < {0}; number++) {{\n"
             "    const char *const problem = run_case(number);\n    if (problem != NULL) {{\n"
             "      printf(\"{1}: case %u: %s\\n\", number, problem);\n      return 1;\n    }}\n  }}\n"
             "  printf(\"{1}: {0} of {0} cases {3}\\n\");\n  return 0;\n}}\n",
             count, model.name,
             !model.has_wishes
                 ? std::string()
                 : fmt::format("  if ({0}_scratch_missing() > 0) {{\n"
                               "    printf(\"{0}: CMSIS-NN wants %ld bytes more scratch memory\\n\", "
                               "(long){0}_scratch_missing());\n    return 1;\n  }}\n",
                               model.name),
             is_known ? "as expected" : "have run; what to expect is not known");
}

}  // namespace

std::string test_program_of(const Model& model, const std::vector<TestCase>& cases) {
  return program_of_cases(model, data_text(model, model.graph(), cases), cases.size(),
                          cases[0].size() == outlets_of(model).size());
}

std::string test_program_of(const Model& model, const std::vector<CasesAt>& all) {
  std::string data;
  std::string sizes;
  std::size_t count = 0;
  for (const CasesAt& it : all) {
    data += data_text(model, it.network->graph(), it.cases, count);
    count += it.cases.size();
    for (std::size_t c = 0; c < it.cases.size(); ++c)
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", it.size);
  }
  data += fmt::format("static const int32_t sizes[{}] = {{{}}};\n", count, sizes);
  return program_of_cases(model, data, count, all[0].cases[0].size() == outlets_of(model).size());
}

}  // namespace stowage::generate
