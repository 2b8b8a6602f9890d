// What TFLite operators only pass on, and why some must copy.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "copies.h"
#include "stowage/import.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::show_copies;
using testing::tflite_model;
using testing::TfliteTensor;

using Dimensions = std::vector<std::int32_t>;

TfliteTensor tensor(const Dimensions& shape) { return {.shape = shape, .dtype = DType::int8}; }

TfliteTensor quantized(const Dimensions& shape, float scale, std::int64_t zero_point) {
  return {.shape = shape, .dtype = DType::int8, .scale = {scale}, .zero_point = {zero_point}};
}

template <typename Number>
TfliteTensor constant_of(const std::vector<Number>& numbers, DType dtype) {
  std::string data(numbers.size() * sizeof(Number), '\0');
  std::memcpy(data.data(), numbers.data(), data.size());
  return {.shape = {static_cast<std::int32_t>(numbers.size())}, .dtype = dtype, .data = data};
}

TfliteTensor constant(const std::vector<std::int32_t>& numbers) { return constant_of(numbers, DType::int32); }

/// An int32 input that has no data in the file.
TfliteTensor open() { return {.shape = {1}, .dtype = DType::int32}; }

struct Case {
  std::string name;
  std::string type;
  std::vector<TfliteTensor> inputs;
  std::vector<TfliteTensor> outputs;
  std::string expected;
  std::vector<std::int32_t> numbers{};
  std::optional<std::string> options{};
};

void PrintTo(const Case& it, std::ostream* out) { *out << it.type; }

std::string model_of(const Case& it) {
  testing::TfliteSubgraph subgraph;
  testing::TfliteOperator op{.type = it.type, .options = it.options, .numbers = it.numbers};
  for (const TfliteTensor& input : it.inputs) {
    const auto index = static_cast<std::int32_t>(subgraph.tensors.size());
    op.inputs.push_back(index);
    if (input.data.empty()) subgraph.inputs.push_back(index);
    subgraph.tensors.push_back(input);
  }
  for (const TfliteTensor& output : it.outputs) {
    op.outputs.push_back(static_cast<std::int32_t>(subgraph.tensors.size()));
    subgraph.tensors.push_back(output);
  }
  subgraph.outputs = op.outputs;
  subgraph.operators = {op};
  return tflite_model({.subgraphs = {subgraph}});
}

std::string copies_of(const Case& it) {
  const auto input = parse_input(model_of(it), "x.tflite", {});
  return show_copies(std::get<Graph>(input.content).subgraphs[0].operators[0]);
}

class TfliteCopies : public ::testing::TestWithParam<Case> {};

TEST_P(TfliteCopies, AreFound) { EXPECT_EQ(copies_of(GetParam()), GetParam().expected); }

TfliteTensor floats(const Dimensions& shape) { return {.shape = shape, .dtype = DType::float32}; }

