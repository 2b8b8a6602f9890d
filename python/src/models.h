#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/given_plan.h"
#include "cli/options.h"
#include "stowage/import.h"
#include "stowage/network.h"

namespace stowage::python {

/// A model from Python: its name in options, the name of its file in messages, and its bytes if it is in memory.
/// The bytes belong to an object that the caller of the module holds.
struct Source {
  std::string name;
  std::string file;
  std::optional<std::string_view> content;
};

/// From a list of tuples (name, file, bytes or None).
[[nodiscard]] std::vector<Source> sources_from(const nanobind::list& models);

/// The options of the command, as texts.
struct Texts {
  cli::ModelTexts model;
  cli::PlanTexts plan;
};

/// From a dict: names of options with '_' for '-', values str, list of str, or True for a flag. The names are
/// known to be right.
[[nodiscard]] Texts texts_from(const nanobind::dict& options);

/// Names of all options, and for each whether it is a "text", a "list" of texts or a "flag".
[[nodiscard]] nanobind::list option_names();

/// The states that models share.
[[nodiscard]] std::vector<FeedNames> shared_states(const std::vector<Source>& sources,
                                                   const cli::ModelTexts& texts);

/// How much of the models a plan needs.
[[nodiscard]] bool plans_weights(const std::vector<Memory>& memories);

/// The models for a plan: with constants, or with rows, where it needs them.
[[nodiscard]] std::vector<Input> read_inputs(const std::vector<Source>& sources, const cli::ModelTexts& texts,
                                             bool constants, bool rows);

/// The sizes that the options give within those of a plan; what they leave open is as in the plan.
[[nodiscard]] cli::WantedSizes wanted_sizes(const cli::GivenPlan& given, const std::vector<Source>& sources,
                                            const cli::ModelTexts& texts);

/// Throws UsageError for a state that models share, but not in the plan.
void expect_states(const Plan& plan, const std::vector<Source>& sources, const cli::ModelTexts& texts);

/// The models with all that it takes to run them.
[[nodiscard]] std::vector<Network> read_networks(const std::vector<Source>& sources,
                                                 const cli::ModelTexts& texts);

}  // namespace stowage::python
