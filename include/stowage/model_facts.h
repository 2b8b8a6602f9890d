/// Example: what a model file says of itself, without any size of its inputs.
///
///     try {
///       const stowage::ModelFacts facts = stowage::facts_of_model("missing.onnx");
///       return facts.inputs.empty() ? 1 : 0;
///     } catch (const stowage::Error& error) {
///       return std::string(error.what()).find("missing.onnx") != std::string::npos ? 0 : 1;
///     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/open_sizes.h"
#include "stowage/problem.h"

namespace stowage {

/// What an ONNX file declares.
struct ModelFacts {
  struct Value {
    std::string name{};
    std::string type{};  ///< "float32[batch,3,?]"; empty if the file declares none.
  };
  struct OperatorSet {
    std::string domain{};  ///< Empty: the standard's own.
    int version = 0;
  };
  struct Count {
    std::string type{};
    std::size_t count = 0;
  };

  std::string name{};  ///< Of its graph.
  std::vector<OperatorSet> operator_sets{};
  std::vector<Value> inputs{};  ///< Without those that have initializers.
  std::vector<Value> outputs{};
  std::vector<OpenSize> open{};    ///< Sizes of inputs that are open.
  std::vector<Count> operators{};  ///< Also those in bodies; the most frequent first.
  std::size_t bodies = 0;          ///< Of If, Loop and Scan.
  std::size_t weights = 0;         ///< Initializers, and tensors of Constant operators.
  Bytes weight_bytes = 0;          ///< Of those with an element type of known size.
};

/// Whether a file with this content and name is read as ONNX: by its extension, or without one by its first byte.
[[nodiscard]] bool is_onnx(std::string_view content, const std::filesystem::path& file);

/// Throws Error for a file that is no ONNX model.
[[nodiscard]] ModelFacts facts_of_model(const std::filesystem::path& file);

/// As a table, and as JSON. `source` is the name of the file.
void write_facts(const ModelFacts& facts, const std::string& source, std::ostream& out);
void write_facts_json(const ModelFacts& facts, const std::string& source, std::ostream& out);

}  // namespace stowage
