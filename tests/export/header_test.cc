// Headers are compiled by every compiler that is there, and a program prints everything that is in them: it
// must be what the plan's JSON says.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "block_plans.h"
#include "onnx_models.h"
#include "process.h"
#include "stowage/buckets.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using nlohmann::json;
using testing::ProcessResult;
using testing::run_process;
using testing::TemporaryDirectory;

/// Prints all tables of the header with prefix @, in capitals %.
constexpr std::string_view dump_function = R"(
static void dump_@(void) {
  unsigned long i, j;
  for (i = 0; i < %_MEMORIES; ++i)
    printf("memory %s %lu %lu %d\n", @_memories[i].name, (unsigned long)@_memories[i].size,
           (unsigned long)@_memories[i].alignment, @_memories[i].is_for_weights);
  for (i = 0; i < %_TENSORS; ++i) {
    const @_tensor *tensor = &@_tensors[i];
    printf("tensor %lu %d %d %lu", (unsigned long)tensor->model, (int)tensor->kind, (int)tensor->type,
           (unsigned long)tensor->bytes);
    for (j = 0; j < tensor->rank; ++j) printf(" %lu", (unsigned long)tensor->shape[j]);
    for (j = 0; j < tensor->views; ++j)
      printf(" [%lu %lu %lu %lu %lu]", (unsigned long)tensor->view[j].memory, (unsigned long)tensor->view[j].offset,
             (unsigned long)tensor->view[j].clock, (unsigned long)tensor->view[j].begin,
             (unsigned long)tensor->view[j].end);
    printf("\n");
  }
  for (i = 0; i < %_CLOCKS; ++i) {
    for (j = 0; j < @_clocks[i].steps; ++j) {
      const @_step *step = &@_clocks[i].step[j];
      unsigned long k;
      if (step->action == %_RUN)
        printf("run %lu %lu %lu %s", (unsigned long)step->model, (unsigned long)step->subgraph,
               (unsigned long)step->op, step->type);
      if (step->action == %_COPY) printf("copy");
      if (step->action == %_FORK) printf("fork");
      for (k = 0; k < step->inputs + step->outputs + step->scratch; ++k) {
        const @_operand *operand = &step->operand[k];
        printf(" %ld:%ld:%lu", operand->tensor == %_NOWHERE ? -1L : (long)operand->tensor,
               operand->memory == %_NOWHERE ? -1L : (long)operand->memory, (unsigned long)operand->offset);
      }
      for (k = 0; k < step->clocks; ++k) printf(" %lu", (unsigned long)step->clock[k]);
      printf("\n");
    }
  }
  for (i = 0; i < %_MODELS; ++i) {
    printf("model %s", @_models[i].name);
    for (j = 0; j < @_models[i].inputs; ++j) printf(" %lu", (unsigned long)@_models[i].input[j]);
    printf(" ->");
    for (j = 0; j < @_models[i].outputs; ++j) printf(" %lu", (unsigned long)@_models[i].output[j]);
    printf("\n");
  }
}
)";

std::string capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The template with a prefix.
std::string replaced(std::string_view text, const std::string& prefix) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '@') {
      result += prefix;
    } else if (text.substr(i, 2) == "%_") {
      result += capitals(prefix);
    } else {
      result += text[i];
    }
  }
  return result;
}

/// A plan with the networks it is for.
struct Planned {
  Plan plan{};
  std::vector<Graph> graphs{};
};

Planned planned(const std::vector<std::filesystem::path>& files, const PlanOptions& options = {}) {
  std::vector<Input> inputs;
  for (const auto& file : files) {
    inputs.push_back(read_input(file, {.constants = true}));
    while (std::any_of(inputs.begin(), inputs.end() - 1,
                       [&](const Input& it) { return it.info.name == inputs.back().info.name; }))
      inputs.back().info.name += "_";
  }
  Planned result{.plan = make_plan(inputs, options).plan};
  for (const Input& input : inputs) result.graphs.push_back(std::get<Graph>(input.content));
  return result;
}

