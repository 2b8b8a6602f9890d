// Completion for shells, and the manual page: all that the command's options say of themselves, in other forms.

#include "cli/shells.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <ostream>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/option_table.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/version.h"

namespace stowage::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const it : commands_of(app)) names.push_back(it->get_name());
  return names;
}

/// The options that are not of an earlier version; those of the program come with each command.
std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return option->nonpositional() && option->get_group() != still_accepted;
  });
}

std::vector<std::string> names_of(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : options)
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyInfo& it : strategies()) names.emplace_back(it.name);
  return names;
}

/// In single quotes, as all three shells read them.
std::string single_quoted(std::string_view text) {
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

/// Up to the first sentence's end.
std::string_view first_sentence(std::string_view text) { return text.substr(0, text.find(". ")); }

void write_bash(const CLI::App& app, std::ostream& out) {
  const std::vector<std::string> commands = command_names(app);
  const std::vector<std::string> own = names_of(options_of(app));
  fmt::print(
      out,
      "# Completion of stowage for bash, made by `stowage completion bash`.\n_stowage() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= words= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    [[ ${{COMP_WORDS[i]}} == -* ]] || {{ command=${{COMP_WORDS[i]}}; break; }}\n  done\n"
      "  case $command in\n    '') words='{} {}' ;;\n    help) words='{}' ;;\n"
      "    completion) words='bash zsh fish' ;;\n",
      fmt::join(commands, " "), fmt::join(own, " "), fmt::join(commands, " "));
  for (const CLI::App* const it : commands_of(app)) {
    if (it->get_name() != "help" && it->get_name() != "completion")
      fmt::print(out, "    {}) words='{} --quiet' ;;\n", it->get_name(),
                 fmt::join(names_of(options_of(*it)), " "));
  }
  fmt::print(out,
             "  esac\n  if [[ $before == --strategy ]]; then\n    words='{}'\n"
             "  elif [[ -n $command && $command != help && $command != completion && $word != -* ]]; then\n"
             "    words=\n  fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\n"
             "complete -o bashdefault -o default -F _stowage stowage\n",
             fmt::join(strategy_names(), " "));
}

/// A word with its description: 'plan:Plan memory'.
std::string described(std::string_view word, std::string_view help) {
  std::string escaped;
  for (const char letter : word) escaped += letter == ':' ? std::string("\\:") : std::string(1, letter);
  return single_quoted(fmt::format("{}:{}", escaped, first_sentence(help)));
}

void write_zsh(const CLI::App& app, std::ostream& out) {
  fmt::print(out,
             "#compdef stowage\n# Made by `stowage completion zsh`.\n_stowage() {{\n"
             "  local -a commands options\n  commands=(\n");
  for (const CLI::App* const it : commands_of(app))
    fmt::print(out, "    {}\n", described(it->get_name(), it->get_description()));
  fmt::print(out,
             "  )\n  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
             "    _describe -t commands command commands\n    return\n  fi\n"
             "  if [[ $words[CURRENT-1] == --strategy ]]; then\n    compadd {}\n    return\n  fi\n"
             "  case $words[2] in\n    completion) compadd bash zsh fish; return ;;\n",
             fmt::join(strategy_names(), " "));
  for (const CLI::App* const it : commands_of(app)) {
    fmt::print(out, "    {}) options=(\n", it->get_name());
    for (const CLI::Option* const option : options_of(*it))
      for (const std::string& name : option->get_lnames())
        fmt::print(out, "      {}\n", described("--" + name, option->get_description()));
    fmt::print(out, "      '--quiet:No summary, notes and progress' ) ;;\n");
  }
  fmt::print(
      out,
      "  esac\n  if [[ $words[CURRENT] == -* ]]; then _describe -t options option options; else _files; fi\n"
      "}}\n_stowage \"$@\"\n");
}

void write_fish(const CLI::App& app, std::ostream& out) {
  fmt::print(out, "# Completion of stowage for fish, made by `stowage completion fish`.\n");
  for (const CLI::App* const it : commands_of(app))
    fmt::print(out, "complete -c stowage -n __fish_use_subcommand -a {} -d {}\n", it->get_name(),
               single_quoted(first_sentence(it->get_description())));
  fmt::print(out,
             "complete -c stowage -l quiet -d 'No summary, notes and progress'\n"
             "complete -c stowage -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
             "complete -c stowage -f -n '__fish_seen_subcommand_from help' -a '{}'\n",
             fmt::join(command_names(app), " "));
  for (const CLI::App* const it : commands_of(app)) {
    for (const CLI::Option* const option : options_of(*it)) {
      for (const std::string& name : option->get_lnames()) {
        const bool takes_value = option->get_items_expected_min() > 0;
        fmt::print(out, "complete -c stowage -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n",
                   it->get_name(), name, takes_value ? " -r" : "",
                   name == "strategy" ? fmt::format(" -a '{}'", fmt::join(strategy_names(), " ")) : "",
                   single_quoted(first_sentence(option->get_description())));
      }
    }
  }
}

/// Text that roff takes for nothing else.
std::string roff(std::string_view text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char letter : text)
    result += letter == '\\'  ? std::string("\\e")
              : letter == '-' ? std::string("\\-")
                              : std::string(1, letter);
  return result;
}

void write_options(const CLI::App& app, std::ostream& out) {
  for (const CLI::Option* const option : options_of(app)) {
    std::vector<std::string> names;
    for (const std::string& name : option->get_snames()) names.push_back("\\fB" + roff("-" + name) + "\\fR");
    for (const std::string& name : option->get_lnames()) names.push_back("\\fB" + roff("--" + name) + "\\fR");
    const bool takes_value = option->get_items_expected_min() > 0;
    fmt::print(out, ".TP\n{}{}\n{}\n", fmt::join(names, ", "), takes_value ? " \\fIVALUE\\fR" : "",
               roff(option->get_description()));
  }
}

}  // namespace

void write_completion(const CLI::App& app, const std::string& shell, std::ostream& out) {
  if (shell == "bash") return write_bash(app, out);
  if (shell == "zsh") return write_zsh(app, out);
  if (shell == "fish") return write_fish(app, out);
  throw UsageError(fmt::format("completion is for {}, expected bash, zsh or fish", base::quoted(shell)));
}

void write_manual(const CLI::App& app, std::ostream& out) {
  fmt::print(
      out,
      ".TH STOWAGE 1 \"\" \"stowage {}\" \"User Commands\"\n.SH NAME\nstowage \\- {}\n.SH SYNOPSIS\n"
      ".B stowage\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] \\fIFILE\\fR...\n.SH DESCRIPTION\n"
      "Gives every tensor of a neural network an offset in memory, and checks, shows and runs such plans.\n"
      "A file may be \\fB\\-\\fR: standard input or output.\n.SH OPTIONS\n",
      version, "static memory planner for neural networks");
  write_options(app, out);
  fmt::print(out, ".SH COMMANDS\n");
  for (const CLI::App* const it : commands_of(app)) {
    fmt::print(out, ".SS {}\n{}.\n", roff(it->get_name()), roff(it->get_description()));
    write_options(*it, out);
  }
  fmt::print(out,
             ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\na capacity or budget is exceeded, or a fault is found\n"
             ".TP\n2\nwrong usage\n.TP\n3\nan input is rejected\n.TP\n4\na bug in stowage\n"
             ".TP\n5\nan output cannot be written\n");
}

}  // namespace stowage::cli
