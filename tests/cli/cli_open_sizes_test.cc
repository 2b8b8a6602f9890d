// Sizes that a model leaves open, as a user of the command meets them: first without any number.

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "onnx_models.h"
#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_stowage;
using testing::tensor_value;

/// x * w for a batch of sequences of at most 2^20 vectors.
std::string encoder() {
  return testing::onnx_model({.nodes = {testing::node("MatMul", {"x", "w"}, {"y"})},
                              .inputs = {tensor_value("x", {"batch", "seq", 16})},
                              .outputs = {testing::untyped_value("y")},
                              .initializers = {testing::zeros("w", {16, 16})}})
      .SerializeAsString();
}

ProcessResult planned(const std::vector<std::string>& more) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  std::vector<std::string> arguments{"plan", "net.onnx"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_stowage(directory.path(), arguments);
}

void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not say '" << part << "'";
}

TEST(CliOpenSizes, AreNamedWithWhatSomeNeed) {
  const ProcessResult answer = planned({});
  EXPECT_EQ(answer.status, 3);
  expect_says(answer.output, {"'batch' (axis 0 of 'x')", "'seq' (axis 1 of 'x')", "4096 bytes  seq=32",
                              "peak = ", "128*seq", "--dim batch=1 --dim seq=..512", "--fit seq"});
  expect_says(answer.errors, {"2 sizes open", "--dim batch=N --dim seq=N"});
  EXPECT_EQ(planned({"--json"}).output, "");
  EXPECT_EQ(planned({"-o", "plan.json"}).output, "");
}

/// Each command that the answer prints works.
TEST(CliOpenSizes, GoOnWithTheCommandsOfTheAnswer) {
  EXPECT_EQ(planned({"--dim", "batch=1", "--dim", "seq=..512"}).status, 0);
  const ProcessResult fit = planned({"--dim", "batch=1", "--fit", "seq", "--capacity", "1MiB"});
  EXPECT_EQ(fit.status, 0) << fit.errors;
  expect_says(fit.errors, {"every size of 'seq' from 1 to 8192 fits, 1048576 bytes",
                           "8193 does not fit: any order of its operators needs at least 1048704 bytes"});
  expect_says(fit.output, {"every 'x' up to 1x8192x16", "1048576 bytes"});
}

TEST(CliOpenSizes, RunInOffsetsThatAreFunctions) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_stowage(directory.path(), arguments);
  };
  const std::vector<std::string> command{"plan",      "net.onnx",  "--dim",    "batch=1..4", "--dim",
                                         "seq=1..64", "--offsets", "symbolic", "-o",         "plan.json"};
  ASSERT_EQ(run(command).status, 0) << run(command).errors;
  const ProcessResult there =
      run({"run", "net.onnx", "--plan", "plan.json", "--dim", "batch=2", "--dim", "seq=7", "--check=all"});
  EXPECT_EQ(there.status, 0) << there.errors;
  expect_says(there.output, {"float32[2,7,16]", "1792 bytes"});  // 2 * (2 * 7 * 16) * 4
  const ProcessResult outside =
      run({"run", "net.onnx", "--plan", "plan.json", "--dim", "batch=2", "--dim", "seq=65"});
  EXPECT_EQ(outside.status, 2);
  expect_says(outside.errors, {"seq", "65"});
}

/// y = x * k, of which k is 2 at n=777 and 1 elsewhere; or it makes 5000 elements there. No straight line tells that.
std::string rare_event(bool is_of_shape) {
  using testing::node;
  testing::OnnxParts parts{
      .nodes = {node("Shape", {"x"}, {"n"}), node("Mul", {"n", "n"}, {"nn"}),
                node("Equal", {"nn", "there"}, {"is"}), node("Where", {"is", "two", "one"}, {"k"})},
      .inputs = {tensor_value("x", {"n"})},
      .outputs = {testing::untyped_value("y")},
      .initializers = {testing::vector_of("there", {777 * 777})}};
  if (is_of_shape) {
    parts.initializers.push_back(testing::vector_of("one", {1}));
    parts.initializers.push_back(testing::vector_of("two", {5000}));
    parts.initializers.push_back(testing::reals("c", {1}));
    parts.nodes.push_back(node("Expand", {"c", "k"}, {"e"}));
    parts.nodes.push_back(node("ReduceSum", {"e"}, {"s"}));
    parts.nodes.push_back(node("Mul", {"x", "s"}, {"y"}));
  } else {
    parts.initializers.push_back(testing::reals("one", {1}));
    parts.initializers.push_back(testing::reals("two", {2}));
    parts.nodes.push_back(node("Mul", {"x", "k"}, {"y"}));
  }
  return testing::onnx_model(parts).SerializeAsString();
}

