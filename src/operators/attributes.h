#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "operators/known.h"
#include "stowage/graph.h"

namespace stowage::operators {

/// The attributes of an operator as rules see them, by name and in the order of the file. Names, texts and
/// lists are views into the file, which must outlive them. Of a tensor, its type is there, not its data.
class AttributeViews {
 public:
  /// No value: an attribute that rules have no use for, as a graph.
  using Value =
      std::variant<std::monostate, std::int64_t, float, std::string_view, std::span<const std::int64_t>,
                   std::span<const float>, std::span<const std::string_view>, Type>;

  AttributeViews() = default;
  AttributeViews(AttributeViews&&) = default;
  AttributeViews& operator=(AttributeViews&&) = default;
  AttributeViews(const AttributeViews&) = delete;
  AttributeViews& operator=(const AttributeViews&) = delete;
  ~AttributeViews() = default;

  void add(std::string_view name, Value value) { all_.emplace_back(name, std::move(value)); }
  /// A list that is not in the file as it is.
  void add_list(std::string_view name, Shape list);

  [[nodiscard]] const std::vector<std::pair<std::string_view, Value>>& all() const { return all_; }
  /// Null if it is not there.
  [[nodiscard]] const Value* find(std::string_view name) const;
  /// The value if it is there and of this type; otherwise null.
  template <typename Kind>
  [[nodiscard]] const Kind* get(std::string_view name) const {
    const Value* const it = find(name);
    return it == nullptr ? nullptr : std::get_if<Kind>(it);
  }

 private:
  std::vector<std::pair<std::string_view, Value>> all_{};
  std::list<Shape> lists_{};
};

}  // namespace stowage::operators
