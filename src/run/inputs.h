#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/run.h"

namespace stowage::run {

/// What the options give: by model, and tensor of it.
using GivenInputs = std::map<std::pair<std::size_t, TensorId>, const Array*>;

/// Finds the inputs and states that the options name. Throws UsageError for a name that none or several
/// models have, for an input that is given twice or that another model feeds, and for an array that does not
/// fit.
[[nodiscard]] GivenInputs given_inputs(std::span<const Network* const> networks, const Plan& plan,
                                       const RunOptions& options);

/// What is given an input or a state: what the options say, else its own initial value or random numbers.
[[nodiscard]] std::vector<std::byte> value_of(const Network& network, TensorId tensor, const Array* given,
                                              std::uint64_t seed);

}  // namespace stowage::run
