#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// The bytes of a model file, as its reader gets them.
struct Source {
  std::string_view bytes{};
  std::filesystem::path folder{};        ///< Contains the other files that it names.
  std::shared_ptr<const void> holder{};  ///< Owner of the bytes; null if only the caller knows it.
};

/// The same file in a copy of its bytes, with a vector's alignment and held by `holder`.
[[nodiscard]] Source copy_of(const Source& source);

/// The file as it is, or a copy if nothing holds it, so that the bytes stay in place.
[[nodiscard]] Source held(const Source& source);

/// A file that an untrusted model may name: one in the model's own folder or below it. Throws Error at
/// `place`, which is in the model, for any other file.
[[nodiscard]] std::filesystem::path path_below(const std::filesystem::path& folder,
                                               const std::string& location, const std::string& place);

/// Data files of a model. Each is mapped once, however many tensors it has.
class NearbyFiles {
 public:
  explicit NearbyFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// A part of a file, which stays in place as long as this object, or the holder of the files, exists.
  /// Throws Error at `place` if there is no such part.
  [[nodiscard]] std::span<const std::byte> part(const std::string& location, std::size_t offset,
                                                std::size_t size, const std::string& place);

  /// The bytes of a file, in place as long as this object exists. Throws Error at `place`.
  [[nodiscard]] std::string_view whole(const std::string& location, const std::string& place) {
    return file(location, place).bytes();
  }

  /// Makes the constants hold all files with returned parts.
  void hold_in(Constants& constants) const;

 private:
  [[nodiscard]] const base::InputFile& file(const std::string& location, const std::string& place);

  std::filesystem::path folder_;
  std::map<std::filesystem::path, std::shared_ptr<const base::InputFile>> files_{};
};

/// Ties outputs to the inputs of the next run. Throws UsageError unless the network has outputs and inputs of
/// these names.
void add_states(Graph& graph, const std::vector<StateNames>& states);

/// Gives operators the requested scratch memory. Throws UsageError for operators that do not exist.
void add_scratch(Graph& graph, const std::vector<ScratchRequest>& requests);

/// Throws UsageError if dimensions, shapes, bounds or values are given for a format without open ones.
void refuse_shape_options(const ImportOptions& options, std::string_view format);

}  // namespace stowage::import
