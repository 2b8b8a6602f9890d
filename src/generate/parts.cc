// What packages of several networks, and of one network at several sizes, have in common: each part has files of its own,
// kernels are there once, and so are weights with equal elements.

#include "generate/parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "generate/text.h"
#include "stowage/error.h"

namespace stowage::generate {
namespace {

/// Each word with this end, behind a space.
std::string listed(const std::vector<std::string>& words, std::string_view end = "") {
  std::string text;
  for (const std::string& word : words) text += fmt::format(" {}{}", word, end);
  return text;
}

std::string makefile_of(const std::vector<std::string>& names, const std::vector<std::string>& kernels,
                        const std::vector<std::string>& own_sources) {
  return fmt::format(
      "# make test    runs each model on this machine\n"
      "MODELS :={}\nSOURCES :={}{}{}{} $(wildcard *_extern.c)\n"
      "WARNINGS := -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror\n"
      "CFLAGS ?= -O2\n\n"
      "test: $(MODELS:%=%_test)\n\tfor model in $(MODELS); do ./$${{model}}_test || exit 1; done\n\n"
      "%_test: %_test.c $(SOURCES:.c=.o)\n\t$(CC) -std=c99 $(CFLAGS) $(WARNINGS) $^ -lm -o $@\n\n"
      "%.o: %.c\n\t$(CC) -std=c99 $(CFLAGS) $(WARNINGS) -c $< -o $@\n\n"
      "clean:\n\trm -f $(MODELS:%=%_test) $(SOURCES:.c=.o)\n\n.PHONY: test clean\n",
      listed(names), listed(own_sources), listed(names, ".c"), listed(names, "_weights.c"), listed(kernels));
}

}  // namespace

void Parts::add(const Network& network, const Plan& plan, const GenerateOptions& options) {
  if (std::ranges::find(names_, options.name) != names_.end())
    throw UsageError(fmt::format("two models have the name {} in C", options.name));
  Package package = package_with(network, plan, options, known_);
  for (GeneratedFile& file : package.files) {
    const bool is_source = file.path.starts_with(options.name) || file.path.starts_with("stowage_");
    if (is_source && paths_.insert(file.path).second) files_.push_back(std::move(file));
  }
  names_.push_back(options.name);
  packages_.push_back(std::move(package));
}

Bytes Parts::flash() const {
  Bytes flash = 0;
  for (const Package& it : packages_) flash += it.weights + it.control + it.layers;
  return flash;
}

std::string Parts::table() const {
  std::string rows;
  for (std::size_t i = 0; i < names_.size(); ++i)
    rows += fmt::format("| {} | {} | {} | {} | {} | {} |\n", names_[i], packages_[i].state,
                        packages_[i].weights, packages_[i].control, packages_[i].layers, packages_[i].steps);
  return rows;
}

std::string Parts::outlets() const {
  std::string text;
  for (std::size_t i = 0; i < names_.size(); ++i)
    text += fmt::format("\n| {} | name in the model | type | shape |\n|---|---|---|---|\n{}", names_[i],
                        packages_[i].uses.front().outlets);
  return text;
}

std::string Parts::calls() const {
  std::string text;
  for (const Package& it : packages_) text += "\n" + it.uses.front().calls;
  return text;
}

Package Parts::package(const std::string& name, std::vector<GeneratedFile> own,
                       std::vector<std::string> own_sources) && {
  Package all;
  for (const Package& it : packages_) {
    all.state += it.state;
    all.weights += it.weights;
    all.control += it.control;
    all.layers += it.layers;
    all.steps += it.steps;
    all.multiplies += it.multiplies;
    all.arena = it.arena;
    all.uses.push_back(it.uses.front());
  }
  std::vector<std::string> kernels;
  for (const std::string& path : paths_)
    if (path.starts_with("stowage_") && path.ends_with(".c")) kernels.push_back(path);
  std::vector<std::string> sources = own_sources;
  for (const std::string& it : names_) sources.insert(sources.end(), {it + ".c", it + "_weights.c"});
  sources.insert(sources.end(), kernels.begin(), kernels.end());
  all.files = std::move(own);
  std::ranges::move(files_, std::back_inserter(all.files));
  all.files.push_back({"Makefile", makefile_of(names_, kernels, own_sources)});
  const bool calls_cmsis_nn = std::ranges::find(kernels, "stowage_cmsis_nn.c") != kernels.end();
  std::ranges::move(component_files_of(name, sources, calls_cmsis_nn), std::back_inserter(all.files));
  add_licences(all.files);
  return all;
}

std::string memory_macros(const Plan& plan, const std::string& name) {
  std::string text = "\n/* Memory that all of them share, in bytes. */\n";
  const std::vector<std::string> memories = memory_names(plan);
  for (std::size_t m = 0; m < memories.size(); ++m)
    text += fmt::format("#define {0}_{1}_SIZE {2}\n#define {0}_{1}_ALIGNMENT {3}\n", upper(name),
                        upper(memories[m]), plan.memories[m].peak, plan.memories[m].memory.alignment);
  return text;
}

}  // namespace stowage::generate