/// The same lines from the plan's JSON.
class Lines {
 public:
  Lines(const Planned& planned) : graphs_(planned.graphs) {
    std::ostringstream text;
    write_json(planned.plan, text);
    json_ = json::parse(text.str());
    for (const json& memory : json_["memories"]) memories_.emplace(memory["name"], memories_.size());
    for (const json& buffer : json_["buffers"]) buffers_.emplace(buffer["id"], &buffer);
    for (std::size_t c = 0; c < json_["clocks"].size(); ++c) {
      for (std::size_t at = 0; at < json_["clocks"][c]["steps"].size(); ++at) {
        const json& step = json_["clocks"][c]["steps"][at];
        if (!step.contains("fork")) continue;
        for (const json& branch : step["fork"]) forks_[branch] = {c, at};
      }
    }
  }

  std::string text() {
    for (const json& memory : json_["memories"]) {
      out_ << "memory " << memory["name"].get<std::string>() << ' ' << memory["peak"] << ' '
           << memory["alignment"] << ' ' << (memory.value("role", "") == "weights" ? 1 : 0) << '\n';
    }
    for (const json& tensor : json_["tensors"]) add_tensor(tensor);
    for (std::size_t c = 0; c < json_["clocks"].size(); ++c) {
      for (std::size_t at = 0; at < json_["clocks"][c]["steps"].size(); ++at) add_step(c, at);
    }
    add_models();
    return out_.str();
  }

 private:
  struct Where {
    std::size_t memory;
    std::int64_t offset;
  };

  Where where(const json& view) const {
    const json& buffer = *buffers_.at(view["buffer"]);
    return {memories_.at(buffer["memory"]),
            buffer["offset"].get<std::int64_t>() + view["offset"].get<std::int64_t>()};
  }

  void add_tensor(const json& tensor) {
    out_ << "tensor " << tensor["model"] << ' '
         << static_cast<int>(*tensor_kind_named(tensor["kind"].get<std::string>())) << ' '
         << static_cast<int>(*dtype_named(tensor["dtype"].get<std::string>())) << ' ' << tensor["bytes"];
    for (const json& dimension : tensor["shape"]) out_ << ' ' << dimension;
    for (const json& view : tensor["views"]) {
      const Where it = where(view);
      out_ << " [" << it.memory << ' ' << it.offset << ' ' << (*buffers_.at(view["buffer"]))["clock"] << ' '
           << view["lower"] << ' ' << view["upper"] << ']';
    }
    out_ << '\n';
  }

  /// The fastest place in which a tensor is at a position, or that it leaves there.
  void add_operand(std::int64_t index, std::size_t clock, std::size_t at) {
    out_ << ' ' << index << ':';
    const json* best = nullptr;
    for (const bool ends : {false, true}) {
      if (index < 0 || best != nullptr) break;
      for (const json& view : json_["tensors"][static_cast<std::size_t>(index)]["views"]) {
        std::size_t c = clock;
        std::size_t position = at;
        while (c != (*buffers_.at(view["buffer"]))["clock"]) {
          if (!forks_.contains(c)) break;
          std::tie(c, position) = forks_.at(c);
        }
        const bool is_alive = view["lower"] <= position && position < view["upper"];
        if (!(ends ? view["upper"] == position : is_alive)) continue;
        if (best == nullptr || where(view).memory < where(*best).memory) best = &view;
      }
    }
    if (best == nullptr) {
      out_ << "-1:0";
    } else {
      out_ << where(*best).memory << ':' << where(*best).offset;
    }
  }

  std::int64_t first_tensor_of(std::size_t model) const {
    std::size_t first = 0;
    for (std::size_t m = 0; m < model; ++m) first += graphs_[m].tensors.size();
    return static_cast<std::int64_t>(first);
  }

  void add_step(std::size_t clock, std::size_t at) {
    const json& step = json_["clocks"][clock]["steps"][at];
    if (step.contains("fork")) {
      out_ << "fork";
      for (const json& branch : step["fork"]) out_ << ' ' << branch;
    } else if (step.contains("copy")) {
      out_ << "copy";
      const json& copy = step["copy"];
      for (const char* const end : {"from", "to"}) {
        for (const json& view : json_["tensors"][copy["tensor"].get<std::size_t>()]["views"]) {
          if (view["buffer"] == copy[end])
            out_ << ' ' << copy["tensor"] << ':' << where(view).memory << ':' << where(view).offset;
        }
      }
    } else {
      const json& run = step["run"];
      const std::size_t model = run["model"];
      const std::size_t subgraph = run["path"][run["path"].size() - 2];
      const std::size_t index = run["path"].back();
      const Operator& op = graphs_[model].subgraphs[subgraph].operators[index];
      out_ << "run " << model << ' ' << subgraph << ' ' << index << ' ' << op.type;
      const std::int64_t first = first_tensor_of(model);
      for (const auto* operands : {&op.inputs, &op.outputs}) {
        for (const auto& tensor : *operands)
          add_operand(tensor ? first + static_cast<std::int64_t>(*tensor) : -1, clock, at);
      }
      for (const TensorId tensor : op.scratch)
        add_operand(first + static_cast<std::int64_t>(tensor), clock, at);
    }
    out_ << '\n';
  }

