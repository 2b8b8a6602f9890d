#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stowage/graph.h"

namespace stowage::import {

using Id = std::uint32_t;

/// Gives equal things equal numbers, from 0 on in the order in which they come. Things stay in place.
template <typename Thing, typename Hash, typename Equal>
class Numbers {
 public:
  using Numbered = Thing;

  [[nodiscard]] Id of(const Thing& thing) {
    const auto [at, is_new] = numbers_.try_emplace(thing, static_cast<Id>(things_.size()));
    if (is_new) things_.push_back(&at->first);
    return at->second;
  }
  [[nodiscard]] std::optional<Id> find(const Thing& thing) const {
    const auto at = numbers_.find(thing);
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }
  [[nodiscard]] const Thing& operator[](Id number) const { return *things_[number]; }
  [[nodiscard]] std::size_t size() const { return things_.size(); }

  /// Forgets all but the first so many.
  void keep(std::size_t count) {
    for (; things_.size() > count; things_.pop_back()) numbers_.erase(numbers_.find(*things_.back()));
  }

 private:
  std::unordered_map<Thing, Id, Hash, Equal> numbers_{};
  std::vector<const Thing*> things_{};
};

/// A thing for each tensor, by its number in a table that is shared; at first all have number 0.
template <typename Table>
class NumberedList {
 public:
  using Thing = typename Table::Numbered;

  NumberedList() = default;
  NumberedList(std::shared_ptr<Table> table, std::size_t count)
      : table_(std::move(table)), numbers_(count, 0) {}

  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] const Thing& operator[](TensorId t) const { return (*table_)[numbers_[t]]; }
  [[nodiscard]] Id number(TensorId t) const { return numbers_[t]; }
  void set(TensorId t, const Thing& thing) { numbers_[t] = table_->of(thing); }
  [[nodiscard]] const Thing& of(Id number) const { return (*table_)[number]; }
  [[nodiscard]] Id number_of(const Thing& thing) { return table_->of(thing); }
  void set_number(TensorId t, Id number) { numbers_[t] = number; }

 private:
  std::shared_ptr<Table> table_{};
  std::vector<Id> numbers_{};
};

}  // namespace stowage::import
