// Plans in TFLite files: what is written is there, everything else is where it was.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/tflm.h"
#include "temporary.h"
#include "tflite_generated.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::tflite_model;
using testing::TfliteMetadata;
using testing::TfliteSpec;

constexpr std::string_view entry_name = "OfflineMemoryAllocation";

/// A file in aligned memory, as others read it.
class Reading {
 public:
  explicit Reading(const std::string& bytes)
      : words_(bytes.size() / sizeof(std::uint64_t) + 1), size_(bytes.size()) {
    std::memcpy(words_.data(), bytes.data(), bytes.size());
  }

  [[nodiscard]] const std::uint8_t* data() const {
    return reinterpret_cast<const std::uint8_t*>(words_.data());
  }
  [[nodiscard]] const tflite::Model& model() const { return *tflite::GetModel(data()); }
  [[nodiscard]] bool is_valid() const {
    flatbuffers::Verifier verifier(data(), size_, 64, 10'000'000);
    return tflite::VerifyModelBuffer(verifier);
  }
  /// Counted from the end, where nothing moves; 0 for what is not there.
  [[nodiscard]] std::ptrdiff_t place(const void* part) const {
    return part == nullptr ? 0 : data() + size_ - static_cast<const std::uint8_t*>(part);
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_;
};

template <typename Elements>
std::size_t count(const Elements* elements) {
  return elements == nullptr ? 0 : elements->size();
}

template <typename Elements>
const auto& at(const Elements* elements, std::size_t i) {
  return *elements->Get(static_cast<flatbuffers::uoffset_t>(i));
}

bool is_plan(const tflite::Metadata& entry) {
  return entry.name() != nullptr && entry.name()->string_view() == entry_name;
}

std::size_t tensors_in(const std::string& file) {
  const Reading reading(file);
  std::size_t tensors = 0;
  for (std::size_t s = 0; s < count(reading.model().subgraphs()); ++s)
    tensors += count(at(reading.model().subgraphs(), s).tensors());
  return tensors;
}

/// Data of a buffer, wherever it is.
std::string data_of(const tflite::Buffer& buffer, const std::string& file) {
  if (count(buffer.data()) > 0)
    return {reinterpret_cast<const char*>(buffer.data()->data()), buffer.data()->size()};
  return buffer.offset() <= 1 ? "" : file.substr(buffer.offset(), buffer.size());
}

/// What is not the plan is the same, byte for byte and at the same distance from the end of the file: so that
/// everything that it refers to is the same, too. `changed` are the subgraphs whose operators moved.
void expect_same_but_for_plan(const std::string& before, const std::string& after,
                              const std::set<std::size_t>& changed = {}) {
  ASSERT_GE(after.size(), before.size());
  const std::size_t moved = after.size() - before.size();
  EXPECT_EQ(moved % 64, 0U);
  ASSERT_EQ(std::string_view(after).substr(moved), before);
  const Reading a(before);
  const Reading b(after);
  ASSERT_TRUE(b.is_valid());
  const tflite::Model& old = a.model();
  const tflite::Model& now = b.model();
  EXPECT_EQ(old.version(), now.version());
  EXPECT_EQ(a.place(old.operator_codes()), b.place(now.operator_codes()));
  EXPECT_EQ(a.place(old.description()), b.place(now.description()));
  EXPECT_EQ(a.place(old.metadata_buffer()), b.place(now.metadata_buffer()));
  EXPECT_EQ(a.place(old.signature_defs()), b.place(now.signature_defs()));
  ASSERT_EQ(count(old.subgraphs()), count(now.subgraphs()));
  for (std::size_t s = 0; s < count(old.subgraphs()); ++s) {
    const tflite::SubGraph& x = at(old.subgraphs(), s);
    const tflite::SubGraph& y = at(now.subgraphs(), s);
    EXPECT_EQ(a.place(&x) == b.place(&y), !changed.contains(s));
    EXPECT_EQ(a.place(x.tensors()), b.place(y.tensors()));
    EXPECT_EQ(a.place(x.inputs()), b.place(y.inputs()));
    EXPECT_EQ(a.place(x.outputs()), b.place(y.outputs()));
    EXPECT_EQ(a.place(x.name()), b.place(y.name()));
    EXPECT_EQ(x.debug_metadata_index(), y.debug_metadata_index());
    std::set<std::ptrdiff_t> operators;
    for (std::size_t o = 0; o < count(x.operators()); ++o) operators.insert(a.place(&at(x.operators(), o)));
    for (std::size_t o = 0; o < count(y.operators()); ++o) operators.erase(b.place(&at(y.operators(), o)));
    EXPECT_TRUE(operators.empty());
    EXPECT_EQ(count(x.operators()), count(y.operators()));
  }
  std::set<std::size_t> plans;
  std::vector<std::ptrdiff_t> entries;
  for (std::size_t i = 0; i < count(old.metadata()); ++i) {
    const tflite::Metadata& entry = at(old.metadata(), i);
    if (is_plan(entry)) plans.insert(entry.buffer());
    if (!is_plan(entry)) entries.push_back(a.place(&entry));
  }
  std::vector<std::ptrdiff_t> entries_now;
  for (std::size_t i = 0; i < count(now.metadata()); ++i) {
    const tflite::Metadata& entry = at(now.metadata(), i);
    if (is_plan(entry)) plans.insert(entry.buffer());
    if (!is_plan(entry)) entries_now.push_back(b.place(&entry));
  }
  EXPECT_EQ(entries, entries_now);
  for (std::size_t i = 0; i < count(old.buffers()); ++i) {
    if (i >= count(now.buffers())) {
      EXPECT_TRUE(plans.contains(i)) << i;
      continue;
    }
    const tflite::Buffer& x = at(old.buffers(), i);
    const tflite::Buffer& y = at(now.buffers(), i);
    if (x.offset() > 1) {
      EXPECT_EQ(a.place(x.data()), b.place(y.data()));
      EXPECT_EQ(x.offset() + moved, y.offset());
      EXPECT_EQ(x.size(), y.size());
    } else if (!plans.contains(i)) {
      EXPECT_EQ(a.place(&x), b.place(&y)) << i;
    }
  }
}

TfliteSpec small_model() {
  return {.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 8}},
                                     {.name = "w", .shape = {2, 8}, .data = std::string(64, 'w')},
                                     {.name = "y", .shape = {1, 2}},
                                     {.name = "z", .shape = {1, 2}},
                                     {.name = "s", .shape = {1, 2}}},
                         .operators = {{.type = "FULLY_CONNECTED", .inputs = {0, 1, -1}, .outputs = {2}},
                                       {.type = "RELU", .inputs = {2}, .outputs = {3}},
                                       {.type = "TANH", .inputs = {2}, .outputs = {4}}},
                         .inputs = {0},
                         .outputs = {3, 4},
                         .name = "main"}},
          .metadata = {{.name = "min_runtime_version", .data = "1.5.0"}},
          .description = "a small one"};
}

