#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>

namespace stowage::cli {

/// Writes a script with which a shell completes commands, options, strategies and files. Throws UsageError for shells
/// other than bash, zsh and fish.
void write_completion(const CLI::App& app, const std::string& shell, std::ostream& out);

/// Writes the manual page in roff.
void write_manual(const CLI::App& app, std::ostream& out);

}  // namespace stowage::cli
