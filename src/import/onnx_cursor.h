#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx_wire.h"

namespace stowage::import::wire {

/// How a field's value is encoded.
enum class Coding : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// What the readers of all messages of a file share.
struct File {
  std::string_view bytes;
  std::size_t messages = 0;
};

/// The fields of one message, one after the other. Throws Error for bytes that are no message.
class Cursor {
 public:
  /// `type` is the message's type, for errors.
  Cursor(File& file, std::string_view message, std::string_view type, int depth);

  /// Reads the next field; false at the end of the message.
  bool next();

  [[nodiscard]] std::uint32_t field() const { return field_; }
  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] File& file() const { return file_; }

  // The value of the field, whose name is for errors.

  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  /// An enumeration or a 32-bit number; others than those of 32 bits become -1, which none of them is.
  [[nodiscard]] int small_integer(std::string_view name) const;
  [[nodiscard]] float real(std::string_view name) const;

  /// Adds integers that are packed or alone.
  void add_integers(std::string_view name, std::vector<std::int64_t>& to) const;
  /// The same without decoding them.
  void add_integers(std::string_view name, Numbers& to) const;
  /// Adds numbers of four or eight bytes, packed or alone, without decoding them.
  void add_fixed(std::string_view name, Coding alone, Numbers& to) const;

 private:
  [[noreturn]] void fail(const std::string& problem, std::string_view name = "") const;
  void expect(Coding coding, std::string_view name) const;
  void expect_varints(std::string_view name) const;
  std::uint64_t read_varint();
  std::string_view take(std::uint64_t size);

  File& file_;
  const char* at_;
  const char* end_;
  const char* begin_;  ///< Of the field.
  std::string_view type_;
  int depth_;
  std::uint32_t field_ = 0;
  Coding coding_ = Coding::varint;
  std::uint64_t number_ = 0;
  std::string_view alone_{};  ///< The varint in the file.
  std::string_view bytes_{};
};

}  // namespace stowage::import::wire
