#pragma once

#include <string>
#include <vector>

#include "generate/program.h"
#include "stowage/generate.h"

namespace stowage::generate {

/// NAME_weights.h and NAME_weights.c
[[nodiscard]] std::string weights_header_of(const Model& model, const Sources& sources);
[[nodiscard]] std::string weights_of(const Model& model, const Sources& sources);

/// README.md, Makefile, CMakeLists.txt, and what Zephyr, ESP-IDF and PlatformIO want. `package` has all figures.
[[nodiscard]] std::vector<GeneratedFile> build_files_of(const Model& model, const Package& package,
                                                        const std::vector<std::string>& kernels);

}  // namespace stowage::generate
