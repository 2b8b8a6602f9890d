// A list of a million buffers is held once, so a plan takes over the buffers of its list. Nothing is left to
// compare it with but a hash, made before anything was planned. Equal hashes mean the same buffers with the same
// ids, sizes, lives, alignments and pins, in the same order. That offsets keep to these is checked as for any
// plan. A list that is still there is compared itself.

#include "check/imprint.h"

#define XXH_INLINE_ALL  // no library
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"

namespace stowage::check {
namespace {

class Imprint {
 public:
  Imprint() { XXH3_64bits_reset(&state_); }

  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    XXH3_64bits_update(&state_, text.data(), text.size());
  }

  void add(std::int64_t number) { XXH3_64bits_update(&state_, &number, sizeof number); }

  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace

std::uint64_t imprint_of(std::span<const Buffer> buffers) {
  Imprint imprint;
  for (const Buffer& buffer : buffers) {
    imprint.add(buffer.id);
    imprint.add(buffer.size);
    imprint.add(buffer.alignment);
    imprint.add(buffer.pinned.value_or(-1));
    imprint.add(std::ssize(buffer.memories));
    for (const std::size_t memory : buffer.memories) imprint.add(static_cast<std::int64_t>(memory));
    imprint.add(std::ssize(buffer.pieces));
    for (const Piece& piece : buffer.pieces) {
      for (const std::int64_t number : {piece.offset, piece.size, piece.life.lower, piece.life.upper})
        imprint.add(number);
    }
  }
  return imprint.value();
}

Faults check_list(const Plan& plan, const Problem& list) {
  Faults faults;
  const auto fault = [&](const std::string& id, const std::string& what) {
    faults.push_back({FaultKind::accounting, "buffer " + base::quoted(id) + what});
  };
  const auto check_buffer = [&](const Buffer& given, std::size_t index) {
    const Buffer& planned = plan.buffers[index];
    if (planned.size != given.size || planned.pieces != given.pieces)
      fault(given.id, " has another size or lifetime in the plan");
    if (planned.alignment % given.alignment != 0) fault(given.id, " has a weaker alignment in the plan");
    if (given.pinned && plan.places[index].offset != *given.pinned)
      fault(given.id, " is not where it is pinned");
  };
  if (std::ranges::equal(plan.buffers, list.buffers, {}, &Buffer::id, &Buffer::id)) {  // as our plans are
    for (std::size_t b = 0; b < list.buffers.size(); ++b) check_buffer(list.buffers[b], b);
    return faults;
  }
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) index_of.emplace(plan.buffers[b].id, b);
  for (const Buffer& given : list.buffers) {
    const auto it = index_of.find(given.id);
    if (it == index_of.end()) {
      fault(given.id, " is missing in the plan");
      continue;
    }
    check_buffer(given, it->second);
    index_of.erase(it);
  }
  for (const auto& [id, index] : index_of)
    fault(plan.buffers[index].id, " is in the plan but not in the list");
  return faults;
}

}  // namespace stowage::check
