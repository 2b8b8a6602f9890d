// Networks planned row by row: every plan is checked, and run with every row compared with an unstreamed run.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <sstream>

#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using Random = std::mt19937_64;

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// An ONNX network of small images, operator by operator.
class ImageNetwork {
 public:
  explicit ImageNetwork(Random& random) : random_(random) {
    graph_.name = "images";
    graph_.subgraphs = {{.name = "main"}};
    network_.details = {{}};
    network_.input.info = {"images", "images.onnx", ModelFormat::onnx};
  }

  TensorId add_tensor(TensorKind kind, const Shape& shape) {
    graph_.tensors.push_back({.name = "t" + std::to_string(graph_.tensors.size()),
                              .kind = kind,
                              .dtype = DType::float32,
                              .shape = shape,
                              .bytes = bytes_of(DType::float32, shape)});
    if (kind == TensorKind::input) graph_.subgraphs[0].inputs.push_back(graph_.tensors.size() - 1);
    return graph_.tensors.size() - 1;
  }

  TensorId weight(const Shape& shape) {
    const TensorId t = add_tensor(TensorKind::weight, shape);
    std::vector<std::byte> bytes(static_cast<std::size_t>(graph_.tensors[t].bytes));
    auto* const values = reinterpret_cast<float*>(bytes.data());
    for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i)
      values[i] = std::uniform_real_distribution<float>(-1, 1)(random_);
    network_.input.constants.set(t, std::move(bytes));
    return t;
  }

  TensorId apply(const std::string& type, const std::vector<TensorId>& inputs, const Shape& shape,
                 const std::vector<std::pair<std::string, Attributes::Value>>& settings = {}) {
    Operator op{.name = type + std::to_string(graph_.tensors.size()), .type = type};
    for (const TensorId t : inputs) op.inputs.emplace_back(t);
    op.outputs.emplace_back(add_tensor(TensorKind::temporary, shape));
    OperatorDetails details{.version = 13};
    for (const auto& [name, value] : settings) details.attributes.set(name, value);
    graph_.subgraphs[0].operators.push_back(std::move(op));
    network_.details[0].push_back(std::move(details));
    return graph_.tensors.size() - 1;
  }

  TensorId window(const std::string& type, TensorId x) {
    const Shape in = shape(x);
    const std::int64_t kernel = pick(random_, 1, 3);
    const std::int64_t stride = pick(random_, 1, 2);
    const std::int64_t pad = pick(random_, 0, kernel - 1);
    const auto places = [&](std::int64_t extent) { return (extent + 2 * pad - kernel) / stride + 1; };
    if (std::min(in[2], in[3]) + 2 * pad < kernel) return x;
    const std::int64_t channels = type == "Conv" ? pick(random_, 1, 4) : in[1];
    std::vector<TensorId> inputs{x};
    if (type == "Conv") inputs.push_back(weight({channels, in[1], kernel, kernel}));
    return apply(type, inputs, {1, channels, places(in[2]), places(in[3])},
                 {{"kernel_shape", Shape{kernel, kernel}},
                  {"strides", Shape{stride, stride}},
                  {"pads", Shape{pad, pad, pad, pad}}});
  }

  /// One of several operators on tensors that are there.
  TensorId any(const std::vector<TensorId>& values) {
    const TensorId x = values[static_cast<std::size_t>(pick(random_, 0, std::ssize(values) - 1))];
    switch (pick(random_, 0, 5)) {
      case 0:
        return apply(pick(random_, 0, 1) == 0 ? "Relu" : "Sigmoid", {x}, shape(x));
      case 1:
        return window("MaxPool", x);
      case 2:
        return apply("GlobalAveragePool", {x}, {1, shape(x)[1], 1, 1});
      case 3:
      case 4: {
        for (const TensorId y : values) {
          if (y == x) continue;
          if (shape(y) == shape(x) && pick(random_, 0, 1) == 0) return apply("Add", {x, y}, shape(x));
          Shape joined = shape(x);
          joined[1] += shape(y)[1];
          if (shape(y)[2] == shape(x)[2] && shape(y)[3] == shape(x)[3])
            return apply("Concat", {x, y}, joined, {{"axis", std::int64_t{1}}});
        }
        return window("Conv", x);
      }
      default:
        return window("Conv", x);
    }
  }

  [[nodiscard]] const Shape& shape(TensorId t) const { return *graph_.tensors[t].shape; }

  /// What nobody reads is an output, and so many percent of all else.
  Network take(std::int64_t percent = 10) {
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind != TensorKind::temporary) continue;
      const auto& operators = graph_.subgraphs[0].operators;
      const bool is_read = std::any_of(operators.begin(), operators.end(), [&](const Operator& op) {
        return std::find(op.inputs.begin(), op.inputs.end(), t) != op.inputs.end();
      });
      if (is_read && pick(random_, 0, 99) >= percent) continue;
      graph_.tensors[t].kind = TensorKind::output;
      graph_.subgraphs[0].outputs.push_back(t);
    }
    network_.quantizations.resize(graph_.tensors.size());
    network_.input.content = graph_;
    add_rows(network_);
    validate(network_.graph());
    return std::move(network_);
  }

 private:
  Random& random_;
  Graph graph_{};
  Network network_{};
};

