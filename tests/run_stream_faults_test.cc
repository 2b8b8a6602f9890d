// What a streamed plan that loses a row, or cannot be of its network, comes to.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "long_tests.h"
#include "stowage/run.h"
#include "stream_run_networks.h"
#include "stream_run_plans.h"

namespace stowage {
namespace {

using testing::Form;
using testing::ImageNetwork;
using testing::random_image_network;
using testing::random_options;
using testing::streamed_plan;
using testing::StreamedOptions;

std::string fault_of(const RunResult& result) { return result.fault ? result.fault->what : ""; }

/// x -> Conv -> t -> Conv -> u -> GlobalAveragePool -> y, with rows one by one in buffers of their own.
class StreamSketch {
 public:
  explicit StreamSketch(const StreamedOptions& options = {})
      : network_(make()), plan_(streamed_plan(network_, options)) {}

  Plan& plan() { return plan_; }
  PlannedTensor& tensor(const std::string& name) {
    return *std::ranges::find_if(plan_.tensors, [&](const auto& it) { return it.tensor.name == name; });
  }
  Buffer& buffer(const View& view) { return plan_.buffers[view.buffer]; }
  /// Every buffer has a place of its own and lives always.
  void keep_everything() {
    const Lifetime always{0, static_cast<Position>(steps().size())};
    Bytes end = 0;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      plan_.buffers[b].pieces[0].life = always;
      plan_.places[b].offset = end;
      end += plan_.buffers[b].size;
    }
    plan_.memories[0].peak = end;
    for (PlannedTensor& tensor : plan_.tensors)
      for (View& view : tensor.views) view.life = always;
  }
  std::vector<Step>& steps() { return plan_.clocks[0].steps; }
  [[nodiscard]] std::string fault(RunCheck check = RunCheck::none) const {
    return fault_of(run_plan(network_, plan_, {.check = check}));
  }
  void expect_fault(const std::vector<std::string>& parts) const {
    const std::string found = fault();
    for (const std::string& part : parts)
      EXPECT_NE(found.find(part), std::string::npos) << found << "\n" << part;
  }

 private:
  static Network make() {
    Network network;
    Graph graph;
    const auto add = [&](const std::string& name, TensorKind kind, const Shape& shape) {
      graph.tensors.push_back({.name = name,
                               .kind = kind,
                               .dtype = DType::float32,
                               .shape = shape,
                               .bytes = bytes_of(DType::float32, shape)});
      return graph.tensors.size() - 1;
    };
    const Shape image{1, 2, 6, 3};
    const TensorId x = add("x", TensorKind::input, image);
    const TensorId w = add("w", TensorKind::weight, {2, 2, 3, 3});
    network.input.constants.set(w, std::vector<std::byte>(144, std::byte{0x3E}));
    const TensorId t = add("t", TensorKind::temporary, image);
    const TensorId u = add("u", TensorKind::temporary, image);
    const TensorId y = add("y", TensorKind::output, {1, 2, 1, 1});
    graph.subgraphs = {
        {.name = "main",
         .inputs = {x},
         .outputs = {y},
         .operators = {{.name = "first", .type = "Conv", .inputs = {x, w}, .outputs = {t}},
                       {.name = "second", .type = "Conv", .inputs = {t, w}, .outputs = {u}},
                       {.name = "mean", .type = "GlobalAveragePool", .inputs = {u}, .outputs = {y}}}}};
    network.details = {{{.version = 17}, {.version = 17}, {.version = 17}}};
    for (const std::size_t op : {0U, 1U}) network.details[0][op].attributes.set("pads", Shape{1, 1, 1, 1});
    network.quantizations.resize(graph.tensors.size());
    network.input.content = graph;
    add_rows(network);
    return network;
  }

