// npy files: literal bytes as NumPy writes them, round trips of every element type, hostile headers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "import/arrays.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "temporary.h"

namespace stowage {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::vector<std::byte> bytes_in(std::string_view text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

/// A file of version 1.0 with that header as it is.
std::string file_of(std::string_view header, std::string_view data) {
  return fmt::format("\x93NUMPY\x01{}{}{}{}{}", '\0', static_cast<char>(header.size() & 0xff),
                     static_cast<char>(header.size() >> 8), header, data);
}

std::string header_of(std::string_view descr, std::string_view fortran, std::string_view shape) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}   \n", descr, fortran, shape);
}

std::string written(const Array& array) {
  std::ostringstream out;
  write_npy(array, out);
  return out.str();
}

std::string error_of(std::string_view bytes) {
  try {
    (void)import::parse_npy(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_error(std::string_view bytes, std::string_view expected) {
  const std::string message = error_of(bytes);
  EXPECT_NE(message.find(expected), std::string::npos)
      << "'" << message << "' does not say '" << expected << "'";
}

TEST(Npy, ReadsAndWritesWhatNumpyWrites) {
  // numpy.save of numpy.array([[1, 2, -3]], '<i2')
  const std::string saved =
      "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }"s.append(58, ' ') +
      "\n\x01\x00\x02\x00\xfd\xff"s;
  ASSERT_EQ(saved.size(), 134U);
  const Array array = import::parse_npy(saved);
  EXPECT_EQ(array, (Array{DType::int16, {1, 3}, bytes_in("\x01\x00\x02\x00\xfd\xff"sv)}));
  EXPECT_EQ(written(array), saved);
}

TEST(Npy, ShapesOfNoneAndOneDimensionAreTuples) {
  EXPECT_NE(written({DType::uint8, {}, bytes_in("a")}).find("'shape': (), }"), std::string::npos);
  EXPECT_NE(written({DType::uint8, {1}, bytes_in("a")}).find("'shape': (1,), }"), std::string::npos);
}

TEST(Npy, TurnsFortranOrderIntoRowMajor) {
  // [[0, 1, 2], [3, 4, 5]], and the same behind a dimension of 1.
  const std::string columns = "\x00\x03\x01\x04\x02\x05"s;
  const std::vector<std::byte> rows = bytes_in("\x00\x01\x02\x03\x04\x05"sv);
  EXPECT_EQ(import::parse_npy(file_of(header_of("|u1", "True", "(2, 3)"), columns)),
            (Array{DType::uint8, {2, 3}, rows}));
  EXPECT_EQ(import::parse_npy(file_of(header_of("|u1", "True", "(1, 2, 3)"), columns)).data, rows);
  // Index (a, b, c) of 2 * 2 * 2 lies at a + 2 b + 4 c.
  EXPECT_EQ(import::parse_npy(file_of(header_of("|u1", "True", "(2, 2, 2)"), "abcdefgh")).data,
            bytes_in("aecgbfdh"));
  EXPECT_EQ(import::parse_npy(file_of(header_of("|u1", "True", "(0, 3)"), "")).data.size(), 0U);
}

TEST(Npy, TurnsBigEndianIntoLittle) {
  EXPECT_EQ(
      import::parse_npy(file_of(header_of(">i4", "False", "(2,)"), "\x00\x00\x01\x02\xff\xff\xff\xfe"sv))
          .data,
      bytes_in("\x02\x01\x00\x00\xfe\xff\xff\xff"sv));
  // A complex number is two numbers, each with its bytes turned round.
  EXPECT_EQ(import::parse_npy(file_of(header_of(">c8", "False", "()"), "abcdefgh")).data,
            bytes_in("dcbahgfe"));
  // Both at once: columns (ab, cd), (ef, gh) of a 2 x 2 matrix.
  EXPECT_EQ(import::parse_npy(file_of(header_of(">u2", "True", "(2, 2)"), "abcdefgh")).data,
            bytes_in("bafedchg"));
}

TEST(Npy, ReadsVersionsTwoAndThree) {
  const std::string header = header_of("|i1", "False", "(2,)");
  for (const char version : {'\x02', '\x03'}) {
    const std::string file = fmt::format("\x93NUMPY{}{}{}{}{}{}{}xy", version, '\0',
                                         static_cast<char>(header.size()), '\0', '\0', '\0', header);
    EXPECT_EQ(import::parse_npy(file), (Array{DType::int8, {2}, bytes_in("xy")}));
  }
}

TEST(Npy, ReadsHeadersWrittenOtherwise) {
  for (const std::string_view header :
       {R"({"shape":(2,),"fortran_order":False,"descr":"|u1"})"sv,
        "\n{ 'fortran_order' : False ,\t'descr' : '|u1' , 'shape' : ( 2 , ) }\n"sv,
        "{'descr': '<u1', 'fortran_order': False, 'shape': (2,)}"sv}) {
    EXPECT_EQ(import::parse_npy(file_of(header, "xy")), (Array{DType::uint8, {2}, bytes_in("xy")})) << header;
  }
}

TEST(Npy, RoundTripsEveryTypeThatNumpyHas) {
  std::mt19937 random(3);
  for (const DType dtype : {DType::boolean, DType::int8, DType::int16, DType::int32, DType::int64,
                            DType::uint8, DType::uint16, DType::uint32, DType::uint64, DType::float16,
                            DType::float32, DType::float64, DType::complex64, DType::complex128}) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 0, 3}, Shape{2, 3, 4}, Shape(30, 1)}) {
      Array array{.dtype = dtype, .shape = shape};
      array.data.resize(static_cast<std::size_t>(bytes_of(dtype, shape)));
      for (std::byte& b : array.data) b = std::byte(random() % (dtype == DType::boolean ? 2 : 256));
      EXPECT_EQ(import::parse_npy(written(array)), array) << name_of(dtype);
    }
  }
}

