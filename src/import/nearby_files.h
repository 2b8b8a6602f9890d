#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/file.h"
#include "stowage/import.h"

namespace stowage::import {

/// A file that an untrusted model may name: one in the model's own folder or below it. Throws Error at
/// `place`, which is in the model, for any other.
[[nodiscard]] std::filesystem::path path_below(const std::filesystem::path& folder,
                                               const std::string& location, const std::string& place);

/// Files that a model has data in. Each is mapped once, however many tensors are in it.
class NearbyFiles {
 public:
  explicit NearbyFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// A part of a file, which stays where it is as long as this, or what holds the files, lives. Throws
  /// Error at `place` where there is no such part.
  [[nodiscard]] std::span<const std::byte> part(const std::string& location, std::size_t offset,
                                                std::size_t size, const std::string& place);

  /// Lets the constants hold all files that parts were taken of.
  void hold_in(Constants& constants) const;

 private:
  [[nodiscard]] const base::InputFile& file(const std::string& location, const std::string& place);

  std::filesystem::path folder_;
  std::map<std::filesystem::path, std::shared_ptr<const base::InputFile>> files_{};
};

}  // namespace stowage::import
