// State that grows, as the caches of a decoder: in a plan for a range of sizes a model runs once for each token, each
// time with the state that it has left, and gives what it gives without a plan.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/offset_functions.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::Dimensions;
using testing::node;
using testing::onnx_model;
using testing::tensor_value;
using testing::untyped_value;
using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

/// A cache: its shape, with "n" along the axis along which it grows.
struct Cache {
  std::vector<std::int64_t> shape{};  ///< 0 along that axis.
  std::size_t axis = 0;
  bool is_behind = false;       ///< New bytes are in front of the old ones.
  bool is_read_behind = false;  ///< An operator that needs the new state reads the old one.

  [[nodiscard]] bool is_copied() const {
    const bool has_outer = std::any_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis),
                                       [](auto it) { return it > 1; });
    return has_outer || is_behind || is_read_behind;
  }
  [[nodiscard]] Dimensions with(const testing::Dimension& length) const {
    Dimensions dimensions;
    for (std::size_t d = 0; d < shape.size(); ++d)
      dimensions.push_back(d == axis ? length : testing::Dimension(shape[d]));
    return dimensions;
  }
  /// At a length.
  [[nodiscard]] Shape at(std::int64_t length) const {
    Shape all = shape;
    all[axis] = length;
    return all;
  }
  [[nodiscard]] Bytes bytes_at(std::int64_t length) const { return bytes_of(DType::float32, at(length)); }
};

std::string numbered(const std::string& name, std::size_t i) { return name + std::to_string(i); }

/// Each cache gets a row that the input `x` of four numbers decides; `y` is made of sums of all of them.
std::string model_with(const std::vector<Cache>& caches) {
  testing::OnnxParts parts{.inputs = {tensor_value("x", {4})}, .outputs = {untyped_value("y")}};
  const auto sum = [&](const std::string& of, const std::string& to) {
    parts.nodes.push_back(node("ReduceSum", {of}, {to}, {attribute("keepdims", std::int64_t{0})}));
  };
  std::string y = "x";
  const auto add = [&](const std::string& other, const std::string& to) {
    parts.nodes.push_back(node("Add", {y, other}, {to}));
    y = to;
  };
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const Cache& it = caches[i];
    const std::string past = numbered("past", i), present = numbered("present", i), row = numbered("row", i);
    parts.inputs.push_back(tensor_value(past, it.with("n")));
    parts.outputs.push_back(untyped_value(present));
    parts.initializers.push_back(testing::zeros(numbered("zero", i), it.at(1)));
    sum(y, numbered("s", i));
    parts.nodes.push_back(node("Add", {numbered("zero", i), numbered("s", i)}, {row}));
    const std::vector<std::string> joined = it.is_behind ? std::vector{row, past} : std::vector{past, row};
    parts.nodes.push_back(
        node("Concat", joined, {present}, {attribute("axis", static_cast<std::int64_t>(it.axis))}));
    sum(present, numbered("all", i));
    add(numbered("all", i), numbered("h", i));
    if (!it.is_read_behind) continue;
    parts.nodes.push_back(node("Mul", {past, numbered("all", i)}, {numbered("scaled", i)}));
    sum(numbered("scaled", i), numbered("again", i));
    add(numbered("again", i), numbered("g", i));
  }
  parts.nodes.push_back(node("Neg", {y}, {"y"}));
  return onnx_model(parts).SerializeAsString();
}

ImportOptions options_for(const std::vector<Cache>& caches, std::int64_t least, std::int64_t most) {
  ImportOptions options{.dims = {{"n", {least, most}}}, .constants = true};
  for (std::size_t i = 0; i < caches.size(); ++i)
    options.states.push_back({numbered("present", i), numbered("past", i)});
  return options;
}

Array array_of(const Shape& shape, Random& random) {
  std::vector<float> values(static_cast<std::size_t>(bytes_of(DType::float32, shape)) / sizeof(float));
  for (float& value : values) value = static_cast<float>(below(random, 64)) / 64;
  const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
  return {DType::float32, shape, std::vector<std::byte>(bytes, bytes + values.size() * sizeof(float))};
}

