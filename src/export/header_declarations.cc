// What headers of plans declare for their tables: types of C, and functions that find rows.

#include "export/header_declarations.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <string_view>
#include <vector>

#include "export/header_macros.h"
#include "export/header_tables.h"

namespace stowage::exporting {
namespace {

/// Types of all headers. @ is the prefix, % the prefix in capitals, $ the type of sizes. Lines that begin with ~ are in
/// headers of plans by rows alone, with ! in those with pauses. # is the first parameter of functions that need the
/// clocks, and ^ these.
constexpr std::string_view types = R"(
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
!  , %_PAUSE  /* another clock may run here from its begin to its end */
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
)";

/// Tables of one plan.
constexpr std::string_view tables_of_plan = R"(
extern const @_memory @_memories[];
extern const @_tensor @_tensors[];
extern const @_clock @_clocks[];
extern const @_model @_models[];
)";

/// Tables of plans for several sizes.
constexpr std::string_view tables_of_buckets = R"(
/* The plan for some sizes. */
typedef struct @_bucket {
  @_bytes sizes[%_SIZES];
  uint32_t tensors, clocks;
  const @_memory *memory; /* with the bytes that this plan takes */
  const @_tensor *tensor;
  const @_clock *clock;
  const @_model *model;
} @_bucket;

extern const @_memory @_memories[]; /* to allocate for all of them */
extern const @_bucket @_buckets[];
)";

constexpr std::string_view row_declarations = R"(
/* The view that has a row of a tensor while a step of a clock runs: the first behind `last`, which is 0 at first, or
   0. Only a row in blocks has several. */
const @_view *@_next_view(#const @_tensor *tensor, const @_view *last, uint32_t clock, uint32_t at,
                          uint32_t row);

/* Where a row of a view begins in its memory. */
@_bytes @_place_of_row(const @_view *view, uint32_t row);
)";

/// In the file that has the tables. % is no remainder here, either.
constexpr std::string_view row_functions = R"(
const @_view *@_next_view(#const @_tensor *tensor, const @_view *last, uint32_t clock, uint32_t at,
                          uint32_t row) {
  const @_view *view = last == 0 ? tensor->view : last + 1;
  for (; view != tensor->view + tensor->views; ++view) {
    uint32_t its = clock, now = at;
    while (its != view->clock && ^[its].parent != %_NOWHERE) {
      now = ^[its].fork;
      its = ^[its].parent;
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

void write_template(std::string_view text, const HeaderStyle& style, std::ostream& out) {
  const std::string capitals = macro_name(style.prefix);
  bool is_left_out = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i > 0 && text[i - 1] == '\n') {
      is_left_out = (c == '~' && !style.has_rows) || (c == '!' && !style.has_pauses);
      if (c == '~' || c == '!') continue;
    }
    if (is_left_out) continue;
    if (c == '@') {
      out << style.prefix;
    } else if (c == '%') {
      out << capitals;
    } else if (c == '$') {
      out << (style.is_large ? "uint64_t" : "uint32_t");
    } else if (c == '#') {
      out << (style.has_buckets ? fmt::format("const {}_clock *clocks, ", style.prefix) : "");
    } else if (c == '^') {
      out << (style.has_buckets ? "clocks" : style.prefix + "_clocks");
    } else {
      out << c;
    }
  }
}

void write_enumeration(std::string_view name, const std::vector<std::string>& values,
                       const HeaderStyle& style, std::ostream& out) {
  fmt::print(out, "\ntypedef enum {}_{} {{", style.prefix, name);
  for (const std::string& value : values)
    fmt::print(out, "{}\n  {}_{}", &value == values.data() ? "" : ",", macro_name(style.prefix), value);
  fmt::print(out, "\n}} {}_{};\n", style.prefix, name);
}

void write_enumerations(const HeaderStyle& style, std::ostream& out) {
  std::vector<std::string> kinds;
  for (int i = 0; i <= static_cast<int>(TensorKind::scratch); ++i)
    kinds.push_back("KIND_" + macro_name(name_of(static_cast<TensorKind>(i))));
  write_enumeration("kind", kinds, style, out);
  std::vector<std::string> types_of_elements;
  for (int i = 0; i <= static_cast<int>(DType::unknown); ++i)
    types_of_elements.push_back(macro_name(name_of(static_cast<DType>(i))));
  write_enumeration("type", types_of_elements, style, out);
}

}  // namespace

bool is_large(const Plan& plan) {
  constexpr Bytes most = std::numeric_limits<std::uint32_t>::max();
  return std::ranges::any_of(plan.memories, [](const PlannedMemory& it) { return it.peak > most; }) ||
         std::ranges::any_of(plan.tensors, [](const PlannedTensor& it) { return it.tensor.bytes > most; });
}

void begin_header(const HeaderStyle& style, std::ostream& out) {
  fmt::print(
      out,
      "/* A memory plan{1}, written by stowage. Define {0}_IMPLEMENTATION in one file before including "
      "this one:\n   the tables are defined there. */\n"
      "#ifndef {0}_PLAN_H_\n#define {0}_PLAN_H_\n\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      macro_name(style.prefix), style.has_buckets ? " for each of several sizes" : "");
}

void declare_tables(const HeaderStyle& style, Macros& macros, std::ostream& out) {
  out << "\n/* No place in the planned memories, or an operand that is left out. */\n";
  macros.define("NOWHERE", 0xFFFFFFFF);
  write_enumerations(style, out);
  write_template(types, style, out);
  write_template(style.has_buckets ? tables_of_buckets : tables_of_plan, style, out);
  if (style.has_rows) write_template(row_declarations, style, out);
}

void begin_definitions(const HeaderStyle& style, std::ostream& out) {
  fmt::print(out, "\n#ifdef {}_IMPLEMENTATION\n", macro_name(style.prefix));
}

void end_header(const HeaderStyle& style, std::ostream& out) {
  if (style.has_rows) write_template(row_functions, style, out);
  fmt::print(
      out,
      "\n#endif /* {0}_IMPLEMENTATION */\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {0}_PLAN_H_ */\n",
      macro_name(style.prefix));
}

}  // namespace stowage::exporting
