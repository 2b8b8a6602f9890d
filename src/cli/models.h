#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "stowage/import.h"

namespace stowage::cli {

/// A model's file and what the model is called in options and reports.
struct NamedFile {
  std::string name{};
  std::string file{};

  bool operator==(const NamedFile&) const = default;
};

/// Models as they are given, each FILE or NAME=FILE; a file that is called so literally is a FILE. Without a
/// name a model is called by its file's stem; where that is taken, `stem-2`, `stem-3` and so on. Throws
/// UsageError for a name that is given twice, or a name or file that is empty.
[[nodiscard]] std::vector<NamedFile> parse_models(const std::vector<std::string>& texts);

/// What the options say of each model. Of several models, names in them are MODEL.NAME. Throws UsageError for
/// a name of no model.
[[nodiscard]] std::vector<ImportOptions> parse_options_of(const std::vector<NamedFile>& models,
                                                          const ModelTexts& texts);

/// What of models' files is wanted.
enum class Wanted : std::uint8_t {
  graph,
  constants,  ///< Also the data of weights.
  rows        ///< Also how operators run row by row.
};

/// Reads the models' files; of several always with constants, which they may share.
[[nodiscard]] std::vector<Input> read_models(const std::vector<std::string>& texts,
                                             const ModelTexts& model_texts, Wanted wanted);

}  // namespace stowage::cli