const Array& output_of(const RunResult& result, const std::string& name) {
  return std::ranges::find(result.outputs, name, &NamedArray::name)->array;
}

PlanResult planned(const Input& input) { return make_plan(input, PlanOptions{}); }

std::span<const Input> one(const Input& input) { return {&input, 1}; }

std::string text_of(const Faults& faults) {
  std::string text;
  for (const Fault& fault : faults) text += fault.what + "\n";
  return text;
}

std::size_t index_of(const Plan& plan, const std::string& name) {
  const auto found =
      std::ranges::find_if(plan.tensors, [&](const PlannedTensor& it) { return it.tensor.name == name; });
  return static_cast<std::size_t>(found - plan.tensors.begin());
}

/// A token after the other, from an empty cache on.
void expect_tokens(const std::string& model, const std::vector<Cache>& caches, const Plan& plan,
                   const Network& range, std::int64_t least, std::int64_t most, Random& random) {
  std::map<std::string, Array> state;
  for (std::size_t i = 0; i < caches.size(); ++i)
    state.emplace(numbered("past", i), array_of(caches[i].at(least), random));
  for (std::int64_t n = least; n <= most; ++n) {
    SCOPED_TRACE("n=" + std::to_string(n));
    ImportOptions plain = options_for(caches, n, n);
    plain.states.clear();
    Network alone = parse_network(model, "net.onnx", plain);
    std::map<std::string, Array> given = state;
    given.emplace("x", array_of({4}, random));
    PlanOptions apart;
    apart.alias = Alias::none;
    apart.order = Order::keep;
    const RunResult expected =
        run_plan(alone, make_plan(alone.input, apart).plan, {.kernels = KernelSet::plain, .inputs = given});
    ASSERT_FALSE(expected.fault) << expected.fault->what;
    const Network exact = parse_network(model, "net.onnx", options_for(caches, n, n));
    Network at = range;
    at.input.content = graph_at(range.graph(), exact.graph());
    const Plan own = plan_at(plan, at.graph());
    const Faults faults = check_plan(own, one(at.input));
    ASSERT_TRUE(faults.empty()) << text_of(faults);
    for (const RunCheck check : {RunCheck::tensors, RunCheck::outputs}) {
      const RunResult result =
          run_plan(at, own, {.kernels = KernelSet::plain, .check = check, .inputs = given});
      ASSERT_FALSE(result.fault) << result.fault->what;
      EXPECT_EQ(output_of(result, "y"), output_of(expected, "y"));
      for (std::size_t i = 0; i < caches.size(); ++i)
        EXPECT_EQ(output_of(result, numbered("present", i)), output_of(expected, numbered("present", i)));
    }
    for (std::size_t i = 0; i < caches.size(); ++i)
      state.insert_or_assign(numbered("past", i), output_of(expected, numbered("present", i)));
  }
}

/// The places of all caches are reserved for the bound, at all times; which of them are copied is known.
void expect_places(const Plan& plan, const std::vector<Cache>& caches, std::int64_t most) {
  Bytes reserved = 0;
  Bytes bound = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind != TensorKind::state) continue;
    reserved += buffer.size;
    EXPECT_EQ(buffer.pieces.size(), 1U);
  }
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const Bytes bytes = caches[i].bytes_at(most + 1);
    bound += (bytes + 63) / 64 * 64;
    const Feed state{index_of(plan, numbered("present", i)), index_of(plan, numbered("past", i))};
    EXPECT_EQ(std::ranges::count(plan.states, state), caches[i].is_copied() ? 1 : 0);
    const View& past = plan.tensors[state.input].views.at(0);
    const View& present = plan.tensors[state.output].views.at(0);
    EXPECT_EQ(past.buffer == present.buffer, !caches[i].is_copied());
  }
  EXPECT_EQ(reserved, bound);
}

