#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/text.h"
#include "import/csv.h"
#include "import/graph_json.h"
#include "import/onnx.h"
#include "import/open_sizes.h"
#include "import/placed.h"
#include "import/readers.h"
#include "import/tflite.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/model_facts.h"
#include "stowage/network.h"
#include "stowage/open_sizes.h"

namespace stowage {
namespace {

/// The format by content, otherwise by extension.
ModelFormat format_of(std::string_view content, const std::filesystem::path& file) {
  if (import::looks_like_tflite(content)) return ModelFormat::tflite;
  if (import::looks_like_executorch(content)) return ModelFormat::executorch;
  if (import::looks_like_xla(content)) return ModelFormat::xla;
  if (is_onnx(content, file)) return ModelFormat::onnx;
  const std::string extension = file.extension().string();
  if (extension == ".tflite") return ModelFormat::tflite;
  if (extension == ".json" || content.substr(0, content.find_first_not_of(" \t\r\n") + 1).ends_with('{'))
    return ModelFormat::json;
  if (import::looks_like_vela(content)) return ModelFormat::vela;
  if (import::CsvReader(content).has_column("op")) return ModelFormat::ops;
  if (extension == ".csv" || import::looks_like_buffer_csv(content)) return ModelFormat::csv;
  throw Error("",
              "is of no known format, expected ONNX, TFLite, graph JSON, a buffer list, a memory-operation "
              "sequence, or a plan of XLA, ExecuTorch or Vela");
}

void refuse_network_options(const ImportOptions& options) {
  import::refuse_shape_options(options, "a buffer list");
  if (!options.states.empty()) throw UsageError("--state has no meaning for a buffer list");
  if (!options.scratch.empty()) throw UsageError("--scratch has no meaning for a buffer list");
}

std::variant<Graph, Problem> read_list(std::string_view content, ModelFormat format,
                                       const ImportOptions& options) {
  refuse_network_options(options);
  if (!base::is_utf8(content))
    throw Error("", "is not UTF-8 text, expected a buffer list or a memory-operation sequence");
  return format == ModelFormat::ops ? import::read_operations_csv(content) : import::read_buffer_csv(content);
}

/// The plan of another program.
Input read_placed(const import::Source& source, const std::filesystem::path& file, ModelFormat format,
                  const ImportOptions& options) {
  refuse_network_options(options);
  if (format == ModelFormat::xla) return import::read_xla(source, file);
  return format == ModelFormat::vela ? import::read_vela(source) : import::read_executorch(source);
}

Input read(const import::Source& source, const std::filesystem::path& file, ModelFormat format,
           const ImportOptions& options) {
  switch (format) {
    case ModelFormat::onnx:
      return import::read_onnx(source, options);
    case ModelFormat::tflite:
      return import::read_tflite(source, options);
    case ModelFormat::json:
      return import::read_graph_json(source, options);
    case ModelFormat::xla:
    case ModelFormat::executorch:
    case ModelFormat::vela:
      return read_placed(source, file, format, options);
    case ModelFormat::csv:
    case ModelFormat::ops:
      break;
  }
  return {.content = read_list(source.bytes, format, options)};
}

Network read_to_run(const import::Source& source, ModelFormat format, const ImportOptions& options) {
  switch (format) {
    case ModelFormat::onnx:
      return import::read_onnx_network(source, options);
    case ModelFormat::tflite:
      return import::read_tflite_network(source, options);
    case ModelFormat::json:
    case ModelFormat::csv:
    case ModelFormat::ops:
    case ModelFormat::xla:
    case ModelFormat::executorch:
    case ModelFormat::vela:
      break;
  }
  throw Error("", "says nothing of weights and attributes, expected an ONNX or TFLite model to run");
}

ModelInfo info_of(const std::filesystem::path& file, ModelFormat format, const ImportOptions& options) {
  ModelInfo info{base::as_utf8(file.stem().string()), base::as_utf8(file.string()), format};
  for (const auto& [name, size] : options.dims) {
    if (import::is_range(size))
      info.ranges.push_back({base::as_utf8(name), *size.least, size.most, size.step});
  }
  return info;
}

/// Plans and reports contain names and are UTF-8; model files may contain any bytes.
void make_names_printable(Graph& graph, const std::string& model) {
  const auto mend = [](std::string& name) {
    if (!base::is_utf8(name)) name = base::as_utf8(name);
  };
  if (graph.name.empty()) graph.name = model;
  mend(graph.name);
  for (Tensor& tensor : graph.tensors) mend(tensor.name);
  for (Subgraph& subgraph : graph.subgraphs) {
    mend(subgraph.name);
    for (Operator& op : subgraph.operators) {
      mend(op.name);
      mend(op.type);
    }
  }
}

/// Which input is empty because a dimension is given as 0. That is right, and seldom meant.
void note_empty_inputs(Input& input, const ImportOptions& options) {
  const auto* const graph = std::get_if<Graph>(&input.content);
  if (graph == nullptr) return;
  const auto zero = std::ranges::find_if(options.dims, [](const auto& it) { return it.second.most == 0; });
  if (zero == options.dims.end()) return;
  for (const TensorId t : graph->subgraphs.at(0).inputs) {
    const Tensor& tensor = graph->tensors[t];
    if (!tensor.shape) continue;
    const auto axis = std::ranges::find(*tensor.shape, 0);
    if (axis == tensor.shape->end()) continue;
    import::add_note(fmt::format("{}=0 makes {} empty (axis {})", zero->first, base::quoted(tensor.name),
                                 axis - tensor.shape->begin()),
                     input.note);
    return;
  }
}

Input read_input_of(import::Source source, const std::string& name, const ImportOptions& options) {
  const std::filesystem::path file(name);
  source.folder = file.parent_path();
  try {
    const ModelFormat format = format_of(source.bytes, file);
    Input input = read(source, file, format, options);
    input.info = info_of(file, format, options);
    if (auto* const graph = std::get_if<Graph>(&input.content)) make_names_printable(*graph, input.info.name);
    note_empty_inputs(input, options);
    return input;
  } catch (const OpenSizesError& error) {
    throw error.in_file(name);
  } catch (const Error& error) {
    throw error.in_file(name);
  }
}

Network read_network_of(import::Source source, const std::string& name, const ImportOptions& options) {
  const std::filesystem::path file(name);
  source.folder = file.parent_path();
  try {
    const ModelFormat format = format_of(source.bytes, file);
    Network network = read_to_run(source, format, options);
    network.input.info = info_of(file, format, options);
    make_names_printable(std::get<Graph>(network.input.content), network.input.info.name);
    note_empty_inputs(network.input, options);
    add_rows(network);
    return network;
  } catch (const OpenSizesError& error) {
    throw error.in_file(name);
  } catch (const Error& error) {
    throw error.in_file(name);
  }
}

import::Source mapped(const std::filesystem::path& file) {
  const auto holder = std::make_shared<const base::InputFile>(file);
  return {.bytes = holder->bytes(), .holder = holder};
}

}  // namespace

Shape largest(const GivenShape& shape) {
  Shape sizes;
  for (const GivenSize& size : shape) sizes.push_back(size.most);
  return sizes;
}

bool is_onnx(std::string_view content, const std::filesystem::path& file) {
  if (import::looks_like_tflite(content)) return false;
  // Field 1 of a model, its version, comes first; no text begins with this byte.
  return file.extension() == ".onnx" || (file.extension().empty() && content.starts_with('\x08'));
}

Input parse_input(std::string_view content, const std::string& name, const ImportOptions& options) {
  return read_input_of({.bytes = content}, name, options);
}

Input read_input(const std::filesystem::path& file, const ImportOptions& options) {
  return read_input_of(mapped(file), file.string(), options);
}

Network parse_network(std::string_view content, const std::string& name, const ImportOptions& options) {
  return read_network_of({.bytes = content}, name, options);
}

Network read_network(const std::filesystem::path& file, const ImportOptions& options) {
  return read_network_of(mapped(file), file.string(), options);
}

std::vector<ScratchRequest> parse_scratch(std::string_view csv_text) {
  static constexpr std::array<std::string_view, 3> columns{"operator", "bytes", "subgraph"};
  import::CsvReader csv(csv_text, columns);
  const auto natural = [&](std::string_view column, std::optional<std::int64_t> value) {
    if (value.value_or(-1) < 0 || *value > largest_value) {
      throw Error(csv.place(),
                  fmt::format("{} is {}, expected at least 0", column, base::quoted(csv.text(column))));
    }
    return *value;
  };
  std::vector<ScratchRequest> requests;
  while (csv.next()) {
    requests.push_back({static_cast<std::size_t>(natural("subgraph", csv.number("subgraph").value_or(0))),
                        static_cast<std::size_t>(natural("operator", csv.number("operator"))),
                        natural("bytes", csv.number("bytes"))});
  }
  return requests;
}

}  // namespace stowage
