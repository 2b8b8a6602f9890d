// Buffer CSV and memory-operation sequences, read and written.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "long_tests.h"
#include "oracle/random_problem.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

Problem read(const std::string& text, const std::string& name = "list.csv") {
  return std::get<Problem>(parse_input(text, name).content);
}

std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_error(const std::string& text, const std::vector<std::string>& parts) {
  const std::string message = error_of(text);
  EXPECT_NE(message, "") << text;
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' does not say '" << part << "'";
  }
}

Buffer buffer(const std::string& id, Bytes size, const std::vector<Piece>& pieces, Bytes alignment = 1,
              std::optional<Bytes> pinned = std::nullopt) {
  return {.id = id, .size = size, .alignment = alignment, .pieces = pieces, .pinned = pinned};
}

Buffer whole(const std::string& id, Bytes size, Lifetime life) { return buffer(id, size, {{0, size, life}}); }

/// The two buffers that most of these texts describe.
std::vector<Buffer> usual() { return {whole("a", 64, {0, 2}), whole("b", 32, {1, 3})}; }

/// The buffer of "a,LOWER,UPPER,SIZE" with gaps.
std::vector<Piece> pieces_with(const std::string& row) {
  const Problem problem = read("id,lower,upper,size,gaps\n" + row + "\n");
  EXPECT_EQ(problem.buffers.size(), 1);
  return problem.buffers.at(0).pieces;
}

TEST(Csv, ReadsAPlainList) {
  const Problem problem = read("id,lower,upper,size\na,0,2,64\nb,1,3,32\n");
  EXPECT_EQ(problem.buffers, usual());
  ASSERT_EQ(problem.memories.size(), 1);
  EXPECT_EQ(problem.memories[0].capacity, std::nullopt);
}

TEST(Csv, ColumnsComeInAnyOrder) {
  EXPECT_EQ(read("size,id,upper,lower\n64,a,2,0\n32,b,3,1\n").buffers, usual());
  EXPECT_EQ(read("upper,lower,id,size\n2,0,a,64\n3,1,b,32\n").buffers, usual());
  std::vector<std::string> columns{"alignment", "gaps", "id", "lower", "offset", "size", "upper"};
  const std::vector<Buffer> expected{buffer("a", 64, {{0, 64, {0, 1}}, {0, 64, {2, 4}}}, 8, 16)};
  const auto value_of = [](const std::string& column) -> std::string {
    if (column == "id") return "a";
    if (column == "gaps") return "1-2";
    if (column == "lower") return "0";
    if (column == "upper") return "4";
    if (column == "size") return "64";
    return column == "offset" ? "16" : "8";
  };
  int orders = 0;
  do {
    std::string header;
    std::string row;
    for (const std::string& column : columns) {
      header += (header.empty() ? "" : ",") + column;
      row += (row.empty() ? "" : ",") + value_of(column);
    }
    ASSERT_EQ(read(header + "\n" + row + "\n").buffers, expected) << header;
    ++orders;
  } while (std::next_permutation(columns.begin(), columns.end()));
  EXPECT_EQ(orders, 5040);
}

TEST(Csv, EndIsInclusive) {
  EXPECT_EQ(read("id,lower,end,size\na,0,1,64\nb,1,2,32\n").buffers, usual());
  EXPECT_EQ(read("id,lower,end,size\na,5,5,8\n").buffers, std::vector{whole("a", 8, {5, 6})});
  EXPECT_EQ(read("id,lower,end,size\na,5,4,8\n").buffers, std::vector{whole("a", 8, {5, 5})});
  expect_error("id,lower,end,size\na,5,3,8\n", {"line 2", "'a'"});
  // So are gaps beside it, as minimalloc's own tools write them.
  EXPECT_EQ(read("id,lower,end,size,gaps\na,0,5,8,2-3\n").buffers,
            std::vector{buffer("a", 8, {{0, 8, {0, 2}}, {0, 8, {4, 6}}})});
  EXPECT_EQ(read("id,lower,end,size,gaps\na,0,5,8,2-3@1:4\n").buffers,
            std::vector{buffer("a", 8, {{0, 8, {0, 2}}, {1, 3, {2, 4}}, {0, 8, {4, 6}}})});
  expect_error("id,lower,end,size,gaps\na,0,5,8,2-6\n", {"line 2", "'2-6'"});
  expect_error("id,lower,end,size,gaps\na,0,5,8,2-9223372036854775807\n", {"line 2", "gap"});
}

