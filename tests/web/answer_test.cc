// What the page that plans answers: the plan of `stowage plan`, and its words for what is wrong.

#include "web/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "onnx_models.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::web {
namespace {

std::string example_bytes(const std::string& name) {
  std::ifstream in(std::string(STOWAGE_EXAMPLES) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Answer answer_of_list(const std::string& list, Question question = {}) {
  question.bytes = list;
  question.name = "list.csv";
  return answer(question);
}

const std::string small_list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";

TEST(WebAnswer, PlansModels) {
  const std::string model = example_bytes("classifier.onnx");
  const Answer it = answer({.bytes = model, .name = "classifier.onnx"});
  EXPECT_EQ(it.error, "");
  EXPECT_EQ(it.notes, "");
  EXPECT_EQ(it.peak, 737280);  // as README.md has it, proven optimal
  EXPECT_EQ(it.lower_bound, 737280);
  const Plan plan = parse_plan(it.plan);
  EXPECT_EQ(plan.summary.peak, it.peak);
  EXPECT_TRUE(check_plan(plan).empty());
  EXPECT_TRUE(it.report.starts_with("<!doctype html>"));
  EXPECT_NE(it.report.find("stowage plan classifier.onnx"), std::string::npos);
}

TEST(WebAnswer, PlansRows) {
  const std::string model = example_bytes("classifier.onnx");
  const Answer it = answer({.bytes = model, .name = "classifier.onnx", .seconds = "1", .by_rows = true});
  EXPECT_EQ(it.error, "");
  EXPECT_LT(it.peak, 737280);
  EXPECT_TRUE(is_streamed(parse_plan(it.plan)));
  EXPECT_NE(it.report.find("stowage plan classifier.onnx --time-limit 1 --stream"), std::string::npos);
}

TEST(WebAnswer, SaysWhatDoesNotFit) {
  const Answer it = answer_of_list(small_list, {.capacity = "80"});
  EXPECT_EQ(it.error, "");
  EXPECT_EQ(it.notes,
            "the plan needs 96 bytes, 16 more than the 80 of memory 'arena'\n"
            "96 bytes of memory 'arena' would be enough\n");
  EXPECT_EQ(it.peak, 96);
  EXPECT_NE(it.report.find("stowage plan list.csv --capacity 80"), std::string::npos);
  EXPECT_NE(it.report.find("Keep elsewhere, or let live shorter"), std::string::npos);
  EXPECT_EQ(answer_of_list(small_list, {.capacity = "96"}).notes, "");
}

TEST(WebAnswer, SaysWhatIsWrong) {
  EXPECT_EQ(answer_of_list("id,lower,upper,size\na,0,x,3\n").error,
            "list.csv: line 2: upper is 'x', expected a whole number of 64 bits");
  EXPECT_EQ(answer_of_list(small_list, {.capacity = "12q"}).error,
            "--capacity is '12q', expected a size such as 65536, 64KiB, 64K or 1.5MB");
  EXPECT_EQ(answer_of_list(small_list, {.seconds = "soon"}).error,
            "--time-limit is 'soon', expected a number from 0 to 100000000");
  EXPECT_NE(answer_of_list(small_list, {.sizes = " batch=1\t"}).error.find("--dim"), std::string::npos);
  EXPECT_NE(answer({.name = "nothing.tflite"}).error.find("nothing.tflite"), std::string::npos);
}

TEST(WebAnswer, TakesSizes) {
  const std::string model = example_bytes("classifier.onnx");
  EXPECT_EQ(answer({.bytes = model, .name = "classifier.onnx", .sizes = "rows=..4\tcolumns=2 "}).error,
            "--dim: the model has no symbolic dimension 'columns'");
}

TEST(WebAnswer, TakesValues) {
  using testing::node, testing::tensor_value, testing::untyped_value;
  const std::string model =
      testing::onnx_model(
          {.nodes = {node("Reshape", {"x", "sizes"}, {"s"}), node("Softmax", {"s"}, {"y"})},
           .inputs = {tensor_value("x", {24}), tensor_value("sizes", {2}, onnx::TensorProto::INT64)},
           .outputs = {untyped_value("y")}})
          .SerializeAsString();
  const Question question{.bytes = model, .name = "net.onnx"};
  EXPECT_NE(answer(question).error.find("--value sizes=NUMBER"), std::string::npos) << answer(question).error;
  Question with_value = question;
  with_value.values = " sizes=4,6\n";
  const Answer it = answer(with_value);
  EXPECT_EQ(it.error, "");
  EXPECT_NE(it.plan.find(R"("value":[4,6])"), std::string::npos) << it.plan;
  EXPECT_NE(it.report.find("stowage plan net.onnx --value sizes=4,6"), std::string::npos);
  with_value.values = "sizes=4,7";
  EXPECT_NE(answer(with_value).error, "");
}

TEST(WebAnswer, TakesState) {
  using testing::node, testing::tensor_value, testing::untyped_value;
  const std::string model =
      testing::onnx_model({.nodes = {node("Add", {"x", "old"}, {"new"}), node("Softmax", {"new"}, {"y"})},
                           .inputs = {tensor_value("x", {64}), tensor_value("old", {64})},
                           .outputs = {untyped_value("y"), untyped_value("new")}})
          .SerializeAsString();
  const Answer it = answer({.bytes = model, .name = "net.onnx", .states = "new=old"});
  EXPECT_EQ(it.error, "");
  EXPECT_NE(it.report.find("stowage plan net.onnx --state new=old"), std::string::npos);
  EXPECT_TRUE(std::ranges::any_of(parse_plan(it.plan).buffers,
                                  [](const Buffer& buffer) { return buffer.kind == TensorKind::state; }));
  EXPECT_NE(answer({.bytes = model, .name = "net.onnx", .states = "new"}).error.find("--state"),
            std::string::npos);
}

TEST(WebAnswer, StartsNoThread) {
  std::string list = "id,lower,upper,size\n";
  for (int b = 0; b < 3000; ++b)
    list += "b" + std::to_string(b) + "," + std::to_string(b) + "," + std::to_string(b + 2 + b % 97) + "," +
            std::to_string(1 + b * 37 % 101) + "\n";
  std::set<std::thread::id> threads;
  const Answer it = answer({.bytes = list, .name = "list.csv", .seconds = "0.5"},
                           [&](std::string_view, double) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(it.error, "");
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

}  // namespace
}  // namespace stowage::web