TEST(CliOpenSizes, AtWhichThePlanIsWrongAreFound) {
  for (const bool is_of_shape : {false, true}) {
    for (const char* const offsets : {"constant", "symbolic"}) {
      const testing::TemporaryDirectory directory;
      directory.write("net.onnx", rare_event(is_of_shape));
      const auto run = [&](const std::vector<std::string>& arguments) {
        return run_stowage(directory.path(), arguments);
      };
      ASSERT_EQ(run({"plan", "net.onnx", "--dim", "n=1..2000", "--offsets", offsets, "-o", "p.json"}).status,
                0);
      const auto at = [&](const std::string& size) {
        return std::vector<ProcessResult>{
            run({"verify", "p.json", "--model", "net.onnx", "--dim", size}),
            run({"run", "net.onnx", "--plan", "p.json", "--dim", size, "--check=all"})};
      };
      for (const ProcessResult& it : at("n=777")) {
        EXPECT_EQ(it.status, 1) << it.output;
        expect_says(it.output, {"fault: ", "n=777", is_of_shape ? "tensor 'e'" : "tensor 'is'",
                                is_of_shape ? "smaller ranges" : "--every-size"});
      }
      for (const ProcessResult& it : at("n=776")) EXPECT_EQ(it.status, 0) << it.errors;
      for (const ProcessResult& it : at("n=2000")) EXPECT_EQ(it.status, 0) << it.errors;
    }
  }
}

TEST(CliOpenSizes, AreAllReadIfThatIsWanted) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--every-size"});
    return run_stowage(directory.path(), arguments);
  };
  const ProcessResult plan = run({"plan", "net.onnx", "--dim", "batch=2", "--dim", "seq=1..400", "--offsets",
                                  "symbolic", "-o", "plan.json"});
  ASSERT_EQ(plan.status, 0) << plan.errors;
  expect_says(plan.errors, {"was read at each of 400 sizes"});
  expect_says(plan.output, {"checked at all 400 sizes"});
  const ProcessResult verify = run({"verify", "plan.json", "--model", "net.onnx"});
  EXPECT_EQ(verify.status, 0) << verify.errors;
  expect_says(verify.errors, {"was read at each of 400 sizes"});
  const ProcessResult many = run({"plan", "net.onnx", "--dim", "batch=1..400", "--dim", "seq=1..400"});
  EXPECT_EQ(many.status, 2);
  expect_says(many.errors, {"more than 65536 sizes"});
}

TEST(CliOpenSizes, AreNumbersOfRowsInAPlanOfTheSameBytes) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const auto run = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_stowage(directory.path(), arguments);
  };
  const std::vector<std::string> rows{"--dim", "batch=1", "--dim", "seq=1..1000", "--stream", "--io", "rows"};
  const ProcessResult planned = run({"plan", "net.onnx", "-o", "plan.json"}, rows);
  ASSERT_EQ(planned.status, 0) << planned.errors;
  expect_says(planned.output, {"peak         128 bytes", "open rows    seq from 1 to 1000", "is evidence"});
  const std::vector<std::string> given{"--plan", "plan.json"};
  for (const char* const seq : {"seq=1", "seq=7", "seq=1000"}) {
    const ProcessResult verified = run({"verify", "plan.json", "--model", "net.onnx"}, {"--dim", seq});
    EXPECT_EQ(verified.status, 0) << seq << verified.errors;
    const ProcessResult there =
        run({"run", "net.onnx", "--plan", "plan.json", "--check=all"}, {"--dim", seq});
    EXPECT_EQ(there.status, 0) << seq << there.errors;
    expect_says(there.output, {"arena: 128 bytes", "float32[1," + std::string(seq).substr(4) + ",16]"});
  }
  expect_says(run({"verify", "plan.json", "--model", "net.onnx"}, {}).output, {"peak 128 bytes, at "});
  const ProcessResult outside = run({"run", "net.onnx", "--plan", "plan.json"}, {"--dim", "seq=1001"});
  EXPECT_EQ(outside.status, 2);
  expect_says(outside.errors, {"seq=1001", "1 to 1000"});
  const ProcessResult header = run({"plan", "net.onnx", "-o", "plan.h"}, rows);
  EXPECT_EQ(header.status, 2);
  expect_says(header.errors, {"a header is of one size"});
  const ProcessResult few =
      run({"plan", "net.onnx"}, {"--dim", "batch=1", "--dim", "seq=1..9", "--stream", "--io", "rows"});
  expect_says(few.output, {"checked at all 9 sizes"});
  for (const auto& options : {rows, given}) {
    const ProcessResult made = run({"generate", "net.onnx", "--force", "-o", "c"}, options);
    ASSERT_EQ(made.status, 0) << made.errors;
    expect_says(made.output, {"arena           128 bytes", "passed"});
    expect_says(directory.read("c/net.h"),
                {"net_begin(net_state *state, void *arena, int32_t n)", "NET_MOST 1000"});
  }
}

TEST(CliOpenSizes, NeedNoSearchWhereRowsTakeAllOfThem) {
  const std::vector<std::string> by_rows{"--dim", "batch=1", "--stream", "--io", "rows", "--fit", "seq"};
  const auto fitted = [&](const std::string& capacity) {
    std::vector<std::string> arguments = by_rows;
    arguments.insert(arguments.end(), {"--capacity", capacity, "--effort", "500"});
    return planned(arguments);
  };
  const ProcessResult all = fitted("128");
  EXPECT_EQ(all.status, 0) << all.errors;
  expect_says(all.errors,
              {"every size of 'seq' from 1 to 1048576 fits by rows, in the same 128 bytes", "is evidence"});
  expect_says(all.output, {"peak         128 bytes", "open rows    seq from 1 to 1048576"});
  const ProcessResult none = fitted("64");
  EXPECT_EQ(none.status, 1);
  expect_says(none.errors, {"no size of 'seq' fits"});
}