TEST(Csv, NamesOfMinimalloc) {
  EXPECT_EQ(read("buffer_id,start,end,size\na,0,1,64\nb,1,2,32\n").buffers, usual());
  EXPECT_EQ(read("buffer,begin,upper,size\na,0,2,64\nb,1,3,32\n").buffers, usual());
  expect_error("id,buffer_id,lower,upper,size\n", {"line 1", "'id'", "twice"});
}

TEST(Csv, AlignmentAndOffset) {
  const Problem problem =
      read("id,lower,upper,size,alignment,offset\na,0,2,64,16,48\nb,0,2,32,,\nc,4,6,8,3,9\nd,5,9,8,1,0\n");
  EXPECT_EQ(problem.buffers,
            (std::vector{buffer("a", 64, {{0, 64, {0, 2}}}, 16, 48), buffer("b", 32, {{0, 32, {0, 2}}}),
                         buffer("c", 8, {{0, 8, {4, 6}}}, 3, 9), buffer("d", 8, {{0, 8, {5, 9}}}, 1, 0)}));
}

TEST(Csv, GapsMakePieces) {
  using Pieces = std::vector<Piece>;
  EXPECT_EQ(pieces_with("a,2,9,64,"), (Pieces{{0, 64, {2, 9}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,4-6"), (Pieces{{0, 64, {2, 4}}, {0, 64, {6, 9}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,4-6@8:24"), (Pieces{{0, 64, {2, 4}}, {8, 16, {4, 6}}, {0, 64, {6, 9}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,2-3"), (Pieces{{0, 64, {3, 9}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,8-9"), (Pieces{{0, 64, {2, 8}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,2-9@0:8"), (Pieces{{0, 8, {2, 9}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,2-9"), Pieces{});
  EXPECT_EQ(pieces_with("a,2,9,64,3-4 6-7"), (Pieces{{0, 64, {2, 3}}, {0, 64, {4, 6}}, {0, 64, {7, 9}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,6-7 3-4"), pieces_with("a,2,9,64,3-4 6-7"));
  EXPECT_EQ(pieces_with("a,2,9,64,  3-4   6-7 "), pieces_with("a,2,9,64,3-4 6-7"));
  EXPECT_EQ(pieces_with("a,2,9,64,\"3-4 6-7\""), pieces_with("a,2,9,64,3-4 6-7"));
  EXPECT_EQ(pieces_with("a,2,9,64,3-5@0:8 5-7@8:16"),
            (Pieces{{0, 64, {2, 3}}, {0, 8, {3, 5}}, {8, 8, {5, 7}}, {0, 64, {7, 9}}}));
  EXPECT_EQ(pieces_with("a,2,9,64,4-6@5:5"), pieces_with("a,2,9,64,4-6"));
}

TEST(Csv, AnEmptyGapIsNone) {
  EXPECT_EQ(max_load(read("id,lower,upper,size,gaps\na,2,9,64,4-4\n").buffers), 64);
  for (const char* const gaps : {"3-3 3-5", "3-5 3-3", "5-5 3-5", "3-3"}) {
    EXPECT_EQ(error_of(fmt::format("id,lower,upper,size,gaps\na,2,9,64,{}\n", gaps)), "") << gaps;
  }
}

TEST(Csv, LinesEndInEitherWay) {
  EXPECT_EQ(read("id,lower,upper,size\r\na,0,2,64\r\nb,1,3,32\r\n").buffers, usual());
  EXPECT_EQ(read("id,lower,upper,size\na,0,2,64\nb,1,3,32").buffers, usual());
  EXPECT_EQ(read("id,lower,upper,size\r\na,0,2,64\nb,1,3,32\r").buffers, usual());
}

TEST(Csv, AByteOrderMarkIsNoName) {
  EXPECT_EQ(read("\xef\xbb\xbfid,lower,upper,size\r\na,0,2,64\r\nb,1,3,32\r\n").buffers, usual());
  EXPECT_EQ(read("\xef\xbb\xbfop,name,size\nalloc,a,64\n").buffers, std::vector{whole("a", 64, {0, 1})});
  EXPECT_EQ(read("\xef\xbb\xbf\"id\",lower,upper,size\na,0,2,64\nb,1,3,32\n").buffers, usual());
}

TEST(Csv, BlankLinesArePassedOver) {
  EXPECT_EQ(read("id,lower,upper,size\n\na,0,2,64\n  \t\n\r\nb,1,3,32\n\n\n").buffers, usual());
  EXPECT_EQ(read("\n\r\nid,lower,upper,size\na,0,2,64\nb,1,3,32\n").buffers, usual());
  expect_error("\n\nid,lower,upper,size\n\na,0,2,x\n", {"line 5"});
  // Row i of a sequence is position i; a blank line is no row.
  const std::vector<Buffer> expected{whole("a", 8, {0, 2}), whole("b", 8, {1, 3})};
  EXPECT_EQ(read("op,name,size\nalloc,a,8\n\nalloc,b,8\n\nfree,a,8\n").buffers, expected);
  EXPECT_EQ(read("\nop,name,size\nalloc,a,8\nalloc,b,8\nfree,a,8\n").buffers, expected);
}

TEST(Csv, BlanksAroundFieldsDoNotCount) {
  EXPECT_EQ(read("id , lower,\tupper,size \n a ,0 , 2,64\nb,1,3,\t32 \n").buffers, usual());
  EXPECT_EQ(read("op , name, size\n alloc , a , 64 \n").buffers, std::vector{whole("a", 64, {0, 1})});
}

TEST(Csv, FieldsMayBeQuoted) {
  EXPECT_EQ(read("\"id\",\"lower\",\"upper\",\"size\"\n\"a\",\"0\",\"2\",\"64\"\nb,1,3,32\n").buffers,
            usual());
  EXPECT_EQ(read("\"op\",\"name\",\"size\"\n\"alloc\",\"a\",\"64\"\n").buffers,
            std::vector{whole("a", 64, {0, 1})});
  const auto id_of = [](const std::string& field) {
    return read("id,lower,upper,size\n" + field + ",0,2,64\n").buffers.at(0).id;
  };
  EXPECT_EQ(id_of("\"a,b\""), "a,b");
  EXPECT_EQ(id_of("\"say \"\"hi\"\"\""), "say \"hi\"");
  EXPECT_EQ(id_of("\"\"\"\""), "\"");
  EXPECT_EQ(id_of("\" a \""), " a ");
  EXPECT_EQ(id_of("\"two\nlines\""), "two\nlines");
  EXPECT_EQ(id_of("\"two\r\nlines\""), "two\r\nlines");
  EXPECT_EQ(id_of("5\" disk"), "5\" disk");
  expect_error("id,lower,upper,size\n\"two\nlines\",0,2,64\nb,0,2,x\n", {"line 4"});
  expect_error("id,lower,upper,size\n\"\",0,2,64\n", {"line 2", "id"});
  expect_error("id,lower,upper,size\n\"a,0,2,64\nb,0,2,64\n", {"line"});
}

TEST(Csv, ManyFieldsOfARowMayBeQuoted) {
  const std::string name(100, 'n');
  const Problem problem = read("\"id\",\"lower\",\"upper\",\"size\"\n\"" + name +
                               "\"\"\"x,\"1\",\"2\",\"3\"\n\"b\",\"4\",\"5\",\"6\"\n");
  ASSERT_EQ(problem.buffers.size(), 2U);
  EXPECT_EQ(problem.buffers[0].id, name + "\"x");
  EXPECT_EQ(problem.buffers[1].pieces, (std::vector<Piece>{{0, 6, {4, 5}}}));
}

TEST(Csv, ContentDecidesWhatItIs) {
  const std::string list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";
  const std::string of_minimalloc = "buffer_id,start,end,size\na,0,1,64\nb,1,2,32\n";
  const std::string sequence = "op,name,size\nalloc,a,64\n";
  for (const char* const name : {"list.csv", "list.txt", "list", "-", ""}) {
    EXPECT_EQ(parse_input(list, name).info.format, ModelFormat::csv) << name;
    EXPECT_EQ(parse_input(of_minimalloc, name).info.format, ModelFormat::csv) << name;
    EXPECT_EQ(parse_input("name,start,end,bytes\na,0,1,64\n", name).info.format, ModelFormat::csv) << name;
    EXPECT_EQ(parse_input(sequence, name).info.format, ModelFormat::ops) << name;
  }
  EXPECT_THROW((void)parse_input("buffer,colour\na,blue\n", "list.txt"), Error);
}

TEST(Csv, SequencesCountRows) {
  const Problem problem = read(
      "op,name,size,alignment\nalloc,a,8,4\nalloc,b,16,\nfree,a,8,\nalloc,c,32,1\nfree,b,,\nfree,c,32,\n");
  EXPECT_EQ(problem.buffers, (std::vector{buffer("a", 8, {{0, 8, {0, 2}}}, 4), whole("b", 16, {1, 4}),
                                          whole("c", 32, {3, 5})}));
}

TEST(Csv, SequencesInAnyColumnOrder) {
  EXPECT_EQ(read("alignment,size,op,name\n4,8,alloc,a\n,8,free,a\n").buffers,
            std::vector{buffer("a", 8, {{0, 8, {0, 1}}}, 4)});
}

TEST(Csv, WhatIsNeverFreedLivesToTheEnd) {
  EXPECT_EQ(read("op,name,size\nalloc,a,8\nalloc,b,8\nfree,a,8\nalloc,c,8\n").buffers,
            (std::vector{whole("a", 8, {0, 2}), whole("b", 8, {1, 4}), whole("c", 8, {3, 4})}));
  EXPECT_EQ(max_load(read("op,name,size\nalloc,a,8\n").buffers), 8);
}

TEST(Csv, NamesMayBeAllocatedAgain) {
  const Problem problem =
      read("op,name,size\nalloc,a,8\nfree,a,8\nalloc,a,16\nfree,a,16\nalloc,a,4\nfree,a,4\n");
  EXPECT_EQ(problem.buffers,
            (std::vector{whole("a", 8, {0, 1}), whole("a#2", 16, {2, 3}), whole("a#3", 4, {4, 5})}));
}

TEST(Csv, NamesAllocatedAgainMeetNoOther) {
  const Problem problem = read("op,name,size\nalloc,a,8\nfree,a,8\nalloc,a#2,16\nalloc,a,4\n");
  ASSERT_EQ(problem.buffers.size(), 3);
  EXPECT_EQ(problem.buffers[0].id, "a");
  EXPECT_EQ(problem.buffers[1].id, "a#2");
  EXPECT_EQ(problem.buffers[2].id, "a#3");
}

TEST(Csv, SequenceErrorsNameTheLine) {
  expect_error("op,name,size\nalloc,a,8\n\nfree,b,8\n", {"list.csv", "line 4", "'b'", "not allocated"});
  expect_error("op,name,size\nalloc,a,8\nalloc,a,8\n", {"line 3", "'a'", "already"});
  expect_error("op,name,size\nALLOC,a,8\n", {"line 2", "'ALLOC'", "alloc or free"});
  expect_error("op,name,size\nalloc,a,8\nfree,a,7\n", {"line 3", "7", "8"});
}

TEST(Csv, ListErrorsNameLineAndValue) {
  expect_error("id,lower,upper,size\na,0,2,64\nb,1,3\n", {"list.csv", "line 3", "3 fields", "expected 4"});
  expect_error("id,lower,upper,size\na,0,2,64\nb,1,3,3 2\n", {"line 3", "size", "'3 2'"});
  expect_error("id,lower,upper,size\na,0,+2,64\n", {"line 2", "upper", "'+2'"});
  expect_error("id,lower,upper,size\r\na,0,2e3,64\r\n", {"line 2", "upper", "'2e3'"});
  expect_error("id,lower,upper,size\na,0,2,1\x01\n", {"line 2", "\\x01"});
  expect_error("id,lower,upper,size\na,0,2," + std::string(100'000, '9') + "\n", {"line 2", "999..."});
  EXPECT_LT(error_of("id,lower,upper,size\na,0,2," + std::string(100'000, '9') + "\n").size(), 1000);
}

TEST(Csv, WritesWhatItReads) {
  const std::string text =
      "id,lower,upper,size,alignment,offset,gaps\n"
      "a,0,8,64,16,0,2-4 5-6@8:24\n"
      "\"b,\"\"c\"\"\",0,2,8,1,64,\n";
  const PlanResult result = make_plan(parse_input(text, "list.csv"));
  EXPECT_TRUE(result.faults.empty());
  std::ostringstream out;
  write_csv(result.plan, out);
  EXPECT_EQ(out.str(), text);
}

TEST(Csv, TwoPartsAtOneTimeCannotBeWritten) {
  const Problem list{{buffer("split", 8, {{0, 2, {0, 4}}, {6, 2, {0, 4}}})}, {{.name = "arena"}}};
  const PlanResult result = make_plan({{"list", "list.csv", ModelFormat::csv}, list});
  std::ostringstream out;
  try {
    write_csv(result.plan, out);
    FAIL() << out.str();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'split'"), std::string::npos) << error.what();
  }
}

// In quadratic time, this would not be done before the time of the test is over.
TEST(Csv, ManyGapsTakeNoQuadraticTime) {
  const int count = testing::is_in_a_hurry() ? 30'000 : 300'000;
  std::string gaps;
  for (int i = 0; i < count; ++i) gaps += fmt::format("{}-{} ", 2 * i + 1, 2 * i + 2);
  const Plan plan =
      make_plan(parse_input(fmt::format("id,lower,upper,size,gaps\na,0,{},8,{}\n", 2 * count + 2, gaps),
                            "list.csv"))
          .plan;
  std::ostringstream out;
  write_csv(plan, out);
  EXPECT_NE(out.str().find(fmt::format("{}-{}", 2 * count - 1, 2 * count)), std::string::npos);
}

/// The bytes that a buffer needs at each position of a small problem.
std::set<std::pair<Position, Bytes>> needed_by(const Buffer& buffer) {
  std::set<std::pair<Position, Bytes>> needed;
  for (const Piece& piece : buffer.pieces) {
    for (Position at = piece.life.lower; at < piece.life.upper; ++at) {
      for (Bytes byte = piece.offset; byte < piece.offset + piece.size; ++byte) needed.emplace(at, byte);
    }
  }
  return needed;
}

PlanResult plan_of(const Problem& problem) {
  PlanResult result = make_plan({{"list", "list.csv", ModelFormat::csv}, problem});
  EXPECT_TRUE(result.faults.empty());
  return result;
}

std::optional<std::string> csv_of(const Plan& plan) {
  std::ostringstream out;
  try {
    write_csv(plan, out);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("two separate parts"), std::string::npos) << error.what();
    return std::nullopt;  // the format cannot say every problem
  }
  return out.str();
}

/// Every buffer is pinned where it was, and needs what it needed when it did.
void expect_same_but_pinned(const Plan& plan, const Problem& again) {
  ASSERT_EQ(again.buffers.size(), plan.buffers.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& before = plan.buffers[b];
    const Buffer& after = again.buffers[b];
    EXPECT_EQ(after.id, before.id);
    EXPECT_EQ(after.size, before.size);
    EXPECT_EQ(after.alignment, before.alignment);
    EXPECT_EQ(after.pinned, plan.places[b].offset);
    EXPECT_EQ(needed_by(after), needed_by(before)) << before.id;
  }
}

TEST(Csv, APlanComesBackAsItWas) {
  constexpr std::uint64_t wanted = 600;
  std::uint64_t compared = 0;
  std::uint64_t with_pieces = 0;
  for (std::uint64_t seed = 0; compared < wanted; ++seed) {
    ASSERT_LT(seed, 10 * wanted);
    SCOPED_TRACE(seed);
    const PlanResult first = plan_of(oracle::random_problem(seed));
    const std::optional<std::string> text = csv_of(first.plan);
    if (!text) continue;
    SCOPED_TRACE(*text);
    ++compared;
    if (text->starts_with("id,lower,upper,size,alignment,offset,gaps")) ++with_pieces;
    const Problem again = read(*text);
    expect_same_but_pinned(first.plan, again);
    const PlanResult second = plan_of(again);
    EXPECT_EQ(second.plan.places, first.plan.places);
    EXPECT_EQ(second.plan.summary.peak, first.plan.summary.peak);
    EXPECT_EQ(second.plan.summary.naive, first.plan.summary.naive);
    EXPECT_GE(second.plan.summary.lower_bound, first.plan.summary.lower_bound);  // pins may prove more
    const std::optional<std::string> text_again = csv_of(second.plan);
    ASSERT_TRUE(text_again);
    EXPECT_EQ(csv_of(plan_of(read(*text_again)).plan), text_again);
    if (HasFailure()) return;
  }
  EXPECT_GE(with_pieces, wanted / 10);
}

}  // namespace
}  // namespace stowage
