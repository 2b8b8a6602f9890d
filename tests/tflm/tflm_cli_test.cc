// `stowage tflm`, headers and inspect as a user meets them.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
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
  const ProcessResult result = run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "planned.tflite"});
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
      directory.path(), {"tflm", "a.tflite", "other=b.tflite", "-o", "out", "--feed", "a.out=other.d"});
  EXPECT_EQ(result.status, 2);  // d is no input
  const ProcessResult good =
      run_stowage(directory.path(), {"tflm", "a.tflite", "other=b.tflite", "-o", "out"});
  EXPECT_EQ(good.status, 0) << good.errors;
  for (const char* const file : {"out/a.tflite", "out/other.tflite"})
    EXPECT_TRUE(read_offline_offsets(directory.read(file)).has_value()) << file;
  const ProcessResult at_once = run_stowage(
      directory.path(), {"tflm", "a.tflite", "other=b.tflite", "-o", "out", "--run", "a | other"});
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
  const std::vector<std::string> arguments{"tflm", "a.tflite", "b.tflite", "-o", "out", "--feed", "a.y=b.in"};
  const ProcessResult good = run_stowage(directory.path(), arguments);
  EXPECT_EQ(good.status, 0) << good.errors;
  const OfflineOffsets a = read_offline_offsets(directory.read("out/a.tflite")).value();
  const OfflineOffsets b = read_offline_offsets(directory.read("out/b.tflite")).value();
  EXPECT_EQ(a[1], b[0]);
  EXPECT_TRUE(a[1].has_value());
  directory.write(
      "a.tflite",
      testing::tflite_model({.subgraphs = {{.tensors = {bytes(32, "x"), bytes(64, "y")},
                                            .operators = {{.type = "mine", .inputs = {0}, .outputs = {1}}},
                                            .inputs = {0},
                                            .outputs = {1}}}}));
  const ProcessResult unsafe = run_stowage(directory.path(), arguments);
  EXPECT_EQ(unsafe.status, 2);
  EXPECT_NE(unsafe.errors.find("--feed"), std::string::npos) << unsafe.errors;
  // Not fed, a's output is there until b has run, unless it is taken before.
  std::vector<std::string> apart{"tflm", "a.tflite", "b.tflite", "-o", "out"};
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
    std::vector<std::string> earlier = arguments;
    earlier.insert(earlier.begin(), "plan");
    earlier.insert(earlier.end(), {"--tflite", "earlier.tflite"});
    arguments.insert(arguments.begin(), "tflm");
    arguments.insert(arguments.end(), {"-o", "out.tflite"});
    const auto found = run_stowage(directory.path(), arguments).status;
    EXPECT_EQ(run_stowage(directory.path(), earlier).status, found);
    return found;
  };
  EXPECT_EQ(status({"m.tflite", "--io", "external"}), 2);
  EXPECT_EQ(status({"m.tflite", "--memory", "a=100", "--memory", "b"}), 2);
  EXPECT_EQ(status({"m.tflite", "--align", "8"}), 2);
  EXPECT_EQ(status({"m.tflite", "--state", "out=in"}), 2);
  EXPECT_EQ(status({"m.tflite", "--shape", "in=128"}), 2);
  EXPECT_EQ(status({"u.tflite"}), 2);
  EXPECT_EQ(status({"list.csv"}), 2);
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "m.tflite"}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "."}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "--prefix", "x"}).status, 2);
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"list.csv", "m.tflite", "u.tflite"}));
  EXPECT_EQ(status({"m.tflite", "--align", "64"}), 0);
}

TEST(TflmCli, WritesHeaders) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "m.tflite", "-o", "plan.h", "--prefix", "my"}).status, 0);
  const std::string header = directory.read("plan.h");
  EXPECT_NE(header.find("#define MY_ARENA_SIZE 128u"), std::string::npos);
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "m.tflite", "-o", "p.h", "--prefix", "1"}).status, 2);
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"m.tflite", "plan.h"}));
}

TEST(TflmCli, InspectsFiles) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  const ProcessResult none = run_stowage(directory.path(), {"inspect", "m.tflite"});
  EXPECT_EQ(none.status, 0) << none.errors;
  EXPECT_TRUE(
      none.output.starts_with("inputs       in int8[64]\noutputs      out int8[16]\nplan         none\n"))
      << none.output;
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "p.tflite"}).status, 0);
  const ProcessResult ours = run_stowage(directory.path(), {"inspect", "p.tflite", "--json"});
  EXPECT_EQ(ours.status, 0);
  const auto json = nlohmann::json::parse(ours.output);
  EXPECT_EQ(json["inputs"].dump(), R"([{"name":"in","type":"int8[64]"}])");
  EXPECT_EQ(json["outputs"].dump(), R"([{"name":"out","type":"int8[16]"}])");
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