TEST(Npy, WritesTypesThatNumpyLacksAsIntegers) {
  const auto again = [](DType dtype, const Shape& shape, std::string_view data) {
    return import::parse_npy(written({dtype, shape, bytes_in(data)}));
  };
  EXPECT_EQ(again(DType::bfloat16, {2}, "abcd"), (Array{DType::uint16, {2}, bytes_in("abcd")}));
  EXPECT_EQ(again(DType::float8e5m2, {2}, "ab"), (Array{DType::uint8, {2}, bytes_in("ab")}));
  EXPECT_EQ(again(DType::resource, {1}, "abcd"), (Array{DType::uint32, {1}, bytes_in("abcd")}));
  // Low bits first; the last byte is half used.
  EXPECT_EQ(again(DType::int4, {3}, "\x7f\x08"sv), (Array{DType::int8, {3}, bytes_in("\xff\x07\xf8"sv)}));
  EXPECT_EQ(again(DType::uint4, {1, 3}, "\x7f\x08"sv),
            (Array{DType::uint8, {1, 3}, bytes_in("\x0f\x07\x08"sv)}));
  EXPECT_EQ(again(DType::int2, {5}, "\xe4\x02"sv),
            (Array{DType::int8, {5}, bytes_in("\x00\x01\xfe\xff\xfe"sv)}));
  EXPECT_THROW((void)written({DType::string, {0}, {}}), Error);
  EXPECT_THROW((void)written({DType::float32, {2}, bytes_in("abcd")}), Error);
}