const OfflineOffsets small_offsets{32, std::nullopt, 0, 16, 64};

std::string plan_data(const std::vector<std::int32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::int32_t)};
}

TEST(TflitePlan, IsFoundWhereTheRuntimeLooks) {
  const std::string before = tflite_model(small_model());
  EXPECT_EQ(read_offline_offsets(before), std::nullopt);
  const std::string after = with_offline_plan(before, {.offsets = small_offsets});
  expect_same_but_for_plan(before, after);
  EXPECT_EQ(read_offline_offsets(after), small_offsets);
  const Reading reading(after);
  const tflite::Metadata& entry = at(reading.model().metadata(), 1);
  EXPECT_EQ(entry.name()->str(), entry_name);
  const auto* const data = at(reading.model().buffers(), entry.buffer()).data();
  EXPECT_EQ((data->data() - reading.data()) % 16, 0);
  const std::vector<std::int32_t> expected{1, 1, 5, 32, -1, 0, 16, 64};
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data->data()), data->size()), plan_data(expected));
}

TEST(TflitePlan, IsTakenOutAgain) {
  const std::string before = tflite_model(small_model());
  const std::string stripped = without_offline_plan(with_offline_plan(before, {.offsets = small_offsets}));
  EXPECT_EQ(read_offline_offsets(stripped), std::nullopt);
  expect_same_but_for_plan(before, stripped);
  EXPECT_EQ(count(Reading(stripped).model().buffers()), count(Reading(before).model().buffers()));
}

TEST(TflitePlan, LeavesNothingOfAnOlderOneReferredTo) {
  TfliteSpec spec = small_model();
  spec.metadata.insert(spec.metadata.begin(),
                       {.name = std::string(entry_name), .data = plan_data({1, 1, 5, 0, -1, 160, 320, 480})});
  const std::string before = tflite_model(spec);
  EXPECT_EQ(read_offline_offsets(before), (OfflineOffsets{0, std::nullopt, 160, 320, 480}));
  const std::string after = with_offline_plan(before, {.offsets = small_offsets});
  expect_same_but_for_plan(before, after);
  EXPECT_EQ(read_offline_offsets(after), small_offsets);
  const Reading reading(after);
  EXPECT_EQ(count(reading.model().metadata()), 2U);
  EXPECT_EQ(count(reading.model().buffers()),
            count(Reading(before).model().buffers()));  // it takes its place
  for (std::size_t b = 0; b < count(reading.model().buffers()); ++b)
    EXPECT_NE(data_of(at(reading.model().buffers(), b), after), spec.metadata[0].data);
}