Network random_images(Random& random) {
  ImageNetwork images(random);
  std::vector<TensorId> values{
      images.add_tensor(TensorKind::input, {1, pick(random, 1, 3), pick(random, 3, 9), pick(random, 2, 5)})};
  const std::int64_t operators = pick(random, 1, 8);
  while (std::ssize(values) <= operators) {
    const TensorId made = images.any(values);
    if (made == values.back()) break;  // nothing fits any more
    values.push_back(made);
  }
  if (values.size() == 1) values.push_back(images.apply("Relu", {values[0]}, images.shape(values[0])));
  return images.take();
}

PlanOptions streaming(Io io, std::int64_t granule = 1) {
  PlanOptions options;
  options.io = io;
  options.stream.emplace();
  options.stream->granule = granule;
  options.solve.time_limit = std::chrono::milliseconds(50);
  return options;
}

bool is_streamed(const Plan& plan) { return plan.streaming.has_value(); }

TEST(PlanStream, RandomNetworksRunInTheirPlans) {
  Random random(1);
  int streamed = 0;
  int better = 0;
  const auto cases = static_cast<int>(testing::cases_of(250));
  for (int i = 0; i < cases; ++i) {
    const Network network = random_images(random);
    PlanOptions options = streaming(static_cast<Io>(pick(random, 0, 2)), pick(random, 1, 3));
    options.alias = pick(random, 0, 3) == 0 ? Alias::none : Alias::automatic;
    options.alignment = pick(random, 0, 1) == 0 ? 4 : 64;
    if (pick(random, 0, 2) == 0) options.stream->recompute = 3;
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << i << ": " << result.faults[0].what;
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
    streamed += is_streamed(result.plan) ? 1 : 0;
    if (!is_streamed(result.plan)) continue;
    const double factor = result.plan.streaming->recomputed;
    EXPECT_LE(factor, options.stream->recompute) << i;
    EXPECT_NEAR(static_cast<double>(run.multiplies), factor * static_cast<double>(run.multiplies_of_network),
                0.02 * static_cast<double>(run.multiplies))
        << i;
    EXPECT_GE(run.multiplies, run.multiplies_of_network) << i;
    EXPECT_LE(result.plan.streaming->load, result.plan.streaming->load_of_layers) << i;
    better += result.plan.streaming->load < result.plan.streaming->load_of_layers ? 1 : 0;
  }
  EXPECT_GT(streamed, cases / 2);
  EXPECT_GT(better, cases / 4);
}

TEST(PlanStream, IsNeverWorseThanWholeOperators) {
  Random random(2);
  for (std::uint64_t i = 0; i < testing::cases_of(50); ++i) {
    const Network network = random_images(random);
    PlanOptions options = streaming(Io::arena);
    const Bytes with = make_plan(network.input, options).plan.summary.peak;
    options.stream.reset();
    EXPECT_LE(with, make_plan(network.input, options).plan.summary.peak) << i;
  }
}

