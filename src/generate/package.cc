// Files of a package that contain no program: weights, and what builds it.

#include "generate/package.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "generate/kernel_files.h"
#include "generate/text.h"
#include "stowage/export.h"
#include "stowage/version.h"

namespace stowage::generate {
namespace {

/// Files of kernels, each behind a space.
std::string listed(const std::vector<std::string>& kernels) {
  std::string text;
  for (const std::string& kernel : kernels) text += fmt::format(" {}.c", kernel);
  return text;
}

constexpr const char* makefile = R"(# make test    runs the network on this machine
# make m3      the same on a Cortex-M3 in QEMU, with instructions and stack; m4, m7 and m55 likewise
# make m0      the same on a micro:bit: Cortex-M0, 256 kB of flash, 16 kB of RAM
# make size    sizes on a Cortex-M4
NAME := @NAME@
SOURCES := $(NAME).c $(NAME)_weights.c@KERNELS@ $(wildcard $(NAME)_extern.c)
WARNINGS := -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror
CFLAGS ?= -O2
ARM := arm-none-eabi-gcc -std=c99 -O2 -mthumb -ffunction-sections $(WARNINGS)
@CMSIS@BOARD := -DSTOWAGE_QEMU --specs=picolibc.specs --crt0=semihost --oslib=semihost -Tpicolibc.ld -Wl,--gc-sections \
  -Wl,--defsym=__flash=0 -Wl,--defsym=__flash_size=0x400000 \
  -Wl,--defsym=__ram=0x20000000 -Wl,--defsym=__ram_size=0x400000 -Wl,--defsym=__stack_size=16K
QEMU := qemu-system-arm -nographic -semihosting-config enable=on,target=native -icount shift=0
@TEST@
# QEMU counts instructions, not cycles.
m3: MACHINE := -mcpu=cortex-m3 -mfloat-abi=soft -DSTOWAGE_MPS2
m3: BOARD_NAME := mps2-an385
m4: MACHINE := -mcpu=cortex-m4 -mfloat-abi=soft -DSTOWAGE_MPS2
m4: BOARD_NAME := mps2-an386
m7: MACHINE := -mcpu=cortex-m7 -mfloat-abi=soft -DSTOWAGE_MPS2
m7: BOARD_NAME := mps2-an500
m55: MACHINE := -mcpu=cortex-m55 -mfloat-abi=hard
m55: BOARD_NAME := mps3-an547
# All is in DDR, since code memory is small there; only the vectors are where the core looks for them.
m55: BOARD += -Wl,--defsym=__flash=0x60000000 -Wl,--defsym=__flash_size=0x1000000 -Wl,--defsym=__ram=0x21000000
m55: QEMU += -device loader,file=$(NAME)_m55.vectors,addr=0,force-raw=on

m3 m4 m7 m55: $(SOURCES) $(NAME)_test.c
@BUILD@	$(ARM) $(MACHINE) $^@OBJECT@ $(BOARD) -lm -o $(NAME)_$@.elf
	arm-none-eabi-objcopy -O binary -j .init $(NAME)_$@.elf $(NAME)_$@.vectors
	$(QEMU) -M $(BOARD_NAME) -kernel $(NAME)_$@.elf < /dev/null 2>&1

m0: MACHINE := -Os -DPICOLIBC_INTEGER_PRINTF_SCANF -mcpu=cortex-m0 -mfloat-abi=soft -fdata-sections
m0: $(SOURCES) $(NAME)_test.c
@BUILD@	$(ARM) $(MACHINE) $^@OBJECT@ --specs=picolibc.specs --crt0=semihost \
	  --oslib=semihost -Tpicolibc.ld -Wl,--gc-sections -Wl,--defsym=__flash=0 -Wl,--defsym=__flash_size=0x40000 \
	  -Wl,--defsym=__ram=0x20000000 -Wl,--defsym=__ram_size=0x4000 -Wl,--defsym=__stack_size=1K -lm -o $(NAME)_$@.elf
	$(QEMU) -M microbit -kernel $(NAME)_$@.elf < /dev/null 2>&1

# Of code and constants on a Cortex-M4, with the cross compiler; on Debian: gcc-arm-none-eabi, picolibc-arm-none-eabi.
size: $(SOURCES)
	for file in $^; do $(ARM) -mcpu=cortex-m4 -isystem /usr/lib/picolibc/arm-none-eabi/include -c $$file \
	  -o $$file.o || exit 1; arm-none-eabi-size $$file.o | tail -1; rm -f $$file.o; done

clean:
	rm -f $(NAME)_test *.elf *.o *.vectors

.PHONY: test m0 m3 m4 m7 m55 size clean
)";

/// How the program is built for this machine.
constexpr const char* test_here = R"(
test: $(NAME)_test
	./$(NAME)_test

$(NAME)_test: $(SOURCES) $(NAME)_test.c
	$(CC) -std=c99 $(CFLAGS) $(WARNINGS) $^ -lm -o $@
)";

