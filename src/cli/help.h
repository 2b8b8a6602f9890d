#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace stowage::cli {

/// Helps with lines of at most 100 letters.
void use_wrapped_help(CLI::App& app);

/// Gives a command two helps: --help has the options that are used most, and the names of all others by their groups;
/// --help-all describes them all.
void use_short_help(CLI::App& app);

/// Says on standard error what to write instead of options of an earlier version, if there are any.
void note_accepted(const CLI::App& app);

/// What the command that was given lacks: a command, a file or an option.
[[nodiscard]] std::string missing_in(const CLI::App& app);

/// What is wrong with a command line that was not understood, and what was probably meant: an unknown command or
/// option, or too many files. Empty: nothing more is known.
[[nodiscard]] std::string advice_for(const CLI::App& app, const std::vector<std::string>& arguments);

/// Which option has no value, or several. Empty: nothing more is known.
[[nodiscard]] std::string mismatch_in(const CLI::App& app, const CLI::ArgumentMismatch& error);

}  // namespace stowage::cli
