#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>
#include <vector>

#include "base/print.h"
#include "cli/option_table.h"

namespace stowage::cli {
namespace {

class ShortHelp : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (mode != CLI::AppFormatMode::Normal) return CLI::Formatter::make_help(app, name, mode);
    std::string first;
    std::string others;
    for (const std::string& group : app->get_groups()) {
      const auto options = app->get_options(
          [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
      if (options.empty() || group == still_accepted) continue;
      if (group == usual) {
        first = make_group(group, false, options);
        continue;
      }
      std::vector<std::string> names;
      for (const CLI::Option* const option : options) names.push_back(option->get_name());
      others += fmt::format("  {:<28}{}\n", group, fmt::join(names, " "));
    }
    return make_description(app) + make_usage(app, name) + make_positionals(app) + first +
           "\nMore, which --help-all describes:\n" + others;
  }
};

}  // namespace

void use_short_help(CLI::App& app) {
  app.set_help_all_flag("--help-all", "Print all options and exit");
  app.formatter(std::make_shared<ShortHelp>());
}

void note_accepted(const CLI::App& app) {
  const auto given = app.get_options(
      [](const CLI::Option* option) { return option->get_group() == still_accepted && option->count() > 0; });
  if (given.empty()) return;
  std::string advice;
  for (const CLI::Option* const option : given)
    advice += fmt::format("{}{} is now {}", advice.empty() ? "" : ", ", option->get_name(),
                          option->get_description());
  base::print(std::cerr, "stowage: note: {}; the old form still works in this version\n", advice);
}

}  // namespace stowage::cli
