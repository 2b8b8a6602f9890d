#include "stream/walk.h"

namespace stowage::stream {

bool Walk::pull(std::size_t op, const Region& region, Bytes limit) {
  return stream::pull(
      op, region, wanted_,
      [&](std::size_t it) -> const std::vector<Dependence>& { return state_.next(it).needs; },
      [&](std::size_t it) { return state_.done(it); }, [&](std::size_t it) { return run(it, limit); });
}

bool Walk::run(std::size_t op, Bytes limit) {
  if (state_.load_of(op) > limit) return false;
  steps_.push_back(program_.at(op, state_.done(op)));
  state_.run(op);
  return true;
}

void Walk::settle(const Region& region, Bytes limit) {
  bool is_changed = true;
  while (is_changed) {
    is_changed = false;
    for (std::size_t op = region.end; op-- > region.begin;) {
      while (!state_.is_finished(op) && state_.is_ready(op) && state_.live_after(op) <= state_.live() &&
             run(op, limit))
        is_changed = true;
    }
  }
}

}  // namespace stowage::stream
