#pragma once

#include <string>
#include <vector>

#include "generate/schedule.h"
#include "generate/sources.h"

namespace stowage::generate {

/// A function for each operator of the schedule. Throws an Error that names all operators that have none.
[[nodiscard]] std::vector<Function> functions_for(Sources& sources, Schedule& schedule,
                                                  const std::vector<std::string>& externs);

}  // namespace stowage::generate
