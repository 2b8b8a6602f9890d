// A build without isl: affine schedules are as the search has run them, step by step; nobody proves them again,
// and nobody writes their loops.

#include "stowage/parts.h"
#include "stream/loops.h"
#include "stream/polyhedra.h"

namespace stowage::stream {

std::optional<bool> is_legal(const RowModel&, const std::vector<AffineTime>&, unsigned long) {
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> windows(const RowModel&, const std::vector<AffineTime>&,
                                                 unsigned long) {
  return std::nullopt;
}

std::string_view missing_for_loops() {
  return "loops need isl, which this build leaves out: configure with -DSTOWAGE_ISL=ON (it needs isl, on "
         "Debian "
         "libisl-dev)";
}

std::optional<std::string> loop_nest(std::span<const LoopStatement>, unsigned long, const SizeSymbol&) {
  return std::nullopt;
}

}  // namespace stowage::stream

namespace stowage {

bool has_isl() { return false; }

}  // namespace stowage
