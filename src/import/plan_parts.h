/// Parts of the readers of plans and problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/json.h"
#include "stowage/plan.h"

namespace stowage::import {

/// Names in the file, which refer to indices in the plan.
class Names {
 public:
  void add(const Json& name, std::size_t index);
  [[nodiscard]] std::size_t operator()(const Json& name) const;

  /// The same of a name that an entry of the file implies.
  void add(const Json& entry, const std::string& name, std::size_t index);
  [[nodiscard]] std::size_t operator()(const Json& entry, const std::string& name) const;

 private:
  std::unordered_map<std::string, std::size_t> index_of_;
};

/// Counts what entries of the file stand for; see model/plan_format.h.
class Repeated {
 public:
  /// Throws Error with the place if it is more than is left.
  void expect_room(const Json& place, std::size_t times, std::size_t counted) const;
  void take(const Json& place, std::size_t times, std::size_t counted);

 private:
  std::size_t taken_ = 0;
};

/// A list of numbers that is written as differences. Throws Error if it does not have `count` numbers, or has one
/// below `least`.
[[nodiscard]] std::vector<std::int64_t> read_list(const Json& list, std::optional<std::size_t> count,
                                                  std::int64_t least, Repeated& repeated);

/// The lists `lower` and `upper`.
[[nodiscard]] std::vector<Lifetime> read_lives(const Json& json, std::size_t count, Repeated& repeated);

[[nodiscard]] Lifetime read_life(const Json& json);
[[nodiscard]] RowRange read_rows(const Json& json);

/// A range along a second axis, if there is one.
[[nodiscard]] std::optional<RowRange> read_block(const Json& json);

/// The ranges of that length that follow each other from `first` on. Throws Error with the place of `json` if
/// there are not so many.
[[nodiscard]] std::vector<RowRange> ranges_from(const RowRange& first, std::size_t count, const Json& json);

[[nodiscard]] std::vector<Step> read_steps(const Json& list, const Names& buffers, Repeated& repeated);

/// A buffer, or row blocks.
void read_buffers(const Json& json, const Names& memories, Plan& plan, Names& buffers, Repeated& repeated);

/// A view, or several. The buffers of the plan are there.
void read_views(const Json& json, const Names& buffers, const Plan& plan, std::vector<View>& views,
                Repeated& repeated);

/// A size with its range.
[[nodiscard]] SizeSymbol read_symbol(const Json& json);

/// A whole plan, which may be part of another document.
[[nodiscard]] Plan read_plan(const Json& document);

[[nodiscard]] Streaming read_streaming(const Json& json, Repeated& repeated);

}  // namespace stowage::import
