#pragma once

#include <span>
#include <string_view>

namespace stowage::generate {

/// A file that packages contain; it is compiled into the library as text.
struct KernelFile {
  std::string_view name{};
  std::string_view content{};
};

/// All files of src/generate/kernels/, and LICENSE.
[[nodiscard]] std::span<const KernelFile> kernel_files();

}  // namespace stowage::generate
