#pragma once

#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>
#include <utility>

#include "stowage/plan.h"

namespace stowage::exporting {

/// Macros of a header. All begin with the same capitals.
class Macros {
 public:
  Macros(std::string capitals, std::ostream& out) : capitals_(std::move(capitals)), out_(out) {}

  /// A repeated name gets a number.
  void define(const std::string& name, std::int64_t value);
  /// Sizes and alignments of the memories.
  void define_memories(const Plan& plan);

 private:
  std::string capitals_;
  std::ostream& out_;
  std::set<std::string> names_{};
};

}  // namespace stowage::exporting