TEST(CliOpenSizes, AreThoseOfThePage) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const auto page = [&](const std::string& seq) {
    std::vector<std::string> arguments{"report", "plan.json", "--model", "net.onnx", "-o", "page.html"};
    if (!seq.empty()) arguments.insert(arguments.end(), {"--dim", "seq=" + seq});
    const ProcessResult result = run_stowage(directory.path(), arguments);
    EXPECT_EQ(result.status, 0) << result.errors;
    return directory.read("page.html");
  };
  for (const std::string offsets : {"constant", "symbolic"}) {
    const ProcessResult made =
        run_stowage(directory.path(), {"plan", "net.onnx", "--dim", "batch=1", "--dim", "seq=1..512",
                                       "--offsets", offsets, "-o", "plan.json"});
    ASSERT_EQ(made.status, 0) << made.errors;
    EXPECT_EQ(page("").find("1x7x16"), std::string::npos);
    EXPECT_NE(page("7").find("1x7x16"), std::string::npos);
  }
}

TEST(CliOpenSizes, OfFunctionsMayFitInPart) {
  const ProcessResult result =
      planned({"--dim", "batch=1", "--dim", "seq=1..512", "--offsets", "symbolic", "--capacity", "32KiB"});
  EXPECT_EQ(result.status, 1) << result.errors;
  expect_says(result.output, {"offsets      functions of 1 size"});
  const ProcessResult several = planned({"--dim", "batch=1", "--dim", "seq=1,512", "--offsets", "symbolic"});
  EXPECT_EQ(several.status, 2);
  expect_says(several.errors, {"--offsets is for one plan"});
}

TEST(CliOpenSizes, SayWhyThereAreNoRowsForAllOfThem) {
  const testing::TemporaryDirectory directory;
  const auto model = [](const std::vector<onnx::NodeProto>& nodes) {
    return testing::onnx_model({.nodes = nodes,
                                .inputs = {tensor_value("x", {"seq", "width"})},
                                .outputs = {testing::untyped_value("y")}})
        .SerializeAsString();
  };
  directory.write(
      "soft.onnx",
      model({testing::node("Softmax", {"x"}, {"y"}, {testing::attribute("axis", std::int64_t{0})})}));
  directory.write("relu.onnx", model({testing::node("Relu", {"x"}, {"y"})}));
  const auto planned = [&](const std::string& file, const std::string& width) {
    return run_stowage(directory.path(), {"plan", file, "--dim", "seq=1..64", "--dim", "width=" + width,
                                          "--stream", "--io", "rows"});
  };
  const ProcessResult soft = planned("soft.onnx", "16");
  EXPECT_EQ(soft.status, 0) << soft.errors;
  expect_says(soft.output, {"left out", "no plan by rows is one for all sizes", "Softmax"});
  expect_says(planned("relu.onnx", "1..16").output, {"several sizes are open"});
  expect_says(planned("relu.onnx", "16").output, {"open rows    seq from 1 to 64"});
}

TEST(CliOpenSizes, OfASearchAreWithinARange) {
  const ProcessResult fit =
      planned({"--dim", "batch=2", "--dim", "seq=32..3200:32", "--fit", "seq", "--capacity", "100000"});
  EXPECT_EQ(fit.status, 0) << fit.errors;
  expect_says(fit.errors, {"from 32 to 384 in steps of 32 fits, 98304 bytes", "416 does not fit"});
  expect_says(planned({"--dim", "batch=1", "--dim", "seq=..64", "--fit", "seq", "--capacity", "1MiB"}).errors,
              {"from 1 to 64 fits", "that is the largest size of the range"});
}

TEST(CliOpenSizes, RefuseWhatASearchCannotDo) {
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const std::vector<Case> cases{
      {{"--dim", "batch=1", "--fit", "seq"}, "--fit needs a limit"},
      {{"--dim", "batch=1", "--dim", "seq=5", "--fit", "seq", "--capacity", "64KiB"}, "gives it one size"},
      {{"--dim", "batch=1", "--fit", "sequence", "--capacity", "64KiB"}, "'sequence'"},
      {{"--dim", "batch=1", "--dim", "seq=8..9:2"}, "9 is not whole steps of 2 from 8"},
      {{"--dim", "batch=1", "--dim", "seq=8..9:0"}, "a whole number of at least 1"}};
  for (const Case& it : cases) {
    const ProcessResult refused = planned(it.arguments);
    EXPECT_EQ(refused.status, 2) << refused.errors;
    expect_says(refused.errors, {it.says});
  }
}

/// With several models the options that are named have the model's name.
TEST(CliOpenSizes, OfSeveralModelsHaveTheirNames) {
  const testing::TemporaryDirectory directory;
  directory.write("a.onnx", encoder());
  directory.write("b.onnx", encoder());
  const std::vector<std::string> known{"plan", "a.onnx", "b.onnx", "--dim", "a.batch=1", "--dim", "a.seq=4"};
  const ProcessResult asked = run_stowage(directory.path(), known);
  EXPECT_EQ(asked.status, 3);
  expect_says(asked.errors, {"b.onnx", "--dim b.batch=N --dim b.seq=N"});
  std::vector<std::string> all = known;
  for (const char* const more : {"--dim", "b.batch=1", "--dim", "b.seq=8"}) all.emplace_back(more);
  EXPECT_EQ(run_stowage(directory.path(), all).status, 0);
}

