#include "pack/slack.h"

#include <algorithm>

#include "pack/load.h"

namespace stowage::pack {

std::optional<std::vector<Bytes>> loads_during(std::span<const Buffer> buffers, const Control& control) {
  const std::vector<Load> profile = load_profile(buffers);
  const std::size_t count = profile.size();
  std::vector<Bytes> tree(2 * count, 0);  // the maximum of node i is that of 2i and 2i + 1; leaves last
  for (std::size_t i = 0; i < count; ++i) tree[count + i] = profile[i].bytes;
  for (std::size_t i = count; i-- > 1;) tree[i] = std::max(tree[2 * i], tree[2 * i + 1]);
  const auto index = [&](Position at) {
    const auto it = std::lower_bound(profile.begin(), profile.end(), at,
                                     [](const Load& load, Position value) { return load.at < value; });
    return static_cast<std::size_t>(it - profile.begin());
  };
  std::vector<Bytes> loads;
  loads.reserve(buffers.size());
  for (const Buffer& buffer : buffers) {
    if (loads.size() % buffers_between_looks == 0 && control.is_time_up()) return std::nullopt;
    const Lifetime life = life_of(buffer);
    Bytes most = 0;
    std::size_t begin = count + index(life.lower);
    std::size_t end = count + index(life.upper);
    for (; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) most = std::max(most, tree[begin++]);
      if (end % 2 == 1) most = std::max(most, tree[--end]);
    }
    loads.push_back(most);
  }
  return loads;
}

}  // namespace stowage::pack
