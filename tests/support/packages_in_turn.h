/// Networks drawn at random as C, which must give what the interpreter gives, bit for bit. Example:
///
///     expect_bits_of_the_interpreter(24, [](std::uint64_t seed) { return random_network(seed); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "stowage/network.h"
#include "stowage/options.h"

namespace stowage::testing {

/// Generates until so many packages are there, in all kinds of plans, and runs them all. Fails if more than a fifth of
/// the networks are refused. Returns how many packages call this function.
std::ptrdiff_t expect_bits_of_the_interpreter(std::uint64_t wanted,
                                              const std::function<Network(std::uint64_t)>& make,
                                              StreamAxes axes = StreamAxes::natural,
                                              const std::string& function = "main");

}  // namespace stowage::testing
