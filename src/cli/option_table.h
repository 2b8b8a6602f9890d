#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/options.h"

namespace stowage::cli {

/// Where the text of an option goes. A flag takes no value.
using Field =
    std::variant<std::string PlanTexts::*, std::vector<std::string> PlanTexts::*, bool PlanTexts::*,
                 std::string ModelTexts::*, std::vector<std::string> ModelTexts::*, bool ModelTexts::*>;

/// An option that decides a plan, of all commands that plan and of the Python package.
struct OptionRow {
  std::string_view name;  ///< "time-limit": --time-limit of the command, time_limit of Python.
  Field field;
  std::string_view group;  ///< The heading in help; the options that are used most have `usual`.
  std::string_view help;
  bool is_for_tflm = true;  ///< Whether `stowage tflm` has it.
};

/// Groups of help. Options of `still_accepted` are of an earlier version; their help is what to write instead.
constexpr std::string_view usual = "Options";
constexpr std::string_view still_accepted = "Still accepted";

/// All of them, those for models included.
[[nodiscard]] std::span<const OptionRow> planning_options();

/// Those that say what a model leaves open.
[[nodiscard]] std::span<const OptionRow> model_options();

}  // namespace stowage::cli
