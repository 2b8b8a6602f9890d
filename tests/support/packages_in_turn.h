/// Networks drawn at random as C, which must give what the interpreter gives, bit for bit. Example:
///
///     expect_bits_of_the_interpreter(24, [](std::uint64_t seed) { return random_network(seed); });
#pragma once

#include <cstdint>
#include <functional>

#include "stowage/network.h"

namespace stowage::testing {

/// Generates until so many packages are there, in all kinds of plans, and runs them all. Fails if more than a fifth of
/// the networks are refused.
void expect_bits_of_the_interpreter(std::uint64_t wanted, const std::function<Network(std::uint64_t)>& make);

}  // namespace stowage::testing