  Network network_;
  Plan plan_;
};

TEST(RunStreamedFaults, TheSketchIsRight) {
  EXPECT_EQ(StreamSketch().fault(RunCheck::tensors), "");
  EXPECT_EQ(StreamSketch({.form = Form::ring, .io_by_rows = true, .seed = 2}).fault(RunCheck::tensors), "");
}

TEST(RunStreamedFaults, TwoRowsInOnePlace) {
  StreamSketch sketch;
  auto& views = sketch.tensor("t").views;
  views[3].buffer = views[2].buffer;
  sketch.buffer(views[2]).pieces[0].life = {0, static_cast<Position>(sketch.steps().size())};
  views[3].life = views[2].life = sketch.buffer(views[2]).pieces[0].life;
  sketch.plan().places[views[2].buffer].offset = sketch.plan().memories[0].peak;
  sketch.plan().memories[0].peak += 1000;
  sketch.expect_fault({"operator 'second'", "row 1 reads row 2 of tensor 't'",
                       "is of row 3 of tensor 't', written by operator 'first'"});
}

TEST(RunStreamedFaults, ARingThatIsTooShort) {
  StreamSketch sketch({.form = Form::ring, .seed = 4});
  Ring& ring = *sketch.tensor("t").views.at(0).ring;
  --ring.count;
  sketch.expect_fault({"operator 'second'", "reads row", "of tensor 't'", "written by operator 'first'"});
}

TEST(RunStreamedFaults, APieceThatIsTooShort) {
  StreamSketch sketch;
  --sketch.buffer(sketch.tensor("t").views.at(2)).pieces[0].life.upper;
  sketch.expect_fault(
      {"row 2 of tensor 't' of operator 'second'", "row 3 needs byte", "which nobody holds", "'t 2'"});
}

TEST(RunStreamedFaults, ALifeThatIsTooShort) {
  StreamSketch sketch;
  --sketch.tensor("t").views.at(2).life.upper;
  sketch.expect_fault({"row 2 of tensor 't'", "operator 'second'", "has no place in the plan"});
}

TEST(RunStreamedFaults, ARowThatIsReadBeforeItIsWritten) {
  StreamSketch sketch({.form = Form::whole});
  sketch.keep_everything();
  std::swap(sketch.steps().at(5), sketch.steps().at(6));  // row 5 of t, row 0 of u
  EXPECT_EQ(sketch.fault(), "");
  std::swap(sketch.steps().at(1), sketch.steps().at(5));
  sketch.expect_fault(
      {"operator 'second'", "row 0 reads row 1 of tensor 't'", "nothing was written to byte"});
}

TEST(RunStreamedFaults, SumsThatAreWrittenOver) {
  StreamSketch sketch({.seed = 3});
  const std::size_t sums = sketch.plan().buffers.size();
  std::size_t buffer = sums;
  for (std::size_t b = 0; b < sums; ++b) {
    if (sketch.plan().buffers[b].id.starts_with("sums")) buffer = b;
  }
  ASSERT_NE(buffer, sums);
  auto& views = sketch.tensor("t").views;
  Buffer& kept = sketch.plan().buffers[buffer];
  kept.size = 24;
  kept.pieces[0] = {0, 24, {0, static_cast<Position>(sketch.steps().size())}};
  sketch.plan().places[buffer].offset = sketch.plan().memories[0].peak;
  sketch.plan().memories[0].peak += 24;
  views[5].buffer = buffer;
  views[5].life = kept.pieces[0].life;
  sketch.expect_fault(
      {"operator 'mean'", "reads its sums", "row 5 of tensor 't', written by operator 'first'"});
}

TEST(RunStreamedFaults, AWindowThatIsWrittenOver) {
  StreamSketch sketch;
  auto& views = sketch.tensor("t").views;
  auto& written = sketch.tensor("u").views;
  sketch.buffer(views[1]).pieces[0].life = {0, static_cast<Position>(sketch.steps().size())};
  written[0].buffer = views[1].buffer;
  sketch.plan().places[views[1].buffer].offset = sketch.plan().memories[0].peak;
  sketch.plan().memories[0].peak += 1000;
  sketch.expect_fault(
      {"operator 'second'", "row 0 writes row 0 of tensor 'u' over row 1 of tensor 't', which it needs"});
}

TEST(RunStreamedFaults, RowsThatNeverLeave) {
  StreamSketch sketch({.io_by_rows = true});
  ASSERT_EQ(sketch.fault(), "");
  std::erase_if(sketch.steps(), [](const Step& step) {
    const Arrive* const arrive = std::get_if<Arrive>(&step);
    return arrive != nullptr && arrive->rows->begin == 5;
  });
  EXPECT_NE(sketch.fault(), "");
}

TEST(RunStreamedFaults, StepsThatCannotBe) {
  const auto expect = [](const std::string& part, const std::function<void(stowage::Run&)>& change,
                         std::size_t step) {
    StreamSketch sketch;
    change(std::get<stowage::Run>(sketch.steps().at(step)));
    sketch.expect_fault({part});
  };
  constexpr std::size_t last = 17;  // of the mean
  expect(
      "step 0 runs rows 0 to 7 of operator", [](stowage::Run& run) { run.rows->end = 7; }, 0);
  expect(
      "step 0 runs rows -1 to", [](stowage::Run& run) { run.rows->begin = -1; }, 0);
  expect(
      "step 0 runs rows 0 to 0", [](stowage::Run& run) { run.rows->end = 0; }, 0);
  expect(
      "has rows along axis", [](stowage::Run& run) { run.rows->axis = 99; }, 0);
  expect(
      "step 0 is not an operator",
      [](stowage::Run& run) {
        run.path = {0, 3};
      },
      0);
  expect(
      "step 0 is not an operator", [](stowage::Run& run) { run.path = {0}; }, 0);
  expect(
      "step 0 of clock 0 is of model 1", [](stowage::Run& run) { run.model = 1; }, 0);
  expect(
      "along which it cannot run by rows", [](stowage::Run& run) { run.sums = Sums{}; }, 0);
  expect(
      "has its sums in a buffer that does not exist", [](stowage::Run& run) { run.sums->buffer = 99; }, last);
  expect(
      "has its sums at -1", [](stowage::Run& run) { run.sums->offset = -1; }, last);
  expect(
      "has sums but no rows", [](stowage::Run& run) { run.rows.reset(); }, last);
  expect(
      "which has 1", [](stowage::Run& run) { run.sums.reset(); }, last);
  expect(
      "sums up rows from 4 on, but 5 rows before",
      [](stowage::Run& run) {
        run.rows = RowRange{2, 4, 5};
      },
      last);
}

TEST(RunStreamedFaults, ViewsThatCannotBe) {
  const auto expect = [](const std::string& part, const std::function<void(View&)>& change, Form form) {
    StreamSketch sketch({.form = form});
    change(sketch.tensor("t").views.at(0));
    sketch.expect_fault({part});
  };
  constexpr std::int64_t much = std::int64_t{1} << 61;
  expect(
      "'t' is in rows along axis 9, which it does not have", [](View& view) { view.rows->axis = 9; },
      Form::rows);
  expect(
      "'t' takes 48 bytes for rows", [](View& view) { view.rows->axis = 3; }, Form::rows);
  expect(
      "'t' has a view of rows 0 to 7", [](View& view) { view.rows->end = 7; }, Form::rows);
  expect(
      "'t' has a view of rows -1 to 1", [](View& view) { view.rows->begin = -1; }, Form::rows);
  expect(
      "'t' is in a ring of 6 granules of 0 rows", [](View& view) { view.ring->granule = 0; }, Form::ring);
  expect(
      "'t' is in a ring of -1 granules", [](View& view) { view.ring->count = -1; }, Form::ring);
  expect(
      "'t' takes", [](View& view) { view.offset = -1; }, Form::ring);
  expect(
      "'t' takes", [](View& view) { view.offset = much; }, Form::ring);
}

/// One change somewhere in a plan.
void mutate(Plan& plan, std::mt19937_64& random) {
  const auto below = [&](std::size_t count) { return random() % std::max<std::size_t>(count, 1); };
  const auto nudge = [&]() -> std::int64_t { return static_cast<std::int64_t>(below(5)) - 2; };
  std::vector<View*> views;
  for (PlannedTensor& tensor : plan.tensors)
    for (View& view : tensor.views) views.push_back(&view);
  View& view = *views.at(below(views.size()));
  Buffer& buffer = plan.buffers.at(below(plan.buffers.size()));
  auto& steps = plan.clocks[0].steps;
  switch (below(9)) {
    case 0:
      view.buffer = below(plan.buffers.size());
      break;
    case 1:
      view.offset += nudge();
      break;
    case 2:
      (below(2) == 0 ? view.life.lower : view.life.upper) += nudge();
      break;
    case 3:
      if (view.ring) (below(2) == 0 ? view.ring->count : view.ring->granule) += nudge();
      if (view.rows) (below(2) == 0 ? view.rows->begin : view.rows->end) += nudge();
      break;
    case 4:
      (below(2) == 0 ? buffer.pieces[0].life.lower : buffer.pieces[0].life.upper) += nudge();
      break;
    case 5:
      plan.places.at(below(plan.places.size())).offset += 4 * nudge();
      break;
    case 6:
      std::swap(steps.at(below(steps.size())), steps.at(below(steps.size())));
      break;
    case 7:
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(below(steps.size())));
      break;
    default:
      if (stowage::Run* const run = std::get_if<stowage::Run>(&steps.at(below(steps.size())));
          run != nullptr && run->rows) {
        (below(2) == 0 ? run->rows->begin : run->rows->end) += nudge();
        if (run->sums) run->sums->offset += nudge();
      }
  }
}

