#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "import/onnx_branches.h"
#include "import/onnx_graph.h"
#include "import/onnx_shapes.h"
#include "import/onnx_shared.h"
#include "import/onnx_wire.h"
#include "stowage/import.h"

namespace stowage::import {

struct OnnxFile {
  wire::ModelProto proto{};
  Versions versions{};
  std::filesystem::path folder{};
};

/// The network of a file, in which branches of Ifs may have taken their places.
class OnnxModel {
 public:
  /// The file must outlive the object.
  explicit OnnxModel(const OnnxFile& file) : file_(&file), graph_(resolve_names(*file.proto.graph)) {}

  [[nodiscard]] const OnnxGraph& graph() const { return graph_; }
  /// The same to write sizes, kinds and copies into it, of which readings know nothing.
  [[nodiscard]] OnnxGraph& graph() { return graph_; }
  [[nodiscard]] const OnnxFile& file() const { return *file_; }
  /// What the readings of the network as it is share.
  [[nodiscard]] SharedReading& shared();
  [[nodiscard]] Inferred infer(const ImportOptions& options, const Reading& reading) {
    return infer_shapes(shared(), options, reading);
  }

  [[nodiscard]] OnnxModel copy() const { return OnnxModel(*this); }
  [[nodiscard]] bool takes_branches() const { return !taken_.empty(); }
  void take(std::vector<DecidedIf> decided);
  void take_none();

  /// Takes the branches that are known, and then those that are known by these, as long as there are some; in bodies of
  /// loops only if all rounds take the same branches. Returns the reading with all of them; none if a branch is not sure.
  [[nodiscard]] std::optional<Inferred> take_sure_branches(const ImportOptions& options, Reading reading);

 private:
  OnnxModel(const OnnxModel& other) : file_(other.file_), graph_(other.graph_), taken_(other.taken_) {}

  void resolve();
  [[nodiscard]] std::optional<Inferred> take_known_branches(const ImportOptions& options,
                                                            const Reading& reading);

  const OnnxFile* file_;
  OnnxGraph graph_;
  std::vector<std::vector<DecidedIf>> taken_{};  ///< One set after the other.
  std::unique_ptr<SharedReading> shared_{};
};

[[nodiscard]] bool has_branches(const Graph& graph);

/// Gives every tensor of the graph its element type, shape and bytes. Marks operators with only constant inputs, or with
/// results that are known, as folded, and their outputs as weights.
void write_sizes(SharedReading& shared, const Inferred& inferred, Graph& graph);

/// What is known of a model at its largest sizes and holds at all that it may have.
struct OfAllSizes {
  Inferred known{};
  std::string rejected{};  ///< What the model rejects of ranges that are given, for a note.
};

/// Reads a model whose sizes are open at the largest, at which `largest` was found, and at others, see open_sizes.cc; and
/// writes what holds at all of them into its graph.
[[nodiscard]] OfAllSizes read_at_all_sizes(OnnxModel& model, const ImportOptions& options,
                                           const Inferred& largest);

}  // namespace stowage::import
