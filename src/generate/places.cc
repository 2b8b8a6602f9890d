// Places as C. Where free row blocks lie anywhere, lists of slots are most of the tables. Two things keep them small:
//
// 1. A list has bytes if its numbers allow it.
// 2. A list that is part of a longer one, all numbers greater by the same amount, is not written again. A place takes
//    its part and begins earlier by that amount:
//
//        slots_2 = 0, 84, 40, 176, 160;      of the rows 1 to 4, 44, 0, 136, 120        ->    slots_2 + 1, shift 40
//
//    So in-place neighbours (padding, sums) and blocks of an operator share lists.
//
// Places of the blocks of one tensor become an array, so that one function takes any of them.
//
// Cost: lists times their numbers.

#include "generate/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "generate/text.h"

namespace stowage::generate {
namespace {

using SlotList = std::vector<std::uint16_t>;

constexpr Bytes bytes_of_a_place = 20;  // with pointers of 32 bits

bool is_wide(const SlotList& slots) { return std::ranges::max(slots) > 255; }

/// Where `part` begins in `all`, if all its numbers are smaller by the same amount.
std::optional<std::size_t> find_shifted(const SlotList& all, const SlotList& part) {
  for (std::size_t begin = 0; begin + part.size() <= all.size(); ++begin) {
    const int shift = all[begin] - part[0];
    if (shift < 0) continue;
    const auto is_there = [&](std::size_t i) { return all[begin + i] - part[i] == shift; };
    std::size_t i = 0;
    while (i < part.size() && is_there(i)) ++i;
    if (i == part.size()) return begin;
  }
  return std::nullopt;
}

std::string elements(const SlotList& slots) {
  return initialiser(DType::uint16, std::as_bytes(std::span(slots)));
}

}  // namespace

std::string Places::add(const RowPlace& place, const std::string& label, const std::string& comment) {
  std::string definition =
      fmt::format("{}|{}|{}|{}|{}", place.offset, place.pitch, place.rows, place.ring, place.memory);
  for (const std::uint16_t slot : place.slots) definition += fmt::format(",{}", slot);
  if (are_apart_) definition += "|" + label;
  const auto [known, is_new] = by_definition_.try_emplace(definition, places_.size());
  if (!is_new) return places_[known->second].name;
  std::string name = "place_" + label;
  for (int i = 2; !used_.insert(name).second; ++i) name = fmt::format("place_{}_{}", label, i);
  places_.push_back({.name = name, .comment = comment, .place = place});
  return name;
}

std::map<std::string, std::int64_t> Places::rows() const {
  std::map<std::string, std::int64_t> rows;
  for (const Named& it : places_) rows.emplace(it.name, it.place.rows);
  return rows;
}

void Places::open_rows(const std::string& name) {
  std::ranges::find(places_, name, &Named::name)->place.rows = 0;
}

std::string Places::array(const std::vector<std::string>& names, const std::string& label) {
  Array array;
  for (const std::string& name : names) {
    const auto place = std::ranges::find(places_, name, &Named::name);
    array.places.push_back(static_cast<std::size_t>(place - places_.begin()));
  }
  const auto known = std::ranges::find(arrays_, array.places, &Array::places);
  if (known != arrays_.end()) return known->name;
  array.name = "places_" + label;
  for (int i = 2; !used_.insert(array.name).second; ++i) array.name = fmt::format("places_{}_{}", label, i);
  for (std::size_t i = 0; i < array.places.size(); ++i) {
    Named& place = places_[array.places[i]];
    if (place.reference.empty()) place.reference = fmt::format("{}[{}]", array.name, i);
  }
  arrays_.push_back(array);
  return array.name;
}

std::map<std::string, std::string> Places::references() const {
  std::map<std::string, std::string> references;
  for (const Named& place : places_)
    if (!place.reference.empty()) references.emplace(place.name, place.reference);
  return references;
}

std::vector<Places::Slots> Places::slots_of_all(Written& to) const {
  std::vector<std::size_t> by_length(places_.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::ranges::stable_sort(by_length, std::greater{},
                           [&](std::size_t p) { return places_[p].place.slots.size(); });
  std::vector<Slots> all(places_.size());
  std::vector<std::size_t> kept;
  const auto name_of = [&](std::size_t p) {
    return "slots_" + places_[p].name.substr(places_[p].name.find('_') + 1);
  };
  /// Takes part of a list that is there, if there is one.
  const auto take_part = [&](std::size_t p) {
    const RowPlace& own = places_[p].place;
    for (const std::size_t k : kept) {
      const SlotList& list = places_[k].place.slots;
      const auto begin = find_shifted(list, own.slots);
      if (!begin) continue;
      const auto shift = static_cast<std::uint16_t>(list[*begin] - own.slots[0]);
      if (shift * own.pitch > own.offset) continue;
      all[p] = {*begin == 0 ? name_of(k) : fmt::format("{} + {}", name_of(k), *begin), shift, is_wide(list)};
      return true;
    }
    return false;
  };
  for (const std::size_t p : by_length) {
    const SlotList& slots = places_[p].place.slots;
    if (slots.empty()) break;
    if (take_part(p)) continue;
    kept.push_back(p);
    all[p] = {name_of(p), 0, is_wide(slots)};
    to.text += fmt::format("static const uint{}_t {}[{}] = {{\n{}}};\n", all[p].is_wide ? 16 : 8, name_of(p),
                           slots.size(), elements(slots));
    to.bytes += static_cast<Bytes>(slots.size() * (all[p].is_wide ? 2 : 1));
  }
  return all;
}

Places::Written Places::written() const {
  Written result;
  const std::vector<Slots> slots = slots_of_all(result);
  const auto fields = [&](std::size_t p) {
    const RowPlace& it = places_[p].place;
    result.bytes += bytes_of_a_place;
    return fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", it.slots.empty() ? "NULL" : slots[p].expression,
                       it.offset - slots[p].shift * it.pitch, it.pitch, it.rows, it.ring, it.memory,
                       slots[p].is_wide ? 1 : 0);
  };
  for (std::size_t p = 0; p < places_.size(); ++p) {
    const Named& place = places_[p];
    if (place.reference.empty())
      result.text +=
          fmt::format("static const stowage_place {} = {}; /* {} */\n", place.name, fields(p), place.comment);
  }
  for (const Array& array : arrays_) {
    result.text += fmt::format("static const stowage_place {}[{}] = {{\n", array.name, array.places.size());
    for (const std::size_t p : array.places)
      result.text += fmt::format("    {}, /* {} */\n", fields(p), places_[p].comment);
    result.text += "};\n";
  }
  return result;
}

}  // namespace stowage::generate
