#include "import/onnx_cursor.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <protozero/varint.hpp>

#include "stowage/error.h"

namespace stowage::import::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers in the file are little-endian");

constexpr int deepest = 100;
constexpr std::size_t most_messages = 30'000'000;

std::string_view name_of(Coding coding) {
  switch (coding) {
    case Coding::varint:
      return "a varint";
    case Coding::fixed64:
      return "eight bytes";
    case Coding::bytes:
      return "bytes with a length";
    default:
      return "four bytes";
  }
}

}  // namespace

Cursor::Cursor(File& file, std::string_view message, std::string_view type, int depth)
    : file_(file),
      at_(message.data()),
      end_(message.data() + message.size()),
      begin_(at_),
      type_(type),
      depth_(depth) {
  if (depth > deepest) fail(fmt::format("is nested more than {} messages deep", deepest));
  if (++file.messages > most_messages) fail(fmt::format("is one of more than {} messages", most_messages));
}

bool Cursor::next() {
  if (at_ == end_) return false;
  begin_ = at_;
  constexpr std::uint64_t coding_bits = 3;
  constexpr std::uint64_t largest_field = (1U << 29U) - 1;
  const std::uint64_t key = read_varint();
  const std::uint64_t field = key >> coding_bits;
  if (field == 0 || field > largest_field) fail(fmt::format("has field {}, which cannot be", field));
  field_ = static_cast<std::uint32_t>(field);
  const std::uint64_t coding = key & ((1U << coding_bits) - 1);
  switch (coding) {
    case 0:
      number_ = read_varint();
      break;
    case 1:
      bytes_ = take(sizeof(std::uint64_t));
      break;
    case 2:
      bytes_ = take(read_varint());
      break;
    case 5:
      bytes_ = take(sizeof(std::uint32_t));
      break;
    default:
      fail(fmt::format("has field {} of wire type {}, expected 0, 1, 2 or 5", field_, coding));
  }
  coding_ = static_cast<Coding>(coding);
  return true;
}

std::string_view Cursor::text(std::string_view name) const {
  expect(Coding::bytes, name);
  return bytes_;
}

std::int64_t Cursor::integer(std::string_view name) const {
  expect(Coding::varint, name);
  return static_cast<std::int64_t>(number_);
}

int Cursor::small_integer(std::string_view name) const {
  const std::int64_t number = integer(name);
  return number == static_cast<std::int32_t>(number) ? static_cast<int>(number) : -1;
}

float Cursor::real(std::string_view name) const {
  expect(Coding::fixed32, name);
  float number = 0;
  std::memcpy(&number, bytes_.data(), sizeof(number));
  return number;
}

void Cursor::add_integers(std::string_view name, std::vector<std::int64_t>& to) const {
  Numbers numbers;
  add_integers(name, numbers);
  for (const std::int64_t number : integers_of(numbers)) to.push_back(number);
}

void Cursor::add_integers(std::string_view name, Numbers& to) const {
  if (coding_ == Coding::varint) {
    to.runs.push_back(alone_);
    return;
  }
  expect_varints(name);
  if (!bytes_.empty()) to.runs.push_back(bytes_);
}

void Cursor::add_fixed(std::string_view name, Coding alone, Numbers& to) const {
  const std::size_t width = alone == Coding::fixed32 ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
  if (coding_ != alone) expect(Coding::bytes, name);
  if (bytes_.size() % width != 0)
    fail(fmt::format("has {} bytes, expected a multiple of {}", bytes_.size(), width), name);
  if (!bytes_.empty()) to.runs.push_back(bytes_);
}

void Cursor::fail(const std::string& problem, std::string_view name) const {
  throw Error("", fmt::format("is not an ONNX model, or cut short: {}{}{} at byte {} {}", type_,
                              name.empty() ? "" : ".", name, begin_ - file_.bytes.data(), problem));
}

void Cursor::expect(Coding coding, std::string_view name) const {
  if (coding_ != coding) fail(fmt::format("is {}, expected {}", name_of(coding_), name_of(coding)), name);
}

/// Only whole varints of at most 64 bits.
void Cursor::expect_varints(std::string_view name) const {
  expect(Coding::bytes, name);
  std::size_t length = 0;
  for (const char byte : bytes_) {
    const bool is_last = (static_cast<unsigned char>(byte) & 0x80U) == 0;
    if (++length > protozero::max_varint_length) fail("has a varint of more than 10 bytes", name);
    if (is_last) length = 0;
  }
  if (length != 0) fail("ends within a varint", name);
}

std::uint64_t Cursor::read_varint() {
  const char* const begin = at_;
  try {
    const std::uint64_t number = protozero::decode_varint(&at_, end_);
    alone_ = {begin, static_cast<std::size_t>(at_ - begin)};
    return number;
  } catch (const protozero::exception&) {
    fail("has a varint that does not end");
  }
}

std::string_view Cursor::take(std::uint64_t size) {
  const auto left = static_cast<std::uint64_t>(end_ - at_);
  if (size > left) fail(fmt::format("has field {} with {} bytes, expected at most {}", field_, size, left));
  const std::string_view bytes(at_, static_cast<std::size_t>(size));
  at_ += size;
  return bytes;
}

}  // namespace stowage::import::wire
