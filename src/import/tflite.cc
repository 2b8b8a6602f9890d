#include "import/tflite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "import/given_values.h"
#include "import/open_merge.h"
#include "import/open_sizes.h"
#include "import/readers.h"
#include "import/tflite_branches.h"
#include "import/tflite_constants.h"
#include "import/tflite_copies.h"
#include "import/tflite_shapes.h"
#include "import/tflite_tables.h"
#include "import/tflite_variables.h"
#include "model/motions.h"
#include "operators/facts.h"
#include "operators/states.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

using tflite::BuiltinOperator;
using Indices = flatbuffers::Vector<std::int32_t>;

constexpr std::size_t most_parts = 10'000'000;  // tensors, or operators, of one model

template <typename... Values>
[[noreturn]] void reject(fmt::format_string<Values...> problem, Values&&... values) {
  throw Error("", fmt::format(problem, std::forward<Values>(values)...));
}

/// The type of a tensor. Throws Error for a type without a size.
DType dtype_of(tflite::TensorType type) {
  static constexpr std::array<DType, 23> dtypes_of_tflite{
      DType::float32, DType::float16,      DType::int32,     DType::uint8,     DType::int64,
      DType::string,  DType::boolean,      DType::int16,     DType::complex64, DType::int8,
      DType::float64, DType::complex128,   DType::uint64,    DType::resource,  DType::unknown,
      DType::uint32,  DType::uint16,       DType::int4,      DType::bfloat16,  DType::int2,
      DType::uint4,   DType::float8e4m3fn, DType::float8e5m2};
  static_assert(dtypes_of_tflite.size() == static_cast<std::size_t>(tflite::TensorType::MAX) + 1);
  const auto index = static_cast<std::size_t>(type);  // negative numbers also become too large
  const DType dtype = index < dtypes_of_tflite.size() ? dtypes_of_tflite[index] : DType::unknown;
  if (dtype == DType::unknown) {
    const std::string_view name = tflite::EnumNameTensorType(type);
    reject("has type {} ({}), expected one with a size", static_cast<int>(type),
           name.empty() ? "unknown" : name);
  }
  return dtype;
}

Shape dimensions_of(const Indices* dimensions) {
  const std::size_t rank = count(dimensions);
  if (rank > 1000) reject("has {} dimensions, expected at most 1000", rank);
  return dimensions == nullptr ? Shape{} : Shape(dimensions->begin(), dimensions->end());
}

/// Whether the name is that of another operator than a custom one.
bool is_taken(std::string_view name) {
  using operators::Format;
  const auto* const own = operators::find_facts(Format::tflite, name);
  return operators::find_facts(Format::onnx, name) != nullptr || (own != nullptr && !own->is_custom);
}

std::string type_of(const tflite::OperatorCode& code) {
  const BuiltinOperator builtin = builtin_of(code);
  std::string name = builtin == BuiltinOperator::CUSTOM ? text(code.custom_code()) : "";
  // A custom operator may have any name, even that of an operator with known properties.
  if (is_taken(name)) name = "custom." + name;
  if (name.empty()) name = tflite::EnumNameBuiltinOperator(builtin);
  return name.empty() ? fmt::format("BUILTIN_{}", static_cast<int>(builtin)) : name;
}

/// The subgraphs that an operator of this type runs.
std::vector<std::int32_t> bodies_of(BuiltinOperator builtin, const tflite::Operator& op) {
  if (builtin == BuiltinOperator::IF) {
    if (const auto* it = op.builtin_options_as_IfOptions())
      return {it->then_subgraph_index(), it->else_subgraph_index()};
  } else if (builtin == BuiltinOperator::WHILE) {
    if (const auto* it = op.builtin_options_as_WhileOptions())
      return {it->cond_subgraph_index(), it->body_subgraph_index()};
  } else if (builtin == BuiltinOperator::CALL_ONCE) {
    if (const auto* it = op.builtin_options_as_CallOnceOptions()) return {it->init_subgraph_index()};
  } else {
    return {};
  }
  reject("has options of type {}, expected those of its own type, which name its bodies",
         static_cast<int>(op.builtin_options_type()));
}

