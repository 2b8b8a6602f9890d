// Rows that are computed again: every order of what is made of them is one that a plan may have.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "stream/bound.h"
#include "stream/recompute.h"
#include "stream/recompute_search.h"
#include "stream/regions.h"
#include "stream/replay.h"
#include "stream/search.h"
#include "stream/tiles.h"
#include "stream/timetable.h"
#include "stream_cases.h"

namespace stowage::stream {
namespace {

using testing::random_model;
using testing::random_order;

/// As if it were made from a network, of which some operators add up rows.
RowModel sourced(RowModel model, std::mt19937_64& random) {
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    model.tensors[t].source = t;
    model.tensors[t].axis = 0;
  }
  for (std::size_t op = 0; op < model.operators.size(); ++op) {
    Operator& it = model.operators[op];
    if (!it.reads.empty()) it.source = op;
    it.multiplies = it.rows * 100;
    it.can_add_rows = it.reads.size() == 1 && it.writing == Writing::row_by_row && random() % 2 == 0;
  }
  return model;
}

std::int64_t between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// Appends an operator over `from` and its output; returns the output.
std::size_t append(RowModel& model, std::size_t from, const RowMap& rows, std::int64_t count, Bytes bytes,
                   std::int64_t multiplies) {
  const std::size_t to = model.tensors.size();
  model.tensors.push_back({.rows = count, .bytes_per_row = bytes, .axis = 0, .source = to});
  model.operators.push_back({.rows = count,
                             .reads = {{.tensor = from, .rows = rows}},
                             .writes = {to},
                             .multiplies = multiplies,
                             .source = model.operators.size()});
  return to;
}

/// Blocks of an expansion, an activation and a PAD in place, windows, and a projection, some with a skip that
/// is written over, as in networks of int8.
RowModel padded_blocks(std::mt19937_64& random, int blocks) {
  RowModel model;
  std::int64_t rows = between(random, 4, 9);
  model.tensors = {{.rows = rows, .bytes_per_row = between(random, 1, 3), .axis = 0, .source = 0}};
  model.operators = {{.rows = rows, .writes = {0}}};  // it arrives
  std::size_t last = 0;
  for (int b = 0; b < blocks; ++b) {
    const std::size_t from = last;
    const Bytes narrow = model.tensors[from].bytes_per_row;
    const Bytes wide = narrow * between(random, 2, 6);
    const std::int64_t pad = between(random, 0, 2);
    last = append(model, from, {}, rows, wide, rows * between(random, 1, 9));
    if (random() % 2 == 0) {
      last = append(model, last, {}, rows, wide, 0);
      model.tensors[last].takes_over = TakenOver{last - 1};
    }
    if (pad > 0) {
      last = append(model, last, {.offset = -pad}, rows + 2 * pad, wide + 1, 0);
      if (random() % 4 != 0) model.tensors[last].takes_over = TakenOver{last - 1, pad, 1};
    }
    const std::int64_t taps = between(random, 2, 3);
    const std::int64_t stride = between(random, 1, 2);
    const std::int64_t windows = std::max<std::int64_t>(1, (rows + 2 * pad - taps) / stride + 1);
    last =
        append(model, last, {.scale = stride, .taps = taps}, windows, wide, windows * between(random, 1, 3));
    model.operators.back().can_add_rows = random() % 4 == 0;
    last = append(model, last, {}, windows, narrow, windows * between(random, 1, 9));
    if (windows == rows && random() % 2 == 0) {
      last = append(model, last, {}, rows, narrow, 0);
      model.operators.back().reads.push_back({.tensor = from});
      model.tensors[last].takes_over = TakenOver{from == 0 ? last - 1 : from};
    }
    rows = windows;
  }
  model.tensors[last].leaves = true;
  return model;
}

/// Some chains computed again, one after the other.
RowModel computed_again(RowModel model, std::mt19937_64& random) {
  while (random() % 4 != 0) {
    const auto all = recomputables(model);
    if (all.empty()) break;
    Recomputable chain = all[random() % all.size()];
    chain.together = between(random, 1, 4);
    if (const auto it = recomputable(model, chain)) model = recompute(model, *it);
  }
  return model;
}

/// Rows that run for the first time ascend without gaps, and all are run.
void expect_first_rows_ascend(const RowModel& model, const RowTimetable& table, int i) {
  std::map<std::size_t, std::int64_t> done;
  std::map<std::size_t, std::int64_t> rows;
  for (const Tensor& tensor : model.tensors) {
    rows[*tensor.source] =
        tensor.again.empty() ? tensor.rows : *std::max_element(tensor.again.begin(), tensor.again.end()) + 1;
  }
  for (const Step& step : table.steps) {
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr || !run->rows) continue;
    const Operator& op = model.operators[run->path[1]];
    if (op.writing != Writing::row_by_row) continue;
    std::int64_t& own = done[run->path[1]];
    EXPECT_LE(run->rows->begin, own) << i << ": " << run->path[1];
    own = std::max(own, run->rows->end);
  }
  for (std::size_t op = 0; op < model.operators.size(); ++op) {
    if (model.operators[op].source && model.operators[op].writing == Writing::row_by_row) {
      EXPECT_EQ(done[op], rows[model.operators[op].writes[0]]) << i << ": " << op;
    }
  }
}