/// CMSIS-NN is for Arm processors, and not free of warnings.
constexpr const char* test_cmsis_nn = R"(
test: m4
)";
constexpr const char* paths_cmsis_nn =
    R"(# The folders of CMSIS-NN, and of CMSIS-Core, which some versions of it include.
CMSIS_NN ?= CMSIS-NN
CMSIS_CORE ?= CMSIS/Core
ARM += -isystem $(CMSIS_NN)/Include -isystem $(CMSIS_CORE)/Include
LIBRARY = arm-none-eabi-gcc -std=gnu99 -O2 -mthumb -ffunction-sections -w -isystem /usr/lib/picolibc/arm-none-eabi/include \
  -I$(CMSIS_NN)/Include -I$(CMSIS_CORE)/Include -r -nostdlib $(wildcard $(CMSIS_NN)/Source/*/*.c)
)";
constexpr const char* build_cmsis_nn = "\t$(LIBRARY) $(MACHINE) -o cmsis_nn_$@.o\n";

void replace_all(std::string& text, const std::string& mark, const std::string& by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
}

/// "1x8x48", "1x8x(n / 2)"
std::string shape_text(const Model& model, const Outlet& outlet) {
  const Shape& shape = *model.tensor(outlet.tensor).shape;
  if (!model.open || !outlet.port || !model.open->of_tensors.contains(outlet.tensor))
    return show_shape(shape);
  const std::string rows = text_of(model.open->of_tensors.at(outlet.tensor));
  std::string text;
  for (std::size_t d = 0; d < shape.size(); ++d)
    text += (d == 0 ? "" : "x") + (d != *model.schedule.ports[*outlet.port].axis ? std::to_string(shape[d])
                                   : rows == "n"                                 ? rows
                                                                                 : "(" + rows + ")");
  return text;
}

std::string outlet_rows(const Model& model) {
  std::string text;
  for (const Outlet& outlet : outlets_of(model)) {
    const Tensor& tensor = model.tensor(outlet.tensor);
    text += fmt::format("| {} | {} | {} | {} |\n", outlet.name, in_comment(tensor.name),
                        name_of(tensor.dtype), shape_text(model, outlet));
  }
  return text;
}

std::string_view form_of_control(const Model& model) {
  if (model.loops) return "where rows are; what runs when is loops, which are code";
  if (model.is_stepped()) return "where rows are, and what runs when";
  return "where tensors are; what runs when is a list of calls";
}

/// C of functions that run the network in its memories.
std::string calls_of(const Model& model) {
  const std::string& name = model.name;
  const std::string big = upper(name);
  std::string text;
  std::string memories = fmt::format("{}", fmt::join(memory_names(*model.plan), ", "));
  if (bytes_kept(model) > 0) {
    text += fmt::format(
        "static uint8_t {2}_kept[{0}_KEPT_SIZE] __attribute__((aligned({0}_{1}_ALIGNMENT)));\n\n"
        "/* Once, before the first run; again to forget all runs. */\n"
        "void start_{2}(void) {{ {2}_reset({2}_kept); }}\n\n",
        big, upper(memory_names(*model.plan).front()), name);
    memories += fmt::format(", {}_kept", name);
  }
  const bool pauses = model.schedule.has_pauses;
  if (model.has_ports())
    return text +
           fmt::format(
               "void infer_{1}({5}void (*read_line)(void *row), void (*use_result)(const void *row){3}) {{\n"
               "  {1}_state state;\n"
               "  {1}_status status = {1}_begin(&state, {2});\n"
               "  while (status != {0}_DONE) {{\n"
               "    if (status == {0}_WANTS_ROW) read_line({1}_row(&state));\n"
               "    if (status == {0}_HAS_ROW) use_result({1}_row(&state));\n{4}"
               "    status = {1}_advance(&state);\n"
               "  }}\n"
               "}}\n",
               big, name, memories + (model.open ? ", n" : ""), pauses ? ", void (*run_others)(void)" : "",
               pauses ? fmt::format("    if (status == {}_PAUSES) run_others();\n", big) : "",
               model.open ? "int32_t n, " : "");
  std::string parameters;
  for (const Outlet& outlet : outlets_of(model)) {
    parameters += fmt::format("{}{}{} *{}", parameters.empty() ? "" : ", ", outlet.is_input ? "const " : "",
                              c_type(model.tensor(outlet.tensor).dtype), outlet.name);
    memories += ", " + outlet.name;
  }
  return text + fmt::format("void infer_{0}({1}) {{\n  {0}_run({2});\n}}\n", name,
                            parameters.empty() ? "void" : parameters, memories);
}

