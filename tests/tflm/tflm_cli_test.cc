// --tflite, --header and inspect as a user meets them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.h"
#include "stowage/import.h"
#include "stowage/tflm.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;
using testing::TfliteTensor;

TfliteTensor bytes(std::int32_t size, const std::string& name) {
  return {.name = name, .shape = {size}, .dtype = DType::int8};
}

/// The runtime's own plan of this is larger than need be.
std::string model() {
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {bytes(64, "in"), bytes(32, "a"), bytes(48, "b"), bytes(80, "c"),
                                  bytes(48, "d"), bytes(16, "out")},
                      .operators = {{.type = "CONV_2D", .inputs = {0}, .outputs = {1}},
                                    {.type = "CONV_2D", .inputs = {1}, .outputs = {2}},
                                    {.type = "CONV_2D", .inputs = {2}, .outputs = {3}},
                                    {.type = "CONV_2D", .inputs = {3}, .outputs = {4}},
                                    {.type = "CONV_2D", .inputs = {4}, .outputs = {5}}},
                      .inputs = {0},
                      .outputs = {5}}}});
}

std::string accelerated() {
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {bytes(64, "in"), bytes(64, "out")},
                      .operators = {{.type = "ethos-u", .inputs = {0}, .outputs = {1}}},
                      .inputs = {0},
                      .outputs = {1}}}});
}

TEST(TflmCli, WritesOneFileForOneModel) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  const ProcessResult result =
      run_stowage(directory.path(), {"plan", "m.tflite", "--tflite", "planned.tflite"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(result.output.find("written      planned.tflite\ntflm head    128 bytes"), std::string::npos)
      << result.output;
  const std::string planned = directory.read("planned.tflite");
  EXPECT_TRUE(planned.ends_with(model()));
  const Graph graph = std::get<Graph>(parse_input(planned, "planned.tflite").content);
  EXPECT_EQ(tflm_head(graph, read_offline_offsets(planned).value()), 128);
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"m.tflite", "planned.tflite"}));
}

TEST(TflmCli, WritesAFileForEachOfSeveralModels) {
  const TemporaryDirectory directory;
  directory.write("a.tflite", model());
  directory.write("b.tflite", model());
  const ProcessResult result = run_stowage(
      directory.path(), {"plan", "a.tflite", "other=b.tflite", "--tflite", "out", "--feed", "a.out=other.d"});
  EXPECT_EQ(result.status, 2);  // d is no input
  const ProcessResult good =
      run_stowage(directory.path(), {"plan", "a.tflite", "other=b.tflite", "--tflite", "out"});
  EXPECT_EQ(good.status, 0) << good.errors;
  for (const char* const file : {"out/a.tflite", "out/other.tflite"})
    EXPECT_TRUE(read_offline_offsets(directory.read(file)).has_value()) << file;
  const ProcessResult at_once = run_stowage(
      directory.path(), {"plan", "a.tflite", "other=b.tflite", "--tflite", "out", "--run", "a | other"});
  EXPECT_EQ(at_once.status, 2);
  EXPECT_NE(at_once.errors.find("one after the other"), std::string::npos) << at_once.errors;
}

TEST(TflmCli, AgreesOnWhatIsPassedBetweenModels) {
  const TemporaryDirectory directory;
  directory.write(
      "a.tflite",
      testing::tflite_model({.subgraphs = {{.tensors = {bytes(32, "x"), bytes(64, "y")},
                                            .operators = {{.type = "CONV_2D", .inputs = {0}, .outputs = {1}}},
                                            .inputs = {0},
                                            .outputs = {1}}}}));
  directory.write("b.tflite", model());
  const std::vector<std::string> arguments{"plan", "a.tflite", "b.tflite", "--tflite",
                                           "out",  "--feed",   "a.y=b.in"};
  const ProcessResult good = run_stowage(directory.path(), arguments);
  EXPECT_EQ(good.status, 0) << good.errors;
  const OfflineOffsets a = read_offline_offsets(directory.read("out/a.tflite")).value();
  const OfflineOffsets b = read_offline_offsets(directory.read("out/b.tflite")).value();
  EXPECT_EQ(a[1], b[0]);
  EXPECT_TRUE(a[1].has_value());
  directory.write(
      "a.tflite",
      testing::tflite_model({.subgraphs = {{.tensors = {bytes(32, "x"), bytes(64, "y")},
                                            .operators = {{.type = "MEAN", .inputs = {0}, .outputs = {1}}},
                                            .inputs = {0},
                                            .outputs = {1}}}}));
  const ProcessResult unsafe = run_stowage(directory.path(), arguments);
  EXPECT_EQ(unsafe.status, 2);
  EXPECT_NE(unsafe.errors.find("--feed"), std::string::npos) << unsafe.errors;
  // Not fed, a's output is there until b has run, unless it is taken before.
  std::vector<std::string> apart{"plan", "a.tflite", "b.tflite", "--tflite", "out"};
  const ProcessResult kept = run_stowage(directory.path(), apart);
  EXPECT_EQ(kept.status, 2);
  EXPECT_NE(kept.errors.find("--release"), std::string::npos) << kept.errors;
  apart.insert(apart.end(), {"--release", "a.y"});
  const ProcessResult taken = run_stowage(directory.path(), apart);
  EXPECT_EQ(taken.status, 0) << taken.errors;
}

