// The oracle for kernels: the models that come with the ONNX standard, each with inputs and the outputs that
// a runtime must give. Every model is planned and run inside its plan. What cannot be run is listed here, by
// name and reason: a new failure is a failure of the test, and so is one that is no more.

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/onnx/elements.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

const std::filesystem::path backend_data = "/usr/share/libonnx-testdata/data";

/// Tests that are not run: a beginning of their names, and words of the message that says why.
struct Omission {
  std::string prefix;
  std::string reason;
};

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::filesystem::path data_of(const std::filesystem::path& folder, const std::string& kind, int i) {
  return folder / "test_data_set_0" / (kind + "_" + std::to_string(i) + ".pb");
}

/// The data of the tests has bfloat16 as the uint16 of the same bits.
bool is_bfloat(const onnx::ValueInfoProto& input) {
  return input.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16;
}

/// Makes inputs that shapes may depend on constants, with the values they have in the test.
void fix_small_inputs(onnx::ModelProto& model, const std::filesystem::path& folder) {
  constexpr std::int64_t most_elements = 64;
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < graph.input_size(); ++i) {
    onnx::TensorProto value;
    const bool is_read = value.ParseFromString(content_of(data_of(folder, "input", i)));
    if (!is_read || !graph.input(i).type().has_tensor_type() || value.dims_size() > 1) continue;
    if (value.dims_size() == 1 && value.dims(0) > most_elements) continue;
    value.set_name(graph.input(i).name());
    if (is_bfloat(graph.input(i))) value.set_data_type(onnx::TensorProto::BFLOAT16);
    *graph.add_initializer() = value;
  }
}

/// The values of all elements as float64, which has room for all but the largest whole numbers.
std::vector<double> values_of(const Array& array) {
  std::vector<double> values;
  const auto read = [&]<typename Element>() {
    const auto* const data = reinterpret_cast<const Element*>(array.data.data());
    for (std::size_t i = 0; i < array.data.size() / sizeof(Element); ++i)
      values.push_back(static_cast<double>(kernels::onnx_ops::value_of(data[i])));
    return kernels::Kernel{};
  };
  static_cast<void>(kernels::onnx_ops::for_type(array.dtype, kernels::onnx_ops::every_type, read));
  return values;
}

bool is_near(double value, double truth, double relative) {
  if (value == truth || (std::isnan(value) && std::isnan(truth))) return true;
  return std::abs(value - truth) <= 1e-5 + relative * std::abs(truth);
}

/// Says where an output is not what it must be; empty where it is. Whole numbers and truths must be the same.
std::string difference_of(const Array& array, Array truth) {
  if (array.dtype == DType::bfloat16 && truth.dtype == DType::uint16) truth.dtype = DType::bfloat16;
  if (array.dtype != truth.dtype || array.shape != truth.shape) return "differs in type or shape";
  const bool is_real = array.dtype == DType::float16 || array.dtype == DType::bfloat16 ||
                       array.dtype == DType::float32 || array.dtype == DType::float64;
  if (!is_real) return array.data == truth.data ? "" : "differs";
  // Results of several operators in few bits: two units in the last place. Old tests cut bfloat16 off.
  const double relative = array.dtype == DType::bfloat16  ? 1.0 / 64
                          : array.dtype == DType::float16 ? 1.0 / 512
                                                          : 1e-3;
  const std::vector<double> values = values_of(array);
  const std::vector<double> expected = values_of(truth);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!is_near(values[i], expected[i], relative)) {
      return "differs at element " + std::to_string(i) + ": " + std::to_string(values[i]) + ", expected " +
             std::to_string(expected[i]);
    }
  }
  return "";
}

/// Runs a model inside its plan and compares its outputs. Says why that cannot be done, or what differs.
std::string run_and_compare(const onnx::ModelProto& model, const std::filesystem::path& folder) {
  try {
    const Network network = parse_network(model.SerializeAsString(), "x.onnx");
    RunOptions options{.kernels = KernelSet::plain, .check = RunCheck::tensors};
    for (int i = 0; i < model.graph().input_size(); ++i) {
      const std::string& name = model.graph().input(i).name();
      const auto& constants = model.graph().initializer();
      const bool is_constant = std::any_of(constants.begin(), constants.end(),
                                           [&](const onnx::TensorProto& it) { return it.name() == name; });
      const auto file = data_of(folder, "input", i);
      if (is_constant || !std::filesystem::exists(file)) continue;
      Array& given = options.inputs.emplace(name, read_array(file)).first->second;
      if (is_bfloat(model.graph().input(i))) given.dtype = DType::bfloat16;
    }
    const PlanResult planned = make_plan(network.input);
    const RunResult result = run_plan(network, planned.plan, options);
    if (result.fault) return "fault: " + result.fault->what;
    if (result.outputs.empty()) return "there is no output";
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      const Array truth = read_array(data_of(folder, "output", static_cast<int>(i)));
      const std::string difference = difference_of(result.outputs[i].array, truth);
      if (!difference.empty()) return "output " + std::to_string(i) + " " + difference;
    }
    return "";
  } catch (const Error& error) {
    return error.what();
  } catch (const UsageError& error) {
    return error.what();
  }
}

/// Runs what can be run and counts what cannot, reason by reason.
class Runs {
 public:
  explicit Runs(std::span<const Omission> expected) : expected_(expected), met_(expected.size(), 0) {}

  void run(const std::filesystem::path& family) {
    std::vector<std::filesystem::path> folders;
    for (const auto& entry : std::filesystem::directory_iterator(family)) {
      if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    for (const std::filesystem::path& folder : folders) {
      SCOPED_TRACE(folder.filename().string());
      run_one(folder);
    }
  }

  void report() const {
    std::cout << "as they are: " << passed_ << ", with small inputs as constants: " << fixed_ << "\n";
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      std::cout << "not run: " << met_[i] << " " << expected_[i].prefix << "*: " << expected_[i].reason
                << "\n";
      EXPECT_GT(met_[i], 0) << expected_[i].prefix << " runs now: take it from the list";
    }
  }

