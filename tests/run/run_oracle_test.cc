// The oracle for running ONNX networks: what ONNX Runtime computes of the same inputs. Cases are written by
// scripts/oracles.sh; where there are none these tests skip. Every network runs inside its plan, with both
// sets of kernels and with every way of sharing bytes, and its first inputs also beside a run without a
// plan. The table that is printed says how near the results are.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

/// Relative to the largest magnitude of a tensor.
constexpr double largest_difference = 1e-4;
/// Half precision has 11 bits; programs may keep more of them between operators.
constexpr double largest_difference_of_halves = 2e-3;

constexpr std::size_t all_sets = std::numeric_limits<std::size_t>::max();

struct Case {
  std::string name{};
  std::filesystem::path folder{};
  std::filesystem::path model{};
  std::size_t sets = 0;
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
  std::optional<std::uint64_t> random_weights{};
};

Case read_case(const std::filesystem::path& folder) {
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(folder / "case.json"));
  Case result{.name = folder.filename().string(),
              .folder = folder,
              .model = folder / json.at("model").get<std::string>(),
              .sets = json.at("sets"),
              .inputs = json.at("inputs"),
              .outputs = json.at("outputs")};
  if (!json.at("random_weights").is_null()) result.random_weights = json.at("random_weights");
  return result;
}

/// Folders of cases whose name begins with that, sorted.
std::vector<std::filesystem::path> folders_of(const std::string& prefix) {
  std::vector<std::filesystem::path> folders;
  // The stamp is written last: what is there without it is incomplete.
  if (!std::filesystem::exists(std::filesystem::path(STOWAGE_ORACLE_DATA) / "stamp")) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(STOWAGE_ORACLE_DATA)) {
    if (entry.path().filename().string().starts_with(prefix)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Array array_of(const Case& of, std::size_t set, const std::string& kind, std::size_t i) {
  return read_array(of.folder / ("set_" + std::to_string(set)) / (kind + "_" + std::to_string(i) + ".npy"));
}

double half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const double fraction = bits & 0x3ff;
  constexpr int largest = 0x1f;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == largest) return std::numeric_limits<double>::quiet_NaN();  // or infinite: never expected
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

template <typename Element, typename Read>
std::vector<double> numbers_of(const Array& array, const Read& read) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at + sizeof(Element) <= array.data.size(); at += sizeof(Element)) {
    Element element{};
    std::memcpy(&element, array.data.data() + at, sizeof(Element));
    numbers.push_back(read(element));
  }
  return numbers;
}

/// None for types whose numbers are compared exactly.
std::optional<std::vector<double>> real_numbers(const Array& array) {
  const auto as_it_is = [](auto element) { return static_cast<double>(element); };
  if (array.dtype == DType::float32) return numbers_of<float>(array, as_it_is);
  if (array.dtype == DType::float64) return numbers_of<double>(array, as_it_is);
  if (array.dtype == DType::float16) return numbers_of<std::uint16_t>(array, half);
  return std::nullopt;
}

/// The largest difference, by the largest magnitude of what is expected. Not a number or infinite where the
/// two cannot be compared.
double difference_of(const Array& got, const Array& expected) {
  constexpr double incomparable = std::numeric_limits<double>::infinity();
  if (got.dtype != expected.dtype || got.shape != expected.shape || got.data.size() != expected.data.size())
    return incomparable;
  const auto numbers = real_numbers(got);
  if (!numbers) return got.data == expected.data ? 0 : incomparable;
  const auto wanted = *real_numbers(expected);
  double difference = 0;
  double magnitude = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double off = std::abs((*numbers)[i] - wanted[i]);
    if (!(off <= difference)) difference = off;  // also when it is not a number
    if (std::isnan(off)) return off;
    magnitude = std::max(magnitude, std::abs(wanted[i]));
  }
  return difference == 0 ? 0 : difference / magnitude;
}