  void add_models() {
    for (std::size_t m = 0; m < graphs_.size(); ++m) {
      out_ << "model " << json_["models"][m]["name"].get<std::string>();
      for (const TensorId tensor : graphs_[m].subgraphs[0].inputs)
        out_ << ' ' << first_tensor_of(m) + static_cast<std::int64_t>(tensor);
      out_ << " ->";
      for (const TensorId tensor : graphs_[m].subgraphs[0].outputs)
        out_ << ' ' << first_tensor_of(m) + static_cast<std::int64_t>(tensor);
      out_ << '\n';
    }
  }

  const std::vector<Graph>& graphs_;
  json json_;
  std::map<std::string, std::size_t> memories_;
  std::map<std::string, const json*> buffers_;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> forks_;
  std::ostringstream out_;
};

/// Writes headers of all these plans and a program that prints them.
void write_program(const TemporaryDirectory& directory, const std::vector<Planned>& plans) {
  std::string program = "#include <stdio.h>\n";
  std::string tables;  // what a compiler without a C library can take
  std::string calls;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::string prefix = "plan" + std::to_string(i);
    std::ostringstream header;
    write_header(plans[i].plan, plans[i].graphs, {.prefix = prefix}, header);
    directory.write(prefix + ".h", header.str());
    const std::string header_twice = "#define " + capitals(prefix) + "_IMPLEMENTATION\n#include \"" + prefix +
                                     ".h\"\n#include \"" + prefix + ".h\"\n";
    tables += header_twice;
    program += header_twice + replaced(dump_function, prefix);
    calls += "  dump_" + prefix + "();\n";
  }
  directory.write("tables.c", tables);
  directory.write("program.c", program + "int main(void) {\n" + calls + "  return 0;\n}\n");
}

ProcessResult compile(const TemporaryDirectory& directory, std::vector<std::string> command) {
  for (const char* const flag : {"-Wall", "-Wextra", "-Werror", "-pedantic"}) command.emplace_back(flag);
  return run_process("/usr/bin/env", command, {.directory = directory.path()});
}

bool is_there(const std::string& compiler) {
  return run_process("/usr/bin/env", {"sh", "-c", "command -v " + compiler}).status == 0;
}

/// Compiles the program with everything that is there, and compares what it prints.
void expect_same_numbers(const std::vector<Planned>& plans) {
  const TemporaryDirectory directory;
  write_program(directory, plans);
  const std::vector<std::vector<std::string>> compilers{
      {"gcc", "-std=c99"},
      {"g++", "-std=c++11", "-x", "c++"},
      {"clang-16", "-std=c99"},
      {"clang++-16", "-x", "c++"},
      {"arm-none-eabi-gcc", "-std=c99", "-ffreestanding", "-c"}};
  bool has_run = false;
  for (std::vector<std::string> command : compilers) {
    SCOPED_TRACE(command.front());
    if (!is_there(command.front())) {
      std::cout << "not checked: there is no " << command.front() << "\n";
      continue;
    }
    const bool is_all = command.back() != "-c";
    command.insert(command.end(), {is_all ? "program.c" : "tables.c", "-o", "program"});
    const ProcessResult compiled = compile(directory, command);
    ASSERT_EQ(compiled.status, 0) << compiled.errors.substr(0, 2000);
    if (!is_all) continue;
    const ProcessResult run = run_process((directory / "program").string(), {});
    ASSERT_EQ(run.status, 0);
    std::string expected;
    for (const Planned& it : plans) expected += Lines(it).text();
    EXPECT_EQ(run.output, expected);
    has_run = true;
  }
  if (!has_run) GTEST_SKIP() << "no compiler";
}

