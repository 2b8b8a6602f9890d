// The oracle for shapes: the models that come with the ONNX standard, each with the outputs that a
// runtime must give. Every model is imported twice: as it is, and with all that it declares of its
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

std::vector<std::filesystem::path> folders_in(const std::string& family) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(backend_data / family)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Shape dimensions_of(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

std::string show(const Tensor& tensor) {
  return import::show_type(import::tensor_type(0, tensor.shape)) + " " + std::string(name_of(tensor.dtype));
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
    if (tensor.dtype != dtype || tensor.shape != shape || tensor.bytes != bytes_of(dtype, shape)) {
      return ::testing::AssertionFailure()
             << "output " << i << " is " << show(tensor) << " of " << tensor.bytes << " bytes, expected "
             << import::show_type(import::tensor_type(truth->data_type(), shape));
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

/// Compares what can be imported and counts what cannot, reason by reason.
class Comparison {
 public:
  using Change = std::function<void(onnx::ModelProto&, const std::filesystem::path&)>;

  explicit Comparison(std::span<const Rejection> expected) : expected_(expected), met_(expected.size(), 0) {}

  void compare(const std::string& family, const Change& change = {}) {
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
    const std::string rejection = testing::error_of_model(model);
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

TEST_F(OnnxBackend, NodesAsTheyAre) {
  static const std::vector<Rejection> expected{};
  Comparison comparison(expected);
  comparison.compare("node");
  comparison.report();
}

TEST_F(OnnxBackend, NodesWithoutDeclarations) {
  static const std::vector<Rejection> expected{};
  Comparison comparison(expected);
  comparison.compare("node", [](onnx::ModelProto& model, const std::filesystem::path& folder) {
    forget_declarations(model);
    fix_small_inputs(model, folder);
  });
  comparison.report();
}

}  // namespace
}  // namespace stowage