bool is_close(double difference, DType dtype) {
  return difference <= (dtype == DType::float16 ? largest_difference_of_halves : largest_difference);
}

/// Where two arrays first differ by more than they may, in words.
std::string first_difference(const Array& got, const Array& expected) {
  std::string words = "got " + std::string(name_of(got.dtype)) + ::testing::PrintToString(got.shape) +
                      ", expected " + std::string(name_of(expected.dtype)) +
                      ::testing::PrintToString(expected.shape);
  if (got.dtype != expected.dtype || got.shape != expected.shape) return words;
  const auto numbers = real_numbers(got);
  const auto wanted = real_numbers(expected);
  const std::size_t width =
      expected.data.size() / std::max<std::size_t>(wanted ? wanted->size() : expected.data.size(), 1);
  double magnitude = 0;
  if (wanted) {
    for (const double number : *wanted) magnitude = std::max(magnitude, std::abs(number));
  }
  for (std::size_t i = 0; i * width < expected.data.size(); ++i) {
    if (numbers && is_close(std::abs((*numbers)[i] - (*wanted)[i]) / magnitude, got.dtype)) continue;
    if (!numbers && got.data[i] == expected.data[i]) continue;
    const auto show = [&](const auto& reals, const Array& array) {
      return reals ? std::to_string((*reals)[i]) : std::to_string(static_cast<int>(array.data[i]));
    };
    return words + "; " + (numbers ? "element " : "byte ") + std::to_string(i) + " is " + show(numbers, got) +
           ", expected " + show(wanted, expected);
  }
  return words;
}

RunOptions options_for(const Case& of, std::size_t set, KernelSet kernels) {
  RunOptions options{.kernels = kernels,
                     .check = set == 0 ? RunCheck::tensors : RunCheck::none,
                     .random_weights = of.random_weights};
  for (std::size_t i = 0; i < of.inputs.size(); ++i)
    options.inputs[of.inputs[i]] = array_of(of, set, "input", i);
  return options;
}

