// Which views are in each buffer, and which of them are written over by another:
//
//     step      a    b              b writes y over x: x ends where y begins
//     x    [========)
//     y             [======
//
// Cost: linear in views; for each question also in the views and pieces of the buffer.

#include "plan/views_in_buffers.h"

#include <algorithm>

namespace stowage::plan {
namespace {

/// Whether the view's buffer holds all of its bytes before a position and from there on.
bool is_held_across(const Plan& plan, Position at, const View& view, Bytes bytes) {
  Bytes before = 0;
  Bytes behind = 0;
  for (const Piece& piece : plan.buffers[view.buffer].pieces) {
    const Bytes begin = std::max(piece.offset, view.offset);
    const Bytes end = std::min(piece.offset + piece.size, view.offset + bytes);
    if (piece.life.lower < at && at <= piece.life.upper) before += std::max<Bytes>(0, end - begin);
    if (piece.life.lower <= at && at < piece.life.upper) behind += std::max<Bytes>(0, end - begin);
  }
  return before == bytes && behind == bytes;
}

}  // namespace

std::vector<std::vector<ViewOf>> views_in_buffers(const Plan& plan) {
  std::vector<std::vector<ViewOf>> all(plan.buffers.size());
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const std::vector<View>& views = plan.tensors[t].views;
    for (std::size_t v = 0; v < views.size(); ++v) all[views[v].buffer].push_back({t, v});
  }
  return all;
}

bool is_written_over(const Plan& plan, std::span<const ViewOf> in_buffer, const ViewOf& it) {
  const auto view_of = [&](const ViewOf& of) -> const View& {
    return plan.tensors[of.tensor].views[of.view];
  };
  const auto bytes_of = [&](const ViewOf& of) { return plan.tensors[of.tensor].tensor.bytes; };
  const View& view = view_of(it);
  if (view.rows || view.ring) return false;
  const bool meets_next = std::ranges::any_of(in_buffer, [&](const ViewOf& other) {
    const View& over = view_of(other);
    return over.life.lower == view.life.upper && view.offset < over.offset + bytes_of(other) &&
           over.offset < view.offset + bytes_of(it);
  });
  return meets_next && is_held_across(plan, view.life.upper, view, bytes_of(it));
}

}  // namespace stowage::plan
