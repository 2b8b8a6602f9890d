// Two oracles for what ONNX operators pass on. The outputs that a runtime gave for the tests of the ONNX
// standard, byte by byte; and, on random operators, the position of every element, worked out one by
// one: then a copy must be there whenever the elements of a part are one run.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "copies.h"
#include "onnx_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using testing::onnx_model;
using testing::read_model;
using testing::tensor_value;
using testing::untyped_value;
using testing::vector_of;

const std::filesystem::path backend_data = "/usr/share/libonnx-testdata/data/node";

template <typename Message>
std::optional<Message> message_in(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Message message;
  if (!stream || !message.ParseFromString({std::istreambuf_iterator<char>(stream), {}})) return std::nullopt;
  return message;
}

/// Everything but the first input that is small and whole numbers or a truth value becomes a constant:
/// axes, starts, sizes.
void fix_parameters(onnx::ModelProto& model, const std::vector<std::optional<onnx::TensorProto>>& inputs) {
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const bool is_parameter = inputs[i] && (inputs[i]->data_type() == onnx::TensorProto::INT64 ||
                                            inputs[i]->data_type() == onnx::TensorProto::INT32 ||
                                            inputs[i]->data_type() == onnx::TensorProto::BOOL);
    if (!is_parameter) continue;
    onnx::TensorProto constant = *inputs[i];
    constant.set_name(model.graph().input(static_cast<int>(i)).name());
    *model.mutable_graph()->add_initializer() = constant;
  }
}

/// Compares the bytes of all copies of a test's operator; how many there are.
std::size_t compare_bytes(const std::filesystem::path& folder, std::map<std::string, int>& types) {
  auto model = message_in<onnx::ModelProto>(folder / "model.onnx");
  if (!model || model->graph().node_size() != 1) return 0;
  const std::filesystem::path data = folder / "test_data_set_0";
  const auto tensor_of = [&](const std::string& role, int i) {
    return message_in<onnx::TensorProto>(data / (role + "_" + std::to_string(i) + ".pb"));
  };
  std::vector<std::optional<onnx::TensorProto>> inputs;
  for (int i = 0; i < model->graph().input_size(); ++i) inputs.push_back(tensor_of("input", i));
  fix_parameters(*model, inputs);
  if (!testing::error_of_model(*model).empty()) return 0;
  const Operator op = read_model(*model).subgraphs[0].operators[0];
  for (const ByteCopy& copy : op.copies) {
    const auto output = tensor_of("output", static_cast<int>(copy.output));
    const auto& input = inputs.at(copy.input);
    if (!input || !output || !input->has_raw_data() || !output->has_raw_data()) continue;
    const auto bytes = [&](const onnx::TensorProto& tensor, Bytes offset) {
      return tensor.raw_data().substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(copy.size));
    };
    EXPECT_EQ(bytes(*input, copy.from), bytes(*output, copy.to)) << testing::show_copies(op);
    ++types[op.type];
  }
  return op.copies.size();
}

TEST(OnnxBackendCopies, AreTheBytesThatARuntimeGave) {
  if (!std::filesystem::exists(backend_data))
    GTEST_SKIP() << backend_data << " does not exist; Debian's libonnx-testdata has it";
  std::map<std::string, int> types;
  std::size_t copies = 0;
  for (const auto& entry : std::filesystem::directory_iterator(backend_data)) {
    SCOPED_TRACE(entry.path().filename().string());
    copies += compare_bytes(entry.path(), types);
  }
  int compared = 0;
  for (const auto& [type, count] : types) {
    std::cout << type << ": " << count << "\n";
    compared += count;
  }
  for (const char* type : {"Concat", "Dropout", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze",
                           "Transpose", "Unsqueeze"})
    EXPECT_GT(types[type], 0) << type;
  EXPECT_EQ(copies, 59U);
  EXPECT_EQ(compared, 59);
}