TEST(CliOpenSizes, TakeStepsOfAnyLength) {
  EXPECT_EQ(planned({"--dim", "batch=1", "--dim", "seq=1..1000001:1000000"}).status, 0);
  EXPECT_EQ(planned({"--banks", "4x16KiB"}).status, 3);
}

TEST(CliOpenSizes, AreInspected) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const ProcessResult shown = run_stowage(directory.path(), {"inspect", "net.onnx"});
  EXPECT_EQ(shown.status, 0) << shown.errors;
  expect_says(shown.output, {"inputs       x float32[batch,seq,16]", "outputs      y", "opset        17",
                             "open sizes   'batch' (axis 0 of 'x')", "weights      1, 1024 bytes",
                             "operators    1: 1 MatMul"});
  const ProcessResult json = run_stowage(directory.path(), {"inspect", "net.onnx", "--json"});
  EXPECT_EQ(json.status, 0) << json.errors;
  expect_says(json.output, {R"("open_sizes":[{"name":"batch")", R"("weight_bytes":1024)", R"("MatMul":1)"});
  directory.write("broken.onnx", encoder().substr(0, 40));
  const ProcessResult broken = run_stowage(directory.path(), {"inspect", "broken.onnx"});
  EXPECT_EQ(broken.status, 3);
  expect_says(broken.errors, {"broken.onnx"});
}

TEST(CliOpenSizes, AreInspectedBesideWeightsInOperators) {
  const testing::TemporaryDirectory directory;
  directory.write(
      "net.onnx",
      testing::onnx_model(
          {.nodes = {testing::node("Constant", {}, {"w"},
                                   {testing::attribute("value", testing::zeros("", {16, 16}))}),
                     testing::node("MatMul", {"x", "w"}, {"h"}), testing::node("Add", {"h", "b"}, {"y"})},
           .inputs = {tensor_value("x", {4, 16})},
           .outputs = {testing::untyped_value("y")},
           .initializers = {testing::zeros("b", {16})}})
          .SerializeAsString());
  expect_says(run_stowage(directory.path(), {"inspect", "net.onnx"}).output, {"weights      2, 1088 bytes"});
}

/// Height and width do not belong together; sizes that must be equal do.
TEST(CliOpenSizes, AreVariedByThemselvesUnlessTheModelForbidsIt) {
  const testing::TemporaryDirectory directory;
  const auto shown = [&](const testing::OnnxParts& parts) {
    directory.write("net.onnx", testing::onnx_model(parts).SerializeAsString());
    return run_stowage(directory.path(), {"plan", "net.onnx"}).output;
  };
  const std::string apart = shown({.nodes = {testing::node("Relu", {"a"}, {"y"})},
                                   .inputs = {tensor_value("a", {2, "h", "w"})},
                                   .outputs = {testing::untyped_value("y")}});
  expect_says(apart, {"peak of whole operators, with w=64, quickly planned:", " bytes  h=128\n",
                      "peak of whole operators, with h=64, quickly planned:", " bytes  w=128\n",
                      "*h, at these sizes", "*w, at these sizes"});
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = apart.find(" bytes  ", at)) != std::string::npos; ++at) ++rows;
  EXPECT_EQ(rows, 8U) << apart;
  const std::string together = shown(
      {.nodes = {testing::node("Concat", {"a", "b"}, {"y"}, {testing::attribute("axis", std::int64_t{0})})},
       .inputs = {tensor_value("a", {2, "m"}), tensor_value("b", {2, "n"})},
       .outputs = {testing::untyped_value("y")}});
  expect_says(together, {"peak of whole operators, quickly planned:", " bytes  m=128 n=128\n"});
  EXPECT_EQ(together.find("rejected"), std::string::npos) << together;
}

/// Sums of two neighbours, as a sequence whose first state has a batch of its own, which must be that of `x`.
TEST(CliOpenSizes, ThatMustBeOneAreFound) {
  using testing::node;
  const testing::TemporaryDirectory directory;
  directory.write(
      "net.onnx",
      testing::onnx_model({.nodes = {node("Conv", {"x", "k"}, {"c"}),
                                     node("Transpose", {"c"}, {"s"},
                                          {testing::attribute("perm", std::vector<std::int64_t>{2, 0, 1})}),
                                     node("LSTM", {"s", "w", "r", "", "", "h"}, {"y"},
                                          {testing::attribute("hidden_size", std::int64_t{2})})},
                           .inputs = {tensor_value("x", {"batch", 3, "n"}), tensor_value("h", {1, "m", 2})},
                           .outputs = {testing::untyped_value("y")},
                           .initializers = {testing::zeros("k", {3, 3, 2}), testing::zeros("w", {1, 8, 3}),
                                            testing::zeros("r", {1, 8, 2})}})
          .SerializeAsString());
  const ProcessResult answer = run_stowage(directory.path(), {"plan", "net.onnx"});
  EXPECT_EQ(answer.status, 3) << answer.errors;
  expect_says(answer.output, {"with batch=1 m=1", "bytes  n=32", "--dim batch=1 --dim m=1 --dim n="});
  const ProcessResult of_one =
      run_stowage(directory.path(), {"plan", "net.onnx", "--dim", "batch=1", "--dim", "n=32"});
  expect_says(of_one.output,
              {"the plan for m=1:\n  stowage plan net.onnx --dim batch=1 --dim n=32 --dim m=1\n"});
  EXPECT_EQ(of_one.output.find("for every size"), std::string::npos) << of_one.output;
}

