#include "import/nearby_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::import {

std::filesystem::path path_below(const std::filesystem::path& folder, const std::string& location,
                                 const std::string& place) {
  const std::filesystem::path path(location);
  const bool leads_out =
      path.is_absolute() || std::ranges::any_of(path, [](const auto& part) { return part == ".."; });
  if (path.empty() || leads_out)
    throw Error(place,
                fmt::format("has its data in {}, expected a file beside the model", base::quoted(location)));
  return folder / path.lexically_normal();
}

std::span<const std::byte> NearbyFiles::part(const std::string& location, std::size_t offset,
                                             std::size_t size, const std::string& place) {
  const std::string_view bytes = file(location, place).bytes();
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw Error(place, fmt::format("has {} bytes of data at {} of {}, which has {} bytes", size, offset,
                                   base::quoted(location), bytes.size()));
  return std::as_bytes(std::span(bytes)).subspan(offset, size);
}

void NearbyFiles::hold_in(Constants& constants) const {
  for (const auto& [path, file] : files_) constants.hold(file);
}

const base::InputFile& NearbyFiles::file(const std::string& location, const std::string& place) {
  const std::filesystem::path path = path_below(folder_, location, place);
  auto& file = files_[path];
  if (file) return *file;
  try {
    file = std::make_shared<const base::InputFile>(path);
  } catch (const Error&) {
    throw Error(place, fmt::format("has its data in {}, which cannot be read", base::quoted(location)));
  }
  return *file;
}

}  // namespace stowage::import
