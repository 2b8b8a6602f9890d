// Numbers of a plan for a viewer of graphs. The format is that of Model Explorer's node data, in which a node is found by
// the name of a tensor that it computes.

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "export/json.h"
#include "export/readable.h"
#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::Json;

constexpr std::string_view pale = "#fdf1ee";
constexpr std::string_view strong = "#dc5f54";

/// Live bytes of all memories, and where they are most.
class LiveBytes {
 public:
  explicit LiveBytes(const Plan& plan) {
    for (const Buffer& buffer : exporting::on_one_axis(plan)) {
      for (const Piece& piece : buffer.pieces) {
        if (!piece.is_ever_alive()) continue;
        changes_[piece.life.lower] += piece.size;
        changes_[piece.life.upper] -= piece.size;
      }
    }
    Bytes live = 0;
    Bytes most = 0;
    for (auto& [at, change] : changes_) {
      live += std::exchange(change, live + change);
      if (live <= most) continue;
      most = live;
      peak_ = at;
    }
  }

  [[nodiscard]] Bytes at(Position position) const {
    const auto after = changes_.upper_bound(position);
    return after == changes_.begin() ? 0 : std::prev(after)->second;
  }
  [[nodiscard]] Position peak() const { return peak_; }

 private:
  std::map<Position, Bytes> changes_;  ///< Then: live bytes from there on.
  Position peak_ = 0;
};

std::string_view title_of(Overlay overlay) {
  switch (overlay) {
    case Overlay::live:
      return "live bytes";
    case Overlay::offset:
      return "offset";
    case Overlay::peak:
      return "bytes at the peak";
  }
  return "";
}

}  // namespace

void write_overlay(const Plan& plan, Overlay overlay, std::ostream& out) {
  if (plan.models.size() != 1 || plan.tensors.empty())
    throw UsageError("an overlay is for the graph of one model, not for several or a buffer list");
  const auto starts = exporting::starts_on_one_axis(plan);
  const LiveBytes live(plan);
  Json results = Json::object();
  for (const PlannedTensor& it : plan.tensors) {
    if (it.views.empty() || it.tensor.name.empty() || is_constant(it.tensor.kind)) continue;
    const auto position = [&](const View& view, Position at) {
      return exporting::on_one_axis(starts, plan.buffers[view.buffer].clock, at);
    };
    const View& first = it.views.front();
    const bool is_at_peak = std::ranges::any_of(it.views, [&](const View& view) {
      return position(view, view.life.lower) <= live.peak() && live.peak() < position(view, view.life.upper);
    });
    const Bytes value = overlay == Overlay::live     ? live.at(position(first, first.life.lower))
                        : overlay == Overlay::offset ? plan.places[first.buffer].offset + first.offset
                        : is_at_peak                 ? it.tensor.bytes
                                                     : 0;
    results[it.tensor.name] = {{"value", value}};
    if (overlay == Overlay::peak && is_at_peak) results[it.tensor.name]["bgColor"] = strong;
  }
  Json document{{"name", std::string("stowage: ") + std::string(title_of(overlay))},
                {"results", std::move(results)}};
  if (overlay != Overlay::peak)
    document["gradient"] = {{{"stop", 0}, {"bgColor", pale}}, {{"stop", 1}, {"bgColor", strong}}};
  out << exporting::dump(document) << '\n';
}

}  // namespace stowage
