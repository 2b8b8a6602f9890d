#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "generate/schedule.h"
#include "generate/sources.h"
#include "stowage/open_rows.h"
#include "stowage/plan.h"

namespace stowage::generate {

/// The loops of a plan that follows an affine schedule, as C that calls `conv_2d_7(memory, i)`.
struct Loops {
  std::string text{};
  std::size_t counters = 0;  ///< c0, c1, ...: as many as loops are nested.
};

/// None for plans that follow none. `functions` are those of the operators. Where rows come and go, the loops are the
/// body of a function that returns for each of them and goes on behind it: counters are members of `state`. With open rows,
/// the size is a variable `n`, and functions that read the open numbers get `open`.
[[nodiscard]] std::optional<Loops> loops_of(const Network& network, const Plan& plan,
                                            const Schedule& schedule, const std::vector<Function>& functions,
                                            const std::string& name, const OpenRows* rows = nullptr);

}  // namespace stowage::generate
