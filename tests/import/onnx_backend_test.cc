// The oracle for shapes: the models that come with the ONNX standard, in an old version of it and in a new one
// (build/oracle/data, made by scripts/oracles.sh), each with the outputs that a runtime must give. Every model is imported twice: as it is, and with all that it declares of its
// results taken away and its small inputs made constants, so that inference stands alone. What
// cannot be imported is listed here, by name and reason: a new failure is a failure of the test.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "import/onnx_types.h"
#include "onnx_models.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using testing::read_model;

const std::filesystem::path backend_data = "/usr/share/libonnx-testdata/data";

/// Tests that are rejected: a beginning of their names, and words of the message that says why.
struct Rejection {
  std::string prefix;
  std::string reason;
};

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::optional<onnx::TensorProto> tensor_in(const std::filesystem::path& file) {
  onnx::TensorProto tensor;
  if (!std::filesystem::exists(file) || !tensor.ParseFromString(content_of(file))) return std::nullopt;
  return tensor;
}

std::vector<std::filesystem::path> folders_in(const std::filesystem::path& family) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(family)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Shape dimensions_of(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

std::string show(DType dtype, const std::optional<Shape>& shape) {
  return std::string(name_of(dtype)) + (shape ? import::show_type(import::tensor_type(0, *shape)) : "[?]");
}

/// The data of the tests has bfloat16 as the uint16 of the same bits.
bool is_type(DType dtype, DType stored) {
  return dtype == stored || (dtype == DType::bfloat16 && stored == DType::uint16);
}

/// Whether the outputs of the network are those that a runtime gave; says where not.
::testing::AssertionResult has_outputs(const Graph& graph, const std::filesystem::path& folder) {
  const std::vector<TensorId>& outputs = graph.subgraphs.at(0).outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto truth = tensor_in(folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb"));
    if (!truth) return ::testing::AssertionFailure() << "output " << i << " has no data to compare with";
    const Tensor& tensor = graph.tensors[outputs[i]];
    const Shape shape = dimensions_of(*truth);
    const DType dtype = import::dtype_of(truth->data_type(), "output");
    if (!is_type(tensor.dtype, dtype) || tensor.shape != shape || tensor.bytes != bytes_of(dtype, shape)) {
      return ::testing::AssertionFailure()
             << "output " << i << " is " << show(tensor.dtype, tensor.shape) << " of " << tensor.bytes
             << " bytes, expected " << show(dtype, shape);
    }
  }
  return ::testing::AssertionSuccess();
}

/// Makes inputs that shapes may depend on constants, with the values they have in the test.
void fix_small_inputs(onnx::ModelProto& model, const std::filesystem::path& folder) {
  constexpr int most_elements = 64;
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < graph.input_size(); ++i) {
    if (!graph.input(i).type().has_tensor_type()) continue;
    auto value = tensor_in(folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"));
    if (!value || value->dims_size() > 1 || (value->dims_size() == 1 && value->dims(0) > most_elements))
      continue;
    value->set_name(graph.input(i).name());
    *graph.add_initializer() = *value;
  }
}

/// Takes away what the model declares of its outputs and of values in between.
void forget_declarations(onnx::ModelProto& model) {
  model.mutable_graph()->clear_value_info();
  for (onnx::ValueInfoProto& output : *model.mutable_graph()->mutable_output()) output.clear_type();
}

/// Inference stands alone.
void stand_alone(onnx::ModelProto& model, const std::filesystem::path& folder) {
  forget_declarations(model);
  fix_small_inputs(model, folder);
}

/// Why the outputs of the model cannot be compared; empty when they can. A constant output takes no
/// memory in the arena, so that it may be of unknown shape.
std::string rejection_of(const onnx::ModelProto& model) {
  std::string rejection = testing::error_of_model(model);
  if (!rejection.empty()) return rejection;
  const Graph graph = read_model(model);
  for (const TensorId output : graph.subgraphs.at(0).outputs) {
    const Tensor& tensor = graph.tensors[output];
    if (tensor.kind == TensorKind::weight && !tensor.shape) return "is a constant of unknown shape";
    if (tensor.kind == TensorKind::weight && !bits_of(tensor.dtype))
      return "is a constant of element type string";
  }
  return "";
}

/// Compares what can be imported and counts what cannot, reason by reason.
class BackendComparison {
 public:
  using Change = std::function<void(onnx::ModelProto&, const std::filesystem::path&)>;

  explicit BackendComparison(std::span<const Rejection> expected)
      : expected_(expected), met_(expected.size(), 0) {}

  void compare(const std::filesystem::path& family, const Change& change = {}) {
    for (const std::filesystem::path& folder : folders_in(family)) {
      SCOPED_TRACE(folder.filename().string());
      compare_one(folder, change);
    }
  }

  void report() const {
    std::cout << "compared: " << compared_ << "\n";
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      std::cout << "rejected: " << met_[i] << " " << expected_[i].prefix << "*: " << expected_[i].reason
                << "\n";
      EXPECT_GT(met_[i], 0) << expected_[i].prefix << " is imported now: take it from the list";
    }
  }

  [[nodiscard]] int compared() const { return compared_; }

 private:
  void compare_one(const std::filesystem::path& folder, const Change& change) {
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(content_of(folder / "model.onnx")));
    if (change) change(model, folder);
    const std::string rejection = rejection_of(model);
    if (rejection.empty()) {
      EXPECT_TRUE(has_outputs(read_model(model), folder));
      ++compared_;
      return;
    }
    const auto known = std::find_if(expected_.begin(), expected_.end(), [&](const Rejection& it) {
      return folder.filename().string().starts_with("test_" + it.prefix) &&
             rejection.find(it.reason) != std::string::npos;
    });
    if (known == expected_.end()) {
      ADD_FAILURE() << rejection;
    } else {
      ++met_[static_cast<std::size_t>(known - expected_.begin())];
    }
  }

  std::span<const Rejection> expected_;
  std::vector<int> met_;
  int compared_ = 0;
};

