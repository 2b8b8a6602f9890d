#include "import/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "model/elements.h"
#include "stowage/units.h"

namespace stowage::import {

namespace {

/// Builds the document and rejects an object that repeats a member, of which the library would keep the last.
/// (The library's parser with callbacks visits a whole array whenever one of its elements ends.)
class StrictBuilder : public nlohmann::detail::json_sax_dom_parser<Json::Value> {
  using Base = nlohmann::detail::json_sax_dom_parser<Json::Value>;

 public:
  using Base::Base;

  bool start_object(std::size_t members) {
    members_.emplace_back();
    return Base::start_object(members);
  }

  bool key(std::string& name) {
    if (!members_.back().insert(name).second)
      throw Error("", fmt::format("has the member {} twice in one object", base::quoted(name)));
    return Base::key(name);
  }

  bool end_object() {
    members_.pop_back();
    return Base::end_object();
  }

 private:
  std::vector<std::unordered_set<std::string>> members_;  ///< Of the open objects.
};

}  // namespace

Json::Value Json::parse(std::string_view text) {
  try {
    Value value;
    StrictBuilder builder(value);
    Value::sax_parse(text.begin(), text.end(), &builder);
    return value;
  } catch (const nlohmann::json::exception& error) {
    std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    if (const std::size_t end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
    throw Error("", fmt::format("is not JSON: {}", base::quoted(what)));
  }
}

Json Json::at(const std::string& key) const {
  if (!value_->is_object()) throw expected("an object");
  const auto it = value_->find(key);
  if (it == value_->end()) throw error(fmt::format("has no member '{}'", key));
  return Json(*it, pointer_ + "/" + key);
}

std::optional<Json> Json::find(const std::string& key) const {
  if (!value_->is_object()) throw expected("an object");
  const auto it = value_->find(key);
  if (it == value_->end() || it->is_null()) return std::nullopt;
  return Json(*it, pointer_ + "/" + key);
}

void Json::expect_members(std::initializer_list<std::string_view> known) const {
  if (!value_->is_object()) throw expected("an object");
  for (const auto& [name, value] : value_->items()) {
    if (std::ranges::find(known, name) == known.end())
      throw error(fmt::format("has the unknown member {}, expected some of {}", base::quoted(name),
                              fmt::join(known, ", ")));
  }
}

std::vector<Json> Json::elements() const {
  if (!value_->is_array()) throw expected("an array");
  std::vector<Json> elements;
  elements.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    elements.emplace_back((*value_)[i], fmt::format("{}/{}", pointer_, i));
  return elements;
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  if (!value_->is_object()) throw expected("an object");
  std::vector<std::pair<std::string, Json>> members;
  for (const auto& [name, value] : value_->items())
    members.emplace_back(name, Json(value, fmt::format("{}/{}", pointer_, name)));
  return members;
}

std::string Json::string() const {
  if (!value_->is_string()) throw expected("a string");
  return value_->get<std::string>();
}

bool Json::boolean() const {
  if (!value_->is_boolean()) throw expected("true or false");
  return value_->get<bool>();
}

double Json::number() const {
  if (!value_->is_number()) throw expected("a number");
  return value_->get<double>();
}

std::int64_t Json::integer() const {
  const bool is_in_range =
      value_->is_number_integer() &&
      (!value_->is_number_unsigned() || value_->get<std::uint64_t>() <= std::uint64_t{largest_value}) &&
      value_->get<std::int64_t>() >= -largest_value && value_->get<std::int64_t>() <= largest_value;
  if (!is_in_range) throw expected(fmt::format("a whole number of at most {}", largest_value));
  return value_->get<std::int64_t>();
}

std::int64_t Json::natural() const {
  const std::int64_t value = integer();
  if (value < 0) throw expected("at least 0");
  return value;
}

std::size_t Json::index() const { return static_cast<std::size_t>(natural()); }

std::string Json::place() const { return pointer_.empty() ? "document" : pointer_; }

Error Json::error(const std::string& problem) const { return Error(place(), problem); }

std::string Json::shown() const {
  if (value_->is_array()) return "an array";
  if (value_->is_object()) return "an object";
  return base::quoted(value_->dump(-1, ' ', false, Value::error_handler_t::replace));
}

Error Json::expected(std::string_view what) const {
  return error(fmt::format("is {}, expected {}", shown(), what));
}

std::vector<OpenExtent> read_open(const Json& json) {
  std::vector<OpenExtent> open;
  for (const Json& entry : json.elements()) {
    const std::vector<Json> pair = entry.elements();
    if (pair.size() != 2)
      throw entry.error(fmt::format("has {} numbers, expected [axis, symbol]", pair.size()));
    open.push_back({pair[0].index(), pair[1].index()});
  }
  return open;
}

std::vector<Number> read_value(const Json& json, const Tensor& tensor) {
  const bool is_real = tensor.dtype == DType::float32 || tensor.dtype == DType::float64;
  std::vector<Number> elements;
  for (const Json& element : json.elements()) {
    elements.push_back(is_real ? Number(element.number()) : Number(element.integer()));
    if (!model::bytes_of_elements(tensor.dtype, {elements.back()}))
      throw element.error(
          fmt::format("is {}, expected an element of type {}", element.shown(), name_of(tensor.dtype)));
  }
  const auto bytes = model::bytes_of_elements(tensor.dtype, elements);
  if (static_cast<Bytes>(bytes->size()) != tensor.bytes)
    throw json.error(fmt::format("has {} bytes of elements, expected {}", bytes->size(), tensor.bytes));
  return elements;
}

void expect_format(const Json& document, std::string_view format) {
  if (const Json it = document.at("format"); it.string() != format) {
    throw it.error(fmt::format("is {}, expected '{}'", it.shown(), format));
  }
  if (const Json version = document.at("version"); version.integer() != 1) {
    throw version.error(fmt::format("is {}, expected 1", version.shown()));
  }
}

}  // namespace stowage::import
