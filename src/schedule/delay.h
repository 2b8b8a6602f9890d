#pragma once

#include "schedule/storage.h"

namespace stowage::schedule {

/// Lets operators wait that gain nothing by running early; see delay.cc. The least peak stays what it is. The
/// storage must be normalized.
[[nodiscard]] Storage delayed(Storage storage);

}  // namespace stowage::schedule
