#include "cli/models.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "base/union_find.h"
#include "stowage/dsa.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/join.h"
#include "stowage/network.h"
#include "stowage/open_sizes.h"
#include "stowage/problem_json.h"

namespace stowage::cli {
namespace {

NamedFile parse_model(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || std::filesystem::exists(text, ignored)) return {"", text};
  if (equals == 0 || equals + 1 == text.size())
    throw UsageError(fmt::format("model is {}, expected FILE or NAME=FILE", base::quoted(text)));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The stem of the file name, or the first free one of `stem-2`, `stem-3`, ...
std::string default_name(const std::string& file, const std::set<std::string>& taken) {
  const std::string stem = file == "-" ? "stdin" : std::filesystem::path(file).stem().string();
  std::string name = stem;
  for (std::size_t i = 2; taken.contains(name); ++i) name = fmt::format("{}-{}", stem, i);
  return name;
}

/// The texts that begin with MODEL., without that prefix.
std::vector<std::string> texts_about(const std::string& model, const std::vector<std::string>& texts) {
  const std::string prefix = model + ".";
  std::vector<std::string> about;
  for (const std::string& text : texts) {
    if (text.starts_with(prefix)) about.push_back(text.substr(prefix.size()));
  }
  return about;
}

/// MODEL.OUTPUT=MODEL.INPUT, with the models' places. Names of tensors may contain dots and, of two models, equals
/// signs.
struct StateText {
  std::size_t of_output = 0;
  std::size_t of_input = 0;
  FeedNames names{};
};

StateText parse_state(const std::string& text, const std::vector<NamedFile>& models) {
  std::optional<StateText> found;
  for (std::size_t a = 0; a < models.size(); ++a) {
    if (!text.starts_with(models[a].name + ".")) continue;
    for (std::size_t b = 0; b < models.size(); ++b) {
      const std::size_t at = text.find("=" + models[b].name + ".");
      if (at == std::string::npos || (found && a != b)) continue;
      found = StateText{a, b, {text.substr(0, at), text.substr(at + 1)}};
    }
  }
  if (!found) {
    std::vector<std::string> names;
    for (const NamedFile& model : models) names.push_back(model.name);
    throw UsageError(fmt::format("--state {}: expected MODEL.OUTPUT=MODEL.INPUT, of models {}", text,
                                 fmt::join(names, ", ")));
  }
  return *found;
}

/// The states of a model alone, as OUTPUT=INPUT.
std::vector<std::string> states_about(std::size_t model, const std::vector<NamedFile>& models,
                                      const std::vector<std::string>& texts) {
  const std::size_t prefix = models[model].name.size() + 1;
  std::vector<std::string> about;
  for (const std::string& text : texts) {
    const StateText state = parse_state(text, models);
    if (state.of_output != model || state.of_input != model) continue;
    about.push_back(state.names.output.substr(prefix) + "=" + state.names.input.substr(prefix));
  }
  return about;
}

void expect_known_models(std::string_view flag, const std::vector<NamedFile>& models,
                         const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const auto is_about = [&](const NamedFile& model) { return text.starts_with(model.name + "."); };
    if (std::none_of(models.begin(), models.end(), is_about))
      throw UsageError(
          fmt::format("{} {}: with several models, expected MODEL.NAME", flag, base::quoted(text)));
  }
}

std::vector<ImportOptions> parse_options_of_several(const std::vector<NamedFile>& models,
                                                    const ModelTexts& texts) {
  if (!texts.scratch.empty()) throw UsageError("--scratch works with one model only");
  expect_known_models("--dim", models, texts.dims);
  expect_known_models("--shape", models, texts.shapes);
  expect_known_models("--bound", models, texts.bounds);
  expect_known_models("--value", models, texts.values);
  expect_known_models("--state", models, texts.states);
  std::vector<ImportOptions> options;
  for (std::size_t m = 0; m < models.size(); ++m) {
    const NamedFile& model = models[m];
    options.push_back(parse_model_options({.dims = texts_about(model.name, texts.dims),
                                           .shapes = texts_about(model.name, texts.shapes),
                                           .bounds = texts_about(model.name, texts.bounds),
                                           .values = texts_about(model.name, texts.values),
                                           .states = states_about(m, models, texts.states),
                                           .scratch = {},
                                           .every_size = texts.every_size}));
  }
  return options;
}

bool is_problem(const std::string& file) {
  const base::InputFile input(file);
  return is_problem_json(input.bytes()) || is_dsa_problem(input.bytes());
}

/// Plans and problems have commands of their own.
void expect_models(const std::vector<NamedFile>& models) {
  for (const NamedFile& it : models) {
    const std::string file = base::visible(it.file);
    if (is_problem(it.file))
      throw Error("",
                  fmt::format("is a problem, expected a model or a list: `stowage pack {}` solves it", file))
          .in_file(it.file);
    if (!is_plan(it.file)) continue;
    const std::string what =
        models.size() == 2
            ? fmt::format("`stowage diff {} {}` compares plans", base::visible(models[0].file),
                          base::visible(models[1].file))
            : fmt::format("`stowage report {0} -o plan.html` shows it, `stowage verify {0}` checks it", file);
    throw Error("", "is a plan, expected a model or a list: " + what).in_file(it.file);
  }
}

}  // namespace

