#include "check/added_rows.h"

#include <algorithm>
#include <utility>

namespace stowage::check {

bool AddedRows::is_next(const Rows& part) const {
  return !missing.empty() && next <= part.first && part.first <= missing[0].first &&
         missing[0].first < part.second;
}

std::vector<Rows> AddedRows::take(const Rows& part) {
  std::vector<Rows> taken;
  std::vector<Rows> left;
  for (const auto& [first, last] : missing) {
    if (first < part.second) taken.emplace_back(first, std::min(last, part.second));
    if (part.second < last) left.emplace_back(std::max(first, part.second), last);
  }
  missing = std::move(left);
  next = part.second;
  return taken;
}

}  // namespace stowage::check
