// What is at every byte of a memory: its names.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "run/contents.h"

namespace stowage::run {
namespace {

TEST(RunContents, BytesInPlaceHaveSeveralNames) {
  const std::array<std::byte, 16> memory{};
  const std::byte* const at = memory.data();
  Contents contents;
  contents.put(at, 16, {.value = 1, .step = 1});
  contents.add(at + 4, 8, {.value = 2, .step = 2});
  EXPECT_FALSE(contents.first_other(at, 16, 1, 0));
  EXPECT_FALSE(contents.first_other(at + 4, 8, 2, 0));
  EXPECT_FALSE(contents.first_other(at + 6, 4, 2, 2));
  const auto other = contents.first_other(at + 2, 8, 2, 0);
  ASSERT_TRUE(other && other->name);
  EXPECT_EQ(other->at, at + 2);
  EXPECT_EQ(other->name->value, 1);
  EXPECT_EQ(other->name->offset, 2);
  contents.put(at + 5, 1, {.value = 3, .step = 3});
  for (const std::size_t value : {1U, 2U}) {
    const auto lost = contents.first_other(at + 4, 8, value, value == 1 ? 4 : 0);
    ASSERT_TRUE(lost && lost->name);
    EXPECT_EQ(lost->at, at + 5);
    EXPECT_EQ(lost->name->value, 3);
    EXPECT_EQ(lost->name->step, 3);
  }
  contents.remove(at, 16);
  EXPECT_FALSE(contents.first_other(at, 16, 1, 0)->name);
}

/// Against a list of names for every byte.
TEST(RunContents, AreThoseOfANaiveList) {
  constexpr std::size_t size = 24;
  const std::array<std::byte, size> memory{};
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Contents contents;
    std::array<std::map<std::size_t, std::pair<Bytes, std::size_t>>, size> naive;
    for (std::size_t step = 0; step < 20; ++step) {
      const std::size_t begin = random() % size;
      const auto length = static_cast<Bytes>(random() % (size - begin + 1));
      const Contents::Name name{random() % 4, static_cast<Bytes>(random() % 5), step};
      const std::size_t what = random() % 3;
      if (what == 0) contents.put(memory.data() + begin, length, name);
      if (what == 1) contents.add(memory.data() + begin, length, name);
      if (what == 2) contents.remove(memory.data() + begin, length);
      for (Bytes i = 0; i < length; ++i) {
        auto& names = naive.at(begin + static_cast<std::size_t>(i));
        if (what != 1) names.clear();
        if (what != 2) names[name.value] = {name.offset + i, step};
      }
      const std::size_t first = random() % size;
      const std::size_t value = random() % 4;
      const auto offset = static_cast<Bytes>(random() % 6);
      std::size_t last = first;
      for (Bytes expected = offset; last < size; ++last, ++expected) {
        const auto found = naive.at(last).find(value);
        if (found == naive.at(last).end() || found->second.first != expected) break;
      }
      const auto other =
          contents.first_other(memory.data() + first, static_cast<Bytes>(size - first), value, offset);
      ASSERT_EQ(other.has_value(), last < size);
      if (!other) continue;
      ASSERT_EQ(other->at, memory.data() + last);
      ASSERT_EQ(other->name.has_value(), !naive.at(last).empty());
      if (!other->name) continue;
      const auto named = naive.at(last).find(other->name->value);
      ASSERT_NE(named, naive.at(last).end());
      ASSERT_EQ(named->second, std::pair(other->name->offset, other->name->step));
    }
  }
}

}  // namespace
}  // namespace stowage::run