/// A row for each memory, if there are several.
std::string memory_rows(const Plan& plan) {
  std::string rows;
  if (plan.memories.size() == 1) return rows;
  for (const PlannedMemory& memory : plan.memories)
    rows += fmt::format("| of it in {} | {} bytes |\n", in_comment(memory.memory.name), memory.peak);
  return rows;
}

std::string readme_of(const Model& model, const Package& package) {
  const PackageUse& use = package.uses.front();
  return fmt::format(
      "# {0}\n\n"
      "C99 that runs the network of {1} inside its memory plan. Made by stowage.\n\n"
      "| | |\n|---|---|\n"
      "| arena (RAM) | {2} bytes |\n{16}"
      "| state (RAM) | {3} bytes |\n"
      "| weights and tables of numbers (flash) | {4} bytes |\n"
      "| control (flash) | {5} bytes of tables: {12} |\n"
      "| layers (flash) | {14} bytes: what kernels are told of sizes, scales and weights |\n"
      "| all of these (flash) | {15} bytes, beside code |\n"
      "| steps | {6} |\n"
      "| multiplies | {7} |\n\n"
      "Code and stack depend on the compiler: `make size` prints sizes of code on a Cortex-M4, with "
      "arm-none-eabi-gcc.\nThe stack stays below 1 kB.\n\n"
      "| | name in the model | type | shape |\n|---|---|---|---|\n{8}\n"
      "```c\n#include \"{0}.h\"\n\n{17}\n{9}```\n\n"
      "`{0}.h` says what each function does. `make test` runs the network on known inputs on this machine,\n"
      "`make m4` on a Cortex-M4 in QEMU. Add all `.c` files but `{0}_test.c` to your project. Weights get "
      "the\n"
      "attribute of the macro `{10}_WEIGHTS_SECTION`, if you define it.\n{11}{13}",
      model.name, in_comment(model.source()), package.arena, package.state, package.weights, package.control,
      package.steps, package.multiplies, use.outlets, use.calls, upper(model.name),
      model.calls_cmsis_nn ? "\nIt calls CMSIS-NN, which is not part of this folder: add its sources and its "
                             "`Include` to your "
                             "project.\n`make m4 CMSIS_NN=FOLDER CMSIS_CORE=FOLDER` takes them from there.\n"
                           : "",
      form_of_control(model), licence_text, package.layers,
      package.weights + package.control + package.layers, memory_rows(*model.plan), use.memories);
}

}  // namespace

