/// Single operators that run by rows. Example:
///
///     EXPECT_GT(expect_streams({.type = "Relu", .data = {{4, 3}}, .output = {4, 3}}), 0);
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "stowage/network.h"

namespace stowage::testing {

using Settings = std::vector<std::pair<std::string, Attributes::Value>>;

/// An operator; the first inputs are data, the others constants.
struct Call {
  std::string type{};
  std::vector<Shape> data{};
  std::vector<Array> constants{};
  Shape output{};
  Settings settings{};
  std::int64_t version = 17;
  std::vector<DType> dtypes{};  ///< Of data; float32 where there are fewer.
  DType output_dtype = DType::float32;
  std::vector<std::pair<Shape, DType>> more_outputs{};
  std::optional<Quantization> quantization{};  ///< Of all data and outputs.
  bool are_constants_first = false;
  std::vector<std::size_t> left_out{};  ///< Inputs that are, among all.
};

/// Of any type of element: numbers in [-1, 1], or small whole ones.
[[nodiscard]] Array random_array(std::mt19937_64& random, const Shape& shape, DType dtype = DType::float32);
/// A list of int64.
[[nodiscard]] Array integers(const std::vector<double>& values);
[[nodiscard]] Array narrow(const std::vector<double>& values, const Shape& shape);

/// A network of that operator alone.
[[nodiscard]] Network network_of(const Call& call);
/// One that has a convolution in front of it, another behind; none unless it makes an image of one.
[[nodiscard]] std::optional<Network> network_between_convolutions(const Call& call);

/// Expects that the operator gives the same by rows as it does alone, in plans of all forms; returns how many
/// plans there were. The same bit for bit, but for sums.
int expect_streams(const Call& call);

/// Expects, for each axis of the outputs, that a row changes only if a row changes that it is said to read.
/// Returns how many pairs of rows (output, data) were compared.
int expect_honest(const Call& call);

/// Expects that rows of an operator with a state change only if that row of the input, or one before it, does.
/// Returns how many pairs of rows were compared.
int expect_honest_states(const Call& call);

constexpr std::size_t ways_to_plan = 6;  ///< Inputs and outputs by rows or not, of one, two or three rows.

/// Expects that the planner's plan by rows of the network gives what it gives unstreamed, bit for bit if it
/// has no sums of real numbers. Returns whether it runs rows.
bool expect_planned_stream(const Network& network, std::size_t way, const std::string& what);

}  // namespace stowage::testing
