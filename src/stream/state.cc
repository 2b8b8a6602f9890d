#include "stream/state.h"

#include <algorithm>

namespace stowage::stream {

State::State(const Program& program, std::size_t operators, Bytes live) : State(program) {
  for (std::size_t op = 0; op < operators; ++op) done_[op] = static_cast<std::int32_t>(program.count(op));
  live_ = live;
}

Bytes State::live_after(std::size_t op) const {
  const Instance& instance = next(op);
  Bytes live = live_ + instance.bytes_written - instance.bytes_dropped;
  for (const GranuleId g : instance.releases) {
    const Granule& granule = program_->granules[g];
    const bool is_read_by_others =
        granule.last_readers.size() > 1 &&
        std::any_of(granule.last_readers.begin(), granule.last_readers.end(),
                    [&](const LastReader& it) { return it.op != op && done_[it.op] <= it.index; });
    if (!is_read_by_others) live -= granule.bytes;
  }
  return live;
}

}  // namespace stowage::stream