TEST(TflitePlan, KeepsABufferThatOthersUseToo) {
  TfliteSpec spec = small_model();
  spec.metadata = {{.name = std::string(entry_name), .buffer = 1}};  // that of the weights
  const std::string before = tflite_model(spec);
  for (const std::string& after :
       {with_offline_plan(before, {.offsets = small_offsets}), without_offline_plan(before)}) {
    const Reading reading(after);
    EXPECT_EQ(data_of(at(reading.model().buffers(), 1), after), std::string(64, 'w'));
  }
}

TEST(TflitePlan, MovesDataBehindTheFlatbuffer) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[1].is_outside = true;
  const std::string before = tflite_model(spec);
  const std::string after = with_offline_plan(before, {.offsets = small_offsets});
  expect_same_but_for_plan(before, after);
  EXPECT_EQ(data_of(at(Reading(after).model().buffers(), 1), after), std::string(64, 'w'));
  const std::string again = with_offline_plan(after, {.offsets = small_offsets});
  EXPECT_EQ(data_of(at(Reading(again).model().buffers(), 1), again), std::string(64, 'w'));
}

TEST(TflitePlan, OrdersOperators) {
  const std::string before = tflite_model(small_model());
  const std::string after = with_offline_plan(before, {.offsets = small_offsets, .orders = {{0, 2, 1}}});
  expect_same_but_for_plan(before, after, {0});
  const Reading a(before);
  const Reading b(after);
  const auto& x = at(a.model().subgraphs(), 0);
  const auto& y = at(b.model().subgraphs(), 0);
  EXPECT_EQ(a.place(&at(x.operators(), 2)), b.place(&at(y.operators(), 1)));
  EXPECT_EQ(a.place(&at(x.operators(), 1)), b.place(&at(y.operators(), 2)));
  for (const std::vector<std::size_t>& wrong :
       {std::vector<std::size_t>{1, 0}, {2, 1, 1}, {0, 3, 2}, {2, 1, 0, 3}, {5, 4}}) {
    EXPECT_THROW((void)with_offline_plan(before, {.offsets = small_offsets, .orders = {wrong}}), UsageError);
  }
  EXPECT_THROW((void)with_offline_plan(before, {.offsets = small_offsets, .orders = {{}, {}}}), UsageError);
}

TEST(TflitePlan, NeverBecomesTheDataOfTensorsWithout) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[1].data = "";
  spec.metadata = {};
  spec.has_buffers = false;
  const std::string after = with_offline_plan(tflite_model(spec), {.offsets = small_offsets});
  const Reading reading(after);
  ASSERT_EQ(count(reading.model().buffers()), 2U);
  EXPECT_EQ(count(at(reading.model().buffers(), 0).data()), 0U);
  EXPECT_EQ(read_offline_offsets(after), small_offsets);
}

TEST(TflitePlan, CountsTensorsOfAllSubgraphs) {
  TfliteSpec spec = small_model();
  spec.subgraphs.push_back(spec.subgraphs[0]);
  OfflineOffsets offsets = small_offsets;
  offsets.insert(offsets.end(), {160, std::nullopt, 320, std::nullopt, 0});
  const std::string before = tflite_model(spec);
  const std::string after = with_offline_plan(before, {.offsets = offsets, .orders = {{}, {0, 2, 1}}});
  expect_same_but_for_plan(before, after, {1});
  EXPECT_EQ(read_offline_offsets(after), offsets);
  EXPECT_THROW((void)with_offline_plan(before, {.offsets = small_offsets}), UsageError);
}

