#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/nearest.h"
#include "base/unique_names.h"

namespace stowage::base {
namespace {

TEST(Text, IntegersAreWholeAndOf64Bits) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* const text : {"", "-", "1.5", "12 ", " 12", "0x10", "1e3", "+1", "9223372036854775808"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
}

TEST(Text, NamesAreUniqueWhoeverAsksFirst) {
  UniqueNames names;
  names.reserve("b");
  names.reserve("b");
  EXPECT_EQ(names.unique("a"), "a");
  EXPECT_EQ(names.unique("a#3"), "a#3");
  EXPECT_EQ(names.unique("a"), "a#2");
  EXPECT_EQ(names.unique("a"), "a#4");
  EXPECT_EQ(names.unique("a#2"), "a#2#2");
  EXPECT_EQ(names.unique("b"), "b#2");
}

TEST(Text, SizesTakeDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size("1KB"), 1000);
  EXPECT_EQ(parse_size("1KiB"), 1024);
  EXPECT_EQ(parse_size("3MB"), 3'000'000);
  EXPECT_EQ(parse_size("3MiB"), 3 << 20);
  EXPECT_EQ(parse_size("2GB"), 2'000'000'000);
  EXPECT_EQ(parse_size("2GiB"), std::int64_t{2} << 30);
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("1kB"), 1000);
  EXPECT_EQ(parse_size("1K"), 1024);
  EXPECT_EQ(parse_size("2M"), 2 << 20);
  EXPECT_EQ(parse_size("1Ki"), 1024);
  EXPECT_EQ(parse_size("64 KiB"), 65536);
  EXPECT_EQ(parse_size("1kib"), 1024);
  EXPECT_EQ(parse_size("12B"), 12);
  EXPECT_EQ(parse_size("1.5MiB"), 3 << 19);
  EXPECT_EQ(parse_size("0.001KiB"), 1) << "a part of a byte is left out";
  EXPECT_EQ(parse_size("1.999999999GiB"), 2147483646);
  for (const char* const text : {"", "KiB", "-1", "1.5", "1.KiB", ".5KiB", "1.-5KiB", "1.5.5KiB", "1e3",
                                 "1 K iB", "1TB", "1KBB", "12b", "1.1234567890GiB", "9007199254740992KiB"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(Nearest, CountsLettersToChange) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("plan", "plan"), 0U);
  EXPECT_EQ(edit_distance("plna", "plan"), 1U) << "swapped";
  EXPECT_EQ(edit_distance("pan", "plan"), 1U);
  EXPECT_EQ(edit_distance("plann", "plan"), 1U);
  EXPECT_EQ(edit_distance("plam", "plan"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> words{"plan", "pack", "compare", "Batch"};
  EXPECT_EQ(nearest("plam", words), "plan");
  EXPECT_EQ(nearest("comapre", words), "compare");
  EXPECT_EQ(nearest("batch", words), "Batch");
  EXPECT_EQ(nearest("verify", words), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'x'), words), std::nullopt);
  EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), std::nullopt) << "one letter is another word";
  EXPECT_EQ(did_you_mean("plam", words), "; did you mean 'plan'?");
  EXPECT_EQ(did_you_mean("", words), "");
}

TEST(Text, SplitsKeepEmptyParts) {
  EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(trim(" \ta b\r"), "a b");
  EXPECT_EQ(trim(" \t"), "");
}

TEST(Text, QuotesMakeUntrustedTextVisibleAndShort) {
  EXPECT_EQ(base::quoted("plain"), "'plain'");
  EXPECT_EQ(base::quoted(std::string("a\nb\0", 4)), "'a\\x0ab\\x00'");
  EXPECT_EQ(base::quoted("\xff"), "'\xef\xbf\xbd'");
  EXPECT_TRUE(base::quoted(std::string(1000, 'x')).ends_with("...'"));
  EXPECT_LT(base::quoted(std::string(1000, 'x')).size(), 200U);
}

TEST(Text, Utf8IsToldFromOtherBytes) {
  for (const char* const text :
       {"", "ascii", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
  // A lone continuation, a cut character, overlong forms, a surrogate, beyond the last character.
  for (const char* const text : {"\x80", "\xe2\x82", "\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80",
                                 "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5", "\xff"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_TRUE(is_utf8(as_utf8(text)));
  }
  EXPECT_EQ(as_utf8("a\xff"
                    "b"),
            "a\xef\xbf\xbd"
            "b");
}

TEST(Checked, ArithmeticSaysWhenItOverflows) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(checked_add(2, 3), 5);
  EXPECT_EQ(checked_add(largest, 1), std::nullopt);
  EXPECT_EQ(checked_multiply(-4, 5), -20);
  EXPECT_EQ(checked_multiply(largest, 2), std::nullopt);
  EXPECT_EQ(align_up(0, 16), 0);
  EXPECT_EQ(align_up(1, 16), 16);
  EXPECT_EQ(align_up(16, 16), 16);
  EXPECT_EQ(align_up(7, 3), 9);
  EXPECT_EQ(align_up(largest_value, 1), largest_value);
}

}  // namespace
}  // namespace stowage::base
