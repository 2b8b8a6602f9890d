#pragma once

#include <string>

namespace stowage::cli {

/// The command line as a shell takes it.
[[nodiscard]] std::string typed(int argc, char** argv);

/// The same with the last part of each path, for files that go to other machines.
[[nodiscard]] std::string typed_without_folders(int argc, char** argv);

}  // namespace stowage::cli
