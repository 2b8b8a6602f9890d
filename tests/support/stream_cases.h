#pragma once

#include <optional>
#include <random>
#include <vector>

#include "stream/model.h"
#include "stream/program.h"

/// Random models over rows, and what is obviously right about them: everything is found by looking at each
/// row of each access again and again.
namespace stowage::testing {

struct ModelShape {
  int operators = 6;
  int rows = 8;  ///< Of a tensor at most.
  bool is_chain = false;
  bool carries = false;  ///< Some operators read their rows twice, or carry a state.
};

/// Operators over random windows (stride, dilation, padding, granule), sums, wholes and joins.
[[nodiscard]] stream::RowModel random_model(std::mt19937_64& random, const ModelShape& shape);

/// A step of an operator.
struct NaiveStep {
  std::size_t op = 0;
  std::int64_t index = 0;

  bool operator==(const NaiveStep&) const = default;
};

struct NaiveReplay {
  bool is_legal = true;
  std::vector<Bytes> loads{};
  std::vector<std::int64_t> windows{};  ///< Most live granules, by tensor.
};

[[nodiscard]] NaiveReplay naive_replay(const stream::RowModel& model, const std::vector<NaiveStep>& steps);

/// The least peak of all legal orders with ascending rows: a shortest path over all states.
[[nodiscard]] Bytes least_peak(const stream::RowModel& model);

[[nodiscard]] std::vector<NaiveStep> naive_steps(const stream::RowProgram& program,
                                                 const std::vector<stream::IterationId>& order);

/// Any legal order.
[[nodiscard]] std::vector<stream::IterationId> random_order(const stream::RowProgram& program,
                                                            std::mt19937_64& random);

}  // namespace stowage::testing