/// Two windows of three rows, the one in front wide and cheap.
Network expansion(Random& random) {
  ImageNetwork images(random);
  const TensorId x = images.add_tensor(TensorKind::input, {1, 2, 32, 8});
  const TensorId wide = images.apply("Conv", {x, images.weight({16, 2, 1, 1})}, {1, 16, 32, 8});
  const TensorId active = images.apply("Relu", {wide}, {1, 16, 32, 8});
  const TensorId deep =
      images.apply("Conv", {active, images.weight({16, 1, 3, 3})}, {1, 16, 16, 4},
                   {{"group", std::int64_t{16}}, {"strides", Shape{2, 2}}, {"pads", Shape{1, 1, 1, 1}}});
  const TensorId narrow = images.apply("Conv", {deep, images.weight({2, 16, 1, 1})}, {1, 2, 16, 4});
  const TensorId again = images.apply("Conv", {narrow, images.weight({32, 2, 1, 1})}, {1, 32, 16, 4});
  (void)images.apply("Conv", {again, images.weight({32, 1, 3, 3})}, {1, 32, 14, 2},
                     {{"group", std::int64_t{32}}});
  return images.take(0);
}

using RunStep = Run;  // a test has a Run of its own

bool adds_part(const Step& step) {
  return std::holds_alternative<RunStep>(step) && std::get<RunStep>(step).part;
}

TEST(PlanStream, ComputesRowsAgainWhereThatSavesMost) {
  Random random(4);
  const Network network = expansion(random);
  PlanOptions options = streaming(Io::rows);
  options.alignment = 4;
  options.solve.time_limit = std::chrono::seconds(3);  // of which a third is for choosing
  const PlanResult once = make_plan(network.input, options);
  options.stream->recompute = 2;
  const PlanResult again = make_plan(network.input, options);
  ASSERT_TRUE(again.faults.empty()) << again.faults[0].what;
  EXPECT_EQ(once.plan.streaming->recomputed, 1);
  EXPECT_GT(again.plan.streaming->recomputed, 1);
  EXPECT_LE(again.plan.streaming->recomputed, 2);
  EXPECT_LT(again.plan.streaming->load, once.plan.streaming->load);
  const auto& steps = again.plan.clocks[0].steps;
  EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), adds_part));
  const RunResult run = run_plan(network, again.plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
  options.stream->recompute = 0.5;
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
}

/// What a gate multiplies is needed when the gate is known, and is made of what the residual keeps.
Network gated(Random& random) {
  ImageNetwork images(random);
  const Shape shape{1, 4, 32, 8};
  const TensorId x = images.add_tensor(TensorKind::input, shape);
  const TensorId active = images.apply("Relu", {x}, shape);
  const TensorId pool = images.apply("GlobalAveragePool", {active}, {1, 4, 1, 1});
  const TensorId gate = images.apply("Sigmoid", {pool}, {1, 4, 1, 1});
  const TensorId scaled = images.apply("Mul", {active, gate}, shape);
  (void)images.apply("Add", {scaled, x}, shape);
  return images.take(0);
}

TEST(PlanStream, RepeatsWhatNeedsNoMultiplies) {
  Random random(6);
  const Network network = gated(random);
  PlanOptions options = streaming(Io::arena);
  options.alignment = 4;
  options.solve.time_limit = std::chrono::seconds(2);
  const PlanResult result = make_plan(network.input, options);
  ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
  ASSERT_TRUE(is_streamed(result.plan));
  const Bytes bytes = network.graph().tensors[0].bytes;
  EXPECT_LT(result.plan.summary.peak, bytes + bytes / 8);  // and not two of them
  EXPECT_EQ(result.plan.streaming->recomputed, 1);
  const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
}

