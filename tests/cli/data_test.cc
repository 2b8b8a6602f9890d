// Real models and real lists, through the program, against numbers of other tools and a naive check.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "long_tests.h"
#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;

/// What TFLite Micro's greedy planner needs for a model, and the most bytes alive in its order.
struct Peer {
  std::string_view model;
  std::int64_t greedy = 0;
  std::int64_t max_load = 0;
  bool has_scratch = false;  ///< Then its numbers count memory that is in no model file.
};

constexpr std::array<Peer, 12> peers{{{"person_detect", 55296, 55296},
                                      {"vww_96_int8", 73728, 55296},
                                      {"vww_96_float", 294912, 221184},
                                      {"pretrainedResnet_quant", 49152, 49152},
                                      {"kws_ref_model", 16000, 16000},
                                      {"ad01_int8", 768, 768},
                                      {"micro_speech_quantized", 5968, 5968},
                                      {"audio_preprocessor_int8", 3040, 3040, true},
                                      {"keyword_scrambled_8bit", 672, 672, true},
                                      {"trained_lstm_int8", 1536, 1536, true},
                                      {"mobilenet_v2_int8_224", 2451840, 2451840, true},
                                      {"hello_world_int8", 32, 32}}};

std::vector<std::filesystem::path> files_in(const char* folder, const std::string& extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(STOWAGE_DATA_DIR) / folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool has_data() { return std::filesystem::is_directory(STOWAGE_DATA_DIR); }

/// Plans in the file's order without aliases, verifies, and returns the plan.
json plan_of(const std::filesystem::path& file) {
  const TemporaryDirectory directory;
  const ProcessResult planned =
      run_stowage(directory.path(), {"plan", std::filesystem::absolute(file).string(), "--order", "keep",
                                     "--alias", "none", "--time-limit", "0.3", "-o", "plan.json"});
  EXPECT_EQ(planned.status, 0) << planned.errors;
  const ProcessResult verified = run_stowage(
      directory.path(), {"verify", "plan.json", "--model", std::filesystem::absolute(file).string()});
  EXPECT_EQ(verified.status, 0) << verified.output << verified.errors;
  return json::parse(directory.read("plan.json"));
}

/// Bytes [begin, end) held from lower to upper.
struct Held {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string id{};
};

std::vector<Held> held_in(const json& plan) {
  std::vector<Held> held;
  for (const json& buffer : plan.at("buffers")) {
    const auto offset = buffer.at("offset").get<std::int64_t>();
    for (const json& piece : buffer.at("pieces")) {
      const std::int64_t begin = offset + piece.at("offset").get<std::int64_t>();
      held.push_back({piece.at("lower"), piece.at("upper"), begin,
                      begin + piece.at("size").get<std::int64_t>(), buffer.at("id")});
    }
  }
  return held;
}

/// Compares all pairs that are alive at the same time.
void expect_no_overlaps(std::vector<Held> held) {
  std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) { return a.lower < b.lower; });
  for (std::size_t i = 0; i < held.size(); ++i) {
    for (std::size_t j = i + 1; j < held.size() && held[j].lower < held[i].upper; ++j) {
      const bool is_alive = held[j].lower < held[j].upper;
      const bool meets = std::max(held[i].begin, held[j].begin) < std::min(held[i].end, held[j].end);
      ASSERT_FALSE(is_alive && meets) << held[i].id << " and " << held[j].id;
    }
  }
}

/// The most bytes held at one position.
std::int64_t max_load_of(const std::vector<Held>& held) {
  std::map<std::int64_t, std::int64_t> changes;
  for (const Held& it : held) {
    changes[it.lower] += it.end - it.begin;
    changes[it.upper] -= it.end - it.begin;
  }
  std::int64_t load = 0;
  std::int64_t most = 0;
  for (const auto& [at, change] : changes) {
    load += change;
    most = std::max(most, load);
  }
  return most;
}

/// What a consumer can check from the file alone.
void expect_sound(const json& plan) {
  ASSERT_EQ(plan.at("memories").size(), 1);
  const json& memory = plan.at("memories").at(0);
  std::int64_t peak = 0;
  for (const json& buffer : plan.at("buffers")) {
    const auto offset = buffer.at("offset").get<std::int64_t>();
    const auto alignment = buffer.at("alignment").get<std::int64_t>();
    EXPECT_EQ(buffer.at("memory"), memory.at("name"));
    EXPECT_EQ(buffer.at("clock"), 0);
    EXPECT_GE(offset, 0);
    EXPECT_EQ(offset % alignment, 0) << buffer.at("id");
    EXPECT_EQ(memory.at("alignment").get<std::int64_t>() % alignment, 0) << buffer.at("id");
    peak = std::max(peak, offset + buffer.at("size").get<std::int64_t>());
  }
  const json& summary = plan.at("summary");
  EXPECT_EQ(summary.at("peak"), peak);
  EXPECT_EQ(memory.at("peak"), peak);
  EXPECT_EQ(memory.at("lower_bound"), summary.at("lower_bound"));
  EXPECT_LE(summary.at("lower_bound"), peak);
  EXPECT_LE(peak, summary.at("naive"));
  EXPECT_EQ(plan.at("claims").at(0).at("scope"), "offsets");
  EXPECT_EQ(plan.at("claims").at(0).at("proven_optimal"), summary.at("lower_bound") == peak);
  expect_no_overlaps(held_in(plan));
}

