#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "stowage/open_sizes.h"

namespace stowage {
namespace {

std::string option_with(const std::string& name, std::string_view size) {
  return fmt::format(" --dim {}={}", base::shell_word(name), size);
}

std::string problem_of(const std::vector<OpenSize>& sizes) {
  std::string words, exact, range;
  for (const OpenSize& size : sizes) {
    words += (words.empty() ? "" : ", ") + in_words(size);
    exact += option_with(size.name, "N");
    range += option_with(size.name, "..N");
  }
  return fmt::format("leaves {} size{} open: {}; give {} with{} (exactly N) or{} (every size up to N)",
                     sizes.size(), sizes.size() == 1 ? "" : "s", words, sizes.size() == 1 ? "it" : "them",
                     exact, range);
}

}  // namespace

std::string in_words(const OpenSize& size) {
  constexpr std::size_t most_named = 3;
  std::string text;
  const std::size_t named = std::min(size.places.size(), most_named);
  for (std::size_t p = 0; p < named; ++p) {
    const OpenSize::Place& place = size.places[p];
    const bool is_last = p + 1 == size.places.size();
    if (p > 0) text += is_last ? " and " : ", ";
    if (p == 0 || place.axis != size.places[p - 1].axis) text += fmt::format("axis {} of ", place.axis);
    text += base::quoted(place.tensor);
  }
  if (named < size.places.size()) text += fmt::format(" and {} more", size.places.size() - named);
  return fmt::format("{} ({})", base::quoted(size.name), text);
}

std::string name_of_axis(const std::string& tensor, std::size_t axis) {
  return fmt::format("{}[{}]", tensor, axis);
}

OpenSizesError::OpenSizesError(std::vector<OpenSize> sizes)
    : Error("", problem_of(sizes)), sizes_(std::move(sizes)) {}

OpenSizesError::OpenSizesError(const Error& error, std::vector<OpenSize> sizes)
    : Error(error), sizes_(std::move(sizes)) {}

OpenSizesError OpenSizesError::in_file(const std::string& file) const {
  return {Error::in_file(file), sizes_};
}

}  // namespace stowage