std::vector<Cache> random_caches(Random& random) {
  std::vector<Cache> caches(1 + below(random, 3));
  for (Cache& it : caches) {
    it.axis = below(random, 3);
    for (std::size_t d = 0; d < 4; ++d)
      it.shape.push_back(d == it.axis ? 0
                                      : 1 + static_cast<std::int64_t>(below(random, d < it.axis ? 2 : 5)));
    it.is_behind = below(random, 6) == 0;
    it.is_read_behind = below(random, 6) == 0;
  }
  return caches;
}

TEST(GrowingState, GivesEachTokenWhatItGivesWithoutAPlan) {
  Random random(29);
  for (int repeat = 0; repeat < 25; ++repeat) {
    SCOPED_TRACE(repeat);
    const std::vector<Cache> caches = random_caches(random);
    const std::int64_t least = static_cast<std::int64_t>(below(random, 2));
    const std::int64_t most = least + 1 + static_cast<std::int64_t>(below(random, 6));
    const std::string model = model_with(caches);
    const Network range = parse_network(model, "net.onnx", options_for(caches, least, most));
    PlanOptions options;
    options.solve.effort = 2000;
    if (repeat % 3 == 1) options.io = Io::external;
    if (repeat % 3 == 2) options.order = Order::keep;
    const PlanResult made = make_plan(range.input, options);
    ASSERT_TRUE(made.faults.empty()) << text_of(made.faults);
    if (options.io == Io::arena) expect_places(made.plan, caches, most);
    expect_tokens(model, caches, made.plan, range, least, most, random);
    std::ostringstream json;
    write_json(made.plan, json);
    EXPECT_EQ(parse_plan(json.str()).states, made.plan.states);
    EXPECT_TRUE(check_plan(parse_plan(json.str()), one(range.input)).empty());
  }
}

/// At numbers, the copies that an operator makes say where the old state is.
TEST(GrowingState, IsPlannedAtNumbersAsForRanges) {
  Random random(31);
  for (int repeat = 0; repeat < 25; ++repeat) {
    SCOPED_TRACE(repeat);
    const std::vector<Cache> caches = random_caches(random);
    const std::int64_t n = 1 + static_cast<std::int64_t>(below(random, 5));
    const Network network = parse_network(model_with(caches), "net.onnx", options_for(caches, n, n));
    PlanOptions options;
    if (repeat % 3 == 1) options.io = Io::external;
    if (repeat % 3 == 2) options.alias = Alias::none;
    const PlanResult made = make_plan(network.input, options);
    ASSERT_TRUE(made.faults.empty()) << text_of(made.faults);
    if (options.io == Io::arena) expect_places(made.plan, caches, n);
    const RunResult result =
        run_plan(network, made.plan, {.kernels = KernelSet::plain, .check = RunCheck::tensors});
    EXPECT_FALSE(result.fault) << result.fault->what;
  }
}

const Cache time_first{.shape = {1, 0, 2, 8}, .axis = 1};
const Cache heads_first{.shape = {1, 2, 0, 8}, .axis = 2};