/// True for operators with effects beyond their outputs; these keep their order.
bool has_effect(BuiltinOperator builtin, const Operator& op, const std::vector<Tensor>& tensors) {
  static constexpr std::array always{BuiltinOperator::CALL_ONCE, BuiltinOperator::READ_VARIABLE,
                                     BuiltinOperator::ASSIGN_VARIABLE};
  if (std::ranges::find(always, builtin) != always.end()) return true;
  // Operators that read variables update them, and a resource is a handle to one or to a table.
  return std::ranges::any_of(op.inputs, [&](const auto& input) {
    return input && (tensors[*input].kind == TensorKind::state || tensors[*input].dtype == DType::resource);
  });
}

void check_option_names(const ImportOptions& options, const Graph& graph) {
  if (options.shapes.empty() && options.bounds.empty()) return;
  std::unordered_set<std::string_view> names;
  for (const Tensor& tensor : graph.tensors) names.insert(tensor.name);
  const auto check = [&](const std::string& name, const std::string& flag) {
    const bool is_twice = options.shapes.contains(name) && options.bounds.contains(name);
    const std::string place = flag + " " + base::quoted(name) + ": ";
    if (!names.contains(name))
      throw UsageError(place + "the model has no such tensor" +
                       base::did_you_mean(name, std::vector<std::string>(names.begin(), names.end())));
    if (is_twice) throw UsageError(place + "has both --shape and --bound, expected one of them");
  };
  for (const auto& [name, shape] : options.shapes) {
    check(name, "--shape");
    for (const GivenSize& size : shape) expect_steps("--shape", name, size);
  }
  for (const auto& [name, bytes] : options.bounds) check(name, "--bound");
}

/// A model at the largest of the given sizes.
struct TfliteReading {
  Graph graph{};
  ImportOptions ranges{};  ///< The options as the sizes for which a plan must hold.
  Turns turns{};           ///< What is held against each other.
  bool is_drawn = false;   ///< Readings besides the first draw what a run decides.
  std::string note{};
  FirstValues first_values{};
  KnownResults known{};
};

/// Turns a verified model into a graph.
class Reader {
 public:
  Reader(const tflite::Model& model, std::string_view file, const ImportOptions& options, std::size_t number)
      : model_(model), file_(file), options_(options), number_(number), budget_(file.size()) {}