const std::vector<Case> whole_cases{
    {"Reshape", "RESHAPE", {floats({2, 3, 4}), constant({6, 4})}, {floats({6, 4})}, "0 > 0: 96"},
    {"ReshapeToOtherBytes",
     "RESHAPE",
     {tensor({2, 3})},
     {tensor({7})},
     "must copy: input 0 has 6 bytes, the output 7"},
    {"ReshapeToAnotherType",
     "RESHAPE",
     {tensor({4})},
     {{.shape = {4}, .dtype = DType::uint8}},
     "must copy: input 0 has elements of type int8, the output of uint8"},
    {"ReshapeOfAWeight",
     "RESHAPE",
     {{.shape = {4}, .dtype = DType::int8, .data = "abcd"}},
     {tensor({2, 2})},
     "0 > 0: 4"},
    {"Squeeze", "SQUEEZE", {tensor({1, 3})}, {tensor({3})}, "0 > 0: 3"},
    {"ExpandDims", "EXPAND_DIMS", {tensor({3}), constant({0})}, {tensor({1, 3})}, "0 > 0: 3"},
    {"CastToItsOwnType", "CAST", {tensor({3})}, {tensor({3})}, "0 > 0: 3"},
    {"CastToAnotherType", "CAST", {tensor({3})}, {{.shape = {3}, .dtype = DType::uint8}}, ""},
    {"Bitcast", "BITCAST", {tensor({3})}, {tensor({3})}, ""},
    {"CustomReshape", "Reshape", {tensor({3})}, {tensor({3})}, ""},
    {"BroadcastToItself", "BROADCAST_TO", {tensor({3}), constant({3})}, {tensor({3})}, "0 > 0: 3"},
    {"BroadcastToMore",
     "BROADCAST_TO",
     {tensor({1, 3}), constant({2, 3})},
     {tensor({2, 3})},
     "must copy: broadcast of [1,3] to [2,3]"},
    {"TileOnce", "TILE", {tensor({3}), constant({1})}, {tensor({3})}, "0 > 0: 3"},
    {"TransposeOfOnes",
     "TRANSPOSE",
     {tensor({1, 3, 2}), constant({1, 0, 2})},
     {tensor({3, 1, 2})},
     "0 > 0: 6"},
    {"TransposeOfOthers",
     "TRANSPOSE",
     {tensor({1, 3, 2}), constant({0, 2, 1})},
     {tensor({1, 2, 3})},
     "must copy: transpose puts dimension 2 of 2 before dimension 1 of 3"},
    {"TransposeToAnOpenOrder",
     "TRANSPOSE",
     {tensor({1}), open()},
     {tensor({1})},
     "must copy: transpose without constant order"},
    {"TransposeToNoOrder",
     "TRANSPOSE",
     {tensor({1, 3}), constant({0, 0})},
     {tensor({1, 3})},
     "must copy: transpose to an order that does not have each of 2 dimensions once"},
};

const std::vector<Case> quantized_cases{
    {"Alike", "RESHAPE", {quantized({4}, 0.5F, 3)}, {quantized({2, 2}, 0.5F, 3)}, "0 > 0: 4"},
    {"OtherScale",
     "RESHAPE",
     {quantized({4}, 0.5F, 3)},
     {quantized({4}, 0.25F, 3)},
     "must copy: input 0 has scale 0.5 and zero point 3, the output scale 0.25 and zero point 3"},
    {"OtherZeroPoint",
     "RESHAPE",
     {quantized({4}, 0.5F, 3)},
     {quantized({4}, 0.5F, 4)},
     "must copy: input 0 has scale 0.5 and zero point 3, the output scale 0.5 and zero point 4"},
    {"OnOneSide",
     "RESHAPE",
     {tensor({4})},
     {quantized({4}, 0.5F, 4)},
     "must copy: input 0 has no scale, the output scale 0.5 and zero point 4"},
    {"ScaleWithoutZeroPoint",
     "RESHAPE",
     {{.shape = {4}, .dtype = DType::int8, .scale = {0.5F}}},
     {tensor({4})},
     "0 > 0: 4"},
    {"OnAnotherDimension",
     "RESHAPE",
     {{.shape = {2, 2},
       .dtype = DType::int8,
       .scale = {1, 2},
       .zero_point = {0, 0},
       .quantized_dimension = 0}},
     {{.shape = {2, 2},
       .dtype = DType::int8,
       .scale = {1, 2},
       .zero_point = {0, 0},
       .quantized_dimension = 1}},
     "must copy: input 0 has 2 scales on dimension 0, the output 2 scales on dimension 1"},
    {"WithDetails",
     "RESHAPE",
     {{.shape = {4}, .dtype = DType::int8, .details = 2}},
     {{.shape = {4}, .dtype = DType::int8, .details = 2}},
     "must copy: input 0 has a quantization of its own kind, the output a quantization of its own kind"},
    {"OfOneOperand",
     "CONCATENATION",
     {quantized({2}, 0.5F, 3), quantized({3}, 0.25F, 3)},
     {quantized({5}, 0.25F, 3)},
     "1 > 0@2: 3",
     {0, 0}},
    {"OfAllOperands",
     "CONCATENATION",
     {quantized({2}, 0.5F, 3), quantized({3}, 0.125F, 3)},
     {quantized({5}, 0.25F, 3)},
     "must copy: input 0 has scale 0.5 and zero point 3, the output scale 0.25 and zero point 3",
     {0, 0}},
    {"OfOneOfTheOutputs",
     "SPLIT",
     {constant({0}), quantized({4}, 0.5F, 3)},
     {quantized({2}, 0.25F, 3), quantized({2}, 0.5F, 3)},
     "1@2 > 1: 2"},
};

