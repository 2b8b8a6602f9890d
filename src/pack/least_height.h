#pragma once

#include <cstdint>
#include <vector>

#include "pack/placing.h"
#include "pack/section_search.h"
#include "stowage/units.h"

namespace stowage::pack {

/// How low a model could be placed.
struct Least {
  std::vector<Bytes> offsets{};  ///< In units, by item.
  Bytes height = 0;              ///< Of these.
  bool is_proven =
      false;  ///< An exhausted search says that nothing fits lower, or it is as low as was asked.
  bool was_stopped = false;  ///< The time was up before the work was done.
};

/// The least height, `enough` or more, that the portfolio of searches can find: see least_height.cc.
[[nodiscard]] Least least_height(const Tables& tables, Bytes enough, const Control& control);

}  // namespace stowage::pack
