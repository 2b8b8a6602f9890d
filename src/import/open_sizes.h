#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "import/turning_sizes.h"
#include "stowage/error.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/open_sizes.h"

namespace stowage::import {

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

/// The error of a model at the largest sizes, which it names if they are of ranges.
[[nodiscard]] Error at_largest_in_words(const Error& error, const ImportOptions& options);

/// What `read` returns, which reads a model at the largest sizes; its errors name them.
template <typename Read>
auto read_at_largest(const ImportOptions& options, const Read& read) {
  try {
    return read();
  } catch (const OpenSizesError&) {
    throw;  // of sizes that are not given
  } catch (const Error& error) {
    throw at_largest_in_words(error, options);
  }
}

/// Reads a model at exact sizes, says whether it drew something, and notes what it holds against each other. Throws Error
/// where the model rejects them.
using ReadAt = std::function<bool(const ImportOptions& exact, Turns& turns)>;

/// Calls `read_at` with the largest sizes, a few times, if `is_drawn`; and with exact sizes out of the ranges, all of them
/// if the options want that; else always the same ones, none of them the largest, until enough of them are accepted. If
/// they are few, those at which something is drawn are read again. Then come sizes at which the model says that it may
/// change: see turning_sizes.h. Throws Error if the model rejects all of these sizes. The result is for a note: which of
/// them it rejects, and that all were read. It is empty if something is drawn, which may be why it rejects some.
[[nodiscard]] std::string read_at_others(const ImportOptions& options, bool is_drawn, Turns turns_of_largest,
                                         const ReadAt& read_at);

/// Adds to the notes of a model, which are one text.
void add_note(const std::string& note, std::string& notes);

}  // namespace stowage::import