std::string declarations_of_memories(const Plan& plan, const std::string& name) {
  std::string text;
  for (const std::string& memory : memory_names(plan))
    text += fmt::format("static uint8_t {0}[{1}_{2}_SIZE] __attribute__((aligned({1}_{2}_ALIGNMENT)));\n",
                        memory, upper(name), upper(memory));
  return text;
}

PackageUse use_of(const Model& model) {
  return {.outlets = outlet_rows(model),
          .memories = declarations_of_memories(*model.plan, model.name),
          .calls = calls_of(model),
          .parameters = model.has_ports() ? std::string() : run_parameters(model)};
}

void add_licences(std::vector<GeneratedFile>& files) {
  constexpr std::string_view name = "LICENSE";
  constexpr std::string_view line = "SPDX-License-Identifier: Apache-2.0";
  constexpr std::string_view of_weights =
      "/* The numbers in this file are those of the model, and belong to its owner. */\n";
  const auto has_end = [](const std::string& path, const auto&... ends) {
    return (path.ends_with(ends) || ...);
  };
  for (GeneratedFile& file : files) {
    const std::string_view begin = std::string_view(file.content).substr(0, of_weights.size());
    if (begin == of_weights || begin.find(line) != std::string_view::npos) continue;
    if (has_end(file.path, "_weights.c", "_weights.h")) {
      file.content.insert(0, of_weights);
    } else if (has_end(file.path, ".c", ".h")) {
      file.content.insert(0, fmt::format("/* {} */\n", line));
    } else if (has_end(file.path, "Makefile", ".txt", ".yml")) {
      file.content.insert(0, fmt::format("# {}\n", line));
    }
  }
  const auto text = std::ranges::find(kernel_files(), name, &KernelFile::name);
  if (std::ranges::find(files, name, &GeneratedFile::path) == files.end() && text != kernel_files().end())
    files.push_back({std::string(name), std::string(text->content)});
}

std::string origin_of(const GenerateOptions& options) {
  std::string text = fmt::format(" * Version {}", version);
  if (!options.command.empty()) text += fmt::format(", by: {}", in_comment(options.command));
  text += "\n";
  for (const std::uint64_t hash : options.hashes)
    text += fmt::format(" * The model's file has the hash {:016x} (XXH64).\n", hash);
  return text;
}

Plan without_folders(Plan plan) {
  for (ModelInfo& model : plan.models) model.source = std::filesystem::path(model.source).filename().string();
  return plan;
}

std::string plan_json_of(Plan plan, const OpenRows* rows) {
  plan = without_folders(std::move(plan));
  std::ostringstream out;
  if (rows != nullptr) {
    write_json(plan, *rows, out);
  } else {
    write_json(plan, out);
  }
  return std::move(out).str();
}

