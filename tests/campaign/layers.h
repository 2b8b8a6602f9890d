#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "case.h"
#include "random.h"
#include "stowage/graph.h"

namespace stowage::campaign {

/// What a random graph of whole operators may have.
struct LayersShape {
  std::string name = "net";
  std::int64_t operators = 6;
  bool with_state = true;
  bool with_bodies = true;
  bool with_weights = true;
};

[[nodiscard]] Graph random_layers(Random& random, const LayersShape& shape);

/// A graph whose operators can run row by row; at most so many operators, and rows of its inputs.
[[nodiscard]] Graph random_rows(Random& random, std::int64_t operators, std::int64_t most_rows);

/// Options that make sense for any graph.
void draw_common_options(Case& drawn, Random& random);

}  // namespace stowage::campaign
