#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "stowage/graph.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Why a search for rows has ended without a plan by rows.
enum class WithoutRows : std::uint8_t {
  fits,  ///< Whole operators fit the capacity.
  cut,   ///< Time is up.
  stopped,
  not_lower  ///< No plan by rows needs less.
};

/// A plan of whole operators does without the rows that the options ask for.
void leave_rows_out(const PlanOptions& options, WithoutRows reason, Plan& plan);
/// The same for another reason, and what would help.
void leave_rows_out(const PlanOptions& options, std::string why, std::string help, Plan& plan);

/// Axes, blocks or steps of fewer rows (`wish`) that a search which ended too early has not tried.
[[nodiscard]] LeftOut untried(const PlanOptions& options, Wish wish);
/// Steps of fewer rows, which read more rows than can be unrolled.
[[nodiscard]] LeftOut too_many_reads();
/// Choices of blocks with more iterations than can be ordered and placed.
[[nodiscard]] LeftOut too_many_blocks(std::int64_t iterations);

/// Notes what else a plan by rows does without: rows of inputs and outputs, rows that are computed again.
void note_left_out(const PlanOptions& options, std::span<const Graph> networks, Plan& plan);

}  // namespace stowage::plan
