// What the command says where an option has no effect or does not mean what it looks like.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "process.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::ProcessResult;
using testing::run_stowage;
using testing::TemporaryDirectory;
using Arguments = std::vector<std::string>;

constexpr int done = 0;
constexpr int not_met = 1;
constexpr int wrong_usage = 2;
constexpr int rejected = 3;

const char* const list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";
const char* const network = R"({"format":"stowage-graph","version":1,
  "tensors":[{"name":"x","bytes":64},{"name":"h","bytes":64},{"name":"y","bytes":64}],
  "subgraphs":[{"inputs":["x"],"outputs":["y"],"operators":[
    {"type":"A","inputs":["x"],"outputs":["h"]},{"type":"B","inputs":["h","x"],"outputs":["y"]}]}]})";

void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not say '" << part << "'";
}

/// Plans a list and a network with these arguments.
ProcessResult planned(const std::string& file, Arguments arguments) {
  const TemporaryDirectory directory;
  directory.write("list.csv", list);
  directory.write("net.json", network);
  arguments.insert(arguments.begin(), {"plan", file});
  return run_stowage(directory.path(), arguments);
}

TEST(CliNotes, BanksThatDoNotHoldThePlanHaveNoPairs) {
  const ProcessResult small = planned("net.json", {"--banks", "2x64", "--align", "1"});
  EXPECT_EQ(small.status, not_met);
  expect_says(small.output, {"banks: no offsets were found within the 2 banks of 64 bytes"});
  EXPECT_EQ(small.output.find("share a bank"), std::string::npos) << small.output;
  const ProcessResult large = planned("net.json", {"--banks", "3x64", "--align", "1"});
  EXPECT_EQ(large.status, done) << large.errors;
  expect_says(large.output, {"banks: 0 of 4 pairs of operands share a bank; at least 0 must"});
}

TEST(CliNotes, BanksSayTheSizeOfTheFastestMemory) {
  const ProcessResult own = planned("net.json", {"--banks", "3x64", "--memory", "SRAM", "--memory", "PSRAM"});
  EXPECT_EQ(own.status, done) << own.errors;
  expect_says(own.output, {"pairs of operands share a bank"});
  const ProcessResult same = planned("net.json", {"--banks", "3x64", "--capacity", "192"});
  EXPECT_EQ(same.status, done) << same.errors;
  const ProcessResult other = planned("net.json", {"--banks", "3x64", "--memory", "SRAM=200"});
  EXPECT_EQ(other.status, wrong_usage);
  expect_says(other.errors, {"3 banks of 64 bytes are 192 bytes, but memory 'SRAM' has 200"});
}

TEST(CliNotes, ASizeIsNoNameOfAMemory) {
  struct Case {
    const char* given;
    const char* meant;
  };
  for (const Case& it : {Case{"SRAM:8KiB", "SRAM=8KiB"},
                         {"SRAM 8KiB", "SRAM=8KiB"},
                         {"8KiB", "SRAM=8KiB"},
                         {"SRAM, 8192", "SRAM=8192"},
                         {"8k", "SRAM=8k"},
                         {"SRAM:8KiB@2", "SRAM=8KiB"},
                         {"SRAM;64kb,granule=8", "SRAM=64kb"},
                         {"SRAM:weight", "[:weights]"},
                         {"SRAM,granul=8", "granule=SIZE"},
                         {"SRAM =64", "NAME[=SIZE]"}}) {
    const ProcessResult result = planned("list.csv", {"--memory", it.given});
    EXPECT_EQ(result.status, wrong_usage) << it.given;
    expect_says(result.errors, {"--memory is '" + std::string(it.given) + "'", it.meant});
  }
  for (const char* const name : {"L2 cache", "sram_64KiB", "2MB_bank", "SRAM-1/lower"})
    EXPECT_EQ(planned("list.csv", {"--memory", name}).status, done) << name;
}

TEST(CliNotes, AMemoryBehindOneWithoutALimitStaysEmpty) {
  const auto note = [](Arguments arguments) { return planned("net.json", std::move(arguments)).errors; };
  expect_says(note({"--memory", "SRAM", "--memory", "DRAM=8MiB"}), {"note", "'DRAM' stays empty", "'SRAM'"});
  EXPECT_EQ(note({"--memory", "SRAM=8MiB", "--memory", "DRAM"}), "");
  EXPECT_EQ(note({"--memory", "SRAM@20", "--memory", "DRAM=8MiB@1"}), "") << "DRAM is the cheaper one";
  EXPECT_EQ(note({"--memory", "SRAM", "--memory", "FLASH=8MiB:weights"}), "");
}

TEST(CliNotes, AnEarlierPlanOfOtherBuffersChangesNothing) {
  const TemporaryDirectory directory;
  directory.write("list.csv", list);
  directory.write("net.json", network);
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "net.json", "-o", "old.json"}).status, done);
  const ProcessResult other = run_stowage(directory.path(), {"plan", "list.csv", "--near", "old.json"});
  EXPECT_EQ(other.status, done);
  expect_says(other.errors, {"--near changes nothing"});
  EXPECT_EQ(run_stowage(directory.path(), {"plan", "net.json", "--near", "old.json"}).errors, "");
}

