#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stowage::base {

/// The fewest letters to insert, remove, replace or swap with a neighbour that make one text of the other (Damerau's
/// distance of neighbours that are swapped at most once). Cost: the product of the lengths.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word that was probably meant: the one at the least distance, if that is at most a third of its length (and at
/// least 1); of equally near ones the first. If none is so near, the first that begins with what was given, which has at
/// least 3 letters. Upper and lower case count as equal.
[[nodiscard]] std::optional<std::string> nearest(std::string_view given, std::span<const std::string> words);

/// "; did you mean 'plan'?", or nothing if no word is near.
[[nodiscard]] std::string did_you_mean(std::string_view given, std::span<const std::string> words);

}  // namespace stowage::base