/// A height that ends as one row, and a width that may be any.
TEST(CliOpenSizes, ThatDoNotGoTogetherHaveRangesOfTheirOwn) {
  using testing::node;
  const testing::TemporaryDirectory directory;
  directory.write(
      "net.onnx",
      testing::onnx_model(
          {.nodes = {node("MaxPool", {"x"}, {"c"},
                          {testing::attribute("kernel_shape", std::vector<std::int64_t>{32, 1}),
                           testing::attribute("strides", std::vector<std::int64_t>{32, 1})}),
                     node("Concat", {"c", "k"}, {"y"}, {testing::attribute("axis", std::int64_t{3})})},
           .inputs = {tensor_value("x", {1, 1, "h", "w"})},
           .outputs = {testing::untyped_value("y")},
           .initializers = {testing::zeros("k", {1, 1, 1, 4})}})
          .SerializeAsString());
  const ProcessResult answer = run_stowage(directory.path(), {"plan", "net.onnx"});
  expect_says(answer.output, {"--dim h=32 --dim w=..512\n", "--dim h=32 --fit w --capacity 1MiB\n"});
}

TEST(CliOpenSizes, OfBatchesBeginWithOne) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", testing::onnx_model({.nodes = {testing::node("Relu", {"x"}, {"y"})},
                                                   .inputs = {tensor_value("x", {"batch", 16})},
                                                   .outputs = {testing::untyped_value("y")}})
                                  .SerializeAsString());
  expect_says(run_stowage(directory.path(), {"plan", "net.onnx"}).output,
              {"the plan for batch=1:\n  stowage plan net.onnx --dim batch=1\n", "--dim batch=..512"});
}

TEST(CliOpenSizes, OfTwoDimensionsHaveAFrontier) {
  const std::vector<std::string> both{"--fit", "batch,seq", "--capacity", "64KiB"};
  const ProcessResult table = planned(both);
  EXPECT_EQ(table.status, 0) << table.errors;
  expect_says(table.output,
              {"batch     seq up to", "       1           512           65536  513 does not fit",
               "       2           256 ", "     512             1 ", "    1024             - "});
  std::vector<std::string> listed = both;
  for (const char* const more : {"--dim", "batch=3,5", "--dim", "seq=2..100:2", "--json"})
    listed.emplace_back(more);
  const ProcessResult json = planned(listed);
  EXPECT_EQ(json.status, 0) << json.errors;
  expect_says(json.output,
              {R"("format": "stowage-frontier")", R"("batch": 3)", R"("seq": 100)", R"("batch": 5)"});
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const ProcessResult picture = run_stowage(
      directory.path(), {"plan", "net.onnx", "--fit", "batch,seq", "--capacity", "64KiB", "-o", "fit.svg"});
  EXPECT_EQ(picture.status, 0) << picture.errors;
  expect_says(directory.read("fit.svg"), {"<svg", "batch=1", "seq=512, 65536 bytes", "nothing fits"});
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const std::vector<Case> cases{
      {{"--fit", "batch,seq"}, "--fit needs a limit"},
      {{"--fit", "batch,batch", "--capacity", "1MiB"}, "names a dimension twice"},
      {{"--fit", "a,b,c", "--capacity", "1MiB"}, "3 dimensions, expected one or two"},
      {{"--fit", "batch,seq", "--capacity", "1MiB", "--dim", "batch=1..4"}, "expected a list of sizes"},
      {{"--fit", "batch,seq", "--capacity", "1MiB", "-o", "plan.html"}, ".svg or .json"}};
  for (const Case& it : cases) {
    const ProcessResult refused = planned(it.arguments);
    EXPECT_EQ(refused.status, 2) << refused.errors;
    expect_says(refused.errors, {it.says});
  }
}

