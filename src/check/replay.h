#pragma once

#include <optional>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A tensor's bytes must be kept from when they are written to after their last reading.
struct Need {
  TensorId tensor = 0;
  Lifetime life{};
  bool is_given = false;  ///< Handed over before the operator at `life.lower` runs, not written by it.
  bool is_read = false;
  bool is_written_over = false;  ///< By the operator at `life.upper`, which reads it first.
  const View* view = nullptr;    ///< Where the plan meets it; null if nowhere.
};

/// An input's need that ends at `at`, if the output is written over it, and else after that.
struct Update {
  std::size_t read = 0;  ///< Index in Played::needs.
  std::size_t written = 0;
  Position at = 0;
};

/// An operator passes on bytes, in one of its runs.
struct PassedOn {
  const Operator* op = nullptr;
  std::size_t copy = 0;               ///< Index in Operator::copies.
  std::optional<std::size_t> read{};  ///< Index in Played::needs; none if the input has none.
  std::optional<std::size_t> written{};
};

struct Played {
  std::vector<Need> needs{};
  std::vector<Update> updates{};  ///< In the order of the run.
  std::vector<PassedOn> copies{};
};

/// Plays the plan's steps back on the network they are of; faults where they are not steps of it.
[[nodiscard]] Played replay(const Graph& graph, std::size_t model, const Clock& clock, Faults& faults);

}  // namespace stowage::check
