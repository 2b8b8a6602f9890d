#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage::campaign {

struct OpenDrawn;

enum class Family : std::uint8_t {
  layers,    ///< A graph of operators that run as wholes.
  rows,      ///< A graph whose operators can run row by row.
  net,       ///< An ONNX network with kernels.
  models,    ///< Several graphs on one device.
  together,  ///< Graphs by rows, several on one device, in several memories, that feed each other, with moves.
  memories,  ///< A graph in several memories.
  sizes,     ///< An ONNX network whose sizes a run decides.
  lite,      ///< The same of TFLite.
  efforts,   ///< A graph or a network, planned with little effort and with much.
  variables  ///< A TFLite network with resource variables.
};

[[nodiscard]] std::string_view name_of(Family family);

/// A model as a file would have it.
struct Source {
  std::string name{};  ///< With its extension, which says the format.
  std::string content{};
};

/// What is planned, and how: all of it follows from the seed and the number.
struct Case {
  std::uint64_t seed = 0;
  std::uint64_t number = 0;
  Family family = Family::layers;
  std::vector<Source> sources{};
  PlanOptions options{};
  /// Its time limit may be too short for a search to end.
  bool may_be_cut_short = false;
  ImportOptions imports{};                     ///< For all sources.
  std::shared_ptr<const OpenDrawn> network{};  ///< Of `sizes` and `lite`: what the source was written from.
};

/// Something that contradicts the documents. `group` is the same for what looks like one cause.
struct Finding {
  std::string group{};
  std::string what{};
};
using Findings = std::vector<Finding>;

[[nodiscard]] Case make_case(std::uint64_t seed, std::uint64_t number);

/// The command that plans the case, where its models are in the present folder.
[[nodiscard]] std::string command_of(const Case& drawn);

/// A graph as graph JSON.
[[nodiscard]] Source source_of(const std::string& name, const Graph& graph);

/// Reads what the sources say.
[[nodiscard]] std::vector<Input> read_sources(const Case& drawn);

// One generator for each family: they fill in sources and options.
void draw_layers(Case& drawn);
void draw_rows(Case& drawn);
void draw_net(Case& drawn);
void draw_models(Case& drawn);
void draw_together(Case& drawn);
void draw_memories(Case& drawn);
void draw_sizes(Case& drawn);
void draw_lite(Case& drawn);
void draw_efforts(Case& drawn);
void draw_variables(Case& drawn);

}  // namespace stowage::campaign