  [[nodiscard]] int passed() const { return passed_; }
  [[nodiscard]] int fixed() const { return fixed_; }

 private:
  void run_one(const std::filesystem::path& folder) {
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(content_of(folder / "model.onnx")));
    std::string obstacle = run_and_compare(model, folder);
    if (obstacle.empty()) {
      ++passed_;
      return;
    }
    const std::string first = obstacle;
    fix_small_inputs(model, folder);
    obstacle = run_and_compare(model, folder);
    if (obstacle.empty()) {
      // What is no matter of shapes must not come right by making inputs constants.
      EXPECT_EQ(first.find("differs"), std::string::npos) << first;
      ++fixed_;
      return;
    }
    const auto known = std::find_if(expected_.begin(), expected_.end(), [&](const Omission& it) {
      return folder.filename().string().starts_with("test_" + it.prefix) &&
             (obstacle + first).find(it.reason) != std::string::npos;
    });
    if (known == expected_.end()) {
      ADD_FAILURE() << obstacle << (obstacle == first ? "" : "\nas it is: " + first);
    } else {
      ++met_[static_cast<std::size_t>(known - expected_.begin())];
    }
  }

  std::span<const Omission> expected_;
  std::vector<int> met_;
  int passed_ = 0;
  int fixed_ = 0;
};

class OnnxBackendRun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(backend_data))
      GTEST_SKIP() << backend_data << " does not exist; Debian's libonnx-testdata has it";
  }
};

TEST_F(OnnxBackendRun, Nodes) {
  const std::vector<Omission> expected{
      // Text, sequences and optional values have no size that a plan could be made with.
      {"cast_FLOAT_to_STRING", "element type string"},
      {"cast_STRING", "element type string"},
      {"castlike_FLOAT_to_STRING", "element type string"},
      {"castlike_STRING", "element type string"},
      {"identity_opt", "type optional"},
      {"identity_sequence", "type sequence"},
      {"if_opt", "(Optional)"},
      {"if_seq", "(SequenceConstruct)"},
      {"loop13_seq", "type sequence"},
      {"loop16_seq_none", "type optional"},
      {"optional_", "type optional"},
      {"sequence_", "type sequence"},
      {"strnormalizer", "StringNormalizer"},
      {"strnormalizer", "element type string"},
      // Shapes that depend on data.
      {"loop11", "(Slice): the shape of tensor 'slice_out' depends on data"},
      {"compress", "no kernel for Compress"},
      {"nonzero", "no kernel for NonZero"},
      {"unique", "no kernel for Unique"},
      // Training, and random numbers.
      {"adagrad", "no kernel for ai.onnx.preview.training.Adagrad"},
      {"adam", "no kernel for ai.onnx.preview.training.Adam"},
      {"batchnorm", "training changes statistics"},
      {"momentum", "no kernel for ai.onnx.preview.training.Momentum"},
      {"nesterov_momentum", "no kernel for ai.onnx.preview.training.Momentum"},
      {"bernoulli", "no kernel for Bernoulli"},
      {"bernoulli", "no kernel for RandomUniformLike"},
      {"training_dropout", "training draws random numbers"},
      // Nobody plans memory for these.
      {"dft", "no kernel for DFT"},
      {"melweightmatrix", "no kernel for MelWeightMatrix"},
      {"stft", "no kernel for STFT"},
      {"tfidfvectorizer", "no kernel for TfIdfVectorizer"},
      {"scan_sum", "is a Scan of operator set 8"},
  };
  Runs runs(expected);
  runs.run(backend_data / "node");
  runs.report();
  EXPECT_EQ(runs.passed(), 840);
  EXPECT_EQ(runs.fixed(), 10);
}

TEST_F(OnnxBackendRun, Networks) {
  const std::vector<Omission> expected{{"gradient", "no kernel for ai.onnx.preview.training.Gradient"},
                                       {"strnorm", "StringNormalizer"},
                                       {"strnorm", "element type string"}};
  Runs runs(expected);
  for (const char* const family : {"simple", "pytorch-converted", "pytorch-operator"})
    runs.run(backend_data / family);
  runs.report();
  EXPECT_EQ(runs.passed(), 131);
  EXPECT_EQ(runs.fixed(), 1);
}

/// The node tests of the newest sets.
TEST(OnnxNodesRun, AreRight) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_ORACLE_DATA) / "onnx_nodes";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << folder << " does not exist; scripts/oracles.sh makes it";
  const std::vector<Omission> expected{
      {"", "there is no kernel for"},
      {"", "is of type sequence"},
      {"", "is of type optional"},
      {"", "is of element type string"},
      {"", "training draws random numbers"},
      {"", "training changes statistics"},
      {"", "depends on data"},
      {"unique", "has no known dimension"},
      // Functions of the standard whose sizes are inputs, and a preview.
      {"range_", "runs more than 0 rounds"},
      {"flexattention", "has the symbolic dimension"},
      {"flexattention", "(Range), has no known dimension 0"},
      // Forms that kernels lack.
      {"gridsample_volumetric", "expected rank 4"},
      {"qlinearmatmul", "a scale is of type float16"},
      {"resize", "antialias"},
      {"scan_sum", "is a Scan of operator set 8"},
  };
  Runs runs(expected);
  runs.run(folder);
  runs.report();
  EXPECT_EQ(runs.passed(), 1436);
  EXPECT_EQ(runs.fixed(), 39);
}

}  // namespace
}  // namespace stowage
