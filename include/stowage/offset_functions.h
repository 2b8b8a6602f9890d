/// Example: two buffers that grow with `n`, one above the other.
///
///     using namespace stowage;
///     OffsetFunctions functions;
///     functions.symbols = {{.name = "n", .least = 1, .most = 100}};
///     functions.terms = {{.kind = SizeTerm::Kind::symbol, .parts = {{0}}},
///                        {.kind = SizeTerm::Kind::product, .parts = {{0}}, .number = 64}};
///     functions.sizes = {1, 1};
///     functions.relations = {{{}, {0}}};
///     const OffsetsAt at = offsets_at(functions, std::vector<std::int64_t>{10});
///     return at.offsets[1] == 640 && at.peak == 1280 ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage {

/// One step of a computation of sizes, in whole numbers. It uses results of earlier steps only.
struct SizeTerm {
  enum class Kind : std::uint8_t {
    symbol,    ///< The symbol with the number of the only part.
    sum,       ///< number + the sum of factor * part.
    product,   ///< number * the product of all parts.
    quotient,  ///< The only part / number, rounded down. The part is never negative, the number positive.
    least,     ///< The least of number and all parts.
    greatest   ///< The greatest of number and all parts.
  };
  struct Part {
    std::size_t term = 0;     ///< A number of an earlier term.
    std::int64_t factor = 1;  ///< Only in sums.

    bool operator==(const Part&) const = default;
  };

  Kind kind = Kind::sum;
  std::vector<Part> parts{};
  std::int64_t number = 0;

  bool operator==(const SizeTerm&) const = default;
};

[[nodiscard]] std::string_view name_of(SizeTerm::Kind kind);
[[nodiscard]] std::optional<SizeTerm::Kind> size_term_kind_named(std::string_view name);

/// For each buffer the buffers right below it. Buffers that live at the same time are on one way upwards, so they are
/// apart whatever their sizes are.
using Relation = std::vector<std::vector<std::size_t>>;

/// Offsets of all buffers of a plan for a range of sizes, as functions of the sizes. A buffer begins where the highest
/// of those right below it ends, or at 0.
struct OffsetFunctions {
  std::vector<SizeSymbol> symbols{};
  std::vector<SizeTerm> terms{};
  /// The term of each buffer's size: a multiple of all alignments of buffers, and at least the bytes of its tensors.
  std::vector<std::size_t> sizes{};
  std::vector<Relation> relations{};  ///< At least one; at given sizes the one with the lowest peak counts.

  bool operator==(const OffsetFunctions&) const = default;
};

/// What the search for functions has found out.
struct OffsetFunctionsReport {
  std::int64_t readings = 0;   ///< Sizes at which the model was read.
  bool is_every_size = false;  ///< These are all sizes of the ranges that the model accepts.
  std::int64_t tried = 0;      ///< Sizes at which peaks were compared with live bytes.
  double worst = 1;  ///< The greatest peak at these, as a multiple of the most live bytes of a step.
  std::vector<std::int64_t> worst_at{};  ///< Values of the symbols.
};

/// Offsets at some sizes.
struct OffsetsAt {
  std::size_t relation = 0;
  std::vector<Bytes> sizes{};    ///< Of each buffer.
  std::vector<Bytes> offsets{};  ///< Of each buffer.
  Bytes peak = 0;
};

/// One value for each symbol. Throws UsageError for one that is not in the range.
[[nodiscard]] OffsetsAt offsets_at(const OffsetFunctions& functions, std::span<const std::int64_t> values);

/// The network of a range of sizes at some of them: with the tensors of the same model read at these sizes, and all
/// operators of the range; the other reading may have folded some. Throws UsageError if the numbers of these differ.
[[nodiscard]] Graph graph_at(Graph range, const Graph& exact);

/// Reads the model at exact sizes, one for each symbol. Throws Error for sizes that the model rejects.
using ReadAtSizes = std::function<Graph(std::span<const std::int64_t> values)>;

/// At which sizes functions are held against the model: 20 of them, or each, of which there may be 65536 at most.
enum class HeldAgainst : std::uint8_t { some, each };

struct FoundFunctions {
  OffsetFunctions functions{};
  OffsetFunctionsReport report{};
};

/// Makes the copies of a network for a range whose places move with the sizes. In plans for it each tensor has one offset
/// in its buffer, as functions and tables in C have.
void keep_in_place(Graph& range);

/// Finds functions for a plan that holds for all sizes of the ranges, as `range` was read. Sizes are found from about a hundred readings of
/// the model, and held against others; that is evidence, not proof, unless the report says that it was every size.
/// What lies above what is searched for all sizes at once, and is right whatever the sizes are. Throws Error where
/// sizes follow no function that is known, and UsageError for a plan of several models or memories, by rows, or with
/// views that move (keep_in_place), and for more sizes than may each be tried.
[[nodiscard]] FoundFunctions find_offset_functions(const Plan& plan, const Graph& range,
                                                   std::vector<SizeSymbol> symbols, const ReadAtSizes& read,
                                                   const SolveOptions& options,
                                                   HeldAgainst held_against = HeldAgainst::some);

/// A plan for ranges of sizes, and its functions.
struct PlanWithFunctions {
  FoundFunctions found{};
  PlanResult planned{};
};

/// Functions for `first`, a plan of one model for ranges of sizes, as `range` was read; or for a plan in another order,
/// where that needs less at sizes that the order was not made for, and no more at the largest. About a dozen sizes are
/// planned alone to see that. Throws as `find_offset_functions`.
[[nodiscard]] PlanWithFunctions find_plan_with_functions(const Input& range, PlanResult first,
                                                         const ReadAtSizes& read, const PlanOptions& options,
                                                         HeldAgainst held_against = HeldAgainst::some);

/// The plan at some sizes, and the network at these: tensors are those of `at`, and buffers have the sizes and offsets
/// of the functions. It is a plan like others, for this network.
[[nodiscard]] Plan plan_at(const Plan& plan, const OffsetFunctions& functions,
                           std::span<const std::int64_t> values, const Graph& at);

/// A plan with constant offsets at some of its sizes: tensors are those of `at`, buffers stay as they are. Throws
/// UsageError for a plan of several models, by rows, in slots, or with a memory for weights.
[[nodiscard]] Plan plan_at(const Plan& plan, const Graph& at);

/// Checks that the functions belong to the plan and that buffers of one time are apart at all sizes.
[[nodiscard]] Faults check_offset_functions(const Plan& plan, const OffsetFunctions& functions);

/// "64*n", "floor((h + 31) / 32)": a term in words.
[[nodiscard]] std::string text_of(const OffsetFunctions& functions, std::size_t term);

/// Writes the plan with its functions as JSON. Other readers of plans see the plan for the whole range.
void write_json(const Plan& plan, const OffsetFunctions& functions, std::ostream& out);

/// The functions of plan JSON; none if it has none. Throws Error as `parse_plan`.
[[nodiscard]] std::optional<OffsetFunctions> parse_offset_functions(std::string_view json);

/// Writes a C function that computes all offsets: `NAME_plan`.
void write_c_functions(const Plan& plan, const OffsetFunctions& functions, const std::string& prefix,
                       std::ostream& out);

}  // namespace stowage