/// Where each element of a part is in the whole: `start` on one dimension, all of it on the others.
std::vector<std::int64_t> positions_of(const Shape& whole, std::size_t axis, std::int64_t start,
                                       std::int64_t extent) {
  std::vector<std::int64_t> positions;
  std::int64_t count = 1;
  for (const std::int64_t dimension : whole) count *= dimension;
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < whole.size(); ++d) inner *= whole[d];
  for (std::int64_t e = 0; e < count; ++e) {
    const std::int64_t at = e / inner % whole[axis];
    if (at >= start && at < start + extent) positions.push_back(e);
  }
  return positions;
}

bool is_run(const std::vector<std::int64_t>& positions) {
  return positions.back() - positions.front() + 1 == static_cast<std::int64_t>(positions.size());
}

class RandomCopies : public ::testing::Test {
 protected:
  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  /// A shape with many ones, and an axis of it.
  void draw() {
    shape_.assign(static_cast<std::size_t>(pick(1, 4)), 1);
    for (std::int64_t& dimension : shape_) dimension = std::max<std::int64_t>(1, pick(-2, 4));
    axis_ = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(shape_.size()) - 1));
    sizes_.clear();
    for (std::int64_t rest = shape_[axis_]; rest > 0; rest -= sizes_.back()) sizes_.push_back(pick(1, rest));
  }

  /// An axis as files may write it, from the front or from the end.
  std::int64_t written_axis() {
    const auto at = static_cast<std::int64_t>(axis_);
    return pick(0, 1) == 0 ? at : at - static_cast<std::int64_t>(shape_.size());
  }

  static testing::Dimensions dimensions(const Shape& shape) { return {shape.begin(), shape.end()}; }

  /// The copies of the parts by their elements' positions; `is_split`: the whole is the input.
  [[nodiscard]] std::vector<ByteCopy> expected(bool is_split) const {
    constexpr Bytes element = 4;
    std::vector<ByteCopy> copies;
    std::int64_t start = 0;
    for (std::size_t p = 0; p < sizes_.size(); start += sizes_[p], ++p) {
      const auto positions = positions_of(shape_, axis_, start, sizes_[p]);
      if (!is_run(positions)) continue;
      const Bytes at = positions.front() * element;
      const Bytes size = static_cast<Bytes>(positions.size()) * element;
      copies.push_back(is_split ? ByteCopy{.output = p, .from = at, .size = size}
                                : ByteCopy{.input = p, .to = at, .size = size});
    }
    return copies;
  }

  void expect_copies(const testing::OnnxParts& parts, const std::vector<ByteCopy>& copies) {
    const Operator op = read_model(onnx_model(parts)).subgraphs[0].operators[0];
    EXPECT_EQ(op.copies, copies) << testing::show_copies(op);
    EXPECT_EQ(op.must_copy.empty(), !copies.empty()) << testing::show_copies(op);
  }

  std::mt19937_64 random_{1};
  Shape shape_{};
  std::size_t axis_ = 0;
  Shape sizes_{};  ///< Of parts that fill the axis.
};

constexpr int rounds = 1000;

TEST_F(RandomCopies, OfConcats) {
  for (int round = 0; round < rounds; ++round) {
    draw();
    testing::OnnxParts parts;
    testing::Names names;
    for (const std::int64_t size : sizes_) {
      Shape shape = shape_;
      shape[axis_] = size;
      names.push_back("x" + std::to_string(names.size()));
      parts.inputs.push_back(tensor_value(names.back(), dimensions(shape)));
    }
    parts.nodes = {node("Concat", names, {"y"}, {attribute("axis", written_axis())})};
    parts.outputs = {untyped_value("y")};
    expect_copies(parts, expected(false));
  }
}

TEST_F(RandomCopies, OfSplits) {
  for (int round = 0; round < rounds; ++round) {
    draw();
    testing::OnnxParts parts{.inputs = {tensor_value("x", dimensions(shape_))},
                             .initializers = {vector_of("sizes", sizes_)}};
    testing::Names names;
    for (std::size_t p = 0; p < sizes_.size(); ++p) {
      names.push_back("y" + std::to_string(p));
      parts.outputs.push_back(untyped_value(names.back()));
    }
    parts.nodes = {node("Split", {"x", "sizes"}, names, {attribute("axis", written_axis())})};
    expect_copies(parts, expected(true));
  }
}