/// Every tensor that is neither weight nor instruction is in the arena, at its own place.
void expect_all_tensors_placed(const json& plan) {
  std::map<std::string, const json*> buffers;
  for (const json& buffer : plan.at("buffers")) buffers[buffer.at("id")] = &buffer;
  std::map<std::string, int> tensors_in;
  std::int64_t naive = 0;
  for (const json& tensor : plan.at("tensors")) {
    const bool is_constant = tensor.at("kind") == "weight" || tensor.at("kind") == "instruction";
    if (is_constant) {
      EXPECT_TRUE(tensor.at("views").empty()) << tensor.at("name");
    }
    if (tensor.at("views").empty()) continue;
    const std::string id = tensor.at("views").at(0).at("buffer");
    const json& buffer = *buffers.at(id);
    ++tensors_in[id];
    naive += buffer.at("size").get<std::int64_t>();
    const auto alignment = buffer.at("alignment").get<std::int64_t>();
    const auto bytes = tensor.at("bytes").get<std::int64_t>();
    EXPECT_EQ(buffer.at("size"), (bytes + alignment - 1) / alignment * alignment) << tensor.at("name");
    EXPECT_EQ(buffer.at("kind"), tensor.at("kind"));
    for (const json& view : tensor.at("views")) {
      EXPECT_EQ(view.at("buffer"), id);
      EXPECT_LT(view.at("lower"), view.at("upper"));
    }
  }
  EXPECT_EQ(tensors_in.size(), plan.at("buffers").size());
  for (const auto& [id, count] : tensors_in) EXPECT_EQ(count, 1) << id;
  EXPECT_EQ(plan.at("summary").at("naive"), naive);
  EXPECT_EQ(plan.at("copies_removed").at("count"), 0);
}

TEST(Data, ModelsArePlanned) {
  if (!has_data()) GTEST_SKIP() << "there is no folder " << STOWAGE_DATA_DIR;
  auto files = files_in("models", ".onnx");
  const auto more = files_in("models", ".tflite");
  files.insert(files.end(), more.begin(), more.end());
  EXPECT_GE(files.size(), 20);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    const json plan = plan_of(file);
    expect_sound(plan);
    expect_all_tensors_placed(plan);
    const bool is_tflite = file.extension() == ".tflite";
    EXPECT_EQ(plan.at("memories").at(0).at("alignment"), is_tflite ? 16 : 64);
    EXPECT_GE(plan.at("summary").at("peak"), max_load_of(held_in(plan)));
    EXPECT_FALSE(plan.at("clocks").at(0).at("steps").empty());
    EXPECT_EQ(plan.at("summary").at("order"), "keep");
  }
}

TEST(Data, TfliteModelsNeedNoMoreThanWithTfliteMicro) {
  if (!has_data()) GTEST_SKIP() << "there is no folder " << STOWAGE_DATA_DIR;
  for (const Peer& peer : peers) {
    SCOPED_TRACE(peer.model);
    const std::filesystem::path folder(STOWAGE_DATA_DIR);
    const json summary =
        plan_of(folder / "models/tflite" / (std::string(peer.model) + ".tflite")).at("summary");
    EXPECT_LE(summary.at("peak"), peer.greedy);
    if (!peer.has_scratch) {
      EXPECT_EQ(summary.at("lower_bound"), peer.max_load);
    }
  }
}

/// A list whose columns are id, lower, upper, size.
std::vector<Held> listed_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  EXPECT_EQ(line.substr(0, line.find('\r')), "id,lower,upper,size");
  std::vector<Held> listed;
  while (std::getline(stream, line)) {
    std::istringstream fields(line);
    std::string id;
    std::array<std::int64_t, 3> numbers{};
    std::getline(fields, id, ',');
    for (std::int64_t& number : numbers) {
      std::string text;
      std::getline(fields, text, ',');
      number = std::stoll(text);
    }
    listed.push_back({numbers[0], numbers[1], 0, numbers[2], id});
  }
  return listed;
}

