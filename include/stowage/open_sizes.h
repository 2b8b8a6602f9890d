/// Example: which sizes a model leaves open, and what its memory needs at some of them.
///
///     stowage::OpenSize batch{.name = "batch", .places = {{"x", 0}, {"y", 0}}};
///     return stowage::in_words(batch) == "'batch' (axis 0 of 'x' and 'y')" ? 0 : 1;
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stowage/error.h"

namespace stowage {

/// A size of inputs that a model file leaves open and no option gives.
struct OpenSize {
  /// An axis of an input.
  struct Place {
    std::string tensor{};
    std::size_t axis = 0;
  };

  /// The file's name for it, or TENSOR[AXIS] where it has none. This is the name in ImportOptions::dims.
  std::string name{};
  std::vector<Place> places{};  ///< Inputs that have it, in the order of the file.
};

/// "'seq' (axis 1 of 'ids' and 'mask')"; up to three inputs are named.
[[nodiscard]] std::string in_words(const OpenSize& size);

/// A model without sizes that the caller decides. All of them are named at once.
class OpenSizesError : public Error {
 public:
  /// `sizes` is not empty.
  explicit OpenSizesError(std::vector<OpenSize> sizes);

  [[nodiscard]] const std::vector<OpenSize>& sizes() const { return sizes_; }
  [[nodiscard]] OpenSizesError in_file(const std::string& file) const;

 private:
  OpenSizesError(const Error& error, std::vector<OpenSize> sizes);

  std::vector<OpenSize> sizes_;
};

/// The name of an axis that the file does not name: "x[0]".
[[nodiscard]] std::string name_of_axis(const std::string& tensor, std::size_t axis);

}  // namespace stowage
