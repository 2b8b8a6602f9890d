#include <fmt/format.h>

#include <span>

#include "base/checked.h"
#include "base/text.h"
#include "import/plan_parts.h"
#include "model/plan_format.h"

namespace stowage::import {
namespace {

/// Appends the differences that elements of a list stand for.
void add_differences(std::span<const Json> elements, std::size_t depth, const Repeated& repeated,
                     std::vector<std::int64_t>& all) {
  for (const Json& element : elements) {
    if (!element.is_array()) {
      all.push_back(element.integer());
      continue;
    }
    if (depth == model::deepest_repetition)
      throw element.error(fmt::format("is within more than {} lists", model::deepest_repetition));
    const std::vector<Json> parts = element.elements();
    if (parts.size() < 2 || parts[0].natural() == 0)
      throw element.error("repeats nothing, expected [count, difference, ...]");
    std::vector<std::int64_t> once;
    add_differences(std::span(parts).subspan(1), depth + 1, repeated, once);
    repeated.expect_room(parts[0], parts[0].index(), once.size());
    repeated.expect_room(parts[0], 1, all.size() + parts[0].index() * once.size());
    for (std::int64_t times = parts[0].natural(); times > 0; --times)
      all.insert(all.end(), once.begin(), once.end());
  }
}

}  // namespace

void Names::add(const Json& name, std::size_t index) {
  if (!index_of_.emplace(name.string(), index).second)
    throw name.error(fmt::format("{} comes twice", name.shown()));
}

std::size_t Names::operator()(const Json& name) const {
  const auto it = index_of_.find(name.string());
  if (it == index_of_.end()) throw name.error(fmt::format("{} does not exist", name.shown()));
  return it->second;
}

void Names::add(const Json& entry, const std::string& name, std::size_t index) {
  if (!index_of_.emplace(name, index).second)
    throw entry.error(fmt::format("names {}, which comes twice", base::quoted(name)));
}

std::size_t Names::operator()(const Json& entry, const std::string& name) const {
  const auto it = index_of_.find(name);
  if (it == index_of_.end())
    throw entry.error(fmt::format("names {}, which does not exist", base::quoted(name)));
  return it->second;
}

void Repeated::expect_room(const Json& place, std::size_t times, std::size_t counted) const {
  if (counted > 0 && times > (model::most_repeated - taken_) / counted)
    throw place.error(fmt::format("lets the file stand for more than {} steps, numbers and row blocks",
                                  model::most_repeated));
}

void Repeated::take(const Json& place, std::size_t times, std::size_t counted) {
  expect_room(place, times, counted);
  taken_ += times * counted;
}

std::vector<std::int64_t> read_list(const Json& list, std::optional<std::size_t> count, std::int64_t least,
                                    Repeated& repeated) {
  const std::vector<Json> elements = list.elements();
  std::vector<std::int64_t> numbers;
  add_differences(elements, 0, repeated, numbers);
  if (numbers.size() != elements.size()) repeated.take(list, numbers.size(), 1);
  if (numbers.size() != count.value_or(numbers.size()))
    throw list.error(fmt::format("has {} numbers, expected {}", numbers.size(), *count));
  std::int64_t number = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto sum = base::checked_add(number, numbers[i]);
    if (!sum || *sum < least || *sum > largest_value)
      throw list.error(fmt::format("has a number {} that is not from {} to {}", i, least, largest_value));
    numbers[i] = number = *sum;
  }
  return numbers;
}

std::vector<Lifetime> read_lives(const Json& json, std::size_t count, Repeated& repeated) {
  const auto lower = read_list(json.at("lower"), count, 0, repeated);
  const auto upper = read_list(json.at("upper"), count, 0, repeated);
  std::vector<Lifetime> lives;
  for (std::size_t i = 0; i < count; ++i) lives.push_back({lower[i], upper[i]});
  return lives;
}

Lifetime read_life(const Json& json) { return {json.at("lower").natural(), json.at("upper").natural()}; }

RowRange read_rows(const Json& json) {
  const auto rows = json.at("rows");
  const auto range = rows.elements();
  if (range.size() != 2) throw rows.error("is not [begin, end]");
  return {json.at("axis").index(), range[0].natural(), range[1].natural()};
}

std::optional<RowRange> read_block(const Json& json) {
  const auto block = json.find("block");
  return block ? std::optional(read_rows(*block)) : std::nullopt;
}

std::vector<RowRange> ranges_from(const RowRange& first, std::size_t count, const Json& json) {
  if (count == 1) return {first};
  const std::int64_t length = first.end - first.begin;
  if (length < 0 || (count > 0 && length > (largest_value - first.end) / static_cast<std::int64_t>(count)))
    throw json.error("does not begin a sequence of ranges");
  std::vector<RowRange> ranges;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i)
    ranges.push_back({first.axis, first.begin + i * length, first.end + i * length});
  return ranges;
}

}  // namespace stowage::import
