// `stowage run`: what it accepts, what it says, and what it leaves behind.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "import/arrays.h"
#include "onnx_models.h"
#include "process.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;

/// y = relu(x + x) reshaped, 4 floats: one operator in place, one copy that goes away.
class CliRun : public ::testing::Test {
 protected:
  CliRun() {
    const onnx::ModelProto model = testing::onnx_model(
        {.nodes = {testing::node("Add", {"x", "x"}, {"sum"}), testing::node("Relu", {"sum"}, {"r"}),
                   testing::node("Flatten", {"r"}, {"y"})},
         .inputs = {testing::tensor_value("x", {2, 2})},
         .outputs = {testing::tensor_value("y", {2, 2})}});
    directory_.write("m.onnx", model.SerializeAsString());
    write_input("x.npy", {2, 2}, {1, -2, 3, -4});
  }

  void write_input(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    Array array{.dtype = DType::float32, .shape = shape, .data = std::vector<std::byte>(4 * values.size())};
    std::memcpy(array.data.data(), values.data(), array.data.size());
    std::ostringstream out;
    write_npy(array, out);
    directory_.write(name, out.str());
  }

  ProcessResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "m.onnx"});
    return run_stowage(directory_.path(), arguments);
  }

  TemporaryDirectory directory_;
};

TEST_F(CliRun, ComputesOutputsFromFiles) {
  const ProcessResult result = run({"--input", "x=x.npy", "--save", "y=y.npy", "--check=all"});
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  const Array y = import::parse_npy(directory_.read("y.npy"));
  EXPECT_EQ(y.dtype, DType::float32);
  EXPECT_EQ(y.shape, (Shape{2, 2}));
  std::vector<float> values(4);
  std::memcpy(values.data(), y.data.data(), y.data.size());
  EXPECT_EQ(values, (std::vector<float>{2, 0, 6, 0}));
  EXPECT_NE(result.output.find("y float32[2,2], 0 to 6"), std::string::npos) << result.output;
}

