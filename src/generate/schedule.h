#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generate/sources.h"
#include "stowage/plan.h"

namespace stowage::generate {

/// A tensor that the caller hands over or takes, row block by row block.
struct Port {
  TensorId tensor = 0;
  bool is_input = true;
  std::optional<std::size_t> axis{};  ///< None: as a whole.
};

/// The steps of a plan as numbers: first of the operators, then of the ports, then of all pauses. The k-th step of a number is its row
/// block k, unless it repeats some.
struct Schedule {
  std::int64_t granule = 1;  ///< Rows of a row block.
  std::vector<StepKind> operators{};
  std::vector<Port> ports{};
  bool has_pauses = false;
  std::vector<std::size_t> steps{};
  std::vector<Position> positions{};  ///< Of the steps, in the plan.
  /// The row blocks that copies of a tensor move, by their number: the k-th step moves block moved[k].
  std::map<std::size_t, std::vector<std::uint16_t>> moved{};
  /// Operators that compute some row blocks again, in parts, or not in their order, by their index in the subgraph. For these
  /// the k-th step is row block blocks[k].
  std::map<std::size_t, Repeats> repeats{};

  /// How many numbers there are.
  [[nodiscard]] std::size_t kinds() const { return operators.size() + ports.size() + (has_pauses ? 1 : 0); }
  /// The C type that counts steps of an operator or port.
  [[nodiscard]] std::string counter() const;
  /// Leaves those steps, by their index, that are to be kept.
  void keep_steps(const std::vector<std::size_t>& kept);
};

/// Throws Error if the plan has steps that cannot be generated.
[[nodiscard]] Schedule schedule_of(const Network& network, const Plan& plan);

/// Steps [first, first + length) of a table, so many times.
struct Period {
  std::size_t first = 0;
  std::size_t length = 1;
  std::size_t times = 1;
};

/// A sequence of numbers as repeated pieces of a table.
struct PeriodicTable {
  std::vector<std::size_t> numbers{};
  std::vector<Period> periods{};
};

[[nodiscard]] PeriodicTable periodic(const std::vector<std::size_t>& steps);

}  // namespace stowage::generate