TEST(TflitePlan, IsRefusedWhereItMakesNoSense) {
  const auto read_with = [](const std::string& data) {
    TfliteSpec spec = small_model();
    spec.metadata = {{.name = std::string(entry_name), .data = data}};
    return read_offline_offsets(tflite_model(spec));
  };
  EXPECT_THROW((void)read_with(""), Error);
  EXPECT_THROW((void)read_with(plan_data({1, 1})), Error);
  EXPECT_THROW((void)read_with(plan_data({1, 1, 5, 0, 0, 0, 0})), Error);
  EXPECT_THROW((void)read_with(plan_data({1, 1, 4, 0, 0, 0, 0})), Error);
  EXPECT_THROW((void)read_with(plan_data({1, 1, -5, 0, 0, 0, 0, 0})), Error);
  EXPECT_THROW((void)read_with(plan_data({1, 1, 5, 0, -2, 0, 0, 0})), Error);
  EXPECT_NO_THROW((void)read_with(plan_data({1, 1, 5, 0, -1, 0, 0, 0, 99})));
  const std::string model = tflite_model(small_model());
  for (const Bytes wrong : {Bytes{-16}, Bytes{1} << 31})
    EXPECT_THROW((void)with_offline_plan(model, {.offsets = {wrong, 0, 0, 0, 0}}), UsageError);
  EXPECT_THROW((void)with_offline_plan("no model", {}), Error);
  EXPECT_THROW((void)without_offline_plan(""), Error);
  TfliteSpec spec = small_model();
  spec.metadata = {{.name = "other", .buffer = 99}};  // would get the plan
  EXPECT_THROW((void)with_offline_plan(tflite_model(spec), {.offsets = small_offsets}), Error);
}

/// Subgraphs that a file lists again and again could keep it busy for ever.
TEST(TflitePlan, IsNotWrittenToFilesThatRepeatThemselves) {
  TfliteSpec spec = small_model();
  spec.repeats = 1000;
  EXPECT_THROW((void)without_offline_plan(tflite_model(spec)), Error);
}

TEST(TflitePlan, IsNotWrittenToFilesThatWouldBeTooLarge) {
  const testing::TemporaryDirectory directory;
  directory.write("large.tflite", tflite_model(small_model()));
  std::filesystem::resize_file(directory / "large.tflite",
                               std::uintmax_t{3} << 30);  // zeros that take no room
  const base::InputFile file(directory / "large.tflite");
  EXPECT_THROW((void)with_offline_plan(file.bytes(), {.offsets = small_offsets}), Error);
}

/// Flips bytes of a file that has everything. What is taken is written and taken out again without a loss.
TEST(TflitePlan, SurvivesMutatedFiles) {
  TfliteSpec spec = small_model();
  spec.subgraphs.push_back(spec.subgraphs[0]);
  spec.subgraphs[1].tensors[1].is_outside = true;
  spec.metadata.push_back(
      {.name = std::string(entry_name), .data = plan_data({1, 2, 10, 0, -1, 32, 48, 64, 0, -1, 32, 48, 64})});
  const std::string original = tflite_model(spec);
  std::mt19937 random(7);
  int accepted = 0;
  int mutant = 0;
  for (; accepted < 1000 && mutant < 10'000; ++mutant) {
    std::string file = original;
    for (std::size_t flips = random() % 3 + 1; flips > 0; --flips)
      file[random() % file.size()] = static_cast<char>(random() % 4 == 0 ? random() : random() % 16);
    try {
      (void)without_offline_plan(file);
    } catch (const Error&) {
      continue;
    }
    ++accepted;
    OfflineOffsets offsets(tensors_in(file));
    for (auto& offset : offsets) {
      if (random() % 2 == 0) offset = static_cast<Bytes>(random() % 64) * 16;
    }
    const std::string written = with_offline_plan(file, {.offsets = offsets});
    expect_same_but_for_plan(file, written);
    EXPECT_EQ(read_offline_offsets(written), offsets);
    const std::string stripped = without_offline_plan(written);
    EXPECT_EQ(read_offline_offsets(stripped), std::nullopt);
    expect_same_but_for_plan(file, stripped);
    if (::testing::Test::HasFailure()) FAIL() << "mutant " << mutant;
  }
  EXPECT_EQ(accepted, 1000) << "of " << mutant;
}

TEST(TflitePlanData, LosesNothingOfRealModels) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no models in " << folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    const std::string before(base::InputFile(entry.path()).bytes());
    OfflineOffsets offsets(tensors_in(before));
    for (std::size_t t = 0; t < offsets.size(); t += 2) offsets[t] = static_cast<Bytes>(t) * 16;
    const std::string after = with_offline_plan(before, {.offsets = offsets});
    expect_same_but_for_plan(before, after);
    EXPECT_EQ(read_offline_offsets(after), offsets);
    const std::string stripped = without_offline_plan(after);
    expect_same_but_for_plan(before, stripped);
    EXPECT_EQ(read_offline_offsets(stripped), std::nullopt);
  }
}

}  // namespace
}  // namespace stowage
