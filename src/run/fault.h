#pragma once

#include <string>

namespace stowage::run {

/// Thrown inside a run for what is wrong with the plan; ends up in RunResult::fault.
struct Fault {
  std::string what{};
};

}  // namespace stowage::run
