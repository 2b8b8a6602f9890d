#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/turning_sizes.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// As many readings as are held in memory at a time.
constexpr std::size_t readings_at_once = 256;

/// True if the size is a range of several numbers.
[[nodiscard]] bool is_range(const GivenSize& size);

/// The size as a promise that it is exactly, or at most, its largest; what is at most a range stays that range.
[[nodiscard]] GivenSize exactly(const GivenSize& size);
[[nodiscard]] GivenSize at_most(const GivenSize& size);

/// Throws UsageError if the largest size is not whole steps from the smallest. `flag` and `name` are those of the option.
void expect_steps(std::string_view flag, const std::string& name, const GivenSize& size);

/// True if a given size is a range of several numbers.
[[nodiscard]] bool has_ranges(const ImportOptions& options);

/// Whether both have the same ranges: then the network computes no size that is given as at most.
[[nodiscard]] bool have_same_ranges(const ImportOptions& a, const ImportOptions& b);

/// The options with every size exactly its largest.
[[nodiscard]] ImportOptions at_largest(const ImportOptions& options);

/// A number below `count` that looks random, another one in each reading of a model. It decides what only a run
/// decides: how many rounds a loop has, and which branch is taken.
[[nodiscard]] std::size_t draw(std::size_t reading, TensorId tensor, std::size_t count);

/// Reads a model at exact sizes, says whether it drew something, and notes what it holds against each other. Throws Error
/// where the model rejects them.
using ReadAt = std::function<bool(const ImportOptions& exact, Turns& turns)>;

/// Calls `read_at` with the largest sizes, a few times, if `is_drawn`; and with exact sizes out of the ranges, all of them
/// if the options want that; else always the same ones, none of them the largest, until enough of them are accepted. If they are few, those at which something
/// is drawn are read again. Then come sizes at which the model says that it may change: see turning_sizes.h. Throws Error if the model rejects all of these sizes. The result is for a note: which of them it
/// rejects, and that all were read. It is empty if something is drawn, which may be why it rejects some.
[[nodiscard]] std::string read_at_others(const ImportOptions& options, bool is_drawn, Turns turns_of_largest,
                                         const ReadAt& read_at);

/// Adds to the notes of a model, which are one text.
void add_note(const std::string& note, std::string& notes);

/// The graph of the largest sizes, as it holds for the sizes of the others, too: extents that differ are
/// open, copies at offsets that differ are gone, and so is what else one of the others contradicts. All graphs
/// are of one model and have the same operators and folded results. What was open stays open, so others may be
/// given a few at a time. Throws Error for a tensor that is largest elsewhere.
[[nodiscard]] Graph hold_for_all(Graph largest, std::span<const Graph> others);

}  // namespace stowage::import
