// Cost: a peak for each tensor, and two.

#include "stream/choose.h"

#include <utility>

namespace stowage::stream {

std::set<TensorId> choose_tensors(const std::vector<TensorId>& candidates,
                                  const std::function<Bytes(const std::set<TensorId>&)>& peak_of,
                                  const base::Deadline& deadline) {
  std::set<TensorId> best;
  if (candidates.empty()) return best;
  Bytes least = peak_of(best);
  const std::set<TensorId> all(candidates.begin(), candidates.end());
  if (const Bytes peak = peak_of(all); peak < least) {
    least = peak;
    best = all;
  }
  for (const TensorId it : candidates) {  // without what does not help, and with what does
    if (candidates.size() == 1 || deadline.is_over()) break;
    std::set<TensorId> other = best;
    if (other.erase(it) == 0) other.insert(it);
    const Bytes peak = peak_of(other);
    if (peak > least || (peak == least && other.size() > best.size())) continue;
    least = peak;
    best = std::move(other);
  }
  return best;
}

}  // namespace stowage::stream