/// Compares the outputs of one set; the largest difference.
double compare_set(const Case& of, std::size_t set, const RunResult& result) {
  if (result.fault) ADD_FAILURE() << of.name << " set " << set << ": " << result.fault->what;
  if (result.outputs.size() != of.outputs.size()) {
    ADD_FAILURE() << of.name << " set " << set << ": " << result.outputs.size() << " outputs, expected "
                  << of.outputs.size();
    return std::numeric_limits<double>::infinity();
  }
  double worst = 0;
  for (std::size_t i = 0; i < of.outputs.size(); ++i) {
    EXPECT_EQ(result.outputs[i].name, of.outputs[i]) << of.name;
    const Array expected = array_of(of, set, "output", i);
    const Array& got = result.outputs[i].array;
    const double difference = difference_of(got, expected);
    EXPECT_TRUE(is_close(difference, expected.dtype))
        << of.name << " set " << set << " output " << of.outputs[i] << " is off by " << difference << ": "
        << first_difference(got, expected);
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

/// Cases that are rejected before they run, and words of the message that says why.
const std::map<std::string, std::string> rejections = {
    {"ort_resize_antialias", "antialias"},
    {"ort_scan", "it goes along axis 1, expected 0"},
};

/// Runs sets of a case inside a plan: the largest difference.
double run_sets(const Case& it, std::size_t sets, KernelSet kernels, Alias alias) {
  const Network network = read_network(it.model);
  const PlanResult planned = make_plan(network.input, {.alias = alias});
  EXPECT_TRUE(planned.faults.empty()) << it.name;
  const Runner runner(network, {.kernels = kernels, .random_weights = it.random_weights});
  double worst = 0;
  for (std::size_t set = 0; set < sets; ++set) {
    const RunResult result = runner.run(planned.plan, options_for(it, set, kernels));
    const double difference = compare_set(it, set, result);
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

/// Prints a line of the table.
void run_case(const std::filesystem::path& folder, std::size_t most_sets, KernelSet kernels, Alias alias) {
  const Case it = read_case(folder);
  const auto rejection = rejections.find(it.name);
  const std::size_t sets = std::min(it.sets, most_sets);
  try {
    const double worst = run_sets(it, sets, kernels, alias);
    EXPECT_EQ(rejection, rejections.end()) << it.name << " can be run now: no longer a rejection";
    std::cout << it.name << std::string(it.name.size() < 32 ? 32 - it.name.size() : 1, ' ') << sets
              << " sets  " << worst << '\n';
  } catch (const std::exception& error) {
    const bool is_expected = rejection != rejections.end() &&
                             std::string_view(error.what()).find(rejection->second) != std::string_view::npos;
    EXPECT_TRUE(is_expected) << it.name << ": " << error.what();
  }
}

using Parameters = std::tuple<KernelSet, Alias>;

std::string words_for(const Parameters& parameters) {
  const std::map<Alias, std::string> aliases = {
      {Alias::none, "None"}, {Alias::automatic, "Auto"}, {Alias::all, "All"}};
  return (std::get<KernelSet>(parameters) == KernelSet::fast ? "Fast" : "Plain") +
         aliases.at(std::get<Alias>(parameters));
}

const auto every_way = ::testing::Combine(::testing::Values(KernelSet::fast, KernelSet::plain),
                                          ::testing::Values(Alias::none, Alias::automatic, Alias::all));

class OnnxRuntimeTest : public ::testing::TestWithParam<Parameters> {
 protected:
  /// `heavy`: words in the names of cases that plain kernels would take too long for.
  void run_all(const std::string& prefix, std::size_t most_sets, const std::vector<std::string>& others,
               const std::vector<std::string>& heavy) {
    const auto [kernels, alias] = GetParam();
    const auto folders = folders_of(prefix);
    if (folders.empty())
      GTEST_SKIP() << "no cases " << prefix << "* in " << STOWAGE_ORACLE_DATA << "; see scripts/oracles.sh";
    for (const auto& folder : folders) {
      const std::string name = folder.filename().string();
      const auto is_in = [&](const std::string& word) { return name.find(word) != std::string::npos; };
      if (std::any_of(others.begin(), others.end(), is_in)) continue;
      const bool is_large = !heavy.empty() && name.find("squeezenet") == std::string::npos;
      if (testing::is_in_a_hurry() && is_large) continue;
      if (kernels == KernelSet::plain && std::any_of(heavy.begin(), heavy.end(), is_in)) continue;
      run_case(folder, most_sets, kernels, alias);
    }
  }
};

TEST_P(OnnxRuntimeTest, SmallNetworks) { run_all("ort_", all_sets, {"ort_light_", "ort_published_"}, {}); }

// With random weights: those of the files are all the same, and would hide most mistakes.
TEST_P(OnnxRuntimeTest, Classifiers) {
  const auto [kernels, alias] = GetParam();
  if (alias != Alias::automatic && !testing::has_time()) GTEST_SKIP() << "SmallNetworks share in all ways";
  run_all("ort_light_", kernels == KernelSet::fast || testing::has_time() ? all_sets : 1, {},
          {"alexnet", "vgg19"});
}

class PublishedOutputTest : public OnnxRuntimeTest {};

TEST_P(PublishedOutputTest, Classifiers) { run_all("ort_published_", all_sets, {}, {"alexnet", "vgg19"}); }

INSTANTIATE_TEST_SUITE_P(All, OnnxRuntimeTest, every_way,
                         [](const auto& given) { return words_for(given.param); });
INSTANTIATE_TEST_SUITE_P(All, PublishedOutputTest,
                         ::testing::Combine(::testing::Values(KernelSet::fast, KernelSet::plain),
                                            ::testing::Values(Alias::automatic)),
                         [](const auto& given) { return words_for(given.param); });

}  // namespace
}  // namespace stowage
