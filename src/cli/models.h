#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "stowage/import.h"
#include "stowage/network.h"

namespace stowage::cli {

/// A model's file, and the model's name in options and reports.
struct NamedFile {
  std::string name{};
  std::string file{};

  bool operator==(const NamedFile&) const = default;
};

/// Models from the command line, each FILE or NAME=FILE; an existing file of that literal name is a FILE.
/// Without a name, a model gets the stem of its file, or `stem-2`, `stem-3` and so on if that is taken.
/// Throws UsageError for a repeated name, and for an empty name or file.
[[nodiscard]] std::vector<NamedFile> parse_models(const std::vector<std::string>& texts);

/// XXH64 of the models' files, in their order.
[[nodiscard]] std::vector<std::uint64_t> hashes_of(const std::vector<std::string>& texts);

/// The import options of each model. With several models, their names are MODEL.NAME. Throws UsageError if no
/// model has the name.
[[nodiscard]] std::vector<ImportOptions> parse_options_of(const std::vector<NamedFile>& models,
                                                          const ModelTexts& texts);

/// The states that models share: `--state` whose output and input are of two of them.
[[nodiscard]] std::vector<FeedNames> shared_states(const std::vector<NamedFile>& models,
                                                   const ModelTexts& texts);

/// Throws UsageError for a state that models share, but not in the plan.
void expect_states(const Plan& plan, const std::vector<NamedFile>& models, const ModelTexts& texts);

/// The parts of model files to read.
enum class Wanted : std::uint8_t {
  graph,
  constants,  ///< Also the data of weights.
  rows        ///< Also how operators run row by row.
};

/// Reads the models' files; several models always with constants, which they may share.
[[nodiscard]] std::vector<Input> read_models(const std::vector<std::string>& texts,
                                             const ModelTexts& model_texts, Wanted wanted);

/// Whether the file holds a plan of stowage.
[[nodiscard]] bool is_plan(const std::string& file);

/// Prints what was assumed of sizes that the files leave open.
void print_notes(const std::vector<Input>& inputs);

/// Reads the models' files with all that it takes to run them.
[[nodiscard]] std::vector<Network> read_networks(const std::vector<std::string>& texts,
                                                 const ModelTexts& model_texts);

[[nodiscard]] std::vector<Input> inputs_of(const std::vector<Network>& networks);

}  // namespace stowage::cli