/// A part too many, too few, or in another's place.
TEST(PlanStream, PartsThatDoNotAddUpAreFoundInTheRun) {
  Random random(4);
  const Network network = expansion(random);
  PlanOptions options = streaming(Io::rows);
  options.solve.time_limit = std::chrono::seconds(3);
  options.stream->recompute = 2;
  const Plan plan = make_plan(network.input, options).plan;
  const auto& all = plan.clocks[0].steps;
  const auto first = static_cast<std::size_t>(std::find_if(all.begin(), all.end(), adds_part) - all.begin());
  ASSERT_LT(first, all.size());
  const std::vector<std::function<void(RunStep&)>> wrongs{
      [](RunStep& run) { run.part.reset(); },
      [](RunStep& run) { ++run.part->end; },
      [](RunStep& run) { ++run.part->begin, ++run.part->end; },
      [](RunStep& run) { run.part->axis = 3; },
      [](RunStep& run) { run.rows->axis = 3; },
      [](RunStep& run) {
        run.sums = Sums{0, 0};
      }};
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    Plan wrong = plan;
    wrongs[i](std::get<RunStep>(wrong.clocks[0].steps[first]));
    EXPECT_FALSE(check_plan(wrong, {&network.graph(), 1}).empty()) << i;
    EXPECT_TRUE(run_plan(network, wrong, {}).fault) << i;
  }
}

TEST(PlanStream, HasNoHeaderYet) {
  Random random(5);
  const Network network = expansion(random);
  const Plan plan = make_plan(network.input, streaming(Io::rows)).plan;
  std::ostringstream out;
  EXPECT_THROW(write_header(plan, std::span(&network.graph(), 1), "net", out), UsageError);
}

TEST(PlanStream, RefusesWhatCannotBeStreamed) {
  Random random(3);
  const Network network = random_images(random);
  const std::vector<Input> two(2, network.input);
  EXPECT_THROW((void)make_plan(two, streaming(Io::arena)), UsageError);
  EXPECT_THROW((void)make_plan(parse_input("id,lower,upper,size\na,0,2,64\n", "l.csv"), streaming(Io::arena)),
               UsageError);
  PlanOptions options = streaming(Io::arena, 0);
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
  options = streaming(Io::arena);
  options.memories = {{.name = "a"}, {.name = "b"}};
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
  options = streaming(Io::rows);
  options.stream.reset();
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
  Input stateful = network.input;
  std::get<Graph>(stateful.content).tensors[0].kind = TensorKind::state;
  EXPECT_THROW((void)make_plan(stateful, streaming(Io::arena)), UsageError);
}

TEST(PlanStream, RefusesOperatorsWithBodies) {
  Random random(5);
  Network network = expansion(random);
  auto& graph = std::get<Graph>(network.input.content);
  graph.tensors.push_back(graph.tensors[1]);
  graph.tensors.back().name = "inside";
  graph.subgraphs.push_back({.name = "body"});
  graph.subgraphs[1].operators.push_back(
      {.type = "Relu", .inputs = {TensorId{0}}, .outputs = {graph.tensors.size() - 1}});
  graph.subgraphs[0].operators[0].bodies = {1};
  for (const Order order : {Order::keep, Order::search}) {
    PlanOptions options = streaming(Io::arena);
    options.order = order;
    EXPECT_THROW((void)make_plan(network.input, options), UsageError);
  }
}

struct Target {
  const char* model;
  Bytes arena;
  Bytes rows;
};

TEST(PlanStream, RealNetworksStayBelowTheirTargets) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const Target& target : {Target{"person_detect", 12288, 10080}, Target{"vww_96_int8", 28032, 10272},
                               Target{"mobilenet_v2_int8_224", 197000, 108000}}) {
    const Network network = read_network(folder / (std::string(target.model) + ".tflite"));
    for (const Io io : {Io::arena, Io::rows}) {
      PlanOptions options = streaming(io);
      // How low it is packed is a matter of time, how low its order is is not.
      options.solve.time_limit = std::chrono::seconds(testing::is_in_a_hurry() ? 1 : 3);
      const PlanResult result = make_plan(network.input, options);
      ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
      EXPECT_LE(result.plan.streaming->load, io == Io::arena ? target.arena : target.rows) << target.model;
      if (!testing::is_in_a_hurry()) {
        EXPECT_LE(result.plan.summary.peak, io == Io::arena ? target.arena : target.rows) << target.model;
      }
      const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
      EXPECT_FALSE(run.fault) << run.fault->what;
    }
  }
}

}  // namespace
}  // namespace stowage
