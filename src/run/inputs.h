#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stowage/graph.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/run.h"

namespace stowage::run {

/// Inputs from the options, by model and tensor.
using GivenInputs = std::map<std::pair<std::size_t, TensorId>, const Array*>;

/// Finds the inputs and states that the options name. Throws UsageError for a name that no model or several
/// models have, an input that is given twice or fed by another model, and an array that does not fit.
[[nodiscard]] GivenInputs given_inputs(std::span<const Network* const> networks, const Plan& plan,
                                       const RunOptions& options);

/// Throws UsageError for names that no model or several models have.
void expect_names(std::span<const Network* const> networks, std::span<const std::string> names);

/// The value of an input or a state: that of the options, else its own initial value or random numbers.
[[nodiscard]] std::vector<std::byte> value_of(const Network& network, TensorId tensor, const Array* given,
                                              std::uint64_t seed);

/// Fills a weight: uniform in [0.5, 1.5) for vectors; for more dimensions so that sums over all but the first
/// keep their variance. Float32 only. Each element depends only on name, index and seed, so that others can
/// compute the same.
void fill_random_weight(std::span<std::byte> bytes, const Shape& shape, std::string_view name,
                        std::uint64_t seed);

/// True for a float32 tensor of several equal elements.
[[nodiscard]] bool is_constant_filled(const Tensor& tensor, std::span<const std::byte> bytes);

/// Fills an input: reals in [-1, 1), any integers of 8 and 16 bits, and 0 to 3 for longer integers, which are
/// often indices.
void fill_random_input(std::span<std::byte> bytes, DType dtype, std::string_view name, std::uint64_t seed);

}  // namespace stowage::run
