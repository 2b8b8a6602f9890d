#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stowage/graph.h"
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

/// Fills a weight: uniform in [0.5, 1.5) for vectors, and for what has more dimensions so that sums over all
/// but the first keep their variance. Float32 only; element by element from name, place and seed
/// alone, so that others can compute the same.
void fill_random_weight(std::span<std::byte> bytes, const Shape& shape, std::string_view name,
                        std::uint64_t seed);

/// Whether it is a float32 tensor of several elements that are all the same.
[[nodiscard]] bool is_constant_filled(const Tensor& tensor, std::span<const std::byte> bytes);

/// Fills an input: real numbers in [-1, 1), integers of 8 and 16 bits anything, longer ones, which are
/// often indices, 0 to 3.
void fill_random_input(std::span<std::byte> bytes, DType dtype, std::string_view name, std::uint64_t seed);

}  // namespace stowage::run
