#pragma once

#include <cstdint>
#include <iosfwd>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "stowage/export.h"
#include "stowage/plan.h"

namespace stowage::exporting {

/// Macros of a header. All begin with the same capitals.
class Macros {
 public:
  Macros(std::string capitals, std::ostream& out) : capitals_(std::move(capitals)), out_(out) {}

  /// A repeated name gets a number.
  void define(const std::string& name, std::int64_t value);
  /// Bytes and hashes of the models' files; nothing without details.
  void define_files(const Plan& plan, std::span<const ModelDetails> details);
  /// Sizes and alignments of the memories.
  void define_memories(const Plan& plan);

 private:
  std::string capitals_;
  std::ostream& out_;
  std::set<std::string> names_{};
};

}  // namespace stowage::exporting
