/// The least cost of rows in a fast and a slow memory, by trying all orders of steps, all places and all moves: what
/// plan/rows.h and plan/row_moves.h look for. Live bytes say what fits, so it is a lower bound where offsets cost bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stowage/graph.h"
#include "stowage/options.h"

namespace stowage::oracle {

/// How many rows of an operator a step computes.
enum class StepRows : std::uint8_t {
  one,         ///< One.
  all,         ///< All of them.
  one_or_all,  ///< As an operator wants it.
  any          ///< So many as a step wants, one after the other.
};

/// Rows [begin, end) of an operator; operators of all networks are counted in order.
struct RowStep {
  std::size_t op = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct NaiveRows {
  Bytes capacity = 0;  ///< Of the fast memory.
  std::int64_t fast = 1;
  std::int64_t slow = 10;                 ///< The cost of a byte, as in `fast`.
  std::optional<std::int64_t> weights{};  ///< The same where steps read weights; none: these do not count.
  bool may_move = false;
  bool may_share = false;  ///< An output row of an elementwise operator may lie where its input row is.
  bool arrives_by_rows =
      false;  ///< Inputs come, and outputs go, row by row; else they are there all the time.
  StepRows steps = StepRows::any;
  std::vector<RowStep> order{};       ///< If there are any: these steps in this order, and no others.
  std::int64_t at_most = 0;           ///< What costs more is not wanted.
  std::size_t most_states = 400'000;  ///< Then the search gives up.
};

struct LeastCost {
  std::optional<std::int64_t> cost{};  ///< None: nothing costs at most so much, or the search was given up.
  bool is_given_up = false;
  std::string steps{};  ///< Those of a cheapest way, in words.
};

/// Of networks that run one after the other. Rows are along the height of images and come in ascending order. Not for
/// operators that sum up, copy bytes, or keep state.
[[nodiscard]] LeastCost least_cost_of_rows(std::span<const Graph> graphs, const NaiveRows& wanted);

}  // namespace stowage::oracle
