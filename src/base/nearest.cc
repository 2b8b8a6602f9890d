#include "base/nearest.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace stowage::base {
namespace {

constexpr std::size_t longest_word = 200;  // names of files may be megabytes

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return result;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view given, std::span<const std::string> words) {
  if (given.size() > longest_word) return std::nullopt;
  const std::string wanted = lower(given);
  std::optional<std::string> best;
  std::size_t least = 0;
  for (const std::string& word : words) {
    if (word.size() > longest_word) continue;
    const std::size_t distance = edit_distance(wanted, lower(word));
    const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
    const bool is_another_word = distance >= std::max(word.size(), given.size());
    if (distance > most || is_another_word || (best && distance >= least)) continue;
    best = word;
    least = distance;
  }
  constexpr std::size_t fewest_letters = 3;
  if (best || wanted.size() < fewest_letters) return best;
  const auto longer =
      std::ranges::find_if(words, [&](const auto& it) { return lower(it).starts_with(wanted); });
  return longer == words.end() ? best : *longer;
}

std::string did_you_mean(std::string_view given, std::span<const std::string> words) {
  const std::optional<std::string> word = nearest(given, words);
  return word ? concat("; did you mean ", base::quoted(*word), "?") : std::string();
}

}  // namespace stowage::base
