#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "generate/sources.h"

namespace stowage::generate {

/// Makes functions that differ in places and layers alone one function with a parameter. All but the first lose their
/// text. Leaves them as they are if they differ in more. `label` is for names of tables.
void join_blocks(Sources& sources, const std::vector<Function*>& blocks, const std::string& name,
                 const std::string& label);

}  // namespace stowage::generate