class OnnxBackend : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(backend_data))
      GTEST_SKIP() << backend_data << " does not exist; Debian's libonnx-testdata has it";
  }
};

/// Neither has a size that a plan could be made with.
std::vector<Rejection> not_dense() {
  return {{"cast_FLOAT_to_STRING", "element type string"},
          {"cast_STRING", "element type string"},
          {"castlike_FLOAT_to_STRING", "element type string"},
          {"castlike_STRING", "element type string"},
          {"identity_opt", "type optional"},
          {"identity_sequence", "type sequence"},
          {"loop13_seq", "type sequence"},
          {"loop16_seq_none", "type optional"},
          {"optional_", "type optional"},
          {"sequence_", "type sequence"}};
}

TEST_F(OnnxBackend, NodesAsTheyAre) {
  std::vector<Rejection> expected = not_dense();
  const std::vector<Rejection> more{
      {"if_opt", "type optional"},
      {"if_seq", "type sequence"},
      {"strnormalizer", "element type string"},
      {"scan_sum", "is a Scan of operator set 8"},
      // The size of a window, or the rounds of a loop, is an input.
      {"blackmanwindow", "(Range), has no known dimension 0"},
      {"hammingwindow", "(Range), has no known dimension 0"},
      {"hannwindow", "(Range), has no known dimension 0"},
      {"loop11", "(Slice), has no known dimension 0"},
  };
  expected.insert(expected.end(), more.begin(), more.end());
  BackendComparison comparison(expected);
  comparison.compare(backend_data / "node");
  comparison.report();
  EXPECT_EQ(comparison.compared(), 888);
}

TEST_F(OnnxBackend, NodesWithoutDeclarations) {
  std::vector<Rejection> expected = not_dense();
  const std::vector<Rejection> more{
      {"if_", "is a constant of unknown shape"},
      {"strnormalizer_export_monday_insensintive_upper_twodim", "element type string"},
      {"strnormalizer", "is a constant of unknown shape"},
      {"scan_sum", "is a Scan of operator set 8"},
      // Sizes that depend on data.
      {"nonmaxsuppression", "has no known dimension 0 in int64[?,3]"},
      {"nonzero", "has no known dimension 1 in int64[2,?]"},
      {"unique_sorted_with", "has no known dimension"},
      {"range_", "is a constant of unknown shape"},
  };
  expected.insert(expected.end(), more.begin(), more.end());
  BackendComparison comparison(expected);
  comparison.compare(backend_data / "node", stand_alone);
  comparison.report();
  EXPECT_EQ(comparison.compared(), 880);
}