/// Two branches that are best run one after the other; the file runs them in turns.
std::string branches(const std::string& asking) {
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {bytes(64, "in"), bytes(640, "a"), bytes(640, "b"), bytes(16, "c"),
                                  bytes(16, "d"), bytes(16, "e"), bytes(16, "out")},
                      .operators = {{.type = "ABS", .inputs = {0}, .outputs = {1}},
                                    {.type = "ABS", .inputs = {0}, .outputs = {2}},
                                    {.type = "ABS", .inputs = {1}, .outputs = {3}},
                                    {.type = "ABS", .inputs = {2}, .outputs = {4}},
                                    {.type = asking, .inputs = {3, 4}, .outputs = {5}},
                                    {.type = "ABS", .inputs = {5}, .outputs = {6}}},
                      .inputs = {0},
                      .outputs = {6}}}});
}

std::string row_of(const std::string& output, const std::string& name) {
  const std::size_t at = output.find("\n" + name);
  return at == std::string::npos ? "" : output.substr(at + 1, output.find('\n', at + 1) - at - 1);
}

TEST(TflmCli, OrdersOperatorsAnewByDefault) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", branches("ADD"));
  const ProcessResult found = run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "p.tflite"});
  EXPECT_EQ(found.status, 0) << found.errors;
  EXPECT_EQ(row_of(found.output, "tflm head"), "tflm head    720 bytes, 1344 without") << found.output;
  const ProcessResult kept =
      run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "p.tflite", "--order", "keep"});
  EXPECT_EQ(row_of(kept.output, "tflm head"), "tflm head    1344 bytes") << kept.output;
}

TEST(TflmCli, SaysWhyAnOrderCannotBeSearched) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", branches("mine"));
  directory.write("none.csv", "operator,bytes\n");
  directory.write("mine.csv", "operator,bytes\n4,0\n");
  std::vector<std::string> arguments{"tflm", "m.tflite", "-o", "p.tflite"};
  EXPECT_EQ(run_stowage(directory.path(), arguments).status, 0);
  arguments.insert(arguments.end(), {"--order", "search"});
  const ProcessResult refused = run_stowage(directory.path(), arguments);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.errors.find("--scratch"), std::string::npos) << refused.errors;
  arguments.insert(arguments.end(), {"--scratch", "none.csv"});
  const ProcessResult incomplete = run_stowage(directory.path(), arguments);
  EXPECT_EQ(incomplete.status, 2);
  EXPECT_NE(incomplete.errors.find("mine"), std::string::npos) << incomplete.errors;
  arguments.back() = "mine.csv";
  const ProcessResult complete = run_stowage(directory.path(), arguments);
  EXPECT_EQ(complete.status, 0) << complete.errors;
  EXPECT_EQ(row_of(complete.output, "tflm head"), "tflm head    720 bytes, 1344 without") << complete.output;
}

TEST(TflmCli, CountsTheWholeArenaInTheCapacity) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  std::vector<std::string> arguments{"tflm", "m.tflite", "-o", "p.tflite"};
  const ProcessResult free = run_stowage(directory.path(), arguments);
  const std::string row = row_of(free.output, "tensor_arena");
  ASSERT_FALSE(row.empty()) << free.output;
  const long size = std::stol(row.substr(row.find_first_of("0123456789")));
  EXPECT_GT(size, 128);
  arguments.insert(arguments.end(), {"--capacity", std::to_string(size)});
  EXPECT_EQ(run_stowage(directory.path(), arguments).status, 0);
  arguments.back() = std::to_string(size - 1);
  const ProcessResult tight = run_stowage(directory.path(), arguments);
  EXPECT_EQ(tight.status, 1);
  EXPECT_NE(tight.errors.find(std::to_string(size) + " bytes, 1 more"), std::string::npos) << tight.errors;
}

