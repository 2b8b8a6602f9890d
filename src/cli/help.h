#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace stowage::cli {

/// Gives a command two helps: --help has the options that are used most, and the names of all others by their groups;
/// --help-all describes them all.
void use_short_help(CLI::App& app);

/// Says on standard error what to write instead of options of an earlier version, if there are any.
void note_accepted(const CLI::App& app);

}  // namespace stowage::cli
