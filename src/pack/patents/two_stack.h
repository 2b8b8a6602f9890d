#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// The place of the rule "the side that is extended less" among the rules; the document has it third.
enum class LessExtended { third, first, second };

/// One pass: with `third` that of the document. See two_stack.cc.
[[nodiscard]] Placing two_stack_pass(const Problem& problem, LessExtended less_extended,
                                     const Control& control);

}  // namespace stowage::pack