/// A plan for each of several sizes: made, checked, and run with the one that fits.
TEST(CliOpenSizes, MayBeSeveral) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_stowage(directory.path(), arguments);
  };
  const ProcessResult made =
      run({"plan", "net.onnx", "--dim", "batch=1", "--dim", "seq=512,128", "-o", "plan.json"});
  EXPECT_EQ(made.status, 0) << made.errors;
  expect_says(made.output, {"buckets      seq=128         16384 bytes, proven", "seq=512         65536 bytes",
                            "memories     arena: 65536 bytes"});
  expect_says(run({"verify", "plan.json"}).output, {"valid: 2 buckets, 0 shared places, peak 65536 bytes"});
  const ProcessResult valid = run({"verify", "plan.json", "--model", "net.onnx", "--dim", "batch=1"});
  EXPECT_EQ(valid.status, 0) << valid.errors;
  const ProcessResult ran =
      run({"run", "net.onnx", "--plan", "plan.json", "--dim", "batch=1", "--dim", "seq=100", "--check"});
  EXPECT_EQ(ran.status, 0) << ran.errors;
  expect_says(ran.errors, {"seq=100 runs in the bucket for seq=128"});
  const auto refused = [&](const std::vector<std::string>& arguments, int status, const std::string& says) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.status, status) << result.errors;
    expect_says(result.errors, {says});
  };
  refused({"run", "net.onnx", "--plan", "plan.json", "--dim", "batch=1"}, 2, "give --dim seq=N");
  refused({"run", "net.onnx", "--plan", "plan.json", "--dim", "batch=1", "--dim", "seq=513"}, 2,
          "seq=513 is beyond the largest bucket, seq=512");
  refused({"report", "plan.json", "-o", "plan.html"}, 3, "has plans for several sizes (buckets)");
  const ProcessResult generated =
      run({"generate", "net.onnx", "--plan", "plan.json", "--dim", "batch=1", "-o", "c"});
  EXPECT_EQ(generated.status, 0) << generated.errors;
  expect_says(generated.output, {"arena         65536 bytes", "test         passed"});
  refused({"generate", "net.onnx", "--plan", "plan.json", "--dim", "batch=1", "--dim", "seq=128", "-o", "c"},
          2, "--plan has a plan for each size of 'seq': leave out --dim seq=128");
  refused({"generate", "net.onnx", "--dim", "seq=1,2", "--dim", "batch=1", "--input", "x=x.npy", "-o", "c"},
          2, "--input gives the values of one size");
  refused({"plan", "net.onnx", "--dim", "batch=1", "--dim", "seq=1,2", "-o", "plan.svg"}, 2,
          "written as JSON");
  const ProcessResult header =
      run({"plan", "net.onnx", "--dim", "batch=1", "--dim", "seq=1,2", "-o", "plan.h"});
  EXPECT_EQ(header.status, 0) << header.errors;
  expect_says(directory.read("plan.h"), {"#define STOWAGE_BUCKETS 2u", "#define STOWAGE_SIZE_SEQ 0u"});
  refused({"plan", "net.onnx", "--dim", "batch=1", "--dim", "seq=1,1"}, 2, "has a size twice");
  refused({"plan", "net.onnx", "--dim", "batch=1", "--dim", "seq=1,x"}, 2, "is no size");
  refused({"compare", "net.onnx", "--dim", "batch=1", "--dim", "seq=1,2"}, 2, "one size or range here");
  refused({"plan", "net.onnx", "--dim", "batch=1,2,3,4,5,6,7,8,9", "--dim", "seq=1,2,3,4,5,6,7,8"}, 2,
          "72 combinations of sizes, expected at most 64");
  const ProcessResult small =
      run({"plan", "net.onnx", "--dim", "batch=1,2", "--dim", "seq=8,512", "--capacity", "64KiB"});
  EXPECT_EQ(small.status, 1);
  expect_says(small.errors, {"batch=2 seq=512 does not fit: 'arena' needs 131072 bytes"});
}

/// State that grows with the sequence: what is always live, and what a step more costs.
TEST(CliOpenSizes, OfStateSayWhatAStepCosts) {
  const testing::TemporaryDirectory directory;
  directory.write(
      "net.onnx",
      testing::onnx_model(
          {.nodes = {testing::node("MatMul", {"x", "w"}, {"h"}), testing::node("Add", {"old", "h"}, {"new"})},
           .inputs = {tensor_value("x", {"past", 16}), tensor_value("old", {"past", 16})},
           .outputs = {testing::untyped_value("new")},
           .initializers = {testing::zeros("w", {16, 16})}})
          .SerializeAsString());
  const ProcessResult planned =
      run_stowage(directory.path(), {"plan", "net.onnx", "--dim", "past=..128", "--state", "new=old"});
  EXPECT_EQ(planned.status, 0) << planned.errors;
  expect_says(planned.output, {"state        8192 bytes", "always live, 16384 bytes", "weights 1024 bytes",
                               "; 64 bytes for each step along axis 0 of old"});
}