const std::filesystem::path examples = std::filesystem::path(STOWAGE_EXAMPLES);

/// A tensor that visits a faster memory: two views at once, and operators read the faster one.
Planned visit() {
  Planned it;
  const Tensor tensor{.name = "t", .dtype = DType::int8, .shape = Shape{16}, .bytes = 16};
  Graph graph;
  graph.tensors = {tensor, tensor};
  graph.subgraphs = {{.inputs = {0},
                      .outputs = {1},
                      .operators = {{.type = "A", .inputs = {0}, .outputs = {1}},
                                    {.type = "B", .inputs = {1, std::nullopt}}}}};
  it.graphs = {graph};
  Plan& plan = it.plan;
  plan.models = {{.name = "m"}};
  plan.memories = {{{.name = "fast"}, 32, 32}, {{.name = "slow"}, 16, 16}};
  plan.clocks = {{{stowage::Run{0, {0, 0}}, Copy{1, 0, 1}, stowage::Run{0, {0, 1}}}}};
  plan.buffers = {{.id = "in slow", .size = 16}, {.id = "in fast", .size = 16}, {.id = "x", .size = 16}};
  plan.places = {{1, 0}, {0, 16}, {0, 0}};
  plan.tensors = {{0, tensor, {{2, 0, {0, 1}}}}, {0, tensor, {{0, 0, {0, 3}}, {1, 0, {1, 3}}}}};
  return it;
}

TEST(Header, HasTheNumbersOfThePlan) {
  PlanOptions levels;
  levels.memories = {{.name = "sram", .capacity = 400'000, .cost = 1},
                     {.name = "dram", .cost = 10},
                     {.name = "flash", .role = MemoryRole::weights}};
  PlanOptions at_once;
  at_once.run = "classifier | classifier_; classifier__";
  const std::filesystem::path file = examples / "classifier.onnx";
  Planned renamed = planned({examples / "branches.json"});
  for (PlannedTensor& tensor : renamed.plan.tensors)
    tensor.tensor.name = "a\"b\\c\n%d?\?/\xC3\xA9*/" + std::string(5000, 'x');
  expect_same_numbers(
      {planned({file}), planned({file}, levels), planned({file, file, file}, at_once), visit(), renamed});
}

TEST(Header, SaysWhichViewOperatorsUse) {
  const Planned it = visit();
  std::ostringstream header;
  write_header(it.plan, it.graphs, {.prefix = "p"}, header);
  EXPECT_NE(
      header.str().find("{0u, 0u, 0u},\n  {1u, 1u, 0u},\n  {1u, 1u, 0u},\n  {1u, 0u, 16u},\n  {1u, 0u, 16u}"),
      std::string::npos);
}

/// The table and the macros of a list say what the plan does, in each language.
TEST(Header, HasTheBuffersOfAList) {
  PlanOptions levels;
  levels.memories = {{.name = "fast ram", .capacity = 100, .cost = 1}, {.name = "slow", .cost = 10}};
  const Problem list{.buffers = {{.id = "a", .size = 64, .pieces = {{0, 64, {0, 2}}}},
                                 {.id = "b.c", .size = 32, .pieces = {{0, 32, {1, 3}}}},
                                 {.id = "b-c", .size = 96, .pieces = {{0, 96, {2, 4}}}}},
                     .memories = {{.name = "arena"}}};
  for (const PlanOptions& options : {PlanOptions(), levels}) {
    const Plan plan = make_plan(Input{.info = {.name = "list"}, .content = list}, options).plan;
    const TemporaryDirectory directory;
    std::ostringstream header;
    write_header(plan, {}, {.prefix = "net"}, header);
    directory.write("net.h", header.str());
    std::ostringstream unnamed;
    write_header(plan, {}, {.prefix = "bare", .names = false}, unnamed);
    directory.write("bare.h", unnamed.str());
    directory.write("program.c", R"(
#define NET_IMPLEMENTATION
#include "net.h"
#define BARE_IMPLEMENTATION
#include "bare.h"
#include <stdio.h>
int main(void) {
  unsigned i;
  for (i = 0; i < NET_BUFFERS; ++i)
    printf("%s %lu %lu %lu\n", net_buffers[i].name, (unsigned long)net_buffers[i].memory,
           (unsigned long)net_buffers[i].offset, (unsigned long)net_buffers[i].bytes);
  printf("%d %lu %lu %lu\n", bare_buffers[0].name == 0, (unsigned long)NET_OFFSET_A,
         (unsigned long)NET_OFFSET_B_C, (unsigned long)NET_OFFSET_B_C_2);
  return 0;
}
)");
    std::string expected;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b)
      expected += plan.buffers[b].id + " " + std::to_string(plan.places[b].memory) + " " +
                  std::to_string(plan.places[b].offset) + " " + std::to_string(plan.buffers[b].size) + "\n";
    expected += "1";
    for (const Place& place : plan.places) expected += " " + std::to_string(place.offset);
    const std::string size = plan.memories.size() == 1 ? "ARENA" : "FAST_RAM";
    EXPECT_NE(header.str().find("#define NET_" + size + "_SIZE " + std::to_string(plan.memories[0].peak)),
              std::string::npos);
    EXPECT_EQ(unnamed.str().find("OFFSET_"), std::string::npos);
    for (const std::vector<std::string>& compiler :
         {std::vector<std::string>{"gcc", "-std=c99"}, {"g++", "-x", "c++"}}) {
      if (!is_there(compiler[0])) continue;
      std::vector<std::string> command = compiler;
      command.insert(command.end(), {"program.c", "-o", "program"});
      const ProcessResult compiled = compile(directory, command);
      ASSERT_EQ(compiled.status, 0) << compiled.errors.substr(0, 2000);
      EXPECT_EQ(run_process((directory / "program").string(), {}).output, expected + "\n");
    }
  }
}

