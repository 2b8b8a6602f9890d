// Writes the plan as a C header. Sizes are macros; everything else is in tables, which the header declares.
// It defines them if PREFIX_IMPLEMENTATION is defined before it is included:
//
//     memories   tensors -> views, shape   models -> inputs, outputs   clocks -> steps -> operands
//
// A tensor may have several views, one after the other or at once in several memories. The header resolves
// them: each operand of an operator has the one place that the step reads or writes.
//
// Steps of rows name them, and views say which rows they have and how these lie. A function finds the place of a row at
// a time, since a step reads as many rows of an operand as its kernel wants.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/header_buffers.h"
#include "export/header_macros.h"
#include "export/header_tables.h"
#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::is_identifier;
using exporting::macro_name;

/// The part that all headers share; @ is the prefix, % the prefix in capitals, $ the type of sizes. Lines that begin with ~
/// are in headers of plans by rows alone.
constexpr std::string_view declarations = R"(
typedef $ @_bytes;

typedef struct @_memory {
  const char *name;
  @_bytes size;      /* to allocate */
  @_bytes alignment; /* of its first byte */
  int is_for_weights;
} @_memory;

/* Where a tensor is from position `begin` of a clock until before `end`. */
typedef struct @_view {
  uint32_t memory;
  @_bytes offset;
  uint32_t clock, begin, end;
~  uint32_t axis;             /* of its rows, or %_NOWHERE: the whole tensor in row-major order */
~  uint32_t first, rows;      /* it has rows [first, first + rows), each of all its elements in row-major order */
~  uint32_t granule, slots;   /* row r is in slot r / granule % slots; slots is 0 if rows just follow each other */
~  @_bytes row;               /* bytes from a row to the next */
~  uint32_t block_axis, block_first, block_end; /* only this block, or %_NOWHERE: all */
} @_view;

typedef struct @_tensor {
  const char *name;
  uint32_t model;
  @_kind kind;
  @_type type;
  @_bytes bytes;
  uint32_t rank;
  const @_bytes *shape;
  uint32_t views; /* 0: not in the planned memories */
  const @_view *view;
  @_bytes data; /* of a constant in the model's file, from its beginning, or %_NOWHERE */
  float scale;  /* of the whole tensor, or 0 */
  int32_t zero_point;
} @_tensor;

/* What a step reads or writes, and where it is then. */
~/* An operand in rows is nowhere by itself: @_next_view and @_place_of_row find each of them. */
typedef struct @_operand {
  uint32_t tensor; /* or %_NOWHERE */
  uint32_t memory; /* or %_NOWHERE */
  @_bytes offset;
} @_operand;

typedef enum @_action {
  %_RUN,  /* an operator: inputs, outputs, scratch */
  %_COPY, /* a tensor, from the place of the input to that of the output */
  %_FORK  /* other clocks at the same time */
~  , %_ARRIVE /* the caller hands over rows of the output, or all of it */
~  , %_LEAVE  /* the caller takes rows of the input, or all of it */
^  , %_PAUSE  /* another clock may run here from its begin to its end */
} @_action;

typedef struct @_step {
  @_action action;
  const char *type; /* of the operator */
  uint32_t model, subgraph, op;
  uint32_t inputs, outputs, scratch; /* of the operands, in this order */
  const @_operand *operand;
  uint32_t clocks;
  const uint32_t *clock;
~  uint32_t axis, first, end;                   /* the rows, or %_NOWHERE: all */
~  uint32_t part_axis, part_first, part_end;    /* rows of the first input that are added to them */
~  uint32_t block_axis, block_first, block_end; /* only this block of them */
~  int sums_up;                                 /* the rows are those of the first input, added to the sums */
~  uint32_t kept_memory;                        /* of the sums, or of what is carried from row to row, */
~  @_bytes kept_offset;                         /* or %_NOWHERE */
} @_step;

/* Steps of a sequence. The first clock is the root. */
typedef struct @_clock {
  uint32_t steps;
  const @_step *step;
~  uint32_t parent, fork; /* the clock and the step that fork it, or %_NOWHERE */
} @_clock;

typedef struct @_model {
  const char *name;
  uint32_t inputs, outputs;
  const uint32_t *input; /* of the tensors */
  const uint32_t *output;
} @_model;

extern const @_memory @_memories[];
extern const @_tensor @_tensors[];
extern const @_clock @_clocks[];
extern const @_model @_models[];
~
~/* The view that has a row of a tensor while a step of a clock runs: the first behind `last`, which is 0 at first, or
~   0. Only a row in blocks has several. */
~const @_view *@_next_view(const @_tensor *tensor, const @_view *last, uint32_t clock, uint32_t at,
~                          uint32_t row);
~
~/* Where a row of a view begins in its memory. */
~@_bytes @_place_of_row(const @_view *view, uint32_t row);
)";