TEST(TflmCli, InspectsDamagedPlansAndFolders) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "models");
  const auto damaged = [&](const OfflineOffsets& offsets, std::size_t word, char value) {
    std::string file = with_offline_plan(model(), {.offsets = offsets});
    if (word < 3) {
      // The list begins with version 1, one subgraph, six tensors.
      const std::string begin{"\1\0\0\0\1\0\0\0\6\0\0\0", 12};
      file[file.find(begin) + 4 * word] = value;
    }
    return file;
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {damaged({0, 64, 0, 1 << 20, 0, 64}, 3, 0), "all tensors one after"},
      {damaged({0, 64, 0, 2147483632, 0, 64}, 3, 0), "31 bits"},
      {damaged({0, 64, 0, 64, 0, 64}, 0, 7), "version 7"},
      {damaged({0, 64, 0, 64, 0, 64}, 1, 2), "number of subgraphs of 2"}};
  for (const auto& [file, expected] : cases) {
    directory.write("models/bad.tflite", file);
    const ProcessResult one = run_stowage(directory.path(), {"inspect", "models/bad.tflite"});
    EXPECT_EQ(one.status, 1) << expected;
    EXPECT_NE(one.output.find(expected), std::string::npos) << one.output;
  }
  directory.write("models/good.tflite", model());
  directory.write("models/cut.tflite", model().substr(0, 100));
  const ProcessResult all = run_stowage(directory.path(), {"inspect", "models"});
  EXPECT_EQ(all.status, 1);
  EXPECT_NE(all.output.find("good.tflite (no plan)"), std::string::npos) << all.output;
  EXPECT_NE(all.output.find("rejected"), std::string::npos) << all.output;
  const ProcessResult json = run_stowage(directory.path(), {"inspect", "models", "--json"});
  const auto document = nlohmann::json::parse(json.output);
  EXPECT_EQ(document["files"].size(), 2U);
  EXPECT_EQ(document["rejected"].size(), 1U);
}

TEST(TflmCli, OfTheEarlierVersionStillWorks) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  const ProcessResult ours = run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "a.tflite", "-o", "a.c",
                                                            "--strip", "--kernels", "cmsis-nn"});
  ASSERT_EQ(ours.status, 0) << ours.errors;
  EXPECT_EQ(ours.errors, "");
  const ProcessResult old =
      run_stowage(directory.path(), {"plan", "m.tflite", "--tflite", "b.tflite", "--buffer-plan", "b.c",
                                     "--strip", "--kernels", "cmsis-nn"});
  ASSERT_EQ(old.status, 0) << old.errors;
  EXPECT_EQ(directory.read("a.tflite"), directory.read("b.tflite"));
  EXPECT_EQ(directory.read("a.c"), directory.read("b.c"));
  EXPECT_NE(old.errors.find("--tflite is now stowage tflm -o FILE.tflite"), std::string::npos) << old.errors;
}

TEST(TflmCli, SaysTheArenaWithoutWritingAnything) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  const ProcessResult result = run_stowage(directory.path(), {"tflm", "m.tflite"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(row_of(result.output, "tensor_arena"), "");
  EXPECT_EQ(result.output.find("written"), std::string::npos) << result.output;
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"m.tflite"}));
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "two.c"}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "m.txt"}).status, 2);
  ASSERT_EQ(
      run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "1.tflite", "-o", "out/2.tflite"}).status, 0);
  EXPECT_EQ(directory.read("1.tflite"), directory.read("out/2.tflite"));
}

TEST(TflmCli, WritesTheArenaIntoTheHeader) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  std::vector<std::string> arguments{"tflm", "m.tflite", "-o", "p.tflite", "-o", "plan.h"};
  const ProcessResult result = run_stowage(directory.path(), arguments);
  ASSERT_EQ(result.status, 0) << result.errors;
  const std::string row = row_of(result.output, "tensor_arena");
  const std::size_t digits = row.find_first_of("0123456789");
  const std::string size = row.substr(digits, row.find(' ', digits) - digits);
  const std::string header = directory.read("plan.h");
  EXPECT_NE(header.find("#define STOWAGE_TENSOR_ARENA_SIZE " + size + "u\n"), std::string::npos) << row;
  EXPECT_NE(header.find("#define STOWAGE_ARENA_SIZE 128u\n"), std::string::npos);
  EXPECT_NE(header.find("#define STOWAGE_FILE_HASH 0x"), std::string::npos);
  EXPECT_NE(header.find("\"CONV_2D\""), std::string::npos);
  arguments.emplace_back("--no-names");
  ASSERT_EQ(run_stowage(directory.path(), arguments).status, 0);
  const std::string plain = directory.read("plan.h");
  EXPECT_EQ(plain.find("\"CONV_2D\""), std::string::npos);
  EXPECT_EQ(plain.find("\"out\""), std::string::npos);
  EXPECT_LT(plain.size(), header.size());
}

TEST(TflmCli, WritesABufferPlan) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", branches("ADD"));
  ASSERT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "offsets.tflite"}).status, 0);
  const ProcessResult result =
      run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "p.tflite", "-o", "plan.c", "--prefix", "my"});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(read_offline_offsets(directory.read("p.tflite")), std::nullopt);
  const OfflineOffsets offsets = read_offline_offsets(directory.read("offsets.tflite")).value();
  std::string expected = "const int32_t my_buffer_plan[] = {\n  7,";
  const std::string text = directory.read("plan.c");
  const std::size_t at = text.find(expected);
  ASSERT_NE(at, std::string::npos) << text;
  std::string list;
  for (const auto& offset : offsets) list += "  " + std::to_string(offset.value()) + ",\n";
  list[list.size() - 2] = '\n';
  EXPECT_NE(text.find(list.substr(0, list.size() - 1) + "};", at), std::string::npos) << text;
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "plan.c"}).status, 2);
}