TEST(Header, RefusesWhatIsNoIdentifierAndModelsWithoutGraphs) {
  const Planned it = planned({examples / "branches.json"});
  std::ostringstream out;
  for (const char* const prefix : {"", "1a", "a b", "a-b", "\xC3\xA9"})
    EXPECT_THROW(write_header(it.plan, it.graphs, {.prefix = prefix}, out), UsageError) << prefix;
  EXPECT_THROW(write_header(it.plan, {}, {.prefix = "plan"}, out), UsageError);
}

/// Prints the steps, and where each row of each tensor is at each of them.
constexpr std::string_view dump_rows = R"(
static long number_@(uint32_t it) { return it == %_NOWHERE ? -1L : (long)it; }
static void rows_@(void) {
  unsigned long c, at, t, row;
  for (c = 0; c < %_CLOCKS; ++c)
    for (at = 0; at < @_clocks[c].steps; ++at) {
      const @_step *step = &@_clocks[c].step[at];
      if (step->action == %_FORK) continue;
      printf("%s %ld", step->action == %_ARRIVE ? "arrive" : step->action == %_LEAVE ? "leave" : "run",
             step->action == %_RUN ? (long)step->op : (long)step->operand->tensor);
      printf(" [%ld %lu %lu]", number_@(step->axis), (unsigned long)step->first, (unsigned long)step->end);
      printf(" [%ld %lu %lu]", number_@(step->part_axis), (unsigned long)step->part_first,
             (unsigned long)step->part_end);
      printf(" [%ld %lu %lu]", number_@(step->block_axis), (unsigned long)step->block_first,
             (unsigned long)step->block_end);
      printf(" %d %ld %lu\n", step->sums_up, number_@(step->kept_memory), (unsigned long)step->kept_offset);
      for (t = 0; t < %_TENSORS; ++t)
        for (row = 0; row < 8; ++row) {
          const @_view *view = 0;
          while ((view = @_next_view(&@_tensors[t], view, (uint32_t)c, (uint32_t)at, (uint32_t)row)) != 0)
            printf(" %lu.%lu:%lu:%lu[%ld %lu %lu]", t, row, (unsigned long)view->memory,
                   (unsigned long)@_place_of_row(view, (uint32_t)row), number_@(view->block_axis),
                   (unsigned long)view->block_first, (unsigned long)view->block_end);
        }
      printf("\n");
    }
}
)";

std::string text_of(const std::optional<RowRange>& rows) {
  if (!rows) return " [-1 0 0]";
  return " [" + std::to_string(rows->axis) + " " + std::to_string(rows->begin) + " " +
         std::to_string(rows->end) + "]";
}

template <typename It>
std::optional<It> copy_of(const Rare<It>& it) {
  return it ? std::optional<It>(*it) : std::nullopt;
}

