#include "import/placed.h"

#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executorch_generated.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using import::PlacedValue;

Problem list(const Input& input) { return std::get<Problem>(input.content); }

std::string message_of(const std::string& text, const std::string& name) {
  try {
    (void)parse_input(text, name);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refusal_of(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nexpected: " << part;
}

TEST(PlacedList, ValuesThatMeetAreOneBuffer) {
  const std::vector<PlacedValue> values{
      {"a", 0, 0, 64, {0, 3}}, {"b", 0, 32, 32, {2, 5}}, {"c", 0, 0, 32, {3, 4}}};
  const Problem problem = list(import::list_of(values, {"arena"}, 64));
  ASSERT_EQ(problem.buffers.size(), 2U);  // c begins where a has ended
  EXPECT_EQ(problem.buffers[0].id, "a");
  const std::vector<Piece> pieces{{0, 32, {0, 3}}, {32, 32, {0, 5}}};
  EXPECT_EQ(problem.buffers[0].pieces, pieces);
  EXPECT_EQ(problem.buffers[1].pinned, 0);
  EXPECT_EQ(problem.buffers[0].alignment, 64);
}

TEST(PlacedList, CarriedValuesStayTogether) {
  std::vector<PlacedValue> values{{"a", 0, 0, 64, {0, 2}, true}, {"b", 0, 0, 64, {5, 7}, true}};
  EXPECT_EQ(list(import::list_of(values, {"arena"}, 64)).buffers.size(), 1U);
  values[1].is_carried = false;
  EXPECT_EQ(list(import::list_of(values, {"arena"}, 64)).buffers.size(), 2U);
}

TEST(PlacedList, OffsetsShowTheAlignment) {
  const std::vector<PlacedValue> values{
      {"a", 0, 0, 8, {0, 2}}, {"b", 0, 24, 8, {0, 2}}, {"b", 0, 9, 0, {0, 2}}};
  const Problem problem = list(import::list_of(values, {"arena"}, 64));
  ASSERT_EQ(problem.buffers.size(), 2U);  // nothing has no bytes
  EXPECT_EQ(problem.buffers[1].alignment, 8);
}

const std::string vela_text =
    "Warning: No memory mode specified.\n"
    "Allocation, memory Sram, usage mask: FeatureMap|Staging\n"
    "Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format         : Name\n"
    "         0 -          1:        0x0 -       0x40:          64:          192: NHWC           : input:0\n"
    "         1 -          3:       0x80 -      0x100:         128:          192: NHCWB16        : conv\n"
    "         2 -          5:        0x0 -       0x20:          32:          160: NHWC           : out\n"
    "Allocation Peak Tensor Size: 256 bytes == 0.25 KiB\n"
    "Tensor Allocation for read-only NPU tensors:\n"
    "Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format         : Name\n"
    "         0 -          1:        0x0 -       0xf0:         240:          240: Unknown        : weights\n";

TEST(VelaImport, ReadsTheTableOfAMemory) {
  const Input input = parse_input(vela_text, "vela.txt");
  EXPECT_EQ(input.info.format, ModelFormat::vela);
  const Problem problem = list(input);
  ASSERT_EQ(problem.buffers.size(), 3U);
  EXPECT_EQ(problem.buffers[0].id, "input:0");
  EXPECT_EQ(problem.buffers[1].pieces, (std::vector<Piece>{{0, 128, {1, 4}}}));
  EXPECT_EQ(problem.buffers[1].pinned, 128);
  EXPECT_EQ(make_plan(input).plan.summary.peak, 256);
  EXPECT_EQ(make_plan(without_pins(input)).plan.summary.peak, 192);
}

TEST(VelaImport, CompareShowsThePlanAsPlaced) {
  const auto comparisons = compare(parse_input(vela_text, "vela.txt"));
  ASSERT_GT(comparisons.size(), 1U);
  EXPECT_EQ(comparisons[0].strategy, "as placed");
  EXPECT_EQ(comparisons[0].summary.peak, 256);
  EXPECT_EQ(comparisons[0].summary.lower_bound, 192);
  EXPECT_EQ(comparisons[1].summary.peak, 192);
  EXPECT_TRUE(comparisons[0].faults.empty());
}

TEST(VelaImport, SeveralMemoriesStayApart) {
  const std::string second =
      "Allocation, memory Dram, usage mask: FeatureMap\n"
      "Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format         : Name\n"
      "         0 -          9:       0x10 -       0x30:          32:           32: NHWC           : slow\n";
  const Input input = parse_input(vela_text + second, "vela.txt");
  for (const Input& it : {input, without_pins(input)}) {
    const PlanResult result = make_plan(it);
    EXPECT_TRUE(result.faults.empty());
    ASSERT_EQ(result.plan.memories.size(), 2U);
    EXPECT_EQ(result.plan.memories[1].memory.name, "Dram");
    EXPECT_EQ(result.plan.memories[1].peak, &it == &input ? 48 : result.plan.memories[1].peak);
  }
  EXPECT_THROW((void)make_plan(input, {.memories = {{.name = "arena", .capacity = 100}}}), UsageError);
}

TEST(VelaImport, RejectsRowsThatAreWrong) {
  std::string text = vela_text;
  text.replace(text.find("1 -          3"), 14, "5 -          3");
  expect_refusal_of(message_of(text, "v.txt"), "v.txt: line 5: has times 5 to 3");
  text = vela_text;
  text.replace(text.find("0x80 -      0x100"), 17, "0x80 -       0x40");
  expect_refusal_of(message_of(text, "v.txt"), "line 5: has addresses 128 to 64");
  expect_refusal_of(message_of(vela_text.substr(0, vela_text.find("         0")), "v.txt"), "has no row");
}

const std::string xla_text =
    "BufferAssignment:\n"
    "allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:\n"
    " value: <1 x @0> (size=64,offset=0): f32[16]{0}\n"
    "allocation 1: size 256, preallocated-temp:\n"
    " value: <2 add @0> (size=128,offset=0): f32[32]{0}\n"
    " value: <3 loop{1} (phi) @0> (size=64,offset=192): f32[16]{0}\n"
    " value: <4 tanh @0> (size=128,offset=0): f32[32]{0}\n"
    "\nTotal bytes used: 320 (320B)\n\nUsed values:\n";
const std::string xla_lives =
    "HloLiveRange (max 9):\n  InstructionSequence:\n    0:x\n  BufferLiveRange:\n"
    "    x{}:0-9\n    add{}:1-3\n    tanh{}:3-4\n    loop{1}:2-6\n  Live ranges at 3 (peak):\n    x{}: 64 "
    "bytes\n";

TEST(XlaImport, ReadsTemporaryMemory) {
  const Input input = parse_input(xla_text + xla_lives, "m.txt");
  EXPECT_EQ(input.info.format, ModelFormat::xla);
  const Problem problem = list(input);
  ASSERT_EQ(problem.buffers.size(), 2U);  // tanh takes the bytes of add
  EXPECT_EQ(problem.buffers[0].pieces, (std::vector<Piece>{{0, 128, {1, 5}}}));
  EXPECT_EQ(problem.buffers[1].pieces, (std::vector<Piece>{{0, 64, {2, 7}}}));
  EXPECT_EQ(make_plan(input).plan.summary.peak, 256);
  EXPECT_EQ(make_plan(without_pins(input)).plan.summary.peak, 192);
}

TEST(XlaImport, NamesWhatIsMissing) {
  expect_refusal_of(message_of(xla_text, "m.txt"), "m.txt: live ranges: are not in this text");
  expect_refusal_of(message_of(xla_text, "m-buffer-assignment.txt"), "m-live-range.txt");
  std::string lives = xla_lives;
  lives.replace(lives.find("tanh{}"), 6, "tan{0}");
  expect_refusal_of(message_of(xla_text + lives, "m.txt"), "line 7: value 'tanh{}' has no live range");
  lives = xla_lives;
  lives.replace(lives.find("1-3"), 3, "3-1");
  expect_refusal_of(message_of(xla_text + lives, "m.txt"), "live range is 3-1");
  std::string text = xla_text;
  text.replace(text.find("offset=192"), 10, "offset=-92");
  expect_refusal_of(message_of(text + xla_lives, "m.txt"), "line 6: is ");
}

/// A program in which x becomes t, a view of t is read into y, and scratch memory of another kind is idle.
std::string program(std::int8_t type = 6, std::int32_t argument = 1) {
  namespace et = executorch;
  et::ProgramT program;
  auto method = std::make_unique<et::MethodT>();
  const auto tensor = [&](std::uint32_t offset, std::vector<std::int32_t> sizes) {
    auto it = std::make_unique<et::TensorT>();
    it->scalar_type = type;
    it->sizes = std::move(sizes);
    it->allocation = std::make_unique<et::AllocationT>();
    it->allocation->memory_id = 1;
    it->allocation->offset_low = offset;
    auto value = std::make_unique<et::ValueT>();
    value->val.type = et::Kind::tensor;
    value->val.value = it.release();
    method->values.push_back(std::move(value));
  };
  tensor(0, {16});      // 0: x
  tensor(128, {4, 8});  // 1: t
  tensor(128, {32});    // 2: a view of t
  tensor(0, {16});      // 3: y
  tensor(512, {1});     // 4: a state
  const auto call = [&](std::vector<std::int32_t> arguments) {
    auto kernel = std::make_unique<et::KernelT>();
    kernel->args = std::move(arguments);
    auto it = std::make_unique<et::InstructionT>();
    it->call.type = et::Call::kernel;
    it->call.value = kernel.release();
    method->chains[0]->instructions.push_back(std::move(it));
  };
  method->chains.push_back(std::make_unique<et::ChainT>());
  call({0, argument, argument});
  call({0, 0});
  call({2, 4, 3, 3});
  method->inputs = {0};
  method->outputs = {3};
  program.methods.push_back(std::move(method));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(et::Program::Pack(builder, &program), et::ProgramIdentifier());
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

TEST(ExecutorchImport, FindsLiveRanges) {
  const Input input = parse_input(program(), "m.pte");
  EXPECT_EQ(input.info.format, ModelFormat::executorch);
  const Problem problem = list(input);
  std::map<std::string, std::vector<Piece>> pieces;
  for (const Buffer& buffer : problem.buffers) pieces[buffer.id] = buffer.pieces;
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces["value 0"], (std::vector<Piece>{{0, 64, {0, 2}}}));
  EXPECT_EQ(pieces["value 1"], (std::vector<Piece>{{0, 128, {0, 3}}}));  // with its view
  EXPECT_EQ(pieces["value 3"], (std::vector<Piece>{{0, 64, {2, 4}}}));
  EXPECT_EQ(pieces["value 4"], (std::vector<Piece>{{0, 4, {0, 4}}}));
  EXPECT_EQ(make_plan(input).plan.summary.peak, 516);
  EXPECT_EQ(make_plan(without_pins(input)).plan.summary.peak, 196);
}

TEST(ExecutorchImport, RejectsWhatIsWrong) {
  expect_refusal_of(message_of(program(9), "m.pte"), "m.pte: value 0: has element type 9");
  expect_refusal_of(message_of(program(6, 7), "m.pte"), "m.pte: uses value 7, expected less than 5");
  std::string cut = program();
  cut.resize(cut.size() / 2);
  expect_refusal_of(message_of(cut, "m.pte"), "is truncated or corrupt");
}

}  // namespace
}  // namespace stowage
