#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "open_net.h"

namespace stowage::campaign {

/// An element's name: 0 is nobody's. What only moves keeps its name.
using ElementName = std::uint64_t;

struct OpenValue {
  Elements elements = Elements::real;
  Shape shape{};
  std::vector<ElementName> names{};
  std::optional<std::vector<std::int64_t>> numbers{};  ///< Where sizes may depend on them.
};

/// Where an element comes from. Without input it is computed.
struct Origin {
  std::optional<std::size_t> input{};
  std::size_t element = 0;
};

struct Made {
  OpenValue value{};
  std::vector<Origin> sources{};  ///< By element.
};

/// The shapes do not fit together, or are too large.
struct Misfit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A run of the network: sizes of inputs, and what depends on data.
class World {
 public:
  World(std::uint64_t seed, bool is_largest) : seed_(seed), is_largest_(is_largest) {}

  std::map<std::string, std::int64_t> extents{};  ///< By symbol.

  [[nodiscard]] bool is_largest() const { return is_largest_; }
  /// What the run decides under that name, now: in [least, most].
  [[nodiscard]] std::int64_t decide(const std::string& name, std::int64_t least, std::int64_t most) const;
  [[nodiscard]] ElementName fresh() { return ++names_; }
  /// The round of the loops that are running.
  std::vector<std::int64_t> rounds{};
  /// By tensor, the largest extents that it ever had.
  std::map<std::string, Shape> largest{};
  /// By tensor, the axes that were of different extents in this run.
  std::map<std::string, std::vector<bool>> varying{};
  /// Bytes that a node's output has from an input, at most, by the output's name.
  std::map<std::string, std::map<std::size_t, std::size_t>> moved{};
  void record(const std::string& name, const Shape& shape);

 private:
  std::uint64_t seed_;
  bool is_largest_;
  ElementName names_ = 0;
};

inline constexpr std::int64_t most_elements = 600;

[[nodiscard]] std::int64_t elements_of(const Shape& shape);

/// What an operator without bodies makes, by the standards. Throws Misfit.
[[nodiscard]] std::vector<Made> evaluate(const OpenNode& node, const std::vector<const OpenValue*>& inputs,
                                         World& world);

/// Calls `visit(index)` for every element of the shape in row-major order.
template <typename Visit>
void for_each_index(const Shape& shape, Visit visit) {
  if (elements_of(shape) == 0) return;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (;;) {
    visit(index);
    std::size_t axis = shape.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace stowage::campaign