/// Where a row of the view is, from the plan.
std::optional<Bytes> place_of_row(const Plan& plan, const View& view, const Tensor& tensor,
                                  std::int64_t row) {
  Bytes place = plan.places[view.buffer].offset + view.offset;
  if (!view.ring && !view.rows) return place;
  const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
  const std::int64_t extent = (*tensor.shape)[axis];
  if (row >= (view.rows ? view.rows->end : extent) || row < (view.rows ? view.rows->begin : 0))
    return std::nullopt;
  Bytes bytes = tensor.bytes / extent;
  if (view.block) bytes = bytes * (view.block->end - view.block->begin) / (*tensor.shape)[view.block->axis];
  std::int64_t index = view.rows ? row - view.rows->begin : 0;
  if (view.ring)
    index = row / view.ring->granule % view.ring->count * view.ring->granule + row % view.ring->granule;
  return place + index * bytes;
}

std::string lines_of_rows(const Plan& plan) {
  std::ostringstream out;
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const Step& step = plan.clocks[c].steps[at];
      if (std::holds_alternative<Fork>(step)) continue;
      const auto* const run = std::get_if<stowage::Run>(&step);
      const auto* const arrive = std::get_if<Arrive>(&step);
      const auto* const leave = std::get_if<Leave>(&step);
      const auto kept = run == nullptr ? std::nullopt : run->sums ? copy_of(run->sums) : copy_of(run->carry);
      out << (run != nullptr      ? "run "
              : arrive != nullptr ? "arrive "
                                  : "leave ")
          << (run != nullptr      ? run->path.back()
              : arrive != nullptr ? arrive->tensor
                                  : leave->tensor)
          << text_of(run != nullptr      ? run->rows
                     : arrive != nullptr ? arrive->rows
                                         : leave->rows)
          << text_of(run != nullptr ? copy_of(run->part) : std::nullopt)
          << text_of(copy_of(run != nullptr      ? run->block
                             : arrive != nullptr ? arrive->block
                                                 : leave->block))
          << (run != nullptr && run->sums ? " 1 " : " 0 ") << (kept ? 0 : -1) << ' '
          << (kept ? plan.places[kept->buffer].offset + kept->offset : 0) << '\n';
      for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        for (std::int64_t row = 0; row < 8; ++row) {
          for (const View& view : plan.tensors[t].views) {
            const std::size_t clock = plan.buffers[view.buffer].clock;
            auto now = static_cast<Position>(at);
            if (clock != c) {  // a branch; forks are not nested here
              const auto fork = std::ranges::find_if(
                  plan.clocks[0].steps, [](const Step& it) { return std::holds_alternative<Fork>(it); });
              if (clock != 0) continue;
              now = fork - plan.clocks[0].steps.begin();
            }
            if (now < view.life.lower || now >= view.life.upper) continue;
            const auto place = place_of_row(plan, view, plan.tensors[t].tensor, row);
            if (place)
              out << ' ' << t << '.' << row << ":0:" << *place << text_of(copy_of(view.block)).substr(1);
          }
        }
      }
      out << '\n';
    }
  }
  return out.str();
}

