#include "import/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "model/motions.h"
#include "stowage/error.h"

namespace stowage::import {

Source copy_of(const Source& source) {
  const auto copy = std::make_shared<const std::vector<char>>(source.bytes.begin(), source.bytes.end());
  return {{copy->data(), copy->size()}, source.folder, copy};
}

Source held(const Source& source) { return source.holder ? source : copy_of(source); }

std::filesystem::path path_below(const std::filesystem::path& folder, const std::string& location,
                                 const std::string& place) {
  const std::filesystem::path path(location);
  const bool leads_out =
      path.is_absolute() || std::ranges::any_of(path, [](const auto& part) { return part == ".."; });
  if (path.empty() || leads_out)
    throw Error(place,
                fmt::format("has its data in {}, expected a file beside the model", base::quoted(location)));
  return folder / path.lexically_normal();
}

std::span<const std::byte> NearbyFiles::part(const std::string& location, std::size_t offset,
                                             std::size_t size, const std::string& place) {
  const std::string_view bytes = file(location, place).bytes();
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw Error(place, fmt::format("has {} bytes of data at {} of {}, which has {} bytes", size, offset,
                                   base::quoted(location), bytes.size()));
  return std::as_bytes(std::span(bytes)).subspan(offset, size);
}

void NearbyFiles::hold_in(Constants& constants) const {
  for (const auto& [path, file] : files_) constants.hold(file);
}

const base::InputFile& NearbyFiles::file(const std::string& location, const std::string& place) {
  const std::filesystem::path path = path_below(folder_, location, place);
  auto& file = files_[path];
  if (file) return *file;
  try {
    file = std::make_shared<const base::InputFile>(path);
  } catch (const Error&) {
    throw Error(place, fmt::format("has its data in {}, which cannot be read", base::quoted(location)));
  }
  return *file;
}

namespace {

TensorId find_named(const Graph& graph, const std::vector<TensorId>& tensors, const std::string& name,
                    std::string_view role) {
  std::vector<std::string> names;
  for (const TensorId tensor : tensors) {
    if (graph.tensors[tensor].name == name) return tensor;
    names.push_back(graph.tensors[tensor].name);
  }
  throw UsageError(fmt::format("--state: the model has no {} {}{}", role, base::quoted(name),
                               base::did_you_mean(name, names)));
}

/// What a star stands for in a name of this pattern, which has one; none if it is another name.
std::optional<std::string> star_in(const std::string& name, const std::string& pattern) {
  const std::size_t star = pattern.find('*');
  const std::string_view before = std::string_view(pattern).substr(0, star);
  const std::string_view behind = std::string_view(pattern).substr(star + 1);
  if (name.size() < before.size() + behind.size() || !name.starts_with(before) || !name.ends_with(behind))
    return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - behind.size());
}

/// `key_*=past_key_*` is one for each output of such a name.
std::vector<StateNames> without_stars(const Graph& graph, const std::vector<StateNames>& states) {
  std::vector<StateNames> all;
  for (const StateNames& state : states) {
    const auto stars = std::ranges::count(state.output, '*');
    if (stars == 0) {
      all.push_back(state);
      continue;
    }
    if (stars != 1 || std::ranges::count(state.input, '*') != 1)
      throw UsageError(fmt::format("--state {}={}: expected one star on each side, or none",
                                   base::visible(state.output), base::visible(state.input)));
    const std::size_t before = all.size();
    for (const TensorId output : graph.subgraphs[0].outputs) {
      const std::string& name = graph.tensors[output].name;
      const std::optional<std::string> star = star_in(name, state.output);
      if (star) all.push_back({name, std::string(state.input).replace(state.input.find('*'), 1, *star)});
    }
    if (all.size() == before)
      throw UsageError(fmt::format("--state: the model has no output like {}", base::quoted(state.output)));
  }
  return all;
}

/// State is at one place in all runs, so operators that read or write it copy what moves.
void copy_moving_state(Graph& graph) {
  std::vector<bool> is_state(graph.tensors.size(), false);
  for (TensorId t = 0; t < graph.tensors.size(); ++t)
    is_state[t] = graph.tensors[t].kind == TensorKind::state;
  for (const StateTie& tie : graph.ties) is_state[tie.input] = is_state[tie.output] = true;
  const auto is_of_state = [&](const std::optional<TensorId>& it) { return it && is_state[*it]; };
  for (Subgraph& subgraph : graph.subgraphs) {
    for (Operator& op : subgraph.operators) {
      if (std::ranges::any_of(op.inputs, is_of_state) || std::ranges::any_of(op.outputs, is_of_state))
        model::copy_what_moves(graph, op);
    }
  }
}

}  // namespace

void add_states(Graph& graph, const std::vector<StateNames>& states) {
  for (const StateNames& state : without_stars(graph, states)) {
    graph.ties.push_back({find_named(graph, graph.subgraphs[0].outputs, state.output, "output"),
                          find_named(graph, graph.subgraphs[0].inputs, state.input, "input")});
    if (const TensorId input = graph.ties.back().input; graph.tensors[input].kind == TensorKind::state)
      throw Error(describe(graph, input),
                  "is tied to a state, but is a variable that the model keeps for itself");
  }
  copy_moving_state(graph);
}

void add_scratch(Graph& graph, const std::vector<ScratchRequest>& requests) {
  for (const ScratchRequest& request : requests) {
    if (request.subgraph >= graph.subgraphs.size() ||
        request.op >= graph.subgraphs[request.subgraph].operators.size()) {
      throw UsageError(
          fmt::format("--scratch: operator {} of subgraph {} does not exist", request.op, request.subgraph));
    }
    Operator& op = graph.subgraphs[request.subgraph].operators[request.op];
    const std::string which = request.subgraph == 0 ? "" : fmt::format(" of subgraph {}", request.subgraph);
    const std::string number = op.scratch.empty() ? "" : fmt::format(" ({})", op.scratch.size() + 1);
    op.scratch.push_back(graph.tensors.size());
    graph.tensors.push_back({.name = fmt::format("scratch of operator {}{}{}", request.op, which, number),
                             .kind = TensorKind::scratch,
                             .dtype = DType::uint8,
                             .shape = Shape{request.bytes},
                             .bytes = request.bytes});
  }
}

void refuse_shape_options(const ImportOptions& options, std::string_view format) {
  const auto refuse = [&](bool is_given, std::string_view flag) {
    if (is_given) throw UsageError(fmt::format("{} has no meaning for {}", flag, format));
  };
  refuse(!options.dims.empty(), "--dim");
  refuse(!options.shapes.empty(), "--shape");
  refuse(!options.bounds.empty(), "--bound");
  refuse(!options.values.empty(), "--value");
}

}  // namespace stowage::import