bool is_close(const Array& a, const Array& b) {
  if (a.dtype != DType::float32) return a.data == b.data;
  const auto* const x = reinterpret_cast<const float*>(a.data.data());
  const auto* const y = reinterpret_cast<const float*>(b.data.data());
  float largest = 0;
  for (std::size_t i = 0; i < b.data.size() / 4; ++i) largest = std::max(largest, std::abs(y[i]));
  for (std::size_t i = 0; i < b.data.size() / 4; ++i)
    if (!(std::abs(x[i] - y[i]) <= 1e-5F * largest)) return false;
  return true;
}

// Whether a row is still there is known without looking at values: what runs through has the right outputs,
// though nothing is compared.
TEST(RunStreamedFaults, NoChangeOfAPlanGoesUnnoticed) {
  const std::uint64_t all = testing::cases_of(100);
  std::int64_t faults = 0;
  for (std::uint64_t seed = 0; seed < all; ++seed) {
    const auto kind = static_cast<ImageNetwork>(seed % 3);
    const Network network = random_image_network(seed, kind);
    const Runner runner(network, {.kernels = KernelSet::plain});
    const Plan plan = streamed_plan(network, random_options(seed));
    const RunResult right = runner.run(plan, {.check = RunCheck::outputs});
    ASSERT_EQ(fault_of(right), "");
    std::mt19937_64 random(seed);
    for (int i = 0; i < 30; ++i) {
      Plan changed = plan;
      mutate(changed, random);
      const RunResult result = runner.run(changed, {});
      faults += result.fault ? 1 : 0;
      if (result.fault) continue;
      ASSERT_TRUE(is_close(result.outputs.at(0).array, right.outputs.at(0).array)) << seed << ' ' << i;
    }
  }
  EXPECT_GT(faults, static_cast<std::int64_t>(10 * all));
}

}  // namespace
}  // namespace stowage
