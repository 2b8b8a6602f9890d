#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "stowage/plan.h"

namespace stowage::exporting {

using Json = nlohmann::ordered_json;

/// One line of JSON without control characters; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string dump(const Json& json);

/// What a tensor has of open extents and of a value that the user gives.
void add_given(const Tensor& tensor, Json& json);

/// A size with its range.
[[nodiscard]] Json json_of(const SizeSymbol& size);

/// An array with one element per line, made by `to_json`.
template <typename Range, typename ToJson>
void write_rows(std::ostream& out, const Range& range, const ToJson& to_json) {
  out << "[";
  std::string_view separator = "\n";
  for (const auto& element : range) {
    out << separator << dump(to_json(element));
    separator = ",\n";
  }
  out << "]";
}

/// Writes a document member by member, so that a large plan never exists as a tree of values.
class Document {
 public:
  Document(std::ostream& out, std::string_view format) : out_(out) {
    out_ << "{\"format\":" << dump(format) << ",\n\"version\":1";
  }

  /// Begins a member; write its value to the returned stream.
  std::ostream& key(std::string_view name) { return out_ << ",\n" << dump(name) << ":"; }

  void value(std::string_view name, const Json& json) { key(name) << dump(json); }

  template <typename Range, typename ToJson>
  void rows(std::string_view name, const Range& range, const ToJson& to_json) {
    key(name);
    write_rows(out_, range, to_json);
  }

  void models(std::span<const ModelInfo> models) {
    rows("models", models, [](const ModelInfo& model) {
      Json json{{"name", model.name}, {"source", model.source}, {"format", name_of(model.format)}};
      for (const SizeSymbol& it : model.ranges)
        json["ranges"].push_back(
            {{"name", it.name}, {"least", it.least}, {"most", it.most}, {"step", it.step}});
      return json;
    });
  }

  void finish() { out_ << "}\n"; }

 private:
  std::ostream& out_;
};

}  // namespace stowage::exporting
