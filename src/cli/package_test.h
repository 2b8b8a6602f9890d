#pragma once

#include <cstdint>
#include <string>

#include "stowage/generate.h"

namespace stowage::cli {

/// How the test of a package went on this machine.
struct PackageTest {
  enum class Verdict : std::uint8_t { passed, not_run, failed, interrupted };
  Verdict verdict = Verdict::not_run;
  std::string words{};  ///< Behind the verdict: " (cc)", ": why"; or what went wrong, in lines.
};

/// Compiles the package in a temporary folder, with $CC or the first of cc, gcc and clang that compiles programs for
/// this machine, and runs its test programs. All are to give what our own runner gave, bit for bit.
[[nodiscard]] PackageTest test_of(const Package& package);

}  // namespace stowage::cli
