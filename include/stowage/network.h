/// Example: a network with its weights, ready to run.
///
///     try {
///       const stowage::Network network = stowage::read_network("missing.onnx");
///       return network.graph().subgraphs.empty() ? 1 : 0;
///     } catch (const stowage::Error& error) {
///       return std::string(error.what()).find("missing.onnx") != std::string::npos ? 0 : 1;
///     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage {

/// A dense tensor: its elements in row-major order, little-endian.
struct Array {
  DType dtype = DType::unknown;
  Shape shape{};
  std::vector<std::byte> data{};

  bool operator==(const Array&) const = default;
};

/// How integers stand for real numbers: real = scale * (stored - zero point). One pair for the whole tensor,
/// or one for each index of a dimension. Source: the TensorFlow Lite 8-bit quantization specification.
struct Quantization {
  std::vector<float> scales{};
  std::vector<std::int64_t> zero_points{};  ///< As many as scales.
  std::size_t axis = 0;                     ///< The dimension that several pairs are for.

  bool operator==(const Quantization&) const = default;
};

/// What an operator is told beside its inputs, by the names of its format: those of the ONNX operator
/// specification, or of the fields of TFLite's option tables ("stride_w"; enumerators are numbers).
class Attributes {
 public:
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                             std::vector<std::string>, Array>;

  void set(std::string name, Value value);
  [[nodiscard]] bool has(std::string_view name) const;

  /// What the operator is told, or `otherwise` when it is not. Throws Error for a value of another type.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] float real(std::string_view name, float otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name,
                                                   std::vector<std::int64_t> otherwise) const;
  [[nodiscard]] std::vector<float> reals(std::string_view name, std::vector<float> otherwise) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name,
                                               std::vector<std::string> otherwise) const;
  /// Null when the operator is not told.
  [[nodiscard]] const Array* array(std::string_view name) const;

 private:
  template <typename Type>
  [[nodiscard]] const Type* find(std::string_view name, std::string_view expected) const;

  std::map<std::string, Value, std::less<>> values_;
};

/// What running an operator needs beside what planning knows of it.
struct OperatorDetails {
  Attributes attributes{};
  std::int64_t version = 1;  ///< Of the ONNX operator set, or of the TFLite operator.
};

/// A network that can be run: what planning needs of it, and all the rest.
struct Network {
  /// Its content is a Graph, its constants are the data of the file. What there is none of, outputs of
  /// folded operators, is computed by who runs the network.
  Input input{};
  std::vector<std::vector<OperatorDetails>> details{};       ///< Per subgraph, per operator.
  std::vector<std::optional<Quantization>> quantizations{};  ///< Per tensor.

  [[nodiscard]] const Graph& graph() const { return std::get<Graph>(input.content); }
};

/// Says of every operator of the graph how it can run row by row (Operator::row_axes, sums_over, multiplies).
/// Networks that are read have that already.
void add_rows(Network& network);

/// Reads an ONNX or TFLite file with everything that running it needs, ONNX's external data from beside
/// the file. Throws as `read_input` does, and Error for other formats, which have no weights.
[[nodiscard]] Network read_network(const std::filesystem::path& file, const ImportOptions& options = {});

/// The same from memory; `name` is what messages call it, and external data is looked for beside it.
[[nodiscard]] Network parse_network(std::string_view content, const std::string& name,
                                    const ImportOptions& options = {});

/// Reads an array: `.npy`, or `.pb`, an ONNX TensorProto. Throws Error, naming the file.
[[nodiscard]] Array read_array(const std::filesystem::path& file);

}  // namespace stowage