/// No row is in two places at once.
void expect_one_place(const RowModel& model, const RowTimetable& table, int i) {
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    std::map<std::int64_t, std::vector<Lifetime>> lives;
    const auto granule = static_cast<std::size_t>(model.tensors[t].granule);
    for (std::size_t g = 0; g * granule < model.tensors[t].again.size(); ++g)
      lives[model.tensors[t].again[g * granule]].push_back(table.lives[t][g]);
    for (auto& [row, of_row] : lives) {
      std::sort(of_row.begin(), of_row.end(), [](auto& a, auto& b) { return a.lower < b.lower; });
      for (std::size_t k = 1; k < of_row.size(); ++k)
        EXPECT_LE(of_row[k - 1].upper, of_row[k].lower) << i << ": row " << row << " of " << t;
    }
  }
}

TEST(StreamRecompute, EveryOrderKeepsTheRules) {
  std::mt19937_64 random(1);
  int again = 0;
  int adding = 0;
  for (int i = 0; i < 900; ++i) {
    const RowModel once =
        i % 3 == 2
            ? padded_blocks(random, static_cast<int>(between(random, 1, 3)))
            : sourced(random_model(random, {.operators = 5, .rows = 9, .is_chain = i % 2 == 0}), random);
    const RowModel model = computed_again(once, random);
    if (model == once) continue;
    ++again;
    adding += std::any_of(model.operators.begin(), model.operators.end(),
                          [](const Operator& op) { return op.adds_rows; });
    const RowProgram program = unroll(model);
    const RegionOrder regions = order_by_regions(program, i % 3 == 0 ? 0 : 100'000);
    const auto improved = improve(program, regions.steps, {.work = 2'000});
    for (const auto& order : {random_order(program, random), regions.steps, improved}) {
      ASSERT_FALSE(replay(program, order).fault) << i << ": " << *replay(program, order).fault;
      const RowTimetable table = timetable_of(model, program, order);
      expect_first_rows_ascend(model, table, i);
      expect_one_place(model, table, i);
    }
    EXPECT_EQ(replay(program, regions.steps).peak, regions.peak) << i;
    EXPECT_LE(lower_bound(program, improved, {.most_cuts = 50}).bytes, replay(program, improved).peak) << i;
    EXPECT_GE(multiplies_of(model), multiplies_of(once)) << i;
  }
  EXPECT_GT(again, 200);
  EXPECT_GT(adding, 50);
}

/// An operator of six rows, and windows over them.
RowModel windows_over_six_rows(std::int64_t rows, const RowMap& windows) {
  RowModel model;
  model.tensors = {{.name = "x", .rows = 6, .bytes_per_row = 1, .source = 0},
                   {.name = "y", .rows = 6, .bytes_per_row = 9, .source = 1},
                   {.name = "z", .rows = rows, .bytes_per_row = 1, .stays = true, .source = 2}};
  model.operators = {
      {.name = "a", .rows = 6, .reads = {{.tensor = 0}}, .writes = {1}, .multiplies = 600, .source = 0},
      {.name = "b", .rows = rows, .reads = {{.tensor = 1, .rows = windows}}, .writes = {2}, .source = 1}};
  return model;
}

/// All choices of chains and of iterations together, from the last chain to the first.
void for_each_choice(const RowModel& model, std::size_t below,
                     const std::function<void(const RowModel&)>& visit) {
  visit(model);
  for (const Recomputable& chain : recomputables(model)) {
    const std::size_t last = chain.operators.back();
    if (last >= below) continue;
    Recomputable form = chain;
    for (const std::int64_t together : {1, 2, 4, 8}) {
      form.together = together;
      if (together >= model.operators[chain.reader].instances() && together > 1) break;
      if (const auto it = recomputable(model, form)) for_each_choice(recompute(model, *it), last, visit);
    }
  }
}

TEST(StreamRecompute, FindsAlmostTheBestOfAllChoices) {
  std::mt19937_64 random(5);
  const TrialEffort effort{.work = 100'000};
  int lower = 0;
  int equal = 0;
  int cases = 0;
  for (int i = 0; i < 150; ++i) {
    const RowModel once = padded_blocks(random, static_cast<int>(between(random, 1, 2)));
    const double factor = static_cast<double>(between(random, 102, 190)) / 100;
    const auto most = static_cast<std::int64_t>(factor * static_cast<double>(multiplies_of(once)));
    Bytes least = least_peak_of(once, effort);
    const Bytes before = least;
    for_each_choice(once, once.operators.size(), [&](const RowModel& model) {
      if (multiplies_of(model) <= most) least = std::min(least, least_peak_of(model, effort));
    });
    const RowModel found = recompute_within(once, factor, effort);
    const Bytes peak = least_peak_of(found, effort);
    ASSERT_LE(multiplies_of(found), most) << i;
    ASSERT_GE(peak, least) << i;
    ASSERT_LE(peak, before) << i;
    ++cases;
    lower += least < before;
    equal += peak == least;
  }
  EXPECT_GT(lower, cases / 4);
  EXPECT_GE(equal, cases * 97 / 100);
}

TEST(StreamRecompute, PadsLieOverTheRowsBelowWhereTheyFollowEachOther) {
  RowModel model;
  model.tensors = {{.rows = 4, .bytes_per_row = 1, .axis = 0, .source = 0}};
  model.operators = {{.rows = 4, .writes = {0}}};
  const std::size_t wide = append(model, 0, {}, 4, 8, 40);
  const std::size_t pad = append(model, wide, {.offset = -1}, 6, 10, 0);
  model.tensors[pad].takes_over = TakenOver{wide, 1, 1};
  const std::size_t windows = append(model, pad, {.taps = 3}, 4, 8, 4);
  model.tensors[windows].leaves = true;
  ASSERT_EQ(recomputables(model).size(), 1U);
  RowModel again = recompute(model, recomputables(model)[0]);
  EXPECT_EQ(again.tensors[wide].again, (std::vector<std::int64_t>{0, 1, 0, 1, 2, 1, 2, 3, 2, 3}));
  EXPECT_EQ(again.tensors[pad].again, (std::vector<std::int64_t>{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5}));
  EXPECT_EQ(again.tensors[pad].takes_over, (TakenOver{wide, 1, 1}));
  EXPECT_EQ(multiplies_of(again), 104);
  Recomputable pairs = recomputables(model)[0];
  pairs.together = 2;
  again = recompute(model, *recomputable(model, pairs));
  EXPECT_EQ(again.tensors[wide].again, (std::vector<std::int64_t>{0, 1, 2, 1, 2, 3}));
  EXPECT_EQ(again.operators[3].together, 2);
  model.operators[2].reads[0].rows.offset = -2;  // row 1 of the PAD, too, is read twice
  model.tensors[pad].rows = model.operators[2].rows = 7;
  model.tensors[pad].takes_over->shift = 2;
  model.tensors[windows].rows = model.operators[3].rows = 5;
  again = recompute(model, recomputables(model)[0]);
  EXPECT_FALSE(again.tensors[pad].takes_over);
}

using Rows = std::vector<std::int64_t>;

TEST(StreamRecompute, ComputesRowsInHolesOnce) {
  RowModel model = windows_over_six_rows(4, {.taps = 2, .dilation = 2});
  ASSERT_EQ(recomputables(model).size(), 1U);
  RowModel again = recompute(model, recomputables(model)[0]);
  EXPECT_EQ(again.tensors[1].again, (Rows{0, 1, 2, 1, 3, 2, 4, 3, 5}));  // the first 1 is for nobody
  EXPECT_EQ(again.operators[1].reads[0].listed, (std::vector<Rows>{{0, 2}, {3, 4}, {5, 6}, {7, 8}}));
  EXPECT_EQ(multiplies_of(again), 900);
  EXPECT_EQ(recomputables(model)[0].multiplies, 300);
  model.operators[1].can_add_rows = true;
  again = recompute(model, recomputables(model)[0]);
  EXPECT_EQ(again.operators[1].rows, 8);
  EXPECT_EQ(again.operators[1].rounds, (std::vector<std::size_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(again.operators[1].reads[0].listed[2], Rows{3});
}

TEST(StreamRecompute, ComputesRowsThatNobodyReadsOnce) {
  const RowModel model = windows_over_six_rows(2, {.scale = 2, .taps = 3});
  ASSERT_EQ(recomputables(model).size(), 1U);
  const RowModel again = recompute(model, recomputables(model)[0]);
  EXPECT_EQ(again.tensors[1].again, (Rows{0, 1, 2, 2, 3, 4, 5}));
  EXPECT_EQ(again.operators[1].reads[0].listed, (std::vector<Rows>{{0, 1, 2}, {3, 4, 5}}));
}

/// Heads that each read all rows of their keys for every row, keys made of a norm of x, and the sum of all heads.
RowModel heads(std::mt19937_64& random, std::int64_t granule) {
  const std::int64_t rows = granule * between(random, 2, 6);
  RowModel model;
  model.tensors = {{.rows = rows, .bytes_per_row = between(random, 2, 9), .axis = 0, .source = 0}};
  model.operators = {{.rows = rows, .writes = {0}}};
  std::vector<Access> mixed;
  for (std::int64_t head = between(random, 2, 4); head > 0; --head) {
    const std::size_t mean = append(model, 0, {}, rows, 1, 0);
    const std::size_t norm = append(model, 0, {}, rows, model.tensors[0].bytes_per_row, 0);
    model.operators.back().reads.push_back({.tensor = mean});
    const std::size_t keys = append(model, norm, {}, rows, between(random, 1, 3), rows * 10);
    model.tensors[keys].is_whole = true;
    const std::size_t scores = append(model, 0, {}, rows, rows, rows * 10);
    model.operators.back().reads.push_back({.tensor = keys, .rows = {.scale = 0, .taps = rows}});
    mixed.push_back({.tensor = append(model, scores, {}, rows, between(random, 1, 3), 0)});
  }
  const std::size_t sum = append(model, mixed[0].tensor, {}, rows, 1, 0);
  model.operators.back().reads = mixed;
  model.tensors[sum].leaves = true;
  for (Tensor& tensor : model.tensors) tensor.granule = granule;
  for (Operator& op : model.operators) op.granule = granule;
  return model;
}

TEST(StreamTiles, EveryOrderKeepsTheRules) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 150; ++i) {
    const RowModel once = heads(random, between(random, 1, 3));
    const std::int64_t tiles = between(random, 2, 4);
    const RowModel model = in_tiles(once, tiles);
    const std::int64_t granules = once.operators[0].instances();
    const std::int64_t in_tile = (granules + tiles - 1) / tiles;
    EXPECT_EQ(model.tensors[3].copies, (granules + in_tile - 1) / in_tile) << i;
    EXPECT_EQ(model.operators[1].multiplies, once.operators[1].multiplies);
    EXPECT_EQ(model.operators[3].multiplies, once.operators[3].multiplies * model.tensors[3].copies) << i;
    EXPECT_EQ(std::max(model.operators[4].together, model.operators[5].together), in_tile) << i;
    const RowProgram program = unroll(model);
    const RegionOrder regions = order_by_regions(program, 100'000);
    for (const auto& order : {random_order(program, random), regions.steps}) {
      ASSERT_FALSE(replay(program, order).fault) << i << ": " << *replay(program, order).fault;
      const RowTimetable table = timetable_of(model, program, order);
      expect_first_rows_ascend(model, table, i);
      expect_one_place(model, table, i);
    }
  }
}

TEST(StreamTiles, LowerThePeakWithinTheFactor) {
  std::mt19937_64 random(12);
  const TrialEffort effort{.work = 100'000};
  int lower = 0;
  for (int i = 0; i < 60; ++i) {
    const RowModel once = heads(random, 1);
    const double factor = static_cast<double>(between(random, 100, 300)) / 100;
    const RowModel found = tiles_within(once, factor, effort);
    const auto most = static_cast<std::int64_t>(factor * static_cast<double>(multiplies_of(once)));
    ASSERT_LE(multiplies_of(found), most) << i;
    Bytes least = least_peak_of(once, effort);
    const Bytes before = least;
    for (std::int64_t tiles = 2; tiles <= 8; ++tiles) {
      const RowModel tiled = in_tiles(once, tiles);
      if (multiplies_of(tiled) <= most) least = std::min(least, least_peak_of(tiled, effort));
    }
    EXPECT_EQ(least_peak_of(found, effort), least) << i;
    lower += least < before ? 1 : 0;
  }
  EXPECT_GT(lower, 20);
}

/// Two readers of wholes, one behind the other: copies of copies are not made, so every read is of a row that is there.
TEST(StreamTiles, ReadersOfCopiesAreComputedOnce) {
  RowModel model;
  model.tensors = {{.rows = 4, .bytes_per_row = 8, .axis = 0, .source = 0}};
  model.operators = {{.rows = 4, .writes = {0}}};
  const std::size_t first = append(model, 0, {}, 4, 8, 0);
  const std::size_t keys = append(model, first, {}, 4, 8, 40);
  model.tensors[keys].is_whole = true;
  const std::size_t scores = append(model, keys, {.scale = 0, .taps = 4}, 4, 8, 40);
  model.tensors[scores].is_whole = true;
  const std::size_t last = append(model, scores, {.scale = 0, .taps = 4}, 4, 8, 40);
  model.tensors[last].leaves = true;
  const RowModel tiled = in_tiles(model, 2);
  EXPECT_NE(tiled, model);
  for (const Operator& op : tiled.operators) {
    for (const Access& access : op.reads) EXPECT_FALSE(access.tile && !op.again.empty());
  }
  static_cast<void>(unroll(tiled));
}

/// Readers of a whole wait for rounds of the narrowest rows in front of it. A round never ends in the next copy, which
/// waits for these readers in turn: then no order would exist.
TEST(StreamTiles, RoundsEndWithCopies) {
  int copied = 0;
  for (const std::int64_t rows : {2, 3, 4, 5, 6, 7, 9}) {
    for (const std::int64_t tiles : {2, 3, 4}) {
      RowModel model;
      model.tensors = {{.rows = rows, .bytes_per_row = 8, .axis = 0, .source = 0}};
      model.operators = {{.rows = rows, .writes = {0}}};
      const std::size_t keys = append(model, 0, {}, rows, 8, 40);
      const std::size_t scores = append(model, keys, {.scale = 0, .taps = rows}, rows, 8, 40);
      const std::size_t narrow = append(model, scores, {}, rows, 4, 40);
      const std::size_t last = append(model, narrow, {.scale = 0, .taps = rows}, rows, 8, 40);
      model.tensors[last].leaves = true;
      const RowModel tiled = in_tiles(model, tiles);
      copied += tiled.tensors[narrow].copies > 1 ? 1 : 0;
      const RowProgram program = unroll(tiled);
      std::mt19937_64 random(1);
      const std::vector<IterationId> order = random_order(program, random);
      ASSERT_EQ(order.size(), program.instances.size()) << rows << " rows, " << tiles << " tiles";
      EXPECT_FALSE(replay(program, order).fault);
    }
  }
  EXPECT_GT(copied, 0);
}

TEST(StreamTiles, WhatServesOthersIsComputedOnce) {
  std::mt19937_64 random(13);
  RowModel model = heads(random, 1);
  EXPECT_NE(in_tiles(model, 2), model);
  EXPECT_EQ(in_tiles(model, 1), model);
  model.operators.back().reads.push_back({.tensor = 2});  // the norm of the first head is read elsewhere, too
  RowModel tiled = in_tiles(model, 2);
  EXPECT_EQ(tiled.tensors[2].copies, 1);
  EXPECT_EQ(tiled.tensors[3].copies, 2);
  model.operators.back().reads.push_back({.tensor = 3, .rows = {.scale = 0, .taps = model.tensors[3].rows}});
  tiled = in_tiles(model, 2);
  EXPECT_EQ(tiled.tensors[3].copies, 1);  // and its keys
  EXPECT_EQ(tiled.tensors[8].copies, 2);  // not those of the second
}

TEST(StreamRecompute, NothingToRunNeedsWhatIsThere) {
  RowModel model;
  const RowProgram none = unroll(model);
  EXPECT_EQ(order_by_regions(none, 100).peak, 0);
  EXPECT_TRUE(order_by_regions(none, 100).steps.empty());
  model.tensors = {{.name = "x", .rows = 4, .bytes_per_row = 10, .stays = true}};
  const RowProgram program = unroll(model);
  EXPECT_EQ(order_by_regions(program, 100).peak, 40);
  EXPECT_EQ(replay(program, {}).peak, 40);
  EXPECT_EQ(lower_bound(program, {}, {.most_cuts = 10}).bytes, 40);
  EXPECT_EQ(improve(program, {}, {.target = 40}).size(), 0U);
}

}  // namespace
}  // namespace stowage::stream