TEST_F(RandomCopies, OfGathers) {
  for (int round = 0; round < rounds; ++round) {
    draw();
    const std::int64_t index = pick(0, shape_[axis_] - 1);
    const auto positions = positions_of(shape_, axis_, index, 1);
    std::vector<ByteCopy> copies;
    if (is_run(positions))
      copies.push_back({.from = positions.front() * 4, .size = static_cast<Bytes>(positions.size()) * 4});
    expect_copies({.nodes = {node("Gather", {"x", "i"}, {"y"}, {attribute("axis", written_axis())})},
                   .inputs = {tensor_value("x", dimensions(shape_))},
                   .outputs = {untyped_value("y")},
                   .initializers = {testing::scalar("i", pick(0, 1) == 0 ? index : index - shape_[axis_])}},
                  copies);
  }
}

/// Slices on all axes: the elements that remain, worked out one by one.
TEST_F(RandomCopies, OfSlices) {
  for (int round = 0; round < rounds; ++round) {
    draw();
    Shape starts;
    Shape ends;
    Shape axes;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      starts.push_back(pick(0, shape_[d] - 1));
      ends.push_back(pick(starts[d] + 1, shape_[d]));
      axes.push_back(static_cast<std::int64_t>(d));
    }
    std::vector<std::int64_t> kept;
    std::int64_t count = 1;
    for (const std::int64_t dimension : shape_) count *= dimension;
    for (std::int64_t e = 0; e < count; ++e) {
      bool is_kept = true;
      std::int64_t rest = e;
      for (std::size_t d = shape_.size(); d-- > 0; rest /= shape_[d])
        is_kept = is_kept && rest % shape_[d] >= starts[d] && rest % shape_[d] < ends[d];
      if (is_kept) kept.push_back(e);
    }
    std::vector<ByteCopy> copies;
    if (is_run(kept))
      copies.push_back({.from = kept.front() * 4, .size = static_cast<Bytes>(kept.size()) * 4});
    expect_copies(
        {.nodes = {node("Slice", {"x", "starts", "ends", "axes"}, {"y"})},
         .inputs = {tensor_value("x", dimensions(shape_))},
         .outputs = {untyped_value("y")},
         .initializers = {vector_of("starts", starts), vector_of("ends", ends), vector_of("axes", axes)}},
        copies);
  }
}

TEST_F(RandomCopies, OfTransposes) {
  for (int round = 0; round < rounds; ++round) {
    draw();
    std::vector<std::int64_t> order(shape_.size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<std::int64_t>(d);
    std::shuffle(order.begin(), order.end(), random_);
    std::int64_t count = 1;
    for (const std::int64_t dimension : shape_) count *= dimension;
    bool stays = true;  // every element, at its own position
    for (std::int64_t e = 0; e < count; ++e) {
      Shape at(shape_.size());
      for (std::int64_t d = static_cast<std::int64_t>(shape_.size()), rest = e; d-- > 0;) {
        at[static_cast<std::size_t>(d)] = rest % shape_[static_cast<std::size_t>(d)];
        rest /= shape_[static_cast<std::size_t>(d)];
      }
      std::int64_t moved = 0;
      for (const std::int64_t d : order)
        moved = moved * shape_[static_cast<std::size_t>(d)] + at[static_cast<std::size_t>(d)];
      stays = stays && moved == e;
    }
    std::vector<ByteCopy> copies;
    if (stays) copies.push_back({.size = count * 4});
    expect_copies({.nodes = {node("Transpose", {"x"}, {"y"}, {attribute("perm", order)})},
                   .inputs = {tensor_value("x", dimensions(shape_))},
                   .outputs = {untyped_value("y")}},
                  copies);
  }
}

}  // namespace
}  // namespace stowage
