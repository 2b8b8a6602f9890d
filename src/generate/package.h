#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generate/program.h"
#include "stowage/generate.h"

namespace stowage::generate {

/// NAME_weights.h and NAME_weights.c
[[nodiscard]] std::string weights_header_of(const Model& model, const Sources& sources);
[[nodiscard]] std::string weights_of(const Model& model, const Sources& sources);

/// Lines of a comment: the version, the command, and the hash of the model's file, as far as they are known.
[[nodiscard]] std::string origin_of(const GenerateOptions& options);
/// Names of models' files have no folder: packages go to other machines.
[[nodiscard]] Plan without_folders(Plan plan);
/// The plan as JSON, without folders.
[[nodiscard]] std::string plan_json_of(Plan plan, const OpenRows* rows = nullptr);

/// `generate_package` beside other networks, whose arrays are known: it defines no equal ones again.
[[nodiscard]] Package package_with(const Network& network, const Plan& plan, const GenerateOptions& options,
                                   EqualArrays& known);

/// What README.md says of licences.
inline constexpr std::string_view licence_text =
    "\n## Licence\n\nFiles with the line `SPDX-License-Identifier: Apache-2.0` are under the Apache License "
    "2.0, whose text\nis in `LICENSE`. Weights are those of your model: stowage claims no right in them.\n";

/// C that declares the memories, whose sizes the header NAME.h has.
[[nodiscard]] std::string declarations_of_memories(const Plan& plan, const std::string& name);
[[nodiscard]] PackageUse use_of(const Model& model);

/// Each file says its licence at the top, if it can have comments. Adds `LICENSE`.
void add_licences(std::vector<GeneratedFile>& files);

/// CMakeLists.txt, and what Zephyr, ESP-IDF and PlatformIO want. Sources are files beside it.
[[nodiscard]] std::vector<GeneratedFile> component_files_of(const std::string& name,
                                                            const std::vector<std::string>& sources,
                                                            bool calls_cmsis_nn);

/// These, README.md and Makefile. `package` has all figures, and how the model is used.
[[nodiscard]] std::vector<GeneratedFile> build_files_of(const Model& model, const Package& package,
                                                        const std::vector<std::string>& kernels);

}  // namespace stowage::generate
