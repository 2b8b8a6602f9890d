// Two wake-word models and person_detect in the memories of an ESP32-S3, as C: row by row they take turns in one arena
// on a Cortex-M core in QEMU, and each gives what the interpreter gives.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "generate/text.h"
#include "long_tests.h"
#include "process.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"

namespace stowage {
namespace {

constexpr Bytes left_for_networks = 20480;  // of the SRAM; the radio and the firmware have the rest

/// The memories of the board, of which the first has as much as is left.
std::vector<Memory> memories_of(const std::string& board) {
  const testing::TemporaryDirectory folder;
  const auto all = nlohmann::json::parse(testing::run_stowage(folder.path(), {"devices", "--json"}).output);
  std::vector<Memory> memories;
  for (const auto& device : all) {
    if (device["name"] != board) continue;
    for (const auto& it : device["memories"])
      memories.push_back({.name = it["name"],
                          .capacity = it["bytes"].get<Bytes>(),
                          .cost = it.value("cost", std::int64_t{1})});
  }
  memories.at(0).capacity = left_for_networks;
  return memories;
}

Array bytes_for(const Tensor& tensor, std::mt19937_64& random) {
  Array array{tensor.dtype, *tensor.shape, std::vector<std::byte>(static_cast<std::size_t>(tensor.bytes))};
  for (std::byte& it : array.data) it = static_cast<std::byte>(random() % 256);
  return array;
}

std::string array_text(const std::string& name, const Array& array) {
  return "static const int8_t " + name + "[] = {\n" + generate::initialiser(DType::int8, array.data) + "};\n";
}

/// What the program has for one model: its data, and a function that goes on to its next row.
std::string part_of_program(const std::string& name, const Array& input, const Array& output) {
  std::string big = name;
  for (char& c : big) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return array_text(name + "_given", input) + array_text(name + "_expected", output) + "static int8_t " +
         name + "_got[" + std::to_string(output.data.size()) + "];\nstatic " + name + "_state " + name +
         "_run;\nstatic " + name + "_status " + name + "_is;\nstatic int " + name +
         "_goes_on(void) {\n  if (" + name + "_is == " + big + "_DONE) return 0;\n  if (" + name +
         "_is == " + big + "_WANTS_ROW)\n    memcpy(" + name + "_row(&" + name + "_run), " + name +
         "_given + " + big + "_INPUT_ROW_BYTES * " + name + "_row_number(&" + name + "_run), " + big +
         "_INPUT_ROW_BYTES);\n  else\n    memcpy(" + name + "_got + " + big + "_OUTPUT_ROW_BYTES * " + name +
         "_row_number(&" + name + "_run), " + name + "_row(&" + name + "_run), " + big +
         "_OUTPUT_ROW_BYTES);\n  " + name + "_is = " + name + "_advance(&" + name +
         "_run);\n  return 1;\n}\n";
}

TEST(GenerateBoard, WakeWordsAndAPersonTakeTurnsInOneArena) {
  if (testing::is_in_a_hurry()) GTEST_SKIP() << "sanitizers see nothing inside the emulator";
  for (const char* const needed :
       {"/usr/bin/qemu-system-arm", "/usr/bin/arm-none-eabi-gcc", "/usr/lib/picolibc/arm-none-eabi"})
    if (!std::filesystem::exists(needed)) GTEST_SKIP() << needed << " is not installed";
  const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no models in " << STOWAGE_DATA_DIR;
  std::vector<Network> networks;
  std::vector<Input> inputs;
  for (const char* const file : {"person_detect", "kws_ref_model", "micro_speech_quantized"}) {
    networks.push_back(read_network(models / (std::string(file) + ".tflite")));
    networks.back().input.info.name = std::vector<std::string>{"person", "word", "speech"}[inputs.size()];
    inputs.push_back(networks.back().input);
  }
  PlanOptions options;
  options.memories = memories_of("esp32s3");
  options.run = "person | word | speech";
  options.stream = StreamOptions{.axes = StreamAxes::natural, .blocks = StreamBlocks::none};
  options.io = Io::rows;
  options.solve.time_limit = std::chrono::seconds(5);
  const PlanResult planned = make_plan(inputs, options);
  ASSERT_TRUE(planned.faults.empty()) << planned.faults[0].what;
  EXPECT_EQ(planned.outcome, Outcome::fits);
  ASSERT_EQ(planned.plan.memories.size(), 2);
  EXPECT_LE(planned.plan.memories[0].peak, left_for_networks);
  EXPECT_EQ(planned.plan.memories[1].peak, 0);
  const Package package = generate_package(networks, planned.plan, {.name = "board"});

  const testing::TemporaryDirectory folder;
  std::vector<std::string> compile{
      "-std=c99", "-O2",     "-Wall",           "-Wextra",          "-Wconversion",
      "-Werror",  "-mthumb", "-mcpu=cortex-m4", "-mfloat-abi=soft", "-ffunction-sections",
      "main.c"};
  for (const GeneratedFile& file : package.files) {
    if (file.path.find('/') != std::string::npos) continue;
    folder.write(file.path, file.content);
    if (file.path.ends_with(".c") && !file.path.ends_with("_test.c")) compile.push_back(file.path);
  }
  std::mt19937_64 random(7);
  std::string parts;
  for (const Network& network : networks) {
    const Subgraph& main = network.graph().subgraphs[0];
    const Tensor& input = network.graph().tensors[main.inputs[0]];
    const Array given = bytes_for(input, random);
    const RunResult run = run_plan(network, make_plan(network.input).plan,
                                   {.kernels = KernelSet::plain, .inputs = {{input.name, given}}});
    parts += part_of_program("board_" + network.input.info.name, given, run.outputs.at(0).array);
  }
  const std::string turns =
      "  srand(1);\n  while (left > 0) {\n    const int turn = rand() % 3;\n"
      "    if (turn == 0 && board_person_goes_on()) continue;\n    if (turn == 1 && board_word_goes_on()) "
      "continue;\n"
      "    if (turn == 2 && board_speech_goes_on()) continue;\n"
      "    left = (board_person_is != BOARD_PERSON_DONE) + (board_word_is != BOARD_WORD_DONE) +\n"
      "           (board_speech_is != BOARD_SPEECH_DONE);\n  }\n";
  folder.write(
      "main.c",
      "#include \"board.h\"\n#include \"stowage_test.h\"\n#include <stdlib.h>\n" + parts +
          "static unsigned char memory[BOARD_SRAM_SIZE + BOARD_SRAM_ALIGNMENT + 2 * stowage_guard];\n"
          "int main(void) {\n  int left = 3;\n  unsigned char *const arena =\n"
          "      stowage_guarded(memory, BOARD_SRAM_SIZE, BOARD_SRAM_ALIGNMENT);\n"
          "  board_person_is = board_person_begin(&board_person_run, arena, NULL);\n"
          "  board_word_is = board_word_begin(&board_word_run, arena, NULL);\n"
          "  board_speech_is = board_speech_begin(&board_speech_run, arena, NULL);\n" +
          turns +
          "  if (memcmp(board_person_got, board_person_expected, sizeof(board_person_got)) != 0) return 1;\n"
          "  if (memcmp(board_word_got, board_word_expected, sizeof(board_word_got)) != 0) return 2;\n"
          "  if (memcmp(board_speech_got, board_speech_expected, sizeof(board_speech_got)) != 0) return 3;\n"
          "  if (stowage_is_spoilt(arena, BOARD_SRAM_SIZE)) return 4;\n"
          "  puts(\"as expected\");\n  return 0;\n}\n");
  compile.insert(
      compile.end(),
      {"--specs=picolibc.specs", "--crt0=semihost", "--oslib=semihost", "-Tpicolibc.ld", "-Wl,--gc-sections",
       "-Wl,--defsym=__flash=0", "-Wl,--defsym=__flash_size=0x400000", "-Wl,--defsym=__ram=0x20000000",
       "-Wl,--defsym=__ram_size=0x400000", "-Wl,--defsym=__stack_size=16K", "-lm", "-o", "board.elf"});
  const auto built =
      testing::run_process("/usr/bin/arm-none-eabi-gcc", compile, {.directory = folder.path()});
  ASSERT_EQ(built.status, 0) << built.errors;
  const auto ran =
      testing::run_process("/usr/bin/qemu-system-arm",
                           {"-nographic", "-semihosting-config", "enable=on,target=native", "-icount",
                            "shift=0", "-M", "mps2-an386", "-kernel", (folder / "board.elf").string()},
                           {.directory = folder.path()});
  EXPECT_EQ(ran.status, 0) << ran.output << ran.errors;
  EXPECT_NE((ran.output + ran.errors).find("as expected"), std::string::npos) << ran.output << ran.errors;
  std::cout << "person_detect, kws_ref_model, micro_speech: SRAM " << planned.plan.memories[0].peak
            << " bytes, state " << package.state << "\n";
}

}  // namespace
}  // namespace stowage