/// What finds rows, in the file that has the tables. % is no remainder here, either.
constexpr std::string_view row_functions = R"(
const @_view *@_next_view(const @_tensor *tensor, const @_view *last, uint32_t clock, uint32_t at,
                          uint32_t row) {
  const @_view *view = last == 0 ? tensor->view : last + 1;
  for (; view != tensor->view + tensor->views; ++view) {
    uint32_t its = clock, now = at;
    while (its != view->clock && @_clocks[its].parent != %_NOWHERE) {
      now = @_clocks[its].fork;
      its = @_clocks[its].parent;
    }
    if (its != view->clock || now < view->begin || now >= view->end) continue;
    if (view->axis == %_NOWHERE || (row >= view->first && row - view->first < view->rows)) return view;
  }
  return 0;
}

@_bytes @_place_of_row(const @_view *view, uint32_t row) {
  uint32_t place = row - view->first;
  if (view->slots != 0) { /* a ring */
    const uint32_t ring = view->slots * view->granule;
    place = row - row / ring * ring;
  }
  return view->axis == %_NOWHERE ? view->offset : view->offset + place * view->row;
}
)";

class HeaderWriter {
 public:
  HeaderWriter(const Plan& plan, std::span<const Graph> graphs, const HeaderOptions& options,
               std::ostream& out)
      : plan_(plan),
        graphs_(graphs),
        options_(options),
        prefix_(options.prefix),
        capitals_(macro_name(options.prefix)),
        macros_(capitals_, out),
        out_(out) {
    for (std::size_t m = 0, first = 0; m < graphs.size(); ++m) {
      first_tensor_.push_back(first);
      first += graphs[m].tensors.size();
    }
  }

  void write() {
    fmt::print(out_,
               "/* A memory plan, written by stowage. Define {0}_IMPLEMENTATION in one file before including "
               "this one:\n   the tables are defined there. */\n"
               "#ifndef {0}_PLAN_H_\n#define {0}_PLAN_H_\n\n#include <stdint.h>\n\n"
               "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
               capitals_);
    write_counts();
    macros_.define_memories(plan_);
    write_ends();
    write_nowhere();
    write_enumerations();
    write_template(declarations);
    fmt::print(out_, "\n#ifdef {}_IMPLEMENTATION\n", capitals_);
    exporting::write_header_tables(plan_, graphs_, options_, out_);
    if (is_streamed(plan_)) write_template(row_functions);
    fmt::print(
        out_,
        "\n#endif /* {0}_IMPLEMENTATION */\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {0}_PLAN_H_ */\n",
        capitals_);
  }

