#include "pack/life.h"

#include <algorithm>
#include <optional>

namespace stowage::pack {

Lifetime life_of(const Buffer& buffer) {
  std::optional<Lifetime> life;
  for (const Piece& piece : buffer.pieces) {
    if (!piece.is_ever_alive()) continue;
    if (!life) life = piece.life;
    life = Lifetime{std::min(life->lower, piece.life.lower), std::max(life->upper, piece.life.upper)};
  }
  return life.value_or(Lifetime{});
}

}  // namespace stowage::pack
