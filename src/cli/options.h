#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage::cli {

/// Texts of the options that say what a model leaves open, as given.
struct ModelTexts {
  std::vector<std::string> dims;
  std::vector<std::string> shapes;
  std::vector<std::string> bounds;
  std::vector<std::string> states;
  std::string scratch;

  [[nodiscard]] bool is_any_given() const;
};

/// Texts of the options that say how to plan, as given.
struct PlanTexts {
  std::string strategy = "auto";
  std::string io = "arena";
  std::string alias = "auto";
  std::vector<std::string> memories;
  std::string capacity;
  std::string align;
  std::string time_limit;
  std::string threads;
  std::string seed;
  std::string reuse_threshold;
  std::string sort;
  std::string rounds;
};

/// Throw UsageError, naming the option and what was expected.
[[nodiscard]] ImportOptions parse_model_options(const ModelTexts& texts);
[[nodiscard]] PlanOptions parse_plan_options(const PlanTexts& texts);

}  // namespace stowage::cli
