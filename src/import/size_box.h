#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/open_sizes.h"
#include "stowage/import.h"

namespace stowage::import {

using Sizes = std::vector<std::int64_t>;

template <typename Visit>
void for_each_size(ImportOptions& options, Visit visit) {
  for (auto& [name, size] : options.dims) visit(size);
  for (auto& [name, shape] : options.shapes) {
    for (GivenSize& size : shape) visit(size);
  }
}

/// Sizes out of the ranges of some options.
class Box {
 public:
  explicit Box(const ImportOptions& options) : options_(options) {
    ImportOptions copy = options;
    for_each_size(copy, [&](const GivenSize& size) {
      if (is_range(size)) ranges_.push_back(size);
    });
  }

  [[nodiscard]] std::size_t size() const { return ranges_.size(); }

  [[nodiscard]] const GivenSize& range(std::size_t r) const { return ranges_[r]; }

  [[nodiscard]] Sizes largest() const {
    Sizes sizes;
    for (const GivenSize& range : ranges_) sizes.push_back(range.most);
    return sizes;
  }

  /// This fraction of the largest, but within the range.
  [[nodiscard]] std::int64_t part(std::size_t range, std::int64_t numerator, std::int64_t denominator) const {
    const GivenSize& it = ranges_[range];
    return within(range, it.most / denominator * numerator + it.most % denominator * numerator / denominator);
  }

  /// The next smaller size of the range.
  [[nodiscard]] std::int64_t within(std::size_t range, std::int64_t size) const {
    const GivenSize& it = ranges_[range];
    const std::int64_t above = std::clamp(size, *it.least, it.most) - *it.least;
    return *it.least + above / it.step * it.step;
  }

  /// The same for all ranges.
  [[nodiscard]] Sizes parts(std::int64_t numerator, std::int64_t denominator) const {
    Sizes sizes;
    for (std::size_t r = 0; r < size(); ++r) sizes.push_back(part(r, numerator, denominator));
    return sizes;
  }

  [[nodiscard]] Sizes moved(std::int64_t distance) const {
    Sizes sizes;
    for (std::size_t r = 0; r < size(); ++r) {
      const GivenSize& it = ranges_[r];
      const std::int64_t steps = (it.most - *it.least) / it.step;
      sizes.push_back(it.most - std::min(distance, steps) * it.step);
    }
    return sizes;
  }

  /// How many there are, if at most so many.
  [[nodiscard]] std::optional<std::int64_t> count(std::int64_t most) const {
    std::int64_t count = 1;
    for (const GivenSize& range : ranges_) {
      const std::int64_t extent = (range.most - *range.least) / range.step + 1;
      if (extent > most / count) return std::nullopt;
      count *= extent;
    }
    return count;
  }

  [[nodiscard]] std::vector<Sizes> all() const {
    std::vector<Sizes> every{{}};
    for (const GivenSize& range : ranges_) {
      std::vector<Sizes> longer;
      for (const Sizes& sizes : every) {
        for (std::int64_t size = *range.least; size <= range.most; size += range.step) {
          longer.push_back(sizes);
          longer.back().push_back(size);
        }
      }
      every = std::move(longer);
    }
    return every;
  }

  /// "h=300 w=320"; inputs with the numbers of all their axes.
  [[nodiscard]] std::string in_words(const Sizes& sizes) const {
    const ImportOptions exact = exactly(sizes);
    std::vector<std::string> words;
    for (const auto& [name, size] : options_.dims)
      if (is_range(size)) words.push_back(fmt::format("{}={}", name, exact.dims.at(name).most));
    for (const auto& [name, shape] : options_.shapes) {
      if (std::ranges::none_of(shape, is_range)) continue;
      std::vector<std::int64_t> extents;
      for (const GivenSize& size : exact.shapes.at(name)) extents.push_back(size.most);
      words.push_back(fmt::format("{}={}", name, fmt::join(extents, ",")));
    }
    return fmt::format("{}", fmt::join(words, " "));
  }

  /// The options with these sizes.
  [[nodiscard]] ImportOptions exactly(const Sizes& sizes) const {
    ImportOptions exact = options_;
    std::size_t next = 0;
    for_each_size(exact, [&](GivenSize& size) {
      const std::int64_t number = is_range(size) ? sizes[next++] : size.most;
      size = {number, number};
    });
    return exact;
  }

 private:
  const ImportOptions& options_;
  std::vector<GivenSize> ranges_{};
};

}  // namespace stowage::import
