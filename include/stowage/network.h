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
#include <functional>
#include <map>
#include <optional>
#include <span>
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

/// How integers represent real numbers: real = scale * (stored - zero point). One pair applies to the whole
/// tensor, or one to each index of a dimension. Source: TensorFlow Lite 8-bit quantization specification.
struct Quantization {
  std::vector<float> scales{};
  std::vector<std::int64_t> zero_points{};  ///< As many as scales.
  std::size_t axis = 0;                     ///< The dimension of the pairs, if there are several.

  bool operator==(const Quantization&) const = default;
};

/// Attributes of an operator, by the names of its format: those of the ONNX operator specification, or the
/// fields of TFLite's option tables ("stride_w"; enumerators are numbers).
class Attributes {
 public:
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                             std::vector<std::string>, Array>;

  void set(std::string name, Value value);
  [[nodiscard]] bool has(std::string_view name) const;

  /// The value of the attribute, or `otherwise` if it is not set. Throws Error if it has another type.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] float real(std::string_view name, float otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name,
                                                   std::vector<std::int64_t> otherwise) const;
  [[nodiscard]] std::vector<float> reals(std::string_view name, std::vector<float> otherwise) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name,
                                               std::vector<std::string> otherwise) const;
  /// Null if the attribute is not set.
  [[nodiscard]] const Array* array(std::string_view name) const;

 private:
  template <typename Type>
  [[nodiscard]] const Type* find(std::string_view name, std::string_view expected) const;

  std::map<std::string, Value, std::less<>> values_;
};

/// The shapes that an operator's outputs really have, by the bytes of its inputs (empty: omitted). None: these
/// bytes do not say. Throws Error if they are not possible.
using ShapesOfData =
    std::function<std::vector<std::optional<Shape>>(std::span<const std::span<const std::byte>> inputs)>;

/// What running an operator needs in addition to the graph.
struct OperatorDetails {
  Attributes attributes{};
  std::int64_t version = 1;          ///< Of the ONNX operator set, or of the TFLite operator.
  ShapesOfData shapes_of_data = {};  ///< Empty: the file decides the shapes of the outputs.
};

/// A network that can be planned and run.
struct Network {
  /// Its content is a Graph; its constants are the data of the file. Outputs of folded operators have no
  /// data: the runner computes them.
  Input input{};
  std::vector<std::vector<OperatorDetails>> details{};       ///< Per subgraph, per operator.
  std::vector<std::optional<Quantization>> quantizations{};  ///< Per tensor.

  [[nodiscard]] const Graph& graph() const { return std::get<Graph>(input.content); }
};

/// Fills in how each operator of the graph can run row by row (Operator::row_axes, sums_over, carries, multiplies).
/// `read_network` has already done this.
void add_rows(Network& network);

/// Reads an ONNX or TFLite file with everything that running it needs. External data of ONNX is in the folder
/// of the file. Throws like `read_input`, and Error for other formats, which have no weights.
[[nodiscard]] Network read_network(const std::filesystem::path& file, const ImportOptions& options = {});

/// The same for a file in memory. `name` is its name in messages; external data is in the folder of `name`.
[[nodiscard]] Network parse_network(std::string_view content, const std::string& name,
                                    const ImportOptions& options = {});

/// Reads an array: `.npy`, or `.pb` with an ONNX TensorProto. Throws Error, naming the file.
[[nodiscard]] Array read_array(const std::filesystem::path& file);

}  // namespace stowage