 private:
  void write_template(std::string_view text) const {
    const bool is_large = std::any_of(plan_.memories.begin(), plan_.memories.end(),
                                      [](const auto& memory) {
                                        return memory.peak > std::numeric_limits<std::uint32_t>::max();
                                      }) ||
                          std::any_of(plan_.tensors.begin(), plan_.tensors.end(), [](const auto& tensor) {
                            return tensor.tensor.bytes > std::numeric_limits<std::uint32_t>::max();
                          });
    bool is_left_out = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (i > 0 && text[i - 1] == '\n') {
        is_left_out = (c == '~' && !is_streamed(plan_)) || (c == '^' && plan_.pauses.empty());
        if (c == '~' || c == '^') continue;
      }
      if (is_left_out) continue;
      if (c == '@') {
        out_ << prefix_;
      } else if (c == '%') {
        out_ << capitals_;
      } else if (c == '$') {
        out_ << (is_large ? "uint64_t" : "uint32_t");
      } else {
        out_ << c;
      }
    }
  }

  void write_counts() {
    macros_.define("MEMORIES", static_cast<std::int64_t>(plan_.memories.size()));
    macros_.define("MODELS", static_cast<std::int64_t>(plan_.models.size()));
    macros_.define("TENSORS", static_cast<std::int64_t>(plan_.tensors.size()));
    macros_.define("CLOCKS", static_cast<std::int64_t>(plan_.clocks.size()));
    for (std::size_t m = 0; m < options_.details.size(); ++m) {
      const std::string model = graphs_.size() == 1 ? "" : macro_name(plan_.models[m].name) + "_";
      out_ << (m == 0 ? "\n/* Files of the models: bytes, and their XXH64. */\n" : "");
      macros_.define(model + "FILE_BYTES", options_.details[m].bytes);
      fmt::print(out_, "#define {}_{}FILE_HASH 0x{:016X}ull\n", capitals_, model, options_.details[m].hash);
    }
    if (options_.tensor_arena) {
      out_ << "\n/* Bytes of the array that TensorFlow Lite Micro gets, aligned to 16; it includes the head. "
              "*/\n";
      macros_.define("TENSOR_ARENA_SIZE", *options_.tensor_arena);
    }
  }

  void write_nowhere() {
    out_ << "\n/* No place in the planned memories, or an operand that is left out. */\n";
    macros_.define("NOWHERE", 0xFFFFFFFF);
  }

  /// Writes inputs and outputs: their tensors and places.
  void write_ends() {
    out_ << "\n/* Inputs and outputs: their indices in the table of tensors, and where they are. */\n";
    for (std::size_t m = 0; m < graphs_.size(); ++m) {
      const std::string model = graphs_.size() == 1 ? "" : macro_name(plan_.models[m].name) + "_";
      const Subgraph& main = graphs_[m].subgraphs[0];
      for (std::size_t i = 0; i < main.inputs.size(); ++i)
        write_end(fmt::format("{}INPUT_{}", model, i), first_tensor_[m] + main.inputs[i]);
      for (std::size_t i = 0; i < main.outputs.size(); ++i)
        write_end(fmt::format("{}OUTPUT_{}", model, i), first_tensor_[m] + main.outputs[i]);
    }
  }

  void write_end(const std::string& name, std::size_t tensor) {
    macros_.define(name, static_cast<std::int64_t>(tensor));
    macros_.define(name + "_BYTES", plan_.tensors[tensor].tensor.bytes);
    write_quantization(name, tensor);
    const std::vector<View>& views = plan_.tensors[tensor].views;
    const bool is_whole = views.size() == 1 && !views[0].ring && !views[0].rows && !views[0].block;
    if (is_whole || (!views.empty() && !is_streamed(plan_)))
      macros_.define(name + "_OFFSET", plan_.places[views[0].buffer].offset + views[0].offset);
  }

  void write_quantization(const std::string& name, std::size_t tensor) {
    const std::size_t model = plan_.tensors[tensor].model;
    if (model >= options_.details.size()) return;
    const ModelDetails& details = options_.details[model];
    const TensorId own = tensor - first_tensor_[model];
    if (own >= details.scales.size() || details.scales[own] == 0) return;
    fmt::print(out_, "#define {}_{}_SCALE {:.9e}f\n#define {}_{}_ZERO_POINT ({})\n", capitals_, name,
               details.scales[own], capitals_, name, details.zero_points[own]);
  }

  void write_enumerations() const {
    std::vector<std::string> kinds;
    for (int i = 0; i <= static_cast<int>(TensorKind::scratch); ++i)
      kinds.push_back("KIND_" + macro_name(name_of(static_cast<TensorKind>(i))));
    write_enumeration("kind", kinds);
    std::vector<std::string> types;
    for (int i = 0; i <= static_cast<int>(DType::unknown); ++i)
      types.push_back(macro_name(name_of(static_cast<DType>(i))));
    write_enumeration("type", types);
  }

  void write_enumeration(std::string_view name, const std::vector<std::string>& values) const {
    fmt::print(out_, "\ntypedef enum {}_{} {{", prefix_, name);
    for (const std::string& value : values)
      fmt::print(out_, "{}\n  {}_{}", &value == values.data() ? "" : ",", capitals_, value);
    fmt::print(out_, "\n}} {}_{};\n", prefix_, name);
  }

  const Plan& plan_;
  std::span<const Graph> graphs_;
  const HeaderOptions& options_;
  std::string prefix_;
  std::string capitals_;
  exporting::Macros macros_;
  std::ostream& out_;
  std::vector<std::size_t> first_tensor_;
};

}  // namespace

void write_header(const Plan& plan, std::span<const Graph> graphs, const HeaderOptions& options,
                  std::ostream& out) {
  if (!is_identifier(options.prefix))
    throw UsageError(fmt::format("--prefix is \"{}\", expected a C identifier", options.prefix));
  if (plan.tensors.empty()) return exporting::write_buffers_header(plan, options, out);
  if (graphs.size() != plan.models.size())
    throw UsageError(fmt::format("a C header needs the graphs of all {} models of its plan, {} are given",
                                 plan.models.size(), graphs.size()));
  HeaderWriter(plan, graphs, options, out).write();
}

}  // namespace stowage