/// Elements of an input that decides sizes, on the command line.
TEST(CliOpenSizes, MayFollowFromValues) {
  const testing::TemporaryDirectory directory;
  directory.write(
      "net.onnx",
      testing::onnx_model(
          {.nodes = {testing::node("Reshape", {"x", "sizes"}, {"y"}), testing::node("Not", {"flag"}, {"z"})},
           .inputs = {tensor_value("x", {24}), tensor_value("sizes", {2}, onnx::TensorProto::INT64),
                      tensor_value("flag", {1}, onnx::TensorProto::BOOL)},
           .outputs = {testing::untyped_value("y"), testing::untyped_value("z")}})
          .SerializeAsString());
  const auto planned_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"plan", "net.onnx"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_stowage(directory.path(), arguments);
  };
  EXPECT_EQ(planned_with({}).status, 3);
  expect_says(planned_with({}).errors, {"give that with --value sizes=NUMBER,..."});
  const ProcessResult made =
      planned_with({"--value", "sizes=4,6", "--value", "flag=true", "-o", "plan.json"});
  EXPECT_EQ(made.status, 0) << made.errors;
  expect_says(directory.read("plan.json"), {R"("value":[4,6])", R"("value":[1])"});
  const std::vector<std::string> values{"--value", "sizes=4,6", "--value", "flag=true"};
  std::vector<std::string> verified{"verify", "plan.json", "--model", "net.onnx"};
  std::vector<std::string> ran{"run", "net.onnx", "--plan", "plan.json", "--check=all"};
  for (auto* const arguments : {&verified, &ran}) {
    const ProcessResult from_plan = run_stowage(directory.path(), *arguments);
    EXPECT_EQ(from_plan.status, 0) << "the plan has them: " << from_plan.errors;
    arguments->insert(arguments->end(), values.begin(), values.end());
    const ProcessResult result = run_stowage(directory.path(), *arguments);
    EXPECT_EQ(result.status, 0) << result.errors;
  }
  verified[5] = "sizes=6,4";
  EXPECT_EQ(run_stowage(directory.path(), verified).status, 1) << "it is no plan for these values";
  for (const auto& [text, says] :
       std::vector<std::pair<std::string, std::string>>{{"sizes=4,x", "expected numbers, or true or false"},
                                                        {"sizes=4,0.5", "0.5 is no int64"},
                                                        {"size=4,6", "did you mean 'sizes'?"}}) {
    const ProcessResult refused = planned_with({"--value", text});
    EXPECT_EQ(refused.status, 2) << refused.errors;
    expect_says(refused.errors, {says});
  }
}

/// A missed capacity is status 1, whatever asked for it, and says what may help.
TEST(CliOpenSizes, ThatFitNothingMissTheCapacity) {
  const ProcessResult whole = planned({"--dim", "batch=1", "--fit", "seq", "--capacity", "64"});
  EXPECT_EQ(whole.status, 1);
  expect_says(whole.errors,
              {"no size of 'seq' fits; 1 does not fit: any order of its operators needs at least 128",
               "the plan needs 128 bytes, 64 more than the 64", "may help: Inputs and outputs"});
  const ProcessResult rows = planned({"--dim", "batch=1", "--fit", "seq", "--capacity", "16", "--stream"});
  EXPECT_EQ(rows.status, 1);
  expect_says(rows.errors, {"no size of 'seq' fits; ", "may help: "});
  EXPECT_EQ(rows.errors.find("any way to stream it"), std::string::npos) << rows.errors;
  const ProcessResult both = planned({"--fit", "batch,seq", "--capacity", "64"});
  EXPECT_EQ(both.status, 1);
  expect_says(both.errors, {"not even the smallest sizes fit: with batch=1, 1 does not fit",
                            "--dim batch=1 --dim seq=1 says what may help"});
}

/// Windows over n rows, which have many channels only in between.
std::string rows_of_channels() {
  return testing::onnx_model(
             {.nodes = {testing::node("Conv", {"x", "wide"}, {"a"}), testing::node("Relu", {"a"}, {"b"}),
                        testing::node("Conv", {"b", "narrow"}, {"c"}),
                        testing::node("GlobalAveragePool", {"c"}, {"y"})},
              .inputs = {tensor_value("x", {1, 2, "n", 8})},
              .outputs = {testing::untyped_value("y")},
              .initializers = {testing::zeros("wide", {16, 2, 3, 3}),
                               testing::zeros("narrow", {2, 16, 3, 3})}})
      .SerializeAsString();
}

TEST(CliOpenSizes, ThatFitByRowsHaveAPlanByRows) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", rows_of_channels());
  const auto fit = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", "net.onnx", "--fit", "n", "--dim", "n=5..60", "--capacity", "6000"});
    return run_stowage(directory.path(), more);
  };
  const ProcessResult rows = fit({"--stream"});
  EXPECT_EQ(rows.status, 0) << rows.errors;
  expect_says(rows.errors, {"fit: n=", " fits by rows, ", " bytes, with a plan for this size alone; "});
  expect_says(rows.output, {"streamed ", "multiplies 1.000 times"});
  const ProcessResult cut = fit({"--stream", "--time-limit", "0"});
  EXPECT_EQ(cut.status, 0) << cut.errors;
  expect_says(cut.errors,
              {"fit: n=5 fits, ", "the search was cut short, so a longer --time-limit may find more"});
  expect_says(fit({"--time-limit", "0"}).errors,
              {"every size of 'n' from 5 to 5 fits", "the search was cut short"});
}

TEST(CliOpenSizes, OfATableEndWithTheTime) {
  const ProcessResult table = planned({"--fit", "batch,seq", "--capacity", "64KiB", "--time-limit", "0"});
  EXPECT_EQ(table.status, 0) << table.errors;
  expect_says(table.output, {"the search was cut short"});
  expect_says(table.errors, {"fit: the time limit ended before batch=2 was tried"});
}

/// A window that takes no fewer than 512 samples, and parts of 4.
std::string windows(const char* axis) {
  return testing::onnx_model({.nodes = {testing::node("Conv", {"x", "w"}, {"y"})},
                              .inputs = {tensor_value("x", {1, 1, axis})},
                              .outputs = {testing::untyped_value("y")},
                              .initializers = {testing::zeros("w", {2, 1, 512})}})
      .SerializeAsString();
}

