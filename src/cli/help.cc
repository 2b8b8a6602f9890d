#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <vector>

#include "base/nearest.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/option_table.h"

namespace stowage::cli {
namespace {

/// A name, and its description in lines of at most 100 letters behind it.
std::string laid_out(std::string name, std::string_view description) {
  constexpr std::size_t column = 26;
  constexpr std::size_t width = 100;
  name = "  " + name;
  std::string text = name + (name.size() < column ? std::string(column - name.size(), ' ')
                                                  : "\n" + std::string(column, ' '));
  std::size_t used = column;
  for (const std::string_view word : base::split(description, ' ')) {
    const bool is_first = used == column;
    if (!is_first && used + 1 + word.size() > width) {
      text += "\n" + std::string(column, ' ');
      used = column;
    } else if (!is_first) {
      text += ' ';
      ++used;
    }
    text += word;
    used += word.size();
  }
  return text + "\n";
}

class WrappedHelp : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string takes = option->get_items_expected_min() > 0 && !is_positional ? " VALUE" : "";
    return laid_out(make_option_name(option, is_positional) + takes, make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return laid_out(command->get_name(), command->get_description());
  }
};

class ShortHelp : public WrappedHelp {
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
      others += laid_out(group, fmt::format("{}", fmt::join(names, " ")));
    }
    return make_description(app) + make_usage(app, name) + make_positionals(app) + first +
           "\nMore, which --help-all describes:\n" + others;
  }
};

}  // namespace

void use_wrapped_help(CLI::App& app) { app.formatter(std::make_shared<WrappedHelp>()); }

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

std::string missing_in(const CLI::App& app) {
  const auto given = app.get_subcommands();
  if (given.empty()) return "there is no command, expected one, for instance `stowage plan model.onnx`";
  for (const CLI::Option* const option : given[0]->get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    return fmt::format("{} needs {}: {}", given[0]->get_name(), option->get_name(),
                       option->get_description());
  }
  return "";
}

std::string advice_for(const CLI::App& app, const std::vector<std::string>& arguments) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto given = app.get_subcommands();
  if (given.empty()) {
    if (arguments.empty() || arguments[0].starts_with('-')) return "";
    std::vector<std::string> names;
    for (const CLI::App* const it : commands) names.push_back(it->get_name());
    std::error_code ignored;
    if (std::filesystem::exists(arguments[0], ignored))
      return fmt::format("{} is a file, expected a command first: `stowage plan {}`",
                         base::quoted(arguments[0]), base::visible(arguments[0]));
    return fmt::format("there is no command {}{}", base::quoted(arguments[0]),
                       base::did_you_mean(arguments[0], names));
  }
  for (const std::string& text : app.remaining(true)) {
    if (!text.starts_with('-') || text == "-") continue;
    std::vector<std::string> names;
    for (const CLI::App* const it : std::array<const CLI::App*, 2>{given[0], &app}) {
      for (const CLI::Option* const option : it->get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::string name = text.substr(0, text.find('='));
    return fmt::format("{} has no option {}{}", given[0]->get_name(), base::quoted(name),
                       base::did_you_mean(name, names));
  }
  std::vector<std::string> more;
  for (const std::string& text : app.remaining(true)) more.push_back(base::quoted(text));
  if (more.empty()) return "";
  return fmt::format("{} takes no more files, got {}", given[0]->get_name(), fmt::join(more, ", "));
}

std::string mismatch_in(const CLI::App& app, const CLI::ArgumentMismatch& error) {
  const std::string problem = error.what();
  const std::string name = problem.substr(0, problem.find(':'));
  const auto given = app.get_subcommands();
  for (const CLI::App* const it : {given.empty() ? &app : given[0], &app}) {
    for (const CLI::Option* const option : it->get_options()) {
      if (option->get_name() != name) continue;
      if (option->count() > 1)
        return fmt::format("{} is given {} times, expected once", name, option->count());
      return fmt::format("{} needs a value: {}", name, option->get_description());
    }
  }
  return "";
}

}  // namespace stowage::cli