TEST(Header, SaysWhereRowsAre) {
  if (!is_there("gcc")) GTEST_SKIP() << "there is no gcc";
  std::vector<Planned> plans;
  PlanOptions options;
  options.stream.emplace();
  options.solve.effort = 3000;
  for (const StreamLayout layout : {StreamLayout::automatic, StreamLayout::ring, StreamLayout::granules}) {
    for (const Io io : {Io::arena, Io::rows}) {
      options.io = io;
      options.stream->layout = layout;
      Planned plan = planned({examples / "windows.json"}, options);
      if (is_streamed(plan.plan)) plans.push_back(std::move(plan));
    }
  }
  EXPECT_GT(plans.size(), 4);
  testing::Random random(3);
  while (plans.size() < 12) {
    const Network network = testing::random_network(random);
    const auto split = testing::try_split(network.graph(), testing::random_splits(network.graph(), random));
    if (split) plans.push_back({testing::plan_of_blocks(*split, {}), {network.graph()}});
  }
  options.stream->layout = StreamLayout::automatic;
  options.io = Io::arena;
  options.run = "windows | windows_; windows__";
  plans.push_back(
      planned({examples / "windows.json", examples / "windows.json", examples / "windows.json"}, options));
  EXPECT_TRUE(std::ranges::any_of(plans, [](const Planned& it) {
    return std::ranges::any_of(it.plan.tensors, [](const PlannedTensor& tensor) {
      return std::ranges::any_of(tensor.views, [](const View& view) { return view.block.operator bool(); });
    });
  }));
  const TemporaryDirectory directory;
  std::string program = "#include <stdio.h>\n";
  std::string calls;
  std::string expected;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    ASSERT_TRUE(is_streamed(plans[i].plan)) << i;
    const std::string prefix = "plan" + std::to_string(i);
    std::ostringstream header;
    write_header(plans[i].plan, plans[i].graphs, {.prefix = prefix}, header);
    directory.write(prefix + ".h", header.str());
    program += "#define " + capitals(prefix) + "_IMPLEMENTATION\n#include \"" + prefix + ".h\"\n" +
               replaced(dump_rows, prefix);
    calls += "  rows_" + prefix + "();\n";
    expected += lines_of_rows(plans[i].plan);
  }
  directory.write("program.c", program + "int main(void) {\n" + calls + "  return 0;\n}\n");
  const ProcessResult compiled = compile(directory, {"gcc", "-std=c99", "program.c", "-o", "program"});
  ASSERT_EQ(compiled.status, 0) << compiled.errors.substr(0, 2000);
  const ProcessResult run = run_process((directory / "program").string(), {});
  ASSERT_EQ(run.status, 0);
  EXPECT_EQ(run.output, expected);
}

/// Convolutions along an open axis.
ReadBucket convolutions() {
  const std::string model =
      testing::onnx_model(
          {.nodes = {testing::node("Conv", {"x", "w"}, {"a"}), testing::node("Relu", {"a"}, {"b"}),
                     testing::node("Conv", {"b", "v"}, {"y"})},
           .inputs = {testing::tensor_value("x", {"batch", 2, "n"})},
           .outputs = {testing::untyped_value("y")},
           .initializers = {testing::zeros("w", {16, 2, 3}), testing::zeros("v", {2, 16, 3})}})
          .SerializeAsString();
  return [model](const BucketSizes& sizes) {
    ImportOptions options;
    for (const auto& [name, size] : sizes) options.dims.emplace(name, size);
    return std::vector<Input>{parse_network(model, "x.onnx", options).input};
  };
}

/// The text with each of the first replaced by the second.
std::string with(std::string text, const std::vector<std::pair<std::string, std::string>>& changes) {
  for (const auto& [from, to] : changes) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return text;
}

