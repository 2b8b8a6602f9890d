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

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "export/header_buffers.h"
#include "export/header_declarations.h"
#include "export/header_macros.h"
#include "export/header_tables.h"
#include "model/motions.h"
#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::is_identifier;
using exporting::macro_name;

class HeaderWriter {
 public:
  HeaderWriter(const Plan& plan, std::span<const Graph> graphs, const HeaderOptions& options,
               std::ostream& out)
      : plan_(plan),
        graphs_(graphs),
        options_(options),
        capitals_(macro_name(options.prefix)),
        macros_(capitals_, out),
        out_(out) {
    for (std::size_t m = 0, first = 0; m < graphs.size(); ++m) {
      first_tensor_.push_back(first);
      first += graphs[m].tensors.size();
    }
  }

  void write() {
    const exporting::HeaderStyle style{.prefix = options_.prefix,
                                       .has_rows = is_streamed(plan_),
                                       .is_large = exporting::is_large(plan_),
                                       .has_pauses = !plan_.pauses.empty()};
    exporting::begin_header(style, out_);
    write_counts();
    macros_.define_memories(plan_);
    write_ends();
    exporting::declare_tables(style, macros_, out_);
    exporting::begin_definitions(style, out_);
    exporting::write_header_tables(plan_, graphs_, options_, {}, out_);
    exporting::end_header(style, out_);
  }

 private:
  void write_counts() {
    macros_.define("MEMORIES", static_cast<std::int64_t>(plan_.memories.size()));
    macros_.define("MODELS", static_cast<std::int64_t>(plan_.models.size()));
    macros_.define("TENSORS", static_cast<std::int64_t>(plan_.tensors.size()));
    macros_.define("CLOCKS", static_cast<std::int64_t>(plan_.clocks.size()));
    macros_.define_files(plan_, options_.details);
    if (options_.tensor_arena) {
      out_ << "\n/* Bytes of the array that TensorFlow Lite Micro gets, aligned to 16; it includes the head. "
              "*/\n";
      macros_.define("TENSOR_ARENA_SIZE", *options_.tensor_arena);
    }
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

  const Plan& plan_;
  std::span<const Graph> graphs_;
  const HeaderOptions& options_;
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
  if (model::has_views_that_move(plan))
    throw UsageError(
        "a C header has one offset for each tensor, and the plan has tensors that move with the sizes: plan "
        "with "
        "-o FILE.h, which keeps their places");
  HeaderWriter(plan, graphs, options, out).write();
}

}  // namespace stowage
