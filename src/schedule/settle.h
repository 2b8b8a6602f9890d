#pragma once

#include "schedule/budget.h"
#include "schedule/executed.h"

namespace stowage::schedule {

/// Executes operators of which it is certain that executing them next loses nothing: if the set can be
/// completed with no step above `capacity`, so it can be afterwards; see settle.cc. Lowers `rejected` to the
/// smallest step above the capacity that it came across.
void settle(Executed& executed, Bytes capacity, Bytes& rejected, Budget& budget);

}  // namespace stowage::schedule
