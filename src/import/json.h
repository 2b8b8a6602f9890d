#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stowage/error.h"
#include "stowage/graph.h"

namespace stowage::import {

/// A JSON value of an untrusted file, and its place. Every access either returns the requested value or
/// throws an Error that names the place and what was expected.
class Json {
 public:
  using Value = nlohmann::json;

  /// Parses a whole document. Throws Error with the line for invalid JSON, or for an object that repeats a
  /// member.
  static Value parse(std::string_view text);

  explicit Json(const Value& value, std::string pointer = "")
      : value_(&value), pointer_(std::move(pointer)) {}

  /// A required member; `find` returns none if it is missing or null.
  [[nodiscard]] Json at(const std::string& key) const;
  [[nodiscard]] std::optional<Json> find(const std::string& key) const;

  /// Throws Error if the object has another member than these: it is likely a known one that is misspelled.
  void expect_members(std::initializer_list<std::string_view> known) const;

  /// The elements of an array.
  [[nodiscard]] std::vector<Json> elements() const;

  /// The members of an object, by name.
  [[nodiscard]] std::vector<std::pair<std::string, Json>> members() const;

  [[nodiscard]] std::string string() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] std::int64_t integer() const;  ///< From -largest_value to largest_value.
  [[nodiscard]] std::int64_t natural() const;  ///< From 0 to largest_value.
  [[nodiscard]] std::size_t index() const;     ///< The same, as a count or index.
  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool is_string() const { return value_->is_string(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }

  /// Its place, as a JSON pointer: "/buffers/3/size".
  [[nodiscard]] std::string place() const;

  /// An error at this place: "/buffers/3/size: is -4, expected ...".
  [[nodiscard]] Error error(const std::string& problem) const;

  /// The value as text, truncated, for messages.
  [[nodiscard]] std::string shown() const;

 private:
  [[nodiscard]] Error expected(std::string_view what) const;

  const Value* value_;
  std::string pointer_;
};

/// The enumerator with that name, by one of the `*_named` functions. Throws Error if there is none.
template <typename Named>
[[nodiscard]] auto enumerator(const Json& json, const Named& named) {
  const auto value = named(json.string());
  if (!value) throw json.error("is " + json.shown() + ", which is none of the known names");
  return *value;
}

/// Open extents: pairs [axis, symbol].
[[nodiscard]] std::vector<OpenExtent> read_open(const Json& json);

/// Elements of an input that is of this type and has so many.
[[nodiscard]] std::vector<Number> read_value(const Json& json, const Tensor& tensor);

/// Throws Error unless the document has this format, version 1.
void expect_format(const Json& document, std::string_view format);

}  // namespace stowage::import