TEST(Npy, SaysWhatIsWrongWithAFile) {
  const std::string good = file_of(header_of("<f4", "False", "(1,)"), "abcd");
  EXPECT_EQ(error_of(good), "");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(error_of(std::string_view(good).substr(0, size)), "") << size;
  expect_error("", "expected \\x93NUMPY");
  expect_error("\x93NUMPX\x01", "expected \\x93NUMPY");
  expect_error("\x93NUMPY\x01", "ends in its version");
  expect_error("\x93NUMPY\x01\x00v"sv, "ends in the length");
  expect_error("\x93NUMPY\x04\x00v\x00"sv, "version is 4.0, expected 1.0, 2.0 or 3.0");
  expect_error("\x93NUMPY\x01\x01v\x00"sv, "version is 1.1");
  expect_error("\x93NUMPY\x02\x00\xff\xff\xff\xff{"sv,
               "header has 4294967295 bytes, but the file only 1 more");
  expect_error(good + "e", "5 bytes of data, expected 4 for float32[1]");
  expect_error(good.substr(0, good.size() - 1), "3 bytes of data, expected 4 for float32[1]");
  expect_error(file_of(header_of("|b1", "False", "(2,)"), "\x01\x02"), "boolean is 2, expected 0 or 1");
}

TEST(Npy, SaysWhatIsWrongWithAHeader) {
  struct Case {
    std::string header;
    std::string expected;
  };
  const std::string end = ", 'fortran_order': False, 'shape': (1,)}";
  for (const auto& [header, expected] : std::vector<Case>{
           {"", "byte 10: ends here, expected '{'"},
           {"[]", "has '[', expected '{'"},
           {"{", "expected a key or '}'"},
           {"{}", "has not all of descr"},
           {"{'descr': '<f4', 'shape': (1,)}", "has not all of descr"},
           {"{'descr': '<f4'" + end + "x", "does not end after the dict"},
           {"{'descr': '<f4', 'descr': '<f4'" + end, "key 'descr' is repeated"},
           {"{'order': '<f4'" + end, "key 'order' is repeated or unknown"},
           {"{'descr' '<f4'" + end, "expected ':'"},
           {"{'descr': '<f4", "string that does not end"},
           {"{'descr': [('x', '<f4')]" + end, "expected an element type as one string"},
           {"{'descr': '<f3'" + end, "element type is '<f3'"},
           {"{'descr': '|f4'" + end, "element type is '|f4'"},
           {"{'descr': '|O'" + end, "element type is '|O'"},
           {"{'descr': 'f4'" + end, "element type is 'f4'"},
           {"{'descr': ''" + end, "element type is ''"},
           {header_of("<f4", "Yes", "(1,)"), "expected True or False"},
           {header_of("<f4", "False", "1"), "has '1', expected '('"},
           {header_of("<f4", "False", "(1)"), "expected a tuple"},
           {header_of("<f4", "False", "(1,,)"), "expected a dimension"},
           {header_of("<f4", "False", "(1 2)"), "expected ')'"},
           {header_of("<f4", "False", "(-1,)"), "has '-', expected a dimension"},
           {header_of("<f4", "False", "(99999999999999999999,)"), "has dimension '99999999999999999999'"},
           {header_of("<f4", "False", "(4611686018427387904, 4)"), "overflows"},
           {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "expected a dimension or ')'"}}) {
    expect_error(file_of(header, "abcd"), expected);
  }
  std::string ones = "(";
  for (int i = 0; i < 65; ++i) ones += "1,";
  expect_error(file_of(header_of("<f4", "False", ones + ")"), "abcd"), "more than 64 dimensions");
}

TEST(ReadArray, TakesNpyFilesAndNamesOthers) {
  const testing::TemporaryDirectory directory;
  const Array array{DType::uint8, {2}, bytes_in("xy")};
  directory.write("x.npy", written(array));
  EXPECT_EQ(read_array(directory / "x.npy"), array);
  // Dimension 2, of type 2 (uint8), raw data.
  directory.write("x.pb", "\x08\x02\x10\x02\x4a\x02xy");
  EXPECT_EQ(read_array(directory / "x.pb"), array);
  directory.write("bad.pb", "nothing");
  directory.write("bad.npy", "nothing");
  directory.write("x.txt", "nothing");
  for (const std::string name : {"bad.npy", "bad.pb", "x.txt", "missing.npy"}) {
    try {
      (void)read_array(directory / name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace stowage