/// Spoils plans of both kinds of caches.
TEST(GrowingState, CheckerRefusesWhatLosesIt) {
  const auto expect = [](const Cache& cache, const std::string& words, const auto& spoil) {
    const Input input = parse_input(model_with({cache}), "net.onnx", options_for({cache}, 1, 9));
    Plan plan = planned(input).plan;
    ASSERT_TRUE(check_plan(plan, one(input)).empty());
    spoil(plan, plan.tensors[index_of(plan, "past0")], plan.tensors[index_of(plan, "present0")]);
    const Faults faults = check_plan(plan, one(input));
    EXPECT_NE(text_of(faults).find(words), std::string::npos) << words << " in\n" << text_of(faults);
  };
  const auto less = [](Plan& plan, const PlannedTensor& past, const PlannedTensor&) {
    plan.buffers[past.views[0].buffer].pieces[0].size = past.tensor.bytes / 9 * 10 - 1;
  };
  const auto later = [](Plan& plan, const PlannedTensor& past, const PlannedTensor&) {
    plan.buffers[past.views[0].buffer].pieces[0].life.lower = 1;
  };
  for (const Cache& cache : {time_first, heads_first}) {
    expect(cache, "is not reserved at all times in", less);
    expect(cache, "is not reserved at all times in", later);
  }
  expect(time_first, "is the new state of tensor 'past0', but they are not in one place",
         [](Plan& plan, PlannedTensor&, PlannedTensor& present) {
           Buffer buffer = plan.buffers[present.views[0].buffer];
           buffer.id = "another";
           present.views[0].buffer = plan.buffers.size();
           plan.buffers.push_back(buffer);
           plan.places.push_back({0, plan.summary.peak});
         });
  expect(heads_first, "shares buffer 'past0' with tensor 'present0'",
         [](Plan&, PlannedTensor& past, PlannedTensor& present) {
           present.views[0].buffer = past.views[0].buffer;
         });
  expect(heads_first, "the plan does not have it among its states",
         [](Plan& plan, const auto&, const auto&) { plan.states.clear(); });
  expect(heads_first, "is of kind state, the plan says input",
         [](Plan&, PlannedTensor& past, const auto&) { past.tensor.kind = TensorKind::input; });
  expect(heads_first, "is released",
         [](Plan& plan, const auto&, const auto&) { plan.released.push_back(index_of(plan, "present0")); });
  expect(heads_first, "present0", [](Plan& plan, const auto&, PlannedTensor& present) {
    --present.views[0].life.upper;  // it is to be there when the model has run
    plan.buffers[present.views[0].buffer].pieces[0].life.upper = present.views[0].life.upper;
  });
}

/// Prefill writes the cache that decode reads and continues, in one round.
TEST(GrowingState, IsThatOfPrefillAndDecode) {
  constexpr std::int64_t n = 5;
  Random random(5);
  for (const Cache& cache : {time_first, heads_first}) {
    const std::string prefill = onnx_model({.nodes = {node("Neg", {"prompt"}, {"cache"})},
                                            .inputs = {tensor_value("prompt", cache.with(n))},
                                            .outputs = {untyped_value("cache")}})
                                    .SerializeAsString();
    const std::vector<Network> networks{
        parse_network(prefill, "prefill.onnx", {.constants = true}),
        parse_network(model_with({cache}), "decode.onnx", options_for({cache}, n, n))};
    const std::vector<Input> inputs{networks[0].input, networks[1].input};
    PlanOptions options;
    options.states = {{"prefill.cache", "decode.past0"}};
    const PlanResult made = make_plan(inputs, options);
    ASSERT_TRUE(made.faults.empty()) << text_of(made.faults);
    EXPECT_EQ(made.plan.states.size(), 2U);
    const View& place = made.plan.tensors[index_of(made.plan, "past0")].views.at(0);
    EXPECT_EQ(made.plan.tensors[index_of(made.plan, "cache")].views.at(0).buffer, place.buffer);
    EXPECT_EQ(made.plan.buffers[place.buffer].size, cache.bytes_at(n + 1));
    const Array prompt = array_of(cache.at(n), random);
    const Array x = array_of({4}, random);
    const RunResult first = run_plan(networks[0], planned(networks[0].input).plan,
                                     {.kernels = KernelSet::plain, .inputs = {{"prompt", prompt}}});
    const RunResult second =
        run_plan(networks[1], planned(networks[1].input).plan,
                 {.kernels = KernelSet::plain, .inputs = {{"x", x}, {"past0", output_of(first, "cache")}}});
    for (const RunCheck check : {RunCheck::tensors, RunCheck::outputs}) {
      const RunResult both = run_plan(networks, made.plan,
                                      {.kernels = KernelSet::plain,
                                       .check = check,
                                       .inputs = {{"prefill.prompt", prompt}, {"decode.x", x}}});
      ASSERT_FALSE(both.fault) << both.fault->what;
      for (const char* const name : {"y", "present0"})
        EXPECT_EQ(output_of(both, name), output_of(second, name));
    }
    Plan less = made.plan;
    less.buffers[place.buffer].pieces[0].size = cache.bytes_at(n + 1) - 1;
    EXPECT_NE(text_of(check_plan(less, inputs)).find("is not reserved at all times in"), std::string::npos);
  }
}

