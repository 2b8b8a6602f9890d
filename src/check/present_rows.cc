// Idea. Rows that are written in one step and read for the last time in one are one entry:
//
//   rows       0 . . 3 . . 6 . . 9
//   written    |  1  |  4  |  7  |
//   last read  |  5  |  8  |  8  |
//
// A step that reads rows 2 to 5 cuts the entries at 2 and at 5. A step that writes rows again ends the live
// ranges of the rows that were there. So what it takes grows with the steps, not with the rows.

#include "check/present_rows.h"

#include <algorithm>
#include <tuple>

namespace stowage::check {

void PresentRows::end(const Rows& rows) {
  cut(rows.first);
  cut(rows.second);
  const auto begin = entries_.lower_bound(rows.first);
  const auto end = entries_.lower_bound(rows.second);
  for (auto it = begin; it != end; ++it) past_.push_back({{it->first, it->second.end}, it->second.life});
  entries_.erase(begin, end);
}

void PresentRows::write(const Rows& rows, const Lifetime& life) {
  end(rows);
  entries_.emplace(rows.first, Entry{rows.second, life});
}

std::optional<std::int64_t> PresentRows::read(const Rows& rows, Position until) {
  cut(rows.first);
  cut(rows.second);
  std::int64_t there = rows.first;
  std::optional<std::int64_t> missing;
  for (auto it = entries_.lower_bound(rows.first); it != entries_.end() && it->first < rows.second; ++it) {
    if (it->first > there && !missing) missing = there;
    there = it->second.end;
    it->second.life.upper = std::max(it->second.life.upper, until);
  }
  if (!missing && there < rows.second) missing = there;
  return missing;
}

std::vector<RowLife> PresentRows::take() {
  for (const auto& [begin, entry] : entries_) past_.push_back({{begin, entry.end}, entry.life});
  std::sort(past_.begin(), past_.end(), [](const RowLife& a, const RowLife& b) {
    return std::tie(a.life.lower, a.life.upper, a.rows) < std::tie(b.life.lower, b.life.upper, b.rows);
  });
  std::vector<RowLife> lives;
  for (const RowLife& it : past_) {
    if (!lives.empty() && lives.back().life == it.life && lives.back().rows.second == it.rows.first) {
      lives.back().rows.second = it.rows.second;
    } else {
      lives.push_back(it);
    }
  }
  return lives;
}

/// No entry is on both sides of the row's beginning.
void PresentRows::cut(std::int64_t row) {
  auto it = entries_.lower_bound(row);
  if (it == entries_.begin()) return;
  --it;
  if (it->second.end <= row) return;
  entries_.emplace(row, it->second);
  it->second.end = row;
}

}  // namespace stowage::check
