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

/// A model file's bytes, as its reader gets them.
struct Source {
  std::string_view bytes{};
  std::filesystem::path folder{};        ///< Where other files that it names are looked for.
  std::shared_ptr<const void> holder{};  ///< What the bytes lie in; null where only the caller knows.
};

/// The same file in a copy of its bytes, which a vector's alignment has and `holder` holds.
[[nodiscard]] Source copy_of(const Source& source);

/// The file as it is, or a copy where nothing holds it: so that the bytes stay where they are.
[[nodiscard]] Source held(const Source& source);

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

/// Ties outputs to the inputs of the next run. Throws UsageError for a name the network does not
/// have as an output or input.
void add_states(Graph& graph, const std::vector<StateNames>& states);

/// Gives operators the scratch memory that is asked for. Throws UsageError for one that does not
/// exist.
void add_scratch(Graph& graph, const std::vector<ScratchRequest>& requests);

/// Throws UsageError when dimensions, shapes or bounds are given for a format without open ones.
void refuse_shape_options(const ImportOptions& options, std::string_view format);

}  // namespace stowage::import
