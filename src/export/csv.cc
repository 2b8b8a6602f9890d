#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage {
namespace {

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos && text == base::trim(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

/// The bytes that are needed from one position on, as one range; empty: none.
struct Window {
  Position at = 0;
  Bytes begin = 0;
  Bytes end = 0;
};

/// The needed bytes from each position at which they change. Throws Error for two separate ranges. Live
/// pieces do not overlap, so they are one range if their sizes add up to its length.
std::vector<Window> windows_of(const Buffer& buffer) {
  struct Change {
    Position at;
    bool begins;
    const Piece* piece;
  };
  std::vector<Change> changes;
  for (const Piece& piece : buffer.pieces) {
    changes.push_back({piece.life.lower, true, &piece});
    changes.push_back({piece.life.upper, false, &piece});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  std::multiset<std::pair<Bytes, Bytes>> live;  // (begin, end)
  Bytes bytes = 0;
  std::vector<Window> windows;
  for (std::size_t c = 0; c < changes.size(); ++c) {
    const auto& [at, begins, piece] = changes[c];
    if (piece->size > 0 && piece->life.lower < piece->life.upper) {
      const std::pair<Bytes, Bytes> range(piece->offset, piece->offset + piece->size);
      if (begins) {
        live.insert(range);
      } else {
        live.erase(live.find(range));
      }
      bytes += begins ? piece->size : -piece->size;
    }
    if (c + 1 < changes.size() && changes[c + 1].at == at) continue;
    Window window{.at = at};
    if (!live.empty()) window = {at, live.begin()->first, live.rbegin()->second};
    if (window.end - window.begin != bytes) {
      throw Error("buffer " + base::quoted(buffer.id),
                  fmt::format("needs two separate parts at position {}, which buffer CSV cannot say", at));
    }
    windows.push_back(window);
  }
  return windows;
}

/// The column `gaps`: positions within the live range at which less than the whole buffer is needed.
std::string gaps_of(const Buffer& buffer, const std::vector<Window>& windows) {
  std::string gaps;
  for (std::size_t w = 0; w + 1 < windows.size(); ++w) {
    const Window& window = windows[w];
    if (window.end - window.begin == buffer.size) continue;
    gaps += fmt::format("{}{}-{}", gaps.empty() ? "" : " ", window.at, windows[w + 1].at);
    if (window.begin < window.end) gaps += fmt::format("@{}:{}", window.begin, window.end);
  }
  return gaps;
}

}  // namespace

void write_csv(const Plan& plan, std::ostream& out) {
  if (plan.clocks.size() > 1)
    throw Error("", "has models that run at the same time, whose lifetimes buffer CSV cannot say");
  const bool has_gaps = std::any_of(plan.buffers.begin(), plan.buffers.end(), [](const Buffer& buffer) {
    return buffer.pieces.size() > 1 || (buffer.pieces.size() == 1 && buffer.pieces[0].size < buffer.size);
  });
  out << "id,lower,upper,size,alignment,offset" << (has_gaps ? ",gaps" : "") << "\n";
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    const std::vector<Window> windows = windows_of(buffer);
    const Position lower = windows.empty() ? 0 : windows.front().at;
    const Position upper = windows.empty() ? 0 : windows.back().at;
    fmt::print(out, "{},{},{},{},{},{}", field(buffer.id), lower, upper, buffer.size, buffer.alignment,
               plan.places[b].offset);
    if (has_gaps) fmt::print(out, ",{}", gaps_of(buffer, windows));
    out << "\n";
  }
}

}  // namespace stowage