/// Everything that is in the tables of a bucket, and where rows are; by sizes that are not those of buckets, too.
TEST(HeaderOfBuckets, HasTheNumbersOfEachPlanAndChoosesAsBucketForDoes) {
  if (!is_there("gcc")) GTEST_SKIP() << "there is no gcc";
  const std::vector<BucketSizes> sizes{{{"batch", 1}, {"n", 8}},
                                       {{"batch", 1}, {"n", 64}},
                                       {{"batch", 3}, {"n", 8}},
                                       {{"batch", 3}, {"n", 16}}};
  const ReadBucket read = convolutions();
  std::size_t by_rows = 0;
  for (const bool streams : {false, true}) {
    PlanOptions options{.io = streams ? Io::rows : Io::arena};
    options.solve.effort = 500;
    if (streams) options.stream.emplace();
    const Buckets buckets = make_buckets(read, sizes, options).buckets;
    const TemporaryDirectory directory;
    std::ostringstream header;
    write_header(buckets, read, {.prefix = "plan"}, header);
    directory.write("plan.h", header.str());
    const std::vector<std::pair<std::string, std::string>> of_bucket{
        {"plan_memories[", "bucket->memory["},
        {"plan_tensors[", "bucket->tensor["},
        {"plan_clocks[", "bucket->clock["},
        {"plan_models[", "bucket->model["},
        {"PLAN_TENSORS", "bucket->tensors"},
        {"PLAN_CLOCKS", "bucket->clocks"},
        {"_plan(void)", "_plan(const plan_bucket *bucket)"},
        {"next_view(&", "next_view(bucket->clock, &"}};
    std::string program = "#include <stdio.h>\n#define PLAN_IMPLEMENTATION\n#include \"plan.h\"\n" +
                          with(replaced(dump_function, "plan"), of_bucket);
    if (streams) program += with(replaced(dump_rows, "plan"), of_bucket);
    program += "int main(void) {\n  const plan_bucket *bucket;\n  plan_bytes sizes[2];\n";
    std::string expected;
    for (std::int64_t batch = 1; batch <= 4; ++batch) {
      for (const std::int64_t n : {1, 8, 9, 16, 17, 64, 65}) {
        program += "  sizes[PLAN_SIZE_BATCH] = " + std::to_string(batch) +
                   ";\n  sizes[PLAN_SIZE_N] = " + std::to_string(n) +
                   ";\n  bucket = plan_bucket_for(sizes);\n  if (bucket == 0) printf(\"none\\n\");\n"
                   "  else {\n    dump_plan(bucket);\n" +
                   (streams ? "    rows_plan(bucket);\n" : "") + "  }\n";
        const Bucket* const bucket = bucket_for(buckets, {{"batch", batch}, {"n", n}});
        if (bucket == nullptr) {
          expected += "none\n";
          continue;
        }
        const Planned planned{bucket->plan, {std::get<Graph>(read(bucket->sizes)[0].content)}};
        expected += streams ? "" : Lines(planned).text();
        if (streams) expected += lines_of_rows(bucket->plan);
        by_rows += is_streamed(bucket->plan) ? 1 : 0;
      }
    }
    if (streams) program = with(program, {{"    dump_plan(bucket);\n", "    (void)dump_plan;\n"}});
    directory.write("program.c", program + "  return 0;\n}\n");
    const ProcessResult compiled = compile(directory, {"gcc", "-std=c99", "program.c", "-o", "program"});
    ASSERT_EQ(compiled.status, 0) << compiled.errors.substr(0, 2000);
    const ProcessResult run = run_process((directory / "program").string(), {});
    ASSERT_EQ(run.status, 0);
    EXPECT_EQ(run.output, expected);
  }
  EXPECT_GT(by_rows, 0U);
}

TEST(HeaderOfBuckets, IsRefusedForListsAndWithoutAName) {
  const ReadBucket read = [](const BucketSizes&) {
    return std::vector<Input>{parse_input("id,lower,upper,size\na,0,2,64\n", "list.csv")};
  };
  const std::vector<BucketSizes> sizes{{{"n", 1}}, {{"n", 2}}};
  const Buckets buckets = make_buckets(read, sizes).buckets;
  std::ostringstream out;
  EXPECT_THROW(write_header(buckets, read, {}, out), UsageError);
  EXPECT_THROW(write_header(buckets, read, {.prefix = "1a"}, out), UsageError);
  EXPECT_THROW(write_header(Buckets(), read, {}, out), UsageError);
}

TEST(HeaderData, HasTheNumbersOfRealModels) {
  const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models";
  if (!std::filesystem::is_directory(models)) GTEST_SKIP() << "no models in " << models;
  std::vector<Planned> plans;
  for (const char* const format : {"tflite", "onnx"}) {
    for (const auto& entry : std::filesystem::directory_iterator(models / format)) {
      if (entry.path().extension() == std::string(".") + format) plans.push_back(planned({entry.path()}));
    }
  }
  plans.push_back(planned({models / "tflite/person_detect.tflite", models / "tflite/kws_ref_model.tflite"}));
  expect_same_numbers(plans);
}

TEST(HeaderExample, WalksThroughAPlan) {
  if (!is_there("gcc")) GTEST_SKIP() << "there is no gcc";
  const TemporaryDirectory directory;
  const Planned it = planned({examples / "classifier.onnx"});
  std::ostringstream header;
  write_header(it.plan, it.graphs, {.prefix = "plan"}, header);
  directory.write("plan.h", header.str());
  const ProcessResult compiled =
      compile(directory, {"gcc", "-std=c99", "-I.", (examples / "plan_header.c").string(), "-o", "walk"});
  ASSERT_EQ(compiled.status, 0) << compiled.errors;
  const ProcessResult run = run_process((directory / "walk").string(), {});
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(run.output.starts_with("classifier: 737280 bytes, 21 steps\n   0 ")) << run.output;
}

}  // namespace
}  // namespace stowage