TEST(GrowingState, MayBeNamedByOnePattern) {
  const std::vector<Cache> caches{time_first, time_first, time_first};
  const std::string model = model_with(caches);
  ImportOptions starred = options_for(caches, 1, 9);
  const auto graph_with = [&] { return std::get<Graph>(parse_input(model, "net.onnx", starred).content); };
  const Graph one_by_one = graph_with();
  starred.states = {{"present*", "past*"}};
  EXPECT_EQ(graph_with().ties, one_by_one.ties);
  EXPECT_EQ(one_by_one.ties.size(), 3U);
}

TEST(GrowingState, SummaryHasItsBytesPerStep) {
  const auto summary = [](const std::vector<Cache>& caches) {
    const Input input = parse_input(model_with(caches), "net.onnx", options_for(caches, 1, 9));
    std::ostringstream text;
    write_summary(planned(input).plan, text);
    return text.str();
  };
  testing::expect_message(summary({time_first, time_first}),
                          {"state        1280 bytes", "; 128 bytes for each step along axis 1 of past0"});
  const std::string copied = summary({time_first, heads_first, heads_first});
  testing::expect_message(
      copied, {"; 192 bytes for each step along axis 1 of past0",
               "copied       present1 and 1 more, to the places of the old states when the model has run, "
               "1280 bytes"});
}

TEST(GrowingState, IsRefusedWhereItCannotBe) {
  const auto options = options_for({time_first}, 1, 9);
  const std::string model = model_with({time_first});
  const auto error_of = [](const auto& call) {
    try {
      (void)call();
    } catch (const Error& error) {
      return std::string(error.what());
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Input range = parse_input(model, "net.onnx", options);
  const ReadAtSizes read = [&](std::span<const std::int64_t> values) {
    return std::get<Graph>(
        parse_input(model, "net.onnx", options_for({time_first}, values[0], values[0])).content);
  };
  testing::expect_message(
      error_of([&] { return find_plan_with_functions(range, planned(range), read, {}); }),
      {"--offsets symbolic: tensor 'past0' is state that grows (--state), and would lie elsewhere"});
  PlanOptions rows;
  rows.stream.emplace();
  const PlanResult made = make_plan(range, rows);
  ASSERT_TRUE(made.faults.empty()) << text_of(made.faults);
  ASSERT_FALSE(made.plan.left_out.empty());
  testing::expect_message(
      made.plan.left_out[0].why,
      {"tensor 'past0' is state (--state) that grows, and such state is for whole operators"});
  const auto refused = [&](const StateNames& names) {
    ImportOptions starred = options_for({time_first}, 1, 9);
    starred.states = {names};
    return error_of([&] { return parse_input(model, "net.onnx", starred); });
  };
  testing::expect_message(refused({"present*", "past0"}),
                          {"--state present*=past0", "one star on each side"});
  testing::expect_message(refused({"key*", "past*"}), {"the model has no output like 'key*'"});
  testing::expect_message(refused({"y*", "past*"}),
                          {"the model has no input 'past'", "did you mean 'past0'"});
  ImportOptions wrong = options_for({time_first}, 1, 9);
  wrong.states = {{"y", "past0"}};
  testing::expect_message(error_of([&] { return parse_input(model, "net.onnx", wrong); }),
                          {"expected as many, or more along one axis"});
}

}  // namespace
}  // namespace stowage