  TfliteReading read() {
    count_all();
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) read_tensors(s);
    for (std::size_t s = graph_.subgraphs.size(); s-- > 0;) read_subgraph(s);
    check_option_names(options_, graph_);
    expect_values_of_inputs(options_, graph_);
    TfliteReading reading{.ranges = options_};
    if (is_to_infer()) infer(reading);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t)
      located([&] { find_size(t); }, [&] { return describe(graph_, t); });
    for (const auto& [name, bytes] : options_.bounds) expect_used_bound(name);
    if (!options_.file_shapes) {
      fold_decoders(graph_);
      fold_known(graph_, reading.known);
      give_constants_to_branches(graph_);
      reading.first_values = join_variables(model_, graph_);
    }
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) read_copies(s);
    mark(graph_.subgraphs[0].inputs, TensorKind::input);
    mark(graph_.subgraphs[0].outputs, TensorKind::output);
    reading.graph = std::move(graph_);
    return reading;
  }

 private:
  [[nodiscard]] const tflite::SubGraph& subgraph(std::size_t s) const { return at(model_.subgraphs(), s); }

  void spend(std::size_t bytes) { budget_.spend(bytes); }

  void count_all() {
    std::size_t tensors = 0;
    std::size_t operators = 0;
    graph_.subgraphs.resize(count(model_.subgraphs()));
    has_effects_.resize(graph_.subgraphs.size());
    if (graph_.subgraphs.empty()) reject("has no subgraph, expected at least one");
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) {
      first_tensor_.push_back(tensors);
      tensors += count(subgraph(s).tensors());
      operators += count(subgraph(s).operators());
      const std::size_t most = std::max(tensors, operators);
      if (most > most_parts) reject("has {} tensors or operators, expected {} at most", most, most_parts);
    }
    spend((graph_.subgraphs.size() + tensors + operators) * smallest_table);
    graph_.tensors.reserve(tensors);
  }

  void read_tensors(std::size_t s) {
    for (std::size_t t = 0; t < count(subgraph(s).tensors()); ++t) {
      Tensor& tensor = graph_.tensors.emplace_back();
      located([&] { read_tensor(at(subgraph(s).tensors(), t), tensor); },
              [&] { return describe(graph_, graph_.tensors.size() - 1); });
    }
  }

  void read_tensor(const tflite::Tensor& source, Tensor& tensor) {
    tensor.name = text(source.name());
    spend(tensor.name.size() + count(source.shape()) * sizeof(std::int32_t));
    const auto stored = static_cast<Bytes>(stored_data(model_, file_, source).size());
    // A variable with data is still a variable: the data is only its initial value.
    if (source.is_variable()) {
      tensor.kind = TensorKind::state;
    } else if (stored > 0 || source.external_buffer() != 0) {
      tensor.kind = TensorKind::weight;
    }
    tensor.dtype = dtype_of(source.type());
    tensor.shape = dimensions_of(source.shape());
    if (std::ranges::any_of(*tensor.shape, [](std::int64_t dimension) { return dimension < -1; }))
      reject("has shape [{}], expected sizes, or -1 for an open one", fmt::join(*tensor.shape, ","));
  }

  /// The shapes in the file are the sizes, unless it leaves some open.
  [[nodiscard]] bool is_to_infer() const {
    return !options_.file_shapes &&
           (!options_.shapes.empty() || !options_.values.empty() || has_open_sizes(model_, graph_));
  }

  void infer(TfliteReading& reading) {
    validate(graph_);
    InferredShapes inferred =
        infer_shapes(model_, file_, graph_, options_, number_, [this](std::size_t bytes) { spend(bytes); });
    for (TensorId t = 0; t < graph_.tensors.size(); ++t)
      graph_.tensors[t].shape = std::move(inferred.shapes[t]);
    for (auto& [t, elements] : inferred.values) graph_.tensors[t].value = std::move(elements);
    reading.ranges = std::move(inferred.ranges);
    reading.note = std::move(inferred.note);
    reading.turns = std::move(inferred.turns);
    reading.is_drawn = inferred.is_drawn;
    if (number_ == 0) reading.known = std::move(inferred.known);
  }

  void find_size(TensorId t) {
    Tensor& tensor = graph_.tensors[t];
    const auto bound = options_.bounds.find(tensor.name);
    const bool has_bound = bound != options_.bounds.end() && !is_constant(tensor.kind);
    if (has_bound && (!tensor.shape || tensor.dtype == DType::string)) {
      tensor.shape.reset();
      tensor.bytes = bound->second;
      return;
    }
    const Shape& shape = tensor.shape.value();
    if (std::ranges::any_of(shape, [](std::int64_t dimension) { return dimension < 0; }))
      reject("has shape [{}], expected nothing below 0", fmt::join(shape, ","));
    if (tensor.dtype != DType::string) {
      tensor.bytes = bytes_of(tensor.dtype, shape);
    } else if (tensor.kind == TensorKind::weight && !stored(t).empty()) {
      tensor.bytes = static_cast<Bytes>(stored(t).size());
    } else {
      reject("has type 5 (STRING) and no data, expected a type with a size, or --bound");
    }
  }

  /// Data of a tensor in the file.
  [[nodiscard]] std::string_view stored(TensorId t) const {
    const auto next = std::ranges::upper_bound(first_tensor_, t);
    const auto s = static_cast<std::size_t>(next - first_tensor_.begin()) - 1;
    return stored_data(model_, file_, at(subgraph(s).tensors(), t - first_tensor_[s]));
  }

  void expect_used_bound(const std::string& name) const {
    const auto uses = [&](const Tensor& it) { return it.name == name && !it.shape; };
    if (std::ranges::any_of(graph_.tensors, uses)) return;
    const auto it = std::ranges::find(graph_.tensors, name, &Tensor::name);
    throw UsageError(fmt::format("--bound {}: has no effect, as the model itself gives {} bytes",
                                 base::quoted(name), it->bytes));
  }

  void read_subgraph(std::size_t s) {
    const tflite::SubGraph& source = subgraph(s);
    Subgraph& result = graph_.subgraphs[s];
    result.name = text(source.name());
    spend(result.name.size());
    const auto read_ends = [&](const Indices* indices, std::string_view role) {
      return located([&] { return ends(indices, s); },
                     [&] { return fmt::format("{} of subgraph {}", role, s); });
    };
    result.inputs = read_ends(source.inputs(), "inputs");
    result.outputs = read_ends(source.outputs(), "outputs");
    result.operators.reserve(count(source.operators()));
    for (std::size_t o = 0; o < count(source.operators()); ++o) {
      Operator& op = result.operators.emplace_back(Operator{.type = "unknown"});
      located([&] { read_operator(at(source.operators(), o), s, op); },
              [&] { return describe(graph_, s, o); });
      has_effects_[s] = has_effects_[s] || op.stateful;
    }
    find_parts_of_accelerators(result);
  }

  std::vector<TensorId> ends(const Indices* indices, std::size_t s) {
    std::vector<TensorId> ids;
    for (const auto& id : operands(indices, s)) {
      if (!id) reject("has tensor -1, expected one that exists");
      ids.push_back(*id);
    }
    return ids;
  }

  /// Converts indices of a subgraph's own tensors to those of all tensors; -1 is an omitted operand.
  std::vector<std::optional<TensorId>> operands(const Indices* indices, std::size_t s) {
    spend(count(indices) * sizeof(std::int32_t));
    std::vector<std::optional<TensorId>> result;
    const std::size_t tensors = count(subgraph(s).tensors());
    for (flatbuffers::uoffset_t i = 0; i < count(indices); ++i) {
      const std::int32_t index = indices->Get(i);
      if (index == -1) {
        result.emplace_back();
      } else if (index >= 0 && static_cast<std::size_t>(index) < tensors) {
        result.emplace_back(first_tensor_[s] + static_cast<std::size_t>(index));
      } else {
        reject("has tensor {}, but subgraph {} has {} tensors", index, s, tensors);
      }
    }
    return result;
  }

  void read_operator(const tflite::Operator& source, std::size_t s, Operator& op) {
    if (source.opcode_index() >= count(model_.operator_codes())) {
      reject("has operator code {}, but there are {} operator codes", source.opcode_index(),
             count(model_.operator_codes()));
    }
    const tflite::OperatorCode& code = at(model_.operator_codes(), source.opcode_index());
    op.type = type_of(code);
    spend(op.type.size());
    op.inputs = operands(source.inputs(), s);
    op.outputs = operands(source.outputs(), s);
    for (const std::int32_t body : bodies_of(builtin_of(code), source)) {
      if (body <= 0 || static_cast<std::size_t>(body) >= graph_.subgraphs.size()) {
        reject("has body {}, expected a subgraph from 1 to {}", body, graph_.subgraphs.size() - 1);
      }
      const auto index = static_cast<std::size_t>(body);
      // An IF whose branches are one subgraph runs only one: it is on the clock once.
      if (op.type != "IF" || std::ranges::find(op.bodies, index) == op.bodies.end())
        op.bodies.push_back(index);
    }
    if (builtin_of(code) == BuiltinOperator::WHILE) op.body_use = BodyUse::repeated;
    // Bodies after their operator are known by now; all others are assumed to have effects.
    op.stateful =
        has_effect(builtin_of(code), op, graph_.tensors) ||
        std::ranges::any_of(op.bodies, [&](std::size_t body) { return body <= s || has_effects_[body]; });
  }

  void read_copies(std::size_t s) {
    const TfliteScope scope{model_, subgraph(s), first_tensor_[s], file_,
                            [this](std::size_t bytes) { spend(bytes); }};
    for (std::size_t o = 0; o < count(subgraph(s).operators()); ++o) {
      const tflite::Operator& source = at(subgraph(s).operators(), o);
      located([&] { find_copies(scope, source, graph_, graph_.subgraphs[s].operators[o]); },
              [&] { return describe(graph_, s, o); });
    }
  }

  /// Operators of Ethos-U accelerators take their command stream as first input, and their working memory as
  /// inputs that no operator writes. Source: Ethos-U Vela, write_rawdata_output, whose order of inputs is
  /// command stream, weights ("flash"), scratch, fast scratch, and then those of the network; TensorFlow Lite
  /// Micro, ethosu.cc, which takes the first as the command stream.
  void find_parts_of_accelerators(Subgraph& subgraph) {
    std::unordered_set<TensorId> given(subgraph.inputs.begin(), subgraph.inputs.end());
    for (const Operator& op : subgraph.operators) {
      for (const auto& output : op.outputs) {
        if (output) given.insert(*output);
      }
    }
    for (Operator& op : subgraph.operators) {
      if (op.type != "ethos-u") continue;
      if (!op.inputs.empty() && op.inputs[0] && graph_.tensors[*op.inputs[0]].kind == TensorKind::weight)
        graph_.tensors[*op.inputs[0]].kind = TensorKind::instruction;
      for (auto& input : op.inputs) {
        if (!input || given.contains(*input)) continue;
        Tensor& tensor = graph_.tensors[*input];
        if (tensor.kind != TensorKind::temporary && tensor.kind != TensorKind::scratch) continue;
        tensor.kind = TensorKind::scratch;
        if (std::ranges::find(op.scratch, *input) == op.scratch.end()) op.scratch.push_back(*input);
        input.reset();
      }
    }
  }

  /// Marks the network's inputs and outputs, except weights and state.
  void mark(const std::vector<TensorId>& ids, TensorKind kind) {
    for (const TensorId id : ids) {
      if (graph_.tensors[id].kind == TensorKind::temporary) graph_.tensors[id].kind = kind;
    }
  }

  const tflite::Model& model_;
  std::string_view file_;
  const ImportOptions& options_;
  std::size_t number_;  ///< Of this reading: 0 at the largest sizes.
  ReadingBudget budget_;
  Graph graph_{};
  std::vector<TensorId> first_tensor_{};  // of each subgraph
  std::vector<bool> has_effects_{};       // of each subgraph read so far
};

}  // namespace