std::string weights_header_of(const Model& model, const Sources& sources) {
  const std::string big = upper(model.name);
  std::string text = fmt::format(
      "/* Constants of {0}. */\n#ifndef {1}_WEIGHTS_H\n#define {1}_WEIGHTS_H\n\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
      model.name, big);
  for (const ConstantArray& array : sources.arrays()) {
    const std::size_t count = array.data.size() / static_cast<std::size_t>(*bits_of(array.dtype) / 8);
    text += fmt::format("extern const {} {}[{}]; /* {} */\n", c_type(array.dtype), array.name, count,
                        array.comment);
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string weights_of(const Model& model, const Sources& sources) {
  const std::string big = upper(model.name);
  std::string numbers;
  for (const ConstantArray& array : sources.arrays()) {
    if (array.is_elsewhere) continue;
    const std::size_t count = array.data.size() / static_cast<std::size_t>(*bits_of(array.dtype) / 8);
    numbers += fmt::format("\nconst {} {}[{}] {}_WEIGHTS_SECTION = {{\n", c_type(array.dtype), array.name,
                           count, big);
    numbers += initialiser(array.dtype, array.data);
    numbers += "};\n";
  }
  return fmt::format(
             "/* Constants of {0}. Define {1}_WEIGHTS_SECTION to place them, for instance as\n"
             " * __attribute__((section(\".qspi\"))). */\n#include \"{0}_weights.h\"\n{2}\n"
             "#ifndef {1}_WEIGHTS_SECTION\n#define {1}_WEIGHTS_SECTION\n#endif\n",
             model.name, big, has_special_literals(numbers) ? "\n#include <math.h>\n" : "") +
         numbers;
}

std::vector<GeneratedFile> component_files_of(const std::string& name,
                                              const std::vector<std::string>& sources, bool calls_cmsis_nn) {
  const std::string cmake = fmt::format(
      "# In ESP-IDF this is a component; elsewhere a library.\n"
      "set({0}_sources {1})\n"
      "if(ESP_PLATFORM)\n  idf_component_register(SRCS ${{{0}_sources}} INCLUDE_DIRS .)\n"
      "else()\n  cmake_minimum_required(VERSION 3.16)\n  project({0} C)\n"
      "  add_library({0} STATIC ${{{0}_sources}})\n"
      "  target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n{2}endif()\n",
      name, fmt::join(sources, " "),
      calls_cmsis_nn ? fmt::format("  target_link_libraries({} PUBLIC cmsis-nn)\n", name) : "");
  const std::string zephyr = fmt::format(
      "zephyr_library_named({0})\nzephyr_include_directories(..)\nzephyr_library_sources(../{1})\n", name,
      fmt::join(sources, " ../"));
  const std::string library = fmt::format(
      "{{\n  \"name\": \"{0}\",\n  \"version\": \"1.0.0\",\n  \"description\": \"A neural network as C, made "
      "by stowage\",\n"
      "  \"build\": {{\"srcDir\": \".\", \"srcFilter\": [\"+<*.c>\", \"-<*_test.c>\"]}}\n}}\n",
      name);
  return {{"CMakeLists.txt", cmake},
          {"idf_component.yml", "version: \"1.0.0\"\ndescription: A neural network as C, made by stowage\n"},
          {"library.json", library},
          {"zephyr/module.yml", fmt::format("name: {}\nbuild:\n  cmake: zephyr\n", name)},
          {"zephyr/CMakeLists.txt", zephyr}};
}

std::vector<GeneratedFile> build_files_of(const Model& model, const Package& package,
                                          const std::vector<std::string>& kernels) {
  std::string make = makefile;
  replace_all(make, "@TEST@", model.calls_cmsis_nn ? test_cmsis_nn : test_here);
  replace_all(make, "@CMSIS@", model.calls_cmsis_nn ? paths_cmsis_nn : "");
  replace_all(make, "@BUILD@", model.calls_cmsis_nn ? build_cmsis_nn : "");
  replace_all(make, "@OBJECT@", model.calls_cmsis_nn ? " cmsis_nn_$@.o" : "");
  replace_all(make, "@NAME@", model.name);
  replace_all(make, "@KERNELS@", listed(kernels));
  std::vector<std::string> sources{model.name + ".c", model.name + "_weights.c"};
  for (const std::string& kernel : kernels) sources.push_back(kernel + ".c");
  std::vector<GeneratedFile> files = component_files_of(model.name, sources, model.calls_cmsis_nn);
  files.insert(files.begin(), {{"README.md", readme_of(model, package)}, {"Makefile", make}});
  return files;
}

}  // namespace stowage::generate