TEST(TflmCli, RefusesWhatTheRuntimeCannotFollow) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  directory.write("u.tflite", accelerated());
  directory.write("list.csv", "id,lower,upper,size\na,0,2,64\n");
  const auto status = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "plan");
    arguments.insert(arguments.end(), {"--tflite", "out.tflite"});
    return run_stowage(directory.path(), arguments).status;
  };
  EXPECT_EQ(status({"m.tflite", "--io", "external"}), 2);
  EXPECT_EQ(status({"m.tflite", "--memory", "a=100", "--memory", "b"}), 2);
  EXPECT_EQ(status({"m.tflite", "--align", "8"}), 2);
  EXPECT_EQ(status({"m.tflite", "--state", "out=in"}), 2);
  EXPECT_EQ(status({"m.tflite", "--shape", "in=128"}), 2);
  EXPECT_EQ(status({"u.tflite"}), 2);
  EXPECT_EQ(status({"list.csv"}), 2);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "m.tflite", "--tflite", "m.tflite"}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "m.tflite", "--tflite", "."}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "m.tflite", "--prefix", "x"}).status, 2);
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"list.csv", "m.tflite", "u.tflite"}));
  EXPECT_EQ(status({"m.tflite", "--align", "64"}), 0);
}

TEST(TflmCli, WritesHeaders) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  EXPECT_EQ(
      run_stowage(directory.path(), {"plan", "m.tflite", "--header", "plan.h", "--prefix", "my"}).status, 0);
  const std::string header = directory.read("plan.h");
  EXPECT_NE(header.find("#define MY_ARENA_SIZE 128u"), std::string::npos);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "m.tflite", "--header", "p.h", "--prefix", "1"}).status,
            2);
  directory.write("list.csv", "id,lower,upper,size\na,0,2,64\n");
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "list.csv", "--header", "p.h"}).status, 2);
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"list.csv", "m.tflite", "plan.h"}));
}

TEST(TflmCli, InspectsFiles) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  const ProcessResult none = run_stowage(directory.path(), {"inspect", "m.tflite"});
  EXPECT_EQ(none.status, 0) << none.errors;
  EXPECT_TRUE(none.output.starts_with("plan         none\n")) << none.output;
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "m.tflite", "--tflite", "p.tflite"}).status, 0);
  const ProcessResult ours = run_stowage(directory.path(), {"inspect", "p.tflite", "--json"});
  EXPECT_EQ(ours.status, 0);
  const auto json = nlohmann::json::parse(ours.output);
  EXPECT_EQ(json["head"], 128);
  EXPECT_EQ(json["stowage_head"], 128);
  EXPECT_GE(json["own_head"], 128);
  EXPECT_EQ(json["offsets"].size(), 6U);
  directory.write("bad.tflite", with_offline_plan(model(), {.offsets = {0, 0, 0, 0, 0, 0}}));
  const ProcessResult bad = run_stowage(directory.path(), {"inspect", "bad.tflite"});
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.output.find("fault"), std::string::npos);
  directory.write("u.tflite", accelerated());
  EXPECT_EQ(run_stowage(directory.path(), {"inspect", "u.tflite"}).status, 0);
  directory.write("list.csv", "id,lower,upper,size\na,0,2,64\n");
  EXPECT_EQ(run_stowage(directory.path(), {"inspect", "list.csv"}).status, 2);
  directory.write("cut.tflite", model().substr(0, 100));
  EXPECT_EQ(run_stowage(directory.path(), {"inspect", "cut.tflite"}).status, 3);
}

}  // namespace
}  // namespace stowage