ReadGraph read_graph(const TfliteFile& file, const ImportOptions& given) {
  const ImportOptions options = with_values_as_shapes(with_dims_as_shapes(given, file.model()), file.model());
  std::size_t readings = 0;
  const auto read_at = [&](const ImportOptions& sizes) {
    return Reader(file.model(), file.bytes(), sizes, readings++).read();
  };
  TfliteReading reading = read_at_largest(options, [&] { return read_at(options); });
  std::vector<OtherReading> others;
  const std::string rejected = read_at_others(reading.ranges, reading.is_drawn, reading.turns,
                                              [&](const ImportOptions& sizes, Turns& turns) {
                                                TfliteReading other = read_at(sizes);
                                                turns = std::move(other.turns);
                                                others.push_back(reading_of(std::move(other.graph)));
                                                if (others.size() == readings_at_once) {
                                                  hold_for_all(reading.graph, others);
                                                  others.clear();
                                                }
                                                return other.is_drawn;
                                              });
  if (!others.empty()) hold_for_all(reading.graph, others);
  const bool is_known_before = have_same_ranges(reading.ranges, options);
  if (reading.is_drawn || !is_known_before) model::copy_what_moves(reading.graph);
  if (is_known_before) add_note(rejected, reading.note);
  ReadGraph result{.graph = std::move(reading.graph),
                   .first_values = std::move(reading.first_values),
                   .known = std::move(reading.known),
                   .note = std::move(reading.note)};
  add_states(result.graph, options.states);
  add_scratch(result.graph, options.scratch);
  validate(result.graph);
  add_note(operators::settle_states(result.graph), result.note);
  return result;
}

Input read_tflite(const Source& source, const ImportOptions& options) {
  const TfliteFile file(options.constants ? held(source) : source);
  ReadGraph read = read_graph(file, options);
  Input input{.note = std::move(read.note)};
  if (options.constants) input.constants = constants_of(file, read);
  input.content = std::move(read.graph);
  return input;
}

}  // namespace stowage::import