TEST(CliNotes, AnUnknownMemberOfAGraphIsAnError) {
  const std::string tensors = R"({"name":"x","bytes":4},{"name":"y","bytes":4})";
  const std::string op = R"("type":"A","inputs":["x"],"outputs":["y"])";
  const auto graph = [](const std::string& all_tensors, const std::string& members, const std::string& rest) {
    return R"({"format":"stowage-graph","version":1,"tensors":[)" + all_tensors +
           R"(],"subgraphs":[{"inputs":["x"],"outputs":["y"],"operators":[{)" + members + "}]}]" + rest + "}";
  };
  struct Case {
    std::string document;
    std::vector<std::string> says;
  };
  const std::vector<Case> cases{
      {graph(tensors, op + R"(,"afetr":[1])", ""), {"/subgraphs/0/operators/0", "'afetr'", "after"}},
      {graph(tensors, op, R"(,"states":[])"), {"document", "'states'", "state"}},
      {graph(R"({"name":"x","byte":4},{"name":"y","bytes":4})", op, ""), {"/tensors/0", "'byte'", "bytes"}},
      {graph(tensors, op + R"(,"copies":[{"input":0,"output":0,"from":0,"to":0,"size":4,"sizes":4}])", ""),
       {"/subgraphs/0/operators/0/copies/0", "'sizes'", "size"}},
      {graph(tensors, op + R"(,"row_axes":[{"axis":0,"reads":[{"input":0,"axis":0,"tap":3}]}])", ""),
       {"/row_axes/0/reads/0", "'tap'", "taps"}},
      {graph(tensors, op + R"(,"carries":[{"axis":0,"input_axis":0,"bytes":4,"read_twice":true}])", ""),
       {"/carries/0", "'read_twice'", "reads_twice"}},
  };
  for (const Case& it : cases) {
    const TemporaryDirectory directory;
    directory.write("net.json", it.document);
    const ProcessResult result = run_stowage(directory.path(), {"plan", "net.json"});
    EXPECT_EQ(result.status, rejected) << it.document;
    expect_says(result.errors, it.says);
  }
}

/// Whether a terminal would obey a byte of a text: C0 but for line breaks, DEL, or C1 in UTF-8.
bool has_controls(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

TEST(CliNotes, NamesDoNotCommandTheTerminal) {
  // The window's title, a line of its own, DEL and CSI of C1: in a tensor, an operator, a model and a memory.
  const std::string name =
      "\x1b]0;owned\x07\nfault: \x7f\xc2\x9b"
      "31m";
  const std::string json = R"(\u001b]0;owned\u0007\nfault: )" + std::string(
                                                                    "\x7f\xc2\x9b"
                                                                    "31m");
  const TemporaryDirectory directory;
  directory.write(
      "net.json",
      R"({"format":"stowage-graph","version":1,"tensors":[{"name":"x","bytes":64},{"name":")" + json +
          R"(","bytes":64},{"name":"y","bytes":64}],"subgraphs":[{"inputs":["x"],"outputs":["y"],)" +
          R"("operators":[{"type":")" + json + R"(","inputs":["x"],"outputs":[")" + json +
          R"("],"must_copy":")" + json + R"("},{"type":"B","inputs":["x",")" + json +
          R"("],"outputs":["y"]}]}]})");
  directory.write("list.csv", "id,lower,upper,size\n\"" + name + "\",0,2,64\nb,1,3,32\n");
  directory.write("bad.json",
                  R"({"format":"stowage-graph","version":1,"tensors":[{"name":")" + json + R"("}]})");
  const std::string memory = "\x1b[31mowned";
  const std::vector<Arguments> commands{
      {"plan", "net.json", "-o", "plan.json"},
      {"plan", "net.json", "--json"},
      {"plan", "net.json", "--memory", memory + "=64", "--memory", "slow"},
      {"plan", "net.json", "--memory", name},
      {"plan", name + "=net.json", "--budget", "64"},
      {"plan", "list.csv", "-o", "list.json"},
      {"plan", "list.csv", "--capacity", "1"},
      {"plan", "bad.json"},
      {"compare", "list.csv", "--time-limit", "0.1"},
      {"sweep", name + "=net.json", "--memory", memory + "=64..128", "--time-limit", "0.1"},
      {"verify", "plan.json", "--model", "list.csv"},
      {"verify", "list.json", "--model", "net.json"},
      {"run", "net.json"},
      {"generate", "net.json", "-o", "package"},
      {"inspect", "net.json"},
      {"plan", name},
  };
  std::size_t shown = 0;
  for (const Arguments& arguments : commands) {
    const ProcessResult result = run_stowage(directory.path(), arguments);
    const std::string text = result.output + result.errors;
    EXPECT_NE(text, "") << ::testing::PrintToString(arguments);
    EXPECT_FALSE(has_controls(text)) << ::testing::PrintToString(arguments) << ::testing::PrintToString(text);
    EXPECT_EQ(("\n" + text).find("\nfault: \\x7f"), std::string::npos) << ::testing::PrintToString(arguments);
    shown += text.find("owned") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(shown, 10U) << "the names are not there to be seen";
}

}  // namespace
}  // namespace stowage