std::vector<std::uint64_t> hashes_of(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> hashes;
  for (const NamedFile& model : parse_models(texts))
    hashes.push_back(model_details(base::InputFile(model.file).bytes()).hash);
  return hashes;
}

std::vector<NamedFile> parse_models(const std::vector<std::string>& texts) {
  std::vector<NamedFile> models;
  std::set<std::string> taken;
  for (const std::string& text : texts) {
    models.push_back(parse_model(text));
    const std::string& name = models.back().name;
    if (!name.empty() && !taken.insert(name).second)
      throw UsageError(fmt::format("two models are called {}, expected different names", base::quoted(name)));
  }
  for (NamedFile& model : models) {
    if (!model.name.empty()) continue;
    model.name = default_name(model.file, taken);
    taken.insert(model.name);
  }
  return models;
}

std::vector<ImportOptions> parse_options_of(const std::vector<NamedFile>& models, const ModelTexts& texts) {
  std::vector<ImportOptions> options;
  if (models.size() == 1)
    options.push_back(parse_model_options(texts));
  else
    options = parse_options_of_several(models, texts);
  for (std::size_t m = 0; m < models.size(); ++m) {
    for (const std::string& name : texts.inputs) options[m].inputs.insert(name);
    for (const std::string& name : texts_about(models[m].name, texts.inputs)) options[m].inputs.insert(name);
  }
  return options;
}

std::vector<FeedNames> shared_states(const std::vector<NamedFile>& models, const ModelTexts& texts) {
  std::vector<FeedNames> states;
  if (models.size() == 1) return states;
  for (const std::string& text : texts.states) {
    StateText state = parse_state(text, models);
    if (state.of_output == state.of_input) continue;
    if (!texts.joins.empty())
      throw UsageError(fmt::format("--state {}: models that share state cannot be joined (--join)", text));
    states.push_back(std::move(state.names));
  }
  return states;
}

void expect_states(const Plan& plan, const std::vector<NamedFile>& models, const ModelTexts& texts) {
  std::map<std::string, std::size_t> named;  // tensors of states
  base::UnionFind sets(plan.tensors.size());
  for (const Feed& it : plan.states) {
    sets.join(it.output, it.input);
    for (const std::size_t tensor : {it.output, it.input})
      named[plan.models[plan.tensors[tensor].model].name + "." + plan.tensors[tensor].tensor.name] = tensor;
  }
  for (const FeedNames& names : shared_states(models, texts)) {
    const auto output = named.find(names.output);
    const auto input = named.find(names.input);
    const bool are_there = output != named.end() && input != named.end();
    if (!are_there || sets.find(output->second) != sets.find(input->second))
      throw UsageError(fmt::format("--state {}={}: the plan has no such state", names.output, names.input));
  }
}

bool is_plan(const std::string& file) {
  const base::InputFile input(file);
  const std::string_view text = input.bytes();
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         text.find("\"stowage-plan\"") != std::string_view::npos;
}

std::vector<Input> read_models(const std::vector<std::string>& texts, const ModelTexts& model_texts,
                               Wanted wanted) {
  if (!model_texts.joins.empty()) return inputs_of(read_networks(texts, model_texts));
  const std::vector<NamedFile> models = parse_models(texts);
  expect_models(models);
  std::vector<ImportOptions> options = parse_options_of(models, model_texts);
  std::vector<Input> inputs;
  for (std::size_t m = 0; m < models.size(); ++m) {
    options[m].constants = wanted == Wanted::constants || models.size() > 1;
    try {
      inputs.push_back(read_input(models[m].file, options[m]));
    } catch (const OpenSizesError& open) {
      if (models.size() == 1) throw;
      std::vector<OpenSize> sizes = open.sizes();
      for (OpenSize& size : sizes) size.name = models[m].name + "." + size.name;  // as --dim takes them
      throw OpenSizesError(std::move(sizes)).in_file(models[m].file);
    }
    const ModelFormat format = inputs.back().info.format;
    if (wanted == Wanted::rows && (format == ModelFormat::onnx || format == ModelFormat::tflite))
      inputs.back() = read_network(models[m].file, options[m]).input;
    inputs.back().info.name = models[m].name;
  }
  return inputs;
}

std::vector<Network> read_networks(const std::vector<std::string>& texts, const ModelTexts& model_texts) {
  const std::vector<NamedFile> models = parse_models(texts);
  expect_models(models);
  const std::vector<ImportOptions> options = parse_options_of(models, model_texts);
  std::vector<Network> networks;
  for (std::size_t m = 0; m < models.size(); ++m) {
    networks.push_back(read_network(models[m].file, options[m]));
    networks.back().input.info.name = models[m].name;
  }
  if (!model_texts.joins.empty()) return join_networks(std::move(networks), parse_joins(model_texts));
  return networks;
}

void print_notes(const std::vector<Input>& inputs) {
  constexpr std::string_view option = "--shape ";
  for (const Input& input : inputs) {
    std::string note = input.note;
    // With several models, an option names the model.
    for (std::size_t at = note.find(option); inputs.size() > 1 && at != std::string::npos;
         at = note.find(option, at + 1))
      note.insert(at + option.size(), input.info.name + ".");
    if (!note.empty())
      base::print(std::cerr, "stowage: note: {}: {}\n", base::quoted(input.info.source), note);
  }
}

std::vector<Input> inputs_of(const std::vector<Network>& networks) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  return inputs;
}

}  // namespace stowage::cli