std::string parts_of_four() {
  return testing::onnx_model({.nodes = {testing::node("Reshape", {"x", "parts"}, {"y"})},
                              .inputs = {tensor_value("x", {1, "n"})},
                              .outputs = {testing::untyped_value("y")},
                              .initializers = {testing::vector_of("parts", {-1, 4})}})
      .SerializeAsString();
}

/// The commands that an answer prints, without the name of the program.
std::vector<std::vector<std::string>> commands_in(const std::string& answer) {
  std::vector<std::vector<std::string>> commands;
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  stowage ")) continue;
    std::istringstream words(line);
    commands.emplace_back();
    for (std::string word; words >> word;) commands.back().push_back(word);
    commands.back().erase(commands.back().begin());
  }
  return commands;
}

/// Takes every fourth size and that before it, as detectors do that halve an image several times.
std::string near_four() {
  using Axes = std::vector<std::int64_t>;
  const auto pool = [](const std::string& output, std::int64_t padding) {
    return testing::node(
        "MaxPool", {"x"}, {output},
        {testing::attribute("kernel_shape", Axes{4, 1}), testing::attribute("strides", Axes{4, 1}),
         testing::attribute("pads", Axes{0, 0, padding, 0})});
  };
  return testing::onnx_model({.nodes = {pool("a", 1), pool("b", 3), testing::node("Add", {"a", "b"}, {"y"})},
                              .inputs = {tensor_value("x", {1, 1, "n", 2})},
                              .outputs = {testing::untyped_value("y")}})
      .SerializeAsString();
}

TEST(CliOpenSizes, GoOnWithSizesThatTheModelAccepts) {
  const testing::TemporaryDirectory directory;
  directory.write("mel.onnx", windows("n"));
  directory.write("parts.onnx", parts_of_four());
  directory.write("near.onnx", near_four());
  directory.write("short.onnx",
                  testing::onnx_model({.nodes = {testing::node("Add", {"x", "w"}, {"y"})},
                                       .inputs = {tensor_value("x", {1, "n"}), tensor_value("z", {"n", 4})},
                                       .outputs = {testing::untyped_value("y")},
                                       .initializers = {testing::zeros("w", {1, 7})}})
                      .SerializeAsString());
  const auto answer_of = [&](const std::string& model) {
    return run_stowage(directory.path(), {"plan", model}).output;
  };
  expect_says(answer_of("mel.onnx"), {"for every size from 512 up to 2048", "--dim n=512..2048\n",
                                      "--dim n=512..1048576 --fit n --capacity 1MiB"});
  expect_says(answer_of("parts.onnx"), {"in steps of 4", "--dim n=4..2048:4\n"});
  expect_says(answer_of("near.onnx"), {"in steps of 4", "..2048:4\n"});
  for (const std::string model : {"mel.onnx", "parts.onnx", "near.onnx", "short.onnx"}) {
    for (const std::vector<std::string>& command : commands_in(answer_of(model))) {
      const ProcessResult result = run_stowage(directory.path(), command);
      EXPECT_EQ(result.status, 0) << model << ": " << result.errors;
    }
  }
  EXPECT_EQ(commands_in(answer_of("mel.onnx")).size(), 2U);
  const ProcessResult fit =
      run_stowage(directory.path(), {"plan", "mel.onnx", "--fit", "n", "--capacity", "1MiB"});
  EXPECT_EQ(fit.status, 0) << fit.errors;
  expect_says(fit.errors, {"every size of 'n' from 512 to "});
}

/// A size of 0 is one: ONNX has empty tensors. It is seldom meant, so that is said wherever notes are.
TEST(CliOpenSizes, MayBeNothing) {
  const testing::TemporaryDirectory directory;
  directory.write("net.onnx", encoder());
  directory.write("mel.onnx", windows("n"));
  const std::vector<std::string> sizes{"--dim", "batch=1", "--dim", "seq=0"};
  const auto run = [&](std::vector<std::string> arguments, bool with_sizes = true) {
    if (with_sizes) arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    return run_stowage(directory.path(), arguments);
  };
  const ProcessResult made = run({"plan", "net.onnx", "-o", "plan.json"});
  EXPECT_EQ(made.status, 0) << made.errors;
  expect_says(made.output, {"peak         0 bytes"});
  for (const ProcessResult& it :
       {made, run({"run", "net.onnx", "--check=all"}), run({"compare", "net.onnx"})}) {
    EXPECT_EQ(it.status, 0) << it.errors;
    expect_says(it.errors, {"seq=0 makes 'x' empty (axis 1)"});
  }
  EXPECT_EQ(run({"verify", "plan.json", "--model", "net.onnx"}).status, 0);
  EXPECT_EQ(run({"verify", "plan.json", "--model", "net.onnx"}, false).status, 0);
  EXPECT_EQ(run({"run", "net.onnx", "--plan", "plan.json"}, false).status, 0);
  EXPECT_EQ(run({"inspect", "net.onnx"}, false).status, 0);
  const ProcessResult wrong = run_stowage(directory.path(), {"plan", "mel.onnx", "--dim", "n=0"});
  EXPECT_EQ(wrong.status, 3) << "the model itself takes no empty input";
  expect_says(wrong.errors, {"larger than the padded input of 0"});
}

}  // namespace
}  // namespace stowage
