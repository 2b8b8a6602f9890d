// A list of a million buffers is held once, so a plan takes over the buffers of its list. Nothing is left to
// compare it with but a hash, made before anything was planned. Equal hashes mean the same buffers with the same
// ids, sizes, lives, alignments and pins, in the same order. That offsets keep to these is checked as for any
// plan.

#include "check/imprint.h"

#define XXH_INLINE_ALL  // no library
#include <xxhash.h>

#include <string_view>

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

}  // namespace stowage::check
