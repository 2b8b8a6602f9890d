/// Single operators that run by rows. Example:
///
///     EXPECT_GT(expect_streams({.type = "Relu", .data = {{4, 3}}, .output = {4, 3}}), 0);
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "stowage/network.h"

namespace stowage::testing {

using Settings = std::vector<std::pair<std::string, Attributes::Value>>;

/// An operator on float32; the first inputs are data, the others constants.
struct Call {
  std::string type{};
  std::vector<Shape> data{};
  std::vector<Array> constants{};
  Shape output{};
  Settings settings{};
  std::int64_t version = 17;
};

[[nodiscard]] Array random_array(std::mt19937_64& random, const Shape& shape);
/// A list of int64.
[[nodiscard]] Array integers(const std::vector<double>& values);
[[nodiscard]] Array narrow(const std::vector<double>& values, const Shape& shape);

/// Expects that the operator gives the same by rows as it does alone, in plans of all forms; returns how many
/// plans there were.
int expect_streams(const Call& call);

}  // namespace stowage::testing