TEST(Data, ListsArePlanned) {
  if (!has_data()) GTEST_SKIP() << "there is no folder " << STOWAGE_DATA_DIR;
  const auto files = files_in("packing", ".csv");
  EXPECT_GE(files.size(), 10);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    const std::vector<Held> listed = listed_in(file);
    if (testing::is_in_a_hurry() && listed.size() > 2000) continue;
    const json plan = plan_of(file);
    expect_sound(plan);
    ASSERT_EQ(plan.at("buffers").size(), listed.size());
    std::int64_t naive = 0;
    for (std::size_t b = 0; b < listed.size(); ++b) {
      const json& buffer = plan.at("buffers").at(b);
      const json life{
          {"offset", 0}, {"size", listed[b].end}, {"lower", listed[b].lower}, {"upper", listed[b].upper}};
      ASSERT_EQ(buffer.at("id"), listed[b].id);
      ASSERT_EQ(buffer.at("size"), listed[b].end);
      ASSERT_EQ(buffer.at("pieces"), json::array({life}));
      naive += listed[b].end;
    }
    EXPECT_EQ(plan.at("summary").at("naive"), naive);
    EXPECT_GE(plan.at("summary").at("peak"), max_load_of(listed));
    EXPECT_GE(plan.at("summary").at("lower_bound"), max_load_of(listed));
    EXPECT_EQ(plan.at("models").at(0).at("format"), "csv");
  }
}

/// A model or list under every strategy; the program has each plan checked and fails if one is wrong.
json compared(const std::filesystem::path& file, const std::vector<std::string>& more) {
  const TemporaryDirectory directory;
  std::vector<std::string> arguments{"compare", std::filesystem::absolute(file).string(), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProcessResult result = run_stowage(directory.path(), arguments);
  EXPECT_EQ(result.status, 0) << result.errors;
  return json::parse(result.output).at("strategies");
}

TEST(Data, EveryStrategyServesEveryModelThatSharesAllItMay) {
  if (!has_data()) GTEST_SKIP() << "there is no folder " << STOWAGE_DATA_DIR;
  auto files = files_in("models", ".onnx");
  const auto more = files_in("models", ".tflite");
  files.insert(files.end(), more.begin(), more.end());
  for (const auto& file : files) {
    const json rows = compared(file, {"--alias", "all", "--effort", "50"});
    for (const json& row : rows)
      EXPECT_EQ(row.at("applies"), row.at("strategy") != "levels") << file.filename() << " " << row;
  }
}

TEST(Data, EveryStrategyServesEveryList) {
  if (!has_data()) GTEST_SKIP() << "there is no folder " << STOWAGE_DATA_DIR;
  for (const auto& file : files_in("packing", ".csv")) {
    if (testing::is_in_a_hurry() && listed_in(file).size() > 2000) continue;
    const json rows = compared(file, {"--time-limit", testing::has_time() ? "1" : "0.2"});
    for (const json& row : rows) {
      if (row.at("strategy") == "exact") continue;  // which says that some are too large
      EXPECT_EQ(row.at("applies"), row.at("strategy") != "levels") << file.filename() << " " << row;
    }
  }
}

TEST(Data, NetworksLoseEveryCopyThatIsPermitted) {
  if (!has_data()) GTEST_SKIP() << "there is no folder " << STOWAGE_DATA_DIR;
  // Operands of concats whose output has 1 before the axis, reshapes and dropouts: all there are.
  const std::map<std::string, std::pair<int, std::int64_t>> copies{{"light_densenet121", {116, 40692736}},
                                                                   {"light_inception_v1", {38, 4379328}},
                                                                   {"light_squeezenet", {17, 6148096}}};
  for (const auto& [name, expected] : copies) {
    SCOPED_TRACE(name);
    const auto model = std::filesystem::absolute(STOWAGE_DATA_DIR) / "models/onnx" / (name + ".onnx");
    std::map<std::string, json> plans;
    for (const char* const alias : {"none", "auto", "all"}) {
      const TemporaryDirectory directory;
      const ProcessResult planned =
          run_stowage(directory.path(), {"plan", model.string(), "--alias", alias, "-o", "plan.json"});
      ASSERT_EQ(planned.status, 0) << planned.errors;
      const ProcessResult verified =
          run_stowage(directory.path(), {"verify", "plan.json", "--model", model.string()});
      EXPECT_EQ(verified.status, 0) << verified.output;
      plans[alias] = json::parse(directory.read("plan.json"));
    }
    const json removed{{"count", expected.first}, {"bytes", expected.second}};
    EXPECT_EQ(plans["all"].at("copies_removed"), removed);
    EXPECT_TRUE(plans["all"].at("copies_kept").empty());
    EXPECT_EQ(plans["none"].at("copies_kept").size(), static_cast<std::size_t>(expected.first));
    EXPECT_LE(plans["auto"].at("summary").at("peak"), plans["none"].at("summary").at("peak"));
  }
}

}  // namespace
}  // namespace stowage