TEST(TflmCli, StripsWhatTheRuntimeNeverReads) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  const ProcessResult result =
      run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "p.tflite", "--strip"});
  ASSERT_EQ(result.status, 0) << result.errors;
  const std::string stripped = directory.read("p.tflite");
  EXPECT_EQ(row_of(result.output, "file"), "file         " + std::to_string(stripped.size()) + " bytes, " +
                                               std::to_string(model().size()) + " before");
  const Graph before = std::get<Graph>(parse_input(model(), "m.tflite").content);
  Graph after = std::get<Graph>(parse_input(stripped, "m.tflite").content);
  for (TensorId t = 0; t < after.tensors.size(); ++t) {
    EXPECT_EQ(after.tensors[t].name, "");
    after.tensors[t].name = before.tensors[t].name;
  }
  EXPECT_EQ(after, before);
  EXPECT_EQ(tflm_head(after, read_offline_offsets(stripped).value()), 128);
  EXPECT_EQ(run_stowage(directory.path(), {"tflm", "m.tflite", "--strip"}).status, 2);
}

TEST(TflmCli, ATensorThatNothingUsesIsLeftOutOrNamed) {
  testing::TfliteTensor weight = bytes(1000, "old_weight");
  weight.data = std::string(1000, 'w');
  testing::TfliteTensor variable = bytes(2000, "old_state");
  variable.is_variable = true;
  const TemporaryDirectory directory;
  directory.write(
      "m.tflite",
      testing::tflite_model({.subgraphs = {{.tensors = {bytes(64, "in"), bytes(4000, "debug"), weight,
                                                        variable, bytes(32, "h"), bytes(16, "out")},
                                            .operators = {{.type = "CONV_2D", .inputs = {0}, .outputs = {4}},
                                                          {.type = "CONV_2D", .inputs = {4}, .outputs = {5}}},
                                            .inputs = {0},
                                            .outputs = {5}}}}));
  const std::vector<std::string> arguments{"tflm", "m.tflite", "-o", "p.tflite", "-o", "p.h"};
  const ProcessResult whole = run_stowage(directory.path(), arguments);
  ASSERT_EQ(whole.status, 0) << whole.errors;
  EXPECT_EQ(row_of(whole.output, "tflm head"), "tflm head    4000 bytes");
  const std::string reason = row_of(whole.output, "  unused");
  EXPECT_NE(reason.find("4000 bytes for tensor 'debug'"), std::string::npos) << whole.output;
  EXPECT_NE(reason.find("--strip leaves it out, for a head of 96 bytes"), std::string::npos) << whole.output;
  std::vector<std::string> stripping = arguments;
  stripping.emplace_back("--strip");
  const ProcessResult stripped = run_stowage(directory.path(), stripping);
  ASSERT_EQ(stripped.status, 0) << stripped.errors;
  EXPECT_EQ(row_of(stripped.output, "tflm head"), "tflm head    96 bytes");
  EXPECT_EQ(stripped.output.find("  unused"), std::string::npos) << stripped.output;
  const std::string file = directory.read("p.tflite");
  EXPECT_EQ(file.find("wwww"), std::string::npos) << "the data of a weight that nothing reads";
  const Graph graph = std::get<Graph>(parse_input(file, "p.tflite").content);
  ASSERT_EQ(graph.tensors.size(), 6U) << "others keep their numbers";
  for (const TensorId t : {1U, 2U, 3U}) EXPECT_EQ(graph.tensors[t].bytes, 0) << t;
  EXPECT_EQ(graph.tensors[0].bytes + graph.tensors[4].bytes + graph.tensors[5].bytes, 64 + 32 + 16);
  const OfflineOffsets offsets = read_offline_offsets(file).value();
  EXPECT_EQ(tflm_head(graph, offsets), 96);
  EXPECT_TRUE(check_offline_offsets(graph, offsets).empty());
  EXPECT_EQ(run_stowage(directory.path(), {"inspect", "p.tflite"}).status, 0);
}

TEST(TflmCli, SaysWhatTheBoundOfTheHeadIs) {
  const TemporaryDirectory directory;
  directory.write("m.tflite", model());
  const ProcessResult chain = run_stowage(directory.path(), {"tflm", "m.tflite", "-o", "p.tflite"});
  EXPECT_NE(chain.output.find("no offsets have less in this order\n"), std::string::npos) << chain.output;
  EXPECT_EQ(chain.output.find("the plan's bound is higher"), std::string::npos) << chain.output;
}

}  // namespace
}  // namespace stowage
