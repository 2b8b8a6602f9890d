#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stowage/graph.h"

/// TFLite models made up for tests. Example, a convolution without weights:
///
///     const std::string bytes = tflite_model({.subgraphs = {{
///         .tensors = {{.name = "x", .shape = {1, 8}}, {.name = "y", .shape = {1, 8}}},
///         .operators = {{.type = "CONV_2D", .inputs = {0}, .outputs = {1}}},
///         .inputs = {0},
///         .outputs = {1}}}});
namespace stowage::testing {

/// Where a buffer claims to have its data: from the beginning of the file, in bytes.
struct TfliteRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// A level of a sparse constant's tree.
struct TfliteLevel {
  bool is_dense = true;
  std::int32_t extent = 0;
  std::vector<std::int32_t> segments{};
  std::vector<std::int32_t> indices{};
  std::uint8_t type = 1;        ///< Of the numbers: 1 of 32 bits, 2 of 16, 3 of 8.
  std::optional<int> format{};  ///< Instead of 0 or 1.
};

struct TfliteSparsity {
  std::vector<std::int32_t> order{};
  std::vector<std::int32_t> blocks{};
  std::vector<TfliteLevel> levels{};
};

struct TfliteTensor {
  std::string name{};
  std::vector<std::int32_t> shape{};
  DType dtype = DType::float32;
  std::optional<int> type{};              ///< The number in the file, instead of that of `dtype`.
  std::string data{};                     ///< Constant data, in a buffer of its own.
  bool is_outside = false;                ///< The data comes after the flatbuffer.
  std::optional<TfliteRange> claim{};     ///< Instead of data: the range that the buffer claims.
  std::optional<std::uint32_t> buffer{};  ///< The buffer's index, instead of that of `data`.
  std::vector<std::int32_t> signature{};  ///< The shape with -1 for open dimensions.
  bool has_rank = true;
  bool is_variable = false;
  std::uint32_t external_buffer = 0;
  std::vector<float> scale{};  ///< Of its quantization, as the following.
  std::vector<std::int64_t> zero_point{};
  int quantized_dimension = 0;
  std::uint8_t details = 0;  ///< The kind of a quantization without scales.
  std::optional<TfliteSparsity> sparsity{};
};

struct TfliteOperator {
  std::string type{};  ///< A builtin operator's name, or else a custom operator.
  std::vector<std::int32_t> inputs{};
  std::vector<std::int32_t> outputs{};
  std::vector<std::int32_t> bodies{};    ///< In the options of IF, WHILE and CALL_ONCE.
  std::string shared_name{};             ///< In the options of VAR_HANDLE.
  std::optional<std::string> options{};  ///< Type whose options it has, instead of its own; "" for none.
  std::optional<std::pair<int, int>>
      codes{};  ///< The old and the new field of its number, instead of its own.
  std::optional<std::uint32_t> code_index{};  ///< The operator code, instead of its own.
  /// The fields of its options, in the schema's order, or the elements of their only field. Custom operators
  /// have none.
  std::vector<std::int32_t> numbers{};
  std::string custom_options{};
};

struct TfliteSubgraph {
  std::vector<TfliteTensor> tensors{};
  std::vector<TfliteOperator> operators{};
  std::vector<std::int32_t> inputs{};
  std::vector<std::int32_t> outputs{};
  std::string name{};
};

struct TfliteMetadata {
  std::string name{};
  std::string data{};                     ///< In a buffer of its own.
  std::optional<std::uint32_t> buffer{};  ///< The buffer's index, instead of that of `data`.
};

struct TfliteSpec {
  std::vector<TfliteSubgraph> subgraphs{};
  std::vector<TfliteMetadata> metadata{};
  std::string description{};
  bool has_buffers = true;
  std::uint32_t version = 3;
  std::size_t repeats = 1;  ///< How often the file lists the same subgraphs.
};

/// The bytes of the model's file.
[[nodiscard]] std::string tflite_model(const TfliteSpec& spec);

}  // namespace stowage::testing