const std::vector<std::string> families{"simple", "pytorch-converted", "pytorch-operator"};

TEST_F(OnnxBackend, NetworksAsTheyAre) {
  const std::vector<Rejection> expected{{"sequence_model8", "1 size open"},
                                        {"strnorm", "element type string"}};
  BackendComparison comparison(expected);
  for (const std::string& family : families) comparison.compare(backend_data / family);
  comparison.report();
  EXPECT_EQ(comparison.compared(), 133);
}

TEST_F(OnnxBackend, NetworksWithoutDeclarations) {
  const std::vector<Rejection> expected{{"gradient", "is a constant of unknown shape"},
                                        {"strnorm_model_monday_insensintive", "element type string"},
                                        {"strnorm", "is a constant of unknown shape"}};
  BackendComparison comparison(expected);
  for (const std::string& family : families) comparison.compare(backend_data / family, stand_alone);
  comparison.report();
  EXPECT_EQ(comparison.compared(), 132);
}

class OnnxNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_))
      GTEST_SKIP() << folder_ << " does not exist; scripts/oracles.sh makes it";
  }

  const std::filesystem::path folder_ = std::filesystem::path(STOWAGE_ORACLE_DATA) / "onnx_nodes";
};

TEST_F(OnnxNodes, AsTheyAre) {
  const std::vector<Rejection> expected{
      {"", "element type string"},
      {"", "type sequence"},
      {"", "type optional"},
      {"scan_sum", "is a Scan of operator set 8"},
      {"unique", "(Unique), has no known dimension"},
      {"flexattention", "has the symbolic dimension"},
      // Functions of the standard, whose sizes are inputs of the test.
      {"reduce_", "(ReduceSum), has no known"},
      {"center_crop_pad", "(Pad), has no known dimension"},
      {"affine_grid_2d", "(Expand), has no known shape"},
      {"affine_grid_3d", "(ConstantOfShape), has no known dimension"},
      {"range_", "(Loop), has no known dimension"},
      {"", "(Range), has no known dimension"},
      {"loop11", "(Slice), has no known dimension"},
  };
  BackendComparison comparison(expected);
  comparison.compare(folder_);
  comparison.report();
  EXPECT_EQ(comparison.compared(), 1775);
}

TEST_F(OnnxNodes, WithoutDeclarations) {
  const std::vector<Rejection> expected{
      {"", "element type string"},
      {"", "type sequence"},
      {"", "type optional"},
      {"scan_sum", "is a Scan of operator set 8"},
      {"flexattention", "has no known element type"},
      {"flexattention", "(Range), has no known dimension 0"},
      {"image_decoder", "has no known dimension 0 in uint8[?,?,"},
      // Sizes that depend on data.
      {"nonmaxsuppression", "has no known dimension 0 in int64[?,3]"},
      {"nonzero", "has no known dimension 1 in int64[2,?]"},
      {"unique", "(Unique), has no known dimension"},
      {"", "is a constant of unknown shape"},
  };
  BackendComparison comparison(expected);
  comparison.compare(folder_, stand_alone);
  comparison.report();
  EXPECT_EQ(comparison.compared(), 1794);
}

/// Whole networks, whose float weights are operators that make them.
TEST(OnnxLight, GivesTheOutputsOfARuntime) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "onnx";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist; it has the networks";
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string name = entry.path().stem().string();
    const auto truth = tensor_in(folder / (name + "_output_0.pb"));
    ASSERT_TRUE(truth);
    const Graph graph = read_model(content_of(entry.path()));
    const std::vector<TensorId>& outputs = graph.subgraphs[0].outputs;
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(graph.tensors[outputs[0]].shape, dimensions_of(*truth));
    EXPECT_EQ(graph.tensors[outputs[0]].dtype, DType::float32);
    for (const Operator& op : graph.subgraphs[0].operators) {
      const bool is_maker = op.type == "ConstantOfShape";
      const bool is_layer = op.type == "Conv" || op.type == "Relu" || op.type == "Softmax";
      if (is_maker || is_layer) {
        EXPECT_EQ(op.folded, is_maker) << op.name;
      }
    }
    ++compared;
  }
  EXPECT_EQ(compared, 6);
}

}  // namespace
}  // namespace stowage
