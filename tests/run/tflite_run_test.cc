// The oracle for running TFLite models: what TensorFlow Lite Micro computes of the same inputs. Cases are
// written by scripts/oracles.sh; where there are none these tests skip. Integers must be the same bit for
// bit. The table that is printed says how many sets were.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "long_tests.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

/// Relative to the largest magnitude of a tensor.
constexpr double largest_difference = 1e-4;

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> folders;
  if (!std::filesystem::exists(STOWAGE_ORACLE_DATA)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(STOWAGE_ORACLE_DATA)) {
    const bool is_case = entry.path().filename().string().starts_with("tflm_");
    if (is_case && std::filesystem::exists(entry.path() / "case.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<float> floats_of(const Array& array) {
  std::vector<float> numbers(array.data.size() / sizeof(float));
  std::memcpy(numbers.data(), array.data.data(), numbers.size() * sizeof(float));
  return numbers;
}

/// Whether all numbers are close enough; what is no number in one is none in the other.
bool is_close(const Array& got, const Array& expected) {
  const std::vector<float> numbers = floats_of(got);
  const std::vector<float> wanted = floats_of(expected);
  double magnitude = 0;
  for (const float number : wanted)
    if (std::isfinite(number)) magnitude = std::max(magnitude, std::abs(static_cast<double>(number)));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (numbers[i] == wanted[i] || (std::isnan(numbers[i]) && std::isnan(wanted[i]))) continue;
    const double off = std::abs(static_cast<double>(numbers[i]) - static_cast<double>(wanted[i]));
    if (!(off <= largest_difference * magnitude)) return false;
  }
  return true;
}

struct Agreement {
  std::size_t same_bits = 0;
  std::size_t close = 0;  ///< Sets of real numbers that are not the same bit for bit.
};

struct OutputComparison {
  bool is_same = true;
  bool is_close = true;
};

OutputComparison compare(const Array& got, const Array& expected, const std::string& place) {
  if (got.dtype != expected.dtype || got.shape != expected.shape) {
    ADD_FAILURE() << place << " is " << name_of(got.dtype) << ::testing::PrintToString(got.shape)
                  << ", expected " << name_of(expected.dtype) << ::testing::PrintToString(expected.shape);
    return {false, false};
  }
  if (got.data == expected.data) return {};
  if (got.dtype == DType::float32 && is_close(got, expected)) return {.is_same = false};
  const auto [here, there] = std::ranges::mismatch(got.data, expected.data);
  const std::ptrdiff_t differing =
      std::inner_product(got.data.begin(), got.data.end(), expected.data.begin(), std::ptrdiff_t{0},
                         std::plus<>(), std::not_equal_to<>());
  ADD_FAILURE() << place << ": " << differing << " of " << got.data.size() << " bytes differ, first at "
                << here - got.data.begin() << ": " << static_cast<int>(*here) << ", expected "
                << static_cast<int>(*there);
  return {false, false};
}

std::string input_name(std::size_t i) { return "input_" + std::to_string(i); }

/// Files may have one name for several inputs, or none.
void name_inputs(Graph& graph) {
  const std::vector<TensorId>& inputs = graph.subgraphs[0].inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.tensors[inputs[i]].name = input_name(i);
}

void run_case(const std::filesystem::path& folder) {
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(folder / "case.json"));
  const std::string name = folder.filename().string();
  Network network = read_network(folder / json.at("model").get<std::string>());
  name_inputs(std::get<Graph>(network.input.content));
  const PlanResult planned = make_plan(network.input);
  const Runner runner(network, {.kernels = KernelSet::plain});
  const std::size_t most_sets = testing::is_in_a_hurry() ? 1 : 1000;
  const std::size_t sets = std::min(json.at("sets").get<std::size_t>(), most_sets);
  Agreement agreement;
  for (std::size_t set = 0; set < sets; ++set) {
    const std::filesystem::path values = folder / ("set_" + std::to_string(set));
    RunOptions options{.kernels = KernelSet::plain, .check = set == 0 ? RunCheck::tensors : RunCheck::none};
    for (std::size_t i = 0; i < json.at("inputs").size(); ++i)
      options.inputs[input_name(i)] = read_array(values / (input_name(i) + ".npy"));
    const RunResult result = runner.run(planned.plan, options);
    ASSERT_FALSE(result.fault) << name << ": " << result.fault->what;
    ASSERT_EQ(result.outputs.size(), json.at("outputs").size()) << name;
    OutputComparison whole;
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      const auto [is_same, is_near] =
          compare(result.outputs[i].array, read_array(values / ("output_" + std::to_string(i) + ".npy")),
                  name + " set " + std::to_string(set) + " output " + std::to_string(i));
      whole.is_same = whole.is_same && is_same;
      whole.is_close = whole.is_close && is_near;
    }
    agreement.same_bits += whole.is_same ? 1 : 0;
    agreement.close += !whole.is_same && whole.is_close ? 1 : 0;
  }
  std::cout << name << std::string(name.size() < 36 ? 36 - name.size() : 1, ' ') << agreement.same_bits
            << " of " << sets << " sets the same bit for bit, " << agreement.close << " close\n";
}

TEST(TfliteMicroTest, RunsAsTheOtherInterpreterDoes) {
  const auto folders = cases();
  if (folders.empty())
    GTEST_SKIP() << "no cases tflm_* in " << STOWAGE_ORACLE_DATA << "; see scripts/oracles.sh";
  for (const auto& folder : folders) {
    try {
      run_case(folder);
    } catch (const std::exception& error) {
      ADD_FAILURE() << folder.filename().string() << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace stowage
