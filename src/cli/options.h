#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/run.h"
#include "stowage/sweep.h"

namespace stowage::cli {

/// Texts of the options for values that a model leaves open, as given.
struct ModelTexts {
  std::vector<std::string> dims;
  std::vector<std::string> shapes;
  std::vector<std::string> bounds;
  std::vector<std::string> values;
  std::vector<std::string> states;
  std::string scratch;
  std::vector<std::string> joins{};
  bool every_size = false;
  std::vector<std::string> inputs{};  ///< Names of inputs that a run is given.

  [[nodiscard]] bool is_any_given() const;
};

/// For options of models where no model is given.
[[nodiscard]] UsageError needs_model();

/// Texts of the planning options, as given.
struct PlanTexts {
  std::string strategy{};  ///< NAME[:KEY=VALUE,...]; empty: auto.
  std::string io = "arena";
  std::string order;  ///< Empty: search, where nothing forbids it.
  std::string alias = "auto";
  bool moves = false;
  std::string stream{};  ///< "all", or operators, separated by commas.
  std::string axes{};
  std::string blocks{};
  std::string granule;
  std::string recompute;
  std::string layout;
  std::vector<std::string> memories;
  std::string device{};  ///< A name or a file.
  std::string capacity;
  std::string align;
  std::string time_limit;
  std::string effort;
  std::string threads;
  std::string seed;
  std::string reuse_threshold;
  std::string sort;
  std::string rounds;
  std::string run;
  std::vector<std::string> feeds;
  std::vector<std::string> released;
  std::vector<std::string> places{};
  std::string near{};  ///< A plan file.
  std::string banks{};

  bool operator==(const PlanTexts&) const = default;
};

/// Texts of the running options, as given.
struct RunTexts {
  std::string kernels = "fast";
  std::string check;
  std::string random_weights;
  std::vector<std::string> inputs;
};

/// Throw UsageError that names the option and what was expected.
[[nodiscard]] ImportOptions parse_model_options(const ModelTexts& texts);
[[nodiscard]] std::vector<FeedNames> parse_joins(const ModelTexts& texts);
/// A plan file (JSON). Throws Error that names it.
[[nodiscard]] Plan read_plan(const std::string& file);
/// Whether a plan file has plans for several sizes.
[[nodiscard]] bool has_buckets(std::string_view file);
[[nodiscard]] PlanOptions parse_plan_options(const PlanTexts& texts);
/// For commands that try all strategies: the strategy is one to tune.
[[nodiscard]] PlanOptions parse_options_of_all(const PlanTexts& texts);
/// The size of one memory is a range, A..B. If it is the only one to plan in, a slow unlimited one follows
/// it.
[[nodiscard]] SweepOptions parse_sweep_options(const PlanTexts& texts);
/// All but the inputs: `parse_inputs` reads these. The seed is that of planning.
[[nodiscard]] RunOptions parse_run_options(const RunTexts& texts, std::uint64_t seed);

/// The arrays of texts NAME=FILE (--input).
[[nodiscard]] std::map<std::string, Array> parse_inputs(const std::vector<std::string>& texts);

/// NAME=VALUE. Tensor names may contain '=' themselves; values never do.
[[nodiscard]] std::pair<std::string, std::string> parse_assignment(std::string_view flag,
                                                                   const std::string& text);

}  // namespace stowage::cli