const std::vector<Case> part_cases{
    {"Concat",
     "CONCATENATION",
     {tensor({1, 3, 2}), tensor({2, 3, 2})},
     {tensor({3, 3, 2})},
     "0 > 0: 6, 1 > 0@6: 12",
     {0, 0}},
    {"ConcatOnANegativeAxis",
     "CONCATENATION",
     {tensor({1, 3}), tensor({1, 2})},
     {tensor({1, 5})},
     "0 > 0: 3, 1 > 0@3: 2",
     {-1, 0}},
    {"ConcatBehind",
     "CONCATENATION",
     {tensor({1, 2, 3}), tensor({1, 2, 3})},
     {tensor({1, 2, 6})},
     "must copy: concat on axis 2 behind dimension 1 of 2",
     {-1, 0}},
    {"ConcatWithActivation",
     "CONCATENATION",
     {tensor({2})},
     {tensor({2})},
     "must copy: fused activation RELU",
     {0, 1}},
    {"ConcatWithUnknownActivation",
     "CONCATENATION",
     {tensor({2})},
     {tensor({2})},
     "must copy: fused activation 99",
     {0, 99}},
    {"ConcatOnNoAxis",
     "CONCATENATION",
     {tensor({2})},
     {tensor({2})},
     "must copy: concat on axis 1 of 1 dimensions",
     {1, 0}},
    {"ConcatBeforeAllAxes",
     "CONCATENATION",
     {tensor({2})},
     {tensor({2})},
     "must copy: concat on axis -2 of 1 dimensions",
     {-2, 0}},
    {"ConcatOfTooLittle",
     "CONCATENATION",
     {tensor({2}), tensor({2})},
     {tensor({5})},
     "must copy: concat of parts that are 4 on axis 0, which is 5",
     {0, 0}},
    {"ConcatOfTooMuch",
     "CONCATENATION",
     {tensor({2}), tensor({4})},
     {tensor({5})},
     "must copy: input 1 of [4] does not fit at 2 on axis 0 of [5]",
     {0, 0}},
    {"ConcatOfOtherRows",
     "CONCATENATION",
     {tensor({1, 2}), tensor({1, 3})},
     {tensor({2, 3})},
     "must copy: input 0 of [1,2] does not fit at 0 on axis 0 of [2,3]",
     {0, 0}},
    {"ConcatOfAnotherRank",
     "CONCATENATION",
     {tensor({4})},
     {tensor({2, 2})},
     "must copy: input 0 of [4] does not fit at 0 on axis 0 of [2,2]",
     {0, 0}},
    {"ConcatWithoutOptions",
     "CONCATENATION",
     {tensor({2})},
     {tensor({2})},
     "must copy: concat without the options that name its axis"},
    {"ConcatWithOtherOptions",
     "CONCATENATION",
     {tensor({2})},
     {tensor({2})},
     "must copy: concat without the options that name its axis",
     {1, 0},
     "PACK"},
    {"Pack", "PACK", {tensor({3}), tensor({3})}, {tensor({2, 3})}, "0 > 0: 3, 1 > 0@3: 3", {2, 0}},
    {"PackBehind",
     "PACK",
     {tensor({3}), tensor({3})},
     {tensor({3, 2})},
     "must copy: pack on axis 1 behind dimension 0 of 3",
     {2, -1}},
    {"Unpack",
     "UNPACK",
     {tensor({1, 2, 3})},
     {tensor({1, 3}), tensor({1, 3})},
     "0 > 0: 3, 0@3 > 1: 3",
     {2, 1}},
    {"UnpackOfTooLittle",
     "UNPACK",
     {tensor({3, 2})},
     {tensor({2}), tensor({2})},
     "must copy: unpack of parts that are 2 on axis 0, which is 3",
     {2, 0}},
    {"Split",
     "SPLIT",
     {constant({1}), tensor({1, 4})},
     {tensor({1, 2}), tensor({1, 2})},
     "1 > 0: 2, 1@2 > 1: 2"},
    {"SplitOfStrings",
     "SPLIT",
     {constant({0}), {.shape = {4}, .dtype = DType::string, .data = "abcd"}},
     {tensor({4})},
     "must copy: input 1 has elements of type string, which have no fixed size"},
    {"SplitOnAnOpenAxis",
     "SPLIT",
     {open(), tensor({4})},
     {tensor({4})},
     "must copy: split without constant axis"},
    {"SplitOnTwoAxes", "SPLIT", {constant({0, 1}), tensor({4})}, {tensor({4})}, "must copy: split on 2 axes"},
    {"SplitV",
     "SPLIT_V",
     {tensor({6}), constant({1, -1, 2}), constant({0})},
     {tensor({1}), tensor({3}), tensor({2})},
     "0 > 0: 1, 0@1 > 1: 3, 0@4 > 2: 2"},
    {"SplitVWithoutSizes",
     "SPLIT_V",
     {tensor({6}), open(), constant({0})},
     {tensor({6})},
     "must copy: split without constant sizes"},
    {"SplitVOfOtherSizes",
     "SPLIT_V",
     {tensor({6}), constant({2, 4}), constant({0})},
     {tensor({3}), tensor({3})},
     "must copy: output 0 is 3 on axis 0, 2 by the sizes given"},
    {"SplitVOfOtherCount",
     "SPLIT_V",
     {tensor({6}), constant({2, 2, 2}), constant({0})},
     {tensor({3}), tensor({3})},
     "must copy: split into 3 parts but 2 outputs"},
};