/// A name that is wrong is said before its file is looked for.
TEST_F(CliRun, ChecksNamesOfInputsBeforeTheirFiles) {
  const ProcessResult wrong = run({"--input", "xx=missing.npy"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(
      wrong.errors.find("--input 'xx': the network has no such input, expected one of x; did you mean 'x'?"),
      std::string::npos)
      << wrong.errors;
  const ProcessResult generated = run_stowage(
      directory_.path(), {"generate", "m.onnx", "--input", "xx=missing.npy", "-o", "code", "--no-test"});
  EXPECT_EQ(generated.status, 2);
  EXPECT_NE(generated.errors.find("did you mean 'x'?"), std::string::npos) << generated.errors;
  const ProcessResult missing = run({"--input", "x=missing.npy"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_NE(missing.errors.find("missing.npy: cannot be read"), std::string::npos) << missing.errors;
}

TEST_F(CliRun, CallsModelsByTheirNames) {
  const ProcessResult result = run_stowage(
      directory_.path(), {"run", "eye=m.onnx", "--input", "eye.x=x.npy", "--save", "eye.y=y.npy", "--check"});
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  EXPECT_EQ(import::parse_npy(directory_.read("y.npy")).shape, (Shape{2, 2}));
  const auto errors_of_two = [&](const std::string& name) {
    const ProcessResult two =
        run_stowage(directory_.path(), {"run", "m.onnx", "ear=m.onnx", "--save", name + "=y.npy"});
    EXPECT_EQ(two.status, 2) << two.output;
    return two.errors;
  };
  EXPECT_NE(errors_of_two("y").find("--save: several models have an output 'y', expected MODEL.OUTPUT"),
            std::string::npos);
  EXPECT_NE(errors_of_two("eye.y").find("--save: the networks have no output 'eye.y'"), std::string::npos);
}

/// y = x + c, where c is an input with a value of zeros.
TEST_F(CliRun, TakesInputsThatTheFileGivesAValue) {
  const onnx::ModelProto model =
      testing::onnx_model({.nodes = {testing::node("Add", {"x", "c"}, {"y"})},
                           .inputs = {testing::tensor_value("x", {2, 2}), testing::tensor_value("c", {2, 2})},
                           .outputs = {testing::tensor_value("y", {2, 2})},
                           .initializers = {testing::zeros("c", {2, 2})}});
  directory_.write("m.onnx", model.SerializeAsString());
  const auto output = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--input", "x=x.npy", "--save", "y=y.npy", "--check=all"});
    const ProcessResult result = run(options);
    EXPECT_EQ(result.status, 0) << result.output << result.errors;
    std::vector<float> values(4);
    const Array y = import::parse_npy(directory_.read("y.npy"));
    std::memcpy(values.data(), y.data.data(), y.data.size());
    return values;
  };
  write_input("c.npy", {2, 2}, {10, 20, 30, 40});
  EXPECT_EQ(output({}), (std::vector<float>{1, -2, 3, -4}));
  EXPECT_EQ(output({"--input", "c=c.npy"}), (std::vector<float>{11, 18, 33, 36}));
  EXPECT_EQ(output({"--input", "m.c=c.npy"}), (std::vector<float>{11, 18, 33, 36}));
  EXPECT_EQ(output({"--shape", "c=2,2", "--input", "c=c.npy"}), (std::vector<float>{11, 18, 33, 36}));
  EXPECT_EQ(output({"--value", "c=0,0,0,1"}), (std::vector<float>{1, -2, 3, -3}));
  const ProcessResult planned =
      run_stowage(directory_.path(), {"plan", "m.onnx", "--shape", "c=2,2", "-o", "plan.json"});
  EXPECT_EQ(planned.status, 0) << planned.errors;
  EXPECT_EQ(output({"--plan", "plan.json", "--input", "c=c.npy"}), (std::vector<float>{11, 18, 33, 36}));
}

TEST_F(CliRun, SeedsDecideInputsThatAreNotGiven) {
  const auto output = [&](const std::string& seed) {
    EXPECT_EQ(run({"--seed", seed, "--save", "y=y.npy"}).status, 0);
    return directory_.read("y.npy");
  };
  const std::string first = output("1");
  EXPECT_EQ(first, output("1"));
  EXPECT_NE(first, output("2"));
}

TEST_F(CliRun, ReportsAsJson) {
  for (const std::string check : {"--check", "--check=all"}) {
    const ProcessResult result = run({"--json", check, "--align", "4"});
    ASSERT_EQ(result.status, 0) << result.errors;
    const json report = json::parse(result.output);
    EXPECT_EQ(report.at("format"), "stowage-run");
    EXPECT_EQ(report.at("verdict"), "done");
    EXPECT_EQ(report.at("fault"), nullptr);
    EXPECT_EQ(report.at("steps").size(), 3U);
    EXPECT_EQ(report.at("copies_made").at("count"), 0);
    EXPECT_EQ(report.at("copies_skipped").at("bytes"), 16);
    const json& memory = report.at("memories").at(0);
    EXPECT_EQ(memory.at("allocated"), 16);
    EXPECT_EQ(memory.at("touched"), 16);
    EXPECT_EQ(memory.at("planned"), 16);
  }
  const json report = json::parse(run({"--json", "--alias", "none", "--align", "4"}).output);
  EXPECT_EQ(report.at("copies_made").at("bytes"), 16);
  EXPECT_EQ(report.at("memories").at(0).at("touched"), 32);
}

TEST_F(CliRun, PrintsALinePerStep) {
  const ProcessResult result = run({"--report-memory", "--align", "4"});
  EXPECT_EQ(result.status, 0);
  for (const std::string word : {"live bytes", "highest arena", "microseconds", "(Relu, 1 of subgraph 0)"})
    EXPECT_NE(result.output.find(word), std::string::npos) << word << " in " << result.output;
}

TEST_F(CliRun, OutputsOfOneValueShowLittle) {
  const std::string note = "note         every output is 0, so the check shows little; ";
  write_input("zero.npy", {2, 2}, {0, 0, 0, 0});
  const ProcessResult zero = run({"--check", "--input", "x=zero.npy"});
  EXPECT_NE(zero.output.find(note + "try other inputs"), std::string::npos) << zero.output;
  EXPECT_EQ(run({"--check"}).output.find("note "), std::string::npos);
  EXPECT_EQ(run({"--input", "x=zero.npy"}).output.find("note "), std::string::npos);
}

TEST_F(CliRun, RunsAPlanFromAFile) {
  ASSERT_EQ(run({"-o", "plan.json"}).status, 0);
  const ProcessResult result = run({"--plan", "plan.json", "--check=all"});
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  EXPECT_NE(result.output.find("check        all tensors are as in a run without a plan"), std::string::npos);
  EXPECT_NE(run({"--check"}).output.find("check        outputs are as in a run without a plan, bit for bit"),
            std::string::npos);
  const ProcessResult by_rows = run({"--check", "--stream", "--io", "rows"});
  EXPECT_NE(by_rows.output.find("check        outputs are as in a run without a plan, bit for bit"),
            std::string::npos)
      << by_rows.output;
  EXPECT_EQ(run({}).output.find("check "), std::string::npos);
  EXPECT_EQ(run({"--plan", "plan.json", "--align", "4"}).status, 2);
  EXPECT_EQ(run({"--plan", "plan.json", "--seed", "4"}).status, 0);
  json plan = json::parse(directory_.read("plan.json"));
  plan.at("buffers").at(0).at("pieces").at(0).at("upper") = 1;
  directory_.write("wrong.json", plan.dump());
  const ProcessResult wrong = run({"--plan", "wrong.json"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.output.find("fault: "), std::string::npos) << wrong.output;
  EXPECT_EQ(run({"--plan", "missing.json"}).status, 3);
}

TEST_F(CliRun, SaysWhatIsWrong) {
  write_input("flat.npy", {4}, {1, 2, 3, 4});
  directory_.write("broken.npy", "no array");
  struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string words;
  };
  const std::vector<Case> wrong{
      {{"--input", "z=x.npy"}, 2, "--input 'z': the network has no such input, expected one of x"},
      {{"--input", "x=flat.npy"}, 2, "--input 'x': is float32[4], expected float32[2,2]"},
      {{"--input", "x"}, 2, "--input is 'x', expected NAME=VALUE"},
      {{"--input", "x=x.npy", "--input", "x=x.npy"}, 2, "--input is given twice"},
      {{"--input", "x=broken.npy"}, 3, "broken.npy"},
      {{"--input", "x=missing.npy"}, 3, "missing.npy"},
      {{"--save", "r=r.npy"}, 2, "the network has no output 'r'"},
      {{"--save", "yy=r.npy"}, 2, "the network has no output 'yy'; did you mean 'y'?"},
      {{"--kernels", "slow"}, 2, "--kernels is 'slow', expected fast or plain"},
      {{"--check=some"}, 2, "--check is 'some'"},
      {{"--random-weights", "x"}, 2, "--random-weights is 'x'"},
      {{"--capacity", "8"}, 1, "8"},
  };
  for (const Case& it : wrong) {
    const ProcessResult result = run(it.arguments);
    EXPECT_EQ(result.status, it.status) << it.words;
    EXPECT_NE((result.errors + result.output).find(it.words), std::string::npos)
        << it.words << " in " << result.errors << result.output;
  }
  EXPECT_EQ(directory_.names(), (std::vector<std::string>{"broken.npy", "flat.npy", "m.onnx", "x.npy"}));
}

TEST_F(CliRun, ListsEveryOperatorItCannotRun) {
  const onnx::ModelProto model = testing::onnx_model(
      {.nodes = {testing::node("NonsenseA", {"x"}, {"a"}), testing::node("Relu", {"a"}, {"b"}),
                 testing::node("NonsenseB", {"b"}, {"y"})},
       .inputs = {testing::tensor_value("x", {2})},
       .outputs = {testing::tensor_value("y", {2})},
       .declared = {testing::tensor_value("a", {2}), testing::tensor_value("b", {2})}});
  directory_.write("odd.onnx", model.SerializeAsString());
  const ProcessResult result = run_stowage(directory_.path(), {"run", "odd.onnx"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.errors.find("odd.onnx: has 2 operators that cannot be run"), std::string::npos)
      << result.errors;
  EXPECT_NE(result.errors.find("NonsenseA"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("NonsenseB"), std::string::npos) << result.errors;
}

TEST_F(CliRun, SaysTheSameReasonOnce) {
  const auto refusal = [&](const std::vector<std::string>& types) {
    testing::OnnxParts parts{.inputs = {testing::tensor_value("x", {2})},
                             .outputs = {testing::tensor_value("t" + std::to_string(types.size()), {2})}};
    std::string from = "x";
    for (const std::string& type : types) {
      const std::string to = "t" + std::to_string(parts.nodes.size() + 1);
      parts.nodes.push_back(testing::node(type, {from}, {to}));
      parts.declared.push_back(testing::tensor_value(to, {2}));
      from = to;
    }
    parts.declared.pop_back();
    directory_.write("odd.onnx", testing::onnx_model(parts).SerializeAsString());
    return run_stowage(directory_.path(), {"run", "odd.onnx"}).errors;
  };
  testing::expect_message(refusal({"Nonsense"}),
                          {"has 1 operator that cannot be run", "there is no kernel for Nonsense",
                           "to write their functions yourself: stowage generate --extern Nonsense"});
  const std::string three = refusal({"Odd", "Nonsense", "Nonsense", "Nonsense"});
  testing::expect_message(three, {"has 4 operators that cannot be run", "and 2 others of its type",
                                  "stowage generate --extern Nonsense --extern Odd"});
  EXPECT_EQ(three.find("no kernel for Nonsense"), three.rfind("no kernel for Nonsense")) << three;
}

TEST(CliRunLists, HaveNothingToRun) {
  const TemporaryDirectory directory;
  directory.write("f.csv", "id,lower,upper,size\na,0,2,64\n");
  const ProcessResult result = run_stowage(directory.path(), {"run", "f.csv"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.errors.find("f.csv: says nothing of weights"), std::string::npos) << result.errors;
}

TEST_F(CliRun, OverwritesNothingThatItReads) {
  const std::string model = directory_.read("m.onnx");
  const std::string input = directory_.read("x.npy");
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"-o", "m.onnx"},
                                             {"--save", "y=./m.onnx"},
                                             {"--input", "x=x.npy", "--save", "y=x.npy"},
                                             {"--save", "y=both", "-o", "both"}}) {
    const ProcessResult result = run(options);
    EXPECT_EQ(result.status, 2) << result.output;
    EXPECT_NE(result.errors.find("are the same file"), std::string::npos) << result.errors;
  }
  EXPECT_EQ(directory_.read("m.onnx"), model);
  EXPECT_EQ(directory_.read("x.npy"), input);
}

/// Two models become one for every command that reads both.
TEST_F(CliRun, JoinsModels) {
  directory_.write("n.onnx", testing::onnx_model({.nodes = {testing::node("Neg", {"a"}, {"b"})},
                                                  .inputs = {testing::tensor_value("a", {2, 2})},
                                                  .outputs = {testing::tensor_value("b", {2, 2})}})
                                 .SerializeAsString());
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--join", "m.y=n.a"});
    return run_stowage(directory_.path(), arguments);
  };
  const ProcessResult planned =
      call({"plan", "m.onnx", "n.onnx", "-o", "p.json", "-o", "p.h", "-o", "p.html"});
  EXPECT_EQ(planned.status, 0) << planned.errors;
  const json plan = json::parse(directory_.read("p.json"));
  ASSERT_EQ(plan["models"].size(), 1);
  EXPECT_EQ(plan["models"][0]["name"], "m+n");
  EXPECT_EQ(directory_.read("p.h").find("FILE_HASH"), std::string::npos);  // it is of two files
  const ProcessResult verified = call({"verify", "p.json", "--model", "m.onnx", "--model", "n.onnx"});
  EXPECT_EQ(verified.status, 0) << verified.output << verified.errors;
  const ProcessResult ran = call({"run", "m.onnx", "n.onnx", "--plan", "p.json", "--input", "m.x=x.npy",
                                  "--save", "n.b=b.npy", "--check=all"});
  EXPECT_EQ(ran.status, 0) << ran.output << ran.errors;
  const Array b = import::parse_npy(directory_.read("b.npy"));
  std::vector<float> values(4);
  std::memcpy(values.data(), b.data.data(), b.data.size());
  EXPECT_EQ(values, (std::vector<float>{-2, 0, -6, 0}));
  EXPECT_EQ(call({"generate", "m.onnx", "n.onnx", "-o", "c"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "c" / "m_n.c"));
  const ProcessResult wrong = call({"plan", "m.onnx"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.errors.find("--join m.y=n.a: 'n.a' is no input of a model"), std::string::npos)
      << wrong.errors;
}

}  // namespace
}  // namespace stowage