const std::vector<Case> slice_cases{
    {"Slice", "SLICE", {tensor({4, 3}), constant({1, 0}), constant({2, -1})}, {tensor({2, 3})}, "0@3 > 0: 6"},
    {"SliceBy64Bits",
     "SLICE",
     {tensor({4}), constant_of<std::int64_t>({1}, DType::int64),
      constant_of<std::int64_t>({2}, DType::int64)},
     {tensor({2})},
     "0@1 > 0: 2"},
    {"SliceBehind",
     "SLICE",
     {tensor({4, 3}), constant({1, 0}), constant({2, 2})},
     {tensor({2, 2})},
     "must copy: slice on axis 1 behind dimension 0 of 2"},
    {"SliceFromOutside",
     "SLICE",
     {tensor({4}), constant({3}), constant({2})},
     {tensor({2})},
     "must copy: slice of [2] at [3] from [4]"},
    {"SliceFromTheFront",
     "SLICE",
     {tensor({4}), constant({-1}), constant({2})},
     {tensor({2})},
     "must copy: slice of [2] at [-1] from [4]"},
    {"SliceToOtherBytes",
     "SLICE",
     {tensor({4}), constant({1}), constant({2})},
     {tensor({3})},
     "must copy: slice of 2 bytes, but the output has 3"},
    {"SliceOfOtherRank",
     "SLICE",
     {tensor({4}), constant({1, 1}), constant({2, 2})},
     {tensor({2})},
     "must copy: slice with 2 entries for 1 dimensions"},
    {"SliceFromAnOpenBegin",
     "SLICE",
     {tensor({4}), open(), constant({2})},
     {tensor({2})},
     "must copy: slice without constant begin"},
    {"SliceOfOpenSize",
     "SLICE",
     {tensor({4}), constant({1}), open()},
     {tensor({2})},
     "must copy: slice without constant size"},
    {"Strided",
     "STRIDED_SLICE",
     {tensor({4, 3}), constant({1, 0}), constant({3, 3}), constant({1, 1})},
     {tensor({2, 3})},
     "0@3 > 0: 6",
     {0, 0, 0, 0, 0, 0}},
    {"StridedOnFirstAxes",
     "STRIDED_SLICE",
     {tensor({4, 3}), constant({-2}), constant({100}), constant({1})},
     {tensor({2, 3})},
     "0@6 > 0: 6",
     {0, 0, 0, 0, 0, 0}},
    {"StridedMasked",
     "STRIDED_SLICE",
     {tensor({4, 3}), constant({1, 2}), constant({1, 1}), constant({1, 1})},
     {tensor({3, 3})},
     "0@3 > 0: 9",
     {2, 3, 0, 0, 0, 0}},
    {"StridedShrunk",
     "STRIDED_SLICE",
     {tensor({4, 3}), constant({-3, 0}), constant({0, 3}), constant({1, 1})},
     {tensor({3})},
     "0@3 > 0: 3",
     {0, 0, 0, 0, 1, 0}},
    {"StridedShrunkAndMasked",
     "STRIDED_SLICE",
     {tensor({4}), constant({1}), constant({2}), constant({1})},
     {tensor({})},
     "must copy: strided slice that shrinks axis 0 and masks its begin",
     {1, 0, 0, 0, 1, 0}},
    {"StridedShrunkOutside",
     "STRIDED_SLICE",
     {tensor({4}), constant({4}), constant({5}), constant({1})},
     {tensor({})},
     "must copy: strided slice of [1] at [4] from [4]",
     {0, 0, 0, 0, 1, 0}},
    {"StridedBySteps",
     "STRIDED_SLICE",
     {tensor({4}), constant({0}), constant({4}), constant({2})},
     {tensor({2})},
     "must copy: strided slice by steps of 2 on axis 0",
     {0, 0, 0, 0, 0, 0}},
    {"StridedByOneStep",
     "STRIDED_SLICE",
     {tensor({4}), constant({2}), constant({4}), constant({2})},
     {tensor({1})},
     "0@2 > 0: 1",
     {0, 0, 0, 0, 0, 0}},
    {"StridedBackwards",
     "STRIDED_SLICE",
     {tensor({4}), constant({3}), constant({0}), constant({-1})},
     {tensor({3})},
     "must copy: strided slice by steps of -1 on axis 0",
     {0, 0, 0, 0, 0, 0}},
    {"StridedWithEllipsis",
     "STRIDED_SLICE",
     {tensor({4}), constant({0}), constant({4}), constant({1})},
     {tensor({4})},
     "must copy: strided slice with an ellipsis, a new axis or an end that counts from the begin",
     {0, 0, 1, 0, 0, 0}},
    {"StridedWithNewAxis",
     "STRIDED_SLICE",
     {tensor({4}), constant({0}), constant({4}), constant({1})},
     {tensor({4})},
     "must copy: strided slice with an ellipsis, a new axis or an end that counts from the begin",
     {0, 0, 0, 1, 0, 0}},
    {"StridedWithOffset",
     "STRIDED_SLICE",
     {tensor({4}), constant({0}), constant({4}), constant({1})},
     {tensor({4})},
     "must copy: strided slice with an ellipsis, a new axis or an end that counts from the begin",
     {0, 0, 0, 0, 0, 1}},
    {"StridedOnTooManyAxes",
     "STRIDED_SLICE",
     {tensor({4}), constant({0, 0}), constant({4, 4}), constant({1, 1})},
     {tensor({4})},
     "must copy: strided slice with 2 entries for 1 dimensions",
     {0, 0, 0, 0, 0, 0}},
    {"StridedWithoutStrides",
     "STRIDED_SLICE",
     {tensor({4}), constant({0}), constant({4})},
     {tensor({4})},
     "must copy: strided slice without constant strides",
     {0, 0, 0, 0, 0, 0}},
    {"Gather", "GATHER", {tensor({4, 3}), constant({2})}, {tensor({1, 3})}, "0@6 > 0: 3", {0, 0}},
    {"GatherBehind",
     "GATHER",
     {tensor({4, 3}), constant({2})},
     {tensor({4, 1})},
     "must copy: gather on axis 1 behind dimension 0 of 4",
     {1, 0}},
    {"GatherOfTwo",
     "GATHER",
     {tensor({4}), constant({0, 2})},
     {tensor({2})},
     "must copy: gather at 2 indices in 0 batch dimensions",
     {0, 0}},
    {"GatherInBatches",
     "GATHER",
     {tensor({1, 4}), constant({0})},
     {tensor({1})},
     "must copy: gather at 1 indices in 1 batch dimensions",
     {1, 1}},
    {"GatherFromTheEnd",
     "GATHER",
     {tensor({4}), constant({-1})},
     {tensor({1})},
     "must copy: gather of [1] at [-1] from [4]",
     {0, 0}},
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Whole, TfliteCopies, ::testing::ValuesIn(whole_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Quantized, TfliteCopies, ::testing::ValuesIn(quantized_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Parts, TfliteCopies, ::testing::ValuesIn(part_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Slice, TfliteCopies, ::testing::ValuesIn(slice_cases), name_of_case);

/// Constants may be behind the flatbuffer, or in a file of their own, where nobody looks.
TEST(TfliteCopiesOfConstants, FromBehindTheFlatbuffer) {
  TfliteTensor begin = constant({1});
  begin.is_outside = true;
  EXPECT_EQ(copies_of({"", "SLICE", {tensor({4}), begin, constant({2})}, {tensor({2})}, ""}), "0@1 > 0: 2");
}

TEST(TfliteCopiesOfConstants, NotFromAnotherFile) {
  TfliteTensor begin = constant({1});
  begin.external_buffer = 1;
  EXPECT_EQ(copies_of({"", "SLICE", {tensor({4}), begin, constant({2})}, {tensor({2})}, ""}),
            "must copy: slice without constant begin");
}

TEST(TfliteCopiesOfConstants, NotOfAVariable) {
  TfliteTensor begin = constant({1});
  begin.is_variable = true;
  EXPECT_EQ(copies_of({"", "SLICE", {tensor({4}), begin, constant({2})}, {tensor({2})}, ""}),
            "must copy: slice without constant begin");
}

TEST(TfliteCopiesOfConstants, NotWithOtherBytesThanTheirShape) {
  TfliteTensor begin = constant({1, 1});
  begin.shape = {1};
  EXPECT_EQ(copies_of({"", "SLICE", {tensor({4}), begin, constant({2})}, {tensor({2})}, ""}),
            "must copy: slice without constant begin");
}

TEST(TfliteCopiesOfConstants, NotOfAnotherType) {
  EXPECT_EQ(copies_of({"",
                       "SLICE",
                       {tensor({4}), constant_of<float>({1}, DType::float32), constant({2})},
                       {tensor({2})},
                       ""}),
            "must copy: slice without constant begin");
}

TEST(TfliteCopiesOfBounds, OnlyWhole) {
  const auto graph_of = [](const Case& it, const ImportOptions& options) {
    return std::get<Graph>(parse_input(model_of(it), "x.tflite", options).content);
  };
  TfliteTensor in = tensor({4});
  TfliteTensor out = tensor({4});
  in.name = "in";
  out.name = "out";
  in.signature = {-1};
  out.signature = {-1};
  const ImportOptions bounds{.bounds = {{"in", 64}, {"out", 64}}};
  EXPECT_EQ(show_copies(graph_of({"", "RESHAPE", {in}, {out}, ""}, bounds).subgraphs[0].operators[0]),
            "0 > 0: 64");
  EXPECT_EQ(
      show_copies(graph_of({"", "CONCATENATION", {in}, {out}, "", {0, 0}}, bounds).subgraphs[0].operators[0]),
      "must copy: the output has no known shape");
}

TEST(TfliteCopiesOfBounds, RefusedForMoreDimensionsThanAnyoneUses) {
  const Dimensions many(65, 1);
  EXPECT_EQ(copies_of({"", "CONCATENATION", {tensor(many)}, {tensor(many)}, "", {0, 0}}),
            "must copy: the output has 65 dimensions, more than 64");
}

}  // namespace
}  // namespace stowage
